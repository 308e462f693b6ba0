// SPDX-License-Identifier: Apache-2.0
// Merging batches of about one size: fewer runs for readers, and times before since folded.
#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

constexpr std::size_t kMergesMax = 4;
constexpr std::uint64_t kLevelBytes = 4096;
/// A merged batch up to this size stays in the state.
constexpr std::uint64_t kMergedInlineBytes = 4096;
constexpr std::size_t kMergeChunkBytes = 1 << 20;

std::size_t level_of(std::uint64_t bytes, std::size_t fan_in) {
  std::size_t level = 0;
  for (std::uint64_t limit = kLevelBytes; bytes > limit; limit *= fan_in) ++level;
  return level;
}

// The latest batches of about one size, once there are enough. Every update is merged once per size
// class, so the work is logarithmic in the shard.
std::vector<BatchEntry> batches_to_merge(const ShardState& shard, std::size_t fan_in) {
  std::size_t count = 0;
  std::size_t level = 0;
  for (auto it = shard.batches.rbegin(); it != shard.batches.rend(); ++it) {
    const std::size_t own = level_of((*it)->bytes, fan_in);
    if (own > level && count >= fan_in) break;
    level = std::max(level, own);
    ++count;
  }
  if (count < fan_in) return {};
  return {shard.batches.end() - static_cast<std::ptrdiff_t>(count), shard.batches.end()};
}

}  // namespace

Time Machine::own_hold(ShardId shard) const {
  return view_.with([&](const View& view) {
    const auto it = view.holds.find(shard);
    return it == view.holds.end() || it->second.empty() ? kClosed : *it->second.begin();
  });
}

/// Reads some batches of a shard in order and writes them as one; null if nothing is left.
class Machine::BatchMerge final : public Flow<BatchMerge, BatchEntry> {
 public:
  BatchMerge(std::shared_ptr<Machine> machine, ShardId shard, const std::vector<BatchEntry>& inputs,
             Time since)
      : machine_(std::move(machine)),
        io_(machine_->new_io()),
        shard_(shard),
        merger_(
            std::make_shared<Merger>(open_runs(shard, inputs, ReadWindow{.advance_to = since}))),
        merged_{.lower = inputs.front()->lower, .upper = inputs.back()->upper, .since = since} {
    for (const BatchEntry& input : inputs) expected_hash_sum_ += input->row_hash_sum;
  }
  base::TaskQueue& queue() { return machine_->queue(); }
  void begin() { await(Merger::next(io_, merger_, kMergeChunkBytes), &BatchMerge::take); }

 private:
  void take(Updates chunk) {
    at_end_ = chunk.empty();
    buffer_.append(chunk);
    const bool stays_in_state =
        at_end_ && run_.empty() && buffer_.byte_size() <= kMergedInlineBytes;
    if (buffer_.empty() || stays_in_state) return complete();
    if (!at_end_ && buffer_.byte_size() < machine_->options_.part_bytes) return begin();
    await(upload_part(io_, machine_->new_key("m"), std::exchange(buffer_, Updates())),
          &BatchMerge::uploaded);
  }

  void uploaded(PartRef part) {
    FRESHET_ASSERT(part != nullptr);
    count(part->updates, part->size, part->row_hash_sum);
    run_.push_back(std::move(part));
    if (at_end_) return complete();
    begin();
  }

  void complete() {
    if (!run_.empty()) merged_.runs.push_back(std::move(run_));
    if (!buffer_.empty()) {
      count(buffer_.size(), buffer_.byte_size(), buffer_.row_hash_sum());
      merged_.inlined = std::make_shared<const Updates>(std::move(buffer_));
    }
    if (merged_.row_hash_sum != expected_hash_sum_) {
      return finish(fail(ErrorCode::kCorrupt, "merged batches of shard " + to_string(shard_) +
                                                  " do not add up to their inputs"));
    }
    if (merged_.updates == 0) return finish(BatchEntry());
    finish(BatchEntry(std::make_shared<const Batch>(std::move(merged_))));
  }

  void count(std::uint64_t updates, std::uint64_t bytes, std::uint64_t row_hash_sum) {
    merged_.updates += updates;
    merged_.bytes += bytes;
    merged_.row_hash_sum += row_hash_sum;
  }

  std::shared_ptr<Machine> machine_;
  IoRef io_;
  ShardId shard_;
  std::shared_ptr<Merger> merger_;
  Batch merged_;
  std::uint64_t expected_hash_sum_ = 0;
  // On the way.
  Run run_;
  Updates buffer_;
  bool at_end_ = false;
};

/// Merges batches of one shard and has the next commit put the result in their place.
class Machine::Compaction final : public Flow<Compaction, Unit> {
 public:
  Compaction(std::shared_ptr<Machine> machine, ShardId shard, std::vector<BatchEntry> inputs)
      : machine_(std::move(machine)),
        shard_(shard),
        inputs_(std::move(inputs)),
        pin_(machine_->pin()) {}
  base::TaskQueue& queue() { return machine_->queue(); }

  // The since committed by the owner comes first, then what readers hold: a reader that comes later
  // has written its hold before it reads that since, and gives up if it is late.
  void begin() {
    const auto found = machine_->state().shards.find(shard_);
    if (found != machine_->state().shards.end()) since_ = found->second->since;
    await(Session::others(machine_->session_), &Compaction::respect_holds);
  }

 private:
  void respect_holds(Result<HoldTable> others) {
    if (!others) return merged(Unexpected(std::move(others).error()));
    if (const auto group = others->find(machine_->name_); group != others->end()) {
      const auto hold = group->second.holds.find(shard_);
      if (hold != group->second.holds.end()) since_ = std::min(since_, hold->second);
    }
    since_ = std::min(since_, machine_->own_hold(shard_));
    await(BatchMerge::start(machine_, shard_, inputs_, since_), &Compaction::merged);
  }

  void merged(Result<BatchEntry> merged) {
    if (merged) {
      step::Replace replace{.shard = shard_, .batch = std::move(merged).value()};
      for (const BatchEntry& input : inputs_) replace.ids.push_back(input->id);
      machine_->pending_.replaces.push_back(std::move(replace));
      machine_->arm_upkeep();
    } else {
      machine_->merging_.erase(shard_);
      const bool corrupt = merged.error().code == ErrorCode::kCorrupt;
      machine_->environment_.log.write(
          corrupt ? base::LogLevel::kError : base::LogLevel::kWarn, "batches stay unmerged",
          {{"shard", to_string(shard_)}, {"error", merged.error().message}});
    }
    if (!machine_->to_merge_.empty()) machine_->start_merges();
    machine_->check_settled();
    finish(Unit{});
  }

  std::shared_ptr<Machine> machine_;
  ShardId shard_;
  std::vector<BatchEntry> inputs_;
  std::shared_ptr<void> pin_;  ///< Of the inputs: their shard may be dropped meanwhile.
  Time since_ = 0;
};

void Machine::start_merges() {
  for (auto it = to_merge_.begin(); it != to_merge_.end() && merging_.size() < kMergesMax;) {
    const auto shard = state().shards.find(*it);
    if (shard == state().shards.end()) {
      it = to_merge_.erase(it);
      continue;
    }
    if (merging_.contains(*it)) {
      ++it;
      continue;
    }
    std::vector<BatchEntry> inputs = batches_to_merge(*shard->second, options_.merge_fan_in);
    it = to_merge_.erase(it);
    if (inputs.empty()) continue;
    merging_.insert(shard->first);
    Compaction::launch(shared_from_this(), shard->first, std::move(inputs));
  }
}

}  // namespace freshet::persist
