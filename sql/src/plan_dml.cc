// SPDX-License-Identifier: Apache-2.0
// INSERT, UPDATE, DELETE: relations that give the rows to put in and take out.
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"
#include "planner.h"

namespace freshet::sql {

using repr::SqlType;
using repr::TypeKind;

Result<const CatalogItem*> Planner::writable_table(const PgQuery__RangeVar& range, std::string_view verb) {
  const CatalogItem* item = FRESHET_TRY(binder_.relation_item(range));
  if (item->kind == ItemKind::kTable && item->writable) return item;
  const std::string kind(item->kind == ItemKind::kTable ? "system table" : to_string(item->kind));
  if (item->kind == ItemKind::kTable && item->part_of) {
    return fail(error_at(sqlstate::kWrongObjectType,
                         "cannot " + std::string(verb) + " \"" + item->name.item + "\": it is written by a source",
                         range.location));
  }
  const bool system = item->id.kind == expr::GlobalId::Kind::kSystem;
  return fail(error_at(system ? SqlState("42501") : sqlstate::kWrongObjectType,
                       "cannot " + std::string(verb) + " " + kind + " \"" + item->name.item + "\"", range.location));
}

Result<std::vector<std::size_t>> Planner::insert_columns(const CatalogItem& table,
                                                         std::span<PgQuery__Node* const> list) {
  std::vector<std::size_t> columns;
  if (list.empty()) {
    for (std::size_t i = 0; i < table.desc.arity(); ++i) columns.push_back(i);
    return columns;
  }
  for (const PgQuery__Node* node : list) {
    const bool target = node->node_case == PG_QUERY__NODE__NODE_RES_TARGET;
    const std::string name = target ? node->res_target->name : node->string->sval;
    const int location = target ? node->res_target->location : -1;
    const auto found = std::ranges::find(table.desc.names, name);
    if (found == table.desc.names.end()) {
      return fail(error_at(sqlstate::kUndefinedColumn,
                           "column \"" + name + "\" of relation \"" + table.name.item + "\" does not exist", location));
    }
    const auto column = static_cast<std::size_t>(found - table.desc.names.begin());
    if (std::ranges::find(columns, column) != columns.end()) {
      return fail(error_at(sqlstate::kDuplicateColumn, "column \"" + name + "\" specified more than once", location));
    }
    columns.push_back(column);
  }
  return columns;
}

HirScalarPtr Planner::not_null(const CatalogItem& table, std::size_t column, HirScalarPtr value) {
  if (table.desc.type.columns[column].nullable || !value->type.nullable) return value;
  Error error = sql_error(sqlstate::kNotNullViolation, "null value in column \"" + table.desc.names[column] +
                                                           "\" of relation \"" + table.name.item +
                                                           "\" violates not-null constraint");
  const SqlType type = value->type.type;
  // COALESCE reckons the second only for a NULL, and is not NULL itself.
  return hir::coalesce({std::move(value), hir::failure(std::move(error), type)});
}

HirRelationPtr Planner::check_not_null(const CatalogItem& table, HirRelationPtr relation, std::size_t first) {
  std::vector<HirScalarPtr> values;
  for (std::size_t i = 0; i < relation->arity(); ++i) {
    HirScalarPtr value = hir::column(0, i, relation->columns[i]);
    if (i >= first && i - first < table.desc.arity()) value = not_null(table, i - first, std::move(value));
    values.push_back(std::move(value));
  }
  return hir::select(std::move(relation), std::move(values));
}

// `scope` begins with the columns of the table.
Result<std::optional<Returning>> Planner::returning(const CatalogItem& table, const Scope& scope,
                                                    std::span<PgQuery__Node* const> list) {
  if (list.empty()) return std::optional<Returning>();
  const Chain chain{.scope = &scope};
  const ExprContext context{.chain = &chain, .clause = "RETURNING"};
  Binder::Targets targets = FRESHET_TRY(binder_.target_list(list, scope, context));
  Returning result;
  for (std::size_t i = 0; i < targets.scalars.size(); ++i) {
    const HirScalarPtr scalar = FRESHET_TRY(binder_.typing().settle(targets.scalars[i]));
    if (hir::has_subquery(*scalar)) return fail(unsupported("a subquery in RETURNING is", scalar->location));
    bool foreign = false;
    hir::visit(*scalar, 0, [&](const HirScalar& part, std::size_t) {
      foreign = foreign || (part.kind == HirScalar::Kind::kColumn && part.index >= table.desc.arity());
    });
    if (foreign) return fail(unsupported("RETURNING columns of another table is", scalar->location));
    result.expressions.push_back(FRESHET_TRY(lower_scalar(scalar)));
    result.desc.names.push_back(targets.names[i]);
    result.desc.type.columns.push_back(scalar->type);
  }
  return std::optional<Returning>(std::move(result));
}

Result<Plan::Node> Planner::insert() {
  const PgQuery__InsertStmt& stmt = *body_.tree->root().insert_stmt;
  const CatalogItem* table = FRESHET_TRY(writable_table(*stmt.relation, "insert into"));
  if (stmt.on_conflict_clause != nullptr) return fail(unsupported("ON CONFLICT is", stmt.on_conflict_clause->location));
  if (stmt.with_clause != nullptr) return fail(unsupported("WITH before INSERT is", stmt.with_clause->location));
  const std::vector<std::size_t> columns = FRESHET_TRY(insert_columns(*table, nodes(stmt.n_cols, stmt.cols)));
  std::vector<SqlType> types;
  std::vector<std::string> names;
  std::vector<HirScalarPtr> defaults;
  const auto default_of = [&](std::size_t column) {
    const bool has_default = column < table->defaults.size() && table->defaults[column] != nullptr;
    return has_default ? table->defaults[column] : hir::null(table->desc.type.columns[column].type);
  };
  for (std::size_t column : columns) {
    types.push_back(table->desc.type.columns[column].type);
    names.push_back(table->desc.names[column]);
    defaults.push_back(default_of(column));
  }
  HirRelationPtr source;
  std::size_t given = 0;
  if (stmt.select_stmt == nullptr) {
    source = hir::unit();
  } else {
    const PgQuery__SelectStmt& select = *stmt.select_stmt->select_stmt;
    BoundQuery query = FRESHET_TRY(binder_.query(
        select, nullptr,
        {.keep_unknown = true, .assign_to = &types, .assign_names = &names, .defaults = &defaults}));
    if (query.visible() > columns.size()) {
      const int location = query.input ? query.outputs[columns.size()]->location : -1;
      return fail(error_at(sqlstate::kSyntaxError, "INSERT has more expressions than target columns", location));
    }
    if (query.visible() < columns.size() && stmt.n_cols > 0) {
      const PgQuery__Node& first = *stmt.cols[query.visible()];
      return fail(error_at(sqlstate::kSyntaxError, "INSERT has more target columns than expressions",
                           first.node_case == PG_QUERY__NODE__NODE_RES_TARGET ? first.res_target->location : -1));
    }
    given = query.visible();
    types.resize(given);
    query = FRESHET_TRY(binder_.cast_outputs(std::move(query), types, CastContext::kAssignment, &names));
    source = FRESHET_TRY(binder_.finished(query));
  }
  std::vector<HirScalarPtr> values(table->desc.arity());
  for (std::size_t i = 0; i < given; ++i) values[columns[i]] = hir::column(0, i, source->columns[i]);
  for (std::size_t column = 0; column < values.size(); ++column) {
    if (!values[column]) values[column] = default_of(column);
    values[column] = not_null(*table, column, values[column]);
  }
  auto rows = FRESHET_TRY(lower(hir::select(source, std::move(values))));
  InsertPlan plan{.table = table->id, .rows = std::move(rows)};
  const std::string alias = stmt.relation->alias != nullptr ? stmt.relation->alias->aliasname : table->name.item;
  const BoundFrom from = binder_.table_from(*table, alias);
  plan.returning = FRESHET_TRY(returning(*table, from.scope, nodes(stmt.n_returning_list, stmt.returning_list)));
  return Plan::Node(std::move(plan));
}

Result<std::vector<HirScalarPtr>> Planner::set_clauses(const PgQuery__UpdateStmt& stmt, const CatalogItem& table,
                                                       const ExprContext& context) {
  std::vector<HirScalarPtr> values(table.desc.arity());
  for (const PgQuery__Node* node : nodes(stmt.n_target_list, stmt.target_list)) {
    const PgQuery__ResTarget& target = *node->res_target;
    const std::string name = target.name;
    if (target.n_indirection > 0) return fail(unsupported("assigning to a part of a column is", target.location));
    const auto found = std::ranges::find(table.desc.names, name);
    if (found == table.desc.names.end()) {
      return fail(error_at(sqlstate::kUndefinedColumn,
                           "column \"" + name + "\" of relation \"" + table.name.item + "\" does not exist",
                           target.location));
    }
    const auto column = static_cast<std::size_t>(found - table.desc.names.begin());
    if (values[column]) {
      return fail(error_at(sqlstate::kSyntaxError, "multiple assignments to same column \"" + name + "\"", target.location));
    }
    const PgQuery__Node* value = target.val;
    if (value->node_case == PG_QUERY__NODE__NODE_MULTI_ASSIGN_REF) {
      // (a, b) = (x, y): each column takes its part of the row.
      const PgQuery__MultiAssignRef& part = *value->multi_assign_ref;
      if (part.source == nullptr || part.source->node_case != PG_QUERY__NODE__NODE_ROW_EXPR) {
        return fail(unsupported("assigning a subquery to several columns is", target.location));
      }
      const PgQuery__RowExpr& row = *part.source->row_expr;
      if (static_cast<int>(row.n_args) != part.ncolumns) {
        return fail(error_at(sqlstate::kSyntaxError, "number of columns does not match number of values", row.location));
      }
      value = row.args[part.colno - 1];
    }
    const SqlType& type = table.desc.type.columns[column].type;
    if (value->node_case == PG_QUERY__NODE__NODE_SET_TO_DEFAULT) {
      const bool has_default = column < table.defaults.size() && table.defaults[column] != nullptr;
      values[column] = has_default ? table.defaults[column] : hir::null(type);
    } else {
      const HirScalarPtr scalar = FRESHET_TRY(binder_.expression(value, context));
      values[column] = FRESHET_TRY(binder_.assign(scalar, type, name));
    }
  }
  return values;
}

namespace {

/// One new row for each old one where several rows of FROM matched: PostgreSQL takes any, we the least. The
/// counts of the old rows are the table's.
HirRelationPtr one_per_row(HirRelationPtr table, HirRelationPtr changes) {
  const std::size_t arity = table->arity();
  std::vector<std::size_t> old_columns;
  for (std::size_t i = 0; i < arity; ++i) old_columns.push_back(i);
  HirRelationPtr chosen = hir::top_k(hir::distinct(std::move(changes)), old_columns, {}, hir::int8(1), nullptr);
  std::vector<HirScalarPtr> same;
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < arity; ++i) {
    HirScalarPtr a = hir::column(0, i, table->columns[i]);
    HirScalarPtr b = hir::column(0, arity + i, chosen->columns[i]);
    same.push_back(hir::call("is_not_distinct_from(anyelement,anyelement)", {a, b}));
    columns.push_back(i);
  }
  for (std::size_t i = 0; i < arity; ++i) columns.push_back(2 * arity + i);
  return hir::project(hir::join(HirJoinKind::kInner, std::move(table), std::move(chosen), std::move(same), false),
                      std::move(columns));
}

}  // namespace

