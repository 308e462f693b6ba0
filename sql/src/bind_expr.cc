// SPDX-License-Identifier: Apache-2.0
// Expressions: what each node of the syntax is, and names of columns.
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/quote.h>

#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {

using repr::SqlType;
using repr::TypeKind;

Error unsupported(std::string what, int location) {
  return error_at(sqlstate::kFeatureNotSupported, std::move(what) + " not supported", location);
}

std::vector<std::string> name_list(std::span<PgQuery__Node* const> list) {
  std::vector<std::string> names;
  for (const PgQuery__Node* node : list) {
    names.emplace_back(node->node_case == PG_QUERY__NODE__NODE_STRING ? node->string->sval : "*");
  }
  return names;
}

std::string quote_identifier(std::string_view name) {
  std::string quoted;
  expr::append_quoted_identifier(quoted, name);
  return quoted;
}

namespace {

/// A name, and whether it is better than that of a cast around it.
struct ChosenName {
  std::string name = "?column?";
  bool strong = false;
};

ChosenName name_of_subquery(const PgQuery__SubLink& link);

ChosenName choose_name(const PgQuery__Node* node) {
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF:
      return {name_list(nodes(node->column_ref->n_fields, node->column_ref->fields)).back(), true};
    case PG_QUERY__NODE__NODE_FUNC_CALL:
      return {name_list(nodes(node->func_call->n_funcname, node->func_call->funcname)).back(), true};
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return choose_name(node->a_indirection->arg);
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
      ChosenName inner = choose_name(node->type_cast->arg);
      const PgQuery__TypeName& type = *node->type_cast->type_name;
      if (!inner.strong && type.n_names > 0) inner.name = name_list(nodes(type.n_names, type.names)).back();
      return inner;
    }
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return choose_name(node->collate_clause->arg);
    case PG_QUERY__NODE__NODE_CASE_EXPR: {
      ChosenName otherwise;
      if (node->case_expr->defresult != nullptr) otherwise = choose_name(node->case_expr->defresult);
      return otherwise.strong ? otherwise : ChosenName{"case", false};
    }
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return {"array", true};
    case PG_QUERY__NODE__NODE_ROW_EXPR: return {"row", true};
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return {"coalesce", true};
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      return {node->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least", true};
    case PG_QUERY__NODE__NODE_A_EXPR:
      if (node->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF) return {"nullif", true};
      return {};
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: {
      static constexpr const char* kNames[] = {"",          "current_date", "current_time", "current_time",
                                               "current_timestamp", "current_timestamp", "localtime", "localtime",
                                               "localtimestamp", "localtimestamp", "current_role", "current_user",
                                               "user", "session_user", "current_catalog", "current_schema"};
      const auto op = static_cast<std::size_t>(node->sqlvalue_function->op);
      return op < std::size(kNames) ? ChosenName{kNames[op], true} : ChosenName{};
    }
    case PG_QUERY__NODE__NODE_SUB_LINK: return name_of_subquery(*node->sub_link);
    default: return {};
  }
}

ChosenName name_of_subquery(const PgQuery__SubLink& link) {
  if (link.sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK) return {"exists", true};
  if (link.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK) return {"array", true};
  if (link.sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) return {};
  const PgQuery__SelectStmt* select = link.subselect->select_stmt;
  while (select->larg != nullptr) select = select->larg;  // a set operation is called like its first query
  if (select->n_target_list == 0) return {select->n_values_lists > 0 ? "column1" : "?column?", true};
  const PgQuery__ResTarget& target = *select->target_list[0]->res_target;
  return {target.name != nullptr && *target.name != '\0' ? target.name : choose_name(target.val).name, true};
}

}  // namespace

std::string column_name_for(const PgQuery__Node* node) { return choose_name(node).name; }

