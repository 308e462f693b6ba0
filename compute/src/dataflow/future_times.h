// SPDX-License-Identifier: Apache-2.0
/// Times at which rows will appear or vanish by themselves: what temporal filters know of the future.
///
/// Whoever must show changes when they happen asks for the next one when the clock reaches it; nothing ticks.
/// Thread safety: all methods, from any thread.
#pragma once

#include <optional>
#include <set>
#include <span>

#include <freshet/base/guarded.h>
#include <freshet/repr/time.h>

namespace freshet::compute {

class FutureTimes {
 public:
  void add(std::span<const repr::SqlTime> times) {
    times_.with([&](std::set<repr::SqlTime>& known) { known.insert(times.begin(), times.end()); });
  }
  /// The first at or after `upper`; forgets those before.
  std::optional<repr::SqlTime> next(repr::SqlTime upper) {
    return times_.with([&](std::set<repr::SqlTime>& known) -> std::optional<repr::SqlTime> {
      known.erase(known.begin(), known.lower_bound(upper));
      return known.empty() ? std::nullopt : std::optional(*known.begin());
    });
  }

 private:
  base::Guarded<std::set<repr::SqlTime>> times_;
};

}  // namespace freshet::compute
