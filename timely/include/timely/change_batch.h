// SPDX-License-Identifier: Apache-2.0
/// Counts to add to a multiset of times, with equal times summed lazily.
///
/// Cost: `update` appends; sorting and summing happens when the list has doubled, or when read.
///
///     ChangeBatch<uint64_t> changes;
///     changes.update(7, +1);
///     changes.update(7, -1);
///     changes.empty();           // true
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace timely {

template <typename T>
class ChangeBatch {
 public:
  using Change = std::pair<T, std::int64_t>;

  ChangeBatch() = default;

  void update(T time, std::int64_t diff) {
    if (diff == 0) return;
    if (changes_.size() == clean_ && clean_ > 0 && changes_.back().first == time) {
      changes_.back().second += diff;
      if (changes_.back().second == 0) {
        changes_.pop_back();
        --clean_;
      }
      return;
    }
    changes_.emplace_back(std::move(time), diff);
    if (changes_.size() == 1) clean_ = 1;
    if (changes_.size() > 32 && changes_.size() > 2 * clean_) compact();
  }
  template <typename Range>
  void extend(const Range& changes) {
    for (const auto& [time, diff] : changes) update(time, diff);
  }

  /// True if the sum of all changes is nothing.
  [[nodiscard]] bool empty() {
    compact();
    return changes_.empty();
  }
  /// The net changes, sorted by the total order, without zeros. Valid until the next update.
  [[nodiscard]] std::span<const Change> changes() {
    compact();
    return changes_;
  }
  /// Passes each net change to `f(time, diff)` and forgets it.
  template <typename F>
  void drain(F f) {
    compact();
    for (auto& [time, diff] : changes_) f(std::move(time), diff);
    clear();
  }
  void clear() {
    changes_.clear();
    clean_ = 0;
  }
  /// An upper bound on the number of net changes, without the cost of summing.
  [[nodiscard]] std::size_t size_hint() const { return changes_.size(); }

 private:
  void compact() {
    if (clean_ == changes_.size()) return;
    std::ranges::sort(changes_, std::less<>{}, &Change::first);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < changes_.size();) {
      std::int64_t sum = 0;
      std::size_t j = i;
      for (; j < changes_.size() && changes_[j].first == changes_[i].first; ++j)
        sum += changes_[j].second;
      if (sum != 0) {
        if (kept != i) changes_[kept].first = std::move(changes_[i].first);
        changes_[kept++].second = sum;
      }
      i = j;
    }
    changes_.erase(changes_.begin() + static_cast<std::ptrdiff_t>(kept), changes_.end());
    clean_ = kept;
  }

  std::vector<Change> changes_;
  std::size_t clean_ = 0;  // the first `clean_` are sorted, distinct and not zero
};

}  // namespace timely
