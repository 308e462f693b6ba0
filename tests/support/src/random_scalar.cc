// SPDX-License-Identifier: Apache-2.0
#include "random_scalar.h"

#include <freshet/base/assert.h>

namespace testing {

using freshet::repr::Datum;
using freshet::repr::Numeric;

TypeKind random_kind(Random& random) {
  return random.pick({TypeKind::kInt4, TypeKind::kInt4, TypeKind::kInt4, TypeKind::kInt8, TypeKind::kNumeric,
                      TypeKind::kText, TypeKind::kText, TypeKind::kBool, TypeKind::kFloat8});
}

Datum random_value(Random& random, TypeKind kind) {
  switch (kind) {
    case TypeKind::kBool:
      return Datum(random.coin());
    case TypeKind::kInt4:
      return Datum(static_cast<std::int32_t>(random.between(0, 3)));
    case TypeKind::kInt8:
      return Datum(random.one_in(20) ? INT64_MAX : random.between(-1, 2));
    case TypeKind::kFloat8:
      return Datum(random.pick({0.0, -0.0, 0.5, 1.0, 3.0e300}));
    case TypeKind::kNumeric:
      return Datum(random.pick({Numeric(0), Numeric(1), Numeric::from_parts(10, 1), Numeric::from_parts(100, 2),
                                Numeric::from_parts(25, 1)}));
    default:
      FRESHET_ASSERT(kind == TypeKind::kText);
      return Datum(std::string(random.pick({"", "a", "b", "ab"})));
  }
}

Scalar ScalarGenerator::literal(TypeKind kind) {
  if (random_.one_in(12)) return Scalar::null(kind);
  return Scalar::literal(random_value(random_, kind), kind);
}

std::optional<Scalar> ScalarGenerator::column_of(TypeKind kind) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].type.kind() == kind) found.push_back(c);
  }
  if (found.empty()) return std::nullopt;
  const std::size_t c = found[random_.below(found.size())];
  return Scalar::column(c, columns_[c]);
}

Scalar ScalarGenerator::call(std::string_view signature, std::vector<Scalar> arguments) {
  const auto* function = freshet::expr::function_by_signature(signature);
  FRESHET_ASSERT(function != nullptr, signature);
  return Scalar::call(function, std::move(arguments));
}

Scalar ScalarGenerator::integer(TypeKind kind, std::size_t depth) {
  const std::string pair = kind == TypeKind::kInt4 ? "(int4,int4)" : "(int8,int8)";
  if (kind == TypeKind::kInt8 && random_.one_in(3)) {
    const auto cast = freshet::expr::find_cast(TypeKind::kInt4, TypeKind::kInt8);
    return Scalar::call(cast->function, {of_kind(TypeKind::kInt4, depth - 1)});
  }
  if (!may_fail_) return Scalar::coalesce({of_kind(kind, depth - 1), literal(kind)});
  const char* op = random_.pick({"+", "-", "*", "/", "%"});
  // Overflow where there is a positive value. (Not of int4: such numbers would end a generate_series.)
  if (kind == TypeKind::kInt8 && random_.one_in(3)) {
    return call("+(int8,int8)", {of_kind(kind, depth - 1), Scalar::literal(Datum(INT64_MAX), kind)});
  }
  return call(op + pair, {of_kind(kind, depth - 1), of_kind(kind, depth - 1)});
}

Scalar ScalarGenerator::numeric(std::size_t depth) {
  if (!may_fail_) return Scalar::coalesce({of_kind(TypeKind::kNumeric, depth - 1), literal(TypeKind::kNumeric)});
  const char* op = random_.pick({"+(numeric,numeric)", "*(numeric,numeric)", "/(numeric,numeric)"});
  return call(op, {of_kind(TypeKind::kNumeric, depth - 1), of_kind(TypeKind::kNumeric, depth - 1)});
}

Scalar ScalarGenerator::text(std::size_t depth) {
  if (random_.coin()) return call("upper(text)", {of_kind(TypeKind::kText, depth - 1)});
  return call("||(text,text)", {of_kind(TypeKind::kText, depth - 1), of_kind(TypeKind::kText, depth - 1)});
}

Scalar ScalarGenerator::comparison(std::size_t depth) {
  // Of what is there, mostly: a comparison of literals filters all or nothing.
  TypeKind kind = random_kind(random_);
  if (!columns_.empty() && !random_.one_in(8)) {
    const TypeKind present = columns_[random_.below(columns_.size())].type.kind();
    if (present != TypeKind::kArray && present != TypeKind::kBool) kind = present;
  }
  const std::string name(freshet::repr::type_info(kind).pg_name);
  const std::string op = random_.pick({"=", "<>", "<", "<=", ">", ">="});
  const auto column = random_.one_in(4) ? std::nullopt : column_of(kind);
  Scalar left = column ? *column : of_kind(kind, depth - 1);
  Scalar right = of_kind(kind, depth - 1);
  return call(op + "(" + name + "," + name + ")", {std::move(left), std::move(right)});
}

Scalar ScalarGenerator::predicate(std::size_t depth) {
  if (depth == 0) {
    if (auto column = column_of(TypeKind::kBool)) return *column;
    return comparison(1);
  }
  switch (random_.below(9)) {
    case 0:
      return Scalar::conjunction({predicate(depth - 1), predicate(depth - 1)});
    case 1:
    case 2:
      return Scalar::disjunction({predicate(depth - 1), predicate(depth - 1)});
    case 3:
      return Scalar::negation(predicate(depth - 1));
    case 4:
      return Scalar::negation(Scalar::is_null(any(depth - 1)));
    case 5:
      return Scalar::is_null(any(depth - 1));
    default:
      return comparison(depth);
  }
}

Scalar ScalarGenerator::of_kind(TypeKind kind, std::size_t depth) {
  if (depth == 0 || random_.one_in(3)) {
    auto column = column_of(kind);
    return column && !random_.one_in(4) ? *column : literal(kind);
  }
  if (random_.one_in(6)) {
    return Scalar::if_then(predicate(depth - 1), of_kind(kind, depth - 1), of_kind(kind, depth - 1));
  }
  if (random_.one_in(8)) return Scalar::coalesce({of_kind(kind, depth - 1), of_kind(kind, depth - 1)});
  switch (kind) {
    case TypeKind::kBool:
      return predicate(depth - 1);
    case TypeKind::kInt4:
    case TypeKind::kInt8:
      return integer(kind, depth);
    case TypeKind::kNumeric:
      return numeric(depth);
    case TypeKind::kText:
      return text(depth);
    default:
      return of_kind(kind, 0);
  }
}

Scalar ScalarGenerator::any(std::size_t depth) { return of_kind(random_kind(random_), depth); }

}  // namespace testing
