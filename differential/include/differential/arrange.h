// SPDX-License-Identifier: Apache-2.0
/// The arrange operator: from a stream of updates to an arrangement.
///
///     auto rows = …;                                          // Stream<T, RowUpdates<T>>
///     auto arranged = arrange<RowTrace<T>>(rows, "orders by key");
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <differential/arranged.h>
#include <differential/batcher-inl.h>
#include <differential/trace-inl.h>
#include <timely/unary.h>

/// Columns of updates divide by the hash of their key, as bytes and integers in bulk.
template <typename K, typename V, typename T, typename R>
struct timely::MessageTraits<differential::Updates<K, V, T, R>> {
  using Updates = differential::Updates<K, V, T, R>;
  static std::size_t size(const Updates& updates) { return updates.size(); }
  static Updates copy(const Updates& updates) { return updates; }
  /// `route(key)` gives the hash.
  template <typename Route>
  static void partition(Updates&& updates, Route& route, std::span<Updates> parts) {
    const std::uint64_t count = parts.size();
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const std::uint64_t hash = route(updates.keys[i]);
      parts[static_cast<std::size_t>(hash % count)].push_row(updates, i);
    }
  }
};

template <typename Tr>
struct timely::MessageTraits<differential::BatchList<Tr>> {
  static std::size_t size(const differential::BatchList<Tr>& list) { return list.size(); }
  static differential::BatchList<Tr> copy(const differential::BatchList<Tr>& list) { return list; }
};

namespace differential {

/// Routes a key to a worker; the same for every arrangement, so that joins meet.
struct KeyRoute {
  template <typename KeyRef>
  std::uint64_t operator()(const KeyRef& key) const {
    return hash_of(key);
  }
};

/// Makes `held` cover `at` as well.
template <typename T>
void hold_also(timely::Capability<T>& held, const timely::Capability<T>& at) {
  if (!held.valid() || at.times().covers_all(held.times())) {
    held = at.retain();
  } else if (!held.times().covers_all(at.times())) {
    held.absorb(at.retain());
  }
}

/// How much merging a trace does in one step without news: some tens of microseconds, so that the next
/// change does not wait long behind it.
inline constexpr std::int64_t kIdleFuel = 10'000;

/// Merges a little if the step had nothing better to do; true if the operator must be stepped again.
template <typename Tr>
bool merge_when_idle(Tr& trace, bool busy) {
  if (!trace.spine().merging()) return false;
  return busy || trace.work(kIdleFuel);
}

/// The logic of arrange on one worker. `Load` moves a message into the batcher's columns.
///
/// Invariant: holds a capability exactly for the frontier of what the batcher holds after consolidation.
template <typename Tr, typename M, typename Load>
class ArrangeOperator {
 public:
  using T = typename Tr::Time;
  using BatchType = Batch<typename Tr::Key, typename Tr::Val, T, typename Tr::Diff>;

  ArrangeOperator(std::shared_ptr<Tr> trace, Load load, std::size_t block_bytes)
      : trace_(std::move(trace)), load_(std::move(load)), batcher_(block_bytes) {}

  void step(timely::Input<T, M>& input, timely::Output<T, BatchList<Tr>>& output,
            timely::Context& context) {
    bool busy = !input.empty();
    input.for_each([&](const timely::Capability<T>& at, M message) {
      hold_also(held_, at);
      load_(batcher_, std::move(message));
    });
    const auto& frontier = input.frontier();
    if (!(frontier == trace_->upper())) {
      seal(frontier, output);
      busy = true;
    }
    if (merge_when_idle(*trace_, busy)) context.activate();
  }

 private:
  void seal(const timely::Antichain<T>& frontier, timely::Output<T, BatchList<Tr>>& output) {
    auto run = held_.valid() ? batcher_.seal(frontier)
                             : Run<typename Tr::Key, typename Tr::Val, T, typename Tr::Diff>{};
    auto batch = std::make_shared<BatchType>(trace_->upper(), frontier,
                                             timely::Antichain<T>::minimum(), std::move(run));
    trace_->insert(batch);
    if (!held_.valid()) return;
    if (!batch->empty()) output.give(held_, BatchList<Tr>{{std::move(batch)}, frontier});
    const auto still = batcher_.held();
    if (still.empty()) {
      held_ = {};
    } else {
      held_.downgrade(still);
    }
  }

