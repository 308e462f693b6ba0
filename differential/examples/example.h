// SPDX-License-Identifier: Apache-2.0
/// What the examples share: arguments, random graphs and latency figures.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include <freshet/base/guarded.h>
#include <freshet/base/random.h>
#include <sys/resource.h>

namespace example {

inline std::uint64_t argument(int argc, char** argv, int index, std::uint64_t fallback) {
  return index < argc ? std::strtoull(argv[index], nullptr, 10) : fallback;
}

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Prints median, p99 and the worst of latencies in seconds.
inline void print_latency(const char* what, std::vector<double> seconds) {
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) { return 1e6 * seconds[static_cast<std::size_t>(part * static_cast<double>(seconds.size() - 1))]; };
  std::printf("%s: median %.1f us, p99 %.1f us, worst %.1f us (%zu changes)\n", what, at(0.5), at(0.99), at(1.0), seconds.size());
}

/// Of a histogram: value -> how often.
inline std::uint64_t checksum(const freshet::base::Guarded<std::map<std::uint64_t, std::int64_t>>& histogram) {
  std::uint64_t sum = 0;
  histogram.with([&](const auto& counts) {
    for (const auto& [value, count] : counts) sum += freshet::base::mix64(value) * std::uint64_t(count);
  });
  return sum;
}

inline double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

}  // namespace example
