// SPDX-License-Identifier: Apache-2.0
#include "relation_type.h"

#include <algorithm>

#include <freshet/expr/match_keys.h>

#include "polymorphic.h"

namespace freshet::expr {

using repr::ColumnType;
using repr::RelationType;

namespace {

using Key = std::vector<std::size_t>;

/// More keys than these are of no use to anyone.
constexpr std::size_t kMaxKeys = 8;

bool contains_all(const Key& outer, const Key& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

/// Adds a key (sorted and without repetitions afterwards), keeping minimal ones only.
void add_key(std::vector<Key>& keys, Key key) {
  std::sort(key.begin(), key.end());
  key.erase(std::unique(key.begin(), key.end()), key.end());
  for (const Key& known : keys) {
    if (contains_all(key, known)) return;
  }
  std::erase_if(keys, [&](const Key& known) { return contains_all(known, key); });
  if (keys.size() < kMaxKeys) keys.push_back(std::move(key));
  std::sort(keys.begin(), keys.end());
}

/// The column that a bare reference names.
std::optional<std::size_t> bare(const Scalar& scalar) {
  const auto* column = scalar.as<Scalar::Column>();
  return column == nullptr ? std::nullopt : std::optional(column->index);
}

void mark_not_null(std::vector<ColumnType>& columns, const Scalar& predicate) {
  const auto* call = predicate.as<Scalar::Call>();
  if (call == nullptr) return;
  if (call->function->signature == "not(bool)") {
    if (const auto* null = call->arguments[0].as<Scalar::IsNull>()) {
      if (const auto c = bare(null->arguments[0])) columns[*c].nullable = false;
      return;
    }
  }
  if (!call->function->strict) return;
  for (const Scalar& argument : call->arguments) {
    if (const auto c = bare(argument)) columns[*c].nullable = false;
  }
}

/// The column that `predicate` pins to one value.
std::optional<std::size_t> pinned(const Scalar& predicate) {
  const auto pair = as_equality(predicate);
  if (!pair) return std::nullopt;
  if (pair->second.columns().empty()) return bare(pair->first);
  if (pair->first.columns().empty()) return bare(pair->second);
  return std::nullopt;
}

/// True if every column of some key of `keys` is in `fixed`.
bool has_key_within(const std::vector<Key>& keys, const Key& fixed) {
  return std::any_of(keys.begin(), keys.end(), [&](const Key& key) { return contains_all(fixed, key); });
}

void add_products(std::vector<Key>& out, const std::vector<Key>& a, const std::vector<Key>& b) {
  for (const Key& x : a) {
    for (const Key& y : b) {
      Key both = x;
      both.insert(both.end(), y.begin(), y.end());
      add_key(out, std::move(both));
    }
  }
}

std::vector<Key> shifted(const std::vector<Key>& keys, std::size_t by) {
  std::vector<Key> out = keys;
  for (Key& key : out) {
    for (std::size_t& column : key) column += by;
  }
  return out;
}

bool within(const std::set<std::size_t>& columns, std::size_t begin, std::size_t end) {
  return columns.empty() || (*columns.begin() >= begin && *columns.rbegin() < end);
}

/// The bare columns in [begin, end) that an equivalence ties to an expression over [other_begin, other_end).
struct Range {
  std::size_t begin;
  std::size_t end;
};
Key tied_columns(std::span<const std::vector<Scalar>> equivalences, Range range, Range other) {
  Key fixed;
  for (const std::vector<Scalar>& members : equivalences) {
    const bool tied = std::any_of(members.begin(), members.end(), [&](const Scalar& member) {
      return within(member.columns(), other.begin, other.end);
    });
    if (!tied) continue;
    for (const Scalar& member : members) {
      const auto c = bare(member);
      if (c && *c >= range.begin && *c < range.end) fixed.push_back(*c);
    }
  }
  std::sort(fixed.begin(), fixed.end());
  fixed.erase(std::unique(fixed.begin(), fixed.end()), fixed.end());
  return fixed;
}

/// The keys of (columns before `input.begin` joined with those of `input`).
std::vector<Key> joined_keys(const std::vector<Key>& before, const std::vector<Key>& input,
                             std::span<const std::vector<Scalar>> equivalences, Range range) {
  const Range left{0, range.begin};
  std::vector<Key> keys;
  if (has_key_within(input, tied_columns(equivalences, range, left))) {
    for (const Key& key : before) add_key(keys, key);
  }
  if (has_key_within(before, tied_columns(equivalences, left, range))) {
    for (const Key& key : input) add_key(keys, key);
  }
  if (keys.empty()) add_products(keys, before, input);
  return keys;
}

}  // namespace

Scalar retyped(const Scalar& scalar, std::span<const ColumnType> columns) {
  return scalar.transform([&](Scalar s) {
    const auto c = bare(s);
    if (!c) return s;
    FRESHET_ASSERT(*c < columns.size(), *c, columns.size());
    const ColumnType& type = columns[*c];
    FRESHET_DASSERT(type.type.physical() == s.type().type.physical(), *c, type.type, s.type().type);
    return type == s.type() ? s : Scalar::column(*c, type);
  });
}

RelationType project_type(const RelationType& input, std::span<const std::size_t> columns) {
  RelationType type;
  for (const std::size_t column : columns) {
    FRESHET_ASSERT(column < input.arity(), column, input.arity());
    type.columns.push_back(input.columns[column]);
  }
  for (const Key& key : input.keys) {
    Key moved;
    for (const std::size_t column : key) {
      const auto found = std::find(columns.begin(), columns.end(), column);
      if (found == columns.end()) break;
      moved.push_back(static_cast<std::size_t>(found - columns.begin()));
    }
    if (moved.size() == key.size()) add_key(type.keys, std::move(moved));
  }
  return type;
}

RelationType map_type(const RelationType& input, std::span<const Scalar> expressions) {
  RelationType type = input;
  for (const Scalar& expression : expressions) type.columns.push_back(expression.type());
  return type;
}

RelationType filter_type(const RelationType& input, std::span<const Scalar> predicates) {
  RelationType type = input;
  Key fixed;
  for (const Scalar& predicate : predicates) {
    mark_not_null(type.columns, predicate);
    if (const auto column = pinned(predicate)) fixed.push_back(*column);
  }
  if (fixed.empty()) return type;
  type.keys.clear();
  for (Key key : input.keys) {
    std::erase_if(key, [&](std::size_t c) { return std::find(fixed.begin(), fixed.end(), c) != fixed.end(); });
    add_key(type.keys, std::move(key));
  }
  return type;
}

RelationType flat_map_type(const RelationType& input, const Relation::FlatMap& node) {
  RelationType type = input;
  std::vector<repr::SqlType> arguments;
  for (const Scalar& argument : node.arguments) arguments.push_back(argument.type().type);
  for (ColumnType& column : node.function->result_types(arguments)) type.columns.push_back(std::move(column));
  if (!node.with_ordinality) {
    type.keys.clear();
    return type;
  }
  for (Key& key : type.keys) key.push_back(type.columns.size());
  type.columns.push_back({repr::TypeKind::kInt8, false});
  return type;
}

RelationType join_type(std::span<const Relation> inputs, std::span<const std::vector<Scalar>> equivalences) {
  FRESHET_ASSERT(!inputs.empty());
  RelationType type = inputs.front().type();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const RelationType& input = inputs[i].type();
    const std::size_t begin = type.columns.size();
    type.columns.insert(type.columns.end(), input.columns.begin(), input.columns.end());
    type.keys = joined_keys(type.keys, shifted(input.keys, begin), equivalences, {begin, type.columns.size()});
  }
  for (const std::vector<Scalar>& members : equivalences) {
    if (members.size() < 2) continue;
    for (const Scalar& member : members) {
      if (const auto c = bare(member)) type.columns[*c].nullable = false;
    }
  }
  return type;
}

RelationType match_type(MatchKind kind, const RelationType& left, const RelationType& right,
                        std::span<const Scalar> on) {
  if (kind == MatchKind::kSemi || kind == MatchKind::kAnti) return left;
  const std::size_t split = left.arity();
  RelationType type = left;
  type.columns.insert(type.columns.end(), right.columns.begin(), right.columns.end());
  for (std::size_t c = split; c < type.columns.size(); ++c) type.columns[c].nullable = true;
  std::vector<Key> right_keys = shifted(right.keys, split);
  if (kind == MatchKind::kLeft) {
    Key fixed;
    for (const auto& [l, r] : split_on(on, split, type.columns).pairs) {
      if (const auto c = bare(r)) fixed.push_back(*c + split);
    }
    std::sort(fixed.begin(), fixed.end());
    if (has_key_within(right_keys, fixed)) return type;
    type.keys.clear();
    add_products(type.keys, left.keys, right_keys);
    return type;
  }
  // A left and a right row without a match may show the same NULLs unless one key column has a value.
  type.keys.clear();
  add_products(type.keys, left.keys, right_keys);
  std::erase_if(type.keys, [&](const Key& key) {
    return std::none_of(key.begin(), key.end(), [&](std::size_t c) {
      return c < split ? !left.columns[c].nullable : !right.columns[c - split].nullable;
    });
  });
  for (std::size_t c = 0; c < split; ++c) type.columns[c].nullable = true;
  return type;
}

RelationType reduce_type(const RelationType& input, std::span<const Scalar> group_key,
                         std::span<const Aggregate> aggregates) {
  RelationType type;
  Key all;
  std::vector<std::size_t> source(input.arity(), SIZE_MAX);  // input column -> its first place in the key
  for (const Scalar& expression : group_key) {
    const std::size_t position = type.columns.size();
    type.columns.push_back(expression.type());
    all.push_back(position);
    const auto c = bare(expression);
    if (c && source[*c] == SIZE_MAX) source[*c] = position;
  }
  for (const Aggregate& aggregate : aggregates) type.columns.push_back(aggregate.type());
  add_key(type.keys, std::move(all));
  for (const Key& key : input.keys) {
    Key moved;
    for (const std::size_t column : key) {
      if (source[column] != SIZE_MAX) moved.push_back(source[column]);
    }
    if (moved.size() == key.size()) add_key(type.keys, std::move(moved));
  }
  return type;
}

RelationType top_k_type(const RelationType& input, const Relation::TopK& node) {
  RelationType type = input;
  if (!node.limit) return type;
  const auto* literal = node.limit->as<Scalar::Literal>();
  if (literal == nullptr || literal->value.is_null()) return type;
  if (literal->value.get<std::int64_t>() <= 1) add_key(type.keys, node.group_key);
  return type;
}

RelationType union_type(std::span<const Relation> inputs) {
  FRESHET_ASSERT(!inputs.empty());
  RelationType type = inputs.front().type();
  if (inputs.size() > 1) type.keys.clear();
  for (const Relation& input : inputs.subspan(1)) {
    const auto& columns = input.type().columns;
    FRESHET_ASSERT(columns.size() == type.columns.size(), columns.size(), type.columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (type.columns[c].type != columns[c].type) {
        type.columns[c].type = type.columns[c].type.without_typmod();
      }
      type.columns[c].nullable = type.columns[c].nullable || columns[c].nullable;
    }
  }
  return type;
}

ColumnType Aggregate::type() const {
  std::vector<repr::SqlType> types;
  for (const Scalar& argument : arguments) types.push_back(argument.type().type);
  const bool sees_value =
      !filter && std::none_of(arguments.begin(), arguments.end(),
                              [](const Scalar& argument) { return argument.type().nullable; });
  return {resolve_result(spec->arguments, spec->result, types), spec->empty_is_null && !sees_value};
}

}  // namespace freshet::expr
