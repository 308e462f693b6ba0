// SPDX-License-Identifier: Apache-2.0
/// A group: several shards that change together, in one compare-and-set.
///
/// A shard is a durable collection of (row, time, diff) with two times. `upper`: everything before
/// it is there for good, and nothing is there at or after it. `since`: it may be read as of any
/// time t with since <= t < upper; earlier times have been (or will be) folded into it.
///
/// A commit is all or nothing over all shards of the group and durable when its future resolves:
/// small batches travel in the state itself, so that it costs one fsync. Commits asked for while
/// one is under way go out together in the next. Merging of batches, folding of times before since
/// and the removal of what nobody reads go on by themselves after commits, and cost nothing when
/// there are none.
///
///     auto epoch = group->acquire_writer();                      // fences every earlier writer
///     Commit commit{.epoch = epoch};
///     commit.create.push_back({.shard = orders, .start = t});
///     commit.append.push_back({.shard = catalog, .lower = d, .upper = t + 1, .updates = rows});
///     group->commit(std::move(commit)).on_ready(strand, [](Result<CommitOutcome> outcome) { … });
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/persist/reader.h>
#include <freshet/persist/types.h>
#include <freshet/persist/updates.h>

namespace freshet::persist {

/// Data already uploaded by a `BatchBuilder`, to be appended by a commit. May be kept and used
/// again when a commit was refused; append it at most once.
class UploadedBatch;
using BatchRef = std::shared_ptr<const UploadedBatch>;

struct CreateShard {
  ShardId shard{};
  /// Its first since and upper.
  Time start = 0;
  /// What the rows are, in the caller's words: stored beside the shard, never looked into, found again in `ShardInfo`.
  base::Bytes schema{};
};

/// Moves a shard's upper from `lower` to `upper`, adding updates at times in between. Without
/// updates it only says that nothing happened. `upper = kClosed` closes the shard.
struct Append {
  ShardId shard{};
  Time lower = 0;
  Time upper = 0;
  /// Need not be consolidated. Large ones are uploaded before the commit is tried.
  Updates updates{};
  /// Beside or instead of `updates`.
  std::vector<BatchRef> batches{};
};

struct Downgrade {
  ShardId shard{};
  Time since = 0;
};

struct Commit {
  Epoch epoch = 0;
  std::vector<CreateShard> create{};
  std::vector<ShardId> drop{};
  std::vector<Append> append{};
  /// As `Group::downgrade_since`, but part of the commit.
  std::vector<Downgrade> downgrade{};
};

struct CommitOutcome {
  enum class Status : std::uint8_t {
    kCommitted,
    kUpperMismatch,  ///< `shard` is at `upper`, not at the `lower` of its append.
    kFenced,         ///< A newer writer took over: `epoch` is its number. Stop writing.
  };
  Status status = Status::kCommitted;
  ShardId shard{};
  Time upper = 0;
  Epoch epoch = 0;
  [[nodiscard]] bool committed() const { return status == Status::kCommitted; }
};

struct ShardInfo {
  ShardId shard{};
  Time since = 0;
  Time upper = 0;
  base::Bytes schema{};
  /// As stored: not added up between batches.
  std::uint64_t updates = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t batches = 0;
};

/// Keeps a shard readable as of `at()` and later. Move only; released when it dies.
/// Thread safety: a value; its group's state is locked inside.
class Hold {
 public:
  class Implementation;
  Hold();
  explicit Hold(std::unique_ptr<Implementation> implementation);
  Hold(Hold&&) noexcept;
  Hold& operator=(Hold&&) noexcept;
  ~Hold();
  [[nodiscard]] ShardId shard() const;
  [[nodiscard]] Time at() const;
  /// Gives up the times before `to`. Never goes back: an earlier `to` changes nothing.
  void downgrade(Time to);

 private:
  std::unique_ptr<Implementation> implementation_;
};

struct BatchOptions {
  /// When the data happens is not known yet: times count for nothing, and all of it gets the time `upper - 1` of the
  /// append that takes the batch.
  bool timeless = false;
  /// Of the first part; the others grow with what has come, up to `ClientOptions::part_bytes`. So that little is left to
  /// do at the end, when the data itself comes slowly. 0: all are large.
  std::size_t first_part_bytes = 0;
};

/// Turns any amount of data into an `UploadedBatch`, in bounded memory.
///
/// Space: about three parts of rows (`ClientOptions::part_bytes`).
/// A builder dropped before `finish` removes what it has uploaded; a batch that no commit was asked to append stays until
/// a later start.
/// Thread safety: one call at a time.
class BatchBuilder {
 public:
  virtual ~BatchBuilder() = default;
  /// Wait for the future before the next `add`: that is the backpressure. Whoever has the memory need not. Order does
  /// not matter, but sorted input is cheaper.
  virtual base::Future<base::Unit> add(Updates updates) = 0;
  /// The builder is useless afterwards. An error of any `add` comes again here.
  virtual base::Future<BatchRef> finish() = 0;
};

/// Thread safety: all of it. Lifetime: of the `PersistClient` that opened it; later calls answer
/// kCancelled.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;

  // ---- Writing.

  /// Takes over: commits the next epoch, so that every earlier writer gets kFenced. The writer's
  /// process is also the one that maintains the group.
  virtual base::Future<Epoch> acquire_writer() = 0;
  /// Joins the writers of an epoch that somebody else acquired and handed over. kConflict if it is
  /// not the newest.
  virtual base::Future<base::Unit> join_writer(Epoch epoch) = 0;
  /// All or nothing. Commits that touch a shard in common take effect in the order of the calls,
  /// also when an earlier one must upload first. Errors: kUnavailable and kExhausted: nothing
  /// happened; kIndeterminate: only when the client is closed in between, or its trace is gone;
  /// kInvalid: updates outside [lower, upper), bounds the wrong way round, a shard created twice,
  /// since past upper; kNotFound: no such shard.
  virtual base::Future<CommitOutcome> commit(Commit commit) = 0;
  virtual std::unique_ptr<BatchBuilder> build_batch(ShardId shard, BatchOptions options) = 0;
  std::unique_ptr<BatchBuilder> build_batch(ShardId shard) { return build_batch(shard, {}); }
  /// Lets history before `since` be folded. A later commit carries it, or one of its own within a
  /// second. Going back changes nothing. Only writers call it.
  virtual void downgrade_since(ShardId shard, Time since) = 0;

  // ---- Looking, at what this process knows; always current for the only writer's process.

  [[nodiscard]] virtual std::optional<ShardInfo> shard(ShardId shard) const = 0;
  [[nodiscard]] virtual std::vector<ShardInfo> shards() const = 0;
  [[nodiscard]] virtual Epoch epoch() const = 0;
  /// Resolves with the upper as soon as it is past `time`; no polling.
  virtual base::Future<Time> upper_past(ShardId shard, Time time) = 0;
  /// Reads what other processes have committed. Writers need it only to look.
  virtual base::Future<base::Unit> refresh() = 0;

  // ---- Reading.

  /// kInvalid if the shard's since is past `at`; kNotFound if there is no such shard.
  virtual base::Future<Hold> hold(ShardId shard, Time at) = 0;
  /// Errors as `hold`. An `as_of` at or past the upper is fine: `next` waits for it.
  virtual base::Future<std::unique_ptr<Reader>> read(ReadOptions options) = 0;
};

}  // namespace freshet::persist
