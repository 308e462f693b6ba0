// SPDX-License-Identifier: Apache-2.0
// Random plans with random indexes: the physical plan means what the relation means, names only arrangements
// that are there, and survives its codec.
#include <freshet/sql/physical.h>

#include <catch2/catch.hpp>
#include <freshet/expr/codec.h>
#include <testing/random_plan.h>

#include "lir_meaning.h"

namespace freshet::sql {
namespace {

using expr::Relation;
using expr::Scalar;

constexpr expr::NaiveOptions kNaive{.max_rows = 20'000, .max_iterations = 200};

std::size_t rounds() {
  const char* text = std::getenv("FRESHET_ROUNDS");
  return text == nullptr ? 1000 : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

IndexOracle random_indexes(testing::Random& random, const testing::RandomSchema& schema) {
  IndexOracle oracle;
  std::uint64_t next = 100;
  for (const auto& [id, desc] : schema.collections) {
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      expr::ArrangementKey key;
      for (std::uint64_t k = random.one_in(3) ? 2 : 1; k > 0; --k) {
        // Mostly the first column: most joins are on it.
        const std::size_t c = random.one_in(3) ? random.below(desc.arity()) : 0;
        const Scalar part = Scalar::column(c, desc.type.columns[c]);
        if (std::find(key.begin(), key.end(), part) == key.end()) key.push_back(part);
      }
      oracle.indexes[id].push_back({{expr::GlobalId::Kind::kUser, next++}, std::move(key)});
    }
  }
  return oracle;
}

struct Case {
  testing::RandomSchema schema;
  testing::History history;
  Relation raw;
  std::map<expr::GlobalId, repr::RelationType> types;
};

Case random_case(testing::Random& random, const testing::PlanOptions& options) {
  auto schema = testing::random_schema(random, options);
  Relation plan = testing::random_relation(random, schema, options);
  auto history = testing::random_history(random, schema, options);
  std::map<expr::GlobalId, repr::RelationType> types;
  for (const auto& [id, desc] : schema.collections) types.emplace(id, desc.type);
  return {std::move(schema), std::move(history), std::move(plan), std::move(types)};
}

void check_lir(const Case& c, const Relation& plan, const IndexOracle& oracle, const PhysicalOptions& options,
               std::map<std::string, std::size_t>& forms) {
  const auto lir = lower_physical(plan, oracle, options);
  if (!lir) FAIL(lir.error().message);
  INFO("physical:\n" << to_string(**lir));
  const auto bytes = expr::encode(**lir);
  const auto decoded = expr::decode_lir(bytes);
  if (!decoded) FAIL(decoded.error().message);
  CHECK(to_string(**decoded) == to_string(**lir));
  CHECK(expr::encode(**decoded) == bytes);
  for (std::size_t path = 0; path < 2; ++path) {
    LirMeaning meaning(c.types, oracle);
    const Relation relation = meaning.of(**lir, path);
    for (const std::string& complaint : meaning.complaints()) FAIL(complaint);
    for (const auto& [form, count] : meaning.forms()) forms[form] += count;
    const repr::SqlTime time = c.history.times.back();
    const auto inputs = c.history.content_at(c.schema, time);
    const auto expected = evaluate_naive(c.raw, inputs, kNaive);
    if (!expected) return;
    auto result = evaluate_naive(relation, inputs, {.max_iterations = 200});
    REQUIRE(result.has_value());
    const auto& types = c.raw.type().columns;
    // Error rows skip the stages of a join, which this reading of the plan does not know.
    result->errs.clear();
    const auto wrong = testing::compare_by_error_rule(*expected, *result, types);
    if (wrong) {
      FAIL(*wrong << "\nmeaning:\n" << to_string(relation) << "naive:\n" << testing::describe(*expected, types)
                  << "physical:\n" << testing::describe(*result, types));
    }
  }
}

TEST_CASE("physical: a plan means what the relation means", "[sql][property]") {
  std::map<std::string, std::size_t> forms;
  for (std::size_t round = 0; round < (testing::seed_is_fixed() ? 1 : rounds()); ++round) {
    testing::Random random = testing::seeded_random(round);
    const Case c = random_case(random, {});
    const IndexOracle oracle = random_indexes(random, c.schema);
    INFO("FRESHET_SEED=" << random.seed() << "\n" << to_string(c.raw));
    const auto optimized = optimize(c.raw);
    REQUIRE(optimized.has_value());
    INFO("optimised:\n" << to_string(*optimized));
    check_lir(c, *optimized, oracle, {}, forms);
    check_lir(c, *optimized, oracle, {.eager_delta_joins = true}, forms);
    check_lir(c, c.raw, oracle, {}, forms);
    check_lir(c, c.raw, {}, {.literal = true}, forms);
  }
  if (testing::seed_is_fixed()) return;
  std::string report;
  for (const auto& [form, count] : forms) report += form + ": " + std::to_string(count) + "\n";
  INFO(report);
  for (const char* form : {"linear join", "linear join from an arrangement", "delta join", "seek", "match",
                           "match by whole rows", "recursion", "accumulable", "extrema", "ordered", "distinct"}) {
    INFO(form);
    CHECK(forms[form] > 10);
  }
  if (std::getenv("FRESHET_COVERAGE") != nullptr) WARN(report);
}

}  // namespace
}  // namespace freshet::sql
