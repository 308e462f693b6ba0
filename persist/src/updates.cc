// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/updates.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <freshet/base/assert.h>

namespace freshet::persist {
namespace {

/// The first sixteen bytes as two numbers that order as they do; short rows are padded with zeros.
struct SortKey {
  SortKey() = default;
  SortKey(base::BytesView row, std::uint32_t i) : index(i) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), row.data(), std::min<std::size_t>(row.size(), sizeof(words)));
    first = __builtin_bswap64(words[0]);
    second = __builtin_bswap64(words[1]);
  }
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint32_t index = 0;
};

}  // namespace

std::uint64_t hash_bytes(base::BytesView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void Updates::reserve(std::size_t updates, std::size_t row_bytes) {
  rows_.reserve(row_bytes);
  ends_.reserve(updates + 1);
  times_.reserve(updates);
  diffs_.reserve(updates);
}

void Updates::push(base::BytesView row, Time time, Diff diff) {
  FRESHET_ASSERT(rows_.size() + row.size() <= UINT32_MAX, rows_.size(), row.size());
  rows_.append(row);
  ends_.push_back(static_cast<std::uint32_t>(rows_.size()));
  times_.push_back(time);
  diffs_.push_back(diff);
}

void Updates::accumulate(base::BytesView bytes, Time time, Diff diff) {
  if (!empty() && times_.back() == time && row(size() - 1) == bytes) {
    diffs_.back() += diff;
    return;
  }
  drop_cancelled();
  push(bytes, time, diff);
}

void Updates::drop_cancelled() {
  if (empty() || diffs_.back() != 0) return;
  ends_.pop_back();
  times_.pop_back();
  diffs_.pop_back();
  rows_.resize(ends_.back());
}

void Updates::append(const Updates& other) {
  FRESHET_ASSERT(rows_.size() + other.rows_.size() <= UINT32_MAX, rows_.size(), other.rows_.size());
  const auto base = static_cast<std::uint32_t>(rows_.size());
  rows_.append(other.rows_, 0, other.ends_.back());
  ends_.reserve(ends_.size() + other.size());
  for (std::size_t i = 1; i < other.ends_.size(); ++i) ends_.push_back(base + other.ends_[i]);
  times_.insert(times_.end(), other.times_.begin(), other.times_.end());
  diffs_.insert(diffs_.end(), other.diffs_.begin(), other.diffs_.end());
}

void Updates::clear() {
  rows_.clear();
  ends_.assign(1, 0);
  times_.clear();
  diffs_.clear();
}

bool Updates::is_consolidated() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (diffs_[i] == 0) return false;
    if (i == 0) continue;
    const int order = row(i - 1).compare(row(i));
    if (order > 0 || (order == 0 && times_[i - 1] >= times_[i])) return false;
  }
  return true;
}

void Updates::consolidate() {
  if (is_consolidated()) return;
  // What all rows begin with tells nothing.
  std::size_t shared = row(0).size();
  for (std::size_t i = 1; i < size() && shared > 0; ++i) {
    const auto [mine, other] = std::ranges::mismatch(row(0).substr(0, shared), row(i));
    shared = static_cast<std::size_t>(mine - row(0).begin());
  }
  std::vector<SortKey> keys(size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = SortKey(row(i).substr(shared), i);
  std::ranges::sort(keys, [this](const SortKey& a, const SortKey& b) {
    if (a.first != b.first) return a.first < b.first;
    if (a.second != b.second) return a.second < b.second;
    const int order = row(a.index).compare(row(b.index));
    return order != 0 ? order < 0 : times_[a.index] < times_[b.index];
  });
  Updates sorted;
  sorted.reserve(size(), rows_.size());
  for (std::size_t i = 0; i < keys.size();) {
    const std::uint32_t first = keys[i].index;
    Diff sum = diffs_[first];
    for (++i; i < keys.size() && times_[keys[i].index] == times_[first] &&
              row(keys[i].index) == row(first);
         ++i) {
      sum += diffs_[keys[i].index];
    }
    if (sum != 0) sorted.push(row(first), times_[first], sum);
  }
  *this = std::move(sorted);
}

void Updates::set_times(Time time) { std::ranges::fill(times_, time); }

void Updates::advance_to(Time since) {
  for (Time& time : times_) time = std::max(time, since);
}

std::uint64_t Updates::row_hash_sum() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const base::BytesView bytes = row(i);
    sum += XXH3_64bits(bytes.data(), bytes.size()) * static_cast<std::uint64_t>(diffs_[i]);
  }
  return sum;
}

Time Updates::least_time() const { return empty() ? kClosed : *std::ranges::min_element(times_); }

Time Updates::greatest_time() const { return empty() ? 0 : *std::ranges::max_element(times_); }

Updates Updates::adopt(base::Bytes rows, std::vector<std::uint32_t> offsets,
                       std::vector<Time> times, std::vector<Diff> diffs) {
  FRESHET_ASSERT(offsets.size() == times.size() + 1 && diffs.size() == times.size(), offsets.size(),
                 times.size(), diffs.size());
  FRESHET_ASSERT(offsets.back() <= rows.size(), offsets.back(), rows.size());
  Updates updates;
  rows.resize(offsets.back());
  updates.rows_ = std::move(rows);
  updates.ends_ = std::move(offsets);
  updates.times_ = std::move(times);
  updates.diffs_ = std::move(diffs);
  return updates;
}

}  // namespace freshet::persist
