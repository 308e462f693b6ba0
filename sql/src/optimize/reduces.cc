// SPDX-License-Identifier: Apache-2.0
// Reduces that need no grouping become maps; repeated and constant parts go; distinct below distinct goes.
#include <algorithm>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

using expr::Aggregate;
using expr::AggregateKind;
using expr::MatchKind;

/// True if no two rows of the input fall into one group.
bool groups_are_rows(const Relation::Reduce& n) {
  std::set<std::size_t> fixed;
  for (const Scalar& key : n.group_key) {
    if (const auto* column = key.as<Scalar::Column>()) fixed.insert(column->index);
  }
  const auto& keys = n.input[0].type().keys;
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
    return std::all_of(key.begin(), key.end(), [&](std::size_t c) { return fixed.contains(c); });
  });
}

Scalar int8(std::int64_t value) { return Scalar::literal(repr::Datum(value), repr::TypeKind::kInt8); }

/// What the aggregate is of a single row, if that is simple.
std::optional<Scalar> of_one_row(const Aggregate& aggregate) {
  std::optional<Scalar> value;
  Scalar otherwise = int8(0);
  switch (aggregate.spec->kind) {
    case AggregateKind::kCountStar:
      value = int8(1);
      break;
    case AggregateKind::kCount:
      value = Scalar::if_then(Scalar::is_null(aggregate.arguments[0]), int8(0), int8(1));
      break;
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
      value = aggregate.arguments[0];
      otherwise = Scalar::null(value->type().type);
      break;
    case AggregateKind::kSumInt2:
    case AggregateKind::kSumInt4: {
      const auto cast = expr::find_cast(aggregate.arguments[0].type().type, repr::TypeKind::kInt8);
      if (!cast || cast->function == nullptr) return std::nullopt;
      value = Scalar::call_typed(cast->function, {aggregate.arguments[0]}, repr::TypeKind::kInt8);
      otherwise = Scalar::null(repr::TypeKind::kInt8);
      break;
    }
    default:
      return std::nullopt;
  }
  return aggregate.filter ? Scalar::if_then(*aggregate.filter, *value, otherwise) : value;
}

std::optional<Relation> as_map(const Relation::Reduce& n) {
  if (!groups_are_rows(n)) return std::nullopt;
  std::vector<Scalar> expressions = n.group_key;
  for (const Aggregate& aggregate : n.aggregates) {
    auto value = of_one_row(aggregate);
    if (!value) return std::nullopt;
    expressions.push_back(*std::move(value));
  }
  const std::size_t before = n.input[0].arity();
  const std::size_t after = before + expressions.size();
  return n.input[0].map(std::move(expressions)).project(iota(before, after));
}

/// Repeated keys and aggregates once, constant keys behind.
std::optional<Relation> without_repetition(const Relation::Reduce& n) {
  std::vector<Scalar> keys;
  std::vector<Scalar> literals;
  std::vector<Aggregate> aggregates;
  struct Place {
    bool literal;
    std::size_t index;
  };
  std::vector<Place> places;
  const auto place_in = [](auto& list, const auto& item) {
    const auto found = std::find(list.begin(), list.end(), item);
    const auto index = static_cast<std::size_t>(found - list.begin());
    if (found == list.end()) list.push_back(item);
    return index;
  };
  for (const Scalar& key : n.group_key) {
    if (key.is_literal()) {
      places.push_back({true, literals.size()});
      literals.push_back(key);
    } else {
      places.push_back({false, place_in(keys, key)});
    }
  }
  std::vector<std::size_t> aggregate_places;
  for (const Aggregate& aggregate : n.aggregates) aggregate_places.push_back(place_in(aggregates, aggregate));
  if (literals.empty() && keys.size() == n.group_key.size() && aggregates.size() == n.aggregates.size()) {
    return std::nullopt;
  }
  const std::size_t reduced = keys.size() + aggregates.size();
  std::vector<std::size_t> columns;
  for (const Place& place : places) columns.push_back(place.literal ? reduced + place.index : place.index);
  for (const std::size_t place : aggregate_places) columns.push_back(keys.size() + place);
  return n.input[0].reduce(std::move(keys), std::move(aggregates)).map(std::move(literals)).project(columns);
}

/// The rows of a Distinct before it was one.
std::optional<Relation> before_distinct(const Relation& relation, const Context& context) {
  const auto* n = relation.as<Relation::Reduce>();
  if (n == nullptr || !n->aggregates.empty() || !non_negative(n->input[0], context)) return std::nullopt;
  const std::size_t before = n->input[0].arity();
  return n->input[0].map(n->group_key).project(iota(before, before + n->group_key.size()));
}

/// Distinct over a union needs no distinct inputs.
std::optional<Relation> distinct_of_union(const Relation::Reduce& n, const Context& context) {
  const auto* inputs = n.input[0].as<Relation::Union>();
  if (inputs == nullptr || !n.aggregates.empty()) return std::nullopt;
  std::vector<Relation> open;
  bool changed = false;
  for (const Relation& input : inputs->inputs) {
    auto rows = before_distinct(input, context);
    changed = changed || rows.has_value();
    open.push_back(rows ? *std::move(rows) : input);
  }
  if (!changed) return std::nullopt;
  return Relation::union_all(std::move(open)).reduce(n.group_key, {});
}

}  // namespace

Relation simplify_reduces(const Relation& relation, const Context& context) {
  return relation.transform([&](Relation r) {
    if (const auto* match = r.as<Relation::Match>()) {
      if (match->kind != MatchKind::kSemi && match->kind != MatchKind::kAnti) return r;
      const auto right = before_distinct(match->inputs[1], context);
      return right ? Relation::match(match->kind, match->inputs[0], *right, match->on) : r;
    }
    const auto* n = r.as<Relation::Reduce>();
    if (n == nullptr) return r;
    if (auto mapped = as_map(*n)) return *mapped;
    if (auto smaller = without_repetition(*n)) return *smaller;
    if (auto open = distinct_of_union(*n, context)) return *open;
    return r;
  });
}

}  // namespace freshet::sql::passes
