// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/row.h>
#include <freshet/repr/utf8.h>

#include "datetime_text.h"
#include "text_io.h"

namespace freshet::repr {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_text_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_text_space(text.back())) text.remove_suffix(1);
  return text;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <typename T>
Result<T> read_float(std::string_view text, std::string_view type) {
  const std::string_view body = trim(text);
  T value;
  const auto [end, status] = std::from_chars(body.data(), body.data() + body.size(), value);
  const bool plain =
      !body.empty() && ((body.back() >= '0' && body.back() <= '9') || body.back() == '.');
  if (status == std::errc() && end == body.data() + body.size() && plain) return value;
  // What is rare (signs, hex, underflow) goes by strtod, as in PostgreSQL.
  const std::string copy(body);
  char* rest = nullptr;
  if constexpr (std::is_same_v<T, float>) {
    value = std::strtof(copy.c_str(), &rest);
  } else {
    value = std::strtod(copy.c_str(), &rest);
  }
  if (copy.empty() || rest != copy.c_str() + copy.size()) return invalid_syntax(type, text);
  const bool named = copy.find_first_of("nN") != std::string::npos;  // NaN, inf
  const bool zero = value == 0 && copy.find_first_of("123456789") != std::string::npos;
  if (!named && (std::isinf(value) || zero)) {
    return fail(sqlstate::kNumericValueOutOfRange,
                '"' + copy + "\" is out of range for type " + std::string(type));
  }
  return value;
}

Result<std::string> read_bytea_hex(std::string_view text) {
  std::string out;
  int high = -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (high < 0 && is_text_space(text[i])) continue;
    const int digit = hex_digit(text[i]);
    if (digit < 0) {
      const std::size_t size = utf8::sequence_length(text[i]);
      return fail(sqlstate::kInvalidParameterValue,
                  "invalid hexadecimal digit: \"" + std::string(text.substr(i, size)) + '"');
    }
    if (high < 0) {
      high = digit;
    } else {
      out.push_back(static_cast<char>(high * 16 + digit));
      high = -1;
    }
  }
  if (high >= 0) {
    return fail(sqlstate::kInvalidParameterValue, "invalid hexadecimal data: odd number of digits");
  }
  return out;
}

bool is_octal(std::string_view text, std::size_t at, char high) {
  return at < text.size() && text[at] >= '0' && text[at] <= high;
}

// Clips a name to PostgreSQL's 63 bytes without cutting a character.
std::string clip_name(std::string_view text) {
  constexpr std::size_t kMaxName = 63;
  if (text.size() <= kMaxName) return std::string(text);
  std::size_t size = kMaxName;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size));
}

Result<std::int64_t> read_timestamp(std::string_view text, const SqlType& type,
                                    const TextFormat& format) {
  const std::int64_t value = type.kind() == TypeKind::kTimestamp
                                 ? FRESHET_TRY(parse_timestamp(text))
                                 : FRESHET_TRY(parse_timestamptz(text, format.zone()));
  return round_timestamp(value, typmod_precision(type));
}

Result<std::int64_t> read_int64(std::string_view text, const SqlType& type,
                                const TextFormat& format) {
  switch (type.kind()) {
    case TypeKind::kInt8:
      return read_integer(text, INT64_MIN, INT64_MAX, "bigint");
    case TypeKind::kTime:
      return round_time(FRESHET_TRY(parse_time(text)), typmod_precision(type));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
      return read_timestamp(text, type, format);
    default:
      return read_oid(text, type.kind());
  }
}

Result<Numeric> read_numeric(std::string_view text, std::int32_t typmod) {
  const Numeric value = FRESHET_TRY(Numeric::parse(text));
  return value.apply_typmod(typmod);
}

