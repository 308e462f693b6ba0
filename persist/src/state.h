// SPDX-License-Identifier: Apache-2.0
// What a group's consensus key says: the state of its shards, and the steps that change it.
//
// The state is data. A version is a list of steps; `Draft` applies steps to the few shards they
// touch and then moves into the state, so that a commit costs what it changes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/persist/part_codec.h>
#include <freshet/persist/types.h>
#include <freshet/persist/updates.h>

namespace freshet::persist {

using base::Unexpected;

struct Part {
  std::string key;
  FormatId format = FormatId::kBlocks1;
  std::uint64_t size = 0;
  std::uint64_t index_offset = 0;
  std::uint64_t updates = 0;
  std::uint64_t row_hash_sum = 0;
  Time least_time = 0;
  Time greatest_time = 0;
  /// Written before its time was known: what the object says of times does not count, all of them are `least_time`.
  bool stamped = false;
  friend bool operator==(const Part&, const Part&) = default;
};
using PartRef = std::shared_ptr<const Part>;
/// Parts that are sorted among themselves.
using Run = std::vector<PartRef>;

struct Batch {
  std::uint64_t id = 0;
  Time lower = 0;
  Time upper = 0;
  /// Times before it were folded into it.
  Time since = 0;
  std::uint64_t updates = 0;
  std::uint64_t bytes = 0;
  std::uint64_t row_hash_sum = 0;
  std::vector<Run> runs{};
  /// Null if there is none; consolidated.
  std::shared_ptr<const Updates> inlined{};
};
using BatchEntry = std::shared_ptr<const Batch>;

struct ShardState {
  ShardId id{};
  Time since = 0;
  Time upper = 0;
  base::Bytes schema{};
  /// In the order of their times.
  std::vector<BatchEntry> batches{};
};

struct RollupRef {
  std::uint64_t seqno = 0;  ///< 0: there is none.
  std::string key{};
  std::uint64_t size = 0;
};

/// An object that the state no longer names; its deletion is not yet on record.
struct Unlinked {
  std::uint64_t seqno = 0;
  std::string key{};
};

struct GroupState {
  std::uint64_t seqno = 0;
  Epoch epoch = 0;
  std::uint64_t next_batch_id = 1;
  RollupRef rollup{};
  std::map<ShardId, std::shared_ptr<const ShardState>> shards{};
  std::vector<Unlinked> unlinked{};
  /// The marks of the latest versions: how a writer recognises its own after an unclear answer.
  std::vector<std::uint64_t> marks{};
};

namespace step {
struct Create {
  ShardId shard{};
  Time start = 0;
  base::Bytes schema{};
};
struct Drop {
  ShardId shard{};
};
struct Append {
  ShardId shard{};
  Time lower = 0;
  Time upper = 0;
  std::vector<BatchEntry> batches{};
};
struct Since {
  ShardId shard{};
  Time since = 0;
};
/// `ids` are neighbours; `batch` takes their place, or nothing does if it is null.
struct Replace {
  ShardId shard{};
  std::vector<std::uint64_t> ids{};
  BatchEntry batch{};
};
struct TakeOver {
  Epoch epoch = 0;
};
struct Rollup {
  RollupRef rollup{};
};
struct Forget {
  std::vector<std::string> keys{};
};
}  // namespace step

using Step = std::variant<step::Create, step::Drop, step::Append, step::Since, step::Replace,
                          step::TakeOver, step::Rollup, step::Forget>;

struct StateVersion {
  std::uint64_t seqno = 0;
  std::uint64_t mark = 0;
  /// The latest rollup once this version is there: whoever finds it as the head can start from it.
  RollupRef rollup{};
  std::vector<Step> steps{};
};

/// Steps on top of a state that they leave alone until `move_into`.
class Draft {
 public:
  explicit Draft(const GroupState& base);

  /// The shard as the steps so far leave it; null if there is none.
  [[nodiscard]] const ShardState* shard(ShardId id) const;
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  std::uint64_t new_batch_id() { return next_batch_id_++; }

  /// Changes nothing if it fails: kConflict (an Append's lower, a Replace whose batches are gone),
  /// kNotFound (shard), kInvalid.
  Result<void> apply(const Step& step);

  /// Forgets what was applied since the copy was taken: keep a copy, assign it back.
  Draft(const Draft&) = default;
  Draft& operator=(const Draft& other);
  ~Draft() = default;

  /// `state` must be the base. The touched shards come back.
  std::vector<ShardId> move_into(GroupState& state, std::uint64_t mark) &&;

 private:
  ShardState* touch(ShardId id);
  void unlink(const Batch& batch);
  Result<void> on(const step::Create& s);
  Result<void> on(const step::Drop& s);
  Result<void> on(const step::Append& s);
  Result<void> on(const step::Since& s);
  Result<void> on(const step::Replace& s);
  Result<void> on(const step::TakeOver& s);
  Result<void> on(const step::Rollup& s);
  Result<void> on(const step::Forget& s);

  const GroupState* base_;
  Epoch epoch_;
  std::uint64_t next_batch_id_;
  std::optional<RollupRef> rollup_{};
  std::map<ShardId, std::shared_ptr<ShardState>> touched_{};  // null: dropped
  std::vector<std::string> unlinked_{};
  std::set<std::string> forgotten_{};
};

/// Every object in Blob that the state names, garbage included.
std::set<std::string> named_objects(const GroupState& state);

base::Bytes encode_version(const StateVersion& version);
/// kCorrupt if the bytes are not such a version.
Result<StateVersion> decode_version(base::BytesView bytes);
/// The rollup that a version points to, without decoding its steps.
Result<RollupRef> decode_version_rollup(base::BytesView bytes);
base::Bytes encode_rollup(const GroupState& state);
Result<GroupState> decode_rollup(base::BytesView bytes);

}  // namespace freshet::persist
