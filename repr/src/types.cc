// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/types.h>

#include <algorithm>
#include <array>

#include <freshet/base/assert.h>

namespace freshet::repr {
namespace {

struct Entry {
  TypeKind kind;
  PhysicalType physical;
  TypeInfo info;
};

using Physical = PhysicalType;

constexpr std::array kEntries = {
    Entry{TypeKind::kBool, Physical::kBool, {16, 1000, 1, "bool", "boolean", 'B', true}},
    Entry{TypeKind::kInt2, Physical::kInt16, {21, 1005, 2, "int2", "smallint", 'N', false}},
    Entry{TypeKind::kInt4, Physical::kInt32, {23, 1007, 4, "int4", "integer", 'N', false}},
    Entry{TypeKind::kInt8, Physical::kInt64, {20, 1016, 8, "int8", "bigint", 'N', false}},
    Entry{TypeKind::kFloat4, Physical::kFloat, {700, 1021, 4, "float4", "real", 'N', false}},
    Entry{TypeKind::kFloat8,
          Physical::kDouble,
          {701, 1022, 8, "float8", "double precision", 'N', true}},
    Entry{
        TypeKind::kNumeric, Physical::kNumeric, {1700, 1231, -1, "numeric", "numeric", 'N', false}},
    Entry{TypeKind::kText, Physical::kBytes, {25, 1009, -1, "text", "text", 'S', true}},
    Entry{TypeKind::kVarchar,
          Physical::kBytes,
          {1043, 1015, -1, "varchar", "character varying", 'S', false}},
    Entry{TypeKind::kBpchar, Physical::kBytes, {1042, 1014, -1, "bpchar", "character", 'S', false}},
    Entry{TypeKind::kBytea, Physical::kBytes, {17, 1001, -1, "bytea", "bytea", 'U', false}},
    Entry{TypeKind::kDate, Physical::kInt32, {1082, 1182, 4, "date", "date", 'D', false}},
    Entry{TypeKind::kTime,
          Physical::kInt64,
          {1083, 1183, 8, "time", "time without time zone", 'D', false}},
    Entry{TypeKind::kTimestamp,
          Physical::kInt64,
          {1114, 1115, 8, "timestamp", "timestamp without time zone", 'D', false}},
    Entry{TypeKind::kTimestampTz,
          Physical::kInt64,
          {1184, 1185, 8, "timestamptz", "timestamp with time zone", 'D', true}},
    Entry{TypeKind::kInterval,
          Physical::kInterval,
          {1186, 1187, 16, "interval", "interval", 'T', true}},
    Entry{TypeKind::kUuid, Physical::kUuid, {2950, 2951, 16, "uuid", "uuid", 'U', false}},
    Entry{TypeKind::kArray, Physical::kBytes, {2277, 0, -1, "anyarray", "anyarray", 'P', false}},
    Entry{TypeKind::kOid, Physical::kInt64, {26, 1028, 4, "oid", "oid", 'N', true}},
    Entry{TypeKind::kName, Physical::kBytes, {19, 1003, 64, "name", "name", 'S', false}},
    Entry{TypeKind::kPgChar, Physical::kBytes, {18, 1002, 1, "char", "\"char\"", 'Z', false}},
    Entry{
        TypeKind::kRegclass, Physical::kInt64, {2205, 2210, 4, "regclass", "regclass", 'N', false}},
    Entry{TypeKind::kRegtype, Physical::kInt64, {2206, 2211, 4, "regtype", "regtype", 'N', false}},
    Entry{TypeKind::kRegproc, Physical::kInt64, {24, 1008, 4, "regproc", "regproc", 'N', false}},
    Entry{TypeKind::kUnknown, Physical::kBytes, {705, 0, -2, "unknown", "unknown", 'X', false}},
    Entry{TypeKind::kRecord, Physical::kBytes, {2249, 2287, -1, "record", "record", 'P', false}},
};

// Entry of each number, or 0xFF.
constexpr std::array<std::uint8_t, 64> index_entries() {
  std::array<std::uint8_t, 64> index{};
  index.fill(0xFF);
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    index[static_cast<std::size_t>(kEntries[i].kind)] = static_cast<std::uint8_t>(i);
  }
  return index;
}
constexpr std::array<std::uint8_t, 64> kIndex = index_entries();

const Entry& entry(TypeKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  FRESHET_ASSERT(number < kIndex.size() && kIndex[number] != 0xFF, number);
  return kEntries[kIndex[number]];
}

struct Alias {
  std::string_view name;
  TypeKind kind;
};
constexpr std::array kAliases = {
    Alias{"int", TypeKind::kInt4},        Alias{"float", TypeKind::kFloat8},
    Alias{"decimal", TypeKind::kNumeric}, Alias{"dec", TypeKind::kNumeric},
    Alias{"time", TypeKind::kTime},       Alias{"timestamp", TypeKind::kTimestamp},
    Alias{"string", TypeKind::kText},
};

std::optional<TypeKind> scalar_from_name(std::string_view name) {
  for (const Entry& e : kEntries) {
    if (e.kind == TypeKind::kArray) continue;
    if (e.info.pg_name == name || e.info.sql_name == name) return e.kind;
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.kind;
  }
  return std::nullopt;
}

std::string parenthesised(std::int32_t number) { return '(' + std::to_string(number) + ')'; }

// The fields of `interval day to second`, as PostgreSQL's INTERVAL_MASK bits.
std::string_view interval_fields(std::int32_t range) {
  constexpr std::int32_t kMonth = 1 << 1, kYear = 1 << 2, kDay = 1 << 3, kHour = 1 << 10,
                         kMinute = 1 << 11, kSecond = 1 << 12;
  switch (range) {
    case kYear:
      return " year";
    case kMonth:
      return " month";
    case kDay:
      return " day";
    case kHour:
      return " hour";
    case kMinute:
      return " minute";
    case kSecond:
      return " second";
    case kYear | kMonth:
      return " year to month";
    case kDay | kHour:
      return " day to hour";
    case kDay | kHour | kMinute:
      return " day to minute";
    case kDay | kHour | kMinute | kSecond:
      return " day to second";
    case kHour | kMinute:
      return " hour to minute";
    case kHour | kMinute | kSecond:
      return " hour to second";
    case kMinute | kSecond:
      return " minute to second";
    default:
      return "";
  }
}

std::string scalar_to_string(const SqlType& type) {
  const TypeInfo& info = type_info(type.kind());
  std::string name(info.sql_name);
  const std::int32_t typmod = type.typmod();
  if (typmod < 0) return name;
  switch (type.kind()) {
    case TypeKind::kVarchar:
    case TypeKind::kBpchar:
      return name + parenthesised(typmod_length(type));
    case TypeKind::kNumeric: {
      const auto limits = numeric_typmod(typmod);
      if (!limits) return name;
      return name + '(' + std::to_string(limits->precision) + ',' + std::to_string(limits->scale) +
             ')';
    }
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
      return name.insert(name.find(' '), parenthesised(typmod));
    case TypeKind::kInterval: {
      name += interval_fields((typmod >> 16) & 0x7fff);
      const std::int32_t precision = typmod_precision(type);
      return precision < 0 ? name : name + parenthesised(precision);
    }
    default:
      return name;
  }
}

}  // namespace