Result<Plan::Node> Planner::update() {
  const PgQuery__UpdateStmt& stmt = *body_.tree->root().update_stmt;
  const CatalogItem* table = FRESHET_TRY(writable_table(*stmt.relation, "update"));
  if (stmt.with_clause != nullptr) return fail(unsupported("WITH before UPDATE is", stmt.with_clause->location));
  const std::string alias = stmt.relation->alias != nullptr ? stmt.relation->alias->aliasname : table->name.item;
  BoundFrom from = binder_.table_from(*table, alias);
  const HirRelationPtr own = from.relation;
  if (stmt.n_from_clause > 0) {
    BoundFrom other = FRESHET_TRY(binder_.from_clause(nodes(stmt.n_from_clause, stmt.from_clause), nullptr));
    FRESHET_TRY(binder_.check_aliases(from.scope, other.scope));
    from = FRESHET_TRY(binder_.join_pair(std::move(from), std::move(other), HirJoinKind::kInner, false));
  }
  const Chain chain{.scope = &from.scope};
  HirRelationPtr relation = from.relation;
  if (stmt.where_clause != nullptr) {
    const ExprContext where{.chain = &chain, .clause = "WHERE"};
    const HirScalarPtr predicate =
        FRESHET_TRY(binder_.typing().coerce_to_boolean(binder_.expression(stmt.where_clause, where), "WHERE"));
    relation = hir::filter(relation, {predicate});
  }
  const ExprContext context{.chain = &chain, .clause = "UPDATE"};
  const std::vector<HirScalarPtr> set = FRESHET_TRY(set_clauses(stmt, *table, context));
  std::vector<HirScalarPtr> outputs;
  for (std::size_t i = 0; i < table->desc.arity(); ++i) outputs.push_back(hir::column(0, i, own->columns[i]));
  for (std::size_t i = 0; i < table->desc.arity(); ++i) outputs.push_back(set[i] ? set[i] : outputs[i]);
  HirRelationPtr changes = hir::select(relation, std::move(outputs));
  if (stmt.n_from_clause > 0) changes = one_per_row(own, std::move(changes));
  changes = check_not_null(*table, std::move(changes), table->desc.arity());
  auto changed = FRESHET_TRY(lower(changes));
  UpdatePlan plan{.table = table->id, .changes = std::move(changed)};
  plan.returning = FRESHET_TRY(returning(*table, from.scope, nodes(stmt.n_returning_list, stmt.returning_list)));
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::remove() {
  const PgQuery__DeleteStmt& stmt = *body_.tree->root().delete_stmt;
  const CatalogItem* table = FRESHET_TRY(writable_table(*stmt.relation, "delete from"));
  if (stmt.with_clause != nullptr) return fail(unsupported("WITH before DELETE is", stmt.with_clause->location));
  const std::string alias = stmt.relation->alias != nullptr ? stmt.relation->alias->aliasname : table->name.item;
  BoundFrom from = binder_.table_from(*table, alias);
  HirRelationPtr relation = from.relation;
  if (stmt.n_using_clause > 0) {
    // Rows for which USING has a match: EXISTS over it, the table one level out.
    const Chain row{.scope = &from.scope};
    BoundFrom other = FRESHET_TRY(binder_.from_clause(nodes(stmt.n_using_clause, stmt.using_clause), nullptr));
    FRESHET_TRY(binder_.check_aliases(from.scope, other.scope));
    HirRelationPtr matches = other.relation;
    if (stmt.where_clause != nullptr) {
      const Chain inner{.scope = &other.scope, .outer = &row};
      const ExprContext where{.chain = &inner, .clause = "WHERE"};
      const HirScalarPtr predicate =
          FRESHET_TRY(binder_.typing().coerce_to_boolean(binder_.expression(stmt.where_clause, where), "WHERE"));
      matches = hir::filter(matches, {predicate});
    }
    relation = hir::filter(relation, {hir::exists(std::move(matches))});
    from = FRESHET_TRY(binder_.join_pair(std::move(from), std::move(other), HirJoinKind::kInner, false));
  } else if (stmt.where_clause != nullptr) {
    const Chain row{.scope = &from.scope};
    const ExprContext where{.chain = &row, .clause = "WHERE"};
    const HirScalarPtr predicate =
        FRESHET_TRY(binder_.typing().coerce_to_boolean(binder_.expression(stmt.where_clause, where), "WHERE"));
    relation = hir::filter(relation, {predicate});
  }
  auto rows = FRESHET_TRY(lower(relation));
  DeletePlan plan{.table = table->id, .rows = std::move(rows)};
  plan.returning = FRESHET_TRY(returning(*table, from.scope, nodes(stmt.n_returning_list, stmt.returning_list)));
  return Plan::Node(std::move(plan));
}

}  // namespace freshet::sql