// Reads one value and hands it to `accept` in the type it has in memory.
template <typename Accept>
Result<void> read_value(std::string_view text, const SqlType& type, const TextFormat& format,
                        const Accept& accept) {
  switch (type.physical()) {
    case PhysicalType::kBool:
      accept(FRESHET_TRY(read_bool(text)));
      return {};
    case PhysicalType::kInt16:
      accept(static_cast<std::int16_t>(
          FRESHET_TRY(read_integer(text, INT16_MIN, INT16_MAX, "smallint"))));
      return {};
    case PhysicalType::kInt32:
      accept(type.kind() == TypeKind::kDate ? FRESHET_TRY(parse_date(text))
                                            : static_cast<std::int32_t>(FRESHET_TRY(read_integer(
                                                  text, INT32_MIN, INT32_MAX, "integer"))));
      return {};
    case PhysicalType::kInt64:
      accept(FRESHET_TRY(read_int64(text, type, format)));
      return {};
    case PhysicalType::kFloat:
      accept(FRESHET_TRY(read_float4(text)));
      return {};
    case PhysicalType::kDouble:
      accept(FRESHET_TRY(read_float8(text)));
      return {};
    case PhysicalType::kNumeric:
      accept(FRESHET_TRY(read_numeric(text, type.typmod())));
      return {};
    case PhysicalType::kInterval:
      accept(FRESHET_TRY(read_interval(text, type.typmod())));
      return {};
    case PhysicalType::kUuid:
      accept(FRESHET_TRY(read_uuid(text)));
      return {};
    case PhysicalType::kBytes:
      break;
  }
  if (type.kind() == TypeKind::kArray) {
    accept(FRESHET_TRY(read_array(text, type, format)));
  } else if (type.kind() == TypeKind::kBytea) {
    accept(FRESHET_TRY(read_bytea(text)));
  } else {
    accept(FRESHET_TRY(read_string(text, type)));
  }
  return {};
}

}  // namespace

base::Unexpected invalid_syntax(std::string_view type, std::string_view text) {
  return fail(
      sqlstate::kInvalidTextRepresentation,
      "invalid input syntax for type " + std::string(type) + ": \"" + std::string(text) + '"');
}

base::Unexpected value_out_of_range(std::string_view text, std::string_view type) {
  return fail(sqlstate::kNumericValueOutOfRange,
              "value \"" + std::string(text) + "\" is out of range for type " + std::string(type));
}

Result<bool> read_bool(std::string_view text) {
  const std::string word = lower(trim(text));
  const auto begins = [&word](std::string_view whole, std::size_t least) {
    return word.size() >= least && whole.starts_with(word);
  };
  if (begins("true", 1) || begins("yes", 1) || word == "on" || word == "1") return true;
  if (begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0") return false;
  return invalid_syntax("boolean", text);
}

Result<std::int64_t> read_integer(std::string_view text, std::int64_t low, std::int64_t high,
                                  std::string_view type) {
  std::string_view body = trim(text);
  if (body.starts_with('+')) {
    body.remove_prefix(1);
    if (body.starts_with('-')) return invalid_syntax(type, text);
  }
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (status == std::errc::invalid_argument || end != body.data() + body.size()) {
    return invalid_syntax(type, text);
  }
  if (status != std::errc() || value < low || value > high) return value_out_of_range(text, type);
  return value;
}

Result<std::int64_t> read_oid(std::string_view text, TypeKind kind) {
  if (kind != TypeKind::kOid && text == "-") return std::int64_t{0};
  const std::string_view type = type_info(kind).sql_name;
  std::int64_t value = FRESHET_TRY(read_integer(text, INT32_MIN, UINT32_MAX, type));
  if (value < 0) value += std::int64_t{1} << 32;
  return value;
}

Result<float> read_float4(std::string_view text) { return read_float<float>(text, "real"); }
Result<double> read_float8(std::string_view text) {
  return read_float<double>(text, "double precision");
}

Result<std::string> read_bytea(std::string_view text) {
  if (text.starts_with("\\x")) return read_bytea_hex(text.substr(2));
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
    } else if (i + 1 < text.size() && text[i + 1] == '\\') {
      out.push_back('\\');
      ++i;
    } else if (is_octal(text, i + 1, '3') && is_octal(text, i + 2, '7') &&
               is_octal(text, i + 3, '7')) {
      out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                      (text[i + 3] - '0')));
      i += 3;
    } else {
      return fail(sqlstate::kInvalidTextRepresentation, "invalid input syntax for type bytea");
    }
  }
  return out;
}

Result<Uuid> read_uuid(std::string_view text) {
  std::string_view body = text;
  if (body.starts_with('{')) {
    if (!body.ends_with('}')) return invalid_syntax("uuid", text);
    body = body.substr(1, body.size() - 2);
  }
  Uuid uuid{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    // A hyphen may stand after every four digits.
    if (i != 0 && i % 2 == 0 && at < body.size() && body[at] == '-') ++at;
    if (body.size() - at < 2) return invalid_syntax("uuid", text);
    const int high = hex_digit(body[at]);
    const int low = hex_digit(body[at + 1]);
    if (high < 0 || low < 0) return invalid_syntax("uuid", text);
    uuid[i] = static_cast<std::uint8_t>(high * 16 + low);
    at += 2;
  }
  if (at != body.size()) return invalid_syntax("uuid", text);
  return uuid;
}

