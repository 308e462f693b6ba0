// SPDX-License-Identifier: Apache-2.0
// WITH, WITH RECURSIVE, WITH MUTUALLY RECURSIVE.
#include "bind_with.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"

namespace freshet::sql {
namespace {

/// The `index`th column, perhaps of a type that is not known yet.
HirScalarPtr output_of(const BoundQuery& query, std::size_t index) {
  return query.input ? query.outputs[index] : hir::column(0, index, query.relation->columns[index]);
}

using repr::SqlType;

/// Each stands inside the one before it, and a plan is no deeper.
constexpr std::size_t kMaxWithQueries = 1500;

std::vector<repr::ColumnType> all_nullable(std::vector<repr::ColumnType> columns) {
  for (repr::ColumnType& column : columns) column.nullable = true;
  return columns;
}

}  // namespace

Result<Binder::WithBindings> Binder::with_clause(const PgQuery__WithClause& with, const Chain* outer) {
  if (with.n_ctes > kMaxWithQueries) return fail(sqlstate::kStatementTooComplex, "stack depth limit exceeded");
  WithBindings bindings;
  std::set<std::string_view> names;
  for (const PgQuery__Node* node : nodes(with.n_ctes, with.ctes)) {
    const PgQuery__CommonTableExpr& cte = *node->common_table_expr;
    if (names.insert(cte.ctename).second) continue;
    return fail(error_at(sqlstate::kDuplicateAlias,
                         "WITH query name \"" + std::string(cte.ctename) + "\" specified more than once", cte.location));
  }
  if (body_.mutually_recursive.contains(with.location)) {
    FRESHET_TRY(mutually_recursive(with, outer, bindings));
    return bindings;
  }
  for (const PgQuery__Node* node : nodes(with.n_ctes, with.ctes)) {
    const PgQuery__CommonTableExpr& cte = *node->common_table_expr;
    if (cte.search_clause != nullptr || cte.cycle_clause != nullptr) {
      return fail(unsupported("SEARCH and CYCLE are", cte.location));
    }
    if (with.recursive) {
      FRESHET_TRY(recursive_cte(cte, outer, bindings));
    } else {
      FRESHET_TRY(plain_cte(cte, outer, bindings));
    }
  }
  return bindings;
}

Result<std::vector<std::string>> Binder::cte_columns(const PgQuery__CommonTableExpr& cte,
                                                     const std::vector<std::string>& own) {
  std::vector<std::string> names = name_list(nodes(cte.n_aliascolnames, cte.aliascolnames));
  if (names.size() > own.size()) {
    return fail(error_at(sqlstate::kInvalidColumnReference,
                         "WITH query \"" + std::string(cte.ctename) + "\" has " + std::to_string(own.size()) +
                             " columns available but " + std::to_string(names.size()) + " columns specified",
                         cte.location));
  }
  names.insert(names.end(), own.begin() + static_cast<std::ptrdiff_t>(names.size()), own.end());
  return names;
}

Result<void> Binder::plain_cte(const PgQuery__CommonTableExpr& cte, const Chain* outer, WithBindings& bindings) {
  const BoundQuery query = FRESHET_TRY(query_node(cte.ctequery, outer));
  HirRelationPtr relation = FRESHET_TRY(finished(query));
  auto columns = FRESHET_TRY(cte_columns(cte, query.names));
  Cte entry{.name = cte.ctename, .id = next_local_++, .columns = std::move(columns), .types = relation->columns};
  bindings.items.push_back({.ids = {entry.id}, .values = {std::move(relation)}});
  ctes_.push_back(std::move(entry));
  return {};
}

namespace {

// Places where PostgreSQL allows no recursive reference: below these, only a plain query may use it.
bool has_forbidden_use(const HirRelation& relation, std::uint64_t id, bool forbidden) {
  using Kind = HirRelation::Kind;
  if (relation.kind == Kind::kGetLocal) return forbidden && relation.locals.front() == id;
  const bool stops = relation.kind == Kind::kReduce || relation.kind == Kind::kThreshold ||
                     relation.kind == Kind::kNegate || relation.kind == Kind::kTopK;
  for (std::size_t i = 0; i < relation.inputs.size(); ++i) {
    const bool nullable_side = relation.kind == Kind::kJoin &&
                               (relation.join_kind == HirJoinKind::kFull ||
                                (relation.join_kind == HirJoinKind::kLeft && i == 1));
    if (has_forbidden_use(*relation.inputs[i], id, forbidden || stops || nullable_side)) return true;
  }
  return false;
}

}  // namespace

Result<void> Binder::recursive_cte(const PgQuery__CommonTableExpr& cte, const Chain* outer, WithBindings& bindings) {
  const std::string name = cte.ctename;
  if (cte.ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) return plain_cte(cte, outer, bindings);
  const PgQuery__SelectStmt& select = *cte.ctequery->select_stmt;
  const bool is_union = select.op == PG_QUERY__SET_OPERATION__SETOP_UNION && select.with_clause == nullptr;
  const std::size_t before = ctes_.size();
  ctes_.push_back({.name = name, .forbidden = true});
  if (!is_union) {
    Result<void> bound = plain_cte(cte, outer, bindings);
    ctes_.erase(ctes_.begin() + static_cast<std::ptrdiff_t>(before));
    return bound;
  }
  Result<BoundQuery> first = query(*select.larg, outer);
  ctes_.resize(before);
  BoundQuery base = FRESHET_TRY(std::move(first));
  HirRelationPtr start = FRESHET_TRY(finished(base));
  const std::vector<std::string> names = FRESHET_TRY(cte_columns(cte, base.names));
  const std::uint64_t id = next_local_++;
  ctes_.push_back({.name = name, .id = id, .columns = names, .types = all_nullable(start->columns)});
  BoundQuery step = FRESHET_TRY(query(*select.rarg, outer, {.keep_unknown = true}));
  const std::size_t references = ctes_[before].references;
  ctes_.resize(before);
  if (step.visible() != base.visible()) {
    return fail(sqlstate::kSyntaxError, "each UNION query must have the same number of columns");
  }
  if (references == 0) return plain_cte(cte, outer, bindings);
  if (references > 1) {
    return fail(error_at(sqlstate::kInvalidRecursion,
                         "recursive reference to query \"" + name + "\" must not appear more than once", cte.location));
  }
  if (select.n_sort_clause > 0) return fail(unsupported("ORDER BY in a recursive query is", cte.location));
  if (select.limit_count != nullptr) return fail(unsupported("LIMIT in a recursive query is", cte.location));
  if (select.limit_offset != nullptr) return fail(unsupported("OFFSET in a recursive query is", cte.location));
  std::vector<SqlType> types;
  for (std::size_t i = 0; i < start->arity(); ++i) {
    types.push_back(start->columns[i].type);
    const HirScalarPtr again = output_of(step, i);
    if (is_unknown(*again)) continue;
    const std::vector<HirScalarPtr> both{hir::column(0, i, start->columns[i]), again};
    const SqlType own = FRESHET_TRY(typing_.common_type(both, "UNION"));
    if (!(own == types[i])) {
      Error error = error_at(sqlstate::kDatatypeMismatch,
                             "recursive query \"" + name + "\" column " + std::to_string(i + 1) + " has type " +
                                 type_name(types[i]) + " in non-recursive term but type " + type_name(own) + " overall",
                             cte.location);
      error.hint = "Cast the output of the non-recursive term to the correct type.";
      return fail(std::move(error));
    }
  }
  step = FRESHET_TRY(cast_outputs(std::move(step), types, CastContext::kImplicit));
  HirRelationPtr again = FRESHET_TRY(finished(step));
  if (has_forbidden_use(*again, id, false)) {
    return fail(error_at(sqlstate::kInvalidRecursion,
                         "recursive reference to query \"" + name +
                             "\" must not appear within an aggregate, an outer join, EXCEPT, INTERSECT or LIMIT",
                         cte.location));
  }
  HirRelationPtr value = hir::union_all({std::move(start), std::move(again)});
  if (!select.all) value = hir::distinct(value);
  ctes_.push_back({.name = name, .id = id, .columns = names, .types = all_nullable(value->columns)});
  bindings.items.push_back({.ids = {id}, .values = {std::move(value)}, .recursive = true});
  return {};
}

namespace {

// Literals take the declared types, and modifiers are applied, but nothing is converted unasked.
Result<void> check_declared(const PgQuery__CommonTableExpr& cte, const BoundQuery& query,
                            const std::vector<SqlType>& declared) {
  std::string wanted;
  std::string found;
  bool same = true;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const HirScalarPtr output = output_of(query, i);
    const SqlType own = is_unknown(*output) ? declared[i] : output->type.type;
    same = same && own.without_typmod() == declared[i].without_typmod();
    wanted += (i == 0 ? "" : ", ") + type_name(declared[i]);
    found += (i == 0 ? "" : ", ") + type_name(own);
  }
  if (same) return {};
  Error error = error_at(sqlstate::kDatatypeMismatch,
                         "WITH MUTUALLY RECURSIVE query \"" + std::string(cte.ctename) + "\" declared types (" + wanted +
                             "), but query returns types (" + found + ")",
                         cte.location);
  error.hint = "Cast the columns of the query to the declared types.";
  return fail(std::move(error));
}

}  // namespace

