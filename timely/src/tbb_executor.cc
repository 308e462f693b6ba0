// SPDX-License-Identifier: Apache-2.0
#include <timely/tbb_executor.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <freshet/base/assert.h>

#include "tbb_tasks.h"

namespace timely {
namespace {

constexpr std::uint64_t kWorthAThreadNs = 10'000;
constexpr int kSpins = 400;

/// A caller that sleeps.
struct Parked {
  std::condition_variable changed{};
  bool woken = false;
  bool counted = false;  // woken to run workers, and counted as a runner already
};

// What crosses to another thread does so under the mutex or through an atomic of ours, never inside
// a TBB task alone: the library is not instrumented, so ThreadSanitizer would not see the order.
// The tasks hold one pointer, in classes that the suppression file names.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(TbbOptions options)
      : threads_(options.threads),
        limit_(tbb::global_control::max_allowed_parallelism, options.threads + 1),
        arena_(static_cast<int>(2 * options.threads), static_cast<unsigned>(options.threads)) {
    FRESHET_ASSERT(options.threads >= 1);
    gate_.open();
  }

  ~TbbExecutor() override {
    std::unique_lock lock(mutex_);
    FRESHET_ASSERT(ready_.empty(), "an executor was destroyed before its workers");
    quiet_.wait(lock, [&] { return tasks_ == 0; });
  }

  void ready(Runnable& runnable) override {
    if (!runnable.mark_ready()) return;
    {
      std::lock_guard lock(mutex_);
      list(runnable);
      staff();
    }
  }

  void work_grew() override {
    std::lock_guard lock(mutex_);
    staff();
  }

