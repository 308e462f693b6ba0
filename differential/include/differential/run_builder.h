// SPDX-License-Identifier: Apache-2.0
/// Builds runs of blocks from updates that come in order.
///
///     RunBuilder<uint64_t, Unit, uint64_t, int64_t> builder;
///     builder.key(7);  builder.val({});  builder.update(3, +1);
///     Run run = builder.finish();
///
/// `key` and `val` announce; they are written with the first update, so a value whose updates cancelled
/// leaves no trace. The caller keeps the order and does not repeat a time within a value.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <differential/block.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
class RunBuilder {
 public:
  using BlockType = Block<K, V, T, R>;
  using KeyRef = RefOf<K>;
  using ValRef = RefOf<V>;

  /// Smaller blocks are for tests.
  explicit RunBuilder(std::size_t block_bytes = kBlockBytes) : block_bytes_(block_bytes) {}

  /// The following values belong to `key`, which must stay readable until the next call of `key`.
  void key(const KeyRef& key) {
    key_ = key;
    key_open_ = false;
  }
  void val(const ValRef& val) {
    val_ = val;
    val_open_ = false;
  }
  void update(const T& time, const R& diff) {
    if (!val_open_) {
      open_val();
    } else if (single_updates_) {
      several_updates();
    }
    push_time(intern(time));
    diffs_.push_back(diff);
  }
  /// A key that was not there before, with one value that has one update; `time_id` is from `intern`,
  /// called after the last `room`.
  void element(const KeyRef& key, const ValRef& val, std::uint32_t time_id, const R& diff) {
    if (!single_vals_) val_offsets_.push_back(static_cast<std::uint32_t>(vals_.size()));
    if (!single_updates_) update_offsets_.push_back(static_cast<std::uint32_t>(diffs_.size()));
    keys_.push(key);
    vals_.push(val);
    push_time(time_id);
    diffs_.push_back(diff);
  }
  /// Appends elements that `write(keys, diffs)` writes to the arrays it is given, and returns how many:
  /// at most `room`. For flat keys without values.
  template <typename Write>
  void elements(std::size_t room, std::uint32_t time_id, const Write& write)
    requires std::is_same_v<V, Unit>
  {
    diffs_.reserve(diffs_.size() + room);
    const std::size_t before = diffs_.size();
    const std::size_t n = write(keys_.grow(room), diffs_.end());
    if (n == 0) return;
    if (!single_vals_) {
      for (std::size_t i = 0; i < n; ++i) val_offsets_.push_back(static_cast<std::uint32_t>(vals_.size() + i));
    }
    if (!single_updates_) {
      for (std::size_t i = 0; i < n; ++i) update_offsets_.push_back(static_cast<std::uint32_t>(before + i));
    }
    if (one_time_ && diffs_.empty()) the_time_ = time_id;
    if (one_time_ && time_id != the_time_) several_times();
    if (!one_time_) time_ids_.fill(n, time_id);
    keys_.wrote(n);
    vals_.push_range({}, 0, n);
    diffs_.resize(before + n);
  }
  [[nodiscard]] bool last_key_is(const KeyRef& key) const {
    return keys_.size() > 0 && compare(keys_[keys_.size() - 1], key) == 0;
  }
  /// Ends the block if it is full, and forgets the open key. Some elements then fit: at least one, and
  /// at most `room` should follow before the next call.
  std::size_t room() {
    settle();
    key_open_ = val_open_ = false;
    const std::size_t each = 2 + keys_.bytes() / (keys_.size() + 1) + vals_.bytes() / (vals_.size() + 1);
    const std::size_t left = block_bytes_ - std::min(block_bytes_ - 1, pending_bytes());
    return std::min<std::size_t>(1024, left / (each + 8) + 1);
  }
  /// A number for the time in the block being built; one time may get several, which `seal` unites.
  std::uint32_t intern(const T& time) {
    const std::size_t size = dictionary_.size();
    for (std::size_t back = 0; back < 4 && back < size; ++back) {
      if (dictionary_[size - 1 - back] == time) return static_cast<std::uint32_t>(size - 1 - back);
    }
    dictionary_.push_back(time);
    return static_cast<std::uint32_t>(size);
  }

