// SPDX-License-Identifier: Apache-2.0
// A filter above an outer join that no padded row can pass makes an inner join of it. What the filter or a
// join above rejects is handed down through nodes that keep columns in place.
#include <algorithm>

#include <freshet/expr/match_keys.h>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

using expr::MatchKind;

Relation inner_join(const Relation::Match& n) {
  const Columns columns = side_by_side(n.inputs);
  const std::size_t split = n.inputs[0].arity();
  const expr::MatchKeys keys = expr::split_on(n.on, split, columns);
  std::vector<std::vector<Scalar>> classes;
  for (const auto& [l, r] : keys.pairs) {
    classes.push_back({l, shifted(r, static_cast<std::ptrdiff_t>(split))});
  }
  return Relation::join(n.inputs, std::move(classes)).filter(keys.residual);
}

/// The join with its right and left sides exchanged, columns in the old order.
Relation mirrored_left(const Relation::Match& n) {
  const std::size_t left = n.inputs[0].arity();
  const std::size_t right = n.inputs[1].arity();
  std::vector<std::size_t> map = iota(right, right + left);
  for (std::size_t c = 0; c < right; ++c) map.push_back(c);
  std::vector<Scalar> on;
  for (const Scalar& predicate : n.on) on.push_back(predicate.with_columns(map));
  return Relation::match(MatchKind::kLeft, n.inputs[1], n.inputs[0], std::move(on)).project(std::move(map));
}

/// The match, given predicates over its columns that every surviving row satisfies.
Relation weaken(const Relation& relation, std::span<const Scalar> predicates) {
  const auto* n = relation.as<Relation::Match>();
  if (n == nullptr) return relation;
  const std::size_t split = n->inputs[0].arity();
  const auto rejects = [&](Span side) {
    return std::any_of(predicates.begin(), predicates.end(),
                       [&](const Scalar& p) { return rejects_nulls(p, side); });
  };
  const bool needs_right = rejects({split, relation.arity()});
  const bool needs_left = rejects({0, split});
  if (n->kind == MatchKind::kLeft && needs_right) return inner_join(*n);
  if (n->kind != MatchKind::kFull) return relation;
  if (needs_left && needs_right) return inner_join(*n);
  if (needs_left) return Relation::match(MatchKind::kLeft, n->inputs[0], n->inputs[1], n->on);
  return needs_right ? mirrored_left(*n) : relation;
}

/// What a join demands of one of its inputs, as predicates over the input's columns.
std::vector<Scalar> demands(const Relation::Join& n, Span span) {
  std::vector<Scalar> out;
  for (const auto& members : n.equivalences) {
    for (const Scalar& member : members) {
      if (member.columns().empty() || !within(member, span)) continue;
      out.push_back(is_not_null(shifted(member, -static_cast<std::ptrdiff_t>(span.begin))));
    }
  }
  return out;
}

Relation hand_down(const Relation& relation, std::span<const Scalar> predicates);

Relation through_project(const Relation::Project& n, std::span<const Scalar> predicates) {
  std::vector<Scalar> below;
  for (const Scalar& p : predicates) below.push_back(p.with_columns(n.columns));
  return hand_down(n.input[0], below).project(n.columns);
}

Relation hand_down(const Relation& relation, std::span<const Scalar> predicates) {
  if (predicates.empty()) return relation;
  if (const auto* n = relation.as<Relation::Project>()) return through_project(*n, predicates);
  if (const auto* n = relation.as<Relation::Map>()) {
    const Span input{0, n->input[0].arity()};
    std::vector<Scalar> below;
    for (const Scalar& p : predicates) {
      if (within(p, input)) below.push_back(p);
    }
    return hand_down(n->input[0], below).map(n->expressions);
  }
  if (const auto* n = relation.as<Relation::Filter>()) {
    return hand_down(n->input[0], predicates).filter(n->predicates);
  }
  return weaken(relation, predicates);
}

}  // namespace

Relation simplify_outer_joins(const Relation& relation) {
  return relation.transform([](Relation r) {
    if (const auto* n = r.as<Relation::Filter>()) {
      return hand_down(n->input[0], n->predicates).filter(n->predicates);
    }
    const auto* n = r.as<Relation::Join>();
    if (n == nullptr) return r;
    const std::vector<Span> spans = input_spans(n->inputs);
    std::vector<Relation> inputs;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      inputs.push_back(hand_down(n->inputs[i], demands(*n, spans[i])));
    }
    return Relation::join(std::move(inputs), n->equivalences);
  });
}

}  // namespace freshet::sql::passes
