// SPDX-License-Identifier: Apache-2.0
/// A scheduler on one thread, with virtual time and a seed: any failure is a seed that replays.
///
/// Tasks that are ready run in an order drawn from the seed; time stands still while any is ready
/// and then jumps to the next timer. Blocking tasks become ready after a random little while.
/// Several simulated processes share one: a killed process is dropped with all its tasks and
/// timers. Invariant: the same seed and the same posts give the same run, to the last task. Thread
/// safety: none; one thread drives it.
///
///     SimScheduler sim(seed);
///     auto& process = sim.new_process();             // a base::Scheduler
///     Result<int> answer = sim.wait(ask(process));   // runs until it is there
///     process.kill();
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/base/random.h>
#include <freshet/base/scheduler.h>

namespace testing {

class SimScheduler {
 public:
  class Process final : public freshet::base::Scheduler {
   public:
    Process(SimScheduler& sim, std::uint64_t id) : sim_(sim), id_(id) {}
    void post(freshet::base::Task task) override;
    void post_blocking(freshet::base::Task task) override;
    freshet::base::TimerId at(freshet::base::Instant when, freshet::base::TaskQueue& queue,
                              freshet::base::Task task) override;
    bool cancel(freshet::base::TimerId timer) override;
    [[nodiscard]] const freshet::base::Clock& clock() const override { return sim_.clock_; }
    /// Drops what is pending and refuses everything from now on. Objects of the process may then be
    /// destroyed in any order. Must not be called by one of its own tasks.
    void kill();
    [[nodiscard]] bool alive() const { return alive_; }

   private:
    SimScheduler& sim_;
    std::uint64_t id_;
    bool alive_ = true;
  };

  explicit SimScheduler(std::uint64_t seed);
  ~SimScheduler();
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;

  /// Lives as long as the simulation, also after its death.
  Process& new_process();
  [[nodiscard]] freshet::base::Random& random() { return random_; }
  [[nodiscard]] const freshet::base::Clock& clock() const { return clock_; }
  /// Moves the wall clock, either way; monotonic time does not follow.
  void jump_wall_clock(std::int64_t micros) { clock_.skew_micros += micros; }

  /// Runs one ready task; if none is ready, first moves time to the next timer. False if there is
  /// neither.
  bool step();
  /// Runs what is ready now, without moving time.
  void run_ready();
  /// Runs everything due within `duration`, and moves time on by it.
  void run_for(std::chrono::nanoseconds duration);
  /// Tasks run so far: a cheap digest of the run for comparing two runs of a seed.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  /// Steps until `done()`; false if nothing is left to run or `limit` of virtual time has passed.
  template <typename F>
  bool run_until(F done, std::chrono::nanoseconds limit = std::chrono::hours(1)) {
    const freshet::base::Instant end = clock_.time + limit;
    while (!done()) {
      if (clock_.time > end || !step()) return done();
    }
    return true;
  }

  /// Steps until the future has its answer; kCancelled if it never comes.
  template <typename T>
  freshet::base::Result<T> wait(freshet::base::Future<T> future,
                                std::chrono::nanoseconds limit = std::chrono::hours(1)) {
    std::optional<freshet::base::Result<T>> answer;
    run_until(
        [&] {
          if (!answer && future.is_ready()) answer = future.poll();
          return answer.has_value();
        },
        limit);
    if (!answer) {
      return freshet::base::fail(freshet::base::ErrorCode::kCancelled,
                                 "the simulation has no answer");
    }
    return std::move(*answer);
  }

 private:
  struct SimClock final : freshet::base::Clock {
    [[nodiscard]] freshet::base::WallMicros wall_micros() const override;
    [[nodiscard]] freshet::base::Instant now() const override { return time; }
    freshet::base::Instant time{};
    std::int64_t skew_micros = 0;
  };
  struct Ready {
    std::uint64_t process = 0;
    freshet::base::Task task;
  };
  struct Timer {
    std::uint64_t process = 0;
    std::shared_ptr<freshet::base::TaskQueue> queue;
    freshet::base::Task task;
  };
  using TimerKey = std::pair<freshet::base::Instant, freshet::base::TimerId>;

  freshet::base::TimerId add_timer(freshet::base::Instant when, Timer timer);
  bool fire_next_timer(freshet::base::Instant end);
  void run_one();
  void drop(std::uint64_t process);

  freshet::base::Random random_;
  SimClock clock_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Ready> ready_;
  std::map<TimerKey, Timer> timers_;
  std::map<freshet::base::TimerId, freshet::base::Instant> due_;
  freshet::base::TimerId last_timer_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace testing
