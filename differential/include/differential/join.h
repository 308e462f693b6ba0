// SPDX-License-Identifier: Apache-2.0
/// Join of two arrangements on their key, one output container type and one emit closure.
///
/// The closure is called for every match, inline:
///
///     auto out = join_core<std::vector<Update<uint64_t, T, int64_t>>>(orders, items,
///         [](auto key, auto order, auto item, const T& time, int64_t r1, int64_t r2, auto& out) {
///           out.push_back({item, time, r1 * r2});
///         });
///
/// Any container with `size()` will do (a columnar chunk, say); it is sent when it has
/// `JoinOptions::container` records, or when a piece of work is done.
///
/// Cost: linear in the matches of the changes; a step stops inside a hot key when its fuel is used up.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <differential/arrange.h>
#include <differential/join_unit.h>
#include <timely/unary.h>

namespace differential {

struct JoinOptions {
  std::string name = "Join";
  /// Records of a container that is sent on.
  std::size_t container = 8192;
  /// Matches tried in one step.
  std::int64_t fuel = 200'000;
};

/// One side of a join on one worker: what it has received of an arrangement, and its right to read it.
template <typename Arr>
class JoinSide {
 public:
  using Tr = typename Arr::Trace;
  using Map = typename Arr::TimeMap;
  using Stored = timely::Antichain<typename Tr::Time>;
  using Frontier = timely::Antichain<typename Map::Time>;
  using Cursor = CursorList<typename Tr::Key, typename Tr::Val, typename Tr::Time, typename Tr::Diff>;

  JoinSide(std::shared_ptr<Tr> trace, Hold<typename Tr::Time> hold, Map map)
      : reader_(std::move(trace)), hold_(std::move(hold)), map_(std::move(map)) {}

  /// The batches received so far. Those in flight are not among them: what was received is judged by
  /// what came and by the input's frontier, never by what the shared trace says is empty.
  [[nodiscard]] std::vector<typename Tr::BatchRef> received() const {
    return reader_.batches_through(received_);
  }
  void receive(const BatchList<Tr>& list) {
    // The message's upper, not the last batch's: the trace may have merged it with what follows.
    if (timely::less_equal(received_, list.upper)) received_ = list.upper;
  }
  /// After a step: everything before the input's frontier came; the other input can still ask for times
  /// from `needed` on.
  void settle(const Frontier& frontier, const Frontier& needed) {
    const Stored through = map_.arriving(frontier);
    received_ = through.empty() ? through : timely::join(received_, through);
    reader_.advance(received_);
    hold_.downgrade(map_.needed(needed));
  }
  [[nodiscard]] const Map& map() const { return map_; }

 private:
  TraceReader<typename Tr::Key, typename Tr::Val, typename Tr::Time, typename Tr::Diff> reader_;
  Hold<typename Tr::Time> hold_;
  Map map_;
  Stored received_ = Stored::minimum();
};

template <typename Arr1, typename Arr2, typename Out, typename Emit>
class JoinOperator {
 public:
  using T = typename Arr1::T;
  using Side1 = JoinSide<Arr1>;
  using Side2 = JoinSide<Arr2>;
  using Unit = JoinUnit<typename Side1::Cursor, typename Side2::Cursor, typename Arr1::TimeMap,
                        typename Arr2::TimeMap>;

  JoinOperator(Side1 side1, Side2 side2, Emit emit, JoinOptions options)
      : side1_(std::move(side1)),
        side2_(std::move(side2)),
        emit_(std::move(emit)),
        options_(std::move(options)) {}

  void step(timely::Input<T, BatchList<typename Arr1::Trace>>& input1,
            timely::Input<T, BatchList<typename Arr2::Trace>>& input2, timely::Output<T, Out>& output,
            timely::Context& context) {
    input1.for_each([&](const timely::Capability<T>& at, BatchList<typename Arr1::Trace> list) {
      side1_.receive(list);
      add_unit(at, std::move(list.batches), side2_.received());
    });
    input2.for_each([&](const timely::Capability<T>& at, BatchList<typename Arr2::Trace> list) {
      side2_.receive(list);
      add_unit(at, side1_.received(), std::move(list.batches));
    });
    side1_.settle(input1.frontier(), input2.frontier());
    side2_.settle(input2.frontier(), input1.frontier());
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

  template <typename Batches1, typename Batches2>
  void add_unit(const timely::Capability<T>& at, Batches1 first, Batches2 second) {
    if (first.empty() || second.empty()) return;
    units_.push_back({std::make_unique<Unit>(typename Side1::Cursor(std::move(first)),
                                             typename Side2::Cursor(std::move(second)), side1_.map(),
                                             side2_.map(), at.times()),
                      at.retain()});
  }

  Side1 side1_;
  Side2 side2_;
  Emit emit_;
  JoinOptions options_;
  std::deque<Work> units_;
};

/// All matches of `first` and `second` by key; see the head of this file.
template <typename Out, typename Tr1, typename Map1, typename Tr2, typename Map2, typename Emit>
timely::Stream<typename Map1::Time, Out> join_core(const Arranged<Tr1, Map1>& first,
                                                   const Arranged<Tr2, Map2>& second, Emit emit,
                                                   JoinOptions options = {}) {
  using T = typename Map1::Time;
  static_assert(std::is_same_v<T, typename Map2::Time>, "both sides must be in the same scope");
  using Arr1 = Arranged<Tr1, Map1>;
  using Arr2 = Arranged<Tr2, Map2>;
  auto factory = [arrangement1 = first.arrangement(), arrangement2 = second.arrangement(),
                  holds1 = first.worker_holds(), holds2 = second.worker_holds(),
                  map1 = first.time_map(), map2 = second.time_map(), emit,
                  options](timely::Setup<T>& setup) {
    const std::size_t worker = setup.worker();
    return JoinOperator<Arr1, Arr2, Out, Emit>(
        JoinSide<Arr1>(arrangement1->trace(worker), holds1.take(worker), map1),
        JoinSide<Arr2>(arrangement2->trace(worker), holds2.take(worker), map2), emit, options);
  };
  return first.stream().template binary<Out>(second.stream(), options.name, timely::Pipeline{},
                                             timely::Pipeline{}, std::move(factory));
}

}  // namespace differential
