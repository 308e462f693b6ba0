// SPDX-License-Identifier: Apache-2.0
/// A multiset of times with counts that keeps its frontier: the earliest times with positive count.
///
/// Invariant: `frontier()` is the antichain of the minimal times whose count is positive. Counts
/// may dip below zero (between processes a removal can arrive before its addition); such times do
/// not show. Cost: for total orders amortised constant when times are added at the end and removed
/// at the front, else a move of the flat array; for partial orders a change that cannot move the
/// frontier is a binary search, any other walks the array.
///
///     MutableAntichain<uint64_t> counts;
///     counts.update(3, +1);                       // true: the frontier is {3}
///     counts.update(5, +1);                       // false
///     counts.update(3, -1);                       // true: {5}
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <timely/antichain.h>

namespace timely {

template <PartiallyOrdered T>
class MutableAntichain {
 public:
  struct Entry {
    T time;
    std::int64_t count;
  };

  MutableAntichain() = default;

  /// Adds `diff` to the count of `time`. True if the frontier changed.
  bool update(const T& time, std::int64_t diff) {
    if (diff == 0) return false;
    const std::int64_t before = apply(time, diff);
    return settle(time, before, before + diff);
  }

  /// Like `update`, and also tells the count after it.
  struct Counted {
    bool moved;
    std::int64_t count;
  };
  Counted update_counted(const T& time, std::int64_t diff) {
    const std::int64_t before = apply(time, diff);
    return {settle(time, before, before + diff), before + diff};
  }

  /// Like `update` for many changes at once, where only the net effect counts.
  template <typename Range>
  bool update_all(const Range& changes) {
    bool dirty = false;
    for (const auto& [time, diff] : changes) {
      if (diff == 0) continue;
      const std::int64_t before = apply(time, diff);
      const bool crossed = (before > 0) != (before + diff > 0);
      if (crossed && (diff > 0 ? !frontier_.covers(time) : is_element(time))) dirty = true;
    }
    if (!dirty) return false;
    Antichain<T> previous = std::move(frontier_);
    rebuild();
    return !(previous == frontier_);
  }

  [[nodiscard]] const Antichain<T>& frontier() const { return frontier_; }
  /// True if no count is other than zero.
  [[nodiscard]] bool empty() const { return head_ == entries_.size(); }
  /// The times with a count other than zero, in the total order.
  [[nodiscard]] std::span<const Entry> entries() const {
    return {entries_.data() + head_, entries_.size() - head_};
  }
  [[nodiscard]] std::int64_t count_for(const T& time) const {
    auto place = find(time);
    return place != entries_.end() && place->time == time ? place->count : 0;
  }
  void clear() {
    entries_.clear();
    head_ = 0;
    frontier_.clear();
  }

 private:
  // The array is sorted by the total order; the first `head_` places are free, so that removing the
  // earliest time moves nothing.
  auto find(const T& time) const {
    auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(head_);
    if (entries_.end() == begin || entries_.back().time < time) return entries_.end();
    return std::ranges::lower_bound(begin, entries_.end(), time, std::less<>{}, &Entry::time);
  }

  std::int64_t apply(const T& time, std::int64_t diff) {
    auto place = entries_.begin() + (find(time) - entries_.cbegin());
    if (place == entries_.end() || !(place->time == time)) {
      if (head_ > 0 && place == entries_.begin() + static_cast<std::ptrdiff_t>(head_)) {
        --head_;
        entries_[head_] = Entry{time, diff};
      } else {
        entries_.insert(place, Entry{time, diff});
      }
      return 0;
    }
    const std::int64_t before = place->count;
    place->count += diff;
    if (place->count == 0) erase(place);
    return before;
  }

  void erase(typename std::vector<Entry>::iterator place) {
    if (place != entries_.begin() + static_cast<std::ptrdiff_t>(head_)) {
      entries_.erase(place);
    } else if (++head_ == entries_.size()) {
      entries_.clear();
      head_ = 0;
    } else if (head_ >= 32 && head_ * 2 >= entries_.size()) {
      entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

  // Brings the frontier up to date with one changed count; true if it moved.
  bool settle(const T& time, std::int64_t before, std::int64_t after) {
    if ((before > 0) == (after > 0)) return false;
    if (after > 0) return frontier_.insert(time);
    if (!is_element(time)) return false;
    rebuild();
    return true;
  }

  bool is_element(const T& time) const {
    return std::ranges::find(frontier_.elements(), time) != frontier_.elements().end();
  }

  void rebuild() {
    frontier_.clear();
    for (const Entry& entry : entries()) {
      if (entry.count <= 0) continue;
      frontier_.insert(entry.time);
      if constexpr (TotalOrder<T>) return;
    }
  }

  std::vector<Entry> entries_;
  std::size_t head_ = 0;
  Antichain<T> frontier_;
};

}  // namespace timely
