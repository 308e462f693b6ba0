// SPDX-License-Identifier: Apache-2.0
/// Half join: a stream of changes looks up an arrangement, without an arrangement of its own.
///
/// The building block of delta joins: an n-way join is n paths, each starting from the changes of one
/// input and looking up the others. A change at time t sees the arrangement's updates at times before t
/// (`kBefore`) or at and before t (`kThrough`); give each pair of inputs an order and use kBefore one way
/// and kThrough the other, so that changes at the same time meet once.
///
/// The changes carry their *initial* time in the message (`Updates::times`) and wait until the
/// arrangement is complete there. Output is at t. Times are unsigned integers: telling "before" from "at"
/// needs the arrangement readable at t - 1, and in partial orders no compaction keeps that apart.
///
/// Cost: linear in the matches. State: the changes that wait.
///
///     auto out = half_join<Chunk>(changes, items, Seen::kBefore,
///         [](auto key, auto payload, auto val, const T& time, auto r1, auto r2, Chunk& out) { … });
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <differential/join.h>

namespace differential {

/// Which updates of the arrangement a change at time t sees.
enum class Seen : std::uint8_t {
  kBefore,   ///< Those at times strictly before t in the total order.
  kThrough,  ///< Those at times at or before t.
};

/// One worker's half join. `Payload` is what the changes carry beside their key.
///
/// Invariant: a waiting change's time is held by the capability of its group; the arrangement's hold is
/// at or before all waiting times and the frontier of the changes.
template <typename Arr, typename Payload, typename R1, typename Out, typename Emit>
class HalfJoinOperator {
 public:
  using Tr = typename Arr::Trace;
  using K = typename Tr::Key;
  using T = typename Arr::T;
  using Changes = Updates<K, Payload, T, R1>;
  using Side = JoinSide<Arr>;
  using Cursor = typename Side::Cursor;

  HalfJoinOperator(Side side, Seen seen, Emit emit, JoinOptions options)
      : side_(std::move(side)),
        seen_(seen),
        emit_(std::move(emit)),
        options_(std::move(options)) {}

  void step(timely::Input<T, Changes>& changes, timely::Input<T, BatchList<Tr>>& batches,
            timely::Output<T, Out>& output, timely::Context& context) {
    changes.for_each([&](const timely::Capability<T>& at, Changes rows) {
      hold_also(held_, at);
      batcher_.push(std::move(rows));
    });
    batches.for_each([&](const timely::Capability<T>&, BatchList<Tr> list) { side_.receive(list); });
    std::int64_t fuel = options_.fuel;
    if (!running_) start(batches.frontier());
    while (running_ && fuel > 0) {
      Out out;
      const bool done = work(out, fuel);
      if (out.size() > 0) output.give(held_, std::move(out));
      if (done) {
        running_.reset();
        release();
        start(batches.frontier());
      }
      if (context.should_yield()) break;
    }
    // Lookups to come are at or after what waits and what can still arrive.
    timely::Antichain<T> needed = changes.frontier();
    if (held_.valid()) needed.extend(held_.times());
    // One earlier, so that what was before such a time does not become compacted onto it.
    if (!needed.empty() && needed.only() > 0) needed = {needed.only() - 1};
    side_.settle(batches.frontier(), needed);
    if (running_) context.activate();
  }

 private:
  using ChangeBatch = Batch<K, Payload, T, R1>;
  using ChangeCursor = CursorList<K, Payload, T, R1>;
  struct Lookup {
    ChangeCursor changes;
    Cursor values;
    bool loaded = false;
    std::size_t change = 0;
    std::size_t update = 0;
  };
  struct ValEdit {
    typename Cursor::ValRef val;
    T time;
    typename Cursor::Diff diff;
  };
  struct ChangeEdit {
    RefOf<Payload> payload;
    T time;
    R1 diff;
  };

  // Takes the changes whose times the arrangement has completed.
  void start(const timely::Antichain<T>& complete) {
    if (!held_.valid()) return;
    bool any = false;
    for (const T& time : held_.times().elements()) any = any || !complete.covers(time);
    if (!any) return;
    auto run = batcher_.seal(complete);
    if (run.empty()) {
      release();
      return;
    }
    std::vector<std::shared_ptr<const ChangeBatch>> due{std::make_shared<ChangeBatch>(
        timely::Antichain<T>::minimum(), complete, timely::Antichain<T>::minimum(), std::move(run))};
    running_.emplace(Lookup{ChangeCursor(std::move(due)), Cursor(side_.received())});
  }
  void release() {
    const auto still = batcher_.held();
    if (still.empty()) {
      held_ = {};
    } else {
      held_.downgrade(still);
    }
  }

