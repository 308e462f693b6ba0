// SPDX-License-Identifier: Apache-2.0
/// Merges two runs, block at a time, and can stop anywhere between two values.
///
/// Times move to their representatives for readers at or after `since`, which is read again at each
/// block, so that a long merge compacts as far as is allowed by then. Blocks that no other block
/// interleaves with are shared, not copied.
/// Cost: linear; fuel is updates looked at, whether they survive or not.
#pragma once

#include <utility>
#include <vector>

#include <differential/run_builder.h>
#include <timely/antichain.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
class RunMerger {
 public:
  using BlockType = Block<K, V, T, R>;
  using Frontier = timely::Antichain<T>;

  /// `builder` must be fresh and is used by this merger alone until `finish`.
  RunMerger(Run<K, V, T, R> a, Run<K, V, T, R> b, std::size_t block_bytes = kBlockBytes)
      : a_(std::move(a.blocks)), b_(std::move(b.blocks)), builder_(block_bytes),
        block_bytes_(block_bytes) {}

  /// Merges until done (true) or until `fuel` is used up (false). An empty `since`, or none, leaves
  /// times as they are.
  bool work(const Frontier* since, std::int64_t& fuel) {
    if (since != nullptr && since->empty()) since = nullptr;
    a_.since = b_.since = since;
    a_.start();
    b_.start();
    while (a_.block != nullptr && b_.block != nullptr) {
      if (fuel <= 0) return false;
      if (a_.simple && b_.simple && merge_singles(fuel)) continue;
      const int order = compare(a_.block->key(a_.key), b_.block->key(b_.key));
      if (order < 0) {
        copy_before(a_, &b_, fuel);
      } else if (order > 0) {
        copy_before(b_, &a_, fuel);
      } else {
        merge_vals(fuel);
      }
    }
    Side& rest = a_.block != nullptr ? a_ : b_;
    while (rest.block != nullptr) {
      if (fuel <= 0) return false;
      copy_before(rest, nullptr, fuel);
    }
    return true;
  }
  /// The result, once `work` returned true.
  Run<K, V, T, R> finish() { return builder_.finish(); }

 private:
  struct Side {
    explicit Side(std::vector<BlockPtr<K, V, T, R>> list) : blocks(std::move(list)) {}

    void start() {
      if (block == nullptr && index < blocks.size()) enter();
    }
    void enter() {
      if (index == blocks.size()) {
        block = nullptr;
        return;
      }
      block = blocks[index].get();
      key = 0;
      val = 0;
      times = block->times();
      moved = false;
      clean = true;
      simple = block->single_vals() && block->single_updates() && times.size() == 1;
      if (simple) {
        diffs.resize(block->updates());
        block->diff_view().copy(0, block->updates(), diffs.data());
      }
      if (since == nullptr) return;
      for (T& time : times) {
        T representative = timely::advance_by(time, *since);
        moved = moved || !(representative == time);
        time = representative;
      }
      for (std::size_t i = 1; i < times.size(); ++i) clean = clean && times[i - 1] < times[i];
    }
    void next_block() {
      blocks[index++].reset();
      enter();
    }
    void move_to_key(std::uint32_t k) {
      if (k == key) return;
      key = k - 1;
      next_key();
    }
    void next_key() {
      if (++key == block->keys()) {
        next_block();
      } else {
        val = block->vals_of(key).low;
      }
    }

    std::vector<BlockPtr<K, V, T, R>> blocks;
    std::size_t index = 0;
    const BlockType* block = nullptr;
    std::uint32_t key = 0;
    std::uint32_t val = 0;          // the next value of `key`
    std::vector<T> times;           // of the block, moved to their representatives
    bool moved = false;             // some time changed
    bool clean = true;              // the moved times are still distinct and in order
    bool simple = false;            // one value a key, one update a value, one time
    std::vector<R> diffs;           // of a simple block, widened
    const Frontier* since = nullptr;
  };

  // Copies from `side`, at a smaller key than `other` has, up to that key or to the end of the block.
  void copy_before(Side& side, const Side* other, std::int64_t& fuel) {
    const BlockType& block = *side.block;
    const Range vals = block.vals_of(side.key);
    if (side.val > vals.low) {
      copy_vals(side, side.val, vals.high, fuel);
      return side.next_key();
    }
    std::uint32_t high = block.keys();
    if (other != nullptr) high = block.seek(side.key + 1, other->block->key(other->key));
    if (side.key == 0 && high == block.keys() && share(side, fuel)) return;
    copy_keys(side, side.key, high, fuel);
    side.key = high;
    if (high == block.keys()) {
      side.next_block();
    } else {
      side.val = block.vals_of(high).low;
    }
  }

