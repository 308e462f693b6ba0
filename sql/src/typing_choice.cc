// SPDX-License-Identifier: Apache-2.0
// Which overload is meant (func_select_candidate of PostgreSQL's documentation, chapter 10.3).
#include <algorithm>
#include <functional>

#include "typing.h"

namespace freshet::sql {
namespace {

using expr::ArgumentType;
using repr::SqlType;
using repr::TypeKind;
using AKind = ArgumentType::Kind;

constexpr char kStringCategory = 'S';

char category(const SqlType& type) { return repr::type_info(type.kind()).category; }
bool preferred(const SqlType& type) { return repr::type_info(type.kind()).preferred; }
bool same_type(const SqlType& a, const SqlType& b) { return a.without_typmod() == b.without_typmod(); }

bool accepts(const ArgumentType& parameter, const SqlType& argument) {
  if (argument.kind() == TypeKind::kUnknown) return true;
  switch (parameter.kind) {
    case AKind::kConcrete: return can_coerce_implicitly(argument, parameter.type);
    case AKind::kAny:
    case AKind::kAnyElement: return true;
    case AKind::kAnyArray: return argument.kind() == TypeKind::kArray;
    case AKind::kAnyNonArray: return argument.kind() != TypeKind::kArray;
  }
  return false;
}

// The element types that the known arguments give to polymorphic positions are one type.
bool agrees(const Candidate& candidate, std::span<const SqlType> types) {
  std::optional<SqlType> element;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const AKind kind = candidate.arguments[i].kind;
    if (kind == AKind::kConcrete || kind == AKind::kAny || types[i].kind() == TypeKind::kUnknown) continue;
    const SqlType own = kind == AKind::kAnyArray ? types[i].element() : types[i];
    if (element && !same_type(*element, own)) return false;
    element = own;
  }
  return true;
}

bool is_exact(const ArgumentType& parameter, const SqlType& argument) {
  return parameter.kind == AKind::kConcrete && same_type(parameter.type, argument);
}

std::size_t exact_matches(const Candidate& candidate, std::span<const SqlType> types) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].kind() != TypeKind::kUnknown && is_exact(candidate.arguments[i], types[i])) ++count;
  }
  return count;
}

std::size_t preferred_matches(const Candidate& candidate, std::span<const SqlType> types) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].kind() == TypeKind::kUnknown) continue;
    const ArgumentType& parameter = candidate.arguments[i];
    if (is_exact(parameter, types[i]) ||
        (parameter.kind == AKind::kConcrete && preferred(parameter.type) &&
         category(parameter.type) == category(types[i]))) {
      ++count;
    }
  }
  return count;
}

void keep_best(std::vector<Candidate>& candidates, const std::function<std::size_t(const Candidate&)>& score) {
  std::size_t best = 0;
  for (const Candidate& candidate : candidates) best = std::max(best, score(candidate));
  std::erase_if(candidates, [&](const Candidate& candidate) { return score(candidate) < best; });
}

// The category that unknown arguments at `position` are taken to have.
std::optional<char> unknown_category(const std::vector<Candidate>& candidates, std::size_t position) {
  std::optional<char> found;
  bool conflict = false;
  for (const Candidate& candidate : candidates) {
    const ArgumentType& parameter = candidate.arguments[position];
    if (parameter.kind != AKind::kConcrete) continue;
    const char own = category(parameter.type);
    if (own == kStringCategory) return own;
    conflict = conflict || (found && *found != own);
    found = own;
  }
  return conflict ? std::nullopt : found;
}

// Unknown arguments: prefer strings, else the category all candidates share, and its preferred type.
bool narrow_unknowns(std::vector<Candidate>& candidates, std::span<const SqlType> types) {
  std::vector<Candidate> kept = candidates;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].kind() != TypeKind::kUnknown) continue;
    const std::optional<char> chosen = unknown_category(candidates, i);
    if (!chosen) return false;
    const bool has_preferred = std::ranges::any_of(candidates, [&](const Candidate& candidate) {
      const ArgumentType& parameter = candidate.arguments[i];
      return parameter.kind == AKind::kConcrete && category(parameter.type) == *chosen && preferred(parameter.type);
    });
    std::erase_if(kept, [&](const Candidate& candidate) {
      const ArgumentType& parameter = candidate.arguments[i];
      // A polymorphic parameter has the category of pseudo-types.
      if (parameter.kind != AKind::kConcrete || category(parameter.type) != *chosen) return true;
      return has_preferred && !preferred(parameter.type);
    });
  }
  if (!kept.empty()) candidates = std::move(kept);
  return true;
}

