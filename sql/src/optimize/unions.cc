// SPDX-License-Identifier: Apache-2.0
// What cancels in a union goes, and so do thresholds and limits that change nothing.
#include <algorithm>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

std::optional<Relation> cancelled(const Relation& relation, const Relation::Union& n) {
  std::vector<Relation> left = n.inputs;
  bool changed = false;
  for (auto input = left.begin(); input != left.end();) {
    const auto* negate = input->as<Relation::Negate>();
    const auto opposite =
        negate == nullptr ? left.end() : std::find(left.begin(), left.end(), negate->input[0]);
    if (opposite == left.end()) {
      ++input;
      continue;
    }
    left.erase(std::max(input, opposite));
    left.erase(std::min(input, opposite));
    input = left.begin();
    changed = true;
  }
  if (!changed) return std::nullopt;
  return left.empty() ? empty_like(relation) : Relation::union_all(std::move(left));
}

/// Every group has at most as many rows as are wanted.
bool keeps_all(const Relation::TopK& n) {
  if (n.offset != 0) return false;
  if (!n.limit) return true;
  const auto* literal = n.limit->as<Scalar::Literal>();
  if (literal == nullptr || literal->value.is_null() || literal->value.get<std::int64_t>() < 1) return false;
  const auto& keys = n.input[0].type().keys;
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
    return std::all_of(key.begin(), key.end(), [&](std::size_t c) {
      return std::find(n.group_key.begin(), n.group_key.end(), c) != n.group_key.end();
    });
  });
}

}  // namespace

Relation simplify_unions(const Relation& relation, const Context& context) {
  return relation.transform([&](Relation r) {
    if (const auto* n = r.as<Relation::Union>()) {
      const auto smaller = cancelled(r, *n);
      return smaller ? *smaller : r;
    }
    if (const auto* n = r.as<Relation::Threshold>()) {
      return non_negative(n->input[0], context) ? n->input[0] : r;
    }
    const auto* n = r.as<Relation::TopK>();
    return n != nullptr && keeps_all(*n) && non_negative(n->input[0], context) ? n->input[0] : r;
  });
}

}  // namespace freshet::sql::passes
