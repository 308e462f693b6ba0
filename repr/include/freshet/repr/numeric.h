// SPDX-License-Identifier: Apache-2.0
/// PostgreSQL's numeric: exact decimal numbers with a display scale, NaN and the infinities.
///
/// A coefficient of up to 127 bits lies inside the object (24 bytes); larger ones go to the heap,
/// with no limit but PostgreSQL's (131072 digits before the point, 16383 after). The *scale*
/// (digits shown after the point) is a form: 1.0 and 1.00 are equal. Result scales follow
/// PostgreSQL's rules. NaN equals itself and is the greatest value, above infinity.
///
/// Errors: overflow 22003, division by zero 22012, bad text 22P02.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <freshet/base/result.h>

namespace freshet::repr {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

class Numeric {
 public:
  /// Zero, scale 0.
  Numeric() = default;
  Numeric(std::int64_t value)  // NOLINT: converts
      : low_(static_cast<std::uint64_t>(value)), high_(value < 0 ? -1 : 0) {}
  /// The scale is 0 to 16383.
  static Numeric from_parts(Int128 coefficient, int scale);
  static Numeric nan();
  static Numeric infinity(bool negative = false);
  /// As numeric_in reads it: "-1.50", "1e10", "NaN", "Infinity".
  static Result<Numeric> parse(std::string_view text);
  static Result<Numeric> from_double(
      double value);                       ///< As the cast: shortest decimal of 15 digits.
  static Numeric from_float(float value);  ///< 6 digits.

  Numeric(const Numeric& other)
      : low_(other.low_), high_(other.high_), scale_(other.scale_), kind_(other.kind_) {
    if (kind_ == Kind::kBig) [[unlikely]]
      retain();
  }
  Numeric(Numeric&& other) noexcept
      : low_(other.low_), high_(other.high_), scale_(other.scale_), kind_(other.kind_) {
    other.kind_ = Kind::kSmall;
  }
  Numeric& operator=(Numeric other) noexcept {
    std::swap(low_, other.low_);
    std::swap(high_, other.high_);
    std::swap(scale_, other.scale_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~Numeric() {
    if (kind_ == Kind::kBig) [[unlikely]]
      release();
  }

  [[nodiscard]] bool is_nan() const { return kind_ == Kind::kNaN; }
  [[nodiscard]] bool is_infinite() const {
    return kind_ == Kind::kInfinity || kind_ == Kind::kNegativeInfinity;
  }
  [[nodiscard]] bool is_finite() const { return kind_ <= Kind::kBig; }
  [[nodiscard]] bool is_negative() const;  ///< False for zero and NaN.
  [[nodiscard]] bool is_zero() const {
    return kind_ == Kind::kSmall && (low_ | static_cast<std::uint64_t>(high_)) == 0;
  }
  /// Digits after the point; 0 for NaN and infinities.
  [[nodiscard]] int scale() const { return scale_; }
  /// The coefficient and scale if it fits: value = coefficient / 10^scale. False otherwise.
  [[nodiscard]] bool as_parts(Int128& coefficient, int& scale) const {
    if (kind_ != Kind::kSmall) return false;
    coefficient = small();
    scale = scale_;
    return true;
  }
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] double to_double() const;
  [[nodiscard]] float to_float() const;
  /// Rounds half away from zero. 22003 "bigint out of range" if it does not fit.
  [[nodiscard]] Result<std::int64_t> to_int64() const;
  /// numeric_send: PostgreSQL's binary format.
  [[nodiscard]] std::string to_binary() const;
  static Result<Numeric> from_binary(std::string_view bytes);

  [[nodiscard]] Result<Numeric> add(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> subtract(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> multiply(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> divide(
      const Numeric& other) const;  ///< PostgreSQL's select_div_scale.
  [[nodiscard]] Result<Numeric> remainder(const Numeric& other) const;
  [[nodiscard]] Result<Numeric> power(const Numeric& exponent) const;
  [[nodiscard]] Result<Numeric> sqrt() const;
  [[nodiscard]] Result<Numeric> exp() const;
  [[nodiscard]] Result<Numeric> ln() const;
  [[nodiscard]] Result<Numeric> log(const Numeric& base) const;
  [[nodiscard]] Numeric negate() const;
  [[nodiscard]] Numeric abs() const;
  [[nodiscard]] Numeric round(int scale) const;  ///< Half away from zero; `scale` may be negative.
  [[nodiscard]] Numeric truncate(int scale) const;
  [[nodiscard]] Numeric ceil() const;
  [[nodiscard]] Numeric floor() const;
  [[nodiscard]] Numeric trim_scale() const;
  [[nodiscard]] int min_scale() const;  ///< The least scale that shows the value.
  /// As a cast to numeric(p, s): rounds, then 22003 "numeric field overflow" if too wide.
  [[nodiscard]] Result<Numeric> apply_typmod(std::int32_t typmod) const;

  /// By value; the scale does not count.
  friend std::strong_ordering operator<=>(const Numeric& a, const Numeric& b);
  friend bool operator==(const Numeric& a, const Numeric& b) { return (a <=> b) == 0; }

 private:
  friend struct NumericAccess;  // the row codec
  struct Big;
  enum class Kind : std::uint8_t { kSmall, kBig, kNaN, kInfinity, kNegativeInfinity };
  [[nodiscard]] Int128 small() const {
    return static_cast<Int128>((static_cast<UInt128>(static_cast<std::uint64_t>(high_)) << 64) |
                               low_);
  }
  void retain() const;
  void release();

  // Small: coefficient in (high_, low_), never the least Int128. Big: low_ holds a counted pointer
  // to a coefficient that is not small. So a value and scale have one representation.
  std::uint64_t low_ = 0;
  std::int64_t high_ = 0;
  std::int32_t scale_ = 0;
  Kind kind_ = Kind::kSmall;
};
static_assert(sizeof(Numeric) == 24);

}  // namespace freshet::repr
