// SPDX-License-Identifier: Apache-2.0
/// A block: about 64 KB of sorted updates as a trie of keys, values, and (time, diff) pairs.
///
/// Blocks are immutable and atomically counted, the unit of merging and of memory accounting. A key
/// may go on in the next block; a (key, value) never does. Times are numbers into a small dictionary;
/// diffs and offsets are as narrow as they fit.
///
/// Invariant: keys strictly ascend; values of a key strictly ascend; every value has an update; the
/// times of a value strictly ascend (in the total order); no diff is zero.
/// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <differential/column.h>
#include <differential/narrow.h>

namespace differential {

/// Where a builder ends a block.
inline constexpr std::size_t kBlockBytes = 64 * 1024;

struct Range {
  std::uint32_t low;
  std::uint32_t high;
};

/// Diffs: narrow if they are integers, else flat.
template <typename R>
class DiffView {
 public:
  R operator[](std::size_t i) const { return data_[i]; }
  static unsigned width_of(const R*, std::size_t) { return sizeof(R); }
  static DiffView freeze(const R* values, std::size_t size, unsigned, std::byte*& place) {
    static_assert(std::is_trivially_copyable_v<R> && alignof(R) <= 8);
    DiffView view;
    std::byte* to = detail::carve(place, size * sizeof(R));
    std::memcpy(to, values, size * sizeof(R));
    view.data_ = reinterpret_cast<const R*>(to);
    return view;
  }
  void copy(std::size_t low, std::size_t high, R* out) const {
    for (std::size_t i = low; i < high; ++i) *out++ = data_[i];
  }

 private:
  const R* data_ = nullptr;
};
template <std::integral R>
class DiffView<R> : public NarrowView<R> {
 public:
  DiffView() = default;
  DiffView(NarrowView<R> view) : NarrowView<R>(view) {}  // NOLINT: the same thing
  static DiffView freeze(const R* values, std::size_t size, unsigned width, std::byte*& place) {
    return NarrowView<R>::freeze(values, size, width, place);
  }
};

template <typename K, typename V, typename T, typename R>
class Block {
 public:
  using KeyRef = RefOf<K>;
  using ValRef = RefOf<V>;

  [[nodiscard]] std::uint32_t keys() const { return keys_; }
  [[nodiscard]] std::uint32_t vals() const { return vals_; }
  [[nodiscard]] std::uint32_t updates() const { return updates_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  [[nodiscard]] KeyRef key(std::size_t k) const { return key_view_[k]; }
  [[nodiscard]] ValRef val(std::size_t v) const { return val_view_[v]; }
  /// The values of key `k`.
  [[nodiscard]] Range vals_of(std::uint32_t k) const {
    if (single_vals_) return {k, k + 1};
    return {val_offsets_[k], val_offsets_[k + 1]};
  }
  /// The updates of value `v`.
  [[nodiscard]] Range updates_of(std::uint32_t v) const {
    if (single_updates_) return {v, v + 1};
    return {update_offsets_[v], update_offsets_[v + 1]};
  }
  [[nodiscard]] const T& time(std::size_t u) const { return dictionary_[time_ids_[u]]; }
  [[nodiscard]] R diff(std::size_t u) const { return diffs_[u]; }

  /// The distinct times, which `time_id` numbers.
  [[nodiscard]] const std::vector<T>& times() const { return dictionary_; }
  [[nodiscard]] std::uint32_t time_id(std::size_t u) const { return time_ids_[u]; }
  /// True if every key has one value; then value k belongs to key k.
  [[nodiscard]] bool single_vals() const { return single_vals_; }
  /// True if every value has one update; then update v belongs to value v.
  [[nodiscard]] bool single_updates() const { return single_updates_; }

  [[nodiscard]] const ColumnView<K>& key_view() const { return key_view_; }
  [[nodiscard]] const ColumnView<V>& val_view() const { return val_view_; }
  [[nodiscard]] const DiffView<R>& diff_view() const { return diffs_; }
  [[nodiscard]] const NarrowView<std::uint32_t>& time_id_view() const { return time_ids_; }

  /// The first key at or after `from` that is not less than `key`; gallops, so that near targets cost little.
  [[nodiscard]] std::uint32_t seek(std::uint32_t from, const KeyRef& key) const {
    return gallop(from, keys_, [&](std::uint32_t k) { return compare(this->key(k), key) < 0; });
  }
  /// The same from the first key on, for a target that may be anywhere.
  [[nodiscard]] std::uint32_t lower_bound(const KeyRef& key) const {
    std::uint32_t low = 0;
    for (std::uint32_t size = keys_; size > 0;) {
      const std::uint32_t half = size / 2;
      if (compare(this->key(low + half), key) < 0) {
        low += half + 1;
        size -= half + 1;
      } else {
        size = half;
      }
    }
    return low;
  }
  /// The first value in [from, end) that is not less than `val`.
  [[nodiscard]] std::uint32_t seek_val(std::uint32_t from, std::uint32_t end,
                                       const ValRef& val) const {
    return gallop(from, end, [&](std::uint32_t v) { return compare(this->val(v), val) < 0; });
  }

  /// The first place in [from, end) at which `before` is false; it must be true up to there.
  template <typename Before>
  static std::uint32_t gallop(std::uint32_t from, std::uint32_t end, const Before& before) {
    if (from >= end || !before(from)) return from;
    std::uint32_t step = 1;
    std::uint32_t low = from;  // before(low) holds
    while (low + step < end && before(low + step)) {
      low += step;
      step *= 2;
    }
    std::uint32_t high = low + step < end ? low + step : end;
    for (++low; low < high;) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (before(middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  template <typename, typename, typename, typename>
  friend class RunBuilder;

  std::uint32_t keys_ = 0;
  std::uint32_t vals_ = 0;
  std::uint32_t updates_ = 0;
  bool single_vals_ = true;
  bool single_updates_ = true;
  ColumnView<K> key_view_;
  ColumnView<V> val_view_;
  NarrowView<std::uint32_t> val_offsets_;
  NarrowView<std::uint32_t> update_offsets_;
  NarrowView<std::uint32_t> time_ids_;
  DiffView<R> diffs_;
  std::vector<T> dictionary_;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> arena_;
};

template <typename K, typename V, typename T, typename R>
using BlockPtr = std::shared_ptr<const Block<K, V, T, R>>;

/// A sorted, consolidated sequence of updates: blocks whose keys (and within a key, values) ascend.
template <typename K, typename V, typename T, typename R>
struct Run {
  std::vector<BlockPtr<K, V, T, R>> blocks;
  std::size_t updates = 0;
  std::size_t bytes = 0;

  [[nodiscard]] bool empty() const { return blocks.empty(); }
};

}  // namespace differential