  // The inner loop for simple blocks. False if the next key needs the general way: one that may
  // continue what was written last, or that has different values on both sides.
  bool merge_singles(std::int64_t& fuel) {
    if (a_.key == 0 || b_.key == 0) return false;
    const BlockType& x = *a_.block;
    const BlockType& y = *b_.block;
    std::uint32_t i = a_.key;
    std::uint32_t j = b_.key;
    const std::uint32_t x_end = x.keys();
    const std::uint32_t y_end = y.keys();
    if (builder_.last_key_is(x.key(i)) || builder_.last_key_is(y.key(j))) return false;
    const bool same_time = a_.times[0] == b_.times[0];
    if constexpr (kFlat) {
      if (same_time) return merge_flat(fuel);
    }
    bool special = false;
    while (i < x_end && j < y_end && fuel > 0 && !special) {
      std::size_t room = builder_.room();
      const std::uint32_t x_time = builder_.intern(a_.times[0]);
      const std::uint32_t y_time = builder_.intern(b_.times[0]);
      const std::int64_t start = static_cast<std::int64_t>(i) + j;
      for (; room > 0 && i < x_end && j < y_end; --room) {
        const int order = compare(x.key(i), y.key(j));
        if (order < 0) {
          builder_.element(x.key(i), x.val(i), x_time, a_.diffs[i]);
          ++i;
        } else if (order > 0) {
          builder_.element(y.key(j), y.val(j), y_time, b_.diffs[j]);
          ++j;
        } else {
          if (!same_time || compare(x.val(i), y.val(j)) != 0) {
            special = true;
            break;
          }
          R sum = a_.diffs[i];
          add_to(sum, b_.diffs[j]);
          if (!is_zero(sum)) builder_.element(x.key(i), x.val(i), x_time, sum);
          ++i;
          ++j;
        }
      }
      fuel -= static_cast<std::int64_t>(i) + j - start;
    }
    const bool moved = i != a_.key || j != b_.key;
    a_.move_to_key(i);
    b_.move_to_key(j);
    return moved;
  }

  static constexpr bool kFlat = std::integral<K> && std::is_same_v<V, Unit> && std::integral<R>;

  // The same without branches on data: each step takes from one side, or from both and sums.
  bool merge_flat(std::int64_t& fuel)
    requires kFlat
  {
    using U = std::conditional_t<sizeof(R) == 8, std::uint64_t, std::uint32_t>;
    const K* x = a_.block->key_view().data();
    const K* y = b_.block->key_view().data();
    const R* dx = a_.diffs.data();
    const R* dy = b_.diffs.data();
    std::uint32_t i = a_.key;
    std::uint32_t j = b_.key;
    const std::uint32_t x_end = a_.block->keys();
    const std::uint32_t y_end = b_.block->keys();
    while (i < x_end && j < y_end && fuel > 0) {
      const std::size_t room = builder_.room();
      const std::int64_t start = static_cast<std::int64_t>(i) + j;
      builder_.elements(room, builder_.intern(a_.times[0]), [&](K* keys, R* diffs) {
        std::size_t n = 0;
        while (n < room && i < x_end && j < y_end) {
          const K a = x[i];
          const K b = y[j];
          unsigned from_x = a <= b;
          unsigned from_y = b <= a;
          // Else the compiler turns the selections back into branches.
          asm("" : "+r"(from_x), "+r"(from_y));
          keys[n] = from_x != 0 ? a : b;
          const R sum = static_cast<R>((static_cast<U>(dx[i]) & (U{0} - static_cast<U>(from_x))) +
                                       (static_cast<U>(dy[j]) & (U{0} - static_cast<U>(from_y))));
          diffs[n] = sum;
          n += sum != 0;
          i += from_x;
          j += from_y;
        }
        return n;
      });
      fuel -= static_cast<std::int64_t>(i) + j - start;
    }
    a_.move_to_key(i);
    b_.move_to_key(j);
    return true;
  }