  std::shared_ptr<Tr> trace_;
  Load load_;
  Batcher<typename Tr::Key, typename Tr::Val, T, typename Tr::Diff> batcher_;
  timely::Capability<T> held_;
};

/// Arranges a stream of any messages: `route` divides them (pact), `load(batcher, message)` takes them in.
template <typename Tr, typename M, typename Pact, typename Load>
Arranged<Tr> arrange_with(const timely::Stream<typename Tr::Time, M>& stream, std::string name, Pact pact,
                          Load load, std::size_t block_bytes = kBlockBytes) {
  using T = typename Tr::Time;
  auto arrangement = std::make_shared<Arrangement<Tr>>(name, stream.scope().width(), block_bytes);
  auto hold = std::make_shared<Hold<T>>(
      *arrangement->holds().acquire(timely::Antichain<T>::minimum()));
  auto batches = stream.template unary<BatchList<Tr>>(
      "Arrange " + name, std::move(pact),
      [arrangement, load, block_bytes](timely::Setup<T>& setup) {
        return ArrangeOperator<Tr, M, Load>(arrangement->trace(setup.worker()), load, block_bytes);
      });
  return Arranged<Tr>(std::move(batches), std::move(arrangement), std::move(hold));
}

struct LoadColumns {
  template <typename BatcherType, typename M>
  void operator()(BatcherType& batcher, M&& message) const {
    batcher.push(std::forward<M>(message));
  }
};

/// Arranges columns of updates by key, exchanged by the hash of the key.
template <typename Tr>
Arranged<Tr> arrange(
    const timely::Stream<typename Tr::Time, Updates<typename Tr::Key, typename Tr::Val, typename Tr::Time,
                                                    typename Tr::Diff>>& stream,
    std::string name, std::size_t block_bytes = kBlockBytes) {
  return arrange_with<Tr>(stream, std::move(name), timely::Exchange{KeyRoute{}}, LoadColumns{},
                          block_bytes);
}

/// Sends an existing arrangement into another dataflow.
template <typename Tr>
class ImportOperator {
 public:
  using T = typename Tr::Time;
  using Frontier = timely::Antichain<T>;

  ImportOperator(Tr& trace, const Frontier& as_of, timely::Capability<T> capability,
                 timely::Activator activator)
      : queue_(std::make_shared<Queue>()), held_(std::move(capability)) {
    held_.downgrade(as_of);
    queue_->upper = trace.upper();
    for (auto& batch : trace.spine().batches()) {
      if (!batch->empty()) queue_->batches.push_back(std::move(batch));
    }
    activator.activate();
    trace.listen([queue = std::weak_ptr<Queue>(queue_), activator](const auto& batch, const Frontier& upper) {
      auto mine = queue.lock();
      if (!mine) return false;
      if (batch) mine->batches.push_back(batch);
      mine->upper = upper;
      activator.activate();
      return true;
    });
  }
  void step(timely::Output<T, BatchList<Tr>>& output) {
    if (!held_.valid()) return;
    if (!queue_->batches.empty()) {
      output.give(held_, BatchList<Tr>{std::exchange(queue_->batches, {}), queue_->upper});
    }
    if (queue_->upper.empty()) {
      held_ = {};
    } else {
      held_.downgrade(timely::join(held_.times(), queue_->upper));
    }
  }

 private:
  struct Queue {
    std::vector<typename Tr::BatchRef> batches;
    Frontier upper;
  };
  std::shared_ptr<Queue> queue_;
  timely::Capability<T> held_;
};

template <typename Tr>
Arranged<Tr, StoredTimes<typename Tr::Time>> TraceHandle<Tr>::import(const timely::Scope<T>& scope,
                                                                    const Frontier& as_of) const {
  FRESHET_ASSERT(scope.width() == arrangement_->width(), scope.width(), arrangement_->width());
  FRESHET_ASSERT(!as_of.empty() && timely::less_equal(hold_.at(), as_of), hold_.at(), as_of);
  auto hold = std::make_shared<Hold<T>>(hold_.clone());
  hold->downgrade(as_of);
  auto stream = scope.template source<BatchList<Tr>>(
      "Import " + arrangement_->name(), [arrangement = arrangement_, as_of](timely::Setup<T>& setup) {
        return ImportOperator<Tr>(*arrangement->trace(setup.worker()), as_of, setup.capability(),
                                  setup.activator());
      });
  return Arranged<Tr, StoredTimes<T>>(std::move(stream), arrangement_, std::move(hold),
                                      StoredTimes<T>(as_of));
}

template <typename Tr>
Arranged<Tr, StoredTimes<typename Tr::Time>> TraceHandle<Tr>::import(
    const timely::Scope<T>& scope) const {
  return import(scope, hold_.at());
}

}  // namespace differential
