// SPDX-License-Identifier: Apache-2.0
/// An arrangement: a collection kept as one trace per worker, indexed by key, that operators of any
/// dataflow of the runtime share.
///
/// `Arranged` is what a dataflow description works with: the stream of new batches and the way to the
/// traces. `TraceHandle` lives on outside: it holds the arrangement readable from its frontier on, takes
/// snapshots on any thread, and imports the arrangement into other dataflows.
///
///     auto arranged = rows.arrange…;                               // while describing a dataflow
///     auto handle = arranged.trace();                              // keep it
///     handle.set_logical_compaction({t});                          // gives up reading before t
///     auto snapshot = handle.snapshot();                           // any thread
///     auto again = handle.import(other_scope, {as_of});            // in another dataflow
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <differential/time_map.h>
#include <differential/trace.h>
#include <timely/scope.h>

namespace differential {

/// What the stream of an arrangement carries: batches with updates, in the order of their intervals.
template <typename Tr>
struct BatchList {
  std::vector<typename Tr::BatchRef> batches;
  /// What the trace is complete up to with these; may be beyond the last batch.
  timely::Antichain<typename Tr::Time> upper{};

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& batch : batches) sum += batch->updates();
    return sum;
  }
};

/// The traces of all workers and their hold table. Worker i of every dataflow uses trace i only.
template <typename Tr>
class Arrangement {
 public:
  using T = typename Tr::Time;
  using Frontier = timely::Antichain<T>;

  explicit Arrangement(std::string name, std::size_t width, std::size_t block_bytes = kBlockBytes)
      : name_(std::move(name)) {
    for (std::size_t i = 0; i < width; ++i) {
      traces_.push_back(std::make_shared<Tr>(holds_, block_bytes));
    }
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t width() const { return traces_.size(); }
  [[nodiscard]] const HoldTable<T>& holds() const { return holds_; }
  [[nodiscard]] const std::shared_ptr<Tr>& trace(std::size_t worker) const { return traces_[worker]; }

 private:
  std::string name_;
  HoldTable<T> holds_;
  std::vector<std::shared_ptr<Tr>> traces_;
};

/// Holds made while a dataflow is described, one for each worker's operator to take.
template <typename T>
class WorkerHolds {
 public:
  WorkerHolds(const Hold<T>& hold, std::size_t width)
      : holds_(std::make_shared<std::vector<Hold<T>>>()) {
    for (std::size_t i = 0; i < width; ++i) holds_->push_back(hold.clone());
  }
  [[nodiscard]] Hold<T> take(std::size_t worker) const { return std::move((*holds_)[worker]); }

 private:
  std::shared_ptr<std::vector<Hold<T>>> holds_;
};

template <typename Tr, typename Map>
class Arranged;

/// The way to an arrangement from outside its dataflow.
/// Thread safety: `snapshot` from any thread at once; the rest needs external ordering.
template <typename Tr>
class TraceHandle {
 public:
  using Trace = Tr;
  using T = typename Tr::Time;
  using Frontier = timely::Antichain<T>;
  using Snapshot = typename Tr::Snapshot;

  TraceHandle(std::shared_ptr<Arrangement<Tr>> arrangement, Hold<T> hold)
      : arrangement_(std::move(arrangement)), hold_(std::move(hold)) {}

  /// Gives up reading before `frontier`. The empty frontier gives up everything.
  void set_logical_compaction(const Frontier& frontier) { hold_.downgrade(frontier); }
  [[nodiscard]] const Frontier& logical_compaction() const { return hold_.at(); }
  /// The hold table; acquire here before choosing a time to read at.
  [[nodiscard]] const HoldTable<T>& holds() const { return arrangement_->holds(); }
  [[nodiscard]] const std::shared_ptr<Arrangement<Tr>>& arrangement() const { return arrangement_; }
  [[nodiscard]] TraceHandle clone() const { return TraceHandle(arrangement_, hold_.clone()); }

