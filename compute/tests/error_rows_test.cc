// SPDX-License-Identifier: Apache-2.0
// Error rows of unoptimised plans: both engines have the naive interpreter's, byte for byte.
#include <catch2/catch.hpp>

#include <freshet/base/sqlstate.h>
#include <freshet/sql/physical.h>
#include <testing/random_plan.h>

#include "support/world.h"

namespace compute_testing {
namespace {

using namespace freshet;  // NOLINT: a test
using expr::Aggregate;
using expr::MatchKind;
using expr::Relation;
using expr::Scalar;
using repr::Datum;
using repr::Numeric;

constexpr GlobalId kTable{GlobalId::Kind::kUser, 1};
constexpr GlobalId kView{GlobalId::Kind::kUser, 2};

/// A table (a int8, x numeric) and one view over it.
struct Engine {
  explicit Engine(const WorldOptions& options) : world(World::make(7, options)) { world->create_table(kTable, desc); }

  [[nodiscard]] Relation table() const { return Relation::get(kTable, desc.type); }
  [[nodiscard]] Scalar a(std::size_t offset = 0) const { return Scalar::column(offset, desc.type.columns[0]); }
  [[nodiscard]] Scalar x(std::size_t offset = 1) const { return Scalar::column(offset, desc.type.columns[1]); }
  /// The rows with this a.
  [[nodiscard]] Relation with(std::int64_t value) const {
    return table().filter({Scalar::call(expr::function_by_signature("=(int8,int8)"),
                                        {a(), Scalar::literal(Datum(value), repr::TypeKind::kInt8)})});
  }
  /// What the engine maintains for the plan as it is written; that the naive interpreter agrees is checked.
  std::string content(const Relation& plan) {
    repr::RelationDesc view{.type = plan.type()};
    for (std::size_t c = 0; c < plan.arity(); ++c) view.names.push_back("c" + std::to_string(c));
    world->create_view(kView, view, 10);
    expr::DataflowDescription dataflow{.name = "view"};
    dataflow.objects.push_back({kView, plan, plan, sql::lower_physical(plan, {}, {.literal = true}).value()});
    dataflow.sources.emplace(kTable, expr::SourceImport{desc});
    dataflow.sink_exports.emplace(
        kView, expr::SinkExport{.kind = expr::SinkExport::Kind::kMaterializedView, .from = kView, .desc = view});
    dataflow.as_of = 10;
    world->start(dataflow);
    world->wait_for(kView, 10).value();
    Multiset found = world->stored(kView, plan.type(), 10).value();
    for (auto& [row, count] : found.errs) count = 1;
    const Multiset wanted = expr::evaluate_naive(plan, world->tables_at(10), {.time = 10}).value();
    CHECK(testing::describe(wanted, plan.type().columns) == testing::describe(found, plan.type().columns));
    return testing::describe(found, plan.type().columns);
  }

