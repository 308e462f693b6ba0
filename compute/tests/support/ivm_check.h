// SPDX-License-Identifier: Apache-2.0
/// The property of the engine: for a random plan and a random history, the maintained result at every time
/// equals the naive interpreter on the accumulated inputs.
///
/// One seed decides plan, history, interleaving, worker count, block size, which inputs are indexed, when
/// dataflows start, what is compacted and where it is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <freshet/expr/lir.h>
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
  testing::PlanCoverage plan{};                ///< Nodes, kinds of join and aggregates of unoptimised plans.
  std::map<std::string, std::uint64_t> lir{};  ///< Nodes and forms of physical plans.
  std::map<std::string, std::uint64_t> errors{};  ///< Contents with an error, by its SQLSTATE, and kinds of bad input.
  std::map<std::string, std::uint64_t> runs{};    ///< Seeds, by how they ran.
  std::uint64_t seeds = 0;
  std::uint64_t checked = 0;  ///< Contents compared.
  std::uint64_t non_empty = 0;
  void add(const freshet::expr::Lir& lir_node);
  void add_errors(const testing::Multiset& content, const std::vector<freshet::repr::ColumnType>& types);
  [[nodiscard]] std::uint64_t non_empty_percent() const { return checked == 0 ? 0 : 100 * non_empty / checked; }
  /// What a long run must have met and has met less than `least` times.
  [[nodiscard]] std::vector<std::string> missing(std::uint64_t least) const;
};

/// What was wrong, with the plan and both contents; nothing if all was right.
std::optional<std::string> check_ivm(std::uint64_t seed, const IvmOptions& options, IvmCoverage& coverage);

}  // namespace compute_testing
