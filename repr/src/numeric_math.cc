// SPDX-License-Identifier: Apache-2.0
// Square root, exponential, logarithm and power: PostgreSQL's result scales, computed in binary
// fixed point with guard bits and rounded once.
#include <algorithm>
#include <cmath>

#include <freshet/base/sqlstate.h>

#include "numeric_big.h"

namespace freshet::repr {
namespace {

using Access = NumericAccess;

constexpr double kLog10OfE = 0.434294481903252;
constexpr double kBitsPerDigit = 3.3219280948873626;
constexpr int kMaxResultScale = 2000;

base::Unexpected bad_power(const char* message) {
  return fail(sqlstate::kInvalidArgumentForPower, message);
}
base::Unexpected bad_log(const char* message) {
  return fail(sqlstate::kInvalidArgumentForLog, message);
}

int display_scale(int wanted, std::initializer_list<int> operands) {
  for (const int scale : operands) wanted = std::max(wanted, scale);
  return std::clamp(wanted, 0, kMaxDisplayScale);
}

int bits_for_digits(int digits) {
  return digits <= 0 ? 0 : static_cast<int>(digits * kBitsPerDigit) + 1;
}

BigInt shift(const BigInt& value, int bits) {
  if (bits >= 0) return BigInt(value << static_cast<unsigned>(bits));
  return value < 0 ? BigInt(-(BigInt(-value) >> static_cast<unsigned>(-bits)))
                   : BigInt(value >> static_cast<unsigned>(-bits));
}

// A fixed-point number: value / 2^bits.
BigInt to_fixed(const Numeric& n, int bits) {
  const BigParts parts = Access::parts(n);
  return BigInt(shift(parts.coefficient, bits) / power_of_ten(parts.scale));
}

Result<Numeric> from_fixed(const BigInt& value, int bits, int scale) {
  const BigInt scaled = value * power_of_ten(scale);
  return checked(divide_rounded(scaled, shift(1, bits)), scale);
}

BigInt multiply_fixed(const BigInt& a, const BigInt& b, int bits) { return shift(a * b, -bits); }

// atanh(1 / n)
BigInt atanh_inverse(int n, int bits) {
  BigInt power = shift(1, bits) / n;
  BigInt sum = power;
  const int square = n * n;
  for (int k = 3; !power.is_zero(); k += 2) {
    power /= square;
    sum += power / k;
  }
  return sum;
}

BigInt ln2_fixed(int bits) {
  return 18 * atanh_inverse(26, bits) - 2 * atanh_inverse(4801, bits) +
         8 * atanh_inverse(8749, bits);
}

int guard_bits(int bits) { return 48 + static_cast<int>(std::sqrt(static_cast<double>(bits))); }

// ln of a positive number, to about 2^-bits.
BigInt ln_fixed(const Numeric& n, int bits) {
  const int work = bits + guard_bits(bits);
  const BigParts parts = Access::parts(n);
  const BigInt unit = power_of_ten(parts.scale);
  // n = m * 2^k with m in [2/3, 4/3) or so; k is 0 for numbers near 1, whose digits all count.
  const int exponent = static_cast<int>(msb(parts.coefficient)) - static_cast<int>(msb(unit));
  int k = exponent;
  BigInt m = shift(parts.coefficient, work - k) / unit;
  const BigInt one = shift(1, work);
  while (m * 3 >= one * 4) {
    m = shift(parts.coefficient, work - ++k) / unit;
  }
  while (m * 3 < one * 2) {
    m = shift(parts.coefficient, work - --k) / unit;
  }
  const int roots = std::max(2, static_cast<int>(std::sqrt(static_cast<double>(bits)) / 2));
  for (int i = 0; i < roots; ++i) m = sqrt(BigInt(shift(m, work)));
  const BigInt z = shift(m - one, work) / (m + one);
  const BigInt square = multiply_fixed(z, z, work);
  BigInt power = z;
  BigInt sum = z;
  for (int i = 3; !power.is_zero(); i += 2) {
    power = multiply_fixed(power, square, work);
    sum += power / i;
  }
  const BigInt result = shift(sum, roots + 1) + k * ln2_fixed(work);
  return shift(result, bits - work);
}

// e^x for fixed-point x, to about `bits` binary digits after the point and 32 significant at least.
BigInt exp_fixed(const BigInt& x, int bits) {
  const double rough = static_cast<double>(BigInt(shift(x, 20 - bits))) / (1 << 20);
  const int whole_bits = rough > 0 ? static_cast<int>(rough * 1.4427) + 2 : 0;
  const int work = bits + whole_bits + guard_bits(bits + whole_bits);
  const BigInt ln2 = ln2_fixed(work);
  const int n = static_cast<int>(std::floor(rough / 0.6931471805599453));
  const int halvings = std::max(2, static_cast<int>(std::sqrt(static_cast<double>(work)) / 2));
  const BigInt rest = shift(shift(x, work - bits) - n * ln2, -halvings);
  BigInt term = shift(1, work);
  BigInt sum = term;
  for (int i = 1; !term.is_zero(); ++i) {
    term = multiply_fixed(term, rest, work) / i;
    sum += term;
  }
  for (int i = 0; i < halvings; ++i) sum = multiply_fixed(sum, sum, work);
  return shift(sum, n + bits - work);
}

double to_double_clamped(const Numeric& n) {
  const double value = n.to_double();
  return std::isfinite(value) ? value : (value > 0 ? 1e300 : -1e300);
}

// PostgreSQL's estimate of the decimal weight of ln(n), which decides scales.
int estimate_ln_weight(const Numeric& n) {
  if (n.is_negative() || n.is_zero()) return 0;
  const Numeric low = Numeric::from_parts(9, 1);
  const Numeric high = Numeric::from_parts(11, 1);
  if (n >= low && n <= high) {
    const Numeric x = n.subtract(Numeric(1)).value();
    if (x.is_zero()) return 0;
    const Leading first = leading(x);
    return first.weight * 4 + static_cast<int>(std::log10(first.digit));
  }
  // The first two base-10000 digits, or the first if the rest is zero.
  const Leading first = leading(n);
  const BigParts parts = Access::parts(n);
  double digits = first.digit;
  int weight = first.weight * 4;
  const int places = parts.scale + weight - 4;  // digits behind the second
  const BigInt two = places >= 0 ? BigInt(parts.coefficient / power_of_ten(places))
                                 : BigInt(parts.coefficient * power_of_ten(-places));
  const bool longer = places > 0 ? two * power_of_ten(places) != parts.coefficient : false;
  if (longer || two != BigInt(first.digit) * 10000) {
    digits = static_cast<double>(two);
    weight -= 4;
  }
  const double ln = std::log(digits) + weight * 2.302585092994046;
  return static_cast<int>(std::log10(std::abs(ln)));
}

bool is_integral(const Numeric& n) { return !n.is_finite() || n.truncate(0) == n; }

Result<void> check_log_argument(const Numeric& n) {
  if (n.is_negative()) return bad_log("cannot take logarithm of a negative number");
  if (n.is_zero()) return bad_log("cannot take logarithm of zero");
  return {};
}

// A floating mantissa for integer powers: value = mantissa * 2^exponent, cut to `limit` bits.
struct Floating {
  BigInt mantissa = 1;
  std::int64_t exponent = 0;

