// SPDX-License-Identifier: Apache-2.0
// Queries: WITH around a body, set operations, VALUES, LIMIT.
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/eval.h>

#include "bind_with.h"
#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {

using repr::SqlType;
using repr::TypeKind;

Binder::Binder(const StatementBody& body, const CatalogView& catalog, const SessionSettings& settings,
               std::vector<SqlType> parameter_types)
    : body_(body), catalog_(catalog), settings_(settings), typing_(std::move(parameter_types), settings.time_zone, this) {}

Result<void> Binder::go_on() {
  if (++steps_ % 1000 != 0 || !settings_.interrupt) return {};
  std::optional<Error> stop = settings_.interrupt();
  if (stop) return fail(*std::move(stop));
  return {};
}

Result<BoundQuery> Binder::query_node(const PgQuery__Node* node, const Chain* outer, QueryOptions options) {
  if (node->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    return fail(unsupported("a statement that changes data inside a query is", -1));
  }
  return query(*node->select_stmt, outer, options);
}

Result<BoundQuery> Binder::query(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options) {
  FRESHET_TRY(go_on());
  if (select.with_clause == nullptr) return query_body(select, outer, options);
  const std::size_t before = ctes_.size();
  const WithBindings bindings = FRESHET_TRY(with_clause(*select.with_clause, outer));
  BoundQuery query = FRESHET_TRY(query_body(select, outer, options));
  ctes_.resize(before);
  query.relation = wrap(bindings, query.relation);
  if (query.input) query.input = wrap(bindings, query.input);
  return query;
}

Result<BoundQuery> Binder::query_body(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options) {
  BoundQuery query;
  if (select.op != PG_QUERY__SET_OPERATION__SETOP_NONE && select.op != PG_QUERY__SET_OPERATION__SET_OPERATION_UNDEFINED) {
    query = FRESHET_TRY(set_operation(select, outer));
  } else if (select.n_values_lists > 0) {
    query = FRESHET_TRY(values(select, outer, options));
  } else {
    query = FRESHET_TRY(select_block(select, outer, options));
  }
  FRESHET_TRY(limit_clause(select, outer, query));
  return query;
}

Result<void> Binder::limit_clause(const PgQuery__SelectStmt& select, const Chain* outer, BoundQuery& query) {
  if (select.limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES) {
    return fail(unsupported("FETCH … WITH TIES is", -1));
  }
  const Scope nothing;
  const Chain link{.scope = &nothing, .outer = outer};
  if (select.limit_count != nullptr) {
    query.limit = FRESHET_TRY(row_count(select.limit_count, link, "LIMIT"));
    if (query.limit->kind == HirScalar::Kind::kLiteral && query.limit->value.is_null()) query.limit = nullptr;  // ALL
  }
  if (select.limit_offset != nullptr) query.offset = FRESHET_TRY(row_count(select.limit_offset, link, "OFFSET"));
  return {};
}

// An int8; reckoned here if it is a constant.
Result<HirScalarPtr> Binder::row_count(const PgQuery__Node* node, const Chain& link, std::string_view clause) {
  const ExprContext context{.chain = &link, .clause = clause};
  Result<HirScalarPtr> bound = expression(node, context);
  if (!bound && bound.error().sqlstate == sqlstate::kUndefinedColumn) {
    return fail(error_at(sqlstate::kInvalidColumnReference, "argument of " + std::string(clause) +
                                                                " must not contain variables",
                         bound.error().position - 1));
  }
  const HirScalarPtr count = FRESHET_TRY(typing_.coerce_to_int8(std::move(bound), clause));
  if (hir::has_subquery(*count)) return fail(unsupported("a subquery in " + std::string(clause) + " is", count->location));
  if (hir::has_mz_now(*count)) return fail(unsupported("mz_now() in " + std::string(clause) + " is", count->location));
  return fold(count);
}

