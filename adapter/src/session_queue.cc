// SPDX-License-Identifier: Apache-2.0
#include <freshet/adapter/session_queue.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace freshet::adapter {

struct SessionQueue::State : std::enable_shared_from_this<SessionQueue::State> {
  explicit State(base::Scheduler& s) : scheduler(s) {}

  // True if the caller has to see to it that the queue runs.
  bool add(base::Task task) {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    waiting.push_back(std::move(task));
    return !std::exchange(active, true);
  }

  /// What the scheduler has of the queue. If it is dropped without having run (a stopped scheduler, a killed process
  /// of a simulation), nobody will ever run the tasks: they are dropped, too.
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
    std::vector<base::Task> dropped;  // outlives the lock: destroying a task may post to this queue
    const std::lock_guard lock(mutex);
    closed = true;
    dropped.swap(waiting);
  }

  // All that waits is taken at once; a busy queue leaves the thread after a few rounds. `running` is this run's own.
  void run() {
    constexpr int kRounds = 16;
    for (int round = 0; round < kRounds; ++round) {
      {
        const std::lock_guard lock(mutex);
        running.clear();
        if (waiting.empty()) {
          active = false;
          return;
        }
        running.swap(waiting);
      }
      for (base::Task& task : running) {
        if (closed.load(std::memory_order_relaxed)) break;
        task();
        task = nullptr;
      }
    }
    running.clear();
    schedule();
  }

  base::Scheduler& scheduler;
  std::mutex mutex;
  std::vector<base::Task> waiting;
  std::vector<base::Task> running;
  bool active = false;
  std::atomic<bool> closed{false};
};

SessionQueue::SessionQueue(base::Scheduler& scheduler) : state_(std::make_shared<State>(scheduler)) {}
SessionQueue::~SessionQueue() { state_->close(); }

void SessionQueue::post(base::Task task) {
  if (state_->add(std::move(task))) state_->schedule();
}

void SessionQueue::run_or_post(base::Task task) {
  const std::shared_ptr<State> state = state_;
  if (state->add(std::move(task))) state->run();
}

}  // namespace freshet::adapter
