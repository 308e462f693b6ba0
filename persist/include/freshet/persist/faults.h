// SPDX-License-Identifier: Apache-2.0
/// Blob and Consensus that fail on purpose, in every way their contracts allow. For tests.
///
/// A determinate failure (kUnavailable) means that nothing happened. After an indeterminate one
/// (kIndeterminate) the operation has happened, or not, or happens later. Everything also takes a
/// while.
///
///     FaultControl faults(process, seed, {.refuse = 0.1, .lose_answer = 0.1});
///     auto blob = make_faulty_blob(faults, *memory_blob);
///     faults.set_active(false);       // from here on all goes well
#pragma once

#include <chrono>
#include <memory>

#include <freshet/base/scheduler.h>
#include <freshet/persist/blob.h>
#include <freshet/persist/consensus.h>

namespace freshet::persist {

/// Probabilities, drawn for each operation.
struct FaultRates {
  double refuse = 0;        ///< Nothing happens: kUnavailable.
  double lose_answer = 0;   ///< It happens: kIndeterminate.
  double lose_request = 0;  ///< Nothing happens: kIndeterminate.
  double late = 0;          ///< kIndeterminate, and it happens some time afterwards.
  std::chrono::microseconds delay_max{0};
};

/// Thread safety: all of it. Lifetime: `scheduler` outlives what is pending.
class FaultControl {
 public:
  FaultControl(base::Scheduler& scheduler, std::uint64_t seed, FaultRates rates);
  ~FaultControl();
  void set_active(bool active);
  /// How many operations failed so far.
  [[nodiscard]] std::uint64_t failures() const;

  struct Core;
  [[nodiscard]] const std::shared_ptr<Core>& core() const { return core_; }

 private:
  std::shared_ptr<Core> core_;
};

std::unique_ptr<Blob> make_faulty_blob(const FaultControl& faults, Blob& inner);
std::unique_ptr<Consensus> make_faulty_consensus(const FaultControl& faults, Consensus& inner);

}  // namespace freshet::persist
