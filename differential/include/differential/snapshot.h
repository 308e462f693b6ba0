// SPDX-License-Identifier: Apache-2.0
/// A snapshot of a trace: its batches, and the times at which they may be read.
///
/// Taken and read on any thread, while the owner goes on. The reader must have acquired a hold at the
/// time it reads before it takes the snapshot.
///
///     auto cursor = snapshot.at(time);                       // nothing outside [since, upper)
///     cursor->seek_key("key");
///     for (; cursor->valid(); cursor->step()) use(cursor->key(), cursor->val(), cursor->diff());
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <differential/cursor.h>
#include <timely/antichain.h>

namespace differential {

/// Walks the content of a collection at one time: each (key, value) with its diff, never zero.
template <typename K, typename V, typename T, typename R>
class AsOfCursor {
 public:
  using KeyRef = RefOf<K>;
  using ValRef = RefOf<V>;

  AsOfCursor(std::vector<BatchPtr<K, V, T, R>> batches, T time)
      : cursor_(std::move(batches)), time_(std::move(time)) {
    settle();
  }
  [[nodiscard]] bool valid() const { return cursor_.key_valid(); }
  [[nodiscard]] KeyRef key() const { return cursor_.key(); }
  [[nodiscard]] ValRef val() const { return cursor_.val(); }
  [[nodiscard]] const R& diff() const { return diff_; }
  void step() {
    cursor_.step_val();
    settle();
  }
  /// Moves to the first entry of the first key after the present one.
  void step_key() {
    cursor_.step_key();
    settle();
  }
  /// Moves forward to the first entry whose key is not less than `key`.
  void seek_key(const KeyRef& key) {
    if (!valid() || compare(cursor_.key(), key) >= 0) return;
    cursor_.seek_key(key);
    settle();
  }

 private:
  void settle() {
    while (cursor_.key_valid()) {
      for (; cursor_.val_valid(); cursor_.step_val()) {
        diff_ = R{};
        cursor_.map_times([this](const T& time, const R& diff) {
          if (timely::less_equal(time, time_)) add_to(diff_, diff);
        });
        if (!is_zero(diff_)) return;
      }
      cursor_.step_key();
    }
  }

  CursorList<K, V, T, R> cursor_;
  T time_;
  R diff_{};
};

template <typename K, typename V, typename T, typename R>
class TraceSnapshot {
 public:
  using Frontier = timely::Antichain<T>;
  using Batches = std::vector<BatchPtr<K, V, T, R>>;

  TraceSnapshot(Frontier since, Frontier upper, Batches batches)
      : since_(std::move(since)), upper_(std::move(upper)), batches_(std::move(batches)) {}

  [[nodiscard]] const Frontier& since() const { return since_; }
  [[nodiscard]] const Frontier& upper() const { return upper_; }
  [[nodiscard]] const Batches& batches() const { return batches_; }
  /// True if the content at `time` is complete and was not compacted away.
  [[nodiscard]] bool readable_at(const T& time) const {
    return since_.covers(time) && !upper_.covers(time);
  }
  /// The content at `time`; nothing if it is not readable there.
  [[nodiscard]] std::optional<AsOfCursor<K, V, T, R>> at(const T& time) const {
    if (!readable_at(time)) return std::nullopt;
    return AsOfCursor<K, V, T, R>(batches_, time);
  }
  /// All updates, over all times; times before `since` have moved.
  [[nodiscard]] CursorList<K, V, T, R> cursor() const { return CursorList<K, V, T, R>(batches_); }

 private:
  Frontier since_;
  Frontier upper_;
  Batches batches_;
};

}  // namespace differential
