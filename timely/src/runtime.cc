// SPDX-License-Identifier: Apache-2.0
#include <timely/runtime.h>

#include <algorithm>

#include <timely/activator.h>

namespace timely {
namespace {

class TaskMail final : public detail::MailNode {
 public:
  explicit TaskMail(base::Task task) : task_(std::move(task)) {}
  void deliver() override {
    task_();
    delete this;
  }
  void discard() override { delete this; }

 private:
  base::Task task_;
};

}  // namespace

Runtime::Runtime(Executor& executor, Options options)
    : core_(std::make_shared<detail::RuntimeCore>(executor)) {
  FRESHET_ASSERT(options.workers >= 1);
  core_->scheduler = options.scheduler;
  core_->events = options.events;
  for (std::size_t i = 0; i < options.workers; ++i) {
    core_->workers.push_back(std::make_unique<detail::Worker>(*core_, i));
  }
}

Runtime::~Runtime() {
  for (auto& worker : core_->workers) core_->executor.retire(*worker);
  // From here on this thread alone is every worker.
  std::vector<detail::DataflowRef> dataflows =
      core_->registry.with([](auto& registry) { return registry.dataflows; });
  for (detail::DataflowRef& dataflow : dataflows) {
    dataflow->mark_dropped();
    for (std::size_t i = 0; i < dataflow->width(); ++i) dataflow->instance(i).destroy();
  }
  for (auto& worker : core_->workers) worker->shut_down();
}

detail::DataflowRef Runtime::begin(const DataflowOptions& options) {
  const std::uint64_t id = core_->registry.with([](auto& registry) { return registry.next_id++; });
  const std::size_t width = options.width == 0 ? workers() : options.width;
  return detail::DataflowRef(
      new detail::DataflowState(core_, id, options.name, options.lane, width));
}

Dataflow Runtime::install(detail::DataflowRef state) {
  core_->registry.with([&](auto& registry) { registry.dataflows.push_back(state); });
  bool complete = false;
  {
    std::lock_guard lock(state->mutex);
    std::vector<detail::FrontierListener*> nobody_looks_yet;
    complete = state->propagate(nobody_looks_yet);
  }
  state->install();
  if (complete) state->finish();
  return Dataflow(std::move(state));
}

void Runtime::post(std::size_t worker, base::Task task) {
  FRESHET_ASSERT(worker < workers(), worker);
  core_->workers[worker]->mail(new TaskMail(std::move(task)));
}

std::size_t Runtime::live_dataflows() const {
  return core_->registry.with([](auto& registry) { return registry.dataflows.size(); });
}

void Activator::activate_at(base::Instant when) const {
  if (core_ == nullptr) return;
  base::Scheduler* scheduler = core_->home().dataflow().runtime().scheduler;
  FRESHET_ASSERT(scheduler != nullptr, "the runtime was given no scheduler for timers");
  scheduler->at(when, *scheduler, [activator = *this] { activator.activate(); });
}

void Activator::activate_after(std::chrono::nanoseconds delay) const {
  if (core_ == nullptr) return;
  base::Scheduler* scheduler = core_->home().dataflow().runtime().scheduler;
  FRESHET_ASSERT(scheduler != nullptr, "the runtime was given no scheduler for timers");
  activate_at(scheduler->clock().now() + delay);
}

}  // namespace timely
