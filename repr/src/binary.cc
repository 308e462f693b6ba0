// SPDX-License-Identifier: Apache-2.0
// PostgreSQL's binary send and receive formats.
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

#include "datetime_errors.h"
#include "text_io.h"

namespace freshet::repr {
namespace {

template <typename T>
void put(std::string& out, T value) {
  std::make_unsigned_t<T> bits = static_cast<std::make_unsigned_t<T>>(value);
  char bytes[sizeof(T)];
  for (std::size_t i = sizeof(T); i > 0; --i) {
    bytes[i - 1] = static_cast<char>(bits);
    bits = static_cast<std::make_unsigned_t<T>>(static_cast<std::uint64_t>(bits) >> 8);
  }
  out.append(bytes, sizeof bytes);
}

struct Writer {
  std::string& out;
  const SqlType& type;

  void operator()(bool value) const { out.push_back(value ? 1 : 0); }
  void operator()(std::uint8_t value) const { out.push_back(value != 0 ? 1 : 0); }
  void operator()(std::int16_t value) const { put(out, value); }
  void operator()(std::int32_t value) const { put(out, value); }
  void operator()(std::int64_t value) const {
    switch (type.kind()) {
      case TypeKind::kOid:
      case TypeKind::kRegclass:
      case TypeKind::kRegtype:
      case TypeKind::kRegproc:
        return put(out, static_cast<std::uint32_t>(value));
      default:
        put(out, value);
    }
  }
  // All NaNs are one value: the one that 'NaN' is in PostgreSQL.
  void operator()(float value) const {
    put(out, std::isnan(value) ? std::uint32_t{0x7fc00000} : std::bit_cast<std::uint32_t>(value));
  }
  void operator()(double value) const {
    put(out, std::isnan(value) ? std::uint64_t{0x7ff8000000000000} : std::bit_cast<std::uint64_t>(value));
  }
  void operator()(const Numeric& value) const { out += value.to_binary(); }
  void operator()(const Interval& value) const {
    put(out, value.micros);
    put(out, value.days);
    put(out, value.months);
  }
  void operator()(const Uuid& value) const {
    out.append(reinterpret_cast<const char*>(value.data()), value.size());
  }
  void operator()(std::string_view value) const {
    if (type.kind() == TypeKind::kPgChar && value.empty()) return out.push_back(0);
    out += value;
  }
  void operator()(const ArrayValue& array) const {
    put(out, static_cast<std::int32_t>(array.dimensions.size()));
    bool has_nulls = false;
    for (const Datum& element : array.elements) has_nulls = has_nulls || element.is_null();
    put(out, std::int32_t{has_nulls});
    put(out, type_oid(type.element()));
    for (const auto& dimension : array.dimensions) {
      put(out, dimension.length);
      put(out, dimension.lower);
    }
    for (const Datum& element : array.elements) {
      const std::size_t at = out.size();
      put(out, std::int32_t{-1});
      if (element.is_null()) continue;
      write_binary(out, element, type.element());
      std::string size;
      put(size, static_cast<std::int32_t>(out.size() - at - 4));
      out.replace(at, 4, size);
    }
  }
};

constexpr const char* kIncorrectFormat = "incorrect binary data format";

base::Unexpected too_short() {
  return fail(sqlstate::kProtocolViolation, "insufficient data left in message");
}
base::Unexpected bad_bytes(std::string message) {
  return fail(sqlstate::kInvalidBinaryRepresentation, std::move(message));
}

/// A value of another size than its type's.
base::Unexpected wrong_length(std::string_view bytes, std::size_t wanted) {
  return bytes.size() < wanted ? too_short() : bad_bytes(kIncorrectFormat);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  bool take(T& value) {
    if (rest_.size() < sizeof(T)) return false;
    std::make_unsigned_t<T> bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bits = static_cast<std::make_unsigned_t<T>>((static_cast<std::uint64_t>(bits) << 8) |
                                                  static_cast<unsigned char>(rest_[i]));
    }
    value = static_cast<T>(bits);
    rest_.remove_prefix(sizeof(T));
    return true;
  }
  bool take_bytes(std::int32_t size, std::string_view& out) {
    if (size < 0 || rest_.size() < static_cast<std::size_t>(size)) return false;
    out = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(out.size());
    return true;
  }
  template <typename T>
  bool whole(T& value) {
    return take(value) && rest_.empty();
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

Result<Datum> read_int64(std::string_view bytes, const SqlType& type) {
  if (type.kind() == TypeKind::kOid || type.kind() == TypeKind::kRegclass ||
      type.kind() == TypeKind::kRegtype || type.kind() == TypeKind::kRegproc) {
    std::uint32_t oid;
    if (!Reader(bytes).whole(oid)) return wrong_length(bytes, sizeof oid);
    return Datum(std::int64_t{oid});
  }
  std::int64_t value;
  if (!Reader(bytes).whole(value)) return wrong_length(bytes, sizeof value);
  switch (type.kind()) {
    case TypeKind::kTime:
      if (value < 0 || value > kMicrosPerDay) return field_overflow("time out of range");
      return Datum(round_time(value, typmod_precision(type)));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
      if (!is_infinite_timestamp(value) && !is_valid_timestamp(value)) {
        return field_overflow("timestamp out of range");
      }
      return Datum(round_timestamp(value, typmod_precision(type)));
    default:
      return Datum(value);
  }
}

Result<Datum> read_int32(std::string_view bytes, const SqlType& type) {
  std::int32_t value;
  if (!Reader(bytes).whole(value)) return wrong_length(bytes, sizeof value);
  if (type.kind() == TypeKind::kDate && !is_infinite_date(value) && !is_valid_date(value)) {
    return field_overflow("date out of range");
  }
  return Datum(value);
}

Result<Datum> read_interval_binary(std::string_view bytes, const SqlType& type) {
  Interval value;
  Reader in(bytes);
  if (!in.take(value.micros) || !in.take(value.days) || !in.whole(value.months)) {
    return wrong_length(bytes, sizeof value.micros + sizeof value.days + sizeof value.months);
  }
  return Datum(FRESHET_TRY(apply_interval_typmod(value, type.typmod())));
}

Result<Datum> read_string_binary(std::string_view bytes, const SqlType& type) {
  if (type.kind() == TypeKind::kBytea) return Datum(std::string(bytes));
  if (type.kind() == TypeKind::kPgChar) {
    if (bytes.size() != 1) return wrong_length(bytes, 1);
    if (bytes == std::string_view("\0", 1)) return Datum(std::string());
  }
  if (auto valid = utf8::validate(bytes); !valid) return fail(valid.error());
  return Datum(FRESHET_TRY(read_string(bytes, type)));
}

Result<Datum> read_elements(Reader& in, ArrayValue array, std::int64_t count, const SqlType& type) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t size;
    std::string_view element;
    if (!in.take(size)) return too_short();
    if (size == -1) {
      array.elements.emplace_back();
      continue;
    }
    if (!in.take_bytes(size, element)) return bad_bytes("insufficient data left in message");
    auto value = from_binary(element, type.element());
    if (!value && value.error().message == kIncorrectFormat) {
      return bad_bytes("improper binary format in array element " + std::to_string(i + 1));
    }
    array.elements.push_back(FRESHET_TRY(std::move(value)));
  }
  if (!in.at_end()) return bad_bytes(kIncorrectFormat);
  return Datum(std::make_shared<const ArrayValue>(std::move(array)));
}

Result<Datum> read_array_binary(std::string_view bytes, const SqlType& type) {
  Reader in(bytes);
  std::int32_t dimensions;
  std::int32_t flags;
  std::uint32_t oid;
  if (!in.take(dimensions) || !in.take(flags) || !in.take(oid)) return too_short();
  if (dimensions < 0) return bad_bytes("invalid number of dimensions: " + std::to_string(dimensions));
  if (dimensions > 6) {
    return fail(sqlstate::kProgramLimitExceeded,
                "number of array dimensions (" + std::to_string(dimensions) + ") exceeds the maximum allowed (6)");
  }
  if (flags != 0 && flags != 1) return bad_bytes("invalid array flags");
  if (oid != type_oid(type.element())) {
    return fail(sqlstate::kDatatypeMismatch, "binary data has array element type " +
                                                 std::to_string(oid) + " instead of expected " +
                                                 std::to_string(type_oid(type.element())));
  }
  ArrayValue array;
  std::int64_t count = dimensions == 0 ? 0 : 1;
  for (std::int32_t i = 0; i < dimensions; ++i) {
    ArrayValue::Dimension dimension;
    if (!in.take(dimension.length) || !in.take(dimension.lower)) return too_short();
    constexpr std::int64_t kMostElements = 134'217'727;
    if (dimension.length >= 0) count *= dimension.length;
    if (dimension.length < 0 || count > kMostElements) {
      return fail(sqlstate::kProgramLimitExceeded,
                  "array size exceeds the maximum allowed (" + std::to_string(kMostElements) + ")");
    }
    if (dimension.lower > INT32_MAX - dimension.length) {
      return fail(sqlstate::kProgramLimitExceeded, "array lower bound is too large: " + std::to_string(dimension.lower));
    }
    if (count > static_cast<std::int64_t>(bytes.size())) return too_short();
    array.dimensions.push_back(dimension);
  }
  if (count == 0) array.dimensions.clear();
  return read_elements(in, std::move(array), count, type);
}

}  // namespace

