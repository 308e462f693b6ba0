// SPDX-License-Identifier: Apache-2.0
#include "committer.h"

#include <algorithm>
#include <deque>

#include <freshet/base/guarded.h>
#include <freshet/base/sqlstate.h>

#include "client_error.h"

namespace freshet::adapter {

using base::Future;
using base::Promise;
using base::Unit;
using storage_api::CollectionUpdates;

void append_updates(storage_api::EncodedUpdates& to, const storage_api::EncodedUpdates& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to.push_back(from.rows[i], from.time(i), from.diff(i));
}

struct Committer::State : std::enable_shared_from_this<State> {
  struct Queued {
    TableWrite write;
    Promise<SqlTime> promise;
  };

  State(base::Scheduler& s, storage_api::Storage& st, Oracle& o, std::size_t most)
      : strand(s), storage(st), oracle(o), opened(o.write_timestamp()), most_bytes(most) {}

  void start() {
    if (in_flight || queue.empty()) return;
    batch.clear();
    std::map<GlobalId, std::size_t> written;  // bytes
    for (; !queue.empty(); queue.pop_front()) {
      Queued& next = queue.front();
      // What is written and then dropped goes out in two commits.
      if (std::ranges::any_of(next.write.drop, [&](GlobalId id) { return written.contains(id); })) break;
      const bool too_much = std::ranges::any_of(next.write.appends, [&](const auto& write) {
        const auto before = written.find(write.first);
        return before != written.end() && before->second + size_of(write.second) > most_bytes;
      });
      if (too_much) break;
      if (std::ranges::any_of(next.write.appends, [&](const auto& write) { return dropped.contains(write.first); })) {
        next.promise.resolve(fail(sqlstate::kUndefinedTable, "the table was dropped"));
        continue;
      }
      if (stale(next.write, written)) {
        next.promise.resolve(fail(sqlstate::kSerializationFailure,
                                  "could not serialize access due to concurrent update"));
        continue;
      }
      for (const auto& [id, updates] : next.write.appends) written[id] += size_of(updates);
      dropped.insert(next.write.drop.begin(), next.write.drop.end());
      batch.push_back(std::move(next));
    }
    if (batch.empty()) return idle();
    in_flight = true;
    merge();
    submit();
  }

  [[nodiscard]] bool stale(const TableWrite& write, const std::map<GlobalId, std::size_t>& written) const {
    if (!write.read_at) return false;
    return std::ranges::any_of(write.read_tables, [&](GlobalId id) {
      auto changed = last_change.find(id);
      return written.contains(id) || (changed != last_change.end() && changed->second > *write.read_at);
    });
  }

  // All of the batch as one commit; the rows of a table's first write are not copied.
  void merge() {
    merged = {};
    for (Queued& queued : batch) {
      for (auto& [id, updates] : queued.write.appends) {
        const auto [at, first] = merged.appends.try_emplace(id);
        if (first) {
          at->second = std::move(updates);
          continue;
        }
        append_updates(at->second.oks, updates.oks);
        append_updates(at->second.errs, updates.errs);
      }
      for (auto& [id, staged] : queued.write.staged) {
        std::ranges::move(staged, std::back_inserter(merged.staged[id]));
      }
      for (auto& created : queued.write.create) merged.create.push_back(std::move(created));
      for (const GlobalId id : queued.write.drop) merged.drop.push_back(id);
    }
  }

  // `merged` stays: the commit may have to be tried again.
  void submit() {
    const SqlTime time = merged.time = oracle.write_timestamp();
    // Before it can be seen anywhere.
    assigned.with([&](auto& times) {
      for (const auto& [id, updates] : merged.appends) times[id] = time;
    });
    storage_api::TableCommit commit = merged;
    storage.commit(std::move(commit))
        .on_ready(strand, [self = shared_from_this(), time](Result<Unit> done) {
          self->finished(time, std::move(done));
        });
  }

  void finished(SqlTime time, Result<Unit> done) {
    // Readers were promised more than we knew: the next timestamp is above it.
    if (!done && done.error().code == ErrorCode::kConflict && ++conflicts < kMostConflicts) {
      return submit();
    }
    conflicts = 0;
    if (done) {
      oracle.apply_write(time);
      for (const auto& [id, updates] : merged.appends) last_change[id] = time;
      for (const GlobalId id : merged.drop) last_change[id] = time;
    }
    if (!done) {
      for (const GlobalId id : merged.drop) dropped.erase(id);
    }
    merged = {};
    auto finished_batch = std::exchange(batch, {});
    for (Queued& queued : finished_batch) {
      if (done) {
        queued.promise.resolve(time);
      } else {
        queued.promise.resolve(base::Unexpected(client_error(done.error())));
      }
    }
    in_flight = false;
    start();
    if (!in_flight) idle();
  }

  void idle() {
    for (auto& waiter : std::exchange(idle_waiters, {})) waiter.resolve(Unit{});
  }

  static constexpr int kMostConflicts = 1000;
  base::Strand strand;
  storage_api::Storage& storage;
  Oracle& oracle;
  static std::size_t size_of(const CollectionUpdates& updates) {
    return updates.oks.rows.byte_size() + updates.errs.rows.byte_size();
  }

  const SqlTime opened;  ///< All changes of earlier lives are below.
  const std::size_t most_bytes;
  base::Guarded<std::map<GlobalId, SqlTime>> assigned;
  std::deque<Queued> queue;
  std::vector<Queued> batch;
  storage_api::TableCommit merged;  ///< What is in flight.
  bool in_flight = false;
  int conflicts = 0;
  std::map<GlobalId, SqlTime> last_change;
  std::set<GlobalId> dropped;  ///< Ids are never used again.
  std::vector<Promise<Unit>> idle_waiters;
};

Committer::Committer(base::Scheduler& scheduler, storage_api::Storage& storage, Oracle& oracle, std::size_t most_bytes)
    : state_(std::make_shared<State>(scheduler, storage, oracle, most_bytes)) {}

Committer::~Committer() { state_->strand.close(); }

Future<SqlTime> Committer::commit(TableWrite write) {
  Promise<SqlTime> promise;
  auto answer = promise.future();
  state_->strand.post([state = state_, write = std::move(write), promise = std::move(promise)]() mutable {
    state->queue.push_back({std::move(write), std::move(promise)});
    state->start();
  });
  return answer;
}

SqlTime Committer::quiet_since(const std::vector<GlobalId>& tables) const {
  return state_->assigned.with([&](const auto& times) {
    SqlTime latest = state_->opened;
    for (const GlobalId id : tables) {
      if (const auto at = times.find(id); at != times.end()) latest = std::max(latest, at->second);
    }
    return latest;
  });
}

Future<Unit> Committer::settled() {
  Promise<Unit> promise;
  auto answer = promise.future();
  state_->strand.post([state = state_, promise = std::move(promise)]() mutable {
    if (!state->in_flight && state->queue.empty()) return promise.resolve(Unit{});
    state->idle_waiters.push_back(std::move(promise));
  });
  return answer;
}

}  // namespace freshet::adapter