PhysicalType physical_type(TypeKind kind) { return entry(kind).physical; }

SqlType SqlType::array_of(SqlType element) {
  FRESHET_ASSERT(element.kind() !=
                 TypeKind::kArray);  // PostgreSQL's arrays have dimensions instead
  SqlType type(TypeKind::kArray);
  type.element_ = std::make_shared<const SqlType>(std::move(element));
  return type;
}

SqlType SqlType::without_typmod() const {
  if (kind_ == TypeKind::kArray) return array_of(element().without_typmod());
  return SqlType(kind_);
}

const SqlType& SqlType::element() const {
  FRESHET_ASSERT(element_ != nullptr, static_cast<int>(kind_));
  return *element_;
}

bool operator==(const SqlType& a, const SqlType& b) {
  if (a.kind_ != b.kind_ || a.typmod_ != b.typmod_) return false;
  if (a.element_ == b.element_) return true;
  return a.element_ != nullptr && b.element_ != nullptr && *a.element_ == *b.element_;
}

std::string to_string(const SqlType& type) {
  if (type.kind() == TypeKind::kArray) return scalar_to_string(type.element()) + "[]";
  return scalar_to_string(type);
}

std::ostream& operator<<(std::ostream& out, const SqlType& type) { return out << to_string(type); }

const TypeInfo& type_info(TypeKind kind) { return entry(kind).info; }

std::uint32_t type_oid(const SqlType& type) {
  if (type.kind() == TypeKind::kArray) return type_info(type.element().kind()).array_oid;
  return type_info(type.kind()).oid;
}

std::optional<SqlType> type_from_oid(std::uint32_t oid) {
  if (oid == 0) return std::nullopt;
  for (const Entry& e : kEntries) {
    if (e.kind == TypeKind::kArray) continue;
    if (e.info.oid == oid) return SqlType(e.kind);
    if (e.info.array_oid == oid) return SqlType::array_of(SqlType(e.kind));
  }
  return std::nullopt;
}

std::optional<SqlType> type_from_name(std::string_view name) {
  const bool underscore = name.starts_with('_');
  const bool brackets = name.ends_with("[]");
  if (underscore) name.remove_prefix(1);
  if (brackets) name.remove_suffix(2);
  const auto kind = scalar_from_name(name);
  if (!kind || (underscore && brackets)) return std::nullopt;
  if (!underscore && !brackets) return SqlType(*kind);
  if (type_info(*kind).array_oid == 0) return std::nullopt;
  return SqlType::array_of(SqlType(*kind));
}

const std::vector<TypeKind>& all_type_kinds() {
  static const std::vector<TypeKind> kinds = [] {
    std::vector<TypeKind> list;
    for (const Entry& e : kEntries) list.push_back(e.kind);
    return list;
  }();
  return kinds;
}

bool has_forms(const SqlType& type) {
  switch (type.kind()) {
    case TypeKind::kFloat4:
    case TypeKind::kFloat8:
    case TypeKind::kNumeric:
    case TypeKind::kBpchar:
    case TypeKind::kInterval:
      return true;
    case TypeKind::kArray:
      return has_forms(type.element());
    default:
      return false;
  }
}

std::int32_t typmod_length(const SqlType& type) {
  const bool has_length = type.kind() == TypeKind::kVarchar || type.kind() == TypeKind::kBpchar;
  return has_length && type.typmod() >= 4 ? type.typmod() - 4 : -1;
}

std::int32_t typmod_precision(const SqlType& type) {
  if (type.typmod() < 0) return -1;
  switch (type.kind()) {
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
      return type.typmod();
    case TypeKind::kInterval: {
      const std::int32_t precision = type.typmod() & 0xffff;
      return precision == 0xffff ? -1 : precision;
    }
    default:
      return -1;
  }
}

std::optional<NumericTypmod> numeric_typmod(std::int32_t typmod) {
  if (typmod < 4) return std::nullopt;
  const std::int32_t packed = typmod - 4;
  return NumericTypmod{(packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024};
}

std::int32_t make_numeric_typmod(NumericTypmod limits) {
  return ((limits.precision << 16) | (limits.scale & 0x7ff)) + 4;
}

}  // namespace freshet::repr
