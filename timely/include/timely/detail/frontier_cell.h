// SPDX-License-Identifier: Apache-2.0
/// A frontier that the tracker writes under its lock and anybody reads: one atomic word for
/// integers.
///
/// Orderings: the writer is ordered by the lock, so values never go back; each store is a release
/// and each load an acquire. A closed (empty) frontier never opens again once it was open.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <mutex>

#include <timely/antichain.h>

namespace timely::detail {

template <typename T>
class FrontierCell {
 public:
  void store(const Antichain<T>& frontier) {
    std::lock_guard lock(mutex_);
    value_ = frontier;
    version_.fetch_add(1, std::memory_order_release);
  }
  /// Brings `cache` up to date; true if it changed since `version`.
  bool refresh(Antichain<T>& cache, std::uint64_t& version) const {
    if (version_.load(std::memory_order_acquire) == version) return false;
    std::lock_guard lock(mutex_);
    version = version_.load(std::memory_order_relaxed);
    cache = value_;
    return true;
  }
  [[nodiscard]] Antichain<T> load() const {
    std::lock_guard lock(mutex_);
    return value_;
  }
  [[nodiscard]] bool covers(const T& time) const {
    std::lock_guard lock(mutex_);
    return value_.covers(time);
  }
  [[nodiscard]] bool covers_strictly(const T& time) const {
    std::lock_guard lock(mutex_);
    return value_.covers_strictly(time);
  }
  [[nodiscard]] bool stale(std::uint64_t version) const {
    return version_.load(std::memory_order_acquire) != version;
  }

 private:
  mutable std::mutex mutex_;
  Antichain<T> value_;
  std::atomic<std::uint64_t> version_{0};
};

template <typename T>
  requires std::integral<T>
class FrontierCell<T> {
 public:
  void store(const Antichain<T>& frontier) {
    if (frontier.empty()) {
      open_.store(false, std::memory_order_release);
    } else {
      word_.store(frontier.only(), std::memory_order_release);
      open_.store(true, std::memory_order_release);
    }
    version_.fetch_add(1, std::memory_order_release);
  }
  bool refresh(Antichain<T>& cache, std::uint64_t& version) const {
    const std::uint64_t now = version_.load(std::memory_order_acquire);
    if (now == version) return false;
    // A store between the loads only makes us see a later frontier under an earlier version.
    version = now;
    cache = load();
    return true;
  }
  [[nodiscard]] Antichain<T> load() const {
    if (!open_.load(std::memory_order_acquire)) return {};
    return Antichain<T>{word_.load(std::memory_order_acquire)};
  }
  [[nodiscard]] bool covers(const T& time) const {
    return open_.load(std::memory_order_acquire) && word_.load(std::memory_order_acquire) <= time;
  }
  [[nodiscard]] bool covers_strictly(const T& time) const {
    return open_.load(std::memory_order_acquire) && word_.load(std::memory_order_acquire) < time;
  }
  [[nodiscard]] bool stale(std::uint64_t version) const {
    return version_.load(std::memory_order_acquire) != version;
  }

 private:
  std::atomic<T> word_{0};
  std::atomic<bool> open_{false};
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace timely::detail
