// SPDX-License-Identifier: Apache-2.0
#include <freshet/sql/system_functions.h>

#include <deque>
#include <span>

#include <freshet/expr/functions.h>

namespace freshet::sql {
namespace {

using expr::ArgumentType;
using repr::SqlType;
using repr::TypeKind;

constexpr std::uint32_t kFirstOwnOid = 100'000;
constexpr std::uint32_t kCstring = 2275;
constexpr std::uint32_t kInternal = 2281;

std::uint32_t oid_of(const ArgumentType& type) {
  switch (type.kind) {
    case ArgumentType::Kind::kConcrete: return repr::type_oid(type.type);
    case ArgumentType::Kind::kAny: return 2276;
    case ArgumentType::Kind::kAnyElement: return 2283;
    case ArgumentType::Kind::kAnyArray: return 2277;
    case ArgumentType::Kind::kAnyNonArray: return 2776;
  }
  return 0;
}

/// anyarray stands for every array.
std::uint32_t oid_of(TypeKind kind) { return kind == TypeKind::kArray ? 2277 : repr::type_oid(kind); }
std::string name_of(TypeKind kind) { return kind == TypeKind::kArray ? "anyarray" : repr::to_string(SqlType(kind)); }

std::string text_of(const ArgumentType& type) {
  switch (type.kind) {
    case ArgumentType::Kind::kConcrete: return repr::to_string(type.type);
    case ArgumentType::Kind::kAny: return "\"any\"";
    case ArgumentType::Kind::kAnyElement: return "anyelement";
    case ArgumentType::Kind::kAnyArray: return "anyarray";
    case ArgumentType::Kind::kAnyNonArray: return "anynonarray";
  }
  return {};
}

/// One value per row of a type that follows from the arguments, or a record.
ArgumentType row_type(const expr::TableFunctionSpec& spec) {
  std::vector<SqlType> types;
  for (const ArgumentType& argument : spec.arguments) {
    if (argument.kind != ArgumentType::Kind::kConcrete) return {ArgumentType::Kind::kAnyElement, {}};
    types.push_back(argument.type);
  }
  const std::vector<repr::ColumnType> columns = spec.result_types(types);
  return {ArgumentType::Kind::kConcrete, columns.size() == 1 ? columns[0].type : SqlType(TypeKind::kRecord)};
}

class Lister {
 public:
  SystemFunction& add(std::string_view name, const std::vector<ArgumentType>& arguments, const ArgumentType& result,
                      bool variadic = false) {
    SystemFunction function{.oid = next_++, .name = name, .result = oid_of(result), .variadic = variadic};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      function.arguments.push_back(oid_of(arguments[i]));
      function.argument_text += i == 0 ? "" : ", ";
      if (variadic && i + 1 == arguments.size()) function.argument_text += "VARIADIC ";
      function.argument_text += text_of(arguments[i]);
    }
    function.result_text = text_of(result);
    list_.push_back(std::move(function));
    return list_.back();
  }
  void add_reader(std::uint32_t oid, std::string_view name, bool binary, TypeKind type) {
    list_.push_back({.oid = oid, .name = name, .arguments = {binary ? kInternal : kCstring}, .result = oid_of(type),
                     .strict = true, .argument_text = binary ? "internal" : "cstring", .result_text = name_of(type)});
  }
  void add_printer(std::uint32_t oid, std::string_view name, bool binary, TypeKind type) {
    list_.push_back({.oid = oid, .name = name, .arguments = {oid_of(type)},
                     .result = binary ? oid_of(TypeKind::kBytea) : kCstring, .strict = true,
                     .argument_text = name_of(type), .result_text = binary ? "bytea" : "cstring"});
  }
  std::vector<SystemFunction> take() { return std::move(list_); }

