// SPDX-License-Identifier: Apache-2.0
// How error rows pass through joins.
#include <algorithm>

#include <freshet/expr/error_row.h>
#include <freshet/expr/match_keys.h>

namespace freshet::expr {

using repr::ColumnType;
using repr::Datum;

namespace {

using Known = std::optional<Datum>;

/// A value of type `from` as a column of type `to`, if its form and its memory tell no difference.
bool transfers(const repr::SqlType& from, const repr::SqlType& to) {
  return from.physical() == to.physical() && same_key_encoding(from, to) && !has_forms(from) && !has_forms(to);
}

/// Makes `member` known to be `value` if it is a bare column.
bool learn(const Scalar& member, const Datum& value, const repr::SqlType& type, PartialRow& row) {
  const auto* column = member.as<Scalar::Column>();
  if (column == nullptr || row[column->index] || !transfers(type, member.type().type)) return false;
  row[column->index] = value;
  return true;
}

/// A member of a class, or part of a key, and the value that it has.
struct Fact {
  const Scalar* member;
  Datum value;
  repr::SqlType type;  ///< Of the value.
};

/// The column of `c IS NULL`, or of COALESCE(c, …).
template <typename Node>
const Scalar* column_in(const Scalar& scalar) {
  const auto* node = scalar.as<Node>();
  if (node == nullptr || node->arguments.front().template as<Scalar::Column>() == nullptr) return nullptr;
  return &node->arguments.front();
}

/// What the facts say about columns. A null-safe key says it in two parts: whether c is NULL, and COALESCE(c, …).
bool learn(const std::vector<Fact>& facts, PartialRow& row) {
  bool learned = false;
  for (const Fact& fact : facts) {
    learned = learn(*fact.member, fact.value, fact.type, row) || learned;
    const Scalar* column = column_in<Scalar::IsNull>(*fact.member);
    if (column == nullptr) continue;
    std::optional<Datum>& place = row[column->as<Scalar::Column>()->index];
    if (place) continue;
    if (fact.value.get<bool>()) {
      place = Datum();
      learned = true;
      continue;
    }
    for (const Fact& other : facts) {
      const Scalar* same = column_in<Scalar::Coalesce>(*other.member);
      if (same != nullptr && *same == *column) learned = learn(*column, other.value, other.type, row) || learned;
    }
  }
  return learned;
}

/// Equal by key bytes, for types of one key family.
bool same_value(const Datum& a, const repr::SqlType& a_type, const Datum& b, const repr::SqlType& b_type) {
  if (a_type.physical() == b_type.physical()) return compare(a, b, a_type) == 0;
  const auto integer = [](const Datum& d, const repr::SqlType& type) -> std::int64_t {
    switch (type.physical()) {
      case repr::PhysicalType::kInt16:
        return d.get<std::int16_t>();
      case repr::PhysicalType::kInt32:
        return d.get<std::int32_t>();
      default:
        return d.get<std::int64_t>();
    }
  };
  return integer(a, a_type) == integer(b, b_type);
}

bool reads(const Scalar& member, std::size_t begin, std::size_t end) {
  const auto columns = member.columns();
  return std::any_of(columns.begin(), columns.end(), [&](std::size_t c) { return c >= begin && c < end; });
}

/// True if some member over the input is NULL, or two of a class differ: the row matches nothing.
bool matches_nothing(const JoinErrors& join, std::size_t begin, std::size_t end, const PartialRow& row) {
  for (const std::vector<Scalar>& members : join.equivalences) {
    const Scalar* first = nullptr;
    Datum first_value;
    for (const Scalar& member : members) {
      if (!reads(member, begin, end)) continue;
      const PartialValue value = evaluate_partial(member, row, join.types);
      if (!value.is_value()) continue;
      if (value.value.is_null()) return true;
      if (first == nullptr) {
        first = &member;
        first_value = value.value;
      } else if (!same_value(first_value, first->type().type, value.value, member.type().type)) {
        return true;
      }
    }
  }
  return false;
}

/// One pass over the classes: what a known member says about columns outside [begin, end).
bool propagate(const JoinErrors& join, std::size_t begin, std::size_t end, PartialRow& row) {
  std::vector<Fact> facts;
  for (const std::vector<Scalar>& members : join.equivalences) {
    for (const Scalar& from : members) {
      const PartialValue value = evaluate_partial(from, row, join.types);
      if (!value.is_value() || value.value.is_null()) continue;
      for (const Scalar& to : members) {
        if (!reads(to, begin, end)) facts.push_back({&to, value.value, from.type().type});
      }
    }
  }
  return learn(facts, row);
}

// --- Match --------------------------------------------------------------------------------------------

struct Side {
  std::span<const Scalar> key;
  std::span<const ColumnType> types;
};

/// The values of a key, as far as they are known; `null` if one is NULL.
struct KeyValues {
  bool null = false;
  std::vector<Known> values;
};

KeyValues key_values(const Side& side, const PartialRow& row) {
  KeyValues out;
  for (const Scalar& part : side.key) {
    PartialValue value = evaluate_partial(part, row, side.types);
    out.null = out.null || (value.is_value() && value.value.is_null());
    out.values.push_back(value.is_value() ? Known(std::move(value.value)) : std::nullopt);
  }
  return out;
}

/// What the key of one side tells about the columns of the other; nothing at all if no row can have such a key.
std::optional<PartialRow> implied(const Side& known_side, const KeyValues& keys, const Side& other) {
  PartialRow row(other.types.size());
  std::vector<Fact> facts;
  for (std::size_t i = 0; i < keys.values.size(); ++i) {
    if (!keys.values[i] || keys.values[i]->is_null()) continue;
    facts.push_back({&other.key[i], *keys.values[i], known_side.key[i].type().type});
  }
  learn(facts, row);
  for (const Fact& fact : facts) {
    const PartialValue value = evaluate_partial(*fact.member, row, other.types);
    if (!value.is_value()) continue;
    if (value.value.is_null() || !same_value(value.value, fact.member->type().type, fact.value, fact.type)) return std::nullopt;
  }
  return row;
}

PartialRow nulls(std::size_t arity) { return PartialRow(arity, Datum()); }

ErrorRow joined(PartialRow left, const PartialRow& right, const Error& error) {
  left.insert(left.end(), right.begin(), right.end());
  return {std::move(left), error};
}

}  // namespace

std::optional<ErrorRow> join_error(const JoinErrors& join, std::size_t offset, const ErrorRow& row) {
  const std::size_t end = offset + row.known.size();
  FRESHET_ASSERT(end <= join.types.size(), end, join.types.size());
  ErrorRow out = ErrorRow::unknown(join.types.size(), row.error);
  std::copy(row.known.begin(), row.known.end(), out.known.begin() + static_cast<std::ptrdiff_t>(offset));
  if (matches_nothing(join, offset, end, out.known)) return std::nullopt;
  while (propagate(join, offset, end, out.known)) {
  }
  return out;
}

std::vector<ErrorRow> match_left_error(const MatchErrors& match, const ErrorRow& row) {
  const Side left{match.left_key, match.left_types};
  const Side right{match.right_key, match.right_types};
  const KeyValues keys = key_values(left, row.known);
  const std::optional<PartialRow> other = keys.null ? std::nullopt : implied(left, keys, right);
  const bool matches = other.has_value();
  switch (match.kind) {
    case MatchKind::kSemi:
      return matches ? std::vector<ErrorRow>{row} : std::vector<ErrorRow>{};
    case MatchKind::kAnti:
      return {row};
    case MatchKind::kLeft:
    case MatchKind::kFull:
      break;
  }
  std::vector<ErrorRow> out{joined(row.known, nulls(right.types.size()), row.error)};
  if (!matches) return out;
  out.push_back(joined(row.known, *other, row.error));
  if (match.kind == MatchKind::kFull) out.push_back(joined(nulls(left.types.size()), *other, row.error));
  return out;
}

std::vector<ErrorRow> match_right_error(const MatchErrors& match, const ErrorRow& row) {
  const Side left{match.left_key, match.left_types};
  const Side right{match.right_key, match.right_types};
  const KeyValues keys = key_values(right, row.known);
  const std::optional<PartialRow> other = keys.null ? std::nullopt : implied(right, keys, left);
  std::vector<ErrorRow> out;
  if (match.kind == MatchKind::kFull) {
    out.push_back(joined(nulls(left.types.size()), row.known, row.error));
  }
  if (!other) return out;
  switch (match.kind) {
    case MatchKind::kSemi:
    case MatchKind::kAnti:
      return {ErrorRow{*other, row.error}};
    case MatchKind::kLeft:
    case MatchKind::kFull:
      break;
  }
  out.push_back(joined(*other, nulls(right.types.size()), row.error));
  out.push_back(joined(*other, row.known, row.error));
  return out;
}

}  // namespace freshet::expr
