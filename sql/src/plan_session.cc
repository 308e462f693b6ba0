// SPDX-License-Identifier: Apache-2.0
// SET, SHOW, transactions, prepared statements and cursors.
#include <charconv>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"
#include "planner.h"

namespace freshet::sql {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

Result<TransactionModes> Planner::modes(std::span<PgQuery__Node* const> options) {
  TransactionModes result;
  for (const PgQuery__Node* node : options) {
    const PgQuery__DefElem& option = *node->def_elem;
    const std::string name = option.defname;
    const std::string value = option.arg != nullptr ? constant_text(*option.arg) : "";
    if (name == "transaction_isolation") {
      if (body_.strict_serializable) {
        result.isolation = IsolationLevel::kStrictSerializable;
      } else if (value == "serializable") {
        result.isolation = IsolationLevel::kSerializable;
      } else if (value == "repeatable read") {
        result.isolation = IsolationLevel::kRepeatableRead;
      } else if (value == "read committed") {
        result.isolation = IsolationLevel::kReadCommitted;
      } else {
        result.isolation = IsolationLevel::kReadUncommitted;
      }
    } else if (name == "transaction_read_only") {
      result.read_only = value == "1" || value == "true";
    } else if (name == "transaction_deferrable") {
      if (value == "1" || value == "true") return fail(unsupported("DEFERRABLE is", option.location));
    }
  }
  return result;
}

Result<Plan::Node> Planner::transaction() {
  const PgQuery__TransactionStmt& stmt = *body_.tree->root().transaction_stmt;
  switch (statement_.kind()) {
    case StatementKind::kBegin:
      return Plan::Node(BeginPlan{FRESHET_TRY(modes(nodes(stmt.n_options, stmt.options)))});
    case StatementKind::kCommit: return Plan::Node(CommitPlan{stmt.chain != 0});
    case StatementKind::kSavepoint: return Plan::Node(SavepointPlan{SavepointPlan::What::kSet, stmt.savepoint_name});
    case StatementKind::kRelease: return Plan::Node(SavepointPlan{SavepointPlan::What::kRelease, stmt.savepoint_name});
    case StatementKind::kRollbackTo:
      return Plan::Node(SavepointPlan{SavepointPlan::What::kRollbackTo, stmt.savepoint_name});
    default: return Plan::Node(RollbackPlan{stmt.chain != 0});
  }
}

Result<Plan::Node> Planner::set_variable() {
  const PgQuery__VariableSetStmt& stmt = *body_.tree->root().variable_set_stmt;
  const std::string name = stmt.name != nullptr ? lower_case(stmt.name) : "";
  switch (stmt.kind) {
    case PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL: return Plan::Node(ResetAllPlan{});
    case PG_QUERY__VARIABLE_SET_KIND__VAR_RESET:
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_DEFAULT:
      return Plan::Node(SetVariablePlan{.name = name, .values = std::nullopt, .local = stmt.is_local != 0});
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_MULTI: {
      if (name == "transaction snapshot") return fail(unsupported("SET TRANSACTION SNAPSHOT is", -1));
      SetTransactionPlan plan{FRESHET_TRY(modes(nodes(stmt.n_args, stmt.args)))};
      plan.session = name == "session characteristics";
      return Plan::Node(plan);
    }
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_VALUE: break;
    default: return fail(unsupported("SET … FROM CURRENT is", -1));
  }
  SetVariablePlan plan{.name = name, .values = std::vector<std::string>(), .local = stmt.is_local != 0};
  for (const PgQuery__Node* node : nodes(stmt.n_args, stmt.args)) plan.values->push_back(constant_text(*node));
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::show_variable() {
  ShowVariablePlan plan{.name = lower_case(body_.tree->root().variable_show_stmt->name)};
  plan.desc = plan.name == "all" ? text_desc({"name", "setting", "description"}) : text_desc({plan.name});
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::prepare() {
  const PrepareSyntax& syntax = *body_.as<PrepareSyntax>();
  switch (syntax.inner.kind()) {
    case StatementKind::kSelect:
    case StatementKind::kInsert:
    case StatementKind::kUpdate:
    case StatementKind::kDelete:
    case StatementKind::kSubscribe: break;
    default: return fail(unsupported("PREPARE of " + std::string(syntax.inner.tag()) + " is", -1));
  }
  PreparePlan plan{.name = syntax.name, .statement = syntax.inner};
  if (syntax.types) plan.parameter_types = FRESHET_TRY(binder_.types_of_tree(*syntax.types));
  // Its errors are this statement's.
  Planner planner(syntax.inner, catalog_, settings_, plan.parameter_types);
  const Plan inner = FRESHET_TRY(planner.run());
  plan.parameter_types = inner.parameter_types;
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::execute() {
  const PgQuery__ExecuteStmt& stmt = *body_.tree->root().execute_stmt;
  ExecutePlan plan{.name = stmt.name};
  for (const PgQuery__Node* node : nodes(stmt.n_params, stmt.params)) {
    const HirScalarPtr argument = FRESHET_TRY(binder_.constant_expression(node, "EXECUTE parameters"));
    if (hir::has_mz_now(*argument)) return fail(unsupported("mz_now() in EXECUTE parameters is", argument->location));
    plan.arguments.push_back(FRESHET_TRY(lower_scalar(argument)));
  }
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::deallocate() {
  const PgQuery__DeallocateStmt& stmt = *body_.tree->root().deallocate_stmt;
  DeallocatePlan plan;
  if (stmt.name != nullptr && *stmt.name != '\0') plan.name = stmt.name;
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::fetch() {
  const PgQuery__FetchStmt& stmt = *body_.tree->root().fetch_stmt;
  FetchPlan plan{.name = stmt.portalname};
  plan.move = stmt.ismove != 0;
  if (stmt.direction != PG_QUERY__FETCH_DIRECTION__FETCH_FORWARD || stmt.how_many < 0) {
    return fail(unsupported("FETCH other than forward is", -1));
  }
  // FETCH ALL is the largest long.
  constexpr std::int64_t kAll = INT64_MAX;
  if (stmt.how_many == kAll) {
    plan.count = std::nullopt;
  } else {
    plan.count = static_cast<std::uint64_t>(stmt.how_many);
  }
  if (const auto* syntax = body_.as<FetchSyntax>()) {
    for (const OptionItem& option : syntax->options) {
      if (option.name != "TIMEOUT") {
        return fail(error_at(sqlstate::kSyntaxError, "unknown option of FETCH: " + option.name, option.location));
      }
      plan.timeout_micros = FRESHET_TRY(interval_micros(option.value.value_or(""), "TIMEOUT", option.location));
    }
  }
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::close() {
  const PgQuery__ClosePortalStmt& stmt = *body_.tree->root().close_portal_stmt;
  ClosePlan plan;
  if (stmt.portalname != nullptr && *stmt.portalname != '\0') plan.name = stmt.portalname;
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::discard() {
  using What = DiscardPlan::What;
  switch (body_.tree->root().discard_stmt->target) {
    case PG_QUERY__DISCARD_MODE__DISCARD_PLANS: return Plan::Node(DiscardPlan{What::kPlans});
    case PG_QUERY__DISCARD_MODE__DISCARD_SEQUENCES: return Plan::Node(DiscardPlan{What::kSequences});
    case PG_QUERY__DISCARD_MODE__DISCARD_TEMP: return Plan::Node(DiscardPlan{What::kTemp});
    default: return Plan::Node(DiscardPlan{What::kAll});
  }
}

}  // namespace freshet::sql
