// SPDX-License-Identifier: Apache-2.0
/// PostgreSQL's numeric: exact decimal numbers with a display scale, NaN and the infinities.
///
/// A coefficient of up to 127 bits lies inside the object (24 bytes); larger ones go to the heap, with
/// no limit but PostgreSQL's (131072 digits before the point, 16383 after). The *scale* (digits shown
/// after the point) is a form: 1.0 and 1.00 are equal. Result scales follow PostgreSQL's rules.
/// NaN equals itself and is the greatest value, above infinity.
///
/// Errors: overflow 22003, division by zero 22012, bad text 22P02.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <freshet/base/result.h>

namespace freshet::repr {

__extension__ using Int128 = __int128;

class Numeric {
 public:
  /// Zero, scale 0.
  Numeric() = default;
  Numeric(std::int64_t value);  // NOLINT: converts
  static Numeric from_parts(Int128 coefficient, int scale);
  static Numeric nan();
  static Numeric infinity(bool negative = false);
  /// As numeric_in reads it: "-1.50", "1e10", "NaN", "Infinity".
  static Result<Numeric> parse(std::string_view text);
  static Result<Numeric> from_double(double value);  ///< As the cast: shortest decimal of 15 digits.
  static Numeric from_float(float value);            ///< 6 digits.

  Numeric(const Numeric& other);
  Numeric(Numeric&& other) noexcept;
  Numeric& operator=(Numeric other) noexcept;
  ~Numeric();

  [[nodiscard]] bool is_nan() const;
  [[nodiscard]] bool is_infinite() const;
  [[nodiscard]] bool is_finite() const;
  [[nodiscard]] bool is_negative() const;  ///< False for zero and NaN.
  [[nodiscard]] bool is_zero() const;
  [[nodiscard]] int scale() const;         ///< Digits after the point; 0 for NaN and infinities.
  /// The coefficient and scale if it fits: value = coefficient / 10^scale. False otherwise.
  [[nodiscard]] bool as_parts(Int128& coefficient, int& scale) const;
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] double to_double() const;
  /// Rounds half away from zero. 22003 if it does not fit.
  [[nodiscard]] Result<std::int64_t> to_int64() const;

  [[nodiscard]] Result<Numeric> add(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> subtract(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> multiply(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> divide(const Numeric& other) const;   ///< PostgreSQL's select_div_scale.
  [[nodiscard]] Result<Numeric> remainder(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> power(const Numeric& exponent) const;
  [[nodiscard]] Result<Numeric> sqrt() const;
  [[nodiscard]] Result<Numeric> exp() const;
  [[nodiscard]] Result<Numeric> ln() const;
  [[nodiscard]] Result<Numeric> log(const Numeric& base) const;
  [[nodiscard]] Numeric negate() const;
  [[nodiscard]] Numeric abs() const;
  [[nodiscard]] Numeric round(int scale) const;     ///< Half away from zero; `scale` may be negative.
  [[nodiscard]] Numeric truncate(int scale) const;
  [[nodiscard]] Numeric ceil() const;
  [[nodiscard]] Numeric floor() const;
  [[nodiscard]] Numeric trim_scale() const;
  /// As a cast to numeric(p, s): rounds, then 22003 "numeric field overflow" if too wide.
  [[nodiscard]] Result<Numeric> apply_typmod(std::int32_t typmod) const;

  /// By value; the scale does not count.
  friend std::strong_ordering operator<=>(const Numeric& a, const Numeric& b);
  friend bool operator==(const Numeric& a, const Numeric& b) { return (a <=> b) == 0; }

 private:
  friend struct NumericAccess;  // the row codec
  struct Big;
  // Small: coefficient in (high_, low_). Big: low_ holds a counted pointer.
  std::uint64_t low_ = 0;
  std::int64_t high_ = 0;
  std::int32_t scale_ = 0;
  enum class Kind : std::uint8_t { kSmall, kBig, kNaN, kInfinity, kNegativeInfinity };
  Kind kind_ = Kind::kSmall;
};
static_assert(sizeof(Numeric) == 24);

}  // namespace freshet::repr
