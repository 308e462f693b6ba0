// SPDX-License-Identifier: Apache-2.0
// An input that repeats another one, joined to it by a unique key, adds nothing: its columns are the other's.
#include <algorithm>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

bool same_class(const std::vector<std::vector<Scalar>>& classes, std::size_t a, std::size_t b) {
  const auto has = [](const std::vector<Scalar>& members, std::size_t column) {
    return std::any_of(members.begin(), members.end(), [&](const Scalar& m) {
      const auto* c = m.as<Scalar::Column>();
      return c != nullptr && c->index == column;
    });
  };
  return std::any_of(classes.begin(), classes.end(),
                     [&](const auto& members) { return has(members, a) && has(members, b); });
}

/// True if each row of input `b` that joins a row of the equal input `a` is that row.
bool repeats(const Relation::Join& n, const std::vector<Span>& spans, std::size_t a, std::size_t b) {
  if (n.inputs[a] != n.inputs[b]) return false;
  for (const auto& key : n.inputs[a].type().keys) {
    const bool tied = std::all_of(key.begin(), key.end(), [&](std::size_t c) {
      return same_class(n.equivalences, spans[a].begin + c, spans[b].begin + c);
    });
    if (tied) return true;
  }
  return false;
}

std::optional<Relation> without_one(const Relation::Join& n) {
  const std::vector<Span> spans = input_spans(n.inputs);
  for (std::size_t b = 1; b < n.inputs.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (!repeats(n, spans, a, b)) continue;
      std::vector<std::size_t> map;
      for (std::size_t c = 0; c < spans.back().end; ++c) {
        if (c < spans[b].begin) map.push_back(c);
        else if (c < spans[b].end) map.push_back(c - spans[b].begin + spans[a].begin);
        else map.push_back(c - (spans[b].end - spans[b].begin));
      }
      std::vector<Relation> inputs = n.inputs;
      inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(b));
      std::vector<std::vector<Scalar>> classes;
      for (const auto& members : n.equivalences) {
        classes.emplace_back();
        for (const Scalar& member : members) classes.back().push_back(member.with_columns(map));
      }
      return Relation::join(std::move(inputs), std::move(classes)).project(std::move(map));
    }
  }
  return std::nullopt;
}

}  // namespace

Relation remove_redundant_joins(const Relation& relation) {
  return relation.transform([](Relation r) {
    const auto* n = r.as<Relation::Join>();
    if (n == nullptr) return r;
    const auto smaller = without_one(*n);
    return smaller ? *smaller : r;
  });
}

}  // namespace freshet::sql::passes
