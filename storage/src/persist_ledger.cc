// SPDX-License-Identifier: Apache-2.0
#include "persist_ledger.h"

#include <algorithm>

#include <freshet/base/assert.h>
#include <freshet/base/sqlstate.h>

#include "storage_service.h"

namespace freshet::storage {
namespace {

using base::Future;
using base::Unit;
using storage_api::EncodedUpdates;

constexpr char kRowTag = 0;
constexpr char kErrorTag = 1;
/// Of data whose commit somebody waits for: parts are sorted and stored while the next one fills.
constexpr std::size_t kFirstPartBytes = 4 << 20;

persist::ShardId shard_of(GlobalId id) {
  switch (id.kind) {
    case GlobalId::Kind::kSystem: return persist::ShardId{id.number * 4};
    case GlobalId::Kind::kUser: return persist::ShardId{id.number * 4 + 1};
    case GlobalId::Kind::kTransient: return persist::ShardId{id.number * 4 + 2};
  }
  FRESHET_UNREACHABLE(static_cast<int>(id.kind));
}

GlobalId id_of(persist::ShardId shard) {
  const auto number = static_cast<std::uint64_t>(shard);
  constexpr GlobalId::Kind kKinds[] = {GlobalId::Kind::kSystem, GlobalId::Kind::kUser,
                                       GlobalId::Kind::kTransient, GlobalId::Kind::kTransient};
  return {kKinds[number % 4], number / 4};
}

persist::Updates to_persist(const CollectionUpdates& updates) {
  const std::size_t count = updates.oks.size() + updates.errs.size();
  const std::size_t size = updates.oks.rows.byte_size() + updates.errs.rows.byte_size() + count;
  FRESHET_ASSERT(size <= UINT32_MAX, size);
  base::Bytes rows;
  rows.reserve(size);
  std::vector<std::uint32_t> offsets{0};
  offsets.reserve(count + 1);
  std::vector<SqlTime> times;
  times.reserve(count);
  std::vector<repr::Diff> diffs;
  diffs.reserve(count);
  const auto add = [&](const EncodedUpdates& in, char tag) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      rows.push_back(tag);
      rows.append(in.rows[i]);
      offsets.push_back(static_cast<std::uint32_t>(rows.size()));
      times.push_back(in.time(i));
      diffs.push_back(in.diff(i));
    }
  };
  add(updates.oks, kRowTag);
  add(updates.errs, kErrorTag);
  return persist::Updates::adopt(std::move(rows), std::move(offsets), std::move(times), std::move(diffs));
}

Result<CollectionUpdates> from_persist(const persist::Updates& updates, persist::ShardId shard) {
  CollectionUpdates out;
  out.oks.rows.reserve(updates.size(), updates.rows().size());
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const base::BytesView row = updates.row(i);
    if (row.empty() || (row[0] != kRowTag && row[0] != kErrorTag)) {
      return fail(Error{.code = ErrorCode::kCorrupt,
                        .sqlstate = base::sqlstate::kDataCorrupted,
                        .message = "a row of shard " + persist::to_string(shard) + " has no tag"});
    }
    EncodedUpdates& part = row[0] == kRowTag ? out.oks : out.errs;
    part.push_back(row.substr(1), updates.time(i), updates.diff(i));
  }
  return out;
}

class PersistBatch final : public LedgerBatch {
 public:
  explicit PersistBatch(persist::BatchRef b) : batch(std::move(b)) {}
  persist::BatchRef batch;
};

class PersistBatchBuilder final : public LedgerBatchBuilder {
 public:
  PersistBatchBuilder(base::Scheduler& scheduler, std::unique_ptr<persist::BatchBuilder> builder)
      : scheduler_(scheduler), builder_(std::move(builder)) {}
  Future<Unit> add(CollectionUpdates updates) override {
    return builder_->add(to_persist(updates));
  }
  Future<LedgerBatchPtr> finish() override {
    return builder_->finish().and_then(scheduler_, [](persist::BatchRef batch) {
      return LedgerBatchPtr(std::make_shared<PersistBatch>(std::move(batch)));
    });
  }

 private:
  base::Scheduler& scheduler_;
  std::unique_ptr<persist::BatchBuilder> builder_;
};

class PersistReader final : public LedgerReader {
 public:
  PersistReader(base::Scheduler& scheduler, persist::ShardId shard,
                std::unique_ptr<persist::Reader> reader)
      : scheduler_(scheduler), shard_(shard), reader_(std::move(reader)) {}
  Future<LedgerChunk> next() override {
    return reader_->next().and_then(
        scheduler_, [shard = shard_](persist::ReadChunk chunk) -> Result<LedgerChunk> {
          return LedgerChunk{.updates = FRESHET_TRY(from_persist(*chunk.updates, shard)),
                             .upper = chunk.done ? repr::kClosed : chunk.upper};
        });
  }

