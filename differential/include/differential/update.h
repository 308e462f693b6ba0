// SPDX-License-Identifier: Apache-2.0
/// One change of a collection: `data` gains `diff` copies at `time`.
///
///     std::vector<Update<int, uint64_t, int64_t>> updates{{7, 3, +1}, {7, 3, -1}};
///     consolidate(updates);                                       // empty
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <differential/difference.h>

namespace differential {

template <typename D, typename T, typename R>
struct Update {
  using Data = D;
  using Time = T;
  using Diff = R;

  D data{};
  T time{};
  R diff{};

  friend bool operator==(const Update&, const Update&) = default;
};

/// The value of a collection that has only keys.
struct Unit {
  friend constexpr auto operator<=>(Unit, Unit) = default;
};

/// Sorts by data, then time, sums equal ones and drops zeros.
template <typename D, typename T, typename R>
void consolidate(std::vector<Update<D, T, R>>& updates) {
  if (updates.size() > 1) {
    std::sort(updates.begin(), updates.end(), [](const auto& a, const auto& b) {
      if (a.data < b.data) return true;
      if (b.data < a.data) return false;
      return a.time < b.time;
    });
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < updates.size();) {
    std::size_t j = i + 1;
    for (; j < updates.size() && updates[j].data == updates[i].data && updates[j].time == updates[i].time;
         ++j) {
      add_to(updates[i].diff, updates[j].diff);
    }
    if (!is_zero(updates[i].diff)) {
      if (kept != i) updates[kept] = std::move(updates[i]);
      ++kept;
    }
    i = j;
  }
  updates.resize(kept);
}

/// Sorts by time, sums equal ones and drops zeros: the history of one (key, value).
template <typename T, typename R>
void consolidate_times(std::vector<std::pair<T, R>>& history, std::size_t from = 0) {
  if (history.size() - from == 1) {
    if (is_zero(history[from].second)) history.pop_back();
    return;
  }
  const auto begin = history.begin() + static_cast<std::ptrdiff_t>(from);
  if (history.size() - from > 1) {
    std::sort(begin, history.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  std::size_t kept = from;
  for (std::size_t i = from; i < history.size();) {
    std::size_t j = i + 1;
    for (; j < history.size() && history[j].first == history[i].first; ++j) {
      add_to(history[i].second, history[j].second);
    }
    if (!is_zero(history[i].second)) {
      if (kept != i) history[kept] = std::move(history[i]);
      ++kept;
    }
    i = j;
  }
  history.resize(kept);
}

}  // namespace differential
