// SPDX-License-Identifier: Apache-2.0
/// Sorting of updates by (key, value, time): one radix pass over prefixes, full compares only on ties.
///
/// `sorted_order` gives the order as row numbers. It finds the highest bit in which the prefixes
/// differ (and, for strings, first the bytes all share), distributes by up to 14 bits from there, and
/// finishes each bucket by comparison.
/// Cost: O(n) plus small sorts for keys that spread; O(n log n) full compares at worst.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <differential/updates.h>

namespace differential {

namespace detail {

struct SortEntry {
  std::uint64_t prefix;
  std::uint32_t row;
};

/// Scratch space that a batcher keeps between sorts.
struct SortScratch {
  std::vector<SortEntry> entries;
  std::vector<SortEntry> other;
  std::vector<std::uint32_t> counts;
  Buffer<std::uint64_t> packed;
  Buffer<std::uint64_t> packed_other;
};

/// Sorts by the lowest `bits` bits from `shift` on, stably; the result is in `scratch.packed`.
void radix_sort_packed(SortScratch& scratch, unsigned shift, unsigned bits);

/// The number of leading bytes that all strings share.
std::size_t shared_prefix(ColumnView<std::string> strings, std::size_t size);

/// Distributes `entries` by up to 14 bits from the highest in which they differ, and returns the
/// result (one of the two vectors) with `bounds` set to the buckets' ends.
std::span<SortEntry> radix_pass(SortScratch& scratch, std::vector<std::uint32_t>& bounds);

/// Short runs are the common case after the radix pass.
template <typename Less>
void insertion_sort(SortEntry* begin, SortEntry* end, const Less& less) {
  for (SortEntry* at = begin + 1; at < end; ++at) {
    const SortEntry moving = *at;
    SortEntry* hole = at;
    for (; hole > begin && less(moving, hole[-1]); --hole) *hole = hole[-1];
    *hole = moving;
  }
}

template <typename Less>
void sort_entries(SortEntry* begin, SortEntry* end, const Less& less) {
  if (end - begin <= 48) {
    if (end - begin > 1) insertion_sort(begin, end, less);
  } else {
    std::sort(begin, end, less);
  }
}

/// Sorts row numbers by `less(context, a, b)`: the bodies of a sort, compiled once for all orders.
void sort_many_rows(std::span<std::uint32_t> rows, const void* context,
                    bool (*less)(const void* context, std::uint32_t a, std::uint32_t b));
/// Sorts row numbers: few inline, many through a pointer.
template <typename Less>
void sort_rows(std::span<std::uint32_t> rows, const Less& less) {
  if (rows.size() > 16) {
    return sort_many_rows(rows, &less, [](const void* context, std::uint32_t a, std::uint32_t b) -> bool {
      return (*static_cast<const Less*>(context))(a, b);
    });
  }
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::uint32_t moving = rows[i];
    std::size_t hole = i;
    for (; hole > 0 && less(moving, rows[hole - 1]); --hole) rows[hole] = rows[hole - 1];
    rows[hole] = moving;
  }
}

template <typename K, typename V>
inline constexpr bool kPrefixTellsAll =
    JoinedPrefix<RefOf<K>, RefOf<V>>::kExact;

}  // namespace detail

/// The rows of `rows` in the order (key, value, time), as entries that live in `scratch`.
template <typename K, typename V, typename T, typename R>
std::span<detail::SortEntry> sorted_order(const Updates<K, V, T, R>& rows,
                                          detail::SortScratch& scratch) {
  using detail::SortEntry;
  const std::size_t size = rows.size();
  FRESHET_ASSERT(size <= UINT32_MAX, size);
  const auto keys = rows.keys.view();
  const auto vals = rows.vals.view();
  auto& entries = scratch.entries;
  entries.resize(size);

  bool sorted = true;
  if constexpr (std::same_as<K, std::string>) {
    const std::size_t skip = size > 24 ? detail::shared_prefix(keys, size) : 0;
    for (std::size_t i = 0; i < size; ++i) {
      entries[i] = {detail::bytes_prefix(keys[i].substr(skip)), static_cast<std::uint32_t>(i)};
      sorted = sorted && (i == 0 || entries[i - 1].prefix < entries[i].prefix);
    }
  } else {
    for (std::size_t i = 0; i < size; ++i) {
      entries[i] = {detail::JoinedPrefix<RefOf<K>, RefOf<V>>::of(keys[i], vals[i]),
                    static_cast<std::uint32_t>(i)};
      sorted = sorted && (i == 0 || entries[i - 1].prefix < entries[i].prefix);
    }
  }
  if (sorted) return entries;

  const bool uniform = rows.times.uniform();
  const auto less = [&](const SortEntry& a, const SortEntry& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    if constexpr (!detail::kPrefixTellsAll<K, V>) {
      if constexpr (!PrefixOf<RefOf<K>>::kExact) {
        const int key = compare(keys[a.row], keys[b.row]);
        if (key != 0) return key < 0;
      }
      const int val = compare(vals[a.row], vals[b.row]);
      if (val != 0) return val < 0;
    }
    if (!uniform) {
      const T& x = rows.times[a.row];
      const T& y = rows.times[b.row];
      if (x < y) return true;
      if (y < x) return false;
    }
    return a.row < b.row;  // deterministic, and cheap
  };
  if (size <= 64) {
    detail::sort_entries(entries.data(), entries.data() + size, less);
    return entries;
  }
  auto result = detail::radix_pass(scratch, scratch.counts);
  std::size_t start = 0;
  for (const std::uint32_t end : scratch.counts) {
    detail::sort_entries(result.data() + start, result.data() + end, less);
    start = end;
  }
  return result;
}

}  // namespace differential
