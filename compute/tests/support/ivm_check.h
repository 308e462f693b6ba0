// SPDX-License-Identifier: Apache-2.0
/// The property of the engine: for a random plan and a random history, the maintained result at every time
/// equals the naive interpreter on the accumulated inputs.
///
/// One seed decides plan, history, interleaving, worker count, block size, which inputs are indexed, when
/// dataflows start, what is compacted and where it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <testing/random_plan.h>

namespace compute_testing {

struct IvmOptions {
  bool threads = false;   ///< Real threads instead of the simulator.
  bool naive = false;     ///< The other engine.
  bool literal = false;   ///< Never optimise.
  std::optional<std::size_t> workers{};
  testing::PlanOptions plan{};
};

struct IvmCoverage {
  testing::PlanCoverage plan{};
  std::map<std::string, std::uint64_t> lir{};  ///< Nodes and forms of physical plans.
  std::uint64_t checked = 0;                   ///< Contents compared.
  std::uint64_t non_empty = 0;
};

/// What was wrong, with the plan and both contents; nothing if all was right.
std::optional<std::string> check_ivm(std::uint64_t seed, const IvmOptions& options, IvmCoverage& coverage);

}  // namespace compute_testing
