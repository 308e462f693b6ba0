// SPDX-License-Identifier: Apache-2.0
/// One worker's part of an arrangement: its spine, who reads it, and what other threads may see of it.
///
/// The owning worker inserts batches and merges. Readers on the same worker keep a `TraceReader`, whose
/// position is a cut that merging leaves alone. Any other thread takes a `snapshot()`.
///
/// Invariant: a batch is published before `insert` returns, so before its capability is dropped.
/// Thread safety: `snapshot` and `holds` from any thread, all else from the owning worker.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <differential/holds.h>
#include <differential/snapshot.h>
#include <differential/spine.h>
#include <freshet/base/guarded.h>
#include <timely/mutable_antichain.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
class Trace {
 public:
  using Key = K;
  using Val = V;
  using Time = T;
  using Diff = R;
  using BatchRef = BatchPtr<K, V, T, R>;
  using Frontier = timely::Antichain<T>;
  using Snapshot = TraceSnapshot<K, V, T, R>;
  /// Told of each new batch (null if only the upper moved). Returns false to be forgotten.
  using Listener = std::function<bool(const BatchRef& batch, const Frontier& upper)>;

  explicit Trace(HoldTable<T> holds, std::size_t block_bytes = kBlockBytes)
      : holds_(std::move(holds)), spine_(block_bytes) {
    published_.with([](Published& p) { p.upper = Frontier::minimum(); });
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Appends a batch whose lower is the present upper.
  void insert(BatchRef batch);
  /// Merges when there is nothing better to do; true if there is more to merge.
  bool work(std::int64_t fuel);

  [[nodiscard]] const Frontier& upper() const { return spine_.upper(); }
  [[nodiscard]] const Spine<K, V, T, R>& spine() const { return spine_; }
  [[nodiscard]] const HoldTable<T>& holds() const { return holds_; }
  [[nodiscard]] Snapshot snapshot() const;
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  template <typename, typename, typename, typename>
  friend class TraceReader;
  struct Published {
    Frontier upper;
    std::vector<BatchRef> batches;
  };

  void publish();
  void move_reader(const Frontier* from, const Frontier* to);

  HoldTable<T> holds_;
  Spine<K, V, T, R> spine_;
  timely::MutableAntichain<T> readers_;  // the cuts that readers still need
  std::size_t reader_count_ = 0;
  std::vector<Listener> listeners_;
  std::uint64_t published_version_ = 0;
  freshet::base::Guarded<Published> published_;
};

/// A reader on the owning worker: asks for the batches up to a cut that only moves forward.
/// Lifetime: keeps the trace alive.
template <typename K, typename V, typename T, typename R>
class TraceReader {
 public:
  using TraceType = Trace<K, V, T, R>;
  using Frontier = timely::Antichain<T>;

  /// Starts at the trace's present upper: everything before it is one step for this reader.
  explicit TraceReader(std::shared_ptr<TraceType> trace)
      : trace_(std::move(trace)), cut_(trace_->upper()) {
    trace_->move_reader(nullptr, &cut_);
  }
  TraceReader(TraceReader&& other) noexcept
      : trace_(std::move(other.trace_)), cut_(std::move(other.cut_)) {
    other.trace_.reset();
  }
  TraceReader& operator=(TraceReader&& other) noexcept {
    std::swap(trace_, other.trace_);
    std::swap(cut_, other.cut_);
    return *this;
  }
  ~TraceReader() {
    if (trace_) trace_->move_reader(&cut_, nullptr);
  }

  [[nodiscard]] std::vector<BatchPtr<K, V, T, R>> batches_through(const Frontier& through) const {
    return trace_->spine_.batches_through(through);
  }
  /// Lets the trace merge across cuts before `to`.
  void advance(const Frontier& to) {
    if (to == cut_ || !timely::less_equal(cut_, to)) return;
    trace_->move_reader(&cut_, &to);
    cut_ = to;
  }
  [[nodiscard]] const std::shared_ptr<TraceType>& trace() const { return trace_; }

 private:
  std::shared_ptr<TraceType> trace_;
  Frontier cut_;
};

}  // namespace differential
