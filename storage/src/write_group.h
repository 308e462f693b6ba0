// SPDX-License-Identifier: Apache-2.0
/// `WriteGroup`: one ledger group with its logical upper, its commits and the demands on it.
///
/// The logical upper is a promise to readers that nothing will be written below it. It moves past what someone
/// demands as soon as no commit at or before that time is under way, and a commit below it is refused. Each
/// collection shows the group's upper only when it changed itself or someone asked for it, so that a
/// commit to one table wakes no reader of another.
///
/// Invariant: durable <= published <= logical for each collection; times of commits increase.
/// Thread safety: all of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ledger.h"

namespace freshet::storage {

using storage_api::Frontiers;

class WriteGroup : public std::enable_shared_from_this<WriteGroup> {
 public:
  /// Told when the frontiers that a collection shows have changed, in order; called under the lock, so it
  /// must do no more than post a task.
  using Observer = std::function<void(GlobalId, Frontiers)>;

  WriteGroup(base::Scheduler& scheduler, std::shared_ptr<LedgerGroup> ledger, Observer observer);

  /// Of the ledger group.
  [[nodiscard]] const std::string& name() const { return ledger_->name(); }
  /// Members present in the ledger when it was opened, or created since.
  [[nodiscard]] std::vector<GlobalId> members() const;
  [[nodiscard]] std::optional<Frontiers> frontiers(GlobalId id) const;
  /// The (durable, published) pair a reader needs, in one look.
  [[nodiscard]] std::optional<Frontiers> published(GlobalId id) const;
  [[nodiscard]] SqlTime logical() const;

  using Described = std::pair<GlobalId, repr::RelationDesc>;
  /// Makes those that are not there yet, with since `start`. `readable`: empty as of `start`; else nobody can read
  /// them before their first commit or append. XX001 if one is there and stores something else.
  base::Future<base::Unit> create(std::vector<Described> wanted, SqlTime start, bool readable);

  struct Write {
    GlobalId id;
    CollectionUpdates updates{};
    std::vector<LedgerBatchPtr> batches{};
  };
  /// Commits at `time`: the uppers of the written collections become time + 1. kConflict if `time` is
  /// below the logical upper. Commits are durable and resolve one after another.
  base::Future<base::Unit> commit(SqlTime time, std::vector<Write> writes,
                                  std::vector<Described> create = {}, std::vector<GlobalId> drop = {});
  base::Future<base::Unit> drop(GlobalId id);

  /// For groups whose writer states times itself (views). The writer opened last is the only one: earlier ones get
  /// kConflict, and their claims do nothing. Demands are forwarded to it.
  std::uint64_t open_writer(std::function<void(SqlTime)> on_demand);
  /// By that writer: a range of times of one collection.
  base::Future<base::Unit> append(std::uint64_t writer, GlobalId id, SqlTime lower, SqlTime upper,
                                  CollectionUpdates updates);
  /// By that writer: nothing was or will be written below `upper`.
  void claim(std::uint64_t writer, SqlTime upper);

  /// Asks that the published upper of `id` exceed `time`. Returns at once.
  void demand(GlobalId id, SqlTime time);
  /// From now on demands are passed on instead of being granted: the writer alone knows. Called outside
  /// the lock, on the thread that demands. A demand that waits already is passed on at once.
  void forward_demands(std::function<void(SqlTime)> to);

  /// Resolves once the published upper of `id` exceeds `upper`, with the frontiers then.
  base::Future<Frontiers> published_past(GlobalId id, SqlTime upper);

  void allow_compaction(GlobalId id, SqlTime since);
  std::unique_ptr<LedgerBatchBuilder> build(GlobalId id, BatchTimes times) { return ledger_->build(id, times); }
  base::Future<std::unique_ptr<LedgerReader>> read(GlobalId id, SqlTime as_of) {
    return ledger_->read(id, as_of);
  }

 private:
  struct Waiter {
    SqlTime upper;
    base::Promise<Frontiers> promise;
  };
  struct Member {
    SqlTime since = 0;
    SqlTime durable = 0;
    SqlTime published = 0;
    SqlTime demanded = 0;  ///< Readers want the upper to exceed demanded - 1.
    bool appended = false; ///< Its first append is durable: `published` may exceed `durable`.
    std::string schema{};
    std::vector<Waiter> waiters{};
  };
  struct Pending;

  [[nodiscard]] Result<void> check_schema(GlobalId id, const Member& member, const repr::RelationDesc& desc) const;
  void start_next(std::unique_lock<std::mutex>& lock);
  void finish(std::shared_ptr<Pending> pending, Result<base::Unit> result);
  void grant();
  [[nodiscard]] SqlTime grantable() const;
  void publish(GlobalId id, Member& member, SqlTime upper);
  [[nodiscard]] Frontiers show(const Member& member, SqlTime upper) const {
    return {.since = member.since, .durable_upper = member.durable, .upper = upper};
  }

  base::Scheduler& scheduler_;
  std::shared_ptr<LedgerGroup> ledger_;
  Observer observer_;
  mutable std::mutex mutex_;
  std::map<GlobalId, Member> members_;
  SqlTime logical_ = 0;
  std::vector<std::shared_ptr<Pending>> queue_;
  std::shared_ptr<Pending> in_flight_;
  std::function<void(SqlTime)> forward_;
  std::uint64_t writer_ = 0;  ///< The one opened last.
  std::set<GlobalId> demanded_;  ///< Members with a demand not yet met.
};

}  // namespace freshet::storage
