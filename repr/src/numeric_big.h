// SPDX-License-Identifier: Apache-2.0
// The inside of Numeric: small coefficients in 128 bits, large ones in Boost's cpp_int.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <boost/multiprecision/cpp_int.hpp>

#include <freshet/repr/numeric.h>

namespace freshet::repr {

using BigInt = boost::multiprecision::cpp_int;

inline constexpr int kMaxScale = 16383;
inline constexpr int kMaxIntegerDigits = 131072;
// PostgreSQL's limits for what division and the transcendental functions show.
inline constexpr int kMinSignificantDigits = 16;
inline constexpr int kMaxDisplayScale = 1000;

struct Numeric::Big {
  std::atomic<std::uint32_t> references{1};
  BigInt coefficient;
};

// A finite value as a coefficient and a scale.
struct BigParts {
  BigInt coefficient;
  int scale = 0;
};

struct NumericAccess {
  using Kind = Numeric::Kind;
  static Kind kind(const Numeric& n) { return n.kind_; }
  static bool is_small(const Numeric& n) { return n.kind_ == Kind::kSmall; }
  static Int128 small(const Numeric& n) { return n.small(); }
  static Numeric make(Int128 coefficient, int scale);
  static Numeric special(Kind kind);
  /// Overwrites a small value.
  static void set(Numeric& n, std::int64_t coefficient, int scale) {
    FRESHET_DASSERT(n.kind_ == Kind::kSmall);
    n.low_ = static_cast<std::uint64_t>(coefficient);
    n.high_ = coefficient < 0 ? -1 : 0;
    n.scale_ = scale;
  }
  /// Small if it fits; without a check of PostgreSQL's limits.
  static Numeric make(const BigInt& coefficient, int scale);
  static const BigInt& big(const Numeric& n);
  /// Of a finite value.
  static BigParts parts(const Numeric& n);
};

inline constexpr Int128 kInt128Max = static_cast<Int128>(~UInt128{0} >> 1);

constexpr std::array<Int128, 39> make_powers_of_ten() {
  std::array<Int128, 39> powers{};
  Int128 power = 1;
  for (std::size_t i = 0; i < powers.size(); ++i) {
    powers[i] = power;
    if (i + 1 < powers.size()) power *= 10;
  }
  return powers;
}
inline constexpr std::array<Int128, 39> kPowersOfTen = make_powers_of_ten();

constexpr UInt128 magnitude(Int128 value) {
  return value < 0 ? ~static_cast<UInt128>(value) + 1 : static_cast<UInt128>(value);
}
/// Decimal digits; 0 for 0.
int decimal_digits(UInt128 value);
int decimal_digits(const BigInt& magnitude);
BigInt power_of_ten(int exponent);
BigInt to_big(Int128 value);
/// numerator / denominator (positive), rounded half away from zero.
BigInt divide_rounded(const BigInt& numerator, const BigInt& denominator);
/// The coefficient of the same value at another scale, rounded half away from zero.
BigInt rescale(const BigInt& coefficient, int from_scale, int to_scale);

/// 22003 if the value exceeds PostgreSQL's format.
Result<Numeric> checked(const BigInt& coefficient, int scale);
base::Unexpected numeric_overflow();

/// What PostgreSQL's scale rules look at: the power of 10000 of the first base-10000 digit, and
/// that digit.
struct Leading {
  int weight = 0;
  int digit = 0;
};
Leading leading(const Numeric& n);

}  // namespace freshet::repr
