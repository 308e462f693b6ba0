// SPDX-License-Identifier: Apache-2.0
/// Runs one operator instance again, from any thread, now or later.
///
/// This is how a source hears of data that arrives outside: the other thread puts the data where
/// the operator looks and then activates. Activating a dataflow that is gone does nothing.
///
/// Thread safety: all of it. It keeps the shell of its dataflow in memory, not its state.
#pragma once

#include <chrono>

#include <timely/detail/core.h>

namespace timely {

class Activator {
 public:
  Activator() = default;
  explicit Activator(detail::OperatorCore& core) : keep_(&core.home().dataflow()), core_(&core) {}

  [[nodiscard]] bool valid() const { return core_ != nullptr; }
  void activate() const {
    if (core_ != nullptr) core_->notify();
  }
  /// Activates after a delay, by a timer of the runtime's scheduler (there must be one).
  void activate_after(std::chrono::nanoseconds delay) const;
  void activate_at(base::Instant when) const;

 private:
  detail::DataflowRef keep_;
  detail::OperatorCore* core_ = nullptr;
};

}  // namespace timely
