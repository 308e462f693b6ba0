// SPDX-License-Identifier: Apache-2.0
/// `Committer`: the one writer of the group of catalog and tables.
///
/// Writes that arrive while a commit is under way go out together in the next: one timestamp, one
/// durable commit. A write that has read is admitted only if no table it read has changed since, writes of the
/// same commit included; otherwise it fails with 40001 and the caller reads again.
///
/// Thread safety: all methods.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/base/log.h>
#include <freshet/storage_api/storage.h>

#include "oracle.h"

namespace freshet::adapter {

using expr::GlobalId;

struct TableWrite {
  std::map<GlobalId, storage_api::CollectionUpdates> appends{};
  /// As in TableCommit: only for tables in `appends`.
  std::map<GlobalId, std::vector<storage_api::StagedRowsPtr>> staged{};
  std::vector<std::pair<GlobalId, repr::RelationDesc>> create{};
  std::vector<GlobalId> drop{};
  /// When, and which tables, the write's content was computed from.
  std::optional<SqlTime> read_at{};
  std::set<GlobalId> read_tables{};
  [[nodiscard]] bool empty() const { return appends.empty() && create.empty() && drop.empty(); }
};

/// Bytes of rows of one table that one commit may hold: what is encoded counts them in 32 bits, with a byte a row more.
inline constexpr std::size_t kMostCommitBytes = std::size_t{1} << 31;

class Committer {
 public:
  /// `most_bytes`: writes that would exceed it together go out one after the other.
  Committer(base::Scheduler& scheduler, storage_api::Storage& storage, Oracle& oracle,
            std::size_t most_bytes = kMostCommitBytes);
  /// Waits for nothing: a commit under way still happens, but nobody is told.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// The time of the commit, once it is durable and visible to later reads. 40001 as above; 42P01 for a write to
  /// a collection that a commit before it dropped; 53100, 58030 from storage: nothing was written.
  base::Future<SqlTime> commit(TableWrite write);
  /// A time that no change of the tables is above, neither a durable one nor one on its way: what a read of them, at
  /// any time that was given before the call, sees is what they hold here.
  [[nodiscard]] SqlTime quiet_since(const std::vector<GlobalId>& tables) const;
  /// Resolves when no commit is queued or under way.
  base::Future<base::Unit> settled();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Appends `from` to `to`.
void append_updates(storage_api::EncodedUpdates& to, const storage_api::EncodedUpdates& from);

}  // namespace freshet::adapter
