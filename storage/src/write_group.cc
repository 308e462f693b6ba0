// SPDX-License-Identifier: Apache-2.0
#include "write_group.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "schema.h"

namespace freshet::storage {

using base::Future;
using base::Promise;
using base::Unit;

struct WriteGroup::Pending {
  SqlTime time = 0;  ///< The commit's; for an append its upper - 1.
  LedgerCommit commit;
  Promise<Unit> promise;
};

WriteGroup::WriteGroup(base::Scheduler& scheduler, std::shared_ptr<LedgerGroup> ledger,
                       Observer observer)
    : scheduler_(scheduler), ledger_(std::move(ledger)), observer_(std::move(observer)) {
  for (const LedgerShard& shard : ledger_->shards()) {
    members_[shard.id] = Member{.since = shard.since,
                                .durable = shard.upper,
                                .published = shard.upper,
                                .appended = shard.upper > shard.since,
                                .schema = shard.schema};
    logical_ = std::max(logical_, shard.upper);
  }
}

std::vector<GlobalId> WriteGroup::members() const {
  const std::lock_guard lock(mutex_);
  std::vector<GlobalId> ids;
  for (const auto& [id, member] : members_) ids.push_back(id);
  return ids;
}

std::optional<Frontiers> WriteGroup::frontiers(GlobalId id) const {
  const std::lock_guard lock(mutex_);
  auto it = members_.find(id);
  if (it == members_.end()) return std::nullopt;
  const Member& member = it->second;
  return show(member, member.appended ? std::max(member.published, logical_) : member.published);
}

std::optional<Frontiers> WriteGroup::published(GlobalId id) const {
  const std::lock_guard lock(mutex_);
  auto it = members_.find(id);
  if (it == members_.end()) return std::nullopt;
  return show(it->second, it->second.published);
}

SqlTime WriteGroup::logical() const {
  const std::lock_guard lock(mutex_);
  return logical_;
}

Result<void> WriteGroup::check_schema(GlobalId id, const Member& member, const repr::RelationDesc& desc) const {
  const auto corrupt = [&](const std::string& what) {
    return fail(Error{.code = ErrorCode::kCorrupt,
                      .sqlstate = base::sqlstate::kDataCorrupted,
                      .message = "shard " + to_string(id) + " of group \"" + name() + "\" " + what});
  };
  const Result<repr::RelationDesc> stored = decode_schema(member.schema);
  if (!stored) return corrupt("does not say what it stores");
  if (*stored != desc) return corrupt("stores other columns than the catalog says");
  return {};
}

Future<Unit> WriteGroup::create(std::vector<Described> wanted, SqlTime start, bool readable) {
  auto pending = std::make_shared<Pending>();
  std::unique_lock lock(mutex_);
  pending->time = start;
  for (const auto& [id, desc] : wanted) {
    if (const auto there = members_.find(id); there != members_.end()) {
      if (auto same = check_schema(id, there->second, desc); !same) {
        return Future<Unit>::ready(base::Unexpected(std::move(same).error()));
      }
      continue;
    }
    pending->commit.create.push_back({id, start, encode_schema(desc)});
    // The first append, empty, makes the collection readable at `start`.
    if (readable) pending->commit.append.push_back({.id = id, .lower = start, .upper = start + 1});
  }
  if (pending->commit.create.empty()) return Future<Unit>::ready(Unit{});
  auto done = pending->promise.future();
  queue_.push_back(std::move(pending));
  start_next(lock);
  return done;
}

Future<Unit> WriteGroup::commit(SqlTime time, std::vector<Write> writes,
                                std::vector<Described> create, std::vector<GlobalId> drop) {
  auto pending = std::make_shared<Pending>();
  pending->time = time;
  std::unique_lock lock(mutex_);
  SqlTime least = logical_;
  for (const auto& queued : queue_) least = std::max(least, queued->time + 1);
  if (in_flight_) least = std::max(least, in_flight_->time + 1);
  if (time < least) {
    return Future<Unit>::ready(fail(ErrorCode::kConflict, "commit at " + std::to_string(time) +
                                                              ", but readers were promised " +
                                                              std::to_string(least)));
  }
  for (const auto& [id, desc] : create) {
    pending->commit.create.push_back({id, time, encode_schema(desc)});
    pending->commit.append.push_back({.id = id, .lower = time, .upper = time + 1});
  }
  for (Write& write : writes) {
    auto made = std::ranges::find(pending->commit.append, write.id, &LedgerAppend::id);
    if (made == pending->commit.append.end()) {
      if (!members_.contains(write.id)) {
        return Future<Unit>::ready(
            fail(ErrorCode::kNotFound, "write to unknown collection " + to_string(write.id)));
      }
      pending->commit.append.push_back({.id = write.id, .upper = time + 1});  // lower: at the start
      made = std::prev(pending->commit.append.end());
    }
    for (storage_api::EncodedUpdates* updates : {&write.updates.oks, &write.updates.errs}) {
      updates->times.assign(1, time);
    }
    made->updates = std::move(write.updates);
    made->batches = std::move(write.batches);
  }
  pending->commit.drop = std::move(drop);
  auto done = pending->promise.future();
  queue_.push_back(std::move(pending));
  start_next(lock);
  return done;
}

Future<Unit> WriteGroup::drop(GlobalId id) {
  auto pending = std::make_shared<Pending>();
  pending->commit.drop.push_back(id);
  auto done = pending->promise.future();
  std::unique_lock lock(mutex_);
  pending->time = logical_;
  queue_.push_back(std::move(pending));
  start_next(lock);
  return done;
}

std::uint64_t WriteGroup::open_writer(std::function<void(SqlTime)> on_demand) {
  const std::uint64_t writer = [this] {
    const std::lock_guard lock(mutex_);
    return ++writer_;
  }();
  forward_demands(std::move(on_demand));
  return writer;
}

Future<Unit> WriteGroup::append(std::uint64_t writer, GlobalId id, SqlTime lower, SqlTime upper,
                                CollectionUpdates updates) {
  auto pending = std::make_shared<Pending>();
  pending->time = upper - 1;
  pending->commit.append.push_back(
      {.id = id, .lower = lower, .upper = upper, .updates = std::move(updates)});
  std::unique_lock lock(mutex_);
  if (writer != writer_) {
    return Future<Unit>::ready(fail(ErrorCode::kConflict, "a newer writer of " + to_string(id) + " was opened"));
  }
  auto it = members_.find(id);
  if (it == members_.end()) {
    return Future<Unit>::ready(
        fail(ErrorCode::kNotFound, "append to unknown collection " + to_string(id)));
  }
  if (lower != it->second.durable) {
    return Future<Unit>::ready(fail(
        ErrorCode::kConflict, "collection " + to_string(id) + " is at " +
                                  std::to_string(it->second.durable) + ", not at " +
                                  std::to_string(lower)));
  }
  auto done = pending->promise.future();
  queue_.push_back(std::move(pending));
  start_next(lock);
  return done;
}

void WriteGroup::start_next(std::unique_lock<std::mutex>& lock) {
  if (in_flight_ != nullptr || queue_.empty()) return;
  in_flight_ = std::move(queue_.front());
  queue_.erase(queue_.begin());
  std::shared_ptr<Pending> pending = in_flight_;
  for (LedgerAppend& append : pending->commit.append) {
    auto it = members_.find(append.id);
    if (append.lower == 0 && it != members_.end()) append.lower = it->second.durable;
  }
  LedgerCommit commit = std::move(pending->commit);
  pending->commit = {.create = commit.create, .drop = commit.drop, .append = {}};
  for (const LedgerAppend& append : commit.append) {
    pending->commit.append.push_back({.id = append.id, .upper = append.upper});
  }
  lock.unlock();
  ledger_->commit(std::move(commit))
      .on_ready(scheduler_, [weak = weak_from_this(), pending](Result<Unit> result) {
        // Weak, because the ledger, which is ours, keeps this until it answers.
        if (const auto self = weak.lock()) self->finish(pending, std::move(result));
      });
  lock.lock();
}

void WriteGroup::finish(std::shared_ptr<Pending> pending, Result<Unit> result) {
  std::unique_lock lock(mutex_);
  in_flight_ = nullptr;
  if (result) {
    for (const LedgerCreate& create : pending->commit.create) {
      members_[create.id] = Member{.since = create.start, .durable = create.start, .schema = create.schema};
    }
    for (const LedgerAppend& append : pending->commit.append) {
      Member& member = members_.at(append.id);
      member.durable = append.upper;
      member.appended = true;
      logical_ = std::max(logical_, append.upper);
      publish(append.id, member, std::max(member.published, append.upper));
    }
    for (const GlobalId id : pending->commit.drop) {
      auto it = members_.find(id);
      if (it == members_.end()) continue;
      for (Waiter& waiter : it->second.waiters) {
        waiter.promise.resolve(fail(ErrorCode::kNotFound, "the collection was dropped"));
      }
      members_.erase(it);
    }
  }
  start_next(lock);
  grant();
  pending->promise.resolve(std::move(result));
}

SqlTime WriteGroup::grantable() const {
  SqlTime least = UINT64_MAX;
  if (in_flight_ != nullptr) least = std::min(least, in_flight_->time);
  for (const auto& pending : queue_) least = std::min(least, pending->time);
  return least;
}

// Moves the logical upper past the demands that no commit under way stands before.
void WriteGroup::grant() {
  if (forward_) return;
  const SqlTime limit = grantable();
  std::erase_if(demanded_, [&](GlobalId id) {
    auto it = members_.find(id);
    if (it == members_.end()) return true;
    Member& member = it->second;
    if (!member.appended) return false;
    logical_ = std::max(logical_, std::min(member.demanded, limit));
    if (logical_ > member.published) publish(id, member, logical_);
    return member.published >= member.demanded;
  });
}

void WriteGroup::claim(std::uint64_t writer, SqlTime upper) {
  const std::lock_guard lock(mutex_);
  if (writer != writer_) return;
  logical_ = std::max(logical_, upper);
  for (auto& [id, member] : members_) {
    if (member.appended && logical_ > member.published) publish(id, member, logical_);
  }
}

void WriteGroup::demand(GlobalId id, SqlTime time) {
  std::unique_lock lock(mutex_);
  auto it = members_.find(id);
  if (it == members_.end() || it->second.published > time) return;
  Member& member = it->second;
  member.demanded = std::max(member.demanded, time + 1);
  if (forward_) {
    auto forward = forward_;
    lock.unlock();
    forward(time);
    return;
  }
  demanded_.insert(id);
  grant();
}

void WriteGroup::forward_demands(std::function<void(SqlTime)> to) {
  SqlTime waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    forward_ = to;
    for (const auto& [id, member] : members_) {
      if (member.demanded > member.published) waiting = std::max(waiting, member.demanded);
    }
  }
  if (waiting > 0) to(waiting - 1);
}