  bool work(Out& out, std::int64_t& fuel) {
    Lookup& at = *running_;
    while (at.changes.key_valid() && at.values.key_valid()) {
      if (!at.loaded) {
        if (fuel <= 0) return false;
        --fuel;
        const int order = compare(at.changes.key(), at.values.key());
        if (order < 0) {
          at.changes.seek_key(at.values.key());
          continue;
        }
        if (order > 0) {
          at.values.seek_key(at.changes.key());
          continue;
        }
        load(at, fuel);
      }
      const auto key = at.changes.key();
      for (; at.change < change_edits_.size(); ++at.change, at.update = 0) {
        const ChangeEdit& change = change_edits_[at.change];
        for (; at.update < val_edits_.size(); ++at.update) {
          if (fuel <= 0 || out.size() >= options_.container) return false;
          --fuel;
          const ValEdit& edit = val_edits_[at.update];
          const bool sees = seen_ == Seen::kBefore ? edit.time < change.time : !(change.time < edit.time);
          if (!sees) continue;
          emit_(key, change.payload, edit.val, timely::join(change.time, edit.time), change.diff, edit.diff,
                out);
        }
      }
      at.loaded = false;
      at.changes.step_key();
      at.values.step_key();
    }
    return true;
  }

  void load(Lookup& at, std::int64_t& fuel) {
    change_edits_.clear();
    val_edits_.clear();
    T least{};
    for (; at.changes.val_valid(); at.changes.step_val()) {
      at.changes.map_times([&](const T& time, const R1& diff) {
        if (change_edits_.empty() || time < least) least = time;
        change_edits_.push_back({at.changes.val(), time, diff});
      });
    }
    for (; at.values.val_valid(); at.values.step_val()) {
      history_.clear();
      at.values.map_times([&](const auto& stored, const auto& diff) {
        T time = side_.map()(stored);
        // What is before every change of the key can be summed.
        if (time < least) time = timely::minimum<T>();
        history_.emplace_back(std::move(time), diff);
      });
      consolidate_times(history_);
      for (const auto& [time, diff] : history_) val_edits_.push_back({at.values.val(), time, diff});
    }
    fuel -= static_cast<std::int64_t>(change_edits_.size() + val_edits_.size());
    at.loaded = true;
    at.change = at.update = 0;
  }

  Side side_;
  Seen seen_;
  Emit emit_;
  JoinOptions options_;
  Batcher<K, Payload, T, R1> batcher_;
  timely::Capability<T> held_;
  std::optional<Lookup> running_;
  std::vector<ChangeEdit> change_edits_;
  std::vector<ValEdit> val_edits_;
  std::vector<std::pair<T, typename Cursor::Diff>> history_;
};

/// `changes` are exchanged by their key here.
template <typename Out, typename Payload, typename R1, typename Tr, typename Map, typename Emit>
  requires std::unsigned_integral<typename Map::Time>
timely::Stream<typename Map::Time, Out> half_join(
    const timely::Stream<typename Map::Time, Updates<typename Tr::Key, Payload, typename Map::Time, R1>>& changes,
    const Arranged<Tr, Map>& arranged, Seen seen, Emit emit, JoinOptions options = {.name = "HalfJoin"}) {
  using T = typename Map::Time;
  using Arr = Arranged<Tr, Map>;
  auto factory = [arrangement = arranged.arrangement(), holds = arranged.worker_holds(),
                  map = arranged.time_map(), seen, emit, options](timely::Setup<T>& setup) {
    const std::size_t worker = setup.worker();
    return HalfJoinOperator<Arr, Payload, R1, Out, Emit>(
        JoinSide<Arr>(arrangement->trace(worker), holds.take(worker), map), seen, emit, options);
  };
  return changes.template binary<Out>(arranged.stream(), options.name, timely::Exchange{KeyRoute{}},
                                      timely::Pipeline{}, std::move(factory));
}

}  // namespace differential
