// SPDX-License-Identifier: Apache-2.0
/// Keeps updates whose time is not complete, so that each seal touches only those that become so.
///
/// For unsigned integer times it is a radix heap: an update sits in the bucket of the highest bit in
/// which its time differs from the last seal, and moves down at most once per bit. For other times it
/// keeps one bucket for each distinct time, since these are few where times are partially ordered.
/// Cost: amortised constant moves per update; a seal that frees nothing touches nothing.
#pragma once

#include <bit>
#include <concepts>
#include <map>
#include <vector>

#include <differential/sort.h>
#include <timely/antichain.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
class FutureStore {
 public:
  using Rows = Updates<K, V, T, R>;
  using Frontier = timely::Antichain<T>;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void add(const Rows& rows, std::size_t i) {
    bucket(rows.times[i]).push_row(rows, i);
    ++size_;
  }
  void add_all(const Rows& rows) {
    if (rows.empty()) return;
    if (rows.times.uniform()) {
      bucket(rows.times[0]).append(rows);
      size_ += rows.size();
    } else {
      for (std::size_t i = 0; i < rows.size(); ++i) add(rows, i);
    }
  }
  /// Moves the updates at times not covered by `upper` to `ready`.
  void extract(const Frontier& upper, Rows& ready) {
    for (auto place = buckets_.begin(); place != buckets_.end();) {
      auto& [time, rows] = *place;
      if (upper.covers(time)) {
        ++place;
        continue;
      }
      ready.append(rows);
      size_ -= rows.size();
      place = buckets_.erase(place);
    }
  }
  /// Moves the updates at `time` to `rows`.
  void take(const T& time, Rows& rows) {
    auto place = buckets_.find(time);
    if (place == buckets_.end()) return;
    size_ -= place->second.size();
    rows.append(place->second);
    buckets_.erase(place);
  }
  /// The minimal times held, whether or not their updates cancel.
  [[nodiscard]] Frontier minimal_times() const {
    Frontier result;
    for (const auto& [time, rows] : buckets_) result.insert(time);
    return result;
  }

 private:
  Rows& bucket(const T& time) { return buckets_[time]; }

  std::map<T, Rows> buckets_;
  std::size_t size_ = 0;
};

template <typename K, typename V, std::unsigned_integral T, typename R>
class FutureStore<K, V, T, R> {
 public:
  using Rows = Updates<K, V, T, R>;
  using Frontier = timely::Antichain<T>;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void add(const Rows& rows, std::size_t i) {
    const T time = rows.times[i];
    Bucket& bucket = buckets_[level(time)];
    if (bucket.rows.empty() || time < bucket.least) bucket.least = time;
    bucket.rows.push_row(rows, i);
    ++size_;
  }
  void add_all(const Rows& rows) {
    if (rows.empty()) return;
    if (!rows.times.uniform()) {
      for (std::size_t i = 0; i < rows.size(); ++i) add(rows, i);
      return;
    }
    Bucket& bucket = buckets_[level(rows.times[0])];
    if (bucket.rows.empty() || rows.times[0] < bucket.least) bucket.least = rows.times[0];
    bucket.rows.append(rows);
    size_ += rows.size();
  }
  void extract(const Frontier& upper, Rows& ready) {
    if (upper.empty()) {
      for (Bucket& bucket : buckets_) {
        ready.append(bucket.rows);
        bucket.rows = {};
      }
      size_ = 0;
      return;
    }
    Bucket& late = buckets_[kLate];
    if (!late.rows.empty() && last_ <= upper.only()) {
      size_ -= late.rows.size();
      ready.append(late.rows);
      late.rows.clear();
    }
    move_to(upper.only(), &ready);
  }
  void take(T time, Rows& rows) {
    Bucket& bucket = buckets_[level(time)];
    if (bucket.rows.empty() || bucket.least > time) return;
    Rows kept;
    bool any = false;
    for (std::size_t i = 0; i < bucket.rows.size(); ++i) {
      const T t = bucket.rows.times[i];
      if (t == time) {
        rows.push_row(bucket.rows, i);
        --size_;
        continue;
      }
      kept.push_row(bucket.rows, i);
      bucket.least = any ? std::min(bucket.least, t) : t;
      any = true;
    }
    bucket.rows = std::move(kept);
  }
  [[nodiscard]] Frontier minimal_times() const {
    if (size_ == 0) return {};
    for (const Bucket& bucket : buckets_) {  // in the order of time
      if (!bucket.rows.empty()) return {bucket.least};
    }
    FRESHET_UNREACHABLE();
  }

 private:
  struct Bucket {
    Rows rows;
    T least{};
  };

  // Times before the last seal: they are due at the next. Else 1 for `last_` itself, or two more than the
  // highest bit that differs.
  static constexpr std::size_t kLate = 0;
  [[nodiscard]] std::size_t level(T time) const {
    if (time < last_) return kLate;
    return 1 + static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time ^ last_)));
  }
  // Buckets above the highest bit in which the new `last_` differs stay as they are.
  void move_to(T last, Rows* ready) {
    if (last <= last_) return;
    const std::size_t changed = level(last);
    last_ = last;
    if (size_ == 0) return;
    Rows moved;
    for (std::size_t b = 1; b <= changed; ++b) {
      if (buckets_[b].rows.empty()) continue;
      moved.clear();
      std::swap(moved, buckets_[b].rows);
      size_ -= moved.size();
      for (std::size_t i = 0; i < moved.size(); ++i) {
        if (moved.times[i] < last) {
          ready->push_row(moved, i);
        } else {
          add(moved, i);
        }
      }
    }
  }

  Bucket buckets_[66];
  T last_ = 0;
  std::size_t size_ = 0;
};

}  // namespace differential