Future<Frontiers> WriteGroup::published_past(GlobalId id, SqlTime upper) {
  const std::lock_guard lock(mutex_);
  auto it = members_.find(id);
  if (it == members_.end()) {
    return Future<Frontiers>::ready(
        fail(ErrorCode::kNotFound, "no collection " + to_string(id)));
  }
  Member& member = it->second;
  if (member.published > upper) {
    return Future<Frontiers>::ready(show(member, member.published));
  }
  member.waiters.push_back({upper, {}});
  return member.waiters.back().promise.future();
}

void WriteGroup::publish(GlobalId id, Member& member, SqlTime upper) {
  member.published = upper;
  const Frontiers frontiers = show(member, upper);
  for (std::size_t i = 0; i < member.waiters.size();) {
    if (member.waiters[i].upper >= upper) {
      ++i;
      continue;
    }
    member.waiters[i].promise.resolve(frontiers);
    std::swap(member.waiters[i], member.waiters.back());
    member.waiters.pop_back();
  }
  observer_(id, frontiers);
}

void WriteGroup::allow_compaction(GlobalId id, SqlTime since) {
  {
    const std::lock_guard lock(mutex_);
    auto it = members_.find(id);
    if (it == members_.end()) return;
    Member& member = it->second;
    // The state of a quiet collection is read at its last durable time, which must stay readable.
    since = std::min(since, member.durable - 1);
    if (since <= member.since) return;
    member.since = since;
  }
  ledger_->allow_compaction(id, since);
}

}  // namespace freshet::storage
