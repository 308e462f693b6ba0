// SPDX-License-Identifier: Apache-2.0
// Lookups planned once for all values of their parameters.
#include <algorithm>

#include "physical/lowering.h"

namespace freshet::sql {
namespace {

using expr::Scalar;

/// True if the value is known once parameters are: the same for every row.
bool is_open_constant(const Scalar& scalar) {
  bool fixed = scalar.columns().empty() && !scalar.contains_mz_now();
  scalar.visit([&](const Scalar& s) {
    fixed = fixed && s.as<Scalar::SessionValue>() == nullptr && s.as<Scalar::Failure>() == nullptr;
  });
  return fixed;
}

bool is_open(const Scalar& scalar) {
  bool open = scalar.contains_mz_now();
  scalar.visit([&](const Scalar& s) {
    open = open || s.as<Scalar::Parameter>() != nullptr || s.as<Scalar::SessionValue>() != nullptr;
  });
  return open;
}

/// What each part of `key` must equal, and which predicates say so.
struct Pinned {
  std::vector<Scalar> values;
  std::vector<bool> used;
};
std::optional<Pinned> pin(const std::vector<Scalar>& predicates, const expr::ArrangementKey& key) {
  Pinned pinned{.values = {}, .used = std::vector<bool>(predicates.size())};
  for (const Scalar& part : key) {
    const std::size_t before = pinned.values.size();
    for (std::size_t i = 0; i < predicates.size() && pinned.values.size() == before; ++i) {
      const auto equality = expr::as_equality(predicates[i]);
      if (!equality) continue;
      const auto& [a, b] = *equality;
      const Scalar* value = a == part ? &b : b == part ? &a : nullptr;
      if (value == nullptr || !is_open_constant(*value)) continue;
      pinned.values.push_back(*value);
      pinned.used[i] = true;
    }
    if (pinned.values.size() == before) return std::nullopt;
  }
  return pinned;
}

}  // namespace

std::optional<OpenLookup> open_lookup(const expr::Relation& relation, const IndexOracle& indexes) {
  const auto peeled = physical::peel(relation);
  if (!peeled || peeled->mfp.is_temporal()) return std::nullopt;
  const auto* get = peeled->core.as<expr::Relation::Get>();
  const auto* id = get == nullptr ? nullptr : std::get_if<expr::GlobalId>(&get->id);
  if (id == nullptr) return std::nullopt;
  const passes::Columns& columns = peeled->core.type().columns;
  std::vector<Scalar> written;
  for (std::size_t c = 0; c < columns.size(); ++c) written.push_back(Scalar::column(c, columns[c]));
  for (const Scalar& expression : peeled->mfp.written_out()) written.push_back(expression);
  std::vector<Scalar> predicates;
  for (const Scalar& predicate : peeled->mfp.predicates) predicates.push_back(predicate.substitute(written));
  for (const auto& index : indexes.on(*id)) {
    if (index.key.empty()) continue;
    auto pinned = pin(predicates, index.key);
    if (!pinned) continue;
    OpenLookup lookup{.index = index.id, .key = pinned->values, .key_types = {}, .mfp = peeled->mfp, .types = {}};
    std::vector<Scalar> rest;
    for (std::size_t i = 0; i < predicates.size(); ++i) {
      if (!pinned->used[i]) rest.push_back(peeled->mfp.predicates[i]);
    }
    lookup.mfp.predicates = std::move(rest);
    // Where the optimizer has put the value for the column that equals it, the column is as good.
    for (std::size_t k = 0; k < index.key.size(); ++k) {
      const Scalar& part = index.key[k];
      lookup.key_types.push_back(part.type().type);
      if (part.type().type != pinned->values[k].type().type || repr::has_forms(part.type().type)) continue;
      const auto back = [&](Scalar s) { return s == pinned->values[k] ? part : s; };
      for (Scalar& expression : lookup.mfp.expressions) expression = expression.transform(back);
      for (Scalar& predicate : lookup.mfp.predicates) predicate = predicate.transform(back);
    }
    if (std::ranges::any_of(lookup.mfp.expressions, is_open)) continue;
    if (std::ranges::any_of(lookup.mfp.predicates, is_open)) continue;
    lookup.types = peeled->mfp.output_types(columns);
    return lookup;
  }
  return std::nullopt;
}

}  // namespace freshet::sql
