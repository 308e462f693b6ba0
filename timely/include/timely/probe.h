// SPDX-License-Identifier: Apache-2.0
/// Shows, outside the dataflow, which times a stream may still send.
///
/// Thread safety: all of it, from any thread. Reading is one or two atomic loads for integer times.
///
///     timely::ProbeHandle<uint64_t> probe = stream.probe();
///     input.advance_to(7);
///     runtime.step_while([&] { return probe.less_than(7); });       // everything before 7 is done
///     probe.when_passed(7, strand, [] { answer_the_read(); });      // or without waiting
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <freshet/base/guarded.h>
#include <timely/detail/core.h>
#include <timely/detail/frontier_cell.h>
#include <timely/stream.h>

namespace timely {

namespace detail {

template <Timestamp T>
class ProbeState final : public FrontierListener {
 public:
  ProbeState(std::shared_ptr<FrontierCell<T>> frontier, Executor& e)
      : cell(std::move(frontier)), executor(e) {}
  std::shared_ptr<FrontierCell<T>> cell;
  Executor& executor;

  void frontier_moved(std::size_t) override {
    executor.notify();
    if (waiting_.load(std::memory_order_seq_cst) > 0) release_passed();
  }
  void wait(const T& time, base::TaskQueue& queue, base::Task task) {
    waiting_.fetch_add(
        1, std::memory_order_seq_cst);  // before we look, so that one of us sees the other
    waiters_.with([&](auto& waiters) { waiters.push_back({time, queue.handle(), std::move(task)}); });
    release_passed();
  }

 private:
  struct Waiter {
    T time;
    std::shared_ptr<base::TaskQueue> queue;
    base::Task task;
  };
  void release_passed() {
    std::vector<Waiter> passed;
    waiters_.with([&](std::vector<Waiter>& waiters) {
      std::vector<Waiter> still;
      for (Waiter& waiter : waiters) {
        (cell->covers(waiter.time) ? still : passed).push_back(std::move(waiter));
      }
      waiters = std::move(still);
    });
    waiting_.fetch_sub(passed.size(), std::memory_order_relaxed);
    for (Waiter& waiter : passed) waiter.queue->post(std::move(waiter.task));
  }
  std::atomic<std::size_t> waiting_{0};
  base::Guarded<std::vector<Waiter>> waiters_;
};

}  // namespace detail

template <Timestamp T>
class ProbeHandle {
 public:
  /// Shows nothing until `Stream::probe_with`.
  ProbeHandle() = default;
  explicit ProbeHandle(std::shared_ptr<detail::ProbeState<T>> state) : state_(std::move(state)) {}

  [[nodiscard]] bool valid() const { return state_ != nullptr; }
  [[nodiscard]] Antichain<T> frontier() const { return state_->cell->load(); }
  /// True while times before `time` may still come.
  [[nodiscard]] bool less_than(const T& time) const { return state_->cell->covers_strictly(time); }
  /// True while `time` or earlier may still come.
  [[nodiscard]] bool less_equal(const T& time) const { return state_->cell->covers(time); }
  /// True if nothing will come any more.
  [[nodiscard]] bool done() const { return state_->cell->load().empty(); }
  /// Posts `task` to `queue` once nothing at or before `time` can come any more; at once if that is
  /// so already. If the dataflow is dropped first, never: the task is then destroyed with the
  /// probe.
  void when_passed(const T& time, base::TaskQueue& queue, base::Task task) const {
    state_->wait(time, queue, std::move(task));
  }

 private:
  std::shared_ptr<detail::ProbeState<T>> state_;
};

template <Timestamp T, Message M>
ProbeHandle<T> Stream<T, M>::probe() const {
  auto& scope = spec_->scope;
  scope.graph.watch(spec_->port);
  auto& port = scope.graph.ports[spec_->port];
  auto state =
      std::make_shared<detail::ProbeState<T>>(port.cell, scope.builder.state().runtime().executor);
  port.listeners.push_back(state.get());
  scope.builder.state().keep.push_back(state);
  return ProbeHandle<T>(std::move(state));
}

template <Timestamp T, Message M>
Stream<T, M> Stream<T, M>::probe_with(ProbeHandle<T>& handle) const {
  handle = probe();
  return *this;
}

}  // namespace timely
