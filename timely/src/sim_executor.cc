// SPDX-License-Identifier: Apache-2.0
#include <timely/sim_executor.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <freshet/base/assert.h>

namespace timely {

class SimExecutor::Timers final : public base::Scheduler, public base::Clock {
 public:
  void post(base::Task task) override { tasks_.push_back(std::move(task)); }
  void post_blocking(base::Task task) override { post(std::move(task)); }
  base::TimerId at(base::Instant when, base::TaskQueue& queue, base::Task task) override {
    const base::TimerId id = next_id_++;
    timers_.emplace(std::pair(when, id), Timer{queue.handle(), std::move(task)});
    return id;
  }
  bool cancel(base::TimerId timer) override {
    return std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; }) >
           0;
  }
  [[nodiscard]] const base::Clock& clock() const override { return *this; }

  [[nodiscard]] base::WallMicros wall_micros() const override {
    constexpr base::WallMicros kStart = 1'700'000'000'000'000;
    return kStart + static_cast<base::WallMicros>(now_.time_since_epoch().count() / 1000);
  }
  [[nodiscard]] base::Instant now() const override { return now_; }

  void pass(std::chrono::nanoseconds time) {
    now_ += time;
    while (!timers_.empty() && timers_.begin()->first.first <= now_) {
      auto timer = timers_.extract(timers_.begin());
      timer.mapped().queue->post(std::move(timer.mapped().task));
    }
  }
  bool pass_to_next() {
    if (timers_.empty()) return false;
    pass(std::max(timers_.begin()->first.first - now_, std::chrono::nanoseconds(0)));
    return true;
  }
  [[nodiscard]] std::size_t waiting() const { return tasks_.size(); }
  void run_task(std::size_t place) {
    base::Task task = std::move(tasks_[place]);
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(place));
    task();
  }

 private:
  struct Timer {
    std::shared_ptr<base::TaskQueue> queue;
    base::Task task;
  };
  base::Instant now_{};
  base::TimerId next_id_ = 1;
  std::map<std::pair<base::Instant, base::TimerId>, Timer> timers_;
  std::vector<base::Task> tasks_;
};

SimExecutor::SimExecutor(std::uint64_t seed)
    : random_(seed), alive_(std::make_shared<bool>(true)), timers_(std::make_unique<Timers>()) {}

SimExecutor::SimExecutor(std::uint64_t seed, base::Scheduler& outer, std::function<bool()> drive)
    : SimExecutor(seed) {
  outer_ = &outer;
  drive_ = std::move(drive);
}

SimExecutor::~SimExecutor() { *alive_ = false; }

base::Scheduler& SimExecutor::scheduler() {
  if (outer_ != nullptr) return *outer_;
  return *timers_;
}

base::Instant SimExecutor::now() const {
  return outer_ != nullptr ? outer_->clock().now() : timers_->now();
}

void SimExecutor::ready(Runnable& runnable) {
  FRESHET_ASSERT(!forking_, "a worker was made ready inside a forked kernel");
  if (runnable.mark_ready()) list(runnable);
}

void SimExecutor::list(Runnable& runnable) {
  ready_.push_back(&runnable);
  if (outer_ == nullptr) return;
  outer_->post([this, alive = alive_] {
    if (*alive) step();
  });
}

void SimExecutor::post(base::Task task) { scheduler().post(std::move(task)); }

bool SimExecutor::busy() const { return !ready_.empty() || timers_->waiting() > 0; }

bool SimExecutor::step() {
  timers_->pass(std::chrono::microseconds(1));
  const std::size_t choices = ready_.size() + timers_->waiting();
  if (choices == 0) return false;
  const std::size_t choice = choose(choices);
  if (choice >= ready_.size()) {
    timers_->run_task(choice - ready_.size());
    return true;
  }
  Runnable* runnable = ready_[choice];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(choice));
  if (runnable->run_slice()) list(*runnable);
  return true;
}

bool SimExecutor::advance_to_next_timer() { return timers_->pass_to_next(); }

void SimExecutor::run_while(FunctionRef<bool()> pending) {
  while (pending()) {
    if (outer_ != nullptr ? drive_() : step() || advance_to_next_timer()) continue;
    FRESHET_ASSERT(!pending(), "a caller waits and nothing can happen any more");
  }
}

void SimExecutor::run_until_idle() {
  while (busy()) step();
}

void SimExecutor::fork(std::size_t count, FunctionRef<void(std::size_t)> body) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool outer = std::exchange(forking_, true);
  for (std::size_t left = count; left > 0; --left) {
    std::swap(order[left - 1], order[choose(left)]);
    body(order[left - 1]);
  }
  forking_ = outer;
}

void SimExecutor::retire(Runnable& runnable) {
  runnable.retire();
  std::erase(ready_, &runnable);
}

}  // namespace timely