 private:
  std::vector<SystemFunction> list_;
  std::uint32_t next_ = kFirstOwnOid;
};

/// Keeps the names that are put together.
std::string_view kept(std::deque<std::string>& names, std::string name) { return names.emplace_back(std::move(name)); }

std::vector<SystemFunction> list_functions(std::deque<std::string>& names) {
  Lister lister;
  for (const expr::FunctionSpec* spec : expr::all_functions()) {
    if (!spec->is_operator) lister.add(spec->name, spec->arguments, spec->result, spec->variadic).strict = spec->strict;
  }
  for (const expr::AggregateSpec* spec : expr::all_aggregates()) {
    lister.add(spec->name, spec->arguments, spec->result).aggregate = true;
  }
  for (const expr::TableFunctionSpec* spec : expr::all_table_functions()) {
    SystemFunction& function = lister.add(spec->name, spec->arguments, row_type(*spec));
    function.strict = spec->strict;
    function.returns_set = true;
    function.result_text = "SETOF " + function.result_text;
  }
  for (const TypeFunctions& type : type_functions()) {
    const std::string stem(type.stem);
    lister.add_reader(type.input, kept(names, stem + "in"), false, type.kind);
    lister.add_printer(type.output, kept(names, stem + "out"), false, type.kind);
    lister.add_reader(type.receive, kept(names, stem + "recv"), true, type.kind);
    lister.add_printer(type.send, kept(names, stem + "send"), true, type.kind);
  }
  return lister.take();
}

}  // namespace

const std::vector<TypeFunctions>& type_functions() {
  static const std::vector<TypeFunctions> kFunctions{
      {TypeKind::kBool, "bool", 1242, 1243, 2436, 2437},
      {TypeKind::kBytea, "bytea", 1244, 31, 2412, 2413},
      {TypeKind::kPgChar, "char", 1245, 33, 2434, 2435},
      {TypeKind::kName, "name", 34, 35, 2422, 2423},
      {TypeKind::kInt8, "int8", 460, 461, 2408, 2409},
      {TypeKind::kInt2, "int2", 38, 39, 2404, 2405},
      {TypeKind::kInt4, "int4", 42, 43, 2406, 2407},
      {TypeKind::kRegproc, "regproc", 44, 45, 2444, 2445},
      {TypeKind::kText, "text", 46, 47, 2414, 2415},
      {TypeKind::kOid, "oid", 1798, 1799, 2418, 2419},
      {TypeKind::kFloat4, "float4", 200, 201, 2424, 2425},
      {TypeKind::kFloat8, "float8", 214, 215, 2426, 2427},
      {TypeKind::kUnknown, "unknown", 109, 110, 2416, 2417},
      {TypeKind::kBpchar, "bpchar", 1044, 1045, 2430, 2431},
      {TypeKind::kVarchar, "varchar", 1046, 1047, 2432, 2433},
      {TypeKind::kDate, "date_", 1084, 1085, 2468, 2469},
      {TypeKind::kTime, "time_", 1143, 1144, 2470, 2471},
      {TypeKind::kTimestamp, "timestamp_", 1312, 1313, 2474, 2475},
      {TypeKind::kTimestampTz, "timestamptz_", 1150, 1151, 2476, 2477},
      {TypeKind::kInterval, "interval_", 1160, 1161, 2478, 2479},
      {TypeKind::kNumeric, "numeric_", 1701, 1702, 2460, 2461},
      {TypeKind::kRegclass, "regclass", 2218, 2219, 2452, 2453},
      {TypeKind::kRegtype, "regtype", 2220, 2221, 2454, 2455},
      {TypeKind::kUuid, "uuid_", 2952, 2953, 2961, 2962},
      {TypeKind::kRecord, "record_", 2290, 2291, 2402, 2403},
      {TypeKind::kArray, "array_", 750, 751, 2400, 2401},
  };
  return kFunctions;
}

const std::vector<SystemFunction>& system_functions() {
  static std::deque<std::string> names;
  static const std::vector<SystemFunction> kFunctions = list_functions(names);
  return kFunctions;
}

}  // namespace freshet::sql