  repr::RelationDesc desc{.type = {{{repr::TypeKind::kInt8, true}, {repr::TypeKind::kNumeric, true}}}, .names = {"a", "x"}};
  std::unique_ptr<World> world;
};

WorldOptions any_engine() { return GENERATE(WorldOptions{}, WorldOptions{.workers = 3}, WorldOptions{.naive = true}); }

repr::DatumRow row(std::int64_t a, std::int64_t digits, int scale) {
  return {Datum(a), Datum(Numeric::from_parts(digits, scale))};
}

/// 1.0 once, and 1.00 twice less than never.
struct NegativeGroup : Engine {
  explicit NegativeGroup(const WorldOptions& options) : Engine(options) {
    world->commit(10, {{kTable, {.rows = {{row(1, 10, 1), 1}, {row(2, 100, 2), 1}}}}});
  }
  [[nodiscard]] Relation rows() const {
    return Relation::union_all({with(1), with(2).negate(), with(2).negate()}).project({1});
  }
  [[nodiscard]] Scalar key() const { return x(0); }
};

// Such a group has no row, so there is none whose form its error could show.
TEST_CASE("errors: a group of negative count knows its key in the default form", "[compute]") {
  NegativeGroup engine(any_engine());
  CHECK(engine.content(engine.rows().distinct()) == "  error ((1)) negative multiplicity\n");
}

TEST_CASE("errors: a group of negative count that is summed knows its key in the default form", "[compute]") {
  NegativeGroup engine(any_engine());
  const Relation sums = engine.rows().reduce({engine.key()}, {Aggregate{.spec = expr::aggregate_by_signature("count(*)")}});
  CHECK(engine.content(sums) == "  error ((1), ?) negative multiplicity\n");
}

TEST_CASE("errors: a group of negative count that is read knows its key in the default form", "[compute]") {
  NegativeGroup engine(any_engine());
  const Aggregate list{.spec = expr::aggregate_by_signature("array_agg(anynonarray)"), .arguments = {engine.key()}};
  CHECK(engine.content(engine.rows().reduce({engine.key()}, {list})) == "  error ((1), ?) negative multiplicity\n");
}

TEST_CASE("errors: first rows of a group of which some count below zero are one error of the group", "[compute]") {
  NegativeGroup engine(any_engine());
  const Relation negative = Relation::union_all({engine.with(1).negate(), engine.with(2).negate()});
  const auto limit = Scalar::literal(Datum(std::int64_t{1}), repr::TypeKind::kInt8);
  CHECK(engine.content(negative.top_k({1}, {{.column = 0}}, limit, 0)) == "  error (?, (1)) negative multiplicity\n");
}

TEST_CASE("errors: a negative limit is one error of its group, unless a count in it is negative", "[compute]") {
  NegativeGroup engine(any_engine());
  const bool negative = GENERATE(false, true);
  const auto minus_one = Scalar::literal(Datum(std::int64_t{-1}), repr::TypeKind::kInt8);
  const Relation second = negative ? engine.with(2).negate() : engine.with(2);
  const Relation top = Relation::union_all({engine.with(1), second}).top_k({1}, {{.column = 0, .descending = true}}, minus_one, 0);
  CHECK(engine.content(top) ==
        (negative ? "  error (?, (1)) negative multiplicity\n" : "  error (?, (1)) LIMIT must not be negative\n"));
}

// The failing row looks like 1.0, the row of its group like 1: a predicate that sees the difference cannot tell which
// of them the group would show if nothing failed.
TEST_CASE("errors: what is known of a group is the value of its key and not the form", "[compute]") {
  Engine engine(any_engine());
  engine.world->commit(10, {{kTable, {.rows = {{row(0, 10, 1), 1}, {row(5, 1, 0), 1}, {row(5, 2, 0), 1}}}}});
  const auto ten = Scalar::literal(Datum(std::int64_t{10}), repr::TypeKind::kInt8);
  const Aggregate count{.spec = expr::aggregate_by_signature("count(*)")};
  const Relation groups = engine.table()
                              .map({Scalar::call(expr::function_by_signature("/(int8,int8)"), {ten, engine.a()})})
                              .reduce({engine.x()}, {count});
  const auto text = Scalar::call(expr::find_cast(repr::TypeKind::kNumeric, repr::TypeKind::kText)->function, {engine.x(0)});
  const auto is = [&](const char* wanted) {
    return groups.filter({Scalar::call(expr::function_by_signature("=(text,text)"),
                                       {text, Scalar::literal(Datum(std::string(wanted)), repr::TypeKind::kText)})});
  };
  CHECK(engine.content(is("1")) == "  1 x (1, 1)\n  error ((1.0), ?) division by zero\n");
}

// Nothing says beforehand that replace() may fail: it does where the text would be too large.
TEST_CASE("errors: a join key that would be too large is an error of its row", "[compute]") {
  Engine engine(any_engine());
  engine.world->commit(10, {{kTable, {.rows = {{row(1, 5, 0), 1}, {row(2, 7, 0), 1}}}}});
  const auto as_text = [&](std::size_t c) {
    return Scalar::call(expr::find_cast(repr::TypeKind::kNumeric, repr::TypeKind::kText)->function, {engine.x(c)});
  };
  const auto literal = [](std::string value) { return Scalar::literal(Datum(std::move(value)), repr::TypeKind::kText); };
  const auto replaced = [&](const Scalar& in, std::string from, std::string to) {
    return Scalar::call(expr::function_by_signature("replace(text,text,text)"), {in, literal(std::move(from)), literal(std::move(to))});
  };
  const Scalar sevens = replaced(as_text(1), "7", std::string(2000, 'y'));
  const Scalar key = replaced(sevens, "y", std::string(1'100'000, 'z'));
  REQUIRE_FALSE(key.can_fail());
  const bool inner = GENERATE(true, false);
  const Relation plan =
      inner ? Relation::join({engine.table(), engine.table()}, {{key, as_text(3)}})
            : Relation::match(MatchKind::kLeft, engine.table(), engine.table(),
                              {Scalar::call(expr::function_by_signature("=(text,text)"), {key, as_text(3)})});
  const std::string content = engine.content(plan);
  CHECK(content.find("error ((2), (7), ?, ?) requested length too large") != std::string::npos);
  CHECK(content.find("1 x (1, 5, 1, 5)") != std::string::npos);
}

// x > 1 is NULL, so no pair passes, whatever the unknown a is: the parts of an AND are judged one by one.
TEST_CASE("errors: one part of a join's condition can refuse an error row", "[compute]") {
  Engine engine(any_engine());
  const expr::ErrorRow bad{{std::nullopt, Datum()}, sql_error(sqlstate::kDataException, "bad input")};
  engine.world->commit(10, {{kTable, {.errors = {{bad, 1}}}}});
  const auto less = [&](std::size_t c) { return Scalar::call(expr::function_by_signature("<(int8,int8)"), {engine.a(c), engine.a(c)}); };
  const Scalar greater = Scalar::call(expr::function_by_signature(">(numeric,numeric)"),
                                      {engine.x(3), Scalar::literal(Datum(Numeric(1)), repr::TypeKind::kNumeric)});
  const Relation left = Relation::constant({{row(5, 10, 1), 1}}, engine.desc.type);
  const Relation full = Relation::match(MatchKind::kFull, left, engine.table(), {Scalar::conjunction({less(2), greater})});
  CHECK(engine.content(full) ==
        "  1 x (5, 1.0, null, null)\n"
        "  error ((null), (null), ?, (null)) bad input\n");
}

}  // namespace
}  // namespace compute_testing
