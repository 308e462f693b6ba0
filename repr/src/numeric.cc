// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/numeric.h>

#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/types.h>

#include "numeric_big.h"

namespace freshet::repr {
namespace {

using Access = NumericAccess;

base::Unexpected division_by_zero() { return fail(sqlstate::kDivisionByZero, "division by zero"); }

// value * 10^exponent; false if it does not fit.
bool scale_up(Int128 value, int exponent, Int128& out) {
  if (value == 0) return out = 0, true;
  if (exponent < 0 || exponent >= static_cast<int>(kPowersOfTen.size())) return false;
  return !__builtin_mul_overflow(value, kPowersOfTen[static_cast<std::size_t>(exponent)], &out) &&
         out >= -kInt128Max;
}

// Both coefficients at the larger of the two scales.
bool align(const Numeric& a, const Numeric& b, Int128& x, Int128& y) {
  if (!Access::is_small(a) || !Access::is_small(b)) return false;
  x = Access::small(a);
  y = Access::small(b);
  if (a.scale() == b.scale()) return true;
  if (a.scale() < b.scale()) return scale_up(x, b.scale() - a.scale(), x);
  return scale_up(y, a.scale() - b.scale(), y);
}

struct BigPair {
  BigInt x;
  BigInt y;
};
BigPair align_big(const Numeric& a, const Numeric& b) {
  const int scale = std::max(a.scale(), b.scale());
  return {rescale(Access::parts(a).coefficient, a.scale(), scale),
          rescale(Access::parts(b).coefficient, b.scale(), scale)};
}

int sign(const Numeric& n) { return n.is_negative() ? -1 : n.is_zero() ? 0 : 1; }

// Where a special value stands: -inf 0, finite 1, inf 2, NaN 3.
int rank(const Numeric& n) {
  if (n.is_finite()) return 1;
  return n.is_nan() ? 3 : n.is_negative() ? 0 : 2;
}

std::strong_ordering order(const BigInt& a, const BigInt& b) {
  const int c = a.compare(b);
  return c <=> 0;
}

Int128 divide_rounded_small(Int128 numerator, Int128 denominator) {
  Int128 quotient;
  Int128 rest;
  if (numerator <= INT64_MAX && numerator >= -INT64_MAX && denominator <= INT64_MAX &&
      denominator >= -INT64_MAX) {
    quotient = static_cast<std::int64_t>(numerator) / static_cast<std::int64_t>(denominator);
    rest = static_cast<std::int64_t>(numerator) % static_cast<std::int64_t>(denominator);
  } else {
    quotient = numerator / denominator;
    rest = numerator % denominator;
  }
  const UInt128 r = magnitude(rest);
  if (r >= magnitude(denominator) - r) quotient += (numerator < 0) == (denominator < 0) ? 1 : -1;
  return quotient;
}

int division_scale(const Numeric& a, const Numeric& b) {
  const Leading x = leading(a);
  const Leading y = leading(b);
  int weight = x.weight - y.weight;
  if (x.digit <= y.digit) --weight;
  const int scale = std::max({kMinSignificantDigits - weight * 4, a.scale(), b.scale(), 0});
  return std::min(scale, kMaxDisplayScale);
}

Result<Numeric> divide_special(const Numeric& a, const Numeric& b) {
  if (a.is_nan() || b.is_nan()) return Numeric::nan();
  if (!a.is_infinite()) return Numeric();
  if (b.is_infinite()) return Numeric::nan();
  if (b.is_zero()) return division_by_zero();
  return Numeric::infinity(a.is_negative() != b.is_negative());
}

enum class Rounding : std::uint8_t { kHalfAway, kTruncate, kCeil, kFloor };

Int128 round_small(Int128 value, Int128 unit, Rounding how) {
  if (how == Rounding::kHalfAway) return divide_rounded_small(value, unit);
  const Int128 quotient = value / unit;
  const Int128 rest = value % unit;
  if (how == Rounding::kCeil && rest > 0) return quotient + 1;
  if (how == Rounding::kFloor && rest < 0) return quotient - 1;
  return quotient;
}

BigInt round_big(const BigInt& value, const BigInt& unit, Rounding how) {
  if (how == Rounding::kHalfAway) return divide_rounded(value, unit);
  BigInt quotient, rest;
  boost::multiprecision::divide_qr(value, unit, quotient, rest);
  if (how == Rounding::kCeil && rest > 0) return quotient + 1;
  if (how == Rounding::kFloor && rest < 0) return quotient - 1;
  return quotient;
}

// At `scale` digits; a negative scale rounds before the point and shows none behind it.
Numeric at_scale(const Numeric& n, int scale, Rounding how) {
  if (!n.is_finite() || n.scale() == scale) return n;
  if (Access::is_small(n)) {
    const Int128 value = Access::small(n);
    Int128 out;
    if (scale > n.scale()) {
      if (scale_up(value, scale - n.scale(), out)) return Access::make(out, scale);
    } else {
      const int drop = n.scale() - scale;
      if (drop >= static_cast<int>(kPowersOfTen.size())) {
        // Nothing is left, unless a fraction is rounded up to the next unit.
        out = how == Rounding::kCeil && value > 0    ? 1
              : how == Rounding::kFloor && value < 0 ? -1
                                                     : 0;
      } else {
        out = round_small(value, kPowersOfTen[static_cast<std::size_t>(drop)], how);
      }
      if (scale >= 0) return Access::make(out, scale);
      if (scale_up(out, -scale, out)) return Access::make(out, 0);
    }
  }
  const BigParts parts = Access::parts(n);
  if (scale >= n.scale()) return Access::make(rescale(parts.coefficient, n.scale(), scale), scale);
  const BigInt rounded = round_big(parts.coefficient, power_of_ten(n.scale() - scale), how);
  if (scale >= 0) return Access::make(rounded, scale);
  return Access::make(BigInt(rounded * power_of_ten(-scale)), 0);
}

constexpr int kMaxResultScale = 2000;

}  // namespace

Numeric Numeric::from_parts(Int128 coefficient, int scale) {
  FRESHET_ASSERT(scale >= 0 && scale <= kMaxScale, scale);
  if (coefficient < -kInt128Max) return Access::make(to_big(coefficient), scale);
  return Access::make(coefficient, scale);
}

Numeric Numeric::nan() { return Access::special(Kind::kNaN); }

Numeric Numeric::infinity(bool negative) {
  return Access::special(negative ? Kind::kNegativeInfinity : Kind::kInfinity);
}

bool Numeric::is_negative() const {
  switch (kind_) {
    case Kind::kSmall:
      return high_ < 0;
    case Kind::kBig:
      return Access::big(*this) < 0;
    default:
      return kind_ == Kind::kNegativeInfinity;
  }
}

Result<Numeric> Numeric::add(const Numeric& other) const {
  Int128 x;
  Int128 y;
  const int scale = std::max(scale_, other.scale_);
  if (align(*this, other, x, y) && !__builtin_add_overflow(x, y, &x) && x >= -kInt128Max) {
    return Access::make(x, scale);
  }
  if (is_nan() || other.is_nan()) return nan();
  if (is_infinite()) return other.is_infinite() && kind_ != other.kind_ ? nan() : *this;
  if (other.is_infinite()) return other;
  const BigPair pair = align_big(*this, other);
  return checked(pair.x + pair.y, scale);
}

Result<Numeric> Numeric::subtract(const Numeric& other) const { return add(other.negate()); }

Result<Numeric> Numeric::multiply(const Numeric& other) const {
  const int scale = scale_ + other.scale_;
  if (kind_ == Kind::kSmall && other.kind_ == Kind::kSmall && scale <= kMaxScale) {
    Int128 product;
    if (!__builtin_mul_overflow(small(), other.small(), &product) && product >= -kInt128Max) {
      return Access::make(product, scale);
    }
  }
  if (is_nan() || other.is_nan()) return nan();
  if (is_infinite() || other.is_infinite()) {
    if (is_zero() || other.is_zero()) return nan();
    return infinity(is_negative() != other.is_negative());
  }
  const BigInt product = Access::parts(*this).coefficient * Access::parts(other).coefficient;
  if (scale <= kMaxScale) return checked(product, scale);
  return checked(rescale(product, scale, kMaxScale), kMaxScale);
}

Result<Numeric> Numeric::divide(const Numeric& other) const {
  if (!is_finite() || !other.is_finite()) return divide_special(*this, other);
  if (other.is_zero()) return division_by_zero();
  const int scale = division_scale(*this, other);
  // (a / 10^s) / (b / 10^t) at `scale` digits is a * 10^(scale - s + t) / b. The scale of a result is bounded, that of
  // an operand is not by the same: the exponent may be negative.
  const int shift = scale - scale_ + other.scale_;
  Int128 numerator;
  if (kind_ == Kind::kSmall && other.kind_ == Kind::kSmall && scale_up(small(), shift, numerator)) {
    return Access::make(divide_rounded_small(numerator, other.small()), scale);
  }
  BigInt top = Access::parts(*this).coefficient * power_of_ten(std::max(shift, 0));
  BigInt bottom = Access::parts(other).coefficient * power_of_ten(std::max(-shift, 0));
  if (bottom < 0) {
    top = -top;
    bottom = -bottom;
  }
  return checked(divide_rounded(top, bottom), scale);
}

Result<Numeric> Numeric::remainder(const Numeric& other) const {
  if (is_nan() || other.is_nan()) return nan();
  if (is_infinite()) {
    if (other.is_zero()) return division_by_zero();
    return nan();
  }
  if (other.is_infinite()) return *this;
  if (other.is_zero()) return division_by_zero();
  const int scale = std::max(scale_, other.scale_);
  Int128 x;
  Int128 y;
  if (align(*this, other, x, y)) return Access::make(x % y, scale);
  const BigPair pair = align_big(*this, other);
  return checked(pair.x % pair.y, scale);
}

Numeric Numeric::negate() const {
  switch (kind_) {
    case Kind::kSmall:
      return Access::make(-small(), scale_);
    case Kind::kBig:
      return Access::make(BigInt(-Access::big(*this)), scale_);
    case Kind::kNaN:
      return *this;
    default:
      return infinity(kind_ == Kind::kInfinity);
  }
}

Numeric Numeric::abs() const { return is_negative() ? negate() : *this; }

Numeric Numeric::round(int scale) const {
  return at_scale(*this, std::clamp(scale, -kMaxResultScale, kMaxResultScale), Rounding::kHalfAway);
}

Numeric Numeric::truncate(int scale) const {
  return at_scale(*this, std::clamp(scale, -kMaxResultScale, kMaxResultScale), Rounding::kTruncate);
}

Numeric Numeric::ceil() const { return at_scale(*this, 0, Rounding::kCeil); }

Numeric Numeric::floor() const { return at_scale(*this, 0, Rounding::kFloor); }

int Numeric::min_scale() const {
  if (!is_finite() || scale_ == 0) return 0;
  int scale = scale_;
  if (kind_ == Kind::kSmall) {
    Int128 value = small();
    if (value == 0) return 0;
    for (; scale > 0 && value % 10 == 0; value /= 10) --scale;
    return scale;
  }
  BigInt value = Access::big(*this);
  for (; scale > 0 && value % 10 == 0; value /= 10) --scale;
  return scale;
}

Numeric Numeric::trim_scale() const { return at_scale(*this, min_scale(), Rounding::kTruncate); }

Result<std::int64_t> Numeric::to_int64() const {
  const auto out_of_range = [] {
    return fail(sqlstate::kNumericValueOutOfRange, "bigint out of range");
  };
  if (is_nan()) return fail(sqlstate::kFeatureNotSupported, "cannot convert NaN to bigint");
  if (is_infinite())
    return fail(sqlstate::kFeatureNotSupported, "cannot convert infinity to bigint");
  const Numeric whole = at_scale(*this, 0, Rounding::kHalfAway);
  if (whole.kind_ != Kind::kSmall) return out_of_range();
  const Int128 value = whole.small();
  if (value < INT64_MIN || value > INT64_MAX) return out_of_range();
  return static_cast<std::int64_t>(value);
}

Result<Numeric> Numeric::apply_typmod(std::int32_t typmod) const {
  const auto limits = numeric_typmod(typmod);
  if (!limits || is_nan()) return *this;
  const auto overflow = [&](std::string detail) {
    Error error = sql_error(sqlstate::kNumericValueOutOfRange, "numeric field overflow");
    error.detail = "A field with precision " + std::to_string(limits->precision) + ", scale " +
                   std::to_string(limits->scale) + " " + detail;
    return fail(std::move(error));
  };
  if (is_infinite()) return overflow("cannot hold an infinite value.");
  Numeric rounded = at_scale(*this, limits->scale, Rounding::kHalfAway);
  if (rounded.is_zero()) return rounded;
  const int digits = rounded.kind_ == Kind::kSmall
                         ? decimal_digits(magnitude(rounded.small()))
                         : decimal_digits(BigInt(boost::multiprecision::abs(Access::big(rounded))));
  const int allowed = limits->precision - limits->scale;
  if (digits - rounded.scale() > allowed) {
    return overflow("must round to an absolute value less than " +
                    (allowed == 0 ? "1" : "10^" + std::to_string(allowed)) + ".");
  }
  return rounded;
}

std::strong_ordering operator<=>(const Numeric& a, const Numeric& b) {
  Int128 x;
  Int128 y;
  if (align(a, b, x, y))
    return x < y   ? std::strong_ordering::less
           : x > y ? std::strong_ordering::greater
                   : std::strong_ordering::equal;
  if (!a.is_finite() || !b.is_finite()) return rank(a) <=> rank(b);
  if (const int s = sign(a), t = sign(b); s != t) return s <=> t;
  const BigPair pair = align_big(a, b);
  return order(pair.x, pair.y);
}

}  // namespace freshet::repr