Result<void> Binder::mutually_recursive(const PgQuery__WithClause& with, const Chain* outer, WithBindings& bindings) {
  const MutuallyRecursive& found = body_.mutually_recursive.at(with.location);
  WithBindings::Item item{.recursive = true, .limit = found.limit, .return_at_limit = found.return_at_limit};
  std::vector<std::vector<SqlType>> declared;
  for (const PgQuery__Node* node : nodes(with.n_ctes, with.ctes)) {
    const PgQuery__CommonTableExpr& cte = *node->common_table_expr;
    const auto types = body_.binding_types.find(cte.location);
    FRESHET_ASSERT(types != body_.binding_types.end(), cte.location);
    declared.push_back(FRESHET_TRY(types_of_tree(*types->second)));
    Cte entry{.name = cte.ctename, .id = next_local_++,
              .columns = name_list(nodes(cte.n_aliascolnames, cte.aliascolnames))};
    for (const SqlType& type : declared.back()) entry.types.push_back({type, true});
    FRESHET_ASSERT(entry.columns.size() == entry.types.size(), entry.columns.size());
    item.ids.push_back(entry.id);
    ctes_.push_back(std::move(entry));
  }
  for (std::size_t i = 0; i < with.n_ctes; ++i) {
    const PgQuery__CommonTableExpr& cte = *with.ctes[i]->common_table_expr;
    BoundQuery query = FRESHET_TRY(query_node(cte.ctequery, outer, {.keep_unknown = true}));
    if (query.visible() != declared[i].size()) {
      return fail(error_at(sqlstate::kInvalidColumnReference,
                           "WITH MUTUALLY RECURSIVE query \"" + std::string(cte.ctename) + "\" declares " +
                               std::to_string(declared[i].size()) + " columns but its query has " +
                               std::to_string(query.visible()),
                           cte.location));
    }
    const std::vector<std::string> names = name_list(nodes(cte.n_aliascolnames, cte.aliascolnames));
    FRESHET_TRY(check_declared(cte, query, declared[i]));
    query = FRESHET_TRY(cast_outputs(std::move(query), declared[i], CastContext::kAssignment, &names));
    item.values.push_back(FRESHET_TRY(finished(query)));
  }
  bindings.items.push_back(std::move(item));
  return {};
}

HirRelationPtr Binder::wrap(const WithBindings& bindings, HirRelationPtr body) {
  for (auto item = bindings.items.rbegin(); item != bindings.items.rend(); ++item) {
    if (!item->recursive) {
      body = hir::let(item->ids.front(), item->values.front(), std::move(body));
      continue;
    }
    HirRelation relation;
    relation.kind = HirRelation::Kind::kLetRec;
    relation.columns = body->columns;
    relation.inputs = item->values;
    relation.inputs.push_back(std::move(body));
    relation.locals = item->ids;
    relation.recursion_limit = item->limit;
    relation.return_at_limit = item->return_at_limit;
    body = std::make_shared<const HirRelation>(std::move(relation));
  }
  return body;
}

}  // namespace freshet::sql