Result<HirScalarPtr> Binder::fold(const HirScalarPtr& scalar) {
  bool constant = true;
  hir::visit(*scalar, 0, [&](const HirScalar& part, std::size_t) {
    const bool call = part.kind == HirScalar::Kind::kCall && part.function->volatility == expr::Volatility::kImmutable;
    constant = constant && (part.kind == HirScalar::Kind::kLiteral || call);
  });
  if (!constant || scalar->kind == HirScalar::Kind::kLiteral) return scalar;
  const expr::Scalar lowered = FRESHET_TRY(lower_scalar(scalar));
  repr::Datum value = FRESHET_TRY(expr::evaluate_row(lowered, {}, {}));
  return hir::at(hir::literal(std::move(value), scalar->type.type), scalar->location);
}

Result<HirRelationPtr> Binder::finished(const BoundQuery& query) {
  HirRelationPtr relation = query.relation;
  if (query.limit || query.offset) relation = hir::top_k(relation, {}, query.order, query.limit, query.offset);
  std::vector<std::size_t> visible;
  for (std::size_t i = 0; i < query.visible(); ++i) visible.push_back(i);
  return hir::project(relation, std::move(visible));
}

// -- VALUES -------------------------------------------------------------------------------------

Result<HirScalarPtr> Binder::assign(const HirScalarPtr& scalar, const SqlType& type, std::string_view column) {
  const SqlType& from = scalar->type.type;
  if (!typing_.can_coerce(from, type, CastContext::kAssignment)) {
    Error error = error_at(sqlstate::kDatatypeMismatch,
                           "column \"" + std::string(column) + "\" is of type " + type_name(type) +
                               " but expression is of type " + type_name(from),
                           scalar->location);
    error.hint = "You will need to rewrite or cast the expression.";
    return fail(std::move(error));
  }
  return typing_.coerce(scalar, type, CastContext::kAssignment, scalar->location);
}

Result<HirScalarPtr> Binder::value_in_row(const PgQuery__Node* node, std::size_t column, const ExprContext& context,
                                          const QueryOptions& options) {
  if (options.assign_to == nullptr || column >= options.assign_to->size()) return expression(node, context);
  const SqlType& type = (*options.assign_to)[column];
  if (node->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT) {
    const HirScalarPtr& value = (*options.defaults)[column];
    return value ? value : hir::null(type);
  }
  const HirScalarPtr value = FRESHET_TRY(expression(node, context));
  const HirScalarPtr stored = FRESHET_TRY(assign(value, type, (*options.assign_names)[column]));
  // Rows of constants make one constant relation, whatever must be done to store them.
  return fold(stored);
}

Result<BoundQuery> Binder::values(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options) {
  const Scope nothing;
  const Chain link{.scope = &nothing, .outer = outer};
  const ExprContext context{.chain = &link, .clause = "VALUES"};
  std::vector<std::vector<HirScalarPtr>> rows;
  for (const PgQuery__Node* list : nodes(select.n_values_lists, select.values_lists)) {
    std::vector<HirScalarPtr>& row = rows.emplace_back();
    for (const PgQuery__Node* node : nodes(list->list->n_items, list->list->items)) {
      row.push_back(FRESHET_TRY(value_in_row(node, row.size(), context, options)));
    }
    if (row.size() != rows.front().size()) {
      return fail(error_at(sqlstate::kSyntaxError, "VALUES lists must all be the same length",
                           row.empty() ? -1 : row.front()->location));
    }
  }
  const std::size_t arity = rows.front().size();
  if (options.assign_to != nullptr && arity > options.assign_to->size()) {
    return fail(error_at(sqlstate::kSyntaxError, "INSERT has more expressions than target columns",
                         rows.front()[options.assign_to->size()]->location));
  }
  if (arity > kMaxTargets) return fail(sqlstate::kTooManyColumns, "VALUES lists can have at most 1664 entries");
  std::vector<repr::ColumnType> types(arity);
  bool literal = true;
  for (std::size_t column = 0; column < arity; ++column) {
    std::vector<HirScalarPtr> values;
    for (const auto& row : rows) values.push_back(row[column]);
    FRESHET_TRY(typing_.make_common(values, "VALUES"));
    types[column] = {values.front()->type.type, false};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i][column] = values[i];
      types[column].nullable = types[column].nullable || values[i]->type.nullable;
      literal = literal && values[i]->kind == HirScalar::Kind::kLiteral;
    }
  }
  BoundQuery query;
  for (std::size_t column = 0; column < arity; ++column) query.names.push_back("column" + std::to_string(column + 1));
  if (literal) {
    std::vector<repr::DatumRow> data;
    for (const auto& row : rows) {
      repr::DatumRow& datums = data.emplace_back();
      for (const HirScalarPtr& value : row) datums.push_back(value->value);
    }
    query.relation = hir::constant(std::move(data), std::move(types));
  } else {
    std::vector<HirRelationPtr> parts;
    for (auto& row : rows) parts.push_back(hir::select(hir::unit(), std::move(row)));
    query.relation = hir::union_all(std::move(parts));
  }
  FRESHET_TRY(order_by_output(select, query));
  return query;
}

