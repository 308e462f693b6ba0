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

enum class KeyState { kKnown, kUnknown, kMatchesNothing };

/// The members of the classes that read the input.
KeyState key_state(const JoinErrors& join, std::size_t begin, std::size_t end, const PartialRow& row) {
  bool unknown = false;
  bool nothing = false;
  for (const std::vector<Scalar>& members : join.equivalences) {
    const Scalar* first = nullptr;
    Datum first_value;
    for (const Scalar& member : members) {
      if (!reads(member, begin, end)) continue;
      const PartialValue value = evaluate_partial(member, row, join.types);
      unknown = unknown || !value.is_value();
      if (!value.is_value()) continue;
      nothing = nothing || value.value.is_null();
      if (value.value.is_null()) continue;
      if (first == nullptr) {
        first = &member;
        first_value = value.value;
      } else if (!same_value(first_value, first->type().type, value.value, member.type().type)) {
        nothing = true;
      }
    }
  }
  if (unknown) return KeyState::kUnknown;
  return nothing ? KeyState::kMatchesNothing : KeyState::kKnown;
}

/// One pass over the classes: what a known member says about the others.
bool propagate(const JoinErrors& join, PartialRow& row) {
  bool learned = false;
  for (const std::vector<Scalar>& members : join.equivalences) {
    for (const Scalar& from : members) {
      if (from.columns().empty()) continue;
      const PartialValue value = evaluate_partial(from, row, join.types);
      if (!value.is_value() || value.value.is_null()) continue;
      for (const Scalar& to : members) {
        learned = learn(to, value.value, from.type().type, row) || learned;
      }
    }
  }
  return learned;
}

// --- Match --------------------------------------------------------------------------------------------

struct Side {
  std::span<const Scalar> key;
  std::span<const ColumnType> types;
};

struct KeyValues {
  KeyState state = KeyState::kKnown;
  std::vector<Known> values;
};

KeyValues key_values(const Side& side, std::size_t scope_keys, const PartialRow& row) {
  KeyValues out;
  bool null = false;
  bool unknown = false;
  for (std::size_t i = 0; i < side.key.size(); ++i) {
    PartialValue value = evaluate_partial(side.key[i], row, side.types);
    if (!value.is_value()) {
      unknown = unknown || i < scope_keys;
      out.values.emplace_back();
      continue;
    }
    null = null || value.value.is_null();
    out.values.emplace_back(std::move(value.value));
  }
  if (unknown) {
    out.state = KeyState::kUnknown;
  } else if (null) {
    out.state = KeyState::kMatchesNothing;
  }
  return out;
}

/// What the key of one side tells about the columns of the other.
PartialRow implied(const Side& known_side, const KeyValues& keys, const Side& other) {
  PartialRow row(other.types.size());
  for (std::size_t i = 0; i < keys.values.size(); ++i) {
    if (!keys.values[i] || keys.values[i]->is_null()) continue;
    learn(other.key[i], *keys.values[i], known_side.key[i].type().type, row);
  }
  return row;
}

PartialRow nulls(std::size_t arity) { return PartialRow(arity, Datum()); }

ErrorRow joined(PartialRow left, const PartialRow& right, const Error& error) {
  left.insert(left.end(), right.begin(), right.end());
  return {std::move(left), error};
}

std::vector<ErrorRow> everything(const MatchErrors& match, const Error& error) {
  const bool one_sided = match.kind == MatchKind::kSemi || match.kind == MatchKind::kAnti;
  const std::size_t arity = match.left_types.size() + (one_sided ? 0 : match.right_types.size());
  return {ErrorRow::unknown(arity, error)};
}

}  // namespace

std::optional<ErrorRow> join_error(const JoinErrors& join, std::size_t offset, const ErrorRow& row) {
  const std::size_t end = offset + row.known.size();
  FRESHET_ASSERT(end <= join.types.size(), end, join.types.size());
  ErrorRow out = ErrorRow::unknown(join.types.size(), row.error);
  PartialRow known = out.known;
  std::copy(row.known.begin(), row.known.end(), known.begin() + static_cast<std::ptrdiff_t>(offset));
  switch (key_state(join, offset, end, known)) {
    case KeyState::kUnknown:
      return out;
    case KeyState::kMatchesNothing:
      return std::nullopt;
    case KeyState::kKnown:
      break;
  }
  while (propagate(join, known)) {
  }
  out.known = std::move(known);
  return out;
}

std::vector<ErrorRow> match_left_error(const MatchErrors& match, const ErrorRow& row) {
  const Side left{match.left_key, match.left_types};
  const Side right{match.right_key, match.right_types};
  const KeyValues keys = key_values(left, match.scope_keys, row.known);
  if (keys.state == KeyState::kUnknown) return everything(match, row.error);
  const bool matches = keys.state == KeyState::kKnown;
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
  const PartialRow other = implied(left, keys, right);
  out.push_back(joined(row.known, other, row.error));
  if (match.kind == MatchKind::kFull) out.push_back(joined(nulls(left.types.size()), other, row.error));
  return out;
}

std::vector<ErrorRow> match_right_error(const MatchErrors& match, const ErrorRow& row) {
  const Side left{match.left_key, match.left_types};
  const Side right{match.right_key, match.right_types};
  const KeyValues keys = key_values(right, match.scope_keys, row.known);
  if (keys.state == KeyState::kUnknown) return everything(match, row.error);
  const bool matches = keys.state == KeyState::kKnown;
  std::vector<ErrorRow> out;
  if (match.kind == MatchKind::kFull) {
    out.push_back(joined(nulls(left.types.size()), row.known, row.error));
  }
  if (!matches) return out;
  const PartialRow other = implied(right, keys, left);
  switch (match.kind) {
    case MatchKind::kSemi:
    case MatchKind::kAnti:
      return {ErrorRow{other, row.error}};
    case MatchKind::kLeft:
    case MatchKind::kFull:
      break;
  }
  out.push_back(joined(other, nulls(right.types.size()), row.error));
  out.push_back(joined(other, row.known, row.error));
  return out;
}

}  // namespace freshet::expr
