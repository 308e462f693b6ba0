// SPDX-License-Identifier: Apache-2.0
/// Reduce: a function of each group, kept up to date, as an arrangement of its own.
///
///     auto least = reduce_core<RowTrace<T>>(arranged, "min", [](auto key, auto& group, auto& output) {
///       output.push(group.val(), 1);            // the first value in order; the rest is not read
///     });
///
/// See reduce_unit.h for the group and the output. The logic is not called for empty groups; what it
/// does not push is not there. Total orders take a fast path by themselves.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <differential/arrange.h>
#include <differential/reduce_unit-inl.h>

namespace differential {

/// One worker's reduce. `Tr2` is the trace of the output.
///
/// Invariant: between rounds the output trace's upper is what was evaluated; a capability is held exactly
/// for postponed times and for batches received but not yet evaluated.
template <typename Arr, typename Tr2, typename Logic>
class ReduceOperator {
 public:
  using Tr = typename Arr::Trace;
  using Map = typename Arr::TimeMap;
  using T = typename Map::Time;
  using Frontier = timely::Antichain<T>;
  using Cursor = CursorList<typename Tr::Key, typename Tr::Val, typename Tr::Time, typename Tr::Diff>;
  using Unit = ReduceUnit<Cursor, Map, typename Tr2::Val, typename Tr2::Diff>;
  using OutBatch = Batch<typename Tr2::Key, typename Tr2::Val, T, typename Tr2::Diff>;
  static constexpr std::int64_t kFuel = 100'000;

  ReduceOperator(std::shared_ptr<Tr> trace, Hold<typename Tr::Time> hold, Map map,
                 std::shared_ptr<Tr2> out_trace, Hold<T> out_hold, Logic logic, std::size_t block_bytes)
      : reader_(std::move(trace)),
        hold_(std::move(hold)),
        map_(map),
        out_trace_(std::move(out_trace)),
        out_hold_(std::move(out_hold)),
        logic_(std::move(logic)),
        unit_(std::move(map), block_bytes) {}

  void step(timely::Input<T, BatchList<Tr>>& input, timely::Output<T, BatchList<Tr2>>& output,
            timely::Context& context) {
    input.for_each([&](const timely::Capability<T>& at, BatchList<Tr> list) {
      hold_also(fresh_capability_, at);
      if (timely::less_equal(received_, list.upper)) received_ = list.upper;
      for (auto& batch : list.batches) fresh_.push_back(std::move(batch));
    });
    const Stored through = map_.arriving(input.frontier());
    received_ = through.empty() ? through : timely::join(received_, through);
    const bool busy = unit_.active() || !(received_ == stored_upper_);
    if (!unit_.active()) start();
    std::int64_t fuel = kFuel;
    while (unit_.active()) {
      const bool done = unit_.work(logic_, fuel);
      if (done) {
        finish(output);
        start();
      }
      if (fuel <= 0 || context.should_yield()) break;
    }
    if (merge_when_idle(*out_trace_, busy) || unit_.active()) context.activate();
  }

 private:
  using Stored = timely::Antichain<typename Tr::Time>;

  // Begins the next interval if the input went on; one without changes is sealed at once.
  void start() {
    Frontier upper = map_.complete(received_);
    if (upper == out_trace_->upper()) return;
    upper_ = std::move(upper);
    stored_upper_ = received_;
    if (fresh_capability_.valid()) {
      hold_also(held_, fresh_capability_);
      fresh_capability_ = {};
    }
    if (fresh_.empty() && !unit_.due_before(upper_)) {
      seal({});
      return;
    }
    auto input = reader_.batches_through(received_);
    auto output = out_trace_->spine().batches_through(out_trace_->upper());
    unit_.begin(Cursor(std::exchange(fresh_, {})), Cursor(std::move(input)),
                typename Unit::OutCursor(std::move(output)), upper_);
  }
  void finish(timely::Output<T, BatchList<Tr2>>& output) {
    auto batch = seal(unit_.finish());
    if (!batch->empty()) output.give(held_, BatchList<Tr2>{{std::move(batch)}, upper_});
    const Frontier still = unit_.held();
    if (still.empty()) {
      held_ = {};
    } else {
      held_.downgrade(still);
    }
  }
  std::shared_ptr<const OutBatch> seal(Run<typename Tr2::Key, typename Tr2::Val, T, typename Tr2::Diff> run) {
    auto batch = std::make_shared<OutBatch>(out_trace_->upper(), upper_, Frontier::minimum(), std::move(run));
    reader_.advance(stored_upper_);
    hold_.downgrade(stored_upper_);
    out_hold_.downgrade(upper_);
    out_trace_->insert(batch);
    return batch;
  }

  TraceReader<typename Tr::Key, typename Tr::Val, typename Tr::Time, typename Tr::Diff> reader_;
  Hold<typename Tr::Time> hold_;
  Map map_;
  std::shared_ptr<Tr2> out_trace_;
  Hold<T> out_hold_;
  Logic logic_;
  Unit unit_;
  Stored received_ = Stored::minimum();  // in the input's stored time
  Stored stored_upper_ = Stored::minimum();
  Frontier upper_ = Frontier::minimum();
  std::vector<typename Tr::BatchRef> fresh_;  // received, not yet evaluated
  timely::Capability<T> fresh_capability_;    // for these
  timely::Capability<T> held_;                // for what is being evaluated, and postponed times
};

/// The groups of `arranged` through `logic`, as an arrangement with trace `Tr2` (same key).
template <typename Tr2, typename Tr, typename Map, typename Logic>
Arranged<Tr2> reduce_core(const Arranged<Tr, Map>& arranged, std::string name, Logic logic,
                          std::size_t block_bytes = kBlockBytes) {
  using T = typename Map::Time;
  static_assert(std::is_same_v<typename Tr2::Time, T>);
  static_assert(std::is_same_v<typename Tr2::Key, typename Tr::Key>);
  using Arr = Arranged<Tr, Map>;
  auto out = std::make_shared<Arrangement<Tr2>>(name, arranged.arrangement()->width(), block_bytes);
  auto out_hold =
      std::make_shared<Hold<T>>(*out->holds().acquire(timely::Antichain<T>::minimum()));
  WorkerHolds<T> out_holds(*out_hold, out->width());
  auto stream = arranged.stream().template unary<BatchList<Tr2>>(
      "Reduce " + name, timely::Pipeline{},
      [arrangement = arranged.arrangement(), holds = arranged.worker_holds(), map = arranged.time_map(), out,
       out_holds, logic, block_bytes](timely::Setup<T>& setup) {
        const std::size_t worker = setup.worker();
        return ReduceOperator<Arr, Tr2, Logic>(arrangement->trace(worker), holds.take(worker), map,
                                               out->trace(worker), out_holds.take(worker), logic,
                                               block_bytes);
      });
  return Arranged<Tr2>(std::move(stream), std::move(out), std::move(out_hold));
}

}  // namespace differential
