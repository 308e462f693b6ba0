// SPDX-License-Identifier: Apache-2.0
/// Who runs workers: the interface, and the state that keeps a worker on one thread at a time.
///
/// A worker is a `Runnable`. Whoever gives it work calls `Executor::ready`; the executor then runs
/// it in slices, never on two threads at once. Nothing polls: a worker without work costs nothing.
///
/// Two implementations: `make_tbb_executor` (threads) and `SimExecutor` (one thread, seeded order).
///
///     auto executor = timely::make_tbb_executor({.threads = 2});
///     timely::Runtime runtime(*executor, {.workers = 4});
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <freshet/base/scheduler.h>

namespace timely {

namespace base = freshet::base;

template <typename Signature>
class FunctionRef;

/// A borrowed callable; valid only during the call it is passed to.
template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F&& f)  // NOLINT: converts
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args&&>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Something that runs in slices when it is ready, one slice at a time.
///
/// The word `state_` is the whole protocol. Who has work for it hands the work over first and then
/// sets kReady; only the one who found the word 0 puts it on a ready list, so it stands there at
/// most once. A runner takes the word to kRunning *before* it looks for work and back to 0 only if
/// nobody set kReady meanwhile, so no work is missed. Both sides use acquire and release on the
/// same word.
class Runnable {
 public:
  Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;
  virtual ~Runnable() = default;

  /// About how long its waiting work will take; executors use it to decide on more threads.
  [[nodiscard]] virtual std::uint64_t queued_ns() const { return 0; }

  // For executors.

  /// True if the caller must put it on a ready list.
  bool mark_ready() { return state_.fetch_or(kReady, std::memory_order_acq_rel) == 0; }
  /// Runs a slice; true if the caller must put it back on a ready list.
  bool run_slice() {
    while (true) {
      if ((state_.exchange(kRunning, std::memory_order_acq_rel) & kRetired) != 0) {
        state_.store(kRetired, std::memory_order_release);
        return false;
      }
      if (run()) {
        return (state_.exchange(kReady, std::memory_order_acq_rel) & kRetired) == 0 ||
               stay_retired();
      }
      std::uint32_t expected = kRunning;
      if (state_.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) return false;
      if ((expected & kRetired) != 0) return stay_retired();
    }
  }
  /// From now on nobody lists it again. True if it is running at this moment.
  bool retire() {
    const std::uint32_t before = state_.fetch_or(kRetired, std::memory_order_acq_rel);
    return (before & kRunning) != 0;
  }
  [[nodiscard]] bool running() const {
    return (state_.load(std::memory_order_acquire) & kRunning) != 0;
  }

 protected:
  /// Works for a while; true if work is left.
  virtual bool run() = 0;

 private:
  static constexpr std::uint32_t kReady = 1;
  static constexpr std::uint32_t kRunning = 2;
  static constexpr std::uint32_t kRetired = 4;

  bool stay_retired() {
    state_.store(kRetired, std::memory_order_release);
    return false;
  }

  std::atomic<std::uint32_t> state_{0};
};

/// Runs workers, kernels that they fork, and low-priority tasks.
///
/// Thread safety: everything may be called from any thread.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Has `runnable` run soon, in a thread or in a caller of `run_while`.
  virtual void ready(Runnable& runnable) = 0;

  /// Works (or waits) on the calling thread while `pending()` holds. `pending` is evaluated again
  /// after every slice this thread runs and after every `notify`. Must not be called by a worker,
  /// nor under a lock.
  virtual void run_while(FunctionRef<bool()> pending) = 0;

  /// Works on the calling thread until no worker is ready or running. Work from outside (timers,
  /// other threads) that comes later is not waited for.
  virtual void run_until_idle() = 0;

  /// Tells the callers of `run_while` that what they wait for may have happened.
  virtual void notify() = 0;

  /// More work came to a worker that was ready already; other threads may be worth waking.
  virtual void work_grew() {}

  /// Runs `body(0)` to `body(count - 1)`, perhaps on several threads, and returns when all are
  /// done. Isolated: while it waits, this thread runs no worker and no other fork. `body` must not
  /// make a worker ready and must not wait. Worth it from about 10 us of work in pieces of at least
  /// 6 us.
  virtual void fork(std::size_t count, FunctionRef<void(std::size_t)> body) = 0;

  /// How many threads a fork may use.
  [[nodiscard]] virtual std::size_t threads() const = 0;

  /// Runs `task` once, when workers leave a thread free. For merges and the like.
  virtual void post(base::Task task) = 0;

  /// Makes sure that `runnable` never runs again and is not running when this returns.
  virtual void retire(Runnable& runnable) = 0;

  /// Monotonic time as workers see it.
  [[nodiscard]] virtual base::Instant now() const = 0;

  /// A choice among `count` equally good ones; the simulator draws it, others take the first.
  virtual std::size_t choose(std::size_t count) {
    (void)count;
    return 0;
  }
  /// True if `choose` matters.
  [[nodiscard]] virtual bool simulated() const { return false; }

  /// While one is alive, a thread promises to call `run_while` soon, so that making workers ready
  /// need not wake another thread. Without it (or another running thread) a ready worker always
  /// wakes one.
  class Driver {
   public:
    explicit Driver(Executor& executor) : executor_(executor) { executor_.begin_driving(); }
    ~Driver() { executor_.end_driving(); }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

   private:
    Executor& executor_;
  };

 protected:
  virtual void begin_driving() {}
  virtual void end_driving() {}
};

}  // namespace timely