  void cut(int limit) {
    const int excess = static_cast<int>(msb(mantissa)) + 1 - limit;
    if (excess <= 0) return;
    mantissa >>= static_cast<unsigned>(excess);
    exponent += excess;
  }
  void times(const Floating& other, int limit) {
    mantissa *= other.mantissa;
    exponent += other.exponent;
    cut(limit);
  }
};

Floating integer_power(BigInt base, std::uint64_t exponent, int limit) {
  Floating result;
  Floating square{std::move(base), 0};
  square.cut(limit);
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result.times(square, limit);
    if (exponent > 1) square.times(square, limit);
  }
  return result;
}

// base^exponent for |base| > 0 at `scale`; `digits` is the number of significant digits of the
// result.
Result<Numeric> power_by_squaring(const Numeric& base, int exponent, int scale, int digits) {
  const BigParts parts = Access::parts(base);
  const auto count = static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(exponent)));
  const int limit = bits_for_digits(std::max(digits, 1)) + 128;
  const Floating top = integer_power(BigInt(abs(parts.coefficient)), count, limit);
  const Floating bottom = integer_power(power_of_ten(parts.scale), count, limit);
  const Floating& numerator = exponent > 0 ? top : bottom;
  const Floating& denominator = exponent > 0 ? bottom : top;
  BigInt n = numerator.mantissa * power_of_ten(scale);
  BigInt d = denominator.mantissa;
  const std::int64_t binary = numerator.exponent - denominator.exponent;
  if (binary >= 0) {
    n = shift(n, static_cast<int>(binary));
  } else {
    d = shift(d, static_cast<int>(-binary));
  }
  BigInt result = divide_rounded(n, d);
  if (base.is_negative() && (count & 1) != 0) result = -result;
  return checked(result, scale);
}

