// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/match_keys.h>

namespace freshet::expr {
namespace {

using repr::TypeKind;

/// Kinds of one family share their key encoding. What one cast only renames into the other must share it: a column
/// has the name that its plan gives it, which inlining changes.
int key_family(TypeKind kind) {
  switch (kind) {
    case TypeKind::kInt2:
    case TypeKind::kInt4:
    case TypeKind::kInt8:
    case TypeKind::kOid:
    case TypeKind::kRegclass:
    case TypeKind::kRegtype:
    case TypeKind::kRegproc:
      return -1;
    case TypeKind::kText:
    case TypeKind::kVarchar:
      return -2;
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
      return -3;
    default:
      return static_cast<int>(kind);
  }
}

enum class Side { kNone, kLeft, kRight, kBoth };

Side side_of(const Scalar& scalar, std::size_t left_arity) {
  const auto columns = scalar.columns();
  if (columns.empty()) return Side::kNone;
  if (*columns.rbegin() < left_arity) return Side::kLeft;
  return *columns.begin() >= left_arity ? Side::kRight : Side::kBoth;
}

/// Some value of the type.
Scalar any_value(const repr::SqlType& type) {
  using repr::Datum;
  using repr::PhysicalType;
  const auto value = [&]() -> Datum {
    if (type.kind() == TypeKind::kArray) {
      return Datum(std::make_shared<const repr::ArrayValue>());
    }
    switch (type.physical()) {
      case PhysicalType::kBool:
        return Datum(false);
      case PhysicalType::kInt16:
        return Datum(std::int16_t{0});
      case PhysicalType::kInt32:
        return Datum(std::int32_t{0});
      case PhysicalType::kInt64:
        return Datum(std::int64_t{0});
      case PhysicalType::kFloat:
        return Datum(0.0F);
      case PhysicalType::kDouble:
        return Datum(0.0);
      case PhysicalType::kNumeric:
        return Datum(repr::Numeric());
      case PhysicalType::kInterval:
        return Datum(repr::Interval{});
      case PhysicalType::kUuid:
        return Datum(repr::Uuid{});
      case PhysicalType::kBytes:
        return Datum(std::string());
    }
    FRESHET_UNREACHABLE();
  };
  return Scalar::literal(value(), type);
}

Scalar moved_left(const Scalar& scalar, std::size_t by) {
  return scalar.transform([&](Scalar s) {
    const auto* column = s.as<Scalar::Column>();
    return column == nullptr ? s : Scalar::column(column->index - by, s.type());
  });
}

}  // namespace

bool same_key_encoding(const repr::SqlType& a, const repr::SqlType& b) {
  if (key_family(a.kind()) != key_family(b.kind())) return false;
  return a.kind() != TypeKind::kArray || same_key_encoding(a.element(), b.element());
}

std::optional<std::pair<Scalar, Scalar>> as_equality(const Scalar& predicate) {
  const auto* call = predicate.as<Scalar::Call>();
  if (call == nullptr || !call->function->is_operator || call->function->name != "=") return std::nullopt;
  const auto& arguments = call->arguments;
  if (arguments.size() != 2) return std::nullopt;
  if (!same_key_encoding(arguments[0].type().type, arguments[1].type().type)) return std::nullopt;
  return std::pair(arguments[0], arguments[1]);
}

MatchKeys split_on(std::span<const Scalar> on, std::size_t left_arity,
                   std::span<const repr::ColumnType> columns) {
  FRESHET_ASSERT(left_arity <= columns.size(), left_arity, columns.size());
  MatchKeys keys;
  for (const Scalar& conjunct : on) {
    const auto equality = as_equality(conjunct);
    if (!equality || conjunct.can_fail() || conjunct.contains_mz_now()) {
      keys.residual.push_back(conjunct);
      continue;
    }
    const auto& [a, b] = *equality;
    const Side first = side_of(a, left_arity);
    const Side second = side_of(b, left_arity);
    if (first == Side::kLeft && second == Side::kRight) {
      keys.pairs.emplace_back(a, moved_left(b, left_arity));
    } else if (first == Side::kRight && second == Side::kLeft) {
      keys.pairs.emplace_back(b, moved_left(a, left_arity));
    } else {
      keys.residual.push_back(conjunct);
    }
  }
  return keys;
}

MatchSplit split_match(MatchKind kind, std::span<const Scalar> on, std::size_t left_arity,
                       std::span<const repr::ColumnType> columns) {
  MatchSplit out;
  MatchKeys keys = split_on(on, left_arity, columns);
  for (auto& [l, r] : keys.pairs) {
    out.left_key.push_back(std::move(l));
    out.right_key.push_back(std::move(r));
  }
  for (Scalar& conjunct : keys.residual) {
    const Side side = side_of(conjunct, left_arity);
    const bool filters = !conjunct.can_fail() && !conjunct.contains_mz_now() && kind != MatchKind::kFull;
    if (filters && side == Side::kRight) {
      out.right_filter.push_back(moved_left(conjunct, left_arity));
    } else if (filters && side == Side::kLeft && kind == MatchKind::kSemi) {
      out.left_filter.push_back(std::move(conjunct));
    } else {
      out.residual.push_back(std::move(conjunct));
    }
  }
  return out;
}

std::vector<Scalar> null_safe_key(std::span<const repr::ColumnType> columns) {
  std::vector<Scalar> key;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Scalar column = Scalar::column(c, columns[c]);
    if (!columns[c].nullable) {
      key.push_back(column);
      continue;
    }
    key.push_back(Scalar::is_null(column));
    key.push_back(Scalar::coalesce({column, any_value(columns[c].type)}));
  }
  return key;
}

}  // namespace freshet::expr
