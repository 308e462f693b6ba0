// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/functions.h>

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
