// SPDX-License-Identifier: Apache-2.0
/// Keeps updates whose time is not complete, so that each seal touches only those that become so.
///
/// For unsigned integer times it is a radix heap: an update sits in the bucket of the highest bit in
/// which its time differs from the last seal, and moves down at most once per bit. For other times it
/// keeps one bucket for each distinct time, since these are few where times are partially ordered.
/// Cost: amortised constant moves per update; a seal that frees nothing touches nothing.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <map>
#include <memory>
#include <utility>
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
    bucket(rows.times[i]).push_row(rows, i);
    ++size_;
  }
  void add_all(const Rows& rows) {
    if (rows.empty()) return;
    if (!rows.times.uniform()) {
      for (std::size_t i = 0; i < rows.size(); ++i) add(rows, i);
      return;
    }
    bucket(rows.times[0]).append(rows);
    size_ += rows.size();
  }
  void extract(const Frontier& upper, Rows& ready) {
    if (upper.empty()) {
      for (auto& bucket : buckets_) {
        if (bucket) ready.append(bucket->rows);
        bucket.reset();
      }
      size_ = 0;
      return;
    }
    if (auto& late = buckets_[kLate]; late && last_ <= upper.only()) {
      size_ -= late->rows.size();
      ready.append(late->rows);
      late.reset();
    }
    move_to(upper.only(), &ready);
  }
  void take(T time, Rows& rows) {
    auto& place = buckets_[level(time)];
    if (!place || place->least > time) return;
    const std::unique_ptr<Bucket> bucket = std::exchange(place, nullptr);
    for (std::size_t i = 0; i < bucket->rows.size(); ++i) {
      --size_;
      if (bucket->rows.times[i] == time) {
        rows.push_row(bucket->rows, i);
      } else {
        add(bucket->rows, i);
      }
    }
  }
  [[nodiscard]] Frontier minimal_times() const {
    for (const auto& bucket : buckets_) {  // in the order of time
      if (bucket) return {bucket->least};
    }
    return {};
  }

 private:
  /// Exists only while it has rows.
  struct Bucket {
    Rows rows;
    T least{};
  };

  Rows& bucket(T time) {
    auto& place = buckets_[level(time)];
    if (!place) place.reset(new Bucket{{}, time});
    if (time < place->least) place->least = time;
    return place->rows;
  }
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
    for (std::size_t b = 1; b <= changed; ++b) {
      const std::unique_ptr<Bucket> moved = std::exchange(buckets_[b], nullptr);
      if (!moved) continue;
      size_ -= moved->rows.size();
      for (std::size_t i = 0; i < moved->rows.size(); ++i) {
        if (moved->rows.times[i] < last) {
          ready->push_row(moved->rows, i);
        } else {
          add(moved->rows, i);
        }
      }
    }
  }

  std::array<std::unique_ptr<Bucket>, 66> buckets_{};
  T last_ = 0;
  std::size_t size_ = 0;
};

}  // namespace differential
