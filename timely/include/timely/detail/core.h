// SPDX-License-Identifier: Apache-2.0
/// The machinery that does not depend on times or messages: workers, instances of dataflows and
/// operators, and the senders that post progress before they deliver mail.
///
/// One `DataflowState` per dataflow is shared by all workers; each worker owns its `WorkerDataflow`
/// there and everything below it, single-threaded. What crosses threads: mailboxes, the tracker
/// (under the dataflow's mutex), and the atomics named below.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <freshet/base/assert.h>
#include <freshet/base/guarded.h>
#include <timely/detail/mailbox.h>
#include <timely/event_log.h>
#include <timely/executor.h>

namespace timely {

/// Which of two queues of a worker its operators wait in: bulk ones run when no latency one waits.
enum class Lane : std::uint8_t { kLatency, kBulk };

/// When an operator is run because the frontier of one of its inputs moved.
enum class FrontierInterest : std::uint8_t {
  kNever,         ///< It may not even look: its ports cost the tracker nothing.
  kIfCapability,  ///< Only while it holds a capability.
  kAlways,
};

}  // namespace timely

namespace timely::detail {

class DataflowState;
class OperatorCore;
class Worker;
class WorkerDataflow;
struct RuntimeCore;

/// A counted pointer to a `DataflowState`; the count is inside it.
class DataflowRef {
 public:
  DataflowRef() = default;
  explicit DataflowRef(DataflowState* state);
  DataflowRef(const DataflowRef& other) : DataflowRef(other.state_) {}
  DataflowRef(DataflowRef&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  DataflowRef& operator=(DataflowRef other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~DataflowRef();
  DataflowState* operator->() const { return state_; }
  DataflowState& operator*() const { return *state_; }
  explicit operator bool() const { return state_ != nullptr; }

 private:
  DataflowState* state_ = nullptr;
};

/// Told, after the tracker's lock is released, that a frontier it watches moved.
class FrontierListener {
 public:
  virtual ~FrontierListener() = default;
  /// `by` is the worker that posted, on whose thread this is called, or `Sender::kOutside`.
  virtual void frontier_moved(std::size_t by) = 0;
};

/// The count changes of one sender in one scope that are not yet posted.
class ProgressLogBase {
 public:
  virtual ~ProgressLogBase() = default;
  /// True if the changes cancel.
  virtual bool settled() = 0;
  /// Adds the changes to the tracker; the caller holds the dataflow's mutex. Returns how many.
  virtual std::size_t apply() = 0;
  virtual void forget() = 0;
  bool touched = false;
};

/// The part of a scope's tracker that the posting drives; see tracker.h.
class ScopeTracker {
 public:
  virtual ~ScopeTracker() = default;
  /// Works out what leaves the scope because of what is in it, and tells the scope around.
  virtual void settle_outward() = 0;
  /// Works out every frontier, publishes them and collects whom to tell.
  virtual void settle_inward(std::vector<FrontierListener*>& moved) = 0;
};

/// Whoever sends messages into a dataflow: the instance on a worker, or an input handle outside.
class Sender {
 public:
  static constexpr std::size_t kOutside = ~std::size_t{0};

  Sender(DataflowState& dataflow, std::size_t worker) : dataflow_(dataflow), worker_(worker) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender();

  [[nodiscard]] DataflowState& dataflow() const { return dataflow_; }
  /// Index of the worker, or kOutside.
  [[nodiscard]] std::size_t worker_index() const { return worker_; }

  /// Keeps mail for another worker until the next posting.
  void stage(std::size_t worker, MailNode* mail, std::size_t records) {
    outbox_.push_back({worker, mail, records});
  }
  void touch(ProgressLogBase& log) {
    log.touched = true;
    touched_.push_back(&log);
    touched_now();
  }
  /// Posts all changes as one, then delivers the staged mail, then tells who waits for frontiers.
  void post();
  /// Drops what is not posted.
  void forget();
  /// Keeps something alive as long as the sender (its pushers).
  void keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }
  /// Makes the log of each scope, in the order of the scopes.
  void add_log(std::unique_ptr<ProgressLogBase> log) { logs_.push_back(std::move(log)); }
  [[nodiscard]] ProgressLogBase& log(std::size_t scope) { return *logs_[scope]; }

 protected:
  virtual void touched_now() {}
  virtual void record(EventKind kind, std::uint64_t value) {
    (void)kind;
    (void)value;
  }
  std::vector<std::shared_ptr<void>> kept_;

 private:
  struct Staged {
    std::size_t worker;
    MailNode* mail;
    std::size_t records;
  };
  DataflowState& dataflow_;
  std::size_t worker_;
  std::vector<std::unique_ptr<ProgressLogBase>> logs_;
  std::vector<ProgressLogBase*> touched_;
  std::vector<Staged> outbox_;
  std::vector<FrontierListener*> moved_;
};

/// An operator on one worker: the shell around the user's logic. The shell lives as long as the
/// dataflow's state; the logic is made and destroyed on the worker. As mail it means "run me".
class OperatorCore : public MailNode, public FrontierListener {
 public:
  OperatorCore(WorkerDataflow& home, std::uint32_t index) : home_(home), index_(index) {}

