// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <freshet/base/assert.h>
#include <freshet/base/scheduler.h>

namespace freshet::base {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallMicros wall_micros() const override {
    using namespace std::chrono;
    return static_cast<WallMicros>(
        duration_cast<microseconds>(system_clock::now().time_since_epoch()).count());
  }
  [[nodiscard]] Instant now() const override {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now());
  }
};

/// Threads that take tasks from one queue, started as they are needed, up to a limit.
class Pool {
 public:
  explicit Pool(unsigned limit) : limit_(limit) { FRESHET_ASSERT(limit > 0); }
  ~Pool() { stop(); }

  void post(Task task) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
    if (idle_ >= tasks_.size() || threads_.size() >= limit_) {
      wake_.notify_one();
    } else {
      threads_.emplace_back([this] { run(); });
    }
  }

  void stop() {
    std::deque<Task> dropped;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      dropped.swap(tasks_);
      wake_.notify_all();
    }
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (stopping_) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  unsigned limit_;
  bool stopping_ = false;
};

/// One thread that posts each timer's task when it is due; asleep while none is.
class Timers {
 public:
  explicit Timers(const Clock& clock) : clock_(clock), thread_([this] { run(); }) {}
  ~Timers() { stop(); }

  TimerId add(Instant when, TaskQueue& queue, Task task) {
    const std::lock_guard lock(mutex_);
    const TimerId id = ++last_id_;
    if (stopping_) return id;
    const bool first = due_.empty() || when < due_.begin()->first.first;
    due_.emplace(std::pair(when, id), Entry{queue.handle(), std::move(task)});
    when_.emplace(id, when);
    if (first) wake_.notify_one();
    return id;
  }

  bool cancel(TimerId id) {
    Entry dropped;
    const std::lock_guard lock(mutex_);
    auto it = when_.find(id);
    if (it == when_.end()) return false;
    auto entry = due_.find({it->second, id});
    dropped = std::move(entry->second);
    due_.erase(entry);
    when_.erase(it);
    return true;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      wake_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Entry {
    std::shared_ptr<TaskQueue> queue;
    Task task;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (due_.empty()) {
        wake_.wait(lock);
        continue;
      }
      const Instant when = due_.begin()->first.first;
      if (clock_.now() < when) {
        wake_.wait_until(lock, when);
        continue;
      }
      auto node = due_.extract(due_.begin());
      when_.erase(node.key().second);
      lock.unlock();  // a queue that is gone drops the task here, and what dies with it may cancel other timers
      node.mapped().queue->post(std::move(node.mapped().task));
      node = {};
      lock.lock();
    }
  }

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::pair<Instant, TimerId>, Entry> due_;
  std::unordered_map<TimerId, Instant> when_;
  TimerId last_id_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

class ThreadScheduler final : public Scheduler {
 public:
  ThreadScheduler(unsigned threads, unsigned blocking_threads)
      : tasks_(threads), blocking_(blocking_threads), timers_(clock_) {}
  ~ThreadScheduler() override { stop(); }

  void stop() override {
    timers_.stop();
    blocking_.stop();
    tasks_.stop();
  }

  void post(Task task) override { tasks_.post(std::move(task)); }
  void post_blocking(Task task) override { blocking_.post(std::move(task)); }
  TimerId at(Instant when, TaskQueue& queue, Task task) override {
    return timers_.add(when, queue, std::move(task));
  }
  bool cancel(TimerId timer) override { return timers_.cancel(timer); }
  [[nodiscard]] const Clock& clock() const override { return clock_; }

 private:
  SystemClock clock_;
  Pool tasks_;
  Pool blocking_;
  Timers timers_;
};

}  // namespace

std::unique_ptr<Scheduler> make_thread_scheduler(unsigned threads, unsigned blocking_threads) {
  return std::make_unique<ThreadScheduler>(threads, blocking_threads);
}

std::unique_ptr<Clock> make_system_clock() { return std::make_unique<SystemClock>(); }

}  // namespace freshet::base
