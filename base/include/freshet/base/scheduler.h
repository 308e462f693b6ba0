// SPDX-License-Identifier: Apache-2.0
/// The one interface through which code above `base` waits: tasks, timers and the clock.
/// Code hands over tasks and is called back; it never sleeps, blocks or starts a thread. One
/// implementation runs tasks on threads and real time, the other on one thread, virtual time and a
/// seed, so that any failure is a seed that replays.
///
/// Thread safety: every method may be called from any thread, and from inside a task.
///
///     Strand strand(scheduler);                       // tasks of one strand never overlap
///     strand.post([this] { handle_request(); });
///     scheduler.after(milliseconds(5), strand, [this] { flush(); });
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <freshet/base/unique_function.h>

namespace freshet::base {

using Task = UniqueFunction<void()>;

/// Microseconds since the Unix epoch (wall clock).
using WallMicros = std::uint64_t;

/// Monotonic time, for durations and timers; its zero means nothing.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

/// Where time comes from. Wall time may jump either way; `now` never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallMicros wall_micros() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;
};

/// Something that runs tasks later, never inside `post` itself.
class TaskQueue {
 public:
  virtual ~TaskQueue() = default;
  virtual void post(Task task) = 0;
  /// For whoever answers later (promises, timers, probes): may outlive the queue, and then drops what is posted.
  [[nodiscard]] virtual std::shared_ptr<TaskQueue> handle() = 0;
};

/// Names a pending timer; never reused within a process. 0 is no timer.
using TimerId = std::uint64_t;

class Scheduler : public TaskQueue {
 public:
  /// Like `post`, for a task that may block on a file, a database or the network. Only
  /// implementations of I/O interfaces use it.
  virtual void post_blocking(Task task) = 0;

  /// Posts `task` to `queue` once `when` has passed; drops it if `queue` is gone by then.
  virtual TimerId at(Instant when, TaskQueue& queue, Task task) = 0;

  /// True if the timer was still pending; its task will then never be posted. False if it was
  /// posted already (it may not have run yet).
  virtual bool cancel(TimerId timer) = 0;

  [[nodiscard]] virtual const Clock& clock() const = 0;

  /// What runs finishes, what is queued is dropped, and later posts do nothing. For the end of a
  /// process, before the objects go away that tasks point to. Not from inside a task.
  virtual void stop() {}

  /// Owns nothing: a scheduler outlives all that waits on it.
  [[nodiscard]] std::shared_ptr<TaskQueue> handle() override { return {std::shared_ptr<void>(), this}; }

  TimerId after(std::chrono::nanoseconds delay, TaskQueue& queue, Task task) {
    return at(clock().now() + delay, queue, std::move(task));
  }
};

/// Runs its tasks one at a time, in the order of their posting, on a scheduler.
///
/// The state of a strand is shared with its pending tasks and its handles, so destroying the strand is
/// always safe: tasks not yet started are dropped, and `post` through a handle does nothing. A strand
/// must not be destroyed by a task of another thread while one of its own runs, unless that task
/// does not touch what dies with it.
class Strand final : public TaskQueue {
 public:
  explicit Strand(Scheduler& scheduler);
  ~Strand() override;
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  void post(Task task) override;
  [[nodiscard]] std::shared_ptr<TaskQueue> handle() override;
  /// As `post`, but if the strand is idle the task, and a few that it posts here, run before this returns. For a
  /// thread from outside the scheduler that was awake anyway, such as one that waits for the network: waking
  /// another costs more than most requests. Not from inside a task, nor under a lock.
  void run_or_post(Task task);
  /// Drops the tasks that have not started and refuses new ones.
  void close();
  /// As `close`, and waits until no task runs any more and those that were dropped are destroyed, so that what
  /// they use may go. From inside a task of this strand it does not wait.
  void shut();
  /// True while the calling thread is inside a task of this strand.
  [[nodiscard]] bool running_here() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The real one: `threads` threads for tasks, a growing pool (up to `blocking_threads`) for blocking
/// tasks, one for timers, and the system's clocks.
/// Lifetime: the destructor finishes the tasks that run, drops the rest, and joins the threads.
std::unique_ptr<Scheduler> make_thread_scheduler(unsigned threads, unsigned blocking_threads);

/// The system's clocks.
std::unique_ptr<Clock> make_system_clock();

}  // namespace freshet::base