// -- set operations -----------------------------------------------------------------------------

namespace {

bool is_set_operation(const PgQuery__SelectStmt& select) {
  return select.op != PG_QUERY__SET_OPERATION__SETOP_NONE &&
         select.op != PG_QUERY__SET_OPERATION__SET_OPERATION_UNDEFINED;
}

bool is_plain(const PgQuery__SelectStmt& select) {
  return select.n_sort_clause == 0 && select.limit_count == nullptr && select.limit_offset == nullptr &&
         select.with_clause == nullptr;
}

std::string_view set_name(const PgQuery__SelectStmt& select) {
  switch (select.op) {
    case PG_QUERY__SET_OPERATION__SETOP_INTERSECT: return "INTERSECT";
    case PG_QUERY__SET_OPERATION__SETOP_EXCEPT: return "EXCEPT";
    default: return "UNION";
  }
}

}  // namespace

Result<BoundQuery> Binder::set_operation(const PgQuery__SelectStmt& select, const Chain* outer) {
  // A chain of one operator is taken as a list: a UNION ALL of hundreds is common.
  std::vector<const PgQuery__SelectStmt*> right;
  const PgQuery__SelectStmt* left = &select;
  const bool chain = select.op == PG_QUERY__SET_OPERATION__SETOP_UNION;
  do {
    right.push_back(left->rarg);
    left = left->larg;
  } while (chain && is_set_operation(*left) && left->op == select.op && left->all == select.all && is_plain(*left));
  std::vector<BoundQuery> operands;
  FRESHET_TRY(set_operands(*left, outer, operands));
  for (auto operand = right.rbegin(); operand != right.rend(); ++operand) {
    FRESHET_TRY(set_operands(**operand, outer, operands));
  }
  BoundQuery query = FRESHET_TRY(combine(select, std::move(operands)));
  FRESHET_TRY(order_by_output(select, query));
  return query;
}

Result<void> Binder::set_operands(const PgQuery__SelectStmt& select, const Chain* outer,
                                  std::vector<BoundQuery>& operands) {
  BoundQuery query_of_operand = FRESHET_TRY(query(select, outer, {.keep_unknown = is_plain(select)}));
  if (!query_of_operand.input) {
    query_of_operand.relation = FRESHET_TRY(finished(query_of_operand));
    query_of_operand.order.clear();
    query_of_operand.limit = nullptr;
    query_of_operand.offset = nullptr;
  }
  operands.push_back(std::move(query_of_operand));
  return {};
}

Result<BoundQuery> Binder::cast_outputs(BoundQuery query, const std::vector<SqlType>& types, CastContext context,
                                        const std::vector<std::string>* names) {
  std::vector<HirScalarPtr> outputs;
  const bool pending = query.input != nullptr;
  const std::size_t count = pending ? query.outputs.size() : query.relation->arity();
  for (std::size_t i = 0; i < count; ++i) {
    HirScalarPtr scalar = pending ? query.outputs[i] : hir::column(0, i, query.relation->columns[i]);
    if (i < types.size()) {
      scalar = names != nullptr ? FRESHET_TRY(assign(scalar, types[i], (*names)[i]))
                                : FRESHET_TRY(typing_.coerce(scalar, types[i], context));
    }
    outputs.push_back(std::move(scalar));
  }
  query.relation = hir::select(pending ? query.input : query.relation, std::move(outputs));
  query.input = nullptr;
  query.outputs.clear();
  return query;
}

