// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/assert.h>

#include "io.h"

namespace freshet::persist {

using base::Bytes;
using base::BytesView;
using base::Future;
using base::Unit;

namespace {
/// Fetched at once: small parts whole, large ones in ranges of this size.
constexpr std::uint64_t kFetchBytes = 512 << 10;
}  // namespace

namespace {

bool inside(const ReadWindow& window, Time least, Time greatest) {
  return least >= std::max(window.from, window.advance_to) && greatest < window.to;
}

}  // namespace

Updates through_window(Updates updates, const ReadWindow& window) {
  const auto times = updates.times();
  const auto outside = [&](Time t) { return t < window.from || t >= window.to; };
  if (std::ranges::none_of(times, outside)) {
    updates.advance_to(window.advance_to);
    return updates;
  }
  Updates kept;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (outside(times[i])) continue;
    kept.push(updates.row(i), std::max(times[i], window.advance_to), updates.diff(i));
  }
  return kept;
}

RunReader::RunReader(ShardId shard, Run run, ReadWindow window)
    : shard_(shard), run_(std::move(run)), window_(std::move(window)) {}

RunReader::RunReader(std::shared_ptr<const Updates> inlined, ReadWindow window)
    : inlined_(std::move(inlined)), window_(std::move(window)) {}

Unexpected RunReader::named(Error error) const {
  // The state names the part, so its absence is damage, too.
  if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kCorrupt;
  error.message += " (part \"" + part_->key + "\" of shard " + to_string(shard_) + ")";
  return fail(std::move(error));
}

bool RunReader::wanted(const BlockInfo& block) const {
  if (block.greatest_time < window_.from || block.least_time >= window_.to) return false;
  return window_.filter == nullptr || (*window_.filter)(block);
}

Future<Unit> RunReader::open_part(IoRef io, std::shared_ptr<RunReader> self) {
  const Part& part = *self->part_;
  self->blocks_.clear();
  self->fetched_.clear();
  self->next_block_ = self->next_fetched_ = 0;
  self->row_hash_sum_ = 0;
  self->all_blocks_ = true;
  const std::uint64_t from = part.size <= kFetchBytes ? 0 : part.index_offset;
  Future<Bytes> get = get_range_patiently(io, part.key, from, part.size - from);
  Result<Bytes> bytes = co_await std::move(get);
  if (!bytes) co_return self->named(std::move(bytes).error());
  const BytesView index = BytesView(*bytes).substr(part.index_offset - from);
  auto blocks = io->codec().decode_index(index, part.index_offset);
  if (!blocks) co_return self->named(std::move(blocks).error());
  for (BlockInfo& block : *blocks) {
    if (block.offset + block.size > part.index_offset) {
      co_return self->named(
          {.code = ErrorCode::kCorrupt, .message = "a block ends past the index"});
    }
    if (self->wanted(block)) {
      self->blocks_.push_back(std::move(block));
    } else {
      self->all_blocks_ = false;
    }
  }
  if (from == 0) {
    for (const BlockInfo& block : self->blocks_) self->fetched_.push_back({block, block.offset});
    self->next_block_ = self->blocks_.size();
    self->buffer_ = std::move(bytes).value();
  }
  co_return Unit{};
}

// The next wanted blocks that lie side by side, up to kFetchBytes.
Future<Unit> RunReader::fetch(IoRef io, std::shared_ptr<RunReader> self) {
  const std::uint64_t start = self->blocks_[self->next_block_].offset;
  std::uint64_t end = start;
  self->fetched_.clear();
  self->next_fetched_ = 0;
  for (; self->next_block_ < self->blocks_.size(); ++self->next_block_) {
    const BlockInfo& block = self->blocks_[self->next_block_];
    if (block.offset != end || (end != start && end + block.size - start > kFetchBytes)) break;
    self->fetched_.push_back({block, block.offset - start});
    end += block.size;
  }
  Future<Bytes> get = get_range_patiently(io, self->part_->key, start, end - start);
  Result<Bytes> bytes = co_await std::move(get);
  if (!bytes) co_return self->named(std::move(bytes).error());
  self->buffer_ = std::move(bytes).value();
  co_return Unit{};
}

Result<std::shared_ptr<const Updates>> RunReader::decode_next(Io& io) {
  const Fetched& fetched = fetched_[next_fetched_++];
  Result<Updates> updates = io.codec().decode_block(
      fetched.block, BytesView(buffer_).substr(fetched.position, fetched.block.size));
  if (!updates) return named(std::move(updates).error());
  // End to end: a part read in full must add up to what its writer saw.
  if (all_blocks_) {
    row_hash_sum_ += updates->row_hash_sum();
    const bool last = next_fetched_ == fetched_.size() && next_block_ == blocks_.size();
    if (last && row_hash_sum_ != part_->row_hash_sum) {
      return named({.code = ErrorCode::kCorrupt, .message = "rows do not add up to their sum"});
    }
  }
  const bool as_it_is = inside(window_, fetched.block.least_time, fetched.block.greatest_time);
  return std::make_shared<const Updates>(
      as_it_is ? std::move(updates).value() : through_window(std::move(updates).value(), window_));
}

Future<std::shared_ptr<const Updates>> RunReader::next(IoRef io, std::shared_ptr<RunReader> self) {
  using Chunk = std::shared_ptr<const Updates>;
  if (self->inlined_ != nullptr) {
    Chunk chunk = std::exchange(self->inlined_, nullptr);
    if (!inside(self->window_, chunk->least_time(), chunk->greatest_time())) {
      chunk = std::make_shared<const Updates>(through_window(*chunk, self->window_));
    }
    if (chunk->empty()) co_return Chunk();
    co_return std::move(chunk);
  }
  while (true) {
    if (self->next_fetched_ < self->fetched_.size()) {
      Result<Chunk> chunk = self->decode_next(*io);
      FRESHET_CO_CHECK(chunk);
      if (!(*chunk)->empty()) co_return std::move(chunk);
      continue;
    }
    if (self->next_block_ < self->blocks_.size()) {
      Future<Unit> fetching = fetch(io, self);
      Result<Unit> fetched = co_await std::move(fetching);
      FRESHET_CO_CHECK(fetched);
      continue;
    }
    if (self->next_part_ == self->run_.size()) co_return Chunk();
    self->part_ = self->run_[self->next_part_++];
    if (self->part_->greatest_time < self->window_.from ||
        self->part_->least_time >= self->window_.to) {
      continue;
    }
    Future<Unit> opening = open_part(io, self);
    Result<Unit> opened = co_await std::move(opening);
    FRESHET_CO_CHECK(opened);
  }
}

std::vector<std::shared_ptr<RunReader>> open_runs(ShardId shard,
                                                  const std::vector<BatchEntry>& batches,
                                                  const ReadWindow& window) {
  std::vector<std::shared_ptr<RunReader>> runs;
  for (const BatchEntry& batch : batches) {
    for (const Run& run : batch->runs) {
      runs.push_back(std::make_shared<RunReader>(shard, run, window));
    }
    if (batch->inlined != nullptr) {
      runs.push_back(std::make_shared<RunReader>(batch->inlined, window));
    }
  }
  return runs;
}

}  // namespace freshet::persist
