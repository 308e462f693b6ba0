// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <freshet/base/assert.h>
#include <freshet/base/scheduler.h>

namespace freshet::base {

struct Strand::State final : TaskQueue, std::enable_shared_from_this<Strand::State> {
  explicit State(Scheduler& s) : scheduler(s) {}

  void post(Task task) override {
    if (add(std::move(task))) schedule();
  }
  [[nodiscard]] std::shared_ptr<TaskQueue> handle() override { return shared_from_this(); }

  // True if the caller has to see to it that the strand runs.
  bool add(Task task) {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    waiting.push_back(std::move(task));
    return !std::exchange(active, true);
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
      if (state_ == nullptr) return;
      state_->shut();
    }
    void operator()() { std::exchange(state_, nullptr)->run(); }

   private:
    std::shared_ptr<State> state_;
  };

  /// The calling thread is inside the strand while this lives, and no other is: what runs belongs to it. A runner and
  /// `shut` take turns this way; whoever comes after a `shut` finds nothing to run. `closed` is looked at after the mark
  /// is taken back, and whoever sleeps here has seen `closed` before: one of the two sees the other.
  class Here {
   public:
    explicit Here(State& state) : state_(state) {
      for (std::thread::id other; !state_.runner.compare_exchange_strong(other, std::this_thread::get_id()); other = {}) {
        if (state_.closed) {
          state_.runner.wait(other);
        } else {
          std::this_thread::yield();  // the runner before is on its last step out
        }
      }
    }
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
    ~Here() {
      state_.runner = std::thread::id();
      if (state_.closed) state_.runner.notify_all();
    }

   private:
    State& state_;
  };

  void shut() {
    std::vector<Task> dropped = take_waiting();
    if (runner == std::this_thread::get_id()) return;
    const Here here(*this);  // what is dropped may share with what runs
    drop_running();
    dropped.clear();
  }

  void schedule() { scheduler.post(Runner(shared_from_this())); }

  // Closes. Destroying a task may post to this strand: not under the lock.
  std::vector<Task> take_waiting() {
    const std::lock_guard lock(mutex);
    closed = true;
    return std::exchange(waiting, {});
  }

  // A few tasks per turn, so that one busy strand does not hold a thread for ever.
  void run() {
    constexpr int kTasksPerTurn = 16;
    for (int turn = 0; turn < kTasksPerTurn; ++turn) {
      const Here here(*this);
      if (closed) return drop_running();
      if (next == running.size() && !refill()) return;
      Task task = std::move(running[next++]);
      task();
    }
    schedule();
  }

  // Takes all that waits at once; false if there is nothing, and the strand is idle from then on.
  bool refill() {
    running.clear();
    next = 0;
    const std::lock_guard lock(mutex);
    running.swap(waiting);
    if (running.empty()) active = false;
    return !running.empty();
  }

  // By whoever is inside.
  void drop_running() {
    const auto dropped = std::exchange(running, {});
    next = 0;
  }

  Scheduler& scheduler;
  std::mutex mutex;
  std::vector<Task> waiting;
  bool active = false;
  std::atomic<bool> closed{false};
  // Of the run that is on, or of the next.
  std::vector<Task> running;
  std::size_t next = 0;
  std::atomic<std::thread::id> runner;
};

Strand::Strand(Scheduler& scheduler) : state_(std::make_shared<State>(scheduler)) {}
Strand::~Strand() { close(); }

void Strand::post(Task task) { state_->post(std::move(task)); }

std::shared_ptr<TaskQueue> Strand::handle() { return state_; }

void Strand::run_or_post(Task task) {
  const std::shared_ptr<State> state = state_;
  if (state->add(std::move(task))) state->run();
}

void Strand::close() { (void)state_->take_waiting(); }

void Strand::shut() { state_->shut(); }

bool Strand::running_here() const { return state_->runner == std::this_thread::get_id(); }

}  // namespace freshet::base