  /// The worker whose trace has the key, for arrangements that were exchanged by `hash_of(key)`.
  [[nodiscard]] std::size_t worker_of(const RefOf<typename Tr::Key>& key) const {
    return static_cast<std::size_t>(hash_of(key) % arrangement_->width());
  }
  /// One worker's part.
  [[nodiscard]] Snapshot snapshot_of(std::size_t worker) const {
    return arrangement_->trace(worker)->snapshot();
  }
  /// All workers' parts as one; its upper is the least of theirs.
  [[nodiscard]] Snapshot snapshot() const {
    if (arrangement_->width() == 1) return snapshot_of(0);
    Frontier upper;
    typename Snapshot::Batches batches;
    for (std::size_t i = 0; i < arrangement_->width(); ++i) {
      Snapshot part = snapshot_of(i);
      upper.extend(part.upper());
      for (const auto& batch : part.batches()) {
        if (!batch->empty()) batches.push_back(batch);
      }
    }
    return Snapshot(arrangement_->holds().since(), std::move(upper), std::move(batches));
  }
  /// The least upper of all workers: what is complete.
  [[nodiscard]] Frontier upper() const { return snapshot().upper(); }
  /// Updates and bytes at rest, over all workers.
  [[nodiscard]] std::pair<std::size_t, std::size_t> size() const {
    std::size_t updates = 0;
    std::size_t bytes = 0;
    const Snapshot all = snapshot();
    for (const auto& batch : all.batches()) {
      updates += batch->updates();
      bytes += batch->bytes();
    }
    return {updates, bytes};
  }

  /// The arrangement in another dataflow of the same width: everything up to now as of `as_of`, which
  /// this handle must still hold, then each batch as it comes. Times before `as_of` appear as `as_of`.
  [[nodiscard]] Arranged<Tr, StoredTimes<T>> import(const timely::Scope<T>& scope,
                                                    const Frontier& as_of) const;
  /// As of the handle's own hold.
  [[nodiscard]] Arranged<Tr, StoredTimes<T>> import(const timely::Scope<T>& scope) const;

 private:
  std::shared_ptr<Arrangement<Tr>> arrangement_;
  Hold<T> hold_;
};

/// An arrangement while a dataflow is described. `Map` shows its times in the scope at hand.
template <typename Tr, typename Map = StoredTimes<typename Tr::Time>>
class Arranged {
 public:
  using Trace = Tr;
  using TimeMap = Map;
  using K = typename Tr::Key;
  using V = typename Tr::Val;
  using R = typename Tr::Diff;
  using T = typename Map::Time;
  using StoredTime = typename Tr::Time;
  using StreamType = timely::Stream<T, BatchList<Tr>>;

  Arranged(StreamType stream, std::shared_ptr<Arrangement<Tr>> arrangement,
           std::shared_ptr<Hold<StoredTime>> hold, Map map = {})
      : stream_(std::move(stream)),
        arrangement_(std::move(arrangement)),
        hold_(std::move(hold)),
        map_(std::move(map)) {}

  /// Batches with updates only; the trace's upper can be beyond the last of them.
  [[nodiscard]] const StreamType& stream() const { return stream_; }
  [[nodiscard]] const std::shared_ptr<Arrangement<Tr>>& arrangement() const { return arrangement_; }
  [[nodiscard]] const Map& time_map() const { return map_; }
  /// For each worker's reader of this arrangement in the dataflow.
  [[nodiscard]] WorkerHolds<StoredTime> worker_holds() const {
    return WorkerHolds<StoredTime>(*hold_, arrangement_->width());
  }
  /// A handle with a hold of its own.
  [[nodiscard]] TraceHandle<Tr> trace() const {
    return TraceHandle<Tr>(arrangement_, hold_->clone());
  }

  /// The arrangement in a nested scope; nothing is copied.
  template <typename T2>
    requires timely::Refines<T2, T>
  [[nodiscard]] Arranged<Tr, EnteredTimes<T2, Map>> enter(const timely::Scope<T2>& inner) const {
    return Arranged<Tr, EnteredTimes<T2, Map>>(stream_.enter(inner), arrangement_, hold_,
                                               EnteredTimes<T2, Map>(map_));
  }

 private:
  StreamType stream_;
  std::shared_ptr<Arrangement<Tr>> arrangement_;
  std::shared_ptr<Hold<StoredTime>> hold_;  // shared by the copies of the description
  Map map_;
};

}  // namespace differential
