// SPDX-License-Identifier: Apache-2.0
/// Counters and gauges that a process shows about itself, registered by name.
/// Names are `freshet_<module>_<noun>_<unit>`; the text form is Prometheus's.
/// Thread safety: all of it; a counter is one relaxed atomic add.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::base {

class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t v) { value_.store(v, std::memory_order_relaxed); }
  void add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  /// The metric of that name, made at the first call. It lives as long as this object.
  Counter& counter(std::string_view name);
  Gauge& gauge(std::string_view name);
  /// All metrics in name order, one `name value` line each.
  [[nodiscard]] std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace freshet::base
