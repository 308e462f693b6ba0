// SPDX-License-Identifier: Apache-2.0
/// Cursors walk one batch, or several as if they were one, in the order (key, value).
///
///     for (CursorList cursor(batches); cursor.key_valid(); cursor.step_key()) {
///       for (; cursor.val_valid(); cursor.step_val()) {
///         cursor.map_times([&](const T& time, const R& diff) { … });
///       }
///     }
///
/// Keys and values are references into the batches, valid as long as these are held. Seeks only go
/// forward. After moving to a key the cursor is at its first value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <differential/batch.h>

namespace differential {

/// Over one batch, which must outlive the cursor.
template <typename K, typename V, typename T, typename R>
class BatchCursor {
 public:
  using BatchType = Batch<K, V, T, R>;
  using BlockType = Block<K, V, T, R>;
  using KeyRef = RefOf<K>;
  using ValRef = RefOf<V>;

  explicit BatchCursor(const BatchType& batch) : batch_(&batch) { enter_block(0); }

  [[nodiscard]] bool key_valid() const { return block_ != nullptr; }
  [[nodiscard]] KeyRef key() const { return block_->key(key_); }

  void step_key() {
    // The rest of the key's values, here and in the blocks it continues in.
    while (key_ + 1 == block_->keys() && continues()) enter_block(block_index_ + 1);
    if (++key_ == block_->keys()) {
      enter_block(block_index_ + 1);
    } else {
      start_key();
    }
  }
  /// Moves to the first key not less than `key`.
  void seek_key(const KeyRef& key) {
    if (block_ == nullptr) return;
    if (compare(block_->key(block_->keys() - 1), key) < 0) {
      enter_block(batch_->seek_block(block_index_ + 1, key));
      if (block_ == nullptr) return;
      key_ = block_->lower_bound(key);
      return start_key();
    }
    const std::uint32_t found = block_->seek(key_, key);
    if (found != key_) {
      key_ = found;
      start_key();
    }
  }

  /// A key that ends its block may go on in the next.
  [[nodiscard]] bool val_valid() const { return val_ < val_end_; }
  [[nodiscard]] ValRef val() const { return val_block_->val(val_); }
  void step_val() {
    if (++val_ == val_end_) next_val_block();
  }
  void seek_val(const ValRef& val) {
    while (val_ < val_end_) {
      val_ = val_block_->seek_val(val_, val_end_, val);
      if (val_ < val_end_) return;
      next_val_block();
    }
  }
  void rewind_vals() { start_key(); }

  template <typename F>
  void map_times(F&& f) const {
    const Range range = val_block_->updates_of(val_);
    for (std::uint32_t u = range.low; u < range.high; ++u) f(val_block_->time(u), val_block_->diff(u));
  }

 private:
  void enter_block(std::size_t index) {
    block_index_ = index;
    key_ = 0;
    if (index >= batch_->blocks().size()) {
      block_ = nullptr;
      return;
    }
    block_ = &batch_->block(index);
    start_key();
  }
  void start_key() {
    val_block_ = block_;
    val_block_index_ = block_index_;
    const Range range = block_->vals_of(key_);
    val_ = range.low;
    val_end_ = range.high;
  }
  // True if the last key of the block is also the first of the next.
  [[nodiscard]] bool continues() const {
    if (block_index_ + 1 >= batch_->blocks().size()) return false;
    const BlockType& next = batch_->block(block_index_ + 1);
    return compare(next.key(0), block_->key(key_)) == 0;
  }
  void next_val_block() {
    if (val_end_ != val_block_->vals() || val_block_index_ + 1 >= batch_->blocks().size()) return;
    const BlockType& next = batch_->block(val_block_index_ + 1);
    if (compare(next.key(0), block_->key(key_)) != 0) return;
    val_block_ = &next;
    ++val_block_index_;
    const Range range = next.vals_of(0);
    val_ = range.low;
    val_end_ = range.high;
  }

  const BatchType* batch_;
  const BlockType* block_ = nullptr;
  const BlockType* val_block_ = nullptr;
  std::size_t block_index_ = 0;
  std::size_t val_block_index_ = 0;
  std::uint32_t key_ = 0;
  std::uint32_t val_ = 0;
  std::uint32_t val_end_ = 0;
};

/// Over several batches. It shares ownership of them.
template <typename K, typename V, typename T, typename R>
class CursorList {
 public:
  using Key = K;
  using Val = V;
  using Time = T;
  using Diff = R;
  using KeyRef = RefOf<K>;
  using ValRef = RefOf<V>;
  using Batches = std::vector<BatchPtr<K, V, T, R>>;

  explicit CursorList(Batches batches) : batches_(std::move(batches)) {
    cursors_.reserve(batches_.size());
    for (const auto& batch : batches_) {
      if (!batch->empty()) cursors_.emplace_back(*batch);
    }
    find_keys();
  }

  [[nodiscard]] bool key_valid() const { return !at_key_.empty(); }
  [[nodiscard]] KeyRef key() const { return cursors_[at_key_[0]].key(); }
  void step_key() {
    for (const std::uint32_t c : at_key_) cursors_[c].step_key();
    find_keys();
  }
  /// Moves to the first key not less than `key`.
  void seek_key(const KeyRef& key) {
    for (auto& cursor : cursors_) cursor.seek_key(key);
    find_keys();
  }
  /// Moves as `seek_key` and says whether it found the key itself.
  bool seek_exactly(const KeyRef& key) {
    seek_key(key);
    return key_valid() && compare(this->key(), key) == 0;
  }

  [[nodiscard]] bool val_valid() const { return !at_val_.empty(); }
  [[nodiscard]] ValRef val() const { return cursors_[at_val_[0]].val(); }
  void step_val() {
    for (const std::uint32_t c : at_val_) cursors_[c].step_val();
    find_vals();
  }
  void seek_val(const ValRef& val) {
    for (const std::uint32_t c : at_key_) cursors_[c].seek_val(val);
    find_vals();
  }
  void rewind_vals() {
    for (const std::uint32_t c : at_key_) cursors_[c].rewind_vals();
    find_vals();
  }

  /// Passes each (time, diff) of the value; the same time can come more than once.
  template <typename F>
  void map_times(F&& f) const {
    for (const std::uint32_t c : at_val_) cursors_[c].map_times(f);
  }
  [[nodiscard]] const Batches& batches() const { return batches_; }

 private:
  void find_keys() {
    at_key_.clear();
    for (std::uint32_t c = 0; c < cursors_.size(); ++c) {
      if (!cursors_[c].key_valid()) continue;
      const int order = at_key_.empty() ? 0 : compare(cursors_[c].key(), cursors_[at_key_[0]].key());
      if (order < 0) at_key_.clear();
      if (order <= 0) at_key_.push_back(c);
    }
    find_vals();
  }
  void find_vals() {
    at_val_.clear();
    for (const std::uint32_t c : at_key_) {
      if (!cursors_[c].val_valid()) continue;
      const int order = at_val_.empty() ? 0 : compare(cursors_[c].val(), cursors_[at_val_[0]].val());
      if (order < 0) at_val_.clear();
      if (order <= 0) at_val_.push_back(c);
    }
  }

  Batches batches_;
  std::vector<BatchCursor<K, V, T, R>> cursors_;
  std::vector<std::uint32_t> at_key_;  // the cursors at the least key
  std::vector<std::uint32_t> at_val_;  // of these, the ones at the least value
};

}  // namespace differential