Result<HirScalarPtr> Binder::expression(const PgQuery__Node* node, const ExprContext& context) {
  FRESHET_TRY(go_on());
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: return column_ref(*node->column_ref, context);
    case PG_QUERY__NODE__NODE_A_CONST: return constant(*node->a_const);
    case PG_QUERY__NODE__NODE_PARAM_REF: return typing_.parameter(node->param_ref->number, node->param_ref->location);
    case PG_QUERY__NODE__NODE_A_EXPR: return operator_expr(*node->a_expr, context);
    case PG_QUERY__NODE__NODE_BOOL_EXPR: return bool_expr(*node->bool_expr, context);
    case PG_QUERY__NODE__NODE_FUNC_CALL: return func_call(*node->func_call, context);
    case PG_QUERY__NODE__NODE_TYPE_CAST: return type_cast(*node->type_cast, context);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return case_expr(*node->case_expr, context);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return coalesce(*node->coalesce_expr, context);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: return min_max(*node->min_max_expr, context);
    case PG_QUERY__NODE__NODE_NULL_TEST: return null_test(*node->null_test, context);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: return boolean_test(*node->boolean_test, context);
    case PG_QUERY__NODE__NODE_SUB_LINK: return sub_link(*node->sub_link, context);
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return array_expr(*node->a_array_expr, context, std::nullopt);
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return indirection(*node->a_indirection, context);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return value_function(*node->sqlvalue_function);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: {
      const PgQuery__CollateClause& clause = *node->collate_clause;
      const std::string name = name_list(nodes(clause.n_collname, clause.collname)).back();
      if (name != "default" && name != "C" && name != "POSIX" && name != "ucs_basic") {
        return fail(unsupported("collation \"" + name + "\" is", clause.location));
      }
      return expression(clause.arg, context);
    }
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
      return fail(error_at(sqlstate::kSyntaxError, "DEFAULT is not allowed in this context",
                           node->set_to_default->location));
    case PG_QUERY__NODE__NODE_ROW_EXPR: return fail(unsupported("a row as a value is", node->row_expr->location));
    case PG_QUERY__NODE__NODE_GROUPING_FUNC:
      return fail(unsupported("GROUPING is", node->grouping_func->location));
    case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR:
      return fail(unsupported("named arguments are", node->named_arg_expr->location));
    default: return fail(unsupported("this expression is", -1));
  }
}

Result<std::vector<HirScalarPtr>> Binder::expressions(std::span<PgQuery__Node* const> list, const ExprContext& context) {
  std::vector<HirScalarPtr> result;
  for (const PgQuery__Node* node : list) result.push_back(FRESHET_TRY(expression(node, context)));
  return result;
}

Result<HirScalarPtr> Binder::constant_expression(const PgQuery__Node* node, std::string_view clause) {
  const ExprContext context{.chain = nullptr, .clause = clause};
  HirScalarPtr scalar = FRESHET_TRY(expression(node, context));
  if (hir::has_subquery(*scalar)) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "cannot use subquery in " + std::string(clause),
                         scalar->location));
  }
  return scalar;
}

Result<HirScalarPtr> Binder::constant(const PgQuery__AConst& value) {
  if (value.isnull) return hir::at(hir::null(TypeKind::kUnknown), value.location);
  switch (value.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL: return hir::at(hir::int4(value.ival->ival), value.location);
    case PG_QUERY__A__CONST__VAL_BOOLVAL: return hir::at(hir::boolean(value.boolval->boolval != 0), value.location);
    case PG_QUERY__A__CONST__VAL_SVAL:
      return hir::at(hir::literal(repr::Datum(std::string(value.sval->sval)), TypeKind::kUnknown), value.location);
    case PG_QUERY__A__CONST__VAL_FVAL: {
      // Integers beyond int4 come as text too, and with the sign that stands before them, which may make them fit.
      const std::string text = value.fval->fval;
      const bool integer = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) == std::string::npos;
      if (integer) {
        for (const TypeKind kind : {TypeKind::kInt4, TypeKind::kInt8}) {
          if (auto whole = repr::from_text(text, kind)) {
            return hir::at(hir::literal(std::move(whole).value(), kind), value.location);
          }
        }
      }
      auto number = repr::from_text(text, TypeKind::kNumeric);
      if (!number) {
        Error error = number.error();
        error.position = value.location + 1;
        return fail(std::move(error));
      }
      return hir::at(hir::literal(std::move(number).value(), TypeKind::kNumeric), value.location);
    }
    default: return fail(unsupported("bit strings are", value.location));
  }
}

// -- names of columns ---------------------------------------------------------------------------

namespace {

bool table_matches(const ScopeTable& table, const std::vector<std::string>& qualifier) {
  if (qualifier.size() == 1) return table.alias == qualifier[0];
  if (!table.item || table.item->item != qualifier.back()) return false;
  if (table.item->schema != qualifier[qualifier.size() - 2]) return false;
  return qualifier.size() < 3 || table.item->database == qualifier[0] || table.item->database.empty();
}

const ScopeTable* find_table(const Scope& scope, const std::vector<std::string>& qualifier) {
  for (const ScopeTable& table : scope.tables) {
    if (table_matches(table, qualifier)) return &table;
  }
  return nullptr;
}

}  // namespace

