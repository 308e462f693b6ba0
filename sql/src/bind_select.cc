// SPDX-License-Identifier: Apache-2.0
// One SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, and what ORDER BY needs.
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {

using repr::SqlType;
using repr::TypeKind;

struct Binder::SelectWork {
  BoundFrom from{};
  Chain chain{};
  HirRelationPtr relation{};
  Targets targets{};  ///< Hidden sort keys stand behind the `visible` ones.
  std::size_t visible = 0;
  std::vector<HirAggregate> aggregates{};
  std::vector<SetReturningCall> set_returning{};
  bool grouped = false;
  std::vector<HirScalarPtr> keys{};
  HirScalarPtr having{};
  std::vector<expr::ColumnOrder> order{};
  std::vector<std::size_t> distinct_on{};
  bool distinct = false;
};

namespace {

std::optional<std::int32_t> integer_constant(const PgQuery__Node* node) {
  if (node->node_case != PG_QUERY__NODE__NODE_A_CONST || node->a_const->isnull ||
      node->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL) {
    return std::nullopt;
  }
  return node->a_const->ival->ival;
}

// The name of a plain, unqualified column reference.
std::optional<std::string> bare_name(const PgQuery__Node* node) {
  if (node->node_case != PG_QUERY__NODE__NODE_COLUMN_REF || node->column_ref->n_fields != 1 ||
      node->column_ref->fields[0]->node_case != PG_QUERY__NODE__NODE_STRING) {
    return std::nullopt;
  }
  return std::string(node->column_ref->fields[0]->string->sval);
}

Result<std::size_t> target_position(std::int32_t position, std::size_t visible, std::string_view clause, int location) {
  if (position < 1 || static_cast<std::size_t>(position) > visible) {
    return fail(error_at(sqlstate::kInvalidColumnReference,
                         std::string(clause) + " position " + std::to_string(position) + " is not in select list",
                         location));
  }
  return static_cast<std::size_t>(position - 1);
}

// The `index`th group key in place of `node`, if that is what it computes, perhaps under another name of its type
// (varchar as text, numeric(4,2) as numeric).
HirScalarPtr grouped_as(const HirScalar& node, const HirScalarPtr& key, std::size_t index, std::size_t depth) {
  if (node.kind != key->kind) return nullptr;
  if (!hir::equal(node, *hir::relabel(key, node.type.type))) return nullptr;
  return hir::relabel(hir::column(depth, index, key->type), node.type.type);
}

bool is_star(const PgQuery__Node* node) {
  if (node->node_case != PG_QUERY__NODE__NODE_COLUMN_REF) return false;
  const PgQuery__ColumnRef& ref = *node->column_ref;
  return ref.fields[ref.n_fields - 1]->node_case == PG_QUERY__NODE__NODE_A_STAR;
}

base::Unexpected too_many_targets() {
  return fail(sqlstate::kTooManyColumns, "target lists can have at most " + std::to_string(kMaxTargets) + " entries");
}

}  // namespace

Result<Binder::Targets> Binder::target_list(std::span<PgQuery__Node* const> list, const Scope& scope,
                                            const ExprContext& context) {
  // Counted before they are bound, which costs more; * may stand for none.
  const auto written = std::ranges::count_if(list, [](const PgQuery__Node* n) { return !is_star(n->res_target->val); });
  if (static_cast<std::size_t>(written) > kMaxTargets) return too_many_targets();
  Targets targets;
  for (const PgQuery__Node* node : list) {
    const PgQuery__ResTarget& target = *node->res_target;
    if (!is_star(target.val)) {
      targets.scalars.push_back(FRESHET_TRY(expression(target.val, context)));
      const bool named = target.name != nullptr && *target.name != '\0';
      targets.names.push_back(named ? target.name : column_name_for(target.val));
    } else {
      const PgQuery__ColumnRef& ref = *target.val->column_ref;
      std::vector<std::string> qualifier = name_list(nodes(ref.n_fields - 1, ref.fields));
      if (scope.columns.empty() && qualifier.empty() && scope.tables.empty()) {
        return fail(error_at(sqlstate::kSyntaxError, "SELECT * with no tables specified is not valid", ref.location));
      }
      std::string_view only;
      if (!qualifier.empty()) {
        const auto table = std::ranges::find_if(scope.tables, [&](const ScopeTable& t) {
          if (qualifier.size() == 1) return t.alias == qualifier[0];
          return t.item && t.item->item == qualifier.back() && t.item->schema == qualifier[qualifier.size() - 2];
        });
        if (table == scope.tables.end()) {
          return fail(error_at(sqlstate::kUndefinedTable,
                               "missing FROM-clause entry for table \"" + qualifier.back() + "\"", ref.location));
        }
        only = table->alias;
      }
      for (const ScopeColumn& column : scope.columns) {
        if (column.system) continue;
        // A merged column belongs to no table: t.* shows the table's own.
        if (only.empty() ? !column.in_star : column.table != only) continue;
        HirScalar scalar = *hir::column(0, column.index, column.type);
        scalar.name = column.table.empty() ? column.name : column.table + "." + column.name;
        scalar.location = ref.location;
        targets.scalars.push_back(std::make_shared<const HirScalar>(std::move(scalar)));
        targets.names.push_back(column.name);
      }
    }
    if (targets.scalars.size() > kMaxTargets) {
      return too_many_targets();
    }
  }
  return targets;
}

Result<BoundQuery> Binder::select_block(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options) {
  if (select.into_clause != nullptr) return fail(unsupported("SELECT INTO is", -1));
  if (select.n_locking_clause > 0) return fail(unsupported("FOR UPDATE and FOR SHARE are", -1));
  SelectWork work;
  work.from = FRESHET_TRY(from_clause(nodes(select.n_from_clause, select.from_clause), outer));
  work.chain = {.scope = &work.from.scope, .outer = outer};
  work.relation = work.from.relation;
  if (select.where_clause != nullptr) {
    const ExprContext where{.chain = &work.chain, .clause = "WHERE"};
    HirScalarPtr predicate = FRESHET_TRY(expression(select.where_clause, where));
    predicate = FRESHET_TRY(typing_.coerce_to_boolean(predicate, "WHERE"));
    work.relation = hir::filter(work.relation, {std::move(predicate)});
  }
  const ExprContext context{.chain = &work.chain, .clause = "SELECT", .aggregates = &work.aggregates,
                            .set_returning = &work.set_returning};
  work.targets = FRESHET_TRY(target_list(nodes(select.n_target_list, select.target_list), work.from.scope, context));
  work.visible = work.targets.scalars.size();
  work.distinct = select.n_distinct_clause > 0;
  const bool keep = options.keep_unknown && !work.distinct;
  if (!keep) {
    for (HirScalarPtr& scalar : work.targets.scalars) scalar = FRESHET_TRY(typing_.settle(scalar));
  }
  FRESHET_TRY(group_keys(select, work));
  if (select.having_clause != nullptr) {
    ExprContext having = context;
    having.clause = "HAVING";
    having.set_returning = nullptr;
    work.having = FRESHET_TRY(typing_.coerce_to_boolean(expression(select.having_clause, having), "HAVING"));
    work.grouped = true;
  }
  FRESHET_TRY(order_keys(select, work));
  if (!work.aggregates.empty()) work.grouped = true;
  if (work.grouped) FRESHET_TRY(grouping(work));
  FRESHET_TRY(expand_set_returning(work));
  BoundQuery query;
  query.names = work.targets.names;
  query.order = work.order;
  if (keep) {
    query.input = work.relation;
    query.outputs = work.targets.scalars;
  }
  query.relation = hir::select(work.relation, work.targets.scalars);
  FRESHET_TRY(distinct_clause(select, work, query));
  return query;
}

// -- GROUP BY -----------------------------------------------------------------------------------

Result<HirScalarPtr> Binder::group_key(const PgQuery__Node* node, SelectWork& work) {
  if (node->node_case == PG_QUERY__NODE__NODE_GROUPING_SET) {
    return fail(unsupported("GROUPING SETS, ROLLUP and CUBE are", node->grouping_set->location));
  }
  if (const auto position = integer_constant(node)) {
    const std::size_t target =
        FRESHET_TRY(target_position(*position, work.visible, "GROUP BY", node->a_const->location));
    return work.targets.scalars[target];
  }
  // A name is a column of the input before it is one of the output.
  if (const auto name = bare_name(node)) {
    const bool in_input = std::ranges::any_of(work.from.scope.columns, [&](const ScopeColumn& column) {
      return column.unqualified && column.name == *name;
    });
    if (!in_input) {
      std::optional<std::size_t> found;
      for (std::size_t i = 0; i < work.visible; ++i) {
        if (work.targets.names[i] != *name) continue;
        if (found && !hir::equal(*work.targets.scalars[*found], *work.targets.scalars[i])) {
          return fail(error_at(sqlstate::kAmbiguousColumn, "GROUP BY \"" + *name + "\" is ambiguous",
                               node->column_ref->location));
        }
        found = i;
      }
      if (found) return work.targets.scalars[*found];
    }
  }
  const ExprContext context{.chain = &work.chain, .clause = "GROUP BY"};
  return typing_.settle(expression(node, context));
}

Result<void> Binder::group_keys(const PgQuery__SelectStmt& select, SelectWork& work) {
  for (const PgQuery__Node* node : nodes(select.n_group_clause, select.group_clause)) {
    work.grouped = true;
    if (node->node_case == PG_QUERY__NODE__NODE_GROUPING_SET &&
        node->grouping_set->kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY) {
      continue;
    }
    HirScalarPtr key = FRESHET_TRY(group_key(node, work));
    bool aggregate = false;
    hir::visit(*key, 0, [&](const HirScalar& part, std::size_t depth) {
      const bool computed = part.kind == hir::kAggregateRef || part.kind == hir::kSetReturningRef;
      aggregate = aggregate || (computed && part.level == depth);
    });
    if (aggregate) {
      return fail(error_at(sqlstate::kGroupingError, "aggregate functions are not allowed in GROUP BY", key->location));
    }
    const bool known = std::ranges::any_of(work.keys, [&](const HirScalarPtr& k) { return hir::equal(*k, *key); });
    if (!known) work.keys.push_back(std::move(key));
  }
  return {};
}

// Everything behind GROUP BY sees the group keys and the aggregates only.
Result<void> Binder::grouping(SelectWork& work) {
  std::optional<Error> failed;
  const auto regroup = [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
    if (node->kind == hir::kAggregateRef && node->level == depth) {
      return hir::column(depth, work.keys.size() + node->index, node->type);
    }
    if (node->kind != HirScalar::Kind::kLiteral) {
      for (std::size_t i = 0; i < work.keys.size(); ++i) {
        const HirScalarPtr key = depth == 0 ? work.keys[i] : hir::shift(work.keys[i], 0, static_cast<std::ptrdiff_t>(depth));
        if (const HirScalarPtr found = grouped_as(*node, key, i, depth)) return hir::at(found, node->location);
      }
    }
    if (node->kind == HirScalar::Kind::kColumn && node->level == depth && !failed) {
      failed = error_at(sqlstate::kGroupingError,
                        depth == 0 ? "column \"" + node->name +
                                         "\" must appear in the GROUP BY clause or be used in an aggregate function"
                                   : "subquery uses ungrouped column \"" + node->name + "\" from outer query",
                        node->location);
    }
    return nullptr;
  };
  work.relation = hir::reduce(work.relation, work.keys, work.aggregates);
  for (HirScalarPtr& scalar : work.targets.scalars) scalar = hir::rewrite(scalar, 0, regroup);
  for (SetReturningCall& call : work.set_returning) {
    for (HirScalarPtr& argument : call.arguments) argument = hir::rewrite(argument, 0, regroup);
  }
  if (work.having) work.relation = hir::filter(work.relation, {hir::rewrite(work.having, 0, regroup)});
  if (failed) return fail(std::move(*failed));
  return {};
}

// -- ORDER BY and DISTINCT ----------------------------------------------------------------------

Result<expr::ColumnOrder> Binder::order_of(const PgQuery__SortBy& sort, std::size_t column) {
  if (sort.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING) return fail(unsupported("ORDER BY … USING is", sort.location));
  expr::ColumnOrder order{.column = column};
  order.descending = sort.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
  order.nulls_last = !order.descending;
  if (sort.sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST) order.nulls_last = false;
  if (sort.sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST) order.nulls_last = true;
  return order;
}

// The target that a key of ORDER BY or DISTINCT ON means; a new hidden one if none does.
Result<std::size_t> Binder::sort_key(const PgQuery__Node* node, std::string_view clause, SelectWork& work) {
  if (const auto position = integer_constant(node)) {
    return target_position(*position, work.visible, clause, node->a_const->location);
  }
  // A name is a column of the output before it is one of the input.
  if (const auto name = bare_name(node)) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < work.visible; ++i) {
      if (work.targets.names[i] != *name) continue;
      if (found && !hir::equal(*work.targets.scalars[*found], *work.targets.scalars[i])) {
        return fail(error_at(sqlstate::kAmbiguousColumn, std::string(clause) + " \"" + *name + "\" is ambiguous",
                             node->column_ref->location));
      }
      if (!found) found = i;
    }
    if (found) return *found;
  }
  const ExprContext context{.chain = &work.chain, .clause = clause, .aggregates = &work.aggregates,
                            .set_returning = &work.set_returning};
  HirScalarPtr key = FRESHET_TRY(typing_.settle(expression(node, context)));
  for (std::size_t i = 0; i < work.targets.scalars.size(); ++i) {
    if (hir::equal(*work.targets.scalars[i], *key)) return i;
  }
  work.targets.scalars.push_back(std::move(key));
  return work.targets.scalars.size() - 1;
}