  void notify() override {
    // The caller stored what somebody may wait for; a sleeper counts itself before it looks again.
    // Both change `parked_count_`, so the later of the two sees what the other did before.
    if (parked_count_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    {
      std::lock_guard lock(mutex_);
      unpark_all();
    }
  }

  void run_while(FunctionRef<bool()> pending) override {
    bool running = false;
    while (pending()) {
      if (!running) running = sign_on();
      if (running && run_next()) continue;
      if (running && spin(pending)) continue;
      running = park(pending, running);
    }
    if (running) sign_off();
  }

  void run_until_idle() override {
    run_while([this] {
      std::lock_guard lock(mutex_);
      return !ready_.empty() || !in_flight_.empty();
    });
  }

  void fork(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    if (count == 0) return;
    if (count == 1) {
      body(0);
      return;
    }
    Fork fork{body, count};
    fork.gate.open();
    arena_.execute([&] {
      tbb::this_task_arena::isolate([&] {
        tbb::task_group group;
        const std::size_t helpers = std::min(count, threads_) - 1;
        for (std::size_t i = 0; i < helpers; ++i) group.run(ForkTask{&fork});
        ForkTask{&fork}();
        group.wait();
      });
    });
    FRESHET_ASSERT(fork.gate.sum() == count);
  }

  [[nodiscard]] std::size_t threads() const override { return threads_; }

  void post(base::Task task) override {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    ++tasks_;
    start_posted();
  }

  void retire(Runnable& runnable) override {
    runnable.retire();
    std::unique_lock lock(mutex_);
    std::erase(ready_, &runnable);
    ready_count_.store(ready_.size(), std::memory_order_relaxed);
    quiet_.wait(lock, [&] { return std::ranges::find(in_flight_, &runnable) == in_flight_.end(); });
  }

  [[nodiscard]] base::Instant now() const override { return std::chrono::steady_clock::now(); }

  Gate& gate() { return gate_; }

 protected:
  void begin_driving() override {
    std::lock_guard lock(mutex_);
    ++drivers_;
  }
  void end_driving() override {
    std::lock_guard lock(mutex_);
    --drivers_;
    staff();
  }

 private:
  // --- Under mutex_.

  void list(Runnable& runnable) {
    ready_.push_back(&runnable);
    ready_count_.store(ready_.size(), std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t waiting_ns() const {
    std::uint64_t sum = 0;
    for (const Runnable* runnable : ready_) sum += runnable->queued_ns();
    return sum;
  }

  // Adds a runner if work waits and nobody is there for it, or if there is enough for one more.
  void staff() {
    if (ready_.empty() || runners_ >= threads_) return;
    const bool nobody = runners_ == 0 && (drivers_ == 0 || !parked_.empty());
    if (!nobody && (runners_ == 0 || waiting_ns() < kWorthAThreadNs)) return;
    ++runners_;
    if (parked_.empty()) {
      ++tasks_;
      arena_.enqueue(OwnerTask<TbbExecutor, &TbbExecutor::help>{this});
      return;
    }
    Parked* sleeper = parked_.back();
    sleeper->counted = true;
    unpark(sleeper);
  }

  void unpark(Parked* sleeper) {
    std::erase(parked_, sleeper);
    parked_count_.fetch_sub(1, std::memory_order_acq_rel);
    sleeper->woken = true;
    sleeper->changed.notify_one();
  }
  void unpark_all() {
    while (!parked_.empty()) unpark(parked_.back());
  }

  Runnable* take() {
    if (ready_.empty()) return nullptr;
    Runnable* runnable = ready_.front();
    ready_.pop_front();
    ready_count_.store(ready_.size(), std::memory_order_relaxed);
    in_flight_.push_back(runnable);
    return runnable;
  }

  void put_back(Runnable* runnable, bool again) {
    std::erase(in_flight_, runnable);
    if (again) list(*runnable);
    quiet_.notify_all();
  }

  // --- Without the lock.

  // Runs a slice of the next ready worker; false if there is none.
  bool run_next() {
    Runnable* runnable = nullptr;
    {
      std::lock_guard lock(mutex_);
      runnable = take();
      staff();  // for those left in the list
    }
    if (runnable == nullptr) return false;
    run(runnable);
    return true;
  }

  void run(Runnable* runnable) {
    const bool again = runnable->run_slice();
    std::lock_guard lock(mutex_);
    put_back(runnable, again);
    staff();
  }

  bool sign_on() {
    std::lock_guard lock(mutex_);
    if (runners_ >= threads_) return false;
    ++runners_;
    return true;
  }
  void sign_off() {
    std::lock_guard lock(mutex_);
    --runners_;
    staff();
    if (runners_ == 0 && in_flight_.empty()) unpark_all();
  }

  // True if there may be something to do.
  bool spin(FunctionRef<bool()> pending) {
    for (int i = 0; i < kSpins; ++i) {
      if (ready_count_.load(std::memory_order_relaxed) > 0 || !pending()) return true;
      __builtin_ia32_pause();
    }
    return false;
  }

  // Sleeps until woken; true if the caller counts as a runner afterwards.
  bool park(FunctionRef<bool()> pending, bool running) {
    Parked parked;
    std::unique_lock lock(mutex_);
    if (running) --runners_;
    if (!ready_.empty() && runners_ < threads_) {
      ++runners_;
      return true;
    }
    parked_.push_back(&parked);
    parked_count_.fetch_add(1, std::memory_order_acq_rel);
    lock.unlock();
    const bool still_pending = pending();
    lock.lock();
    if (!still_pending && !parked.woken) unpark(&parked);
    parked.changed.wait(lock, [&] { return parked.woken; });
    return parked.counted;
  }

  // One slice, then again as a new task, because a task that loops cannot steal forks.
  void help() {
    const bool ran = run_next();
    std::lock_guard lock(mutex_);
    if (ran && !ready_.empty()) {
      arena_.enqueue(OwnerTask<TbbExecutor, &TbbExecutor::help>{this});
      return;
    }
    --runners_;
    --tasks_;
    staff();
    // At rest, whatever callers wait for may have happened without a notice.
    if (runners_ == 0 && in_flight_.empty()) unpark_all();
    quiet_.notify_all();
  }

  // Under mutex_. Posted tasks leave one thread to workers.
  void start_posted() {
    const std::size_t most = std::max<std::size_t>(threads_, 2) - 1;
    if (posted_.empty() || posted_running_ >= most) return;
    ++posted_running_;
    arena_.enqueue(OwnerTask<TbbExecutor, &TbbExecutor::run_posted>{this});
  }

  void run_posted() {
    base::Task task;
    {
      std::lock_guard lock(mutex_);
      task = std::move(posted_.front());
      posted_.pop_front();
    }
    task();
    task = nullptr;
    std::lock_guard lock(mutex_);
    --posted_running_;
    --tasks_;
    start_posted();
    quiet_.notify_all();
  }

  const std::size_t threads_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
  std::mutex mutex_;
  std::condition_variable quiet_;
  std::deque<Runnable*> ready_;
  std::deque<base::Task> posted_;
  std::vector<Runnable*> in_flight_;
  std::vector<Parked*> parked_;
  std::size_t runners_ = 0;
  std::size_t drivers_ = 0;
  std::size_t tasks_ = 0;  // handed over and not finished
  std::size_t posted_running_ = 0;
  Gate gate_;
  std::atomic<std::size_t> ready_count_{0};
  std::atomic<std::size_t> parked_count_{0};
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(TbbOptions options) {
  return std::make_unique<TbbExecutor>(options);
}

}  // namespace timely
