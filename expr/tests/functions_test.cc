// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/functions.h>

#include <freshet/expr/table_rows.h>
#include <freshet/repr/datum.h>

#include <set>

#include <catch2/catch.hpp>

namespace freshet::expr {
namespace {

using repr::SqlType;
using repr::TypeKind;

TEST_CASE("functions: signatures are unique and find their spec", "[expr][functions]") {
  std::set<std::string_view> seen;
  for (const FunctionSpec* spec : all_functions()) {
    INFO(spec->signature);
    CHECK(seen.insert(spec->signature).second);
    CHECK(function_by_signature(spec->signature) == spec);
    CHECK(spec->kernel != nullptr);
    const auto named = spec->is_operator ? operators_named(spec->name) : functions_named(spec->name);
    CHECK(std::find(named.begin(), named.end(), spec) != named.end());
  }
  CHECK(seen.size() > 400);
  CHECK(function_by_signature("+(int4,int4)") != nullptr);
  CHECK(function_by_signature("nonsense(int4)") == nullptr);
  CHECK(functions_named("nonsense").empty());
}

/// Arguments with which every table function has several rows, if it can.
repr::DatumRow arguments_of(const TableFunctionSpec& spec, std::vector<SqlType>& types) {
  static constexpr std::string_view kTexts[] = {"one,two,,three", "[,o]", "i"};
  static constexpr std::string_view kNumbers[] = {"1", "9", "2"};
  static constexpr std::string_view kTimes[] = {"2020-01-01", "2020-01-09", "1 day"};
  const bool of_array = spec.arguments[0].kind == ArgumentType::Kind::kAnyArray;
  repr::DatumRow out;
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    const ArgumentType& argument = spec.arguments[i];
    const bool array = argument.kind == ArgumentType::Kind::kAnyArray;
    types.push_back(array ? SqlType::array_of(SqlType(TypeKind::kInt4)) : argument.type);
    std::string_view text = of_array ? "1" : kNumbers[i];
    if (array) text = "{5,NULL,7,8}";
    if (spec.arguments[0].type.kind() == TypeKind::kText) text = kTexts[i];
    if (spec.name == "regexp_matches" && i == 2) text = "g";
    if (types.back().kind() == TypeKind::kTimestamp || types.back().kind() == TypeKind::kTimestampTz ||
        types.back().kind() == TypeKind::kInterval) {
      text = kTimes[i];
    }
    out.push_back(repr::from_text(text, types.back()).value());
  }
  return out;
}

// Every engine asks for rows in pieces: a function that is declared has to give them so.
TEST_CASE("functions: table functions give the same rows in pieces of any size", "[expr][functions]") {
  for (const TableFunctionSpec* spec : all_table_functions()) {
    INFO(spec->signature);
    REQUIRE(spec->next != nullptr);
    std::vector<SqlType> types;
    const repr::DatumRow arguments = arguments_of(*spec, types);
    const std::vector<repr::ColumnType> result = spec->result_types(types);
    const auto texts_by = [&](std::size_t most) {
      std::vector<repr::DatumRow> rows;
      for (TableRowsCursor at; !at.done;) {
        const std::size_t before = rows.size();
        REQUIRE(next_rows(*spec, arguments, types, at, most, rows));
        REQUIRE(rows.size() - before <= most);
        CHECK(at.rows == rows.size());
      }
      std::vector<std::string> texts;
      for (const repr::DatumRow& row : rows) {
        REQUIRE(row.size() == result.size());
        texts.push_back(row[0].is_null() ? "NULL" : repr::to_text(row[0], result[0].type));
      }
      return texts;
    };
    const auto whole = texts_by(4096);
    CHECK(whole.size() >= (spec->signature == "regexp_matches(text,text)" ? 1 : 3));
    for (const std::size_t most : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) CHECK(texts_by(most) == whole);
  }
}

TEST_CASE("functions: negations and commutations are mutual", "[expr][functions]") {
  for (const FunctionSpec* spec : all_functions()) {
    INFO(spec->signature);
    if (!spec->negated.empty()) {
      const FunctionSpec* other = function_by_signature(spec->negated);
      REQUIRE(other != nullptr);
      CHECK(other->negated == spec->signature);
    }
    if (!spec->commuted.empty()) {
      const FunctionSpec* other = function_by_signature(spec->commuted);
      REQUIRE(other != nullptr);
      CHECK(other->commuted == spec->signature);
    }
  }
  CHECK(function_by_signature("<(int4,int8)")->commuted == ">(int8,int4)");
  CHECK(function_by_signature("=(text,text)")->negated == "<>(text,text)");
}

TEST_CASE("functions: boolean operators have quantified forms", "[expr][functions]") {
  const FunctionSpec* equal = function_by_signature("=(int4,int4)");
  REQUIRE(any_of(*equal) != nullptr);
  CHECK(any_of(*equal)->signature == "any(=(int4,int4))");
  CHECK(all_of(*equal) != nullptr);
  CHECK(any_of(*function_by_signature("+(int4,int4)")) == nullptr);
}

TEST_CASE("functions: casts have PostgreSQL's contexts", "[expr][functions]") {
  const auto context = [](TypeKind from, TypeKind to) {
    return find_cast(SqlType(from), SqlType(to)).value().context;
  };
  CHECK(context(TypeKind::kInt4, TypeKind::kInt8) == CastContext::kImplicit);
  CHECK(context(TypeKind::kInt8, TypeKind::kInt4) == CastContext::kAssignment);
  CHECK(context(TypeKind::kBool, TypeKind::kInt4) == CastContext::kExplicit);
  CHECK(context(TypeKind::kText, TypeKind::kInt4) == CastContext::kExplicit);
  CHECK(context(TypeKind::kInt4, TypeKind::kText) == CastContext::kAssignment);
  CHECK_FALSE(find_cast(SqlType(TypeKind::kBool), SqlType(TypeKind::kDate)).has_value());
  const auto array = [](TypeKind kind) { return SqlType::array_of(SqlType(kind)); };
  CHECK(find_cast(array(TypeKind::kInt4), array(TypeKind::kInt8))->context == CastContext::kImplicit);
  CHECK(find_cast(SqlType(TypeKind::kNumeric), SqlType(TypeKind::kNumeric, 655366))->function ==
        typmod_coercion(TypeKind::kNumeric));
}

}  // namespace
}  // namespace freshet::expr
