// SPDX-License-Identifier: Apache-2.0
/// `Guarded<T>` yields its data only under its lock.
///     Guarded<std::map<int, int>> counts;
///     counts.with([&](auto& map) { ++map[key]; });   // keep it short; never wait inside
#pragma once

#include <mutex>
#include <utility>

namespace freshet::base {

using Mutex = std::mutex;

template <typename T>
class Guarded {
 public:
  Guarded() = default;
  template <typename... Args>
  explicit Guarded(std::in_place_t, Args&&... args) : data_(std::forward<Args>(args)...) {}

  template <typename F>
  decltype(auto) with(F&& f) {
    std::lock_guard lock(mutex_);
    return std::forward<F>(f)(data_);
  }
  template <typename F>
  decltype(auto) with(F&& f) const {
    std::lock_guard lock(mutex_);
    return std::forward<F>(f)(data_);
  }

 private:
  mutable Mutex mutex_;
  T data_{};
};

}  // namespace freshet::base
