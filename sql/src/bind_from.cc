// SPDX-License-Identifier: Apache-2.0
// FROM: tables, subqueries, functions, joins.
#include <algorithm>
#include <deque>

#include <freshet/base/sqlstate.h>

#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {
namespace {

// True if something in `item` may refer to what stands to its left.
bool may_be_lateral(const PgQuery__Node* item) {
  switch (item->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT: return item->range_subselect->lateral != 0;
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION: return true;
    case PG_QUERY__NODE__NODE_JOIN_EXPR:
      return may_be_lateral(item->join_expr->larg) || may_be_lateral(item->join_expr->rarg);
    default: return false;
  }
}

void append(Scope& scope, const Scope& right, std::size_t offset) {
  for (ScopeColumn column : right.columns) {
    column.index += offset;
    scope.columns.push_back(std::move(column));
  }
  scope.tables.insert(scope.tables.end(), right.tables.begin(), right.tables.end());
}

void set_types(Scope& scope, const HirRelation& relation) {
  for (ScopeColumn& column : scope.columns) column.type = relation.columns[column.index];
}

}  // namespace

Result<BoundFrom> Binder::from_clause(std::span<PgQuery__Node* const> items, const Chain* outer) {
  if (items.empty()) return BoundFrom{hir::unit(), {}};
  std::optional<BoundFrom> left;
  for (const PgQuery__Node* item : items) {
    if (!left) {
      left = FRESHET_TRY(from_item(item, outer, outer));
      continue;
    }
    const bool lateral = may_be_lateral(item);
    const Chain link{.scope = &left->scope, .outer = outer};
    const Chain* inner = lateral ? &link : outer;
    BoundFrom right = FRESHET_TRY(from_item(item, inner, outer));
    FRESHET_TRY(check_aliases(left->scope, right.scope));
    left = FRESHET_TRY(join_pair(std::move(*left), std::move(right), HirJoinKind::kInner, lateral));
  }
  return std::move(*left);
}

Result<BoundFrom> Binder::join_pair(BoundFrom left, BoundFrom right, HirJoinKind kind, bool lateral) {
  const std::size_t arity = left.relation->arity();
  BoundFrom joined;
  joined.relation = hir::join(kind, left.relation, right.relation, {}, lateral);
  joined.scope = std::move(left.scope);
  append(joined.scope, right.scope, arity);
  set_types(joined.scope, *joined.relation);
  if (joined.relation->arity() > 4 * kMaxColumns) {
    return fail(sqlstate::kTooManyColumns, "a join can have at most " + std::to_string(4 * kMaxColumns) + " columns");
  }
  return joined;
}

Result<void> Binder::check_aliases(const Scope& left, const Scope& right) {
  for (const ScopeTable& table : right.tables) {
    for (const ScopeTable& other : left.tables) {
      if (table.alias.empty() || table.alias != other.alias) continue;
      // Two tables of one name in different schemas may stand side by side.
      if (table.item && other.item && table.item->item == table.alias && !(*table.item == *other.item)) continue;
      return fail(sqlstate::kDuplicateAlias, "table name \"" + table.alias + "\" specified more than once");
    }
  }
  return {};
}

// `chain` is what lateral items see: the links before `base` show the items to the left.
Result<BoundFrom> Binder::from_item(const PgQuery__Node* item, const Chain* chain, const Chain* base) {
  switch (item->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR: return range_var(*item->range_var);
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT: return range_subselect(*item->range_subselect, chain, base);
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION: return range_function(*item->range_function, chain);
    case PG_QUERY__NODE__NODE_JOIN_EXPR: return join_expr(*item->join_expr, chain, base);
    case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE: return fail(unsupported("TABLESAMPLE is", -1));
    default: return fail(unsupported("this item of FROM is", -1));
  }
}

BoundFrom Binder::table_from(const CatalogItem& item, std::string_view alias) {
  BoundFrom from;
  from.relation = hir::get(item.id, item.desc.type.columns);
  from.scope.tables.push_back({std::string(alias), item.name});
  for (std::size_t i = 0; i < item.desc.arity(); ++i) {
    from.scope.columns.push_back({std::string(alias), item.desc.names[i], item.desc.type.columns[i], i});
  }
  return from;
}

