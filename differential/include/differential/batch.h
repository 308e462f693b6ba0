// SPDX-License-Identifier: Apache-2.0
/// A batch: all updates of a collection with times in [lower, upper), sorted and immutable.
///
/// A trace is a list of batches, each starting where the one before ends. Batches are counted atomically
/// and never change, so any thread may read one that it holds.
///
/// Invariant: before compaction each time is covered by `lower` and not by `upper`; after it, times are
/// only right for readers at or after `since`.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <differential/run_builder.h>
#include <timely/antichain.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
class Batch {
 public:
  using BlockType = Block<K, V, T, R>;
  using Key = K;
  using Val = V;
  using Time = T;
  using Diff = R;
  using Frontier = timely::Antichain<T>;

  Batch(Frontier lower, Frontier upper, Frontier since, Run<K, V, T, R> run)
      : lower_(std::move(lower)),
        upper_(std::move(upper)),
        since_(std::move(since)),
        run_(std::move(run)) {
    first_prefixes_.reserve(run_.blocks.size());
    for (const auto& block : run_.blocks) {
      first_prefixes_.push_back(PrefixOf<RefOf<K>>::of(block->key(0)));
      vals_ += block->vals();
    }
  }

  [[nodiscard]] const Frontier& lower() const { return lower_; }
  [[nodiscard]] const Frontier& upper() const { return upper_; }
  [[nodiscard]] const Frontier& since() const { return since_; }
  [[nodiscard]] std::size_t updates() const { return run_.updates; }
  /// Distinct (key, value) pairs.
  [[nodiscard]] std::size_t vals() const { return vals_; }
  [[nodiscard]] std::size_t bytes() const { return run_.bytes; }
  [[nodiscard]] bool empty() const { return run_.blocks.empty(); }
  [[nodiscard]] const std::vector<BlockPtr<K, V, T, R>>& blocks() const { return run_.blocks; }
  [[nodiscard]] const BlockType& block(std::size_t i) const { return *run_.blocks[i]; }
  [[nodiscard]] const Run<K, V, T, R>& run() const { return run_; }

  /// The first block from `from` on that may hold a key not less than `key`.
  [[nodiscard]] std::size_t seek_block(std::size_t from, const RefOf<K>& key) const {
    const std::uint64_t prefix = PrefixOf<RefOf<K>>::of(key);
    const auto begin = first_prefixes_.begin() + static_cast<std::ptrdiff_t>(from);
    auto place = static_cast<std::size_t>(
        std::lower_bound(begin, first_prefixes_.end(), prefix) - first_prefixes_.begin());
    if constexpr (!PrefixOf<RefOf<K>>::kExact) {
      const auto end = static_cast<std::size_t>(
          std::upper_bound(begin, first_prefixes_.end(), prefix) - first_prefixes_.begin());
      for (std::size_t low = place, high = end; low < high;) {
        const std::size_t middle = low + (high - low) / 2;
        if (compare(block(middle).key(0), key) < 0) {
          place = low = middle + 1;
        } else {
          high = middle;
        }
      }
    }
    // Blocks from `place` on start at or after the key; the one before may end with it.
    if (place > from) {
      const BlockType& before = block(place - 1);
      if (compare(before.key(before.keys() - 1), key) >= 0) return place - 1;
    }
    return place;
  }

 private:
  Frontier lower_;
  Frontier upper_;
  Frontier since_;
  Run<K, V, T, R> run_;
  std::size_t vals_ = 0;
  std::vector<std::uint64_t> first_prefixes_;
};

template <typename K, typename V, typename T, typename R>
using BatchPtr = std::shared_ptr<const Batch<K, V, T, R>>;

}  // namespace differential
