// SPDX-License-Identifier: Apache-2.0
// Which reads need no dataflow, and how EXPLAIN shows them.
#include <freshet/sql/physical.h>

#include <catch2/catch.hpp>

namespace freshet::sql {
namespace {

using expr::GlobalId;
using expr::Relation;
using expr::Scalar;
using repr::Datum;
using repr::TypeKind;

const GlobalId kTable{GlobalId::Kind::kUser, 1};
const GlobalId kIndexOnA{GlobalId::Kind::kUser, 10};
const GlobalId kIndexOnAB{GlobalId::Kind::kUser, 11};
const repr::ColumnType kInt{TypeKind::kInt4, true};

Relation table() { return Relation::get(kTable, {.columns = {kInt, kInt}}); }
Scalar column(std::size_t index) { return Scalar::column(index, kInt); }
Scalar number(std::int32_t value) { return Scalar::literal(Datum(value), TypeKind::kInt4); }
Scalar equal(Scalar a, Scalar b) { return Scalar::call(expr::function_by_signature("=(int4,int4)"), {std::move(a), std::move(b)}); }
bool stored(GlobalId) { return true; }
bool nothing_stored(GlobalId) { return false; }

std::string plan(const Relation& relation, const IndexOracle& indexes, const std::function<bool(GlobalId)>& is_stored) {
  const auto optimized = optimize(relation);
  REQUIRE(optimized.has_value());
  const auto fast = fast_path(*optimized, indexes, is_stored);
  return fast ? explain_fast_path(*fast) : "none";
}

TEST_CASE("fast path: an index that can seek comes before one that cannot, and that before storage", "[sql][fast_path]") {
  IndexOracle both;
  both.indexes[kTable] = {{kIndexOnAB, {column(0), column(1)}}, {kIndexOnA, {column(0)}}};
  const Relation by_a = table().filter({equal(column(0), number(3))});
  CHECK(plan(by_a, both, stored).starts_with("Peek u1 through u10 seek=1 keys"));
  const Relation by_both = table().filter({equal(column(0), number(3)), equal(column(1), number(4))});
  CHECK(plan(by_both, both, stored).starts_with("Peek u1 through u11 seek=1 keys"));
  const Relation either = table().filter({Scalar::disjunction({equal(column(0), number(3)), equal(column(0), number(5))})});
  CHECK(plan(either, both, stored).starts_with("Peek u1 through u10 seek=2 keys"));
  CHECK(plan(table().filter({equal(column(1), number(3))}), both, stored).starts_with("Peek u1 through u11"));
  CHECK(plan(table(), both, nothing_stored) == "Peek u1 through u11\n");
  CHECK(plan(table(), {}, stored) == "Peek u1\n");
  CHECK(plan(by_a, {}, stored).starts_with("Peek u1 "));
  CHECK(plan(table(), {}, nothing_stored) == "none");
}

TEST_CASE("fast path: constants are read off", "[sql][fast_path]") {
  const Relation two = Relation::constant({{{Datum(std::int32_t{1})}, 1}, {{Datum(std::int32_t{2})}, 3}}, {.columns = {kInt}});
  CHECK(plan(two, {}, nothing_stored) == "Constant\n  - (1)\n  - 3 x (2)\n");
  CHECK(plan(two.filter({equal(column(0), number(1))}), {}, nothing_stored) == "Constant\n  - (1)\n");
  CHECK(plan(Relation::empty({.columns = {kInt}}), {}, nothing_stored) == "Constant <empty>\n");
  CHECK(plan(table().filter({Scalar::boolean(false)}), {}, nothing_stored) == "Constant <empty>\n");
  const Error error = sql_error("22012", "division by zero");
  CHECK(plan(Relation::failed(error, {.columns = {kInt}}), {}, nothing_stored) == "Constant error 'division by zero'\n");
}

TEST_CASE("fast path: what computes more than a step over one collection needs a dataflow", "[sql][fast_path]") {
  CHECK(plan(table().distinct(), {}, stored) == "none");
  CHECK(plan(Relation::union_all({table(), table()}), {}, stored) == "none");
  CHECK(plan(Relation::join({table(), table()}, {{column(0), column(2)}}), {}, stored) == "none");
  CHECK(plan(table().reduce({column(0)}, {}), {}, stored) == "none");
  CHECK(plan(table().negate(), {}, stored) == "none");
  const Scalar limit = Scalar::literal(Datum(std::int64_t{1}), TypeKind::kInt8);
  CHECK(plan(table().top_k({}, {{.column = 0}}, limit, 0), {}, stored) == "none");
  CHECK(plan(table().map({column(0)}).project({2}), {}, stored).starts_with("Peek u1 "));
}

}  // namespace
}  // namespace freshet::sql