Result<Numeric> power_integer(const Numeric& base, int exponent) {
  const int scale = display_scale(kMinSignificantDigits, {base.scale()});
  if (exponent == 0) return Numeric(1).round(scale);
  if (exponent == 1) return base.round(scale);
  if (base.is_zero()) {
    if (exponent < 0) return fail(sqlstate::kDivisionByZero, "division by zero");
    return Numeric().round(scale);
  }
  // log10 of the result, from the first 16 digits of the base.
  const Numeric size = base.abs();
  const int digits = decimal_digits(Access::parts(size).coefficient);
  const int point = digits - size.scale();
  BigInt head = Access::parts(size).coefficient;
  if (digits > 17) head /= power_of_ten(digits - 17);
  const double log10_base = std::log10(static_cast<double>(head)) - std::min(digits, 17) + point;
  const double weight = exponent * log10_base;
  if (weight > 3.0 * 32767 * 4) return numeric_overflow();
  if (weight + 1 < -scale || weight + 1 < -kMaxDisplayScale) return Numeric().round(scale);
  if (weight > kMaxIntegerDigits + 1) return numeric_overflow();
  return power_by_squaring(base, exponent, scale, 1 + scale + static_cast<int>(weight));
}

Result<Numeric> power_real(const Numeric& base, const Numeric& exponent) {
  Numeric size = base;
  bool negative = false;
  if (base.is_negative()) {
    size = base.negate();
    negative = !exponent.remainder(Numeric(2)).value().is_zero();
  }
  const int ln_weight = estimate_ln_weight(size);
  constexpr int kRoughBits = 160;
  const BigInt rough_ln = ln_fixed(size, kRoughBits + std::max(0, bits_for_digits(-ln_weight)));
  const int rough_bits = kRoughBits + std::max(0, bits_for_digits(-ln_weight));
  const BigParts e = Access::parts(exponent);
  const BigInt rough = rough_ln * e.coefficient / power_of_ten(e.scale);
  double value = static_cast<double>(BigInt(shift(rough, 40 - rough_bits))) / 0x1p40;
  if (std::abs(value) > kMaxResultScale * 3.01) {
    if (value > 0) return numeric_overflow();
    return Numeric().round(kMaxDisplayScale);
  }
  value *= kLog10OfE;
  const int scale = display_scale(kMinSignificantDigits - static_cast<int>(value),
                                  {base.scale(), exponent.scale()});
  // Enough bits after the point that the exponent times ln keeps its own.
  const int bits = bits_for_digits(scale + std::max(0, static_cast<int>(value)) + 12);
  const int exponent_bits =
      e.coefficient.is_zero() ? 0 : static_cast<int>(msb(abs(e.coefficient))) + 1;
  const BigInt ln = ln_fixed(size, bits + exponent_bits);
  const BigInt product = shift(ln * e.coefficient / power_of_ten(e.scale), -exponent_bits);
  Numeric result = FRESHET_TRY(from_fixed(exp_fixed(product, bits), bits, scale));
  return negative ? result.negate() : result;
}

Result<Numeric> power_special(const Numeric& base, const Numeric& exponent) {
  const Numeric one(1);
  if (base.is_nan()) return exponent.is_zero() ? one : base;
  if (exponent.is_nan()) return base == one ? one : exponent;
  if (base.is_zero() && exponent.is_negative()) {
    return bad_power("zero raised to a negative power is undefined");
  }
  if (base.is_negative() && !is_integral(exponent)) {
    return bad_power("a negative number raised to a non-integer power yields a complex result");
  }
  if (base == one || exponent.is_zero()) return one;
  if (base.is_zero()) return Numeric();
  if (exponent.is_infinite()) {
    if (base == Numeric(-1)) return one;
    const bool large = base.is_infinite() || base.abs() > one;
    return large != exponent.is_negative() ? Numeric::infinity() : Numeric();
  }
  if (exponent.is_negative()) return Numeric();
  const bool odd = base.is_negative() && !exponent.remainder(Numeric(2)).value().is_zero();
  return Numeric::infinity(odd);
}

}  // namespace