  /// Appends whole keys [low, high) of `block`, whose times map to `times` (injectively, and in
  /// order). The first key may be the one that came last.
  void keys_of(const BlockType& block, std::uint32_t low, std::uint32_t high,
               const std::vector<T>& times) {
    if (low == high) return;
    settle();
    key_open_ = val_open_ = false;
    const bool joins = keys_.size() > 0 && compare(keys_[keys_.size() - 1], block.key(low)) == 0;
    const std::uint32_t first_val = block.vals_of(low).low;
    const std::uint32_t end_val = block.vals_of(high - 1).high;
    const auto base = static_cast<std::uint32_t>(vals_.size());
    const std::uint32_t from = low + (joins ? 1 : 0);
    if (single_vals_ && (joins || !block.single_vals())) several_vals();
    keys_.push_range(block.key_view(), from, high);
    if (!single_vals_) {
      for (std::uint32_t k = from; k < high; ++k) {
        val_offsets_.push_back(base + block.vals_of(k).low - first_val);
      }
    }
    append_vals(block, first_val, end_val, times);
  }
  /// Appends values [low, high) of key `k` of `block`; like `keys_of`.
  void vals_of(const BlockType& block, std::uint32_t k, std::uint32_t low, std::uint32_t high,
               const std::vector<T>& times) {
    if (low == high) return;
    settle();
    key_open_ = val_open_ = false;
    const bool joins = keys_.size() > 0 && compare(keys_[keys_.size() - 1], block.key(k)) == 0;
    if (single_vals_ && (joins || high - low > 1)) several_vals();
    if (!joins) push_key(block.key(k));
    append_vals(block, low, high, times);
  }
  /// Appends a block as it is, without copying. Only between blocks (`at_boundary`).
  void whole_block(BlockPtr<K, V, T, R> block) {
    FRESHET_DASSERT(at_boundary());
    add(std::move(block));
    key_open_ = val_open_ = false;
  }
  /// True if a block could be shared here: nothing, or not much, is being built.
  [[nodiscard]] bool at_boundary() const { return vals_.size() == 0; }
  /// Ends the block being built, if any.
  void cut() {
    if (vals_.size() > 0) seal();
  }
  [[nodiscard]] std::size_t pending_bytes() const {
    return keys_.bytes() + vals_.bytes() + 2 * diffs_.size();
  }

  /// The run so far; the builder is empty again.
  Run<K, V, T, R> finish() {
    cut();
    key_open_ = val_open_ = false;
    return std::exchange(run_, {});
  }
  [[nodiscard]] std::size_t updates() const { return run_.updates + diffs_.size(); }

