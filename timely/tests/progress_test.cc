// SPDX-License-Identifier: Apache-2.0
// Progress is safe (nothing arrives that a frontier excluded), exact and ends, for random
// dataflows.
#include "random_dataflow.h"

namespace timely {
namespace {

TEST_CASE("progress: random dataflows give the same arrivals under every interleaving",
          "[timely][progress][property]") {
  std::size_t arrivals = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    const std::uint64_t seed = testing::base_seed() + round;
    CAPTURE(seed);
    SimExecutor reference(0);
    const auto expected = fuzz::run(seed, reference, 1, 12);
    arrivals += expected.size();
    for (std::size_t workers = 1; workers <= 3; ++workers) {
      for (std::uint64_t order = 1; order <= 3; ++order) {
        SimExecutor executor(freshet::base::mix64(seed * 100 + order));
        REQUIRE(fuzz::run(seed, executor, workers, 12) == expected);
      }
    }
  }
  CHECK(arrivals > 10'000);  // else the draws test nothing
}

}  // namespace
}  // namespace timely
