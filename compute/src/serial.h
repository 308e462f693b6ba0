// SPDX-License-Identifier: Apache-2.0
/// Runs the tasks of one owner one at a time; once `close` returned, none of them runs any more.
///
/// A future may outlive its reader, and it keeps a plain reference to the queue it answers on. So answers come
/// through the scheduler, which outlives everything, and find out there whether their owner still exists.
///
/// Thread safety: all methods, from any thread; `close` may be called by a task of its own.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <freshet/base/future.h>
#include <freshet/base/scheduler.h>

namespace freshet::compute {

class Serial {
 public:
  explicit Serial(base::Scheduler& scheduler)
      : scheduler_(scheduler), state_(std::make_shared<State>(scheduler)) {}
  ~Serial() { close(); }
  Serial(const Serial&) = delete;
  Serial& operator=(const Serial&) = delete;

  void post(base::Task task) { post_to(state_, std::move(task)); }

  /// Runs `f(Result<T>)` as a task of this object when the answer is there.
  template <typename T, typename F>
  void when_ready(base::Future<T> future, F f) {
    std::move(future).on_ready(
        scheduler_, [weak = std::weak_ptr<State>(state_), f = std::move(f)](Result<T> r) mutable {
          std::shared_ptr<State> state = weak.lock();
          if (state == nullptr) return;
          post_to(state, [f = std::move(f), r = std::move(r)]() mutable { f(std::move(r)); });
        });
  }

  void close() {
    if (state_->strand.running_here()) {
      state_->closed = true;
      return;
    }
    std::lock_guard lock(state_->running);
    state_->closed = true;
  }
  [[nodiscard]] base::Scheduler& scheduler() const { return scheduler_; }

  /// A handle for callbacks of others that may come after this object is gone.
  [[nodiscard]] base::UniqueFunction<void(base::Task)> poster() {
    return [weak = std::weak_ptr<State>(state_)](base::Task task) {
      if (std::shared_ptr<State> state = weak.lock()) post_to(state, std::move(task));
    };
  }

 private:
  struct State {
    explicit State(base::Scheduler& scheduler) : strand(scheduler) {}
    base::Strand strand;
    std::mutex running;  // held while a task runs
    bool closed = false;
  };
  static void post_to(const std::shared_ptr<State>& state, base::Task task) {
    state->strand.post([weak = std::weak_ptr<State>(state), task = std::move(task)]() mutable {
      std::shared_ptr<State> alive = weak.lock();
      if (alive == nullptr) return;
      std::lock_guard lock(alive->running);
      if (!alive->closed) task();
    });
  }

  base::Scheduler& scheduler_;
  std::shared_ptr<State> state_;
};

}  // namespace freshet::compute