// The system column that says which table a row is of; only where the statement may ask for it.
void Binder::add_tableoid(BoundFrom& from, std::uint32_t oid) {
  static constexpr std::string_view kName = "tableoid";
  const bool asked = !std::ranges::search(*body_.original, kName, {}, [](char c) {
                        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
                      }).empty();
  const bool taken = std::ranges::any_of(from.scope.columns, [](const ScopeColumn& c) { return c.name == kName; });
  if (!asked || taken) return;
  const HirScalarPtr value = hir::literal(repr::Datum(static_cast<std::int64_t>(oid)), repr::TypeKind::kOid);
  const std::size_t index = from.relation->arity();
  from.relation = hir::map(from.relation, {value});
  from.scope.columns.push_back({.table = from.scope.tables.front().alias, .name = std::string(kName), .type = value->type,
                                .index = index, .in_star = false, .system = true});
}

Result<BoundFrom> Binder::range_var(const PgQuery__RangeVar& range) {
  const bool qualified = range.schemaname != nullptr && *range.schemaname != '\0';
  const std::string name = range.relname;
  if (!qualified) {
    for (auto cte = ctes_.rbegin(); cte != ctes_.rend(); ++cte) {
      if (cte->name != name) continue;
      if (cte->forbidden) {
        return fail(error_at(sqlstate::kInvalidRecursion,
                             "recursive query \"" + name +
                                 "\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                             range.location));
      }
      ++cte->references;
      BoundFrom from;
      from.relation = hir::get_local(cte->id, cte->types);
      for (std::size_t i = 0; i < cte->columns.size(); ++i) {
        from.scope.columns.push_back({name, cte->columns[i], cte->types[i], i});
      }
      from.scope.tables.push_back({name, std::nullopt});
      FRESHET_TRY(apply_alias(from, range.alias, name));
      return from;
    }
  }
  const CatalogItem* item = FRESHET_TRY(relation_item(range));
  named_items_[range.location] = {item->name};
  BoundFrom from = table_from(*item, item->name.item);
  FRESHET_TRY(apply_alias(from, range.alias, item->name.item));
  add_tableoid(from, item->oid);
  return from;
}

Result<void> Binder::apply_alias(BoundFrom& from, const PgQuery__Alias* alias, std::string_view default_alias) {
  const std::string name = alias != nullptr ? alias->aliasname : std::string(default_alias);
  const bool renamed = alias != nullptr;
  for (ScopeColumn& column : from.scope.columns) column.table = name;
  if (renamed) {
    from.scope.tables.assign(1, {name, std::nullopt});
    const std::vector<std::string> columns = name_list(nodes(alias->n_colnames, alias->colnames));
    if (columns.size() > from.scope.columns.size()) {
      return fail(sqlstate::kInvalidColumnReference, "table \"" + name + "\" has " +
                                                         std::to_string(from.scope.columns.size()) +
                                                         " columns available but " + std::to_string(columns.size()) +
                                                         " columns specified");
    }
    for (std::size_t i = 0; i < columns.size(); ++i) from.scope.columns[i].name = columns[i];
  }
  return {};
}

Result<BoundFrom> Binder::range_subselect(const PgQuery__RangeSubselect& range, const Chain* chain,
                                          const Chain* base) {
  if (range.alias == nullptr) {
    Error error = sql_error(sqlstate::kSyntaxError, "subquery in FROM must have an alias");
    error.hint = "For example, FROM (SELECT ...) [AS] foo.";
    return fail(std::move(error));
  }
  // Not LATERAL: what stands to the left counts as levels, but may not be named.
  std::deque<Chain> hidden;
  if (!range.lateral) {
    std::vector<const Chain*> links;
    for (const Chain* link = chain; link != base; link = link->outer) links.push_back(link);
    chain = base;
    for (auto link = links.rbegin(); link != links.rend(); ++link) {
      hidden.push_back({.scope = (*link)->scope, .outer = chain, .visible = false, .outer_join = (*link)->outer_join});
      chain = &hidden.back();
    }
  }
  const BoundQuery bound = FRESHET_TRY(query_node(range.subquery, chain));
  BoundFrom from;
  from.relation = FRESHET_TRY(finished(bound));
  const std::string alias = range.alias->aliasname;
  for (std::size_t i = 0; i < bound.names.size(); ++i) {
    from.scope.columns.push_back({alias, bound.names[i], from.relation->columns[i], i});
  }
  FRESHET_TRY(apply_alias(from, range.alias, alias));
  return from;
}

Result<BoundFrom> Binder::range_function(const PgQuery__RangeFunction& range, const Chain* chain) {
  if (range.n_functions != 1) return fail(unsupported("ROWS FROM with several functions is", -1));
  const PgQuery__Node* list = range.functions[0];
  if (list->node_case != PG_QUERY__NODE__NODE_LIST || list->list->n_items == 0) {
    return fail(unsupported("this function in FROM is", -1));
  }
  if (range.n_coldeflist > 0) return fail(unsupported("a column definition list is", -1));
  const PgQuery__Node* call = list->list->items[0];
  if (call->node_case == PG_QUERY__NODE__NODE_FUNC_CALL) return function_in_from(*call->func_call, range, chain);
  // CURRENT_DATE and its like: one row of one value.
  const Scope nothing;
  const Chain link{.scope = &nothing, .outer = chain};
  const ExprContext context{.chain = &link, .clause = "function in FROM"};
  HirScalarPtr value = FRESHET_TRY(expression(call, context));
  BoundFrom from;
  from.relation = hir::map(hir::unit(), {value});
  from.scope.columns.push_back({"", column_name_for(call), value->type, 0});
  FRESHET_TRY(apply_alias(from, range.alias, column_name_for(call)));
  if (range.alias != nullptr && range.alias->n_colnames == 0) from.scope.columns[0].name = range.alias->aliasname;
  return from;
}

namespace {

/// Functions of the catalog that list what there is none of here: partitions, options, privileges.
struct EmptyFunction {
  std::string_view name;
  std::vector<std::pair<std::string_view, repr::TypeKind>> columns;
};

const EmptyFunction* empty_function(std::string_view name) {
  using repr::TypeKind;
  static const std::vector<EmptyFunction> kFunctions{
      {"pg_partition_tree",
       {{"relid", TypeKind::kRegclass}, {"parentrelid", TypeKind::kRegclass}, {"isleaf", TypeKind::kBool}, {"level", TypeKind::kInt4}}},
      {"pg_partition_ancestors", {{"relid", TypeKind::kRegclass}}},
      {"pg_options_to_table", {{"option_name", TypeKind::kText}, {"option_value", TypeKind::kText}}},
      {"aclexplode",
       {{"grantor", TypeKind::kOid}, {"grantee", TypeKind::kOid}, {"privilege_type", TypeKind::kText}, {"is_grantable", TypeKind::kBool}}},
  };
  const auto found = std::ranges::find(kFunctions, name, &EmptyFunction::name);
  return found == kFunctions.end() ? nullptr : &*found;
}

}  // namespace

Result<BoundFrom> Binder::function_in_from(const PgQuery__FuncCall& call, const PgQuery__RangeFunction& range,
                                           const Chain* chain) {
  const std::string name = name_list(nodes(call.n_funcname, call.funcname)).back();
  // The function ranges over one row without columns; its arguments see the row to the left one level out.
  const Scope nothing;
  const Chain link{.scope = &nothing, .outer = chain};
  const ExprContext context{.chain = &link, .clause = "function in FROM"};
  BoundFrom from;
  std::vector<std::string> names;
  if (!expr::table_functions_named(name).empty()) {
    auto arguments = FRESHET_TRY(expressions(nodes(call.n_args, call.args), context));
    auto [spec, converted] = FRESHET_TRY(table_function(name, std::move(arguments), call.location));
    from.relation = hir::flat_map(hir::unit(), spec, std::move(converted), range.ordinality != 0);
    for (std::string_view result : spec->result_names) names.emplace_back(result);
    if (range.ordinality) names.emplace_back("ordinality");
  } else if (const EmptyFunction* empty = empty_function(name)) {
    FRESHET_TRY(expressions(nodes(call.n_args, call.args), context));
    std::vector<repr::ColumnType> types;
    for (const auto& [column, kind] : empty->columns) {
      names.emplace_back(column);
      types.push_back({kind, true});
    }
    if (range.ordinality) {
      names.emplace_back("ordinality");
      types.push_back({repr::TypeKind::kInt8, false});
    }
    from.relation = hir::constant({}, std::move(types));
  } else {
    HirScalarPtr value = FRESHET_TRY(func_call(call, context));
    value = FRESHET_TRY(typing_.settle(value));
    std::vector<HirScalarPtr> columns{std::move(value)};
    if (range.ordinality) columns.push_back(hir::int8(1));
    from.relation = hir::map(hir::unit(), std::move(columns));
    names.push_back(name);
    if (range.ordinality) names.emplace_back("ordinality");
  }
  if (names.size() != from.relation->arity()) names.resize(from.relation->arity(), name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    from.scope.columns.push_back({name, names[i], from.relation->columns[i], i});
  }
  from.scope.tables.push_back({name, std::nullopt});
  FRESHET_TRY(apply_alias(from, range.alias, name));
  // A function of one column gives it the table's alias.
  const std::size_t own = names.size() - (range.ordinality ? 1 : 0);
  if (own == 1 && range.alias != nullptr && range.alias->n_colnames == 0) {
    from.scope.columns[0].name = range.alias->aliasname;
  }
  return from;
}

// -- JOIN ---------------------------------------------------------------------------------------

namespace {

Result<std::vector<std::string>> natural_columns(const Scope& left, const Scope& right) {
  std::vector<std::string> names;
  for (const ScopeColumn& column : left.columns) {
    if (!column.unqualified || !column.in_star) continue;
    const bool shared = std::ranges::any_of(
        right.columns, [&](const ScopeColumn& other) { return other.unqualified && other.name == column.name; });
    if (shared) names.push_back(column.name);
  }
  return names;
}

Result<const ScopeColumn*> using_column(const Scope& scope, const std::string& name, std::string_view side) {
  const ScopeColumn* found = nullptr;
  for (const ScopeColumn& column : scope.columns) {
    if (!column.unqualified || column.name != name) continue;
    if (found != nullptr) {
      return fail(sqlstate::kAmbiguousColumn,
                  "common column name \"" + name + "\" appears more than once in " + std::string(side) + " table");
    }
    found = &column;
  }
  if (found == nullptr) {
    return fail(sqlstate::kUndefinedColumn, "column \"" + name + "\" specified in USING clause does not exist in " +
                                                std::string(side) + " table");
  }
  return found;
}

// Columns of `right ++ left` put back in the order left ++ right.
BoundFrom swap_sides(BoundFrom joined, std::size_t right_arity, std::size_t left_arity) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < left_arity; ++i) order.push_back(right_arity + i);
  for (std::size_t i = 0; i < right_arity; ++i) order.push_back(i);
  joined.relation = hir::project(joined.relation, order);
  return joined;
}

}  // namespace