// If all known arguments have one type, the unknown ones may well have it too.
void assume_same_type(std::vector<Candidate>& candidates, std::span<const SqlType> types) {
  std::optional<SqlType> known;
  for (const SqlType& type : types) {
    if (type.kind() == TypeKind::kUnknown) continue;
    if (known && !same_type(*known, type)) return;
    known = type;
  }
  if (!known) return;
  const std::vector<SqlType> assumed(types.size(), *known);
  std::vector<Candidate> kept = candidates;
  std::erase_if(kept, [&](const Candidate& candidate) {
    return !agrees(candidate, assumed) ||
           !std::ranges::all_of(candidate.arguments, [&](const ArgumentType& p) { return accepts(p, *known); });
  });
  if (kept.size() == 1) candidates = std::move(kept);
}

bool has_unknown(std::span<const SqlType> types) {
  return std::ranges::any_of(types, [](const SqlType& type) { return type.kind() == TypeKind::kUnknown; });
}

// make_op: one unknown operand is first taken to have the other's type.
const Candidate* exact_candidate(const std::vector<Candidate>& candidates, std::span<const SqlType> types) {
  for (const Candidate& candidate : candidates) {
    if (exact_matches(candidate, types) == types.size()) return &candidate;
  }
  return nullptr;
}

}  // namespace

bool can_coerce_implicitly(const SqlType& from, const SqlType& to) {
  if (from.kind() == TypeKind::kUnknown) return true;
  if (same_type(from, to)) return true;
  const auto cast = expr::find_cast(from.without_typmod(), to.without_typmod());
  return cast && cast->context == CastContext::kImplicit;
}

std::optional<Candidate> candidate_for(std::span<const ArgumentType> arguments, bool variadic, std::size_t index,
                                       std::size_t count) {
  Candidate candidate{.arguments = {arguments.begin(), arguments.end()}, .index = index};
  if (variadic) {
    const ArgumentType last = arguments.back();
    if (count + 1 < arguments.size()) return std::nullopt;
    candidate.arguments.resize(count, last);
  } else if (arguments.size() != count) {
    return std::nullopt;
  }
  return candidate;
}

Choice choose(std::vector<Candidate> candidates, std::span<const SqlType> types) {
  using Outcome = Choice::Outcome;
  if (const Candidate* exact = exact_candidate(candidates, types)) return {Outcome::kFound, *exact};
  std::erase_if(candidates, [&](const Candidate& candidate) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!accepts(candidate.arguments[i], types[i])) return true;
    }
    return !agrees(candidate, types);
  });
  if (candidates.empty()) return {};
  if (candidates.size() == 1) return {Outcome::kFound, candidates.front()};
  keep_best(candidates, [&](const Candidate& c) { return exact_matches(c, types); });
  if (candidates.size() == 1) return {Outcome::kFound, candidates.front()};
  keep_best(candidates, [&](const Candidate& c) { return preferred_matches(c, types); });
  if (candidates.size() == 1) return {Outcome::kFound, candidates.front()};
  if (has_unknown(types)) {
    narrow_unknowns(candidates, types);
    if (candidates.size() == 1) return {Outcome::kFound, candidates.front()};
    assume_same_type(candidates, types);
    if (candidates.size() == 1) return {Outcome::kFound, candidates.front()};
  }
  // A concrete overload beats a polymorphic one.
  std::vector<Candidate> concrete = candidates;
  std::erase_if(concrete, [](const Candidate& c) {
    return std::ranges::any_of(c.arguments, [](const ArgumentType& a) { return a.kind != AKind::kConcrete; });
  });
  if (concrete.size() == 1) return {Outcome::kFound, concrete.front()};
  return {.outcome = Outcome::kAmbiguous};
}

}  // namespace freshet::sql