 private:
  base::Scheduler& scheduler_;
  persist::ShardId shard_;
  std::unique_ptr<persist::Reader> reader_;
};

class PersistGroup final : public LedgerGroup {
 public:
  PersistGroup(base::Scheduler& scheduler, std::shared_ptr<persist::Group> group,
               persist::Epoch epoch)
      : scheduler_(scheduler), group_(std::move(group)), epoch_(epoch) {}

  [[nodiscard]] const std::string& name() const override { return group_->name(); }

  [[nodiscard]] std::vector<LedgerShard> shards() const override {
    std::vector<LedgerShard> out;
    for (const persist::ShardInfo& info : group_->shards()) {
      out.push_back({id_of(info.shard), info.since, info.upper, info.schema});
    }
    return out;
  }

  Future<Unit> commit(LedgerCommit commit) override {
    persist::Commit out{.epoch = epoch_};
    for (LedgerCreate& create : commit.create) {
      out.create.push_back(
          {.shard = shard_of(create.id), .start = create.start, .schema = std::move(create.schema)});
    }
    for (const GlobalId id : commit.drop) out.drop.push_back(shard_of(id));
    for (LedgerAppend& append : commit.append) {
      persist::Append to{.shard = shard_of(append.id), .lower = append.lower, .upper = append.upper};
      to.updates = to_persist(append.updates);
      for (const LedgerBatchPtr& batch : append.batches) {
        to.batches.push_back(static_cast<const PersistBatch&>(*batch).batch);
      }
      out.append.push_back(std::move(to));
    }
    return group_->commit(std::move(out))
        .and_then(scheduler_, [name = group_->name()](persist::CommitOutcome outcome) -> Result<void> {
          switch (outcome.status) {
            case persist::CommitOutcome::Status::kCommitted: return {};
            case persist::CommitOutcome::Status::kUpperMismatch:
              return fail(ErrorCode::kConflict, "collection " + to_string(id_of(outcome.shard)) +
                                                    " is already at " +
                                                    std::to_string(outcome.upper));
            case persist::CommitOutcome::Status::kFenced:
              return fail(ErrorCode::kFenced, "another server took over group " + name);
          }
          FRESHET_UNREACHABLE(static_cast<int>(outcome.status));
        });
  }

  std::unique_ptr<LedgerBatchBuilder> build(GlobalId id, BatchTimes times) override {
    persist::BatchOptions options;
    if (times == BatchTimes::kOfCommit) options = {.timeless = true, .first_part_bytes = kFirstPartBytes};
    return std::make_unique<PersistBatchBuilder>(scheduler_, group_->build_batch(shard_of(id), options));
  }

  void allow_compaction(GlobalId id, SqlTime since) override {
    group_->downgrade_since(shard_of(id), since);
  }

  Future<std::unique_ptr<LedgerReader>> read(GlobalId id, SqlTime as_of) override {
    const persist::ShardId shard = shard_of(id);
    return group_->read({.shard = shard, .as_of = as_of})
        .and_then(scheduler_, [this, shard](std::unique_ptr<persist::Reader> reader) {
          return std::unique_ptr<LedgerReader>(
              std::make_unique<PersistReader>(scheduler_, shard, std::move(reader)));
        });
  }

 private:
  base::Scheduler& scheduler_;
  std::shared_ptr<persist::Group> group_;
  persist::Epoch epoch_;
};

class PersistLedger final : public Ledger {
 public:
  PersistLedger(base::Scheduler& scheduler, persist::PersistClient& client)
      : scheduler_(scheduler), client_(client) {}
  Future<std::shared_ptr<LedgerGroup>> open(std::string name) override {
    return client_.open(std::move(name))
        .and_then(scheduler_, [&scheduler = scheduler_](std::shared_ptr<persist::Group> group) {
          return group->acquire_writer().and_then(
              scheduler, [&scheduler, group](persist::Epoch epoch) {
                return std::shared_ptr<LedgerGroup>(
                    std::make_shared<PersistGroup>(scheduler, group, epoch));
              });
        });
  }
  Future<std::vector<std::string>> groups() override { return client_.groups(); }
  Future<Unit> erase(std::string name) override { return client_.erase(std::move(name)); }

 private:
  base::Scheduler& scheduler_;
  persist::PersistClient& client_;
};

}  // namespace

std::unique_ptr<Ledger> make_persist_ledger(base::Scheduler& scheduler,
                                            persist::PersistClient& client) {
  return std::make_unique<PersistLedger>(scheduler, client);
}

Future<std::unique_ptr<storage_api::Storage>> make_durable_storage(StorageEnvironment environment,
                                                                   persist::PersistClient& client) {
  return make_storage(environment, make_persist_ledger(environment.scheduler, client));
}

}  // namespace freshet::storage
