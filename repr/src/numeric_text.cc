// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <freshet/base/sqlstate.h>

#include "numeric_big.h"

namespace freshet::repr {
namespace {

using Access = NumericAccess;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != lower[i]) return false;
  }
  return true;
}

// Digits without sign or point, and where the point stands.
struct Decimal {
  bool negative = false;
  std::string digits{};
  std::int64_t scale = 0;
};

bool take_exponent(std::string_view& text, std::int64_t& exponent) {
  text.remove_prefix(1);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text.front())) return false;
  }
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (status == std::errc::invalid_argument) return false;
  if (status != std::errc()) exponent = text.front() == '-' ? INT32_MIN : INT32_MAX;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// False: not a number. The exponent is left in `exponent`.
bool scan(std::string_view text, Decimal& out, std::int64_t& exponent) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    out.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  bool point = false;
  bool any = false;
  while (!text.empty()) {
    const char c = text.front();
    if (is_digit(c)) {
      any = true;
      out.digits.push_back(c);
      if (point) ++out.scale;
    } else if (c == '.' && !point) {
      point = true;
    } else {
      break;
    }
    text.remove_prefix(1);
  }
  if (!any) return false;
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    if (!take_exponent(text, exponent)) return false;
  }
  return text.empty();
}

Result<Numeric> from_decimal(Decimal decimal, std::int64_t exponent) {
  constexpr std::int64_t kExponentLimit = INT32_MAX / 2;
  if (exponent >= kExponentLimit || exponent <= -kExponentLimit) return numeric_overflow();
  decimal.scale -= exponent;
  if (decimal.scale > kMaxScale) return numeric_overflow();
  decimal.digits.erase(0, std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size()));
  if (decimal.digits.empty()) {
    return Access::make(Int128{0}, static_cast<int>(std::max<std::int64_t>(decimal.scale, 0)));
  }
  if (static_cast<std::int64_t>(decimal.digits.size()) - decimal.scale > kMaxIntegerDigits) {
    return numeric_overflow();
  }
  if (decimal.scale < 0) {
    decimal.digits.append(static_cast<std::size_t>(-decimal.scale), '0');
    decimal.scale = 0;
  }
  const int scale = static_cast<int>(decimal.scale);
  if (decimal.digits.size() <= 38) {
    UInt128 value = 0;
    for (const char c : decimal.digits) value = value * 10 + static_cast<unsigned>(c - '0');
    const auto coefficient = static_cast<Int128>(value);
    return Access::make(decimal.negative ? -coefficient : coefficient, scale);
  }
  BigInt value(decimal.digits);
  return Access::make(decimal.negative ? BigInt(-value) : value, scale);
}

std::string digits_of(UInt128 value) {
  char buffer[40];
  char* end = buffer + sizeof buffer;
  char* p = end;
  while (value > UINT64_MAX) {
    *--p = static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  }
  auto low = static_cast<std::uint64_t>(value);
  do {
    *--p = static_cast<char>('0' + low % 10);
    low /= 10;
  } while (low != 0);
  return std::string(p, end);
}

std::string digits_of(const Numeric& n) {
  if (Access::is_small(n)) return digits_of(magnitude(Access::small(n)));
  return BigInt(abs(Access::big(n))).str();
}

base::Unexpected bad_binary(const char* what) {
  return fail(sqlstate::kInvalidBinaryRepresentation,
              std::string("invalid ") + what + " in external \"numeric\" value");
}

constexpr std::uint16_t kSignNegative = 0x4000, kSignNaN = 0xC000, kSignInfinity = 0xD000,
                        kSignNegativeInfinity = 0xF000;

void put16(std::string& out, int value) {
  out.push_back(static_cast<char>(value >> 8));
  out.push_back(static_cast<char>(value));
}

int get16(std::string_view bytes, std::size_t at) {
  return (static_cast<unsigned char>(bytes[at]) << 8) | static_cast<unsigned char>(bytes[at + 1]);
}

}  // namespace

Result<Numeric> Numeric::parse(std::string_view text) {
  std::string_view body = trim(text);
  Decimal decimal;
  std::int64_t exponent = 0;
  if (scan(body, decimal, exponent)) return from_decimal(std::move(decimal), exponent);
  if (equals_ignoring_case(body, "nan")) return nan();
  const bool negative = !body.empty() && body.front() == '-';
  if (negative || (!body.empty() && body.front() == '+')) body.remove_prefix(1);
  if (equals_ignoring_case(body, "infinity") || equals_ignoring_case(body, "inf")) {
    return infinity(negative);
  }
  return fail(sqlstate::kInvalidTextRepresentation,
              "invalid input syntax for type numeric: \"" + std::string(text) + "\"");
}

std::string Numeric::to_string() const {
  switch (kind_) {
    case Kind::kNaN:
      return "NaN";
    case Kind::kInfinity:
      return "Infinity";
    case Kind::kNegativeInfinity:
      return "-Infinity";
    default:
      break;
  }
  std::string digits = digits_of(*this);
  const auto scale = static_cast<std::size_t>(scale_);
  if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
  if (scale > 0) digits.insert(digits.size() - scale, 1, '.');
  return is_negative() ? '-' + digits : digits;
}

