// SPDX-License-Identifier: Apache-2.0
#include "numeric_big.h"

#include <bit>

#include <freshet/base/sqlstate.h>

namespace freshet::repr {
namespace {

int bit_length(UInt128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  if (high != 0) return 128 - std::countl_zero(high);
  return 64 - std::countl_zero(static_cast<std::uint64_t>(value));
}

bool fits_small(const BigInt& value) {
  return value.is_zero() || boost::multiprecision::msb(abs(value)) < 127;
}

Int128 to_small(const BigInt& value) {
  const BigInt positive = abs(value);
  const auto low = static_cast<std::uint64_t>(positive & UINT64_MAX);
  const auto high = static_cast<std::uint64_t>(BigInt(positive >> 64));
  const auto small = static_cast<Int128>((static_cast<UInt128>(high) << 64) | low);
  return value < 0 ? -small : small;
}

}  // namespace

Numeric NumericAccess::make(Int128 coefficient, int scale) {
  FRESHET_DASSERT(coefficient >= -kInt128Max);
  Numeric n;
  n.low_ = static_cast<std::uint64_t>(static_cast<UInt128>(coefficient));
  n.high_ = static_cast<std::int64_t>(coefficient >> 64);
  n.scale_ = scale;
  return n;
}

Numeric NumericAccess::special(Kind kind) {
  Numeric n;
  n.kind_ = kind;
  return n;
}

Numeric NumericAccess::make(const BigInt& coefficient, int scale) {
  if (fits_small(coefficient)) return make(to_small(coefficient), scale);
  auto* big = new Numeric::Big;  // counted by retain and release
  big->coefficient = coefficient;
  Numeric n;
  n.low_ = reinterpret_cast<std::uintptr_t>(big);
  n.scale_ = scale;
  n.kind_ = Kind::kBig;
  return n;
}

const BigInt& NumericAccess::big(const Numeric& n) {
  FRESHET_ASSERT(n.kind_ == Kind::kBig);
  return reinterpret_cast<const Numeric::Big*>(n.low_)->coefficient;
}

BigParts NumericAccess::parts(const Numeric& n) {
  FRESHET_ASSERT(n.is_finite());
  return {is_small(n) ? to_big(n.small()) : big(n), n.scale_};
}

void Numeric::retain() const {
  reinterpret_cast<Big*>(low_)->references.fetch_add(1, std::memory_order_relaxed);
}

void Numeric::release() {
  auto* big = reinterpret_cast<Big*>(low_);
  if (big->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete big;
}

int decimal_digits(UInt128 value) {
  if (value == 0) return 0;
  const int estimate = (bit_length(value) * 1233) >> 12;
  return estimate +
         (value >= static_cast<UInt128>(kPowersOfTen[static_cast<std::size_t>(estimate)]));
}

int decimal_digits(const BigInt& value) {
  if (value.is_zero()) return 0;
  const auto bits = static_cast<double>(boost::multiprecision::msb(value));
  int digits = static_cast<int>(bits * 0.30102999566398120);
  // The estimate is right or one or two short.
  for (BigInt power = power_of_ten(digits); value >= power; power *= 10) ++digits;
  return digits;
}

BigInt power_of_ten(int exponent) {
  FRESHET_ASSERT(exponent >= 0, exponent);
  if (exponent < 39) return to_big(kPowersOfTen[static_cast<std::size_t>(exponent)]);
  return boost::multiprecision::pow(BigInt(10), static_cast<unsigned>(exponent));
}

BigInt to_big(Int128 value) {
  const UInt128 size = magnitude(value);
  BigInt big = static_cast<std::uint64_t>(size >> 64);
  big <<= 64;
  big |= static_cast<std::uint64_t>(size);
  return value < 0 ? BigInt(-big) : big;
}

BigInt divide_rounded(const BigInt& numerator, const BigInt& denominator) {
  BigInt quotient, rest;
  boost::multiprecision::divide_qr(numerator, denominator, quotient, rest);
  if (abs(rest) * 2 >= denominator) quotient += numerator < 0 ? -1 : 1;
  return quotient;
}

BigInt rescale(const BigInt& coefficient, int from_scale, int to_scale) {
  if (to_scale >= from_scale) return coefficient * power_of_ten(to_scale - from_scale);
  return divide_rounded(coefficient, power_of_ten(from_scale - to_scale));
}

base::Unexpected numeric_overflow() {
  return fail(sqlstate::kNumericValueOutOfRange, "value overflows numeric format");
}

Result<Numeric> checked(const BigInt& coefficient, int scale) {
  if (scale > kMaxScale) return numeric_overflow();
  Numeric n = NumericAccess::make(coefficient, scale);
  if (NumericAccess::is_small(n)) return n;
  // Only very long coefficients need the exact count.
  if (boost::multiprecision::msb(abs(coefficient)) > 3 * static_cast<unsigned>(kMaxIntegerDigits) &&
      decimal_digits(BigInt(abs(coefficient))) - scale > kMaxIntegerDigits) {
    return numeric_overflow();
  }
  return n;
}

Leading leading(const Numeric& n) {
  if (n.is_zero()) return {};
  const auto floor_div4 = [](int x) { return x >= 0 ? x / 4 : -((3 - x) / 4); };
  if (NumericAccess::is_small(n)) {
    const UInt128 size = magnitude(NumericAccess::small(n));
    const int digits = decimal_digits(size);
    const int exponent = digits - 1 - n.scale();
    const int weight = floor_div4(exponent);
    const int wanted = exponent - 4 * weight + 1;
    const UInt128 digit =
        wanted <= digits
            ? size / static_cast<UInt128>(kPowersOfTen[static_cast<std::size_t>(digits - wanted)])
            : size * static_cast<UInt128>(kPowersOfTen[static_cast<std::size_t>(wanted - digits)]);
    return {weight, static_cast<int>(digit)};
  }
  const BigInt size = abs(NumericAccess::big(n));
  const int digits = decimal_digits(size);
  const int exponent = digits - 1 - n.scale();
  const int weight = floor_div4(exponent);
  const int wanted = exponent - 4 * weight + 1;
  return {weight, static_cast<int>(BigInt(size / power_of_ten(digits - wanted)))};
}

}  // namespace freshet::repr