 private:
  void open_val() {
    settle();
    if (!key_open_) {
      if (keys_.size() == 0 || compare(keys_[keys_.size() - 1], key_) != 0) {
        push_key(key_);
      } else if (single_vals_) {
        several_vals();
      }
      key_open_ = true;
    } else if (single_vals_) {
      several_vals();
    }
    if (!single_updates_) update_offsets_.push_back(static_cast<std::uint32_t>(diffs_.size()));
    vals_.push(val_);
    val_open_ = true;
  }
  void push_key(const KeyRef& key) {
    if (!single_vals_) val_offsets_.push_back(static_cast<std::uint32_t>(vals_.size()));
    keys_.push(key);
  }
  // Offsets and time numbers are written from the first place on where they are not trivial.
  void several_vals() {
    single_vals_ = false;
    fill_identity(val_offsets_, keys_.size());
  }
  void several_updates() {
    single_updates_ = false;
    fill_identity(update_offsets_, vals_.size());
  }
  static void fill_identity(Buffer<std::uint32_t>& offsets, std::size_t size) {
    offsets.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) offsets[i] = i;
  }
  void push_time(std::uint32_t id) {
    if (one_time_) {
      if (diffs_.empty()) the_time_ = id;
      if (id == the_time_) return;
      several_times();
    }
    time_ids_.push_back(id);
  }
  void several_times() {
    one_time_ = false;
    time_ids_.assign(diffs_.size(), the_time_);
  }
  // A value is complete: end the block if it is full.
  void settle() {
    if (pending_bytes() >= block_bytes_) {
      seal();
      key_open_ = false;
    }
  }

  void append_vals(const BlockType& block, std::uint32_t low, std::uint32_t high,
                   const std::vector<T>& times) {
    const std::uint32_t first = block.updates_of(low).low;
    const std::uint32_t end = block.updates_of(high - 1).high;
    const auto base = static_cast<std::uint32_t>(diffs_.size());
    if (single_updates_ && end - first != high - low) several_updates();
    vals_.push_range(block.val_view(), low, high);
    if (!single_updates_) {
      for (std::uint32_t v = low; v < high; ++v) {
        update_offsets_.push_back(base + block.updates_of(v).low - first);
      }
    }
    append_times(block, first, end, times);
    diffs_.resize(base + end - first);
    block.diff_view().copy(first, end, diffs_.data() + base);
  }
  // Before their diffs are appended.
  void append_times(const BlockType& block, std::uint32_t first, std::uint32_t end,
                    const std::vector<T>& times) {
    if (times.size() == 1) {
      const std::uint32_t id = intern(times[0]);
      if (one_time_ && diffs_.empty()) the_time_ = id;
      if (one_time_ && id == the_time_) return;
      if (one_time_) several_times();
      time_ids_.fill(end - first, id);
      return;
    }
    if (one_time_) several_times();
    if (end - first > times.size() / 4) {
      // The dictionary tolerates duplicates until the seal.
      const auto shift = static_cast<std::uint32_t>(dictionary_.size());
      dictionary_.insert(dictionary_.end(), times.begin(), times.end());
      for (std::uint32_t u = first; u < end; ++u) time_ids_.push_back(shift + block.time_id(u));
    } else {
      for (std::uint32_t u = first; u < end; ++u) {
        time_ids_.push_back(intern(times[block.time_id(u)]));
      }
    }
  }

  void unite_dictionary() {
    if (one_time_) {
      const T time = dictionary_[the_time_];
      dictionary_.assign(1, time);
      time_ids_.assign(1, 0);  // one stands for all
      return;
    }
    std::vector<T> distinct;
    std::vector<bool> used(dictionary_.size(), false);
    for (const std::uint32_t id : time_ids_) used[id] = true;
    for (std::size_t i = 0; i < dictionary_.size(); ++i) {
      if (used[i]) distinct.push_back(dictionary_[i]);
    }
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<std::uint32_t> renamed(dictionary_.size(), 0);
    for (std::size_t i = 0; i < dictionary_.size(); ++i) {
      if (!used[i]) continue;
      renamed[i] = static_cast<std::uint32_t>(
          std::lower_bound(distinct.begin(), distinct.end(), dictionary_[i]) - distinct.begin());
    }
    for (std::uint32_t& id : time_ids_) id = renamed[id];
    dictionary_ = std::move(distinct);
  }

  void seal() {
    unite_dictionary();
    auto block = std::make_shared<BlockType>();
    block->keys_ = static_cast<std::uint32_t>(keys_.size());
    block->vals_ = static_cast<std::uint32_t>(vals_.size());
    block->updates_ = static_cast<std::uint32_t>(diffs_.size());
    block->single_vals_ = single_vals_ || block->keys_ == block->vals_;
    block->single_updates_ = single_updates_ || block->vals_ == block->updates_;
    val_offsets_.push_back(block->vals_);
    update_offsets_.push_back(block->updates_);
    using Numbers = NarrowView<std::uint32_t>;
    const unsigned time_width = Numbers::width_of(time_ids_.data(), time_ids_.size());
    const unsigned diff_width = DiffView<R>::width_of(diffs_.data(), diffs_.size());
    const unsigned val_width =
        block->single_vals_ ? 0 : Numbers::width_of(val_offsets_.data(), val_offsets_.size());
    const unsigned update_width =
        block->single_updates_ ? 0 : Numbers::width_of(update_offsets_.data(), update_offsets_.size());
    const std::size_t bytes = keys_.frozen_bytes() + vals_.frozen_bytes() +
                              detail::padded(time_ids_.size() * time_width) +
                              detail::padded(diffs_.size() * diff_width) +
                              detail::padded(val_offsets_.size() * val_width) +
                              detail::padded(update_offsets_.size() * update_width);
    block->arena_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* place = block->arena_.get();
    block->key_view_ = keys_.freeze(place);
    block->val_view_ = vals_.freeze(place);
    if (!block->single_vals_) {
      block->val_offsets_ = Numbers::freeze(val_offsets_.data(), val_offsets_.size(), val_width, place);
    }
    if (!block->single_updates_) {
      block->update_offsets_ =
          Numbers::freeze(update_offsets_.data(), update_offsets_.size(), update_width, place);
    }
    block->time_ids_ = Numbers::freeze(time_ids_.data(), time_ids_.size(), time_width, place);
    block->diffs_ = DiffView<R>::freeze(diffs_.data(), diffs_.size(), diff_width, place);
    FRESHET_DASSERT(place == block->arena_.get() + bytes);
    block->dictionary_ = dictionary_;
    block->bytes_ = bytes + sizeof(BlockType) + dictionary_.size() * sizeof(T);
    add(std::move(block));
    keys_.clear();
    vals_.clear();
    val_offsets_.clear();
    update_offsets_.clear();
    time_ids_.clear();
    dictionary_.clear();
    diffs_.clear();
    single_vals_ = single_updates_ = one_time_ = true;
  }
  void add(BlockPtr<K, V, T, R> block) {
    run_.updates += block->updates();
    run_.bytes += block->bytes();
    run_.blocks.push_back(std::move(block));
  }

  std::size_t block_bytes_;
  Run<K, V, T, R> run_;
  KeyRef key_{};
  ValRef val_{};
  bool key_open_ = false;
  bool val_open_ = false;
  // While true the offsets (or the time numbers) below are not written.
  bool single_vals_ = true;
  bool single_updates_ = true;
  bool one_time_ = true;
  std::uint32_t the_time_ = 0;
  Column<K> keys_;
  Column<V> vals_;
  Buffer<std::uint32_t> val_offsets_;
  Buffer<std::uint32_t> update_offsets_;
  Buffer<std::uint32_t> time_ids_;
  std::vector<T> dictionary_;
  Buffer<R> diffs_;
};

}  // namespace differential
