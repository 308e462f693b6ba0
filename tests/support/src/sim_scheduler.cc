// SPDX-License-Identifier: Apache-2.0
#include <testing/sim_scheduler.h>

#include <algorithm>

namespace testing {

using freshet::base::Instant;
using freshet::base::Task;
using freshet::base::TaskQueue;
using freshet::base::TimerId;

namespace {
constexpr std::uint64_t kFirstWallMicros = 1'700'000'000'000'000;
constexpr std::uint64_t kBlockingMicros = 300;
}  // namespace

freshet::base::WallMicros SimScheduler::SimClock::wall_micros() const {
  const auto since_start =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  return static_cast<freshet::base::WallMicros>(static_cast<std::int64_t>(kFirstWallMicros) +
                                                since_start + skew_micros);
}

void SimScheduler::Process::post(Task task) {
  if (alive_) sim_.ready_.push_back({id_, std::move(task)});
}

void SimScheduler::Process::post_blocking(Task task) {
  if (!alive_) return;
  const auto delay = std::chrono::microseconds(sim_.random_.below(kBlockingMicros));
  sim_.add_timer(sim_.clock_.time + delay, {id_, handle(), std::move(task)});
}

TimerId SimScheduler::Process::at(Instant when, TaskQueue& queue, Task task) {
  if (!alive_) return ++sim_.last_timer_;
  return sim_.add_timer(when, {id_, queue.handle(), std::move(task)});
}

bool SimScheduler::Process::cancel(TimerId timer) {
  const auto due = sim_.due_.find(timer);
  if (due == sim_.due_.end()) return false;
  const auto node = sim_.timers_.extract({due->second, timer});
  sim_.due_.erase(due);
  return true;  // the task dies here, after the books are in order
}

void SimScheduler::Process::kill() {
  alive_ = false;
  sim_.drop(id_);
}

SimScheduler::SimScheduler(std::uint64_t seed) : random_(seed) {}

SimScheduler::~SimScheduler() {
  for (const auto& process : processes_) process->kill();
}

SimScheduler::Process& SimScheduler::new_process() {
  processes_.push_back(std::make_unique<Process>(*this, processes_.size()));
  return *processes_.back();
}

TimerId SimScheduler::add_timer(Instant when, Timer timer) {
  const TimerId id = ++last_timer_;
  timers_.emplace(TimerKey{when, id}, std::move(timer));
  due_.emplace(id, when);
  return id;
}

void SimScheduler::drop(std::uint64_t process) {
  // Destroying a task may post more or cancel timers: take everything out first.
  std::vector<Ready> dead_tasks;
  std::vector<Timer> dead_timers;
  const auto rest = std::stable_partition(
      ready_.begin(), ready_.end(), [&](const Ready& ready) { return ready.process != process; });
  std::move(rest, ready_.end(), std::back_inserter(dead_tasks));
  ready_.erase(rest, ready_.end());
  for (auto it = timers_.begin(); it != timers_.end();) {
    if (it->second.process != process) {
      ++it;
      continue;
    }
    due_.erase(it->first.second);
    dead_timers.push_back(std::move(it->second));
    it = timers_.erase(it);
  }
}

bool SimScheduler::fire_next_timer(Instant end) {
  if (timers_.empty() || timers_.begin()->first.first > end) return false;
  auto node = timers_.extract(timers_.begin());
  due_.erase(node.key().second);
  clock_.time = std::max(clock_.time, node.key().first);
  node.mapped().queue->post(std::move(node.mapped().task));
  return true;
}

void SimScheduler::run_one() {
  const std::size_t choice = random_.below(ready_.size());
  std::swap(ready_[choice], ready_.back());
  Ready chosen = std::move(ready_.back());
  ready_.pop_back();
  ++steps_;
  chosen.task();
}

bool SimScheduler::step() {
  while (ready_.empty()) {
    if (!fire_next_timer(Instant::max())) return false;
  }
  run_one();
  return true;
}

void SimScheduler::run_ready() {
  while (!ready_.empty()) run_one();
}

void SimScheduler::run_for(std::chrono::nanoseconds duration) {
  const Instant end = clock_.time + duration;
  do {
    run_ready();
  } while (fire_next_timer(end));
  clock_.time = end;
}

}  // namespace testing