  bool share(Side& side, std::int64_t& fuel) {
    if (side.moved || side.block->bytes() < block_bytes_ / 2) return false;
    const std::size_t pending = builder_.pending_bytes();
    if (pending != 0 && pending < block_bytes_ / 2) return false;
    builder_.cut();
    fuel -= 1 + side.block->updates() / 64;
    builder_.whole_block(side.blocks[side.index]);
    side.next_block();
    return true;
  }

  void copy_keys(Side& side, std::uint32_t low, std::uint32_t high, std::int64_t& fuel) {
    const BlockType& block = *side.block;
    if (side.clean) {
      const Range first = block.vals_of(low);
      const Range last = block.vals_of(high - 1);
      fuel -= block.updates_of(last.high - 1).high - block.updates_of(first.low).low;
      builder_.keys_of(block, low, high, side.times);
      return;
    }
    for (std::uint32_t k = low; k < high; ++k) {
      const Range vals = block.vals_of(k);
      builder_.key(block.key(k));
      for (std::uint32_t v = vals.low; v < vals.high; ++v) copy_val(side, v, fuel);
    }
  }
  // Values [low, high) of the key that `side` is at.
  void copy_vals(Side& side, std::uint32_t low, std::uint32_t high, std::int64_t& fuel) {
    const BlockType& block = *side.block;
    if (side.clean) {
      fuel -= block.updates_of(high - 1).high - block.updates_of(low).low;
      builder_.vals_of(block, side.key, low, high, side.times);
      return;
    }
    builder_.key(block.key(side.key));
    for (std::uint32_t v = low; v < high; ++v) copy_val(side, v, fuel);
  }
  void copy_val(Side& side, std::uint32_t v, std::int64_t& fuel) {
    history_.clear();
    load(side, v, fuel);
    write(side.block->val(v));
  }
  void load(const Side& side, std::uint32_t v, std::int64_t& fuel) {
    const Range updates = side.block->updates_of(v);
    fuel -= updates.high - updates.low;
    for (std::uint32_t u = updates.low; u < updates.high; ++u) {
      history_.emplace_back(side.times[side.block->time_id(u)], side.block->diff(u));
    }
  }
  void write(const RefOf<V>& val) {
    consolidate_times(history_);
    if (history_.empty()) return;
    builder_.val(val);
    for (const auto& [time, diff] : history_) builder_.update(time, diff);
  }

  // Both sides are at the same key: merges the values that both have in their current blocks.
  void merge_vals(std::int64_t& fuel) {
    const BlockType& x = *a_.block;
    const BlockType& y = *b_.block;
    const std::uint32_t x_end = x.vals_of(a_.key).high;
    const std::uint32_t y_end = y.vals_of(b_.key).high;
    while (a_.val < x_end && b_.val < y_end && fuel > 0) {
      const int order = compare(x.val(a_.val), y.val(b_.val));
      if (order < 0) {
        const std::uint32_t high = x.seek_val(a_.val + 1, x_end, y.val(b_.val));
        copy_vals(a_, a_.val, high, fuel);
        a_.val = high;
      } else if (order > 0) {
        const std::uint32_t high = y.seek_val(b_.val + 1, y_end, x.val(a_.val));
        copy_vals(b_, b_.val, high, fuel);
        b_.val = high;
      } else {
        builder_.key(x.key(a_.key));
        history_.clear();
        load(a_, a_.val, fuel);
        load(b_, b_.val, fuel);
        write(x.val(a_.val));
        ++a_.val;
        ++b_.val;
      }
    }
    const bool a_ends = a_.val == x_end;
    const bool b_ends = b_.val == y_end;
    if (a_ends) a_.next_key();
    if (b_ends) b_.next_key();
  }

  Side a_;
  Side b_;
  RunBuilder<K, V, T, R> builder_;
  std::size_t block_bytes_;
  std::vector<std::pair<T, R>> history_;
};

/// Merges to the end.
template <typename K, typename V, typename T, typename R>
Run<K, V, T, R> merge_runs(Run<K, V, T, R> a, Run<K, V, T, R> b,
                           const timely::Antichain<T>* since = nullptr,
                           std::size_t block_bytes = kBlockBytes) {
  if (b.empty() && since == nullptr) return a;
  if (a.empty() && since == nullptr) return b;
  RunMerger<K, V, T, R> merger(std::move(a), std::move(b), block_bytes);
  std::int64_t fuel = INT64_MAX;
  const bool done = merger.work(since, fuel);
  FRESHET_ASSERT(done);
  return merger.finish();
}

}  // namespace differential
