// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

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

  /// What the scheduler has of the strand. If it is dropped without having run (a stopped scheduler, a
  /// killed process of a simulation), nobody will ever run the strand's tasks: they are dropped, too,
  /// and with them what they keep alive.
  class Runner {
   public:
    explicit Runner(std::shared_ptr<State> state) : state_(std::move(state)) {}
    Runner(Runner&&) noexcept = default;
    Runner& operator=(Runner&&) = delete;
    ~Runner() {
      if (state_ != nullptr) state_->close();
    }
    void operator()() { std::exchange(state_, nullptr)->run(); }

   private:
    std::shared_ptr<State> state_;
  };

  void schedule() { scheduler.post(Runner(shared_from_this())); }

  void close() {
    std::deque<Task> dropped;  // outlives the lock: destroying a task may post to this strand
    const std::lock_guard lock(mutex);
    closed = true;
    dropped.swap(tasks);
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

void Strand::close() { state_->close(); }

bool Strand::running_here() const {
  std::lock_guard lock(state_->mutex);
  return state_->runner == std::this_thread::get_id();
}

}  // namespace freshet::base
