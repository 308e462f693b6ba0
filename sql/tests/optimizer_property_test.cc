// SPDX-License-Identifier: Apache-2.0
// Random plans over random histories: optimised plans mean the same by rule (a) of error handling.
#include <freshet/sql/optimizer.h>

#include <catch2/catch.hpp>
#include <testing/random_plan.h>

namespace freshet::sql {
namespace {

using expr::Multiset;
using expr::Relation;

/// Cross joins of everything are not what is tested here.
constexpr expr::NaiveOptions kNaive{.max_rows = 20'000, .max_iterations = 200};

std::size_t rounds() {
  const char* text = std::getenv("FRESHET_ROUNDS");
  return text == nullptr ? 1500 : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

TEST_CASE("optimizer: an optimised plan means the same, and adds no error", "[sql][property]") {
  testing::PlanCoverage coverage;
  std::size_t compared = 0;
  for (std::size_t round = 0; round < (testing::seed_is_fixed() ? 1 : rounds()); ++round) {
    testing::Random random = testing::seeded_random(round);
    const testing::PlanOptions options;
    const auto schema = testing::random_schema(random, options);
    const Relation plan = testing::random_relation(random, schema, options);
    const auto history = testing::random_history(random, schema, options);
    INFO("FRESHET_SEED=" << random.seed() << "\n" << to_string(plan));
    REQUIRE(typecheck(plan).has_value());
    const auto optimized = optimize(plan, {.typecheck = true});
    if (!optimized) FAIL(optimized.error().message);
    INFO("optimised:\n" << to_string(*optimized));
    for (const repr::SqlTime time : history.times) {
      const auto inputs = history.content_at(schema, time);
      const auto naive = evaluate_naive(plan, inputs, kNaive);
      if (!naive) break;
      const auto result = evaluate_naive(*optimized, inputs, {.max_iterations = 200});
      REQUIRE(result.has_value());
      const auto& types = plan.type().columns;
      const auto wrong = testing::compare_by_error_rule(*naive, *result, types);
      if (wrong) {
        FAIL(*wrong << "\nnaive:\n"
                    << testing::describe(*naive, types) << "optimised:\n"
                    << testing::describe(*result, types));
      }
      coverage.add_outcome(*naive);
      ++compared;
    }
    coverage.add(plan);
  }
  if (testing::seed_is_fixed()) return;
  std::string report;
  for (const auto& [name, count] : coverage.counts) report += name + ": " + std::to_string(count) + "\n";
  INFO(report);
  CHECK(compared > rounds());
  CHECK(coverage.counts["non-empty"] * 10 > 6 * compared);
  CHECK(coverage.counts["with errors"] * 20 > compared);
  if (std::getenv("FRESHET_COVERAGE") != nullptr) WARN(report);
}

}  // namespace
}  // namespace freshet::sql