  /// Any thread: has the operator run soon.
  void notify();
  /// Own worker: the same, without mail.
  void activate();

  void deliver() override;
  void discard() override;
  void frontier_moved(std::size_t by) override;

  [[nodiscard]] WorkerDataflow& home() const { return home_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }

  /// Calls the factory.
  virtual void create() = 0;
  virtual void run() = 0;
  /// Destroys the logic, its capabilities and waiting messages.
  virtual void destroy() = 0;

  /// Own worker: counts capabilities held, for kIfCapability.
  void hold(std::int64_t delta) {
    held_.store(held_.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t held() const { return held_.load(std::memory_order_relaxed); }

 protected:
  /// Of two threads that call this, the later one sees all that the earlier one did before.
  void shake_hands() { handshake_.fetch_add(1, std::memory_order_acq_rel); }
  FrontierInterest interest_ = FrontierInterest::kNever;  // the strongest of its inputs

 private:
  friend class Worker;
  friend class WorkerDataflow;

  WorkerDataflow& home_;
  std::uint32_t index_;
  bool active_ = false;
  std::atomic<bool> mailed_{false};
  std::atomic<std::int64_t> held_{0};
  std::atomic<std::uint32_t> handshake_{0};
  DataflowRef keep_;  // while mailed
};

/// The instance of a dataflow on one worker.
class WorkerDataflow final : public Sender {
 public:
  WorkerDataflow(DataflowState& dataflow, Worker& worker, std::size_t index);
  ~WorkerDataflow() override;

  [[nodiscard]] Worker& worker() const { return worker_; }
  void add(std::unique_ptr<OperatorCore> core) { operators_.push_back(std::move(core)); }
  [[nodiscard]] const std::vector<std::unique_ptr<OperatorCore>>& operators() const {
    return operators_;
  }

  /// True between install and destroy: only then operators have logic.
  [[nodiscard]] bool installed() const { return installed_; }
  [[nodiscard]] bool destroyed() const { return destroyed_; }
  void install();
  /// Runs every operator that watches a frontier a last time: all are empty now.
  void complete();
  void destroy();

  void event(EventKind kind, std::uint32_t op, std::uint32_t port, std::uint64_t value);
  [[nodiscard]] inline bool logging() const;

 private:
  friend class Worker;
  void touched_now() override;
  void record(EventKind kind, std::uint64_t value) override;

  Worker& worker_;
  std::vector<std::unique_ptr<OperatorCore>> operators_;
  bool installed_ = false;
  bool destroyed_ = false;
  bool listed_ = false;  // on the worker's list of instances with something to post
};

/// Owns state; runs on one thread at a time.
class Worker final : public Runnable {
 public:
  Worker(RuntimeCore& runtime, std::size_t index);
  ~Worker() override;

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] RuntimeCore& runtime() const { return runtime_; }
  [[nodiscard]] std::uint64_t queued_ns() const override;

  /// Any thread.
  void mail(MailNode* node, std::size_t records = 1);

  // Own thread.
  void activate(OperatorCore& op);
  void list(WorkerDataflow& instance) { to_post_.push_back(&instance); }
  void deactivate_all(WorkerDataflow& instance);
  void worked(std::size_t records) { worked_ += records; }
  [[nodiscard]] bool logging() const { return logging_; }
  void log(const Event& event);
  /// Time since the running operator started, for its budget.
  [[nodiscard]] bool budget_spent();
  /// When it never runs again: throws away its mail, now and later.
  void shut_down();

 protected:
  bool run() override;

 private:
  void run_operator(OperatorCore& op);
  OperatorCore* next_active();
  void drain_mail();
  void post_all();
  bool slice_over(std::size_t operators_run);
  void discard_mail();

  /// Operators that wait to run; the first `head` places are free.
  struct Queue {
    std::vector<OperatorCore*> operators{};
    std::size_t head = 0;
  };

  RuntimeCore& runtime_;
  std::size_t index_;
  const bool simulated_;
  const bool logging_;
  Mailbox mailbox_;
  Queue active_[2];  // by lane
  std::vector<WorkerDataflow*> to_post_;
  std::size_t worked_ = 0;  // records since the last posting
  std::uint32_t budget_calls_ = 0;
  std::optional<base::Instant> operator_deadline_;
  std::optional<base::Instant> slice_deadline_;
  base::Instant last_post_{};
  std::vector<Event> events_;
  std::uint32_t slices_ = 0;
  std::atomic<bool> shut_{false};
  base::Mutex discarding_;
  std::atomic<std::uint64_t> queued_records_{0};
  std::atomic<std::uint32_t> record_ns_{100};
};

/// One dataflow, shared by its workers, handles, activators and mail in flight.
class DataflowState {
 public:
  DataflowState(std::shared_ptr<RuntimeCore> runtime, std::uint64_t id, std::string name, Lane lane,
                std::size_t width);
  ~DataflowState();