Result<void> Binder::order_keys(const PgQuery__SelectStmt& select, SelectWork& work) {
  for (const PgQuery__Node* node : nodes(select.n_sort_clause, select.sort_clause)) {
    const PgQuery__SortBy& sort = *node->sort_by;
    const std::size_t target = FRESHET_TRY(sort_key(sort.node, "ORDER BY", work));
    const bool plain_distinct = select.n_distinct_clause == 1 &&
                                select.distinct_clause[0]->node_case == PG_QUERY__NODE__NODE__NOT_SET;
    if (plain_distinct && target >= work.visible) {
      return fail(error_at(sqlstate::kInvalidColumnReference,
                           "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                           work.targets.scalars[target]->location));
    }
    work.order.push_back(FRESHET_TRY(order_of(sort, target)));
  }
  for (const PgQuery__Node* node : nodes(select.n_distinct_clause, select.distinct_clause)) {
    if (node->node_case == PG_QUERY__NODE__NODE__NOT_SET) continue;
    work.distinct_on.push_back(FRESHET_TRY(sort_key(node, "DISTINCT ON", work)));
  }
  return {};
}

Result<void> Binder::distinct_clause(const PgQuery__SelectStmt& select, SelectWork& work, BoundQuery& query) {
  if (select.n_distinct_clause == 0) return {};
  if (work.distinct_on.empty()) {
    query.relation = hir::distinct(query.relation);
    return {};
  }
  // The first keys of ORDER BY must be the keys of DISTINCT ON, in any order.
  std::vector<std::size_t> left = work.distinct_on;
  std::ranges::sort(left);
  left.erase(std::ranges::unique(left).begin(), left.end());
  for (const expr::ColumnOrder& order : work.order) {
    if (left.empty()) break;
    if (std::erase(left, order.column) == 0 && std::ranges::find(work.distinct_on, order.column) == work.distinct_on.end()) {
      return fail(error_at(sqlstate::kInvalidColumnReference,
                           "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                           work.targets.scalars[order.column]->location));
    }
  }
  std::vector<std::size_t> group = work.distinct_on;
  query.relation = hir::top_k(query.relation, std::move(group), work.order, hir::int8(1), nullptr);
  return {};
}

namespace {

// The calls side by side, row by row; where one has ended, NULLs. The row that their arguments refer to stands one
// level out. One column for each call, then the number of the row.
Result<HirRelationPtr> in_lockstep(Typing& typing, const std::vector<SetReturningCall>& calls) {
  HirRelationPtr all;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::vector<HirScalarPtr> arguments;
    for (const HirScalarPtr& argument : calls[i].arguments) arguments.push_back(hir::shift(argument, 0, 1));
    HirRelationPtr one = hir::flat_map(hir::unit(), calls[i].spec, std::move(arguments), true);
    if (i == 0) {
      all = std::move(one);
      continue;
    }
    const HirScalarPtr left = hir::column(0, i, all->columns[i]);
    const HirScalarPtr right = hir::column(0, i + 2, one->columns[1]);
    HirScalarPtr same = FRESHET_TRY(typing.binary("=", left, right, -1));
    all = hir::join(HirJoinKind::kFull, std::move(all), std::move(one), {std::move(same)}, false);
    std::vector<HirScalarPtr> columns;
    for (std::size_t c = 0; c < i; ++c) columns.push_back(hir::column(0, c, all->columns[c]));
    columns.push_back(hir::column(0, i + 1, all->columns[i + 1]));
    columns.push_back(hir::coalesce({hir::column(0, i, all->columns[i]), hir::column(0, i + 2, all->columns[i + 2])}));
    all = hir::select(std::move(all), std::move(columns));
  }
  return all;
}

}  // namespace

Result<void> Binder::expand_set_returning(SelectWork& work) {
  if (work.set_returning.empty()) return {};
  const std::size_t arity = work.relation->arity();
  if (work.set_returning.size() == 1) {
    SetReturningCall& call = work.set_returning.front();
    work.relation = hir::flat_map(work.relation, call.spec, std::move(call.arguments), false);
  } else {
    HirRelationPtr rows = FRESHET_TRY(in_lockstep(typing_, work.set_returning));
    work.relation = hir::join(HirJoinKind::kInner, work.relation, std::move(rows), {}, true);
  }
  for (HirScalarPtr& scalar : work.targets.scalars) {
    scalar = hir::rewrite(scalar, 0, [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
      if (node->kind != hir::kSetReturningRef || node->level != depth) return nullptr;
      const repr::ColumnType& type = work.relation->columns[arity + node->index];
      return hir::column(depth, arity + node->index, type);
    });
  }
  return {};
}

}  // namespace freshet::sql
