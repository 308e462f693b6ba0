// SPDX-License-Identifier: Apache-2.0
#include <freshet/sql/plan.h>

#include <freshet/base/sqlstate.h>

#include "lexer.h"
#include "pg_tree.h"
#include "planner.h"

namespace freshet::sql {

Planner::Planner(const Statement& statement, const CatalogView& catalog, const SessionSettings& settings,
                 std::vector<repr::SqlType> parameter_types)
    : statement_(statement), body_(statement.body()), catalog_(catalog), settings_(settings),
      binder_(body_, catalog, settings, std::move(parameter_types)) {}

Result<Plan> Planner::run() {
  Plan::Node node = FRESHET_TRY(dispatch());
  Plan plan{.node = std::move(node)};
  plan.parameter_types = FRESHET_TRY(binder_.typing().parameter_types());
  plan.notices = std::move(notices_);
  return plan;
}

namespace {

// What a statement that is refused is called: CREATE SEQUENCE, VACUUM.
std::string first_words(std::string_view text) {
  const std::vector<Token> tokens = tokenize(text);
  std::string words = tokens.front().text;
  bool more = false;
  for (const char* head : {"create", "drop", "alter", "prepare", "commit", "rollback", "release", "import", "security",
                           "reassign", "set", "refresh"}) {
    more = more || tokens.front().is(head);
  }
  if (more && tokens.size() > 1 && tokens[1].is_name()) words += " " + tokens[1].text;
  for (char& c : words) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return words;
}

}  // namespace

Result<Plan::Node> Planner::dispatch() {
  switch (statement_.kind()) {
    case StatementKind::kSelect: return select();
    case StatementKind::kSubscribe: return subscribe();
    case StatementKind::kInsert: return insert();
    case StatementKind::kUpdate: return update();
    case StatementKind::kDelete: return remove();
    case StatementKind::kCopy: return copy();
    case StatementKind::kCreateDatabase:
    case StatementKind::kCreateSchema: return create_namespace();
    case StatementKind::kCreateTable: return create_table();
    case StatementKind::kCreateView: return create_view(false);
    case StatementKind::kCreateMaterializedView: return create_view(true);
    case StatementKind::kCreateIndex: return create_index();
    case StatementKind::kCreateSource: return create_source();
    case StatementKind::kDrop: return drop();
    case StatementKind::kExplain: return explain();
    case StatementKind::kSetVariable: return set_variable();
    case StatementKind::kShowVariable: return show_variable();
    case StatementKind::kBegin:
    case StatementKind::kCommit:
    case StatementKind::kRollback:
    case StatementKind::kSavepoint:
    case StatementKind::kRelease:
    case StatementKind::kRollbackTo: return transaction();
    case StatementKind::kPrepare: return prepare();
    case StatementKind::kExecute: return execute();
    case StatementKind::kDeallocate: return deallocate();
    case StatementKind::kDeclare: return declare();
    case StatementKind::kFetch: return fetch();
    case StatementKind::kClose: return close();
    case StatementKind::kDiscard: return discard();
    case StatementKind::kUnlisten: return Plan::Node(UnlistenPlan{});
    case StatementKind::kCreateTableAs: return fail(unsupported("CREATE TABLE AS is", -1));
    case StatementKind::kAlter: {
      Error error = unsupported("ALTER is", -1);
      error.hint = "Objects do not change: drop it and create it anew (CREATE OR REPLACE VIEW replaces a view).";
      return fail(std::move(error));
    }
    case StatementKind::kComment: return fail(unsupported("COMMENT ON is", -1));
    case StatementKind::kOther: break;
  }
  const std::string name = body_.tag == "OTHER" ? first_words(statement_.text()) : body_.tag;
  Error error = unsupported(name + " is", -1);
  if (name == "TRUNCATE") error.hint = "DELETE FROM without WHERE takes all rows out.";
  return fail(std::move(error));
}

namespace {

/// Statements nested deeper than their text could nest on an ordinary stack are planned on a big one.
constexpr std::size_t kInlineBytes = 1500;

struct PlanJob {
  const Statement* statement;
  const CatalogView* catalog;
  const SessionSettings* settings;
  std::vector<repr::SqlType> parameter_types;
  std::optional<Result<Plan>> result{};

  void run() {
    Planner planner(*statement, *catalog, *settings, std::move(parameter_types));
    result.emplace(planner.run());
  }
};

}  // namespace

Result<Plan> plan(const Statement& statement, const CatalogView& catalog, const SessionSettings& settings,
                  std::vector<repr::SqlType> parameter_types) {
  PlanJob job{&statement, &catalog, &settings, std::move(parameter_types)};
  if (statement.text().size() <= kInlineBytes) {
    job.run();
  } else {
    run_on_big_stack([](void* argument) { static_cast<PlanJob*>(argument)->run(); }, &job);
  }
  if (*job.result) return std::move(*job.result);
  Error error = job.result->error();
  if (error.position > 0) error.position = position_of(statement.body(), error.position - 1);
  return fail(std::move(error));
}

const repr::RelationDesc* Plan::result_desc() const {
  if (const auto* select = as<SelectPlan>()) return &select->desc;
  if (const auto* subscribe = as<SubscribePlan>()) return &subscribe->output_desc;
  if (const auto* explain = as<ExplainPlan>()) return &explain->desc;
  if (const auto* show = as<ShowVariablePlan>()) return &show->desc;
  const auto of_returning = [](const std::optional<Returning>& returning) {
    return returning ? &returning->desc : nullptr;
  };
  if (const auto* insert = as<InsertPlan>()) return of_returning(insert->returning);
  if (const auto* update = as<UpdatePlan>()) return of_returning(update->returning);
  if (const auto* remove = as<DeletePlan>()) return of_returning(remove->returning);
  return nullptr;
}

bool Finishing::is_trivial(std::size_t arity) const {
  if (!order_by.empty() || limit || offset || project.size() != arity) return false;
  for (std::size_t i = 0; i < arity; ++i) {
    if (project[i] != i) return false;
  }
  return true;
}

std::string constant_text(const PgQuery__Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_A_CONST: {
      const PgQuery__AConst& value = *node.a_const;
      if (value.isnull) return {};
      switch (value.val_case) {
        case PG_QUERY__A__CONST__VAL_IVAL: return std::to_string(value.ival->ival);
        case PG_QUERY__A__CONST__VAL_FVAL: return value.fval->fval;
        case PG_QUERY__A__CONST__VAL_BOOLVAL: return value.boolval->boolval ? "true" : "false";
        case PG_QUERY__A__CONST__VAL_SVAL: return value.sval->sval;
        default: return {};
      }
    }
    case PG_QUERY__NODE__NODE_STRING: return node.string->sval;
    case PG_QUERY__NODE__NODE_INTEGER: return std::to_string(node.integer->ival);
    case PG_QUERY__NODE__NODE_FLOAT: return node.float_->fval;
    case PG_QUERY__NODE__NODE_BOOLEAN: return node.boolean->boolval ? "true" : "false";
    case PG_QUERY__NODE__NODE_TYPE_CAST: return constant_text(*node.type_cast->arg);
    case PG_QUERY__NODE__NODE_TYPE_NAME:
      return name_list(nodes(node.type_name->n_names, node.type_name->names)).back();
    default: return {};
  }
}

repr::RelationDesc text_desc(std::vector<std::string> names) {
  repr::RelationDesc desc;
  desc.type.columns.assign(names.size(), {repr::TypeKind::kText, true});
  desc.names = std::move(names);
  return desc;
}

}  // namespace freshet::sql