Result<BoundFrom> Binder::join_expr(const PgQuery__JoinExpr& join, const Chain* chain, const Chain* base) {
  BoundFrom left = FRESHET_TRY(from_item(join.larg, chain, base));
  const bool is_lateral = may_be_lateral(join.rarg);
  HirJoinKind kind = HirJoinKind::kInner;
  if (join.jointype == PG_QUERY__JOIN_TYPE__JOIN_LEFT) kind = HirJoinKind::kLeft;
  if (join.jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL) kind = HirJoinKind::kFull;
  const bool right_join = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT;
  // RIGHT and FULL joins keep rows of the right side that have no left row to refer to.
  const bool keeps_right = right_join || kind == HirJoinKind::kFull;
  const Chain link{.scope = &left.scope, .outer = chain, .visible = !keeps_right, .outer_join = keeps_right};
  BoundFrom right = FRESHET_TRY(from_item(join.rarg, is_lateral ? &link : chain, base));
  bool swapped_lateral = is_lateral;
  if (is_lateral && !link.visible) {
    right.relation = hir::shift(right.relation, 1, -1);
    swapped_lateral = false;
  }
  FRESHET_TRY(check_aliases(left.scope, right.scope));
  std::vector<std::string> names = name_list(nodes(join.n_using_clause, join.using_clause));
  if (join.is_natural) names = FRESHET_TRY(natural_columns(left.scope, right.scope));
  const std::size_t left_arity = left.relation->arity();
  const std::size_t right_arity = right.relation->arity();
  BoundFrom joined;
  Scope both = left.scope;
  append(both, right.scope, left_arity);
  std::vector<HirScalarPtr> on;
  std::vector<std::pair<ScopeColumn, ScopeColumn>> merged;
  for (const std::string& name : names) {
    const ScopeColumn* l = FRESHET_TRY(using_column(left.scope, name, "left"));
    ScopeColumn r = *FRESHET_TRY(using_column(right.scope, name, "right"));
    r.index += left_arity;
    on.push_back(FRESHET_TRY(typing_.binary("=", hir::column(0, l->index, l->type), hir::column(0, r.index, r.type), -1)));
    merged.emplace_back(*l, r);
  }
  if (join.quals != nullptr) {
    const Chain joined_row{.scope = &both, .outer = chain};
    const ExprContext context{.chain = &joined_row, .clause = "JOIN/ON"};
    on.push_back(FRESHET_TRY(typing_.coerce_to_boolean(expression(join.quals, context), "JOIN/ON")));
  }
  if (right_join) {
    // A left join the other way round.
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < left_arity + right_arity; ++i) {
      moved.push_back(i < left_arity ? i + right_arity : i - left_arity);
    }
    for (HirScalarPtr& predicate : on) {
      predicate = hir::rewrite(predicate, 0, [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
        if (node->kind != HirScalar::Kind::kColumn || node->level != depth) return nullptr;
        return hir::column(depth, moved[node->index], node->type);
      });
    }
    joined.relation = hir::join(HirJoinKind::kLeft, right.relation, left.relation, std::move(on), false);
    joined = swap_sides(std::move(joined), right_arity, left_arity);
  } else {
    joined.relation = hir::join(kind, left.relation, right.relation, std::move(on), swapped_lateral);
  }
  joined.scope = std::move(both);
  set_types(joined.scope, *joined.relation);
  FRESHET_TRY(merge_columns(joined, merged, right_join, kind == HirJoinKind::kFull));
  if (join.join_using_alias != nullptr) return fail(unsupported("an alias of USING is", -1));
  if (join.alias != nullptr) {
    std::vector<ScopeColumn> shown;
    for (ScopeColumn& column : joined.scope.columns) {
      if (column.in_star) shown.push_back(column);
    }
    joined.scope.columns = std::move(shown);
    for (ScopeColumn& column : joined.scope.columns) column.unqualified = true;
    FRESHET_TRY(apply_alias(joined, join.alias, ""));
  }
  return joined;
}

