// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <catch2/catch.hpp>
#include <testing/random.h>

#include "support/ivm_check.h"

using compute_testing::check_ivm;
using compute_testing::IvmCoverage;
using compute_testing::IvmOptions;

namespace {

std::uint64_t rounds(std::uint64_t fallback) {
  const char* text = std::getenv("FRESHET_ROUNDS");
  if (testing::seed_is_fixed()) return 1;
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void check(const IvmOptions& options, std::uint64_t first, std::uint64_t count) {
  IvmCoverage coverage;
  for (std::uint64_t round = 0; round < count; ++round) {
    const auto wrong = check_ivm(testing::base_seed(first) + round, options, coverage);
    INFO(wrong.value_or(""));
    CHECK(!wrong);
  }
  CHECK(coverage.checked > 0);
}

}  // namespace

TEST_CASE("dataflow: equals the naive interpreter at every time", "[compute][property]") {
  check({}, 1, rounds(1000));
}

TEST_CASE("dataflow: equals the naive interpreter on threads", "[compute][property][threads]") {
  check({.threads = true}, 100'000, rounds(120));
}

TEST_CASE("naive engine: equals the naive interpreter at every time", "[compute][property]") {
  check({.naive = true}, 200'000, rounds(50));
}
