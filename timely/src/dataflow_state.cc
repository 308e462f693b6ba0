// SPDX-License-Identifier: Apache-2.0
#include <timely/detail/core.h>

namespace timely::detail {
namespace {

/// Something for one instance to do on its worker.
class ActionMail final : public MailNode {
 public:
  ActionMail(DataflowState& dataflow, WorkerDataflow& instance,
             std::function<void(WorkerDataflow&)> action)
      : keep_(&dataflow), instance_(instance), action_(std::move(action)) {}
  void deliver() override {
    action_(instance_);
    delete this;
  }
  void discard() override { delete this; }

 private:
  DataflowRef keep_;
  WorkerDataflow& instance_;
  std::function<void(WorkerDataflow&)> action_;
};

}  // namespace

// --- OperatorCore

void OperatorCore::notify() {
  if (mailed_.exchange(true, std::memory_order_acq_rel)) return;
  DataflowState& dataflow = home_.dataflow();
  if (dataflow.dropped()) return;  // nobody will run it again
  keep_ = DataflowRef(&dataflow);
  home_.worker().mail(this, 0);
}

void OperatorCore::deliver() {
  DataflowRef keep = std::move(keep_);
  // Acquires what the notifiers wrote before they found the flag set.
  mailed_.exchange(false, std::memory_order_acq_rel);
  activate();
}

void OperatorCore::discard() { DataflowRef keep = std::move(keep_); }

void OperatorCore::frontier_moved(std::size_t by) {
  if (interest_ == FrontierInterest::kIfCapability) {
    shake_hands();
    if (held() == 0) return;
  }
  if (by == home_.worker_index()) {
    activate();  // on our own thread
  } else {
    notify();
  }
}

// --- Sender

Sender::~Sender() { forget(); }

void Sender::forget() {
  for (ProgressLogBase* log : touched_) {
    log->forget();
    log->touched = false;
  }
  touched_.clear();
  for (const Staged& staged : outbox_) staged.mail->discard();
  outbox_.clear();
}

void Sender::post() {
  bool changed = false;
  for (ProgressLogBase* log : touched_) changed |= !log->settled();
  bool last = false;
  if (changed && !dataflow_.dropped()) {
    std::size_t changes = 0;
    {
      std::lock_guard lock(dataflow_.mutex);
      for (ProgressLogBase* log : touched_) changes += log->apply();
      last = dataflow_.propagate(moved_);
    }
    record(EventKind::kProgressPosted, changes);
  }
  for (ProgressLogBase* log : touched_) {
    log->forget();
    log->touched = false;
  }
  touched_.clear();
  for (const Staged& staged : outbox_) {
    dataflow_.instance(staged.worker).worker().mail(staged.mail, staged.records);
  }
  outbox_.clear();
  for (FrontierListener* listener : moved_) listener->frontier_moved(worker_);
  moved_.clear();
  if (last) dataflow_.finish();
}

// --- WorkerDataflow

WorkerDataflow::WorkerDataflow(DataflowState& dataflow, Worker& worker, std::size_t index)
    : Sender(dataflow, index), worker_(worker) {}

WorkerDataflow::~WorkerDataflow() { kept_.clear(); }

void WorkerDataflow::touched_now() {
  if (listed_ || destroyed_) return;
  listed_ = true;
  worker_.list(*this);
}

void WorkerDataflow::install() {
  if (destroyed_ || dataflow().dropped()) return;
  for (auto& op : operators_) op->create();
  installed_ = true;
  for (auto& op : operators_) op->activate();
  event(EventKind::kDataflowInstalled, 0, 0, operators_.size());
}

void WorkerDataflow::complete() {
  if (!installed_) return;
  for (auto& op : operators_) {
    if (op->interest_ != FrontierInterest::kNever) op->run();
  }
  destroy();
}

void WorkerDataflow::destroy() {
  if (destroyed_) return;
  destroyed_ = true;
  worker_.deactivate_all(*this);
  for (auto& op : operators_) op->destroy();
  if (installed_) event(EventKind::kDataflowGone, 0, 0, 0);
  installed_ = false;
  forget();
  dataflow().instance_gone();
}

void WorkerDataflow::event(EventKind kind, std::uint32_t op, std::uint32_t port,
                           std::uint64_t value) {
  if (!worker_.logging()) return;
  worker_.log({.kind = kind, .dataflow = dataflow().id(), .op = op, .port = port, .value = value});
}

void WorkerDataflow::record(EventKind kind, std::uint64_t value) { event(kind, 0, 0, value); }

// --- DataflowState

DataflowState::DataflowState(std::shared_ptr<RuntimeCore> runtime, std::uint64_t id,
                             std::string name, Lane lane, std::size_t width)
    : runtime_(std::move(runtime)),
      id_(id),
      name_(std::move(name)),
      lane_(lane),
      live_instances_(width) {
  FRESHET_ASSERT(width >= 1 && width <= runtime_->workers.size(), width, runtime_->workers.size());
  instances_.reserve(width);
  for (std::size_t i = 0; i < width; ++i) {
    instances_.push_back(std::make_unique<WorkerDataflow>(*this, *runtime_->workers[i], i));
  }
}

DataflowState::~DataflowState() = default;

void DataflowState::mail_all(std::function<void(WorkerDataflow&)> action) {
  for (auto& instance : instances_) {
    instance->worker().mail(new ActionMail(*this, *instance, action), 1);
  }
}

void DataflowState::install() {
  mail_all([](WorkerDataflow& instance) { instance.install(); });
}

void DataflowState::drop() {
  if (dropped_.exchange(true, std::memory_order_acq_rel)) return;
  mail_all([](WorkerDataflow& instance) { instance.destroy(); });
}

void DataflowState::finish() {
  mail_all([](WorkerDataflow& instance) { instance.complete(); });
}

bool DataflowState::propagate(std::vector<FrontierListener*>& moved) {
  for (std::size_t i = trackers.size(); i-- > 0;) trackers[i]->settle_outward();
  for (auto& tracker : trackers) tracker->settle_inward(moved);
  FRESHET_ASSERT(outstanding >= 0, outstanding, name_);
  if (outstanding != 0 || complete()) return false;
  complete_.store(true, std::memory_order_release);
  return true;
}

void DataflowState::instance_gone() {
  if (live_instances_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  runtime_->registry.with([&](RuntimeCore::Registry& registry) {
    std::erase_if(registry.dataflows, [&](const DataflowRef& other) { return &*other == this; });
  });
}

}  // namespace timely::detail
