// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <algorithm>

#include <freshet/base/assert.h>

namespace freshet::persist {
namespace {

constexpr std::size_t kMarksKept = 256;

Unexpected no_shard(ShardId id) { return fail(ErrorCode::kNotFound, "no shard " + to_string(id)); }

}  // namespace

Draft::Draft(const GroupState& base)
    : base_(&base), epoch_(base.epoch), next_batch_id_(base.next_batch_id) {}

Draft& Draft::operator=(const Draft& other) {
  FRESHET_ASSERT(base_ == other.base_);
  epoch_ = other.epoch_;
  next_batch_id_ = other.next_batch_id_;
  rollup_ = other.rollup_;
  touched_ = other.touched_;
  unlinked_ = other.unlinked_;
  forgotten_ = other.forgotten_;
  return *this;
}

const ShardState* Draft::shard(ShardId id) const {
  if (const auto it = touched_.find(id); it != touched_.end()) return it->second.get();
  const auto it = base_->shards.find(id);
  return it == base_->shards.end() ? nullptr : it->second.get();
}

// Copies even a shard touched before: an older copy of this draft may share it.
ShardState* Draft::touch(ShardId id) {
  const ShardState* current = shard(id);
  if (current == nullptr) return nullptr;
  auto copy = std::make_shared<ShardState>(*current);
  ShardState* result = copy.get();
  touched_[id] = std::move(copy);
  return result;
}

void Draft::unlink(const Batch& batch) {
  for (const Run& run : batch.runs) {
    for (const PartRef& part : run) unlinked_.push_back(part->key);
  }
}

Result<void> Draft::apply(const Step& step) {
  return std::visit([this](const auto& s) { return on(s); }, step);
}

Result<void> Draft::on(const step::Create& s) {
  if (shard(s.shard) != nullptr) {
    return fail(ErrorCode::kInvalid, "shard " + to_string(s.shard) + " exists already");
  }
  touched_[s.shard] = std::make_shared<ShardState>(
      ShardState{.id = s.shard, .since = s.start, .upper = s.start, .schema = s.schema});
  return {};
}

Result<void> Draft::on(const step::Drop& s) {
  const ShardState* current = shard(s.shard);
  if (current == nullptr) return no_shard(s.shard);
  for (const BatchEntry& batch : current->batches) unlink(*batch);
  touched_[s.shard] = nullptr;
  return {};
}

Result<void> Draft::on(const step::Append& s) {
  const ShardState* current = shard(s.shard);
  if (current == nullptr) return no_shard(s.shard);
  if (current->upper != s.lower) {
    return fail(ErrorCode::kConflict, "shard " + to_string(s.shard) + " is at " +
                                          std::to_string(current->upper) + ", not at " +
                                          std::to_string(s.lower));
  }
  if (s.upper < s.lower) return fail(ErrorCode::kInvalid, "an append moves the upper back");
  ShardState* changed = touch(s.shard);
  changed->upper = s.upper;
  for (const BatchEntry& batch : s.batches) {
    changed->batches.push_back(batch);
    next_batch_id_ = std::max(next_batch_id_, batch->id + 1);
  }
  return {};
}

Result<void> Draft::on(const step::Since& s) {
  const ShardState* current = shard(s.shard);
  if (current == nullptr) return no_shard(s.shard);
  if (s.since > current->upper) {
    return fail(ErrorCode::kInvalid, "since " + std::to_string(s.since) + " of shard " +
                                         to_string(s.shard) + " is past its upper " +
                                         std::to_string(current->upper));
  }
  if (s.since > current->since) touch(s.shard)->since = s.since;
  return {};
}

Result<void> Draft::on(const step::Replace& s) {
  const ShardState* current = shard(s.shard);
  if (current == nullptr) return no_shard(s.shard);
  const auto first = std::ranges::find_if(
      current->batches, [&](const BatchEntry& batch) { return batch->id == s.ids.front(); });
  const auto left = static_cast<std::size_t>(current->batches.end() - first);
  const auto same = [](const BatchEntry& batch, std::uint64_t id) { return batch->id == id; };
  if (left < s.ids.size() ||
      !std::ranges::equal(first, first + static_cast<std::ptrdiff_t>(s.ids.size()), s.ids.begin(),
                          s.ids.end(), same)) {
    return fail(ErrorCode::kConflict, "the batches to replace are gone");
  }
  const auto position = first - current->batches.begin();
  ShardState* changed = touch(s.shard);
  const auto from = changed->batches.begin() + position;
  const auto to = from + static_cast<std::ptrdiff_t>(s.ids.size());
  std::for_each(from, to, [this](const BatchEntry& batch) { unlink(*batch); });
  const auto gap = changed->batches.erase(from, to);
  if (s.batch != nullptr) {
    changed->batches.insert(gap, s.batch);
    next_batch_id_ = std::max(next_batch_id_, s.batch->id + 1);
  }
  return {};
}

Result<void> Draft::on(const step::TakeOver& s) {
  if (s.epoch <= epoch_) return fail(ErrorCode::kConflict, "a newer writer took over");
  epoch_ = s.epoch;
  return {};
}

Result<void> Draft::on(const step::Rollup& s) {
  const RollupRef& latest = rollup_ ? *rollup_ : base_->rollup;
  if (s.rollup.seqno <= latest.seqno) return fail(ErrorCode::kConflict, "there is a newer rollup");
  if (latest.seqno != 0) unlinked_.push_back(latest.key);
  rollup_ = s.rollup;
  return {};
}

Result<void> Draft::on(const step::Forget& s) {
  forgotten_.insert(s.keys.begin(), s.keys.end());
  return {};
}

std::vector<ShardId> Draft::move_into(GroupState& state, std::uint64_t mark) && {
  FRESHET_ASSERT(base_ == &state);
  std::vector<ShardId> ids;
  for (auto& [id, shard] : touched_) {
    ids.push_back(id);
    if (shard == nullptr) {
      state.shards.erase(id);
    } else {
      state.shards[id] = std::move(shard);
    }
  }
  ++state.seqno;
  state.epoch = epoch_;
  state.next_batch_id = next_batch_id_;
  if (rollup_) state.rollup = *rollup_;
  if (!forgotten_.empty()) {
    std::erase_if(state.unlinked, [&](const Unlinked& u) { return forgotten_.contains(u.key); });
  }
  for (std::string& key : unlinked_) state.unlinked.push_back({state.seqno, std::move(key)});
  if (state.marks.size() >= kMarksKept) state.marks.erase(state.marks.begin());
  state.marks.push_back(mark);
  return ids;
}

std::set<std::string> named_objects(const GroupState& state) {
  std::set<std::string> keys;
  for (const auto& [id, shard] : state.shards) {
    for (const BatchEntry& batch : shard->batches) {
      for (const Run& run : batch->runs) {
        for (const PartRef& part : run) keys.insert(part->key);
      }
    }
  }
  for (const Unlinked& object : state.unlinked) keys.insert(object.key);
  if (state.rollup.seqno != 0) keys.insert(state.rollup.key);
  return keys;
}

}  // namespace freshet::persist