Result<std::string> fit_string(std::string text, const SqlType& type, bool explicit_cast) {
  const std::int32_t limit = typmod_length(type);
  if (limit < 0) return text;
  const auto allowed = static_cast<std::size_t>(limit);
  if (text.size() > allowed) {
    const std::size_t end = utf8::offset_of(text, allowed);
    if (!explicit_cast && text.find_first_not_of(' ', end) != std::string::npos) {
      return fail(sqlstate::kStringDataRightTruncation,
                  "value too long for type " + to_string(type));
    }
    text.resize(end);
  }
  if (type.kind() == TypeKind::kBpchar) {
    const std::size_t size = utf8::length(text);
    if (size < allowed) text.append(allowed - size, ' ');
  }
  return text;
}

Result<std::string> read_string(std::string_view text, const SqlType& type) {
  switch (type.kind()) {
    case TypeKind::kName:
      return clip_name(text);
    case TypeKind::kPgChar:
      return std::string(utf8::prefix(text, 1));
    default:
      return fit_string(std::string(text), type, false);
  }
}

Result<Interval> read_interval(std::string_view text, std::int32_t typmod) {
  const std::int32_t range = typmod < 0 ? 0 : (typmod >> 16) & 0x7fff;
  const Interval interval = FRESHET_TRY(parse_interval(text, range == 0x7fff ? 0 : range));
  return apply_interval_typmod(interval, typmod);
}

Result<Datum> TextFormat::read(std::string_view text, const SqlType& type) const {
  Datum out;
  const auto done = read_value(text, type, *this, [&out](auto value) {
    if constexpr (std::is_same_v<decltype(value), ArrayValue>) {
      out = Datum(std::make_shared<const ArrayValue>(std::move(value)));
    } else {
      out = Datum(std::move(value));
    }
  });
  if (!done) return fail(done.error());
  return out;
}

Result<void> TextFormat::read(std::string_view text, const SqlType& type,
                              ColumnBuilder& out) const {
  // The common string needs no copy of its own.
  if (type.kind() == TypeKind::kText) {
    out.values<BytesVector>().push_back(text);
    return {};
  }
  return read_value(text, type, *this, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_same_v<T, ArrayValue>) {
      out.values<BytesVector>().push_back(encode_array(value, type));
    } else if constexpr (std::is_same_v<T, std::string>) {
      out.values<BytesVector>().push_back(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      out.values<std::vector<std::uint8_t>>().push_back(value ? 1 : 0);
    } else {
      out.values<std::vector<T>>().push_back(std::move(value));
    }
  });
}

Result<Datum> from_text(std::string_view text, const SqlType& type, const TextOptions& options) {
  return TextFormat(options).read(text, type);
}

Result<Datum> apply_typmod(Datum datum, const SqlType& type, bool explicit_cast) {
  if (datum.is_null()) return datum;
  switch (type.kind()) {
    case TypeKind::kNumeric:
      return Datum(FRESHET_TRY(datum.get<Numeric>().apply_typmod(type.typmod())));
    case TypeKind::kVarchar:
    case TypeKind::kBpchar:
      return Datum(FRESHET_TRY(fit_string(datum.get<std::string>(), type, explicit_cast)));
    case TypeKind::kTime:
      return Datum(round_time(datum.get<std::int64_t>(), typmod_precision(type)));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
      return Datum(round_timestamp(datum.get<std::int64_t>(), typmod_precision(type)));
    case TypeKind::kInterval:
      return Datum(FRESHET_TRY(apply_interval_typmod(datum.get<Interval>(), type.typmod())));
    case TypeKind::kArray: {
      if (type.element().typmod() < 0) return datum;
      ArrayValue array = *datum.get<std::shared_ptr<const ArrayValue>>();
      for (Datum& element : array.elements) {
        element = FRESHET_TRY(apply_typmod(element, type.element(), explicit_cast));
      }
      return Datum(std::make_shared<const ArrayValue>(std::move(array)));
    }
    default:
      return datum;
  }
}

}  // namespace freshet::repr
