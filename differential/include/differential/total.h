// SPDX-License-Identifier: Apache-2.0
/// Operators over totally ordered times that need no output trace: what was there before stands in the
/// input trace, and the new updates are walked in the order of time.
///
/// `accumulate_core` tells of each change of a (key, value)'s sum; count, threshold and distinct are
/// closures over it:
///
///     accumulate_core<Out>(arranged, "Distinct", [](auto key, auto val, const T& time, const R& old_sum,
///                                                   const R& new_sum, Out& out) { … });
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <differential/join.h>

namespace differential {

/// New batches against what was before, in pieces.
template <typename Cursor, typename Map>
class AccumulateUnit {
 public:
  using T = typename Map::Time;
  using R = typename Cursor::Diff;

  AccumulateUnit(Cursor fresh, Cursor prior, Map map)
      : fresh_(std::move(fresh)), prior_(std::move(prior)), map_(std::move(map)) {}

  template <typename Emit, typename Out, typename Full>
  bool work(Emit& emit, Out& out, const Full& full, std::int64_t& fuel) {
    while (fresh_.key_valid()) {
      if (!at_key_) {
        at_key_ = true;
        has_prior_ = prior_.seek_exactly(fresh_.key());
      }
      const auto key = fresh_.key();
      for (; fresh_.val_valid(); fresh_.step_val()) {
        if (fuel <= 0 || full(out)) return false;
        evaluate(key, emit, out, fuel);
      }
      fresh_.step_key();
      at_key_ = false;
    }
    return true;
  }

 private:
  template <typename Emit, typename Out>
  void evaluate(const typename Cursor::KeyRef& key, Emit& emit, Out& out, std::int64_t& fuel) {
    const auto val = fresh_.val();
    history_.clear();
    fresh_.map_times([&](const auto& time, const R& diff) { history_.emplace_back(map_(time), diff); });
    fuel -= static_cast<std::int64_t>(history_.size());
    consolidate_times(history_);
    if (history_.empty()) return;
    R sum{};
    if (has_prior_) {
      prior_.seek_val(val);
      if (prior_.val_valid() && compare(prior_.val(), val) == 0) {
        prior_.map_times([&](const auto&, const R& diff) { add_to(sum, diff); });
      }
    }
    for (const auto& [time, diff] : history_) {
      const R before = sum;
      add_to(sum, diff);
      emit(key, val, time, before, sum, out);
    }
  }

  Cursor fresh_;
  Cursor prior_;
  Map map_;
  bool at_key_ = false;
  bool has_prior_ = false;
  std::vector<std::pair<T, R>> history_;
};

template <typename Arr, typename Out, typename Emit>
class AccumulateOperator {
 public:
  using T = typename Arr::T;
  using Side = JoinSide<Arr>;
  using Unit = AccumulateUnit<typename Side::Cursor, typename Arr::TimeMap>;

  AccumulateOperator(Side side, Emit emit, JoinOptions options)
      : side_(std::move(side)), emit_(std::move(emit)), options_(std::move(options)) {}

  void step(timely::Input<T, BatchList<typename Arr::Trace>>& input, timely::Output<T, Out>& output,
            timely::Context& context) {
    input.for_each([&](const timely::Capability<T>& at, BatchList<typename Arr::Trace> list) {
      auto prior = side_.received();
      side_.receive(list);
      units_.push_back({std::make_unique<Unit>(typename Side::Cursor(std::move(list.batches)),
                                               typename Side::Cursor(std::move(prior)), side_.map()),
                        at.retain()});
    });
    side_.settle(input.frontier(), input.frontier());
    std::int64_t fuel = options_.fuel;
    while (!units_.empty() && fuel > 0) {
      auto& [unit, capability] = units_.front();
      Out out;
      const bool done = unit->work(
          emit_, out, [&](const Out& o) { return o.size() >= options_.container; }, fuel);
      if (out.size() > 0) output.give(capability, std::move(out));
      if (done) units_.pop_front();
      if (context.should_yield()) break;
    }
    if (!units_.empty()) context.activate();
  }

 private:
  struct Work {
    std::unique_ptr<Unit> unit;
    timely::Capability<T> capability;
  };
  Side side_;
  Emit emit_;
  JoinOptions options_;
  std::deque<Work> units_;
};

/// Calls `emit(key, val, time, old_sum, new_sum, out)` for each time at which the sum of a (key, value)
/// changes, in the order of time.
template <typename Out, typename Tr, timely::TotalOrder StoredTime, typename Emit>
  requires std::is_same_v<typename Tr::Time, StoredTime>
timely::Stream<StoredTime, Out> accumulate_core(const Arranged<Tr, StoredTimes<StoredTime>>& arranged,
                                                std::string name, Emit emit, JoinOptions options = {}) {
  using Arr = Arranged<Tr, StoredTimes<StoredTime>>;
  auto factory = [arrangement = arranged.arrangement(), holds = arranged.worker_holds(),
                  map = arranged.time_map(), emit, options](timely::Setup<StoredTime>& setup) {
    const std::size_t worker = setup.worker();
    return AccumulateOperator<Arr, Out, Emit>(
        JoinSide<Arr>(arrangement->trace(worker), holds.take(worker), map), emit, options);
  };
  return arranged.stream().template unary<Out>(std::move(name), timely::Pipeline{}, std::move(factory));
}

}  // namespace differential