Result<Numeric> Numeric::from_double(double value) {
  if (std::isnan(value)) return nan();
  if (std::isinf(value)) return infinity(value < 0);
  char buffer[40];
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 15);
  return parse({buffer, static_cast<std::size_t>(result.ptr - buffer)});
}

Numeric Numeric::from_float(float value) {
  if (std::isnan(value)) return nan();
  if (std::isinf(value)) return infinity(value < 0);
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, static_cast<double>(value),
                                    std::chars_format::general, 6);
  return parse({buffer, static_cast<std::size_t>(result.ptr - buffer)}).value();
}

double Numeric::to_double() const {
  if (is_nan()) return std::nan("");
  if (is_infinite()) return is_negative() ? -HUGE_VAL : HUGE_VAL;
  if (kind_ == Kind::kSmall && scale_ <= 22) {
    const Int128 value = small();
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    // Both are exact, so one division rounds correctly.
    if (value <= kExact && value >= -kExact) {
      const auto power = static_cast<double>(kPowersOfTen[static_cast<std::size_t>(scale_)]);
      return static_cast<double>(static_cast<std::int64_t>(value)) / power;
    }
  }
  return std::strtod(to_string().c_str(), nullptr);
}

float Numeric::to_float() const {
  if (!is_finite()) return static_cast<float>(to_double());
  return std::strtof(to_string().c_str(), nullptr);
}

std::string Numeric::to_binary() const {
  std::string out;
  if (!is_finite()) {
    put16(out, 0);
    put16(out, 0);
    put16(out, is_nan() ? kSignNaN : is_negative() ? kSignNegativeInfinity : kSignInfinity);
    put16(out, is_nan() ? 0 : 0x20);  // what PostgreSQL sends there
    return out;
  }
  std::string digits = digits_of(*this);
  const auto scale = static_cast<std::size_t>(scale_);
  if (digits.size() < scale) digits.insert(0, scale - digits.size(), '0');
  // Groups of four digits, counted from the point.
  std::size_t whole = digits.size() - scale;
  digits.append((4 - scale % 4) % 4, '0');
  digits.insert(0, (4 - whole % 4) % 4, '0');
  whole += (4 - whole % 4) % 4;
  std::size_t first = 0;
  std::size_t last = digits.size();
  while (first < last && digits.compare(first, 4, "0000") == 0) first += 4;
  while (last > first && digits.compare(last - 4, 4, "0000") == 0) last -= 4;
  const int weight =
      first == last ? 0 : static_cast<int>(whole / 4) - 1 - static_cast<int>(first / 4);
  put16(out, static_cast<int>((last - first) / 4));
  put16(out, weight);
  put16(out, is_negative() ? kSignNegative : 0);
  put16(out, scale_);
  for (std::size_t i = first; i < last; i += 4) {
    int group = 0;
    for (std::size_t k = 0; k < 4; ++k) group = group * 10 + (digits[i + k] - '0');
    put16(out, group);
  }
  return out;
}

Result<Numeric> Numeric::from_binary(std::string_view bytes) {
  if (bytes.size() < 8) {
    return fail(sqlstate::kProtocolViolation, "insufficient data left in message");
  }
  const auto count = static_cast<std::size_t>(get16(bytes, 0));
  const auto weight = static_cast<std::int16_t>(get16(bytes, 2));
  const int sign = get16(bytes, 4);
  const int scale = get16(bytes, 6);
  const bool finite = sign == 0 || sign == kSignNegative;
  if (!finite && sign != kSignNaN && sign != kSignInfinity && sign != kSignNegativeInfinity) return bad_binary("sign");
  if (scale > kMaxScale) return bad_binary("scale");
  if (bytes.size() < 8 + 2 * count) {
    return fail(sqlstate::kProtocolViolation, "insufficient data left in message");
  }
  if (bytes.size() > 8 + 2 * count) {
    return fail(sqlstate::kInvalidBinaryRepresentation, "incorrect binary data format");
  }
  Decimal decimal;
  decimal.negative = sign == kSignNegative;
  for (std::size_t i = 0; i < count; ++i) {
    const int group = get16(bytes, 8 + 2 * i);
    if (group > 9999) return bad_binary("digit");
    std::string four = std::to_string(group);
    decimal.digits += std::string(4 - four.size(), '0') + four;
  }
  if (sign == kSignNaN) return nan();
  if (!finite) return infinity(sign == kSignNegativeInfinity);
  // The last group stands at 10000^(weight - count + 1).
  const std::int64_t shown = 4 * (static_cast<std::int64_t>(count) - 1 - weight);
  if (count == 0 || shown == scale) {
    decimal.scale = scale;
    return from_decimal(std::move(decimal), 0);
  }
  // As numeric_recv: digits beyond the display scale are dropped.
  if (shown > scale) {
    const auto drop = std::min(static_cast<std::size_t>(shown - scale), decimal.digits.size());
    decimal.digits.resize(decimal.digits.size() - drop);
  } else {
    decimal.digits.append(static_cast<std::size_t>(scale - shown), '0');
  }
  decimal.scale = scale;
  return from_decimal(std::move(decimal), 0);
}

}  // namespace freshet::repr
