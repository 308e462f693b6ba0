// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <mutex>
#include <thread>

#include <freshet/base/assert.h>
#include <freshet/base/scheduler.h>

namespace freshet::base {

struct Strand::State : std::enable_shared_from_this<Strand::State> {
  explicit State(Scheduler& s) : scheduler(s) {}

  void post(Task task) {
    {
      std::lock_guard lock(mutex);
      if (closed) return;
      tasks.push_back(std::move(task));
      if (active) return;
      active = true;
    }
    schedule();
  }

  void schedule() {
    scheduler.post([self = shared_from_this()] { self->run(); });
  }

  // A few tasks per turn, so that one busy strand does not hold a thread for ever.
  void run() {
    for (int turn = 0; turn < 16; ++turn) {
      Task task;
      {
        std::lock_guard lock(mutex);
        if (tasks.empty()) {
          active = false;
          return;
        }
        task = std::move(tasks.front());
        tasks.pop_front();
        runner = std::this_thread::get_id();
      }
      task();
      std::lock_guard lock(mutex);
      runner = {};
    }
    schedule();
  }

  Scheduler& scheduler;
  std::mutex mutex;
  std::deque<Task> tasks;
  std::thread::id runner;
  bool active = false;
  bool closed = false;
};

Strand::Strand(Scheduler& scheduler) : state_(std::make_shared<State>(scheduler)) {}
Strand::~Strand() { close(); }

void Strand::post(Task task) { state_->post(std::move(task)); }

void Strand::close() {
  std::deque<Task> dropped;  // outlives the lock: destroying a task may post to this strand
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  dropped.swap(state_->tasks);
}

bool Strand::running_here() const {
  std::lock_guard lock(state_->mutex);
  return state_->runner == std::this_thread::get_id();
}

}  // namespace freshet::base