// USING and NATURAL: one column for both sides, first in `*`; the sides stay as t.c.
Result<void> Binder::merge_columns(BoundFrom& joined, const std::vector<std::pair<ScopeColumn, ScopeColumn>>& merged,
                                   bool from_right, bool full) {
  std::vector<ScopeColumn> front;
  std::vector<HirScalarPtr> computed;
  const std::size_t arity = joined.relation->arity();
  for (const auto& [l, r] : merged) {
    std::vector<HirScalarPtr> sides{hir::column(0, l.index, joined.relation->columns[l.index]),
                                    hir::column(0, r.index, joined.relation->columns[r.index])};
    FRESHET_TRY(typing_.make_common(sides, "JOIN/USING"));
    HirScalarPtr value = full ? hir::coalesce(sides) : from_right ? sides[1] : sides[0];
    std::size_t index = value->index;
    if (value->kind != HirScalar::Kind::kColumn) {
      index = arity + computed.size();
      computed.push_back(value);
    }
    front.push_back({"", l.name, value->type, index});
    for (ScopeColumn& column : joined.scope.columns) {
      if (column.index != l.index && column.index != r.index) continue;
      if (column.name != l.name) continue;
      column.unqualified = false;
      column.in_star = false;
    }
  }
  joined.relation = hir::map(joined.relation, std::move(computed));
  joined.scope.columns.insert(joined.scope.columns.begin(), front.begin(), front.end());
  return {};
}

}  // namespace freshet::sql