  [[nodiscard]] RuntimeCore& runtime() const { return *runtime_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Lane lane() const { return lane_; }
  [[nodiscard]] std::size_t width() const { return instances_.size(); }
  [[nodiscard]] WorkerDataflow& instance(std::size_t worker) const { return *instances_[worker]; }
  [[nodiscard]] bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  [[nodiscard]] bool complete() const { return complete_.load(std::memory_order_acquire); }

  /// Any thread: destroys the instances on all workers, soon.
  void drop();
  /// The same, by a caller that destroys them itself.
  void mark_dropped() { dropped_.store(true, std::memory_order_release); }
  /// Mails every worker to make its instance.
  void install();

  // Under `mutex`.
  base::Mutex mutex;
  std::vector<std::unique_ptr<ScopeTracker>> trackers;  // scopes around come before those within
  std::int64_t outstanding = 0;                         // sum of all counts
  /// True if this posting was the last there will be.
  bool propagate(std::vector<FrontierListener*>& moved);

  /// Fixed once built.
  std::vector<std::shared_ptr<void>> keep;
  std::vector<std::string> operator_names;
  std::string graphviz;

  /// After a posting that `propagate` called the last.
  void finish();
  /// An instance was destroyed; the last one takes the dataflow off the runtime's list.
  void instance_gone();

 private:
  friend class DataflowRef;
  void mail_all(std::function<void(WorkerDataflow&)> action);

  std::shared_ptr<RuntimeCore> runtime_;
  std::uint64_t id_;
  std::string name_;
  Lane lane_;
  std::vector<std::unique_ptr<WorkerDataflow>> instances_;
  std::atomic<std::size_t> live_instances_;
  std::atomic<bool> dropped_{false};
  std::atomic<bool> complete_{false};
  std::atomic<std::uint64_t> references_{0};
};

inline DataflowRef::DataflowRef(DataflowState* state) : state_(state) {
  if (state_ != nullptr) state_->references_.fetch_add(1, std::memory_order_relaxed);
}
inline DataflowRef::~DataflowRef() {
  if (state_ != nullptr && state_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete state_;
}

/// What all parts of a runtime know.
struct RuntimeCore {
  Executor& executor;
  base::Scheduler* scheduler = nullptr;
  EventLog* events = nullptr;
  std::vector<std::unique_ptr<Worker>> workers{};
  struct Registry {
    std::uint64_t next_id = 1;
    std::vector<DataflowRef> dataflows{};
  };
  base::Guarded<Registry> registry{};
};

inline bool WorkerDataflow::logging() const { return worker_.logging(); }

inline void OperatorCore::activate() {
  if (active_ || !home_.installed()) return;
  active_ = true;
  home_.worker().activate(*this);
}

}  // namespace timely::detail
