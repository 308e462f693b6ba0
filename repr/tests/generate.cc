// SPDX-License-Identifier: Apache-2.0
#include "generate.h"

#include <cmath>
#include <limits>

#include <freshet/repr/datetime.h>
#include <freshet/repr/row.h>

namespace freshet::repr {
namespace {

std::int64_t random_int(testing::Random& random, int bits) {
  const std::int64_t high = bits == 64 ? INT64_MAX : (std::int64_t{1} << (bits - 1)) - 1;
  const std::int64_t low = -high - 1;
  switch (random.int_below(4)) {
    case 0:
      return random.between(-3, 60);
    case 1:
      return random.pick({low, high, low + 1, high - 1});
    case 2: {
      // Around a power of two, where the number of bytes changes.
      const int shift = random.int_below(bits - 1);
      const std::int64_t value =
          (std::int64_t{1} << shift) + random.between(-1, shift == 0 ? 0 : 1);
      return random.coin() ? value : -value;
    }
    default:
      return random.between(low, high);
  }
}

std::string random_text(testing::Random& random) {
  std::string text;
  const int size = random.one_in(20) ? 300 : random.int_below(5);
  for (int i = 0; i < size; ++i)
    text += random.pick<const char*>({"a", "b", " ", "\x01", "\x7f", "é", "😀"});
  return text;
}

std::string random_bytes(testing::Random& random) {
  std::string bytes;
  for (int i = random.int_below(5); i > 0; --i) {
    bytes.push_back(static_cast<char>(random.pick({0, 1, 2, 3, 255, 128, 97})));
  }
  return bytes;
}

double random_double(testing::Random& random) {
  using Limits = std::numeric_limits<double>;
  switch (random.int_below(3)) {
    case 0:
      return random.pick({0.0, -0.0, 1.0, -1.0, 0.1, Limits::infinity(), -Limits::infinity(),
                          Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::min(), Limits::max(),
                          Limits::denorm_min(), -Limits::denorm_min()});
    case 1:
      return static_cast<double>(random.between(-1000, 1000)) / 8;
    default:
      return std::ldexp(random.uniform() - 0.5, random.int_below(200) - 100);
  }
}

Interval random_interval(testing::Random& random) {
  if (random.one_in(5)) {
    return {static_cast<std::int32_t>(random_int(random, 32)),
            static_cast<std::int32_t>(random_int(random, 32)), random_int(random, 64)};
  }
  return {random.int_below(3) - 1, 30 * (random.int_below(3) - 1) + random.int_below(2),
          kMicrosPerDay * random.between(-1, 1) + random.between(-1, 1)};
}

ArrayValue random_array(testing::Random& random, const SqlType& element) {
  ArrayValue array;
  const int dimensions = random.int_below(4);
  std::int64_t count = 1;
  for (int i = 0; i < dimensions; ++i) {
    const std::int32_t lower = random.one_in(4) ? random.int_below(5) - 2 : 1;
    array.dimensions.push_back({lower, 1 + random.int_below(3)});
    count *= array.dimensions.back().length;
  }
  for (std::int64_t i = 0; i < count && dimensions > 0; ++i) {
    array.elements.push_back(random_datum(random, element));
  }
  return array;
}

std::int64_t random_timestamp(testing::Random& random) {
  if (random.one_in(6)) return random.coin() ? kTimestampInfinity : kTimestampNegativeInfinity;
  if (random.coin()) return random.between(kTimestampMin, kTimestampEnd - 1);
  return random.between(-5, 5) * kMicrosPerHour;
}

Datum random_string_datum(testing::Random& random, const SqlType& type) {
  switch (type.kind()) {
    case TypeKind::kBytea:
      return Datum(random_bytes(random));
    case TypeKind::kArray:
      return Datum(std::make_shared<const ArrayValue>(random_array(random, type.element())));
    case TypeKind::kPgChar:
      return Datum(std::string(random.pick<const char*>({"", "a", "r", "~"})));
    case TypeKind::kName: {
      std::string name = random_text(random);
      return Datum(name.size() > 63 ? std::string("long") : std::move(name));
    }
    default:
      return Datum(random_text(random));
  }
}

}  // namespace

Numeric random_numeric(testing::Random& random) {
  switch (random.int_below(6)) {
    case 0:
      return random.pick({Numeric::nan(), Numeric::infinity(), Numeric::infinity(true), Numeric(),
                          Numeric::from_parts(0, 3)});
    case 1:
      return Numeric::from_parts(random.between(-300, 300), random.int_below(5));
    case 2:
      return Numeric::from_parts(random_int(random, 64), random.int_below(25));
    case 3: {
      Int128 value = random_int(random, 64);
      value = value * (std::int64_t{1} << random.int_below(60)) * (1 + random.int_below(8));
      return Numeric::from_parts(value, random.int_below(40));
    }
    case 4: {
      // Long coefficients, many of them equal up to trailing zeros.
      std::string text = random.coin() ? "-" : "";
      for (int i = random.int_below(60); i >= 0; --i)
        text += static_cast<char>('0' + random.int_below(2) * 9);
      text += '.';
      for (int i = random.int_below(50); i > 0; --i)
        text += static_cast<char>('0' + random.int_below(2));
      return Numeric::parse(text).value();
    }
    default: {
      const Int128 unit = random.between(-9, 9);
      int zeros = random.int_below(4);
      Int128 value = unit;
      for (int i = 0; i < zeros; ++i) value *= 10;
      return Numeric::from_parts(value, zeros + random.int_below(2));
    }
  }
}

std::vector<SqlType> storable_types() {
  std::vector<SqlType> types;
  for (const TypeKind kind : all_type_kinds()) {
    if (kind != TypeKind::kArray && kind != TypeKind::kRecord && kind != TypeKind::kUnknown) {
      types.emplace_back(kind);
    }
  }
  const std::size_t scalars = types.size();
  for (std::size_t i = 0; i < scalars; ++i) types.push_back(SqlType::array_of(types[i]));
  return types;
}

Datum random_datum(testing::Random& random, const SqlType& type, bool nullable) {
  if (nullable && random.one_in(8)) return {};
  switch (type.physical()) {
    case PhysicalType::kBool:
      return Datum(random.coin());
    case PhysicalType::kInt16:
      return Datum(static_cast<std::int16_t>(random_int(random, 16)));
    case PhysicalType::kInt32: {
      if (type.kind() != TypeKind::kDate)
        return Datum(static_cast<std::int32_t>(random_int(random, 32)));
      if (random.one_in(6)) return Datum(random.coin() ? kDateInfinity : kDateNegativeInfinity);
      return Datum(static_cast<std::int32_t>(random.between(kDateMin, kDateEnd - 1)));
    }
    case PhysicalType::kInt64: {
      if (type.kind() == TypeKind::kInt8) return Datum(random_int(random, 64));
      if (type.kind() == TypeKind::kTime) return Datum(random.between(0, kMicrosPerDay));
      if (type.kind() == TypeKind::kTimestamp || type.kind() == TypeKind::kTimestampTz) {
        return Datum(random_timestamp(random));
      }
      return Datum(random.between(0, UINT32_MAX));
    }
    case PhysicalType::kFloat:
      return Datum(static_cast<float>(random_double(random)));
    case PhysicalType::kDouble:
      return Datum(random_double(random));
    case PhysicalType::kNumeric:
      return Datum(random_numeric(random));
    case PhysicalType::kInterval:
      return Datum(random_interval(random));
    case PhysicalType::kUuid: {
      Uuid uuid{};
      uuid[random.below(16)] = static_cast<std::uint8_t>(random.below(256));
      return Datum(uuid);
    }
    case PhysicalType::kBytes:
      return random_string_datum(random, type);
  }
  return {};
}

std::string describe(const Datum& datum, const SqlType& type) {
  if (datum.is_null()) return "NULL";
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = to_string(type) + " 0x";
  RowCodec codec({type});
  for (const char c : codec.encode(DatumRow{datum})) {
    const auto byte = static_cast<unsigned char>(c);
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace freshet::repr