Result<HirScalarPtr> Binder::column_ref(const PgQuery__ColumnRef& ref, const ExprContext& context) {
  for (const PgQuery__Node* field : nodes(ref.n_fields, ref.fields)) {
    if (field->node_case == PG_QUERY__NODE__NODE_A_STAR) {
      return fail(error_at(sqlstate::kSyntaxError, "row expansion via \"*\" is not supported here", ref.location));
    }
  }
  const std::vector<std::string> parts = name_list(nodes(ref.n_fields, ref.fields));
  if (parts.size() > 4) {
    return fail(error_at(sqlstate::kSyntaxError, "improper qualified name (too many dotted names)", ref.location));
  }
  return find_column(parts, context, ref.location);
}

Result<HirScalarPtr> Binder::find_column(const std::vector<std::string>& parts, const ExprContext& context,
                                         int location) {
  const std::vector<std::string> qualifier(parts.begin(), parts.end() - 1);
  std::size_t level = 0;
  for (const Chain* link = context.chain; link != nullptr; link = link->outer, ++level) {
    if (link->scope == nullptr || !link->visible) continue;
    const ScopeTable* table = nullptr;
    if (!qualifier.empty()) {
      table = find_table(*link->scope, qualifier);
      if (table == nullptr) continue;
    }
    const ScopeColumn* found = nullptr;
    for (const ScopeColumn& column : link->scope->columns) {
      if (column.name != parts.back()) continue;
      if (table != nullptr ? column.table != table->alias : !column.unqualified) continue;
      if (found != nullptr) {
        return fail(error_at(sqlstate::kAmbiguousColumn, "column reference \"" + parts.back() + "\" is ambiguous",
                             location));
      }
      found = &column;
    }
    if (found != nullptr) {
      HirScalar scalar = *hir::column(level, found->index, found->type);
      scalar.name = found->table.empty() ? found->name : found->table + "." + found->name;
      scalar.location = location;
      return HirScalarPtr(std::make_shared<const HirScalar>(std::move(scalar)));
    }
    if (table != nullptr) break;
  }
  return fail(no_such_column(parts, context, location));
}

Error Binder::no_such_column(const std::vector<std::string>& parts, const ExprContext& context, int location) {
  const std::vector<std::string> qualifier(parts.begin(), parts.end() - 1);
  std::string dotted;
  for (const std::string& part : parts) dotted += (dotted.empty() ? "" : ".") + part;
  if (!qualifier.empty()) {
    const Chain* hidden = nullptr;
    bool known = false;
    for (const Chain* link = context.chain; link != nullptr; link = link->outer) {
      if (link->scope == nullptr || find_table(*link->scope, qualifier) == nullptr) continue;
      known = known || link->visible;
      if (!link->visible) hidden = link;
    }
    const std::string table = dotted.substr(0, dotted.size() - parts.back().size() - 1);
    if (!known) {
      const bool joined = hidden != nullptr && hidden->outer_join;
      Error error = error_at(joined ? sqlstate::kInvalidColumnReference : sqlstate::kUndefinedTable,
                             hidden != nullptr ? "invalid reference to FROM-clause entry for table \"" + table + "\""
                                               : "missing FROM-clause entry for table \"" + table + "\"",
                             location);
      if (joined) {
        error.detail = "The combining JOIN type must be INNER or LEFT for a LATERAL reference.";
      } else if (hidden != nullptr) {
        error.detail = "There is an entry for table \"" + table +
                       "\", but it cannot be referenced from this part of the query.";
        error.hint = "To reference that table, you must mark this subquery with LATERAL.";
      }
      return error;
    }
  } else if (context.chain != nullptr && context.chain->scope != nullptr &&
             find_table(*context.chain->scope, parts) != nullptr) {
    return unsupported("a whole row as a value is", location);
  }
  Error error = error_at(sqlstate::kUndefinedColumn,
                         qualifier.empty() ? "column \"" + dotted + "\" does not exist"
                                           : "column " + dotted + " does not exist",
                         location);
  std::size_t best = std::min<std::size_t>(4, parts.back().size() / 2 + 1);
  for (const Chain* link = context.chain; link != nullptr; link = link->outer) {
    if (link->scope == nullptr || !link->visible) continue;
    for (const ScopeColumn& column : link->scope->columns) {
      const std::size_t distance = edit_distance(parts.back(), column.name);
      if (distance >= best) continue;
      best = distance;
      error.hint = "Perhaps you meant to reference the column \"" +
                   (column.table.empty() ? column.name : column.table + "." + column.name) + "\".";
    }
  }
  return error;
}

}  // namespace freshet::sql
