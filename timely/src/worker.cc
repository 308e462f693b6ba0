// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include <timely/detail/core.h>

namespace timely::detail {
namespace {

using std::chrono::microseconds;

constexpr auto kOperatorBudget = microseconds(2000);
constexpr auto kSliceBudget = microseconds(1000);
constexpr auto kPostEvery = microseconds(100);
constexpr std::size_t kPostRecords = 1 << 16;
constexpr std::uint64_t kWorthAThreadNs = 10'000;

}  // namespace

Worker::Worker(RuntimeCore& runtime, std::size_t index)
    : runtime_(runtime),
      index_(index),
      simulated_(runtime.executor.simulated()),
      logging_(runtime.events != nullptr) {}

Worker::~Worker() { discard_mail(); }

std::uint64_t Worker::queued_ns() const {
  return queued_records_.load(std::memory_order_relaxed) *
         record_ns_.load(std::memory_order_relaxed);
}

void Worker::mail(MailNode* node, std::size_t records) {
  const std::uint64_t ns = record_ns_.load(std::memory_order_relaxed);
  const std::uint64_t before = queued_records_.fetch_add(records, std::memory_order_relaxed) * ns;
  mailbox_.push(node);
  if (shut_.load(std::memory_order_seq_cst)) {
    discard_mail();
    return;
  }
  runtime_.executor.ready(*this);
  if (before < kWorthAThreadNs && before + records * ns >= kWorthAThreadNs)
    runtime_.executor.work_grew();
}

void Worker::discard_mail() {
  std::lock_guard lock(discarding_);
  mailbox_.take([](MailNode* node) { node->discard(); });
}

void Worker::shut_down() {
  shut_.store(true, std::memory_order_seq_cst);
  discard_mail();
}

void Worker::activate(OperatorCore& op) {
  active_[static_cast<std::size_t>(op.home().dataflow().lane())].operators.push_back(&op);
}

void Worker::deactivate_all(WorkerDataflow& instance) {
  for (Queue& queue : active_) {
    auto& operators = queue.operators;
    operators.erase(operators.begin(), operators.begin() + static_cast<std::ptrdiff_t>(queue.head));
    queue.head = 0;
    std::erase_if(operators, [&](OperatorCore* op) {
      if (&op->home() != &instance) return false;
      op->active_ = false;
      return true;
    });
  }
  std::erase(to_post_, &instance);
}

void Worker::log(const Event& event) {
  events_.push_back(event);
  events_.back().worker = static_cast<std::uint32_t>(index_);
  events_.back().at = runtime_.executor.now();
}

bool Worker::budget_spent() {
  if (simulated_) return runtime_.executor.choose(32) == 1;
  if (++budget_calls_ % 32 != 0) return false;
  const base::Instant now = runtime_.executor.now();
  if (!operator_deadline_) operator_deadline_ = now + kOperatorBudget;
  return now >= *operator_deadline_;
}

void Worker::drain_mail() {
  if (mailbox_.empty()) return;
  queued_records_.store(0, std::memory_order_relaxed);
  mailbox_.take([](MailNode* node) { node->deliver(); });
}

OperatorCore* Worker::next_active() {
  for (Queue& queue : active_) {
    auto& operators = queue.operators;
    if (queue.head == operators.size()) continue;
    if (simulated_) {
      const std::size_t waiting = operators.size() - queue.head;
      std::swap(operators[queue.head], operators[queue.head + runtime_.executor.choose(waiting)]);
    }
    OperatorCore* op = operators[queue.head++];
    if (queue.head == operators.size()) {
      operators.clear();
      queue.head = 0;
    } else if (queue.head >= 256 && queue.head * 2 >= operators.size()) {
      operators.erase(operators.begin(),
                      operators.begin() + static_cast<std::ptrdiff_t>(queue.head));
      queue.head = 0;
    }
    op->active_ = false;
    return op;
  }
  return nullptr;
}

void Worker::run_operator(OperatorCore& op) {
  operator_deadline_.reset();
  budget_calls_ = 0;
  if (!logging()) {
    op.run();
    return;
  }
  WorkerDataflow& home = op.home();
  const base::Instant start = runtime_.executor.now();
  home.event(EventKind::kOperatorStart, op.index(), 0, 0);
  op.run();
  const auto took = runtime_.executor.now() - start;
  home.event(EventKind::kOperatorStop, op.index(), 0, static_cast<std::uint64_t>(took.count()));
}

void Worker::post_all() {
  // A posting may list the instance again (a frontier listener of this worker does not, but a last
  // look at the log may), so take the list first.
  std::vector<WorkerDataflow*> instances;
  instances.swap(to_post_);
  for (WorkerDataflow* instance : instances) {
    instance->listed_ = false;
    instance->post();
  }
  if (to_post_.empty()) {
    instances.clear();
    to_post_.swap(instances);  // keeps the memory
  }
  worked_ = 0;
}

bool Worker::slice_over(std::size_t operators_run) {
  Executor& executor = runtime_.executor;
  if (simulated_) {
    if (executor.choose(4) == 1) post_all();
    return executor.choose(8) == 1;
  }
  if (worked_ >= kPostRecords) post_all();
  if (operators_run % 8 != 0) return false;
  const base::Instant now = executor.now();
  if (!slice_deadline_) {
    slice_deadline_ = now + kSliceBudget;
    last_post_ = now;
  }
  if (now - last_post_ >= kPostEvery) {
    post_all();
    last_post_ = now;
  }
  return now >= *slice_deadline_;
}

bool Worker::run() {
  slice_deadline_.reset();
  const bool measure = ++slices_ % 16 == 0 && !simulated_;
  const base::Instant start = measure ? runtime_.executor.now() : base::Instant{};
  std::size_t operators_run = 0;
  std::size_t records = 0;
  bool left = false;
  while (true) {
    drain_mail();
    OperatorCore* op = next_active();
    if (op == nullptr) {
      if (to_post_.empty()) break;
      records += worked_;
      post_all();
      continue;
    }
    run_operator(*op);
    if (slice_over(++operators_run)) {
      records += worked_;
      post_all();
      left = true;
      break;
    }
  }
  if (measure && records >= 64) {
    const auto ns = static_cast<std::uint64_t>((runtime_.executor.now() - start).count()) / records;
    const std::uint64_t old = record_ns_.load(std::memory_order_relaxed);
    const std::uint64_t next = std::clamp<std::uint64_t>((old * 3 + ns) / 4, 1, 1'000'000);
    record_ns_.store(static_cast<std::uint32_t>(next), std::memory_order_relaxed);
  }
  if (!events_.empty()) runtime_.events->append(events_);
  return left;
}

}  // namespace timely::detail
