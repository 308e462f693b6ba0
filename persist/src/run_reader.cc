// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/assert.h>

#include "io.h"

namespace freshet::persist {

using base::Bytes;
using base::BytesView;
using base::Future;

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

bool RunReader::wanted(const BlockInfo& block) const {
  if (block.greatest_time < window_.from || block.least_time >= window_.to) return false;
  return window_.filter == nullptr || (*window_.filter)(block);
}

/// Opens the next part of which something is wanted; false at the end of the run.
bool RunReader::next_wanted_part() {
  while (next_part_ < run_.size()) {
    part_ = run_[next_part_++];
    if (part_->greatest_time >= window_.from && part_->least_time < window_.to) return true;
  }
  return false;
}

/// The part's index; a small part is read whole.
RunReader::Range RunReader::index_range() const {
  const std::uint64_t from = part_->size <= kFetchBytes ? 0 : part_->index_offset;
  return {from, part_->size - from};
}

Result<void> RunReader::take_index(const PartCodec& codec, Bytes bytes) {
  blocks_.clear();
  fetched_.clear();
  next_block_ = next_fetched_ = 0;
  row_hash_sum_ = 0;
  all_blocks_ = true;
  const std::uint64_t from = index_range().offset;
  const BytesView index = BytesView(bytes).substr(part_->index_offset - from);
  auto blocks = codec.decode_index(index, part_->index_offset);
  if (!blocks) return fail(std::move(blocks).error());
  for (BlockInfo& block : *blocks) {
    if (part_->stamped) block.least_time = block.greatest_time = part_->least_time;
    if (block.offset + block.size > part_->index_offset) {
      return fail(ErrorCode::kCorrupt, "a block ends past the index");
    }
    if (wanted(block)) {
      blocks_.push_back(std::move(block));
    } else {
      all_blocks_ = false;
    }
  }
  if (from == 0) {
    for (const BlockInfo& block : blocks_) fetched_.push_back({block, block.offset});
    next_block_ = blocks_.size();
    buffer_ = std::move(bytes);
  }
  return {};
}

/// The next wanted blocks that lie side by side, up to kFetchBytes.
RunReader::Range RunReader::next_blocks() {
  const std::uint64_t start = blocks_[next_block_].offset;
  std::uint64_t end = start;
  fetched_.clear();
  next_fetched_ = 0;
  for (; next_block_ < blocks_.size(); ++next_block_) {
    const BlockInfo& block = blocks_[next_block_];
    if (block.offset != end || (end != start && end + block.size - start > kFetchBytes)) break;
    fetched_.push_back({block, block.offset - start});
    end += block.size;
  }
  return {start, end - start};
}

Result<std::shared_ptr<const Updates>> RunReader::decode_next(const PartCodec& codec) {
  const Fetched& fetched = fetched_[next_fetched_++];
  Result<Updates> updates = codec.decode_block(
      fetched.block, BytesView(buffer_).substr(fetched.position, fetched.block.size));
  if (!updates) return fail(std::move(updates).error());
  if (part_->stamped) updates->set_times(part_->least_time);
  // End to end: a part read in full must add up to what its writer saw.
  if (all_blocks_) {
    row_hash_sum_ += updates->row_hash_sum();
    const bool last = next_fetched_ == fetched_.size() && next_block_ == blocks_.size();
    if (last && row_hash_sum_ != part_->row_hash_sum) {
      return fail(ErrorCode::kCorrupt, "rows do not add up to their sum");
    }
  }
  const bool as_it_is = inside(window_, fetched.block.least_time, fetched.block.greatest_time);
  return std::make_shared<const Updates>(
      as_it_is ? std::move(updates).value() : through_window(std::move(updates).value(), window_));
}

/// Null if the window wants none of them.
std::shared_ptr<const Updates> RunReader::take_inlined() {
  auto chunk = std::exchange(inlined_, nullptr);
  if (!inside(window_, chunk->least_time(), chunk->greatest_time())) {
    chunk = std::make_shared<const Updates>(through_window(*chunk, window_));
  }
  return chunk->empty() ? nullptr : chunk;
}

/// Decodes what has been fetched, fetches the next blocks, opens the next part: until there is
/// something to give.
class RunReader::NextBlock final : public Flow<NextBlock, std::shared_ptr<const Updates>> {
 public:
  NextBlock(IoRef io, std::shared_ptr<RunReader> reader)
      : io_(std::move(io)), reader_(std::move(reader)) {}
  base::TaskQueue& queue() { return io_->queue(); }

  void begin() {
    if (reader_->inlined_ != nullptr) return finish(reader_->take_inlined());
    while (reader_->next_fetched_ < reader_->fetched_.size()) {
      auto block = reader_->decode_next(io_->codec());
      if (!block) return fail_with(std::move(block).error());
      if (!(*block)->empty()) return finish(std::move(block));
    }
    if (reader_->next_block_ < reader_->blocks_.size()) {
      return await(get(reader_->next_blocks()), &NextBlock::fetched);
    }
    if (!reader_->next_wanted_part()) return finish(nullptr);
    await(get(reader_->index_range()), &NextBlock::opened);
  }

 private:
  Future<Bytes> get(Range range) {
    return get_range_patiently(io_, reader_->part_->key, range.offset, range.size);
  }

  void fetched(Result<Bytes> bytes) {
    if (!bytes) return fail_with(std::move(bytes).error());
    reader_->buffer_ = std::move(bytes).value();
    begin();
  }

  void opened(Result<Bytes> bytes) {
    if (!bytes) return fail_with(std::move(bytes).error());
    Result<void> taken = reader_->take_index(io_->codec(), std::move(bytes).value());
    if (!taken) return fail_with(std::move(taken).error());
    begin();
  }

  // Names the part as one finds it in Blob.
  void fail_with(Error error) {
    // The state names the part, so its absence is damage, too.
    if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kCorrupt;
    error.message += " (part \"" + io_->blob().location(reader_->part_->key) + "\" of shard " +
                     to_string(reader_->shard_) + ")";
    finish(fail(std::move(error)));
  }

  IoRef io_;
  std::shared_ptr<RunReader> reader_;
};

Future<std::shared_ptr<const Updates>> RunReader::next(IoRef io, std::shared_ptr<RunReader> self) {
  return NextBlock::start(std::move(io), std::move(self));
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
