// SPDX-License-Identifier: Apache-2.0
// What planning refuses, leaves to execution, or is told to stop.
#include <catch2/catch.hpp>
#include <freshet/base/sqlstate.h>
#include <freshet/sql/optimizer.h>

#include "workbench.h"

namespace freshet::sql {
namespace {

using expr::Relation;
using expr::Scalar;
using repr::Datum;
using repr::TypeKind;

Scalar text(std::string value) { return Scalar::literal(Datum(std::move(value)), TypeKind::kText); }
Scalar number(std::int32_t value) { return Scalar::literal(Datum(value), TypeKind::kInt4); }
Scalar call(std::string_view signature, std::vector<Scalar> arguments) {
  return Scalar::call(expr::function_by_signature(signature), std::move(arguments));
}
Scalar repeated(std::int32_t times) { return call("repeat(text,int4)", {text("x"), number(times)}); }

Relation one_row() { return Relation::constant({{{}, 1}}, {}); }
Relation numbers(std::int32_t count) {
  std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
  for (std::int32_t i = 1; i <= count; ++i) rows.push_back({{Datum(i)}, 1});
  return Relation::constant(std::move(rows), {{{TypeKind::kInt4, false}}});
}
std::string optimized(const Relation& relation, const OptimizerOptions& options = {}) {
  return to_string(optimize(relation, options).value());
}

TEST_CASE("folding: a large value is left to execution, a small one is not", "[sql]") {
  CHECK(optimized(one_row().map({repeated(3)})).find("'xxx'") != std::string::npos);
  const std::string large = optimized(one_row().map({repeated(20'000'000)}));
  CHECK(large.find("repeat('x', 20000000)") != std::string::npos);
  CHECK(large.size() < 1000);
  const std::string both = optimized(one_row().map({call("textcat(text,text)", {repeated(20'000'000), repeated(3)})}));
  CHECK(both.find("repeat('x', 20000000)") != std::string::npos);
}

TEST_CASE("folding: rows with large values are left to execution", "[sql]") {
  const Scalar i = Scalar::column(0, {TypeKind::kInt4, false});
  const Scalar sized = call("repeat(text,int4)", {text(std::string(1'000'000, 'x')), i});
  const std::string plan = optimized(numbers(5).map({sized}).project({1}));
  CHECK(plan.find("repeat(") != std::string::npos);
  // What is small in the end is folded all the same.
  CHECK(optimized(numbers(5).map({call("length(text)", {sized})}).project({1})).find("5000000") != std::string::npos);
}

TEST_CASE("folding: it ends when enough was computed", "[sql]") {
  std::vector<Scalar> parts;
  for (std::int32_t n = 0; n < 5; ++n) parts.push_back(repeated(1000 + n));
  const OptimizerOptions options{.max_folded_bytes = 2500};
  const std::string plan = optimized(one_row().map(parts), options);
  CHECK(plan.find("repeat('x', 1000)") == std::string::npos);
  CHECK(plan.find("repeat('x', 1004)") != std::string::npos);
}

Interrupt after(std::size_t questions, std::size_t& asked) {
  return [questions, &asked]() -> std::optional<Error> {
    if (++asked <= questions) return std::nullopt;
    return sql_error(sqlstate::kQueryCanceled, "canceling statement due to user request");
  };
}

TEST_CASE("interrupt: ends binding", "[sql]") {
  testing::Workbench bench;
  REQUIRE(bench.run("create table t (i int)"));
  std::string list = "select * from t where i in (0";
  for (int i = 1; i < 5000; ++i) list += ", " + std::to_string(i);
  list += ")";
  CHECK(bench.plan_one(list));
  std::size_t asked = 0;
  bench.settings.interrupt = after(2, asked);
  const auto plan = bench.plan_one(list);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().sqlstate == sqlstate::kQueryCanceled);
  CHECK(asked == 3);
}

TEST_CASE("interrupt: ends optimising", "[sql]") {
  const Relation plan = numbers(3).map({Scalar::column(0, {TypeKind::kInt4, false})});
  std::size_t asked = 0;
  CHECK(optimize(plan, {.interrupt = after(1000, asked)}));
  const std::size_t all = asked;
  CHECK(all > 5);
  asked = 0;
  const auto stopped = optimize(plan, {.interrupt = after(3, asked)});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().sqlstate == sqlstate::kQueryCanceled);
  CHECK(asked == 4);
}

TEST_CASE("limits: so many WITH queries are refused before they are bound", "[sql]") {
  testing::Workbench bench;
  std::size_t asked = 0;
  bench.settings.interrupt = after(0, asked);
  std::string chain = "with a0 as (select 1 x)";
  for (int i = 1; i < 20'000; ++i) chain += ", a" + std::to_string(i) + " as (select x from a" + std::to_string(i - 1) + ")";
  const auto refused = bench.plan_one(chain + " select * from a19999");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sqlstate == sqlstate::kStatementTooComplex);
  CHECK(asked == 0);
}

TEST_CASE("recursion: of equal rows the one that came first stays", "[sql]") {
  testing::Workbench bench;
  const auto rows = [&](std::string_view sql) { return bench.run(sql).value().rows; };
  CHECK(rows("with recursive r(x) as (select 1.00 union select case when scale(x)=1 then 1.00 else 1.0 end from r) "
             "select * from r") == std::vector<std::string>{"1.00"});
  CHECK(rows("with recursive r(x) as (select interval '1 day' union select case when x::text = '1 day' then interval '24:00' "
             "else interval '1 day' end from r) select * from r") == std::vector<std::string>{"1 day"});
}

}  // namespace
}  // namespace freshet::sql