void write_binary(std::string& out, const Datum& datum, const SqlType& type) {
  FRESHET_ASSERT(!datum.is_null(), to_string(type));
  const Writer writer{out, type};
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

void write_binary(std::string& out, const Column& column, std::size_t row, const SqlType& type) {
  FRESHET_ASSERT(!column.is_null(row), row);
  if (type.kind() == TypeKind::kArray) return write_binary(out, column.datum(row, type), type);
  const Writer writer{out, type};
  std::visit([&](const auto& values) { writer(values[row]); }, column.all_values());
}

std::string to_binary(const Datum& datum, const SqlType& type) {
  std::string out;
  write_binary(out, datum, type);
  return out;
}

Result<Datum> from_binary(std::string_view bytes, const SqlType& type) {
  switch (type.physical()) {
    case PhysicalType::kBool:
      if (bytes.size() != 1) return wrong_length(bytes, 1);
      return Datum(bytes.front() != 0);
    case PhysicalType::kInt16: {
      std::int16_t value;
      if (!Reader(bytes).whole(value)) return wrong_length(bytes, sizeof value);
      return Datum(value);
    }
    case PhysicalType::kInt32:
      return read_int32(bytes, type);
    case PhysicalType::kInt64:
      return read_int64(bytes, type);
    case PhysicalType::kFloat: {
      std::uint32_t bits;
      if (!Reader(bytes).whole(bits)) return wrong_length(bytes, sizeof bits);
      return Datum(std::bit_cast<float>(bits));
    }
    case PhysicalType::kDouble: {
      std::uint64_t bits;
      if (!Reader(bytes).whole(bits)) return wrong_length(bytes, sizeof bits);
      return Datum(std::bit_cast<double>(bits));
    }
    case PhysicalType::kNumeric: {
      const Numeric value = FRESHET_TRY(Numeric::from_binary(bytes));
      return Datum(FRESHET_TRY(value.apply_typmod(type.typmod())));
    }
    case PhysicalType::kInterval:
      return read_interval_binary(bytes, type);
    case PhysicalType::kUuid: {
      Uuid uuid;
      if (bytes.size() != uuid.size()) return wrong_length(bytes, uuid.size());
      std::memcpy(uuid.data(), bytes.data(), uuid.size());
      return Datum(uuid);
    }
    case PhysicalType::kBytes:
      break;
  }
  if (type.kind() == TypeKind::kArray) return read_array_binary(bytes, type);
  return read_string_binary(bytes, type);
}

}  // namespace freshet::repr
