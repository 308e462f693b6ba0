// SPDX-License-Identifier: Apache-2.0
/// SQL types: what a column holds, and the shape of a relation.
///
/// A `SqlType` is a kind, PostgreSQL's type modifier, and for arrays the element type. Kinds have
/// stable numbers: they are stored in the catalog. PostgreSQL's OID, name and wire details of a
/// kind come from `type_info`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::repr {

/// Stable numbers, never reused. Gaps are left for the kinds of later work (jsonb 30, list 31, map
/// 32, record 33, range 34, unsigned integers 40-42, bit 43, inet 44, timetz 45).
enum class TypeKind : std::uint8_t {
  kBool = 1,
  kInt2 = 2,
  kInt4 = 3,
  kInt8 = 4,
  kFloat4 = 5,
  kFloat8 = 6,
  kNumeric = 7,
  kText = 8,
  kVarchar = 9,
  kBpchar = 10,  ///< char(n): compares without trailing blanks
  kBytea = 11,
  kDate = 12,
  kTime = 13,
  kTimestamp = 14,
  kTimestampTz = 15,
  kInterval = 16,
  kUuid = 17,
  kArray = 18,
  kOid = 19,
  kName = 20,
  kPgChar = 21,  ///< "char", the one-byte type of the system catalog
  kRegclass = 22,
  kRegtype = 23,
  kRegproc = 24,
  kUnknown = 25,  ///< an untyped literal before resolution; never a stored column
  kRecord = 33,
};

/// How values of a kind lie in memory (see chunk.h). Dates are days and timestamps microseconds
/// from 2000-01-01 (datetime.h); oid and the reg* types are 64-bit integers, so that they order as
/// unsigned.
enum class PhysicalType : std::uint8_t {
  kBool,   ///< std::uint8_t, 0 or 1
  kInt16,  ///< int2
  kInt32,  ///< int4, date
  kInt64,  ///< int8, time, timestamp, timestamptz, oid, reg*
  kFloat,
  kDouble,
  kNumeric,   ///< Numeric
  kInterval,  ///< Interval
  kUuid,      ///< Uuid
  kBytes,     ///< offsets and bytes: text, bytea, and arrays in their canonical encoding
};

PhysicalType physical_type(TypeKind kind);

/// Value type, cheap to copy.
class SqlType {
 public:
  SqlType() = default;
  SqlType(TypeKind kind, std::int32_t typmod = -1) : kind_(kind), typmod_(typmod) {}  // NOLINT
  static SqlType array_of(SqlType element);

  [[nodiscard]] TypeKind kind() const { return kind_; }
  /// PostgreSQL's atttypmod: varchar(n) is n + 4, numeric(p, s) is ((p << 16) | s) + 4; -1 is none.
  [[nodiscard]] std::int32_t typmod() const { return typmod_; }
  [[nodiscard]] SqlType without_typmod() const;
  /// The element type; only for arrays.
  [[nodiscard]] const SqlType& element() const;
  [[nodiscard]] PhysicalType physical() const { return physical_type(kind_); }

  friend bool operator==(const SqlType& a, const SqlType& b);

 private:
  TypeKind kind_ = TypeKind::kUnknown;
  std::int32_t typmod_ = -1;
  std::shared_ptr<const SqlType> element_{};
};

/// As format_type prints it: `numeric(15,2)`, `timestamp with time zone`, `integer[]`.
std::string to_string(const SqlType& type);
std::ostream& operator<<(std::ostream& out, const SqlType& type);

/// PostgreSQL's facts about a type.
struct TypeInfo {
  std::uint32_t oid;
  std::uint32_t array_oid;
  std::int16_t length;        ///< typlen: -1 for variable length
  std::string_view pg_name;   ///< pg_type.typname: "int4"
  std::string_view sql_name;  ///< format_type: "integer"
  char category;              ///< pg_type.typcategory
  bool preferred;             ///< pg_type.typispreferred
};
const TypeInfo& type_info(TypeKind kind);
std::uint32_t type_oid(const SqlType& type);
/// The type with that OID (arrays included), if we have it.
std::optional<SqlType> type_from_oid(std::uint32_t oid);
/// By either name ("int4", "integer", "_int4", "integer[]"), lower case, without modifiers.
std::optional<SqlType> type_from_name(std::string_view name);
/// All kinds, in the order of their numbers.
const std::vector<TypeKind>& all_type_kinds();

/// True if equal values of the type can look different (numeric scale, -0, interval parts, char(n)
/// blanks), so that rows keep a form beside the key. Arrays: if the element's type has forms.
bool has_forms(const SqlType& type);

/// The limits that a type modifier sets. -1 where the modifier is absent or says nothing of it.
/// varchar(n), char(n): n in characters.
std::int32_t typmod_length(const SqlType& type);
/// time(p), timestamp(p), interval(p): p.
std::int32_t typmod_precision(const SqlType& type);
/// numeric(p, s), as PostgreSQL packs it (s may be negative).
struct NumericTypmod {
  std::int32_t precision;
  std::int32_t scale;
};
std::optional<NumericTypmod> numeric_typmod(std::int32_t typmod);
std::int32_t make_numeric_typmod(NumericTypmod limits);

struct ColumnType {
  SqlType type;
  bool nullable = true;
  friend bool operator==(const ColumnType&, const ColumnType&) = default;
};

/// The columns of an unnamed relation, and sets of columns that are unique in it.
struct RelationType {
  std::vector<ColumnType> columns;
  std::vector<std::vector<std::size_t>> keys{};
  [[nodiscard]] std::size_t arity() const { return columns.size(); }
  friend bool operator==(const RelationType&, const RelationType&) = default;
};

/// A relation type with column names, as a catalog item has it.
struct RelationDesc {
  RelationType type;
  std::vector<std::string> names;
  [[nodiscard]] std::size_t arity() const { return names.size(); }
  friend bool operator==(const RelationDesc&, const RelationDesc&) = default;
};

}  // namespace freshet::repr
