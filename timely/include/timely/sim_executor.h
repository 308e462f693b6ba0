// SPDX-License-Identifier: Apache-2.0
/// Runs workers on the calling thread, in an order drawn from a seed, under a virtual clock.
///
/// Each `step` runs one slice of a ready worker, one posted task or one due timer, drawn at random;
/// slices are short, operators run in any order, and budgets end at random. So a seed is an
/// interleaving, and a failure replays. An outer simulator drives it by `step`; alone, `run_while`
/// steps and moves the clock to the next timer when nothing else is left.
///
/// Thread safety: none; everything happens on one thread.
///
///     timely::SimExecutor executor(seed);
///     timely::Runtime runtime(executor, {.workers = 3, .scheduler = &executor.scheduler()});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <freshet/base/random.h>
#include <timely/executor.h>

namespace timely {

class SimExecutor final : public Executor {
 public:
  explicit SimExecutor(std::uint64_t seed);
  /// Part of an outer simulation: `outer` runs the slices and has the clock; `drive` runs one task
  /// of the whole simulation and is false if there is none.
  SimExecutor(std::uint64_t seed, base::Scheduler& outer, std::function<bool()> drive);
  ~SimExecutor() override;

  /// Runs one thing of this executor that can run now; false if there is none.
  bool step();
  /// True if `step` would find something.
  [[nodiscard]] bool busy() const;
  /// Moves the clock to the next timer; false if there is none. Only with the own clock.
  bool advance_to_next_timer();
  /// Timers and tasks that run as steps of this executor.
  [[nodiscard]] base::Scheduler& scheduler();

  void ready(Runnable& runnable) override;
  /// It is a bug if nothing can happen any more while `pending()` still holds.
  void run_while(FunctionRef<bool()> pending) override;
  void run_until_idle() override;
  void notify() override {}
  void fork(std::size_t count, FunctionRef<void(std::size_t)> body) override;
  [[nodiscard]] std::size_t threads() const override { return 1; }
  void post(base::Task task) override;
  void retire(Runnable& runnable) override;
  [[nodiscard]] base::Instant now() const override;
  std::size_t choose(std::size_t count) override {
    return static_cast<std::size_t>(random_.below(count));
  }
  [[nodiscard]] bool simulated() const override { return true; }

 private:
  class Timers;
  void list(Runnable& runnable);

  base::Random random_;
  base::Scheduler* outer_ = nullptr;
  std::function<bool()> drive_;
  std::shared_ptr<bool> alive_;  // for slices that the outer scheduler runs too late
  std::unique_ptr<Timers> timers_;
  std::vector<Runnable*> ready_;
  bool forking_ = false;
};

}  // namespace timely
