// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "hir_build.h"

namespace freshet::sql {

repr::RelationDesc HirQuery::desc() const { return {.type = {.columns = relation->columns}, .names = names}; }

std::set<expr::GlobalId> HirQuery::depends_on() const {
  std::set<expr::GlobalId> ids;
  hir::visit_relations(*relation, [&](const HirRelation& node) {
    if (node.kind == HirRelation::Kind::kGet) ids.insert(node.id);
  });
  return ids;
}

namespace hir {
namespace {

using RKind = HirRelation::Kind;

template <typename T, typename F>
bool rewrite_all(std::vector<T>& items, F f) {
  bool changed = false;
  for (T& item : items) {
    T after = f(item);
    changed = changed || after != item;
    item = std::move(after);
  }
  return changed;
}

bool rewrite_pointer(HirScalarPtr& pointer, std::size_t depth, const Rewriter& f) {
  if (!pointer) return false;
  HirScalarPtr after = rewrite(pointer, depth, f);
  const bool changed = after != pointer;
  pointer = std::move(after);
  return changed;
}

bool rewrite_aggregates(std::vector<HirAggregate>& aggregates, std::size_t depth, const Rewriter& f) {
  bool changed = false;
  for (HirAggregate& aggregate : aggregates) {
    for (HirScalarPtr& argument : aggregate.arguments) changed |= rewrite_pointer(argument, depth, f);
    changed |= rewrite_pointer(aggregate.filter, depth, f);
    for (HirAggregate::OrderBy& order : aggregate.order_by) changed |= rewrite_pointer(order.expression, depth, f);
  }
  return changed;
}

std::size_t input_depth(const HirRelation& relation, std::size_t input, std::size_t depth) {
  return relation.kind == RKind::kJoin && relation.lateral && input == 1 ? depth + 1 : depth;
}

bool equal_pointers(const HirScalarPtr& a, const HirScalarPtr& b) {
  return a == b || (a && b && equal(*a, *b));
}

bool equal_lists(const std::vector<HirScalarPtr>& a, const std::vector<HirScalarPtr>& b) {
  return std::ranges::equal(a, b, equal_pointers);
}

}  // namespace

HirScalarPtr rewrite(const HirScalarPtr& scalar, std::size_t depth, const Rewriter& f) {
  if (HirScalarPtr replaced = f(scalar, depth)) return replaced;
  if (scalar->arguments.empty() && !scalar->query) return scalar;
  HirScalar copy = *scalar;
  // The comparison of ANY ranges over a row of its query.
  const std::size_t below = scalar->query ? depth + 1 : depth;
  bool changed = rewrite_all(copy.arguments, [&](const HirScalarPtr& a) { return rewrite(a, below, f); });
  if (copy.query) {
    copy.query = rewrite(scalar->query, depth + 1, f);
    changed = changed || copy.query != scalar->query;
  }
  return changed ? std::make_shared<const HirScalar>(std::move(copy)) : scalar;
}

HirRelationPtr rewrite(const HirRelationPtr& relation, std::size_t depth, const Rewriter& f) {
  HirRelation copy = *relation;
  bool changed = false;
  for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
    copy.inputs[i] = rewrite(relation->inputs[i], input_depth(*relation, i, depth), f);
    changed = changed || copy.inputs[i] != relation->inputs[i];
  }
  changed |= rewrite_all(copy.scalars, [&](const HirScalarPtr& s) { return rewrite(s, depth, f); });
  changed |= rewrite_aggregates(copy.aggregates, depth, f);
  changed |= rewrite_pointer(copy.limit, depth, f);
  changed |= rewrite_pointer(copy.offset, depth, f);
  return changed ? std::make_shared<const HirRelation>(std::move(copy)) : relation;
}

namespace {

Rewriter shifter(std::ptrdiff_t by, std::size_t start) {
  return [by, start](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
    const bool refers = node->kind == HirScalar::Kind::kColumn || node->kind == kAggregateRef ||
                        node->kind == kSetReturningRef;
    if (!refers || node->level < depth + start) return nullptr;
    HirScalar moved = *node;
    moved.level = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(node->level) + by);
    return std::make_shared<const HirScalar>(std::move(moved));
  };
}

}  // namespace