Result<BoundQuery> Binder::combine(const PgQuery__SelectStmt& select, std::vector<BoundQuery> operands) {
  const std::string construct(set_name(select));
  const std::size_t arity = operands.front().visible();
  for (const BoundQuery& operand : operands) {
    if (operand.visible() != arity) {
      return fail(error_at(sqlstate::kSyntaxError, "each " + construct + " query must have the same number of columns",
                           operand.input && !operand.outputs.empty() ? operand.outputs.front()->location : -1));
    }
  }
  std::vector<SqlType> types;
  for (std::size_t column = 0; column < arity; ++column) {
    std::vector<HirScalarPtr> scalars;
    for (const BoundQuery& operand : operands) {
      scalars.push_back(operand.input ? operand.outputs[column]
                                      : hir::column(0, column, operand.relation->columns[column]));
    }
    types.push_back(FRESHET_TRY(typing_.common_type(scalars, construct)));
  }
  std::vector<HirRelationPtr> inputs;
  BoundQuery result;
  result.names = operands.front().names;
  for (BoundQuery& operand : operands) {
    const BoundQuery cast = FRESHET_TRY(cast_outputs(std::move(operand), types, CastContext::kImplicit));
    inputs.push_back(cast.relation);
  }
  const bool all = select.all != 0;
  if (select.op == PG_QUERY__SET_OPERATION__SETOP_UNION) {
    result.relation = hir::union_all(std::move(inputs));
    if (!all) result.relation = hir::distinct(result.relation);
    return result;
  }
  FRESHET_ASSERT(inputs.size() == 2);
  HirRelationPtr left = all ? inputs[0] : hir::distinct(inputs[0]);
  HirRelationPtr right = all ? inputs[1] : hir::distinct(inputs[1]);
  // left minus right, as far as it goes.
  const std::uint64_t id = next_local_++;
  const HirRelationPtr shared = hir::get_local(id, left->columns);
  HirRelationPtr difference = hir::threshold(hir::union_all({shared, hir::negate(right)}));
  if (select.op == PG_QUERY__SET_OPERATION__SETOP_EXCEPT) {
    result.relation = hir::let(id, left, std::move(difference));
  } else {
    result.relation = hir::let(id, left, hir::union_all({shared, hir::negate(std::move(difference))}));
  }
  return result;
}

// ORDER BY of a set operation or VALUES: over the output columns.
Result<void> Binder::order_by_output(const PgQuery__SelectStmt& select, BoundQuery& query) {
  if (select.n_sort_clause == 0) return {};
  Scope scope;
  for (std::size_t i = 0; i < query.names.size(); ++i) {
    scope.columns.push_back({"", query.names[i], query.relation->columns[i], i});
  }
  const Chain chain{.scope = &scope, .outer = nullptr};
  for (const PgQuery__Node* node : nodes(select.n_sort_clause, select.sort_clause)) {
    const PgQuery__SortBy& sort = *node->sort_by;
    std::size_t column = 0;
    if (sort.node->node_case == PG_QUERY__NODE__NODE_A_CONST && sort.node->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
      const std::int32_t position = sort.node->a_const->ival->ival;
      if (position < 1 || static_cast<std::size_t>(position) > query.visible()) {
        return fail(error_at(sqlstate::kInvalidColumnReference,
                             "ORDER BY position " + std::to_string(position) + " is not in select list",
                             sort.node->a_const->location));
      }
      column = static_cast<std::size_t>(position - 1);
    } else {
      const ExprContext context{.chain = &chain, .clause = "ORDER BY"};
      HirScalarPtr key = FRESHET_TRY(expression(sort.node, context));
      if (key->kind != HirScalar::Kind::kColumn) {
        if (select.n_values_lists == 0) {
          Error error = error_at(sqlstate::kFeatureNotSupported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                                 key->location);
          error.detail = "Only result column names can be used, not expressions or functions.";
          error.hint = "Add the expression/function to every SELECT, or move the UNION into a FROM clause.";
          return fail(std::move(error));
        }
        column = query.relation->arity();
        query.relation = hir::map(query.relation, {std::move(key)});
      } else {
        column = key->index;
      }
    }
    query.order.push_back(FRESHET_TRY(order_of(sort, column)));
  }
  return {};
}

}  // namespace freshet::sql
