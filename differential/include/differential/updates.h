// SPDX-License-Identifier: Apache-2.0
/// Columns of (key, value, time, diff): what enters an arrangement, without an allocation per row.
///
///     Updates<std::string, std::string, uint64_t, int64_t> rows;
///     rows.push("key", "value", 7, +1);
///     rows.keys.open().append(encoded); rows.keys.close();    // or column by column, in place
///     rows.vals.push("value"); rows.times.push(7); rows.diffs.push_back(1);
#pragma once

#include <vector>

#include <differential/column.h>

namespace differential {

/// Times of updates; a single one while all are equal.
template <typename T>
class TimeColumn {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  /// True if all times are the same (also if there are none).
  [[nodiscard]] bool uniform() const { return many_.empty(); }
  void push(const T& time) {
    if (many_.empty()) {
      if (size_ == 0) first_ = time;
      if (time == first_) {
        ++size_;
        return;
      }
      many_.assign(size_, first_);
    }
    many_.push_back(time);
    ++size_;
  }
  void push(const T& time, std::size_t times) {
    if (times == 0) return;
    push(time);
    if (many_.empty()) {
      size_ += times - 1;
    } else {
      many_.insert(many_.end(), times - 1, time);
      size_ += times - 1;
    }
  }
  const T& operator[](std::size_t i) const { return many_.empty() ? first_ : many_[i]; }
  void clear() {
    many_.clear();
    size_ = 0;
  }

 private:
  std::size_t size_ = 0;
  T first_{};
  std::vector<T> many_;
};

/// Invariant between calls: the four columns have the same length.
template <typename K, typename V, typename T, typename R>
struct Updates {
  using Key = K;
  using Val = V;
  using Time = T;
  using Diff = R;
  using KeyRef = RefOf<K>;
  using ValRef = RefOf<V>;

  Column<K> keys;
  Column<V> vals;
  TimeColumn<T> times;
  std::vector<R> diffs;

  [[nodiscard]] std::size_t size() const { return diffs.size(); }
  [[nodiscard]] bool empty() const { return diffs.empty(); }
  [[nodiscard]] std::size_t bytes() const {
    return keys.bytes() + vals.bytes() + diffs.size() * sizeof(R) +
           (times.uniform() ? 0 : times.size() * sizeof(T));
  }
  void push(const KeyRef& key, const ValRef& val, const T& time, const R& diff) {
    keys.push(key);
    vals.push(val);
    times.push(time);
    diffs.push_back(diff);
  }
  /// Appends row `i` of `from`.
  void push_row(const Updates& from, std::size_t i) {
    push(from.keys[i], from.vals[i], from.times[i], from.diffs[i]);
  }
  void append(const Updates& from) {
    keys.push_range(from.keys.view(), 0, from.size());
    vals.push_range(from.vals.view(), 0, from.size());
    if (from.times.uniform()) {
      if (!from.empty()) times.push(from.times[0], from.size());
    } else {
      for (std::size_t i = 0; i < from.size(); ++i) times.push(from.times[i]);
    }
    diffs.insert(diffs.end(), from.diffs.begin(), from.diffs.end());
  }
  void clear() {
    keys.clear();
    vals.clear();
    times.clear();
    diffs.clear();
  }
};

}  // namespace differential
