// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <type_traits>

#include "datetime_text.h"
#include "text_io.h"

namespace freshet::repr {
namespace {

template <typename T>
void append_integer(std::string& out, T value) {
  char buffer[24];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, static_cast<std::size_t>(result.ptr - buffer));
}

// True if `digits` * 10^exponent lies exactly halfway between `value` and its neighbour. Such
// digits read back as the even one of the two; PostgreSQL prints only digits that lie strictly
// nearer.
template <typename T>
bool is_halfway(T value, std::uint64_t digits, int exponent) {
  if (exponent < 0 || exponent > 27) return false;
  int binary;
  const T fraction = std::frexp(std::abs(value), &binary);
  constexpr int kBits = std::numeric_limits<T>::digits;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, kBits));
  UInt128 scaled = digits;
  for (int i = 0; i < exponent; ++i) scaled *= 5;
  // In halves of a unit in the last place: is scaled * 2^shift one beside the even 2 * mantissa?
  const int shift = exponent - (binary - kBits) + 1;
  if (shift >= 0) {
    if (shift > 60 || scaled >> (127 - shift) != 0) return false;
    scaled <<= shift;
  } else {
    if (shift < -60 || (scaled & ((UInt128{1} << -shift) - 1)) != 0) return false;
    scaled >>= -shift;
  }
  return scaled == 2 * UInt128{mantissa} + 1 || scaled == 2 * UInt128{mantissa} - 1;
}

std::uint64_t digits_of(std::string_view text) {
  std::uint64_t digits = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') digits = digits * 10 + static_cast<unsigned>(c - '0');
  }
  return digits;
}

int exponent_of(std::string_view text) {
  const std::size_t mark = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + mark + (text[mark + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  return exponent;
}

// Digits behind the point.
int places_of(std::string_view text) {
  const std::size_t point = text.find('.');
  return point == std::string_view::npos ? 0 : static_cast<int>(text.find('e') - point) - 1;
}

template <typename T>
bool is_halfway_text(T value, std::string_view text) {
  return is_halfway(value, digits_of(text.substr(0, text.find('e'))),
                    exponent_of(text) - places_of(text));
}

// The shortest digits that read back as the same value, laid out as PostgreSQL does: plain from
// 1e-4 up to the digits the type always keeps, else with an exponent of at least two digits.
template <typename T>
void append_shortest(std::string& out, T value) {
  constexpr T kPlainEnd = std::is_same_v<T, float> ? T(1e6) : T(1e15);
  const T size = std::abs(value);
  char buffer[48];
  if (size == 0 || (size >= T(1e-4) && size < kPlainEnd)) {
    const auto plain =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
    out.append(buffer, static_cast<std::size_t>(plain.ptr - buffer));
    return;
  }
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(result.ptr - buffer));
  while (is_halfway_text(value, text)) {
    const auto longer = std::to_chars(buffer, buffer + sizeof buffer, value,
                                      std::chars_format::scientific, places_of(text) + 1);
    text = {buffer, static_cast<std::size_t>(longer.ptr - buffer)};
  }
  out += text;
}

template <typename T>
void append_any_float(std::string& out, T value, std::int32_t extra_digits) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else if (extra_digits > 0) {
    append_shortest(out, value);
  } else {
    constexpr int kDigits = std::is_same_v<T, float> ? 6 : 15;
    char buffer[64];
    const int size = std::snprintf(buffer, sizeof buffer, "%.*g",
                                   std::max(1, kDigits + extra_digits), static_cast<double>(value));
    out.append(buffer, static_cast<std::size_t>(size));
  }
}

void append_uuid(std::string& out, const Uuid& uuid) {
  constexpr char kHex[] = "0123456789abcdef";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    out.push_back(kHex[uuid[i] >> 4]);
    out.push_back(kHex[uuid[i] & 15]);
  }
}

// Values as they lie in datums and columns, put into words by the kind of their type.
struct Writer {
  std::string& out;
  const SqlType& type;
  const TextFormat& format;

  void operator()(bool value) const { out.push_back(value ? 't' : 'f'); }
  void operator()(std::uint8_t value) const { out.push_back(value != 0 ? 't' : 'f'); }
  void operator()(std::int16_t value) const { append_integer(out, value); }
  void operator()(std::int32_t value) const {
    if (type.kind() == TypeKind::kDate) return append_date(out, value);
    append_integer(out, value);
  }
  void operator()(std::int64_t value) const {
    switch (type.kind()) {
      case TypeKind::kTime:
        return append_time(out, value);
      case TypeKind::kTimestamp:
        return append_timestamp(out, value);
      case TypeKind::kTimestampTz:
        return append_timestamptz(out, value, format.zone());
      case TypeKind::kRegclass:
      case TypeKind::kRegproc:
      case TypeKind::kRegtype:
        if (value == 0) return out.push_back('-');
        break;
      default:
        break;
    }
    append_integer(out, value);
  }
  void operator()(float value) const { append_any_float(out, value, format.extra_float_digits()); }
  void operator()(double value) const { append_any_float(out, value, format.extra_float_digits()); }
  void operator()(const Numeric& value) const { out += value.to_string(); }
  void operator()(const Interval& value) const { append_interval(out, value); }
  void operator()(const Uuid& value) const { append_uuid(out, value); }
  void operator()(std::string_view value) const {
    if (type.kind() == TypeKind::kBytea) return append_hex(out, value);
    out += value;
  }
  void operator()(const ArrayValue& value) const { write_array(out, value, type, format); }
};

}  // namespace

void append_float(std::string& out, float value, std::int32_t extra_float_digits) {
  append_any_float(out, value, extra_float_digits);
}
void append_float(std::string& out, double value, std::int32_t extra_float_digits) {
  append_any_float(out, value, extra_float_digits);
}

void append_hex(std::string& out, std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\x";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
}

TextFormat::TextFormat(const TextOptions& options)
    : extra_float_digits_(options.extra_float_digits) {
  if (options.time_zone == "UTC") return;
  if (auto zone = TimeZone::from_setting(options.time_zone)) zone_ = *std::move(zone);
}

void TextFormat::write(std::string& out, const Datum& datum, const SqlType& type) const {
  FRESHET_ASSERT(!datum.is_null(), to_string(type));
  const Writer writer{out, type, *this};
  std::visit(
      [&writer](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::shared_ptr<const ArrayValue>>) {
          writer(*value);
        } else if constexpr (!std::is_same_v<T, std::monostate>) {
          writer(value);
        }
      },
      datum.value());
}

void TextFormat::write(std::string& out, const Column& column, std::size_t row,
                       const SqlType& type) const {
  FRESHET_ASSERT(!column.is_null(row), row);
  if (type.kind() == TypeKind::kArray) return write(out, column.datum(row, type), type);
  const Writer writer{out, type, *this};
  std::visit([&](const auto& values) { writer(values[row]); }, column.all_values());
}

std::string to_text(const Datum& datum, const SqlType& type, const TextOptions& options) {
  std::string out;
  TextFormat(options).write(out, datum, type);
  return out;
}

}  // namespace freshet::repr