Result<Numeric> Numeric::sqrt() const {
  if (is_nan()) return *this;
  if (is_negative()) return bad_power("cannot take square root of a negative number");
  if (is_infinite()) return *this;
  const int weight = leading(*this).weight;
  const int before = weight >= 0 ? weight * 4 / 2 + 1 : 1 - (1 - weight * 4) / 2;
  const int scale = display_scale(kMinSignificantDigits - before, {scale_});
  const BigParts parts = Access::parts(*this);
  const int up = 2 * scale - parts.scale;
  const BigInt unit = power_of_ten(std::max(-up, 0));  // of what is cut off
  const BigInt scaled = parts.coefficient * power_of_ten(std::max(up, 0));
  const BigInt radicand = scaled / unit;
  const BigInt cut = scaled - radicand * unit;
  BigInt rest;
  BigInt root = boost::multiprecision::sqrt(radicand, rest);
  // Up where radicand + cut / unit >= (root + 1/2)^2.
  if (rest > root || (rest == root && 4 * cut >= unit)) ++root;
  return checked(root, scale);
}

Result<Numeric> Numeric::exp() const {
  if (is_nan()) return *this;
  if (is_infinite()) return is_negative() ? Numeric() : *this;
  double value = to_double_clamped(*this) * kLog10OfE;
  value = std::clamp(value, -static_cast<double>(kMaxResultScale),
                     static_cast<double>(kMaxResultScale));
  const int scale = display_scale(kMinSignificantDigits - static_cast<int>(value), {scale_});
  const double real = to_double_clamped(*this);
  if (std::abs(real) >= kMaxResultScale * 3) {
    if (real > 0) return numeric_overflow();
    return Numeric().round(scale);
  }
  const int bits =
      bits_for_digits(scale + 10) + (real > 0 ? static_cast<int>(real * 1.4427) + 1 : 0);
  return from_fixed(exp_fixed(to_fixed(*this, bits), bits), bits, scale);
}

Result<Numeric> Numeric::ln() const {
  if (is_nan()) return *this;
  if (auto ok = check_log_argument(*this); !ok) return fail(std::move(ok).error());
  if (is_infinite()) return *this;
  const int scale = display_scale(kMinSignificantDigits - estimate_ln_weight(*this), {scale_});
  const int bits = bits_for_digits(scale + 10);
  return from_fixed(ln_fixed(*this, bits), bits, scale);
}

Result<Numeric> Numeric::log(const Numeric& base) const {
  if (is_nan() || base.is_nan()) return nan();
  const Numeric& first = base.is_negative() || base.is_zero() ? base : *this;
  if (is_negative() || base.is_negative()) {
    return bad_log("cannot take logarithm of a negative number");
  }
  if (auto ok = check_log_argument(first); !ok) return fail(std::move(ok).error());
  if (base.is_infinite()) return is_infinite() ? nan() : Numeric();
  if (is_infinite()) return *this;
  const int weight = estimate_ln_weight(*this) - estimate_ln_weight(base);
  const int scale = display_scale(kMinSignificantDigits - weight, {base.scale(), scale_});
  const int base_weight = estimate_ln_weight(base);
  const int bits = bits_for_digits(scale + std::abs(weight) + 2 * std::abs(base_weight) + 24);
  const BigInt bottom = ln_fixed(base, bits);
  if (bottom.is_zero()) return fail(sqlstate::kDivisionByZero, "division by zero");
  const BigInt quotient = shift(ln_fixed(*this, bits), bits) / bottom;
  return from_fixed(quotient, bits, scale);
}

Result<Numeric> Numeric::power(const Numeric& exponent) const {
  if (!is_finite() || !exponent.is_finite()) return power_special(*this, exponent);
  if (is_zero() && exponent.is_negative()) {
    return bad_power("zero raised to a negative power is undefined");
  }
  const bool integral = is_integral(exponent);
  if (is_negative() && !integral) {
    return bad_power("a negative number raised to a non-integer power yields a complex result");
  }
  if (integral) {
    const auto whole = exponent.to_int64();
    if (whole && *whole >= INT32_MIN && *whole <= INT32_MAX) {
      return power_integer(*this, static_cast<int>(*whole));
    }
  }
  if (is_zero()) return Numeric().round(kMinSignificantDigits);
  return power_real(*this, exponent);
}

}  // namespace freshet::repr