HirScalarPtr shift(const HirScalarPtr& scalar, std::size_t depth, std::ptrdiff_t by) {
  return by == 0 ? scalar : rewrite(scalar, 0, shifter(by, depth));
}
HirRelationPtr shift(const HirRelationPtr& relation, std::size_t depth, std::ptrdiff_t by) {
  return by == 0 ? relation : rewrite(relation, 0, shifter(by, depth));
}

void visit(const HirScalar& scalar, std::size_t depth, const Visitor& f) {
  f(scalar, depth);
  const std::size_t below = scalar.query ? depth + 1 : depth;
  for (const HirScalarPtr& argument : scalar.arguments) visit(*argument, below, f);
  if (scalar.query) visit(*scalar.query, depth + 1, f);
}

void visit(const HirRelation& relation, std::size_t depth, const Visitor& f) {
  for (std::size_t i = 0; i < relation.inputs.size(); ++i) {
    visit(*relation.inputs[i], input_depth(relation, i, depth), f);
  }
  for (const HirScalarPtr& scalar : relation.scalars) visit(*scalar, depth, f);
  for (const HirAggregate& aggregate : relation.aggregates) {
    for (const HirScalarPtr& argument : aggregate.arguments) visit(*argument, depth, f);
    if (aggregate.filter) visit(*aggregate.filter, depth, f);
    for (const HirAggregate::OrderBy& order : aggregate.order_by) visit(*order.expression, depth, f);
  }
  if (relation.limit) visit(*relation.limit, depth, f);
  if (relation.offset) visit(*relation.offset, depth, f);
}

void visit_relations(const HirRelation& relation, const std::function<void(const HirRelation&)>& f) {
  f(relation);
  for (const HirRelationPtr& input : relation.inputs) visit_relations(*input, f);
  const auto in_scalar = [&](const HirScalarPtr& scalar) {
    if (!scalar) return;
    const std::function<void(const HirScalar&)> walk = [&](const HirScalar& node) {
      for (const HirScalarPtr& argument : node.arguments) walk(*argument);
      if (node.query) visit_relations(*node.query, f);
    };
    walk(*scalar);
  };
  for (const HirScalarPtr& scalar : relation.scalars) in_scalar(scalar);
  for (const HirAggregate& aggregate : relation.aggregates) {
    for (const HirScalarPtr& argument : aggregate.arguments) in_scalar(argument);
    in_scalar(aggregate.filter);
    for (const HirAggregate::OrderBy& order : aggregate.order_by) in_scalar(order.expression);
  }
  in_scalar(relation.limit);
  in_scalar(relation.offset);
}

bool has_subquery(const HirScalar& scalar) {
  return scalar.query != nullptr ||
         std::ranges::any_of(scalar.arguments, [](const HirScalarPtr& a) { return has_subquery(*a); });
}

bool has_mz_now(const HirScalar& scalar) {
  bool found = false;
  visit(scalar, 0, [&](const HirScalar& node, std::size_t) { found = found || node.kind == HirScalar::Kind::kMzNow; });
  return found;
}

bool equal(const HirScalar& a, const HirScalar& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || !(a.type.type == b.type.type) || a.level != b.level || a.index != b.index) return false;
  if (a.function != b.function || a.arguments.size() != b.arguments.size()) return false;
  if (a.kind == HirScalar::Kind::kSessionValue && a.name != b.name) return false;
  if (a.query != b.query) return false;
  if (a.kind == HirScalar::Kind::kFailure && !(a.error == b.error)) return false;
  if (a.kind == HirScalar::Kind::kLiteral) {
    if (a.value.is_null() != b.value.is_null()) return false;
    if (!a.value.is_null()) {
      const bool same = a.type.type.kind() == repr::TypeKind::kUnknown
                            ? a.value.get<std::string>() == b.value.get<std::string>()
                            : repr::identical(a.value, b.value, a.type.type);
      if (!same) return false;
    }
  }
  return equal_lists(a.arguments, b.arguments);
}

}  // namespace hir
}  // namespace freshet::sql
