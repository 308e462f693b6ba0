// SPDX-License-Identifier: Apache-2.0
// Correlated predicates pulled out of a subquery, up into the join that replaces it.
#include <algorithm>

#include "hir_build.h"
#include "lower.h"

namespace freshet::sql {
namespace {

using Kind = HirScalar::Kind;
using RKind = HirRelation::Kind;

std::vector<HirScalarPtr> identity(const HirRelation& r) {
  std::vector<HirScalarPtr> outputs;
  for (std::size_t i = 0; i < r.arity(); ++i) outputs.push_back(hir::column(0, i, r.columns[i]));
  return outputs;
}

// Columns of the row at hand moved by `offset`.
HirScalarPtr offset_columns(const HirScalarPtr& s, std::size_t offset) {
  return hir::rewrite(s, 0, [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
    if (node->kind != Kind::kColumn || node->level != depth) return nullptr;
    return hir::column(depth, node->index + offset, node->type);
  });
}

bool all_inside(const std::vector<HirScalarPtr>& list) {
  return std::ranges::none_of(list, [](const HirScalarPtr& s) { return refers_outside(*s); });
}

// Adds predicates over the pulled relation: to it where they are not correlated. False if one cannot be.
bool add_predicates(Pulled& pulled, const std::vector<HirScalarPtr>& predicates) {
  std::vector<HirScalarPtr> own;
  for (const HirScalarPtr& predicate : split_conjuncts(predicates)) {
    HirScalarPtr moved = substitute(predicate, pulled.outputs);
    if (!refers_outside(*moved)) {
      own.push_back(std::move(moved));
    } else if (hir::has_subquery(*moved)) {
      return false;
    } else {
      pulled.predicates.push_back(std::move(moved));
    }
  }
  pulled.relation = hir::filter(pulled.relation, std::move(own));
  return true;
}

}  // namespace

std::optional<std::pair<HirScalarPtr, HirScalarPtr>> correlated_equality(const HirScalar& predicate) {
  if (predicate.kind != Kind::kCall || !predicate.function->is_operator || predicate.function->name != "=" ||
      predicate.arguments.size() != 2 || predicate.function->can_fail) {
    return std::nullopt;
  }
  for (std::size_t side = 0; side < 2; ++side) {
    const HirScalarPtr& outer = predicate.arguments[side];
    const HirScalarPtr& inner = predicate.arguments[1 - side];
    if (refers_outside(*outer) && !refers_to_row(*outer) && !refers_outside(*inner) && refers_to_row(*inner)) {
      return std::pair(outer, inner);
    }
  }
  return std::nullopt;
}

std::optional<Pulled> Lowering::pull_up(const HirRelationPtr& query, bool for_existence) {
  if (!is_correlated(*query)) return Pulled{.relation = query, .outputs = identity(*query)};
  const HirRelation& r = *query;
  switch (r.kind) {
    case RKind::kFilter: return pull_filter(r, for_existence);
    case RKind::kMap: return pull_map(r, for_existence);
    case RKind::kProject: {
      auto pulled = pull_up(r.inputs[0], for_existence);
      if (!pulled) return std::nullopt;
      std::vector<HirScalarPtr> outputs;
      for (std::size_t column : r.projection) outputs.push_back(pulled->outputs[column]);
      pulled->outputs = std::move(outputs);
      return pulled;
    }
    case RKind::kDistinct: return for_existence ? pull_up(r.inputs[0], true) : std::nullopt;
    case RKind::kTopK: {
      const bool keeps_one = !r.offset && (!r.limit || (r.limit->kind == Kind::kLiteral && !r.limit->value.is_null() &&
                                                        r.limit->value.get<std::int64_t>() > 0));
      // With a filter above, which row is kept would matter; there is none: filters ask with false.
      return for_existence && keeps_one ? pull_up(r.inputs[0], true) : std::nullopt;
    }
    case RKind::kJoin: return pull_join(r);
    case RKind::kReduce: return pull_reduce(r);
    case RKind::kLet: {
      if (is_correlated(*r.inputs[0])) return std::nullopt;
      auto pulled = pull_up(r.inputs[1], for_existence);
      if (!pulled) return std::nullopt;
      pulled->relation = hir::let(r.locals.front(), r.inputs[0], pulled->relation);
      return pulled;
    }
    default: return std::nullopt;
  }
}

std::optional<Pulled> Lowering::pull_filter(const HirRelation& r, bool for_existence) {
  static_cast<void>(for_existence);
  auto pulled = pull_up(r.inputs[0], false);
  if (!pulled || !add_predicates(*pulled, r.scalars)) return std::nullopt;
  return pulled;
}

std::optional<Pulled> Lowering::pull_map(const HirRelation& r, bool for_existence) {
  auto pulled = pull_up(r.inputs[0], for_existence);
  if (!pulled) return std::nullopt;
  for (const HirScalarPtr& s : r.scalars) {
    HirScalarPtr moved = substitute(s, pulled->outputs);
    if (hir::has_subquery(*moved)) {
      if (refers_outside(*moved)) return std::nullopt;
      pulled->relation = hir::map(pulled->relation, {moved});
      moved = hir::column(0, pulled->relation->arity() - 1, moved->type);
    }
    pulled->outputs.push_back(std::move(moved));
  }
  return pulled;
}

std::optional<Pulled> Lowering::pull_join(const HirRelation& r) {
  if (r.lateral || r.join_kind == HirJoinKind::kFull) return std::nullopt;
  auto left = pull_up(r.inputs[0], false);
  if (!left) return std::nullopt;
  if (r.join_kind == HirJoinKind::kLeft) {
    // A filter of the left side may wait until after the join; one of the right side may not.
    std::vector<HirScalarPtr> outputs = left->outputs;
    for (std::size_t i = 0; i < r.inputs[1]->arity(); ++i) {
      outputs.push_back(hir::column(0, left->relation->arity() + i, r.inputs[1]->columns[i]));
    }
    std::vector<HirScalarPtr> on;
    for (const HirScalarPtr& predicate : r.scalars) on.push_back(substitute(predicate, outputs));
    if (is_correlated(*r.inputs[1]) || !all_inside(on) || !all_inside(left->outputs)) return std::nullopt;
    left->relation = hir::join(HirJoinKind::kLeft, left->relation, r.inputs[1], std::move(on), false);
    left->outputs.resize(r.inputs[0]->arity());
    for (std::size_t i = 0; i < r.inputs[1]->arity(); ++i) {
      const std::size_t at = left->relation->arity() - r.inputs[1]->arity() + i;
      left->outputs.push_back(hir::column(0, at, left->relation->columns[at]));
    }
    return left;
  }
  auto right = pull_up(r.inputs[1], false);
  if (!right) return std::nullopt;
  const std::size_t width = left->relation->arity();
  Pulled joined;
  joined.relation = hir::join(HirJoinKind::kInner, left->relation, right->relation, {}, false);
  joined.outputs = std::move(left->outputs);
  joined.predicates = std::move(left->predicates);
  for (const HirScalarPtr& output : right->outputs) joined.outputs.push_back(offset_columns(output, width));
  for (const HirScalarPtr& predicate : right->predicates) joined.predicates.push_back(offset_columns(predicate, width));
  if (!add_predicates(joined, r.scalars)) return std::nullopt;
  return joined;
}

// GROUP BY in a subquery correlated by equalities: their inner sides join the key.
std::optional<Pulled> Lowering::pull_reduce(const HirRelation& r) {
  if (r.scalars.empty()) return std::nullopt;  // the row of an empty group depends on who asks
  auto pulled = pull_up(r.inputs[0], false);
  if (!pulled) return std::nullopt;
  std::vector<HirScalarPtr> keys;
  for (const HirScalarPtr& key : r.scalars) keys.push_back(substitute(key, pulled->outputs));
  std::vector<HirAggregate> aggregates = r.aggregates;
  std::vector<HirScalarPtr> used = keys;
  for (HirAggregate& aggregate : aggregates) {
    for (HirScalarPtr& argument : aggregate.arguments) used.push_back(argument = substitute(argument, pulled->outputs));
    if (aggregate.filter) used.push_back(aggregate.filter = substitute(aggregate.filter, pulled->outputs));
    for (HirAggregate::OrderBy& order : aggregate.order_by) {
      used.push_back(order.expression = substitute(order.expression, pulled->outputs));
    }
  }
  if (!all_inside(used)) return std::nullopt;
  Pulled result;
  const std::size_t own = keys.size();
  for (const HirScalarPtr& predicate : pulled->predicates) {
    auto equal = correlated_equality(*predicate);
    if (!equal) return std::nullopt;
    const HirScalarPtr key = hir::column(0, keys.size(), equal->second->type);
    const bool outer_first = predicate->arguments[0] == equal->first;
    result.predicates.push_back(hir::call(
        predicate->function, outer_first ? std::vector{equal->first, key} : std::vector{key, equal->first}));
    keys.push_back(equal->second);
  }
  const std::size_t total = keys.size();
  result.relation = hir::reduce(pulled->relation, std::move(keys), std::move(aggregates));
  for (std::size_t i = 0; i < own; ++i) result.outputs.push_back(hir::column(0, i, result.relation->columns[i]));
  for (std::size_t i = total; i < result.relation->arity(); ++i) {
    result.outputs.push_back(hir::column(0, i, result.relation->columns[i]));
  }
  return result;
}

}  // namespace freshet::sql
