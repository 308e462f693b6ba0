// SPDX-License-Identifier: Apache-2.0
#include "memory_ledger.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "storage_service.h"

namespace freshet::storage {
namespace {

using base::Future;
using base::Promise;
using base::Unit;
using storage_api::EncodedUpdates;

constexpr std::size_t kChunkRows = 1 << 16;

class MemoryBatch final : public LedgerBatch {
 public:
  MemoryBatch(std::vector<CollectionUpdates> p, BatchTimes t) : parts(std::move(p)), times(t) {}
  std::vector<CollectionUpdates> parts;
  BatchTimes times;
};

class MemoryBatchBuilder final : public LedgerBatchBuilder {
 public:
  explicit MemoryBatchBuilder(BatchTimes times) : times_(times) {}
  Future<Unit> add(CollectionUpdates updates) override {
    parts_.push_back(std::move(updates));
    return Future<Unit>::ready(Unit{});
  }
  Future<LedgerBatchPtr> finish() override {
    return Future<LedgerBatchPtr>::ready(
        LedgerBatchPtr(std::make_shared<MemoryBatch>(std::move(parts_), times_)));
  }

 private:
  BatchTimes times_;
  std::vector<CollectionUpdates> parts_;
};

struct Waiter {
  SqlTime upper;
  Promise<LedgerChunk> promise;
};

/// The updates of a collection in the order of their appends; immutable pieces shared with readers.
struct MemoryShard {
  SqlTime since = 0;
  SqlTime upper = 0;
  std::string schema{};
  std::vector<std::shared_ptr<const CollectionUpdates>> pieces{};
  std::vector<Waiter> waiters{};  ///< Readers that have seen everything up to `upper`.
};

class MemoryGroup final : public LedgerGroup, public std::enable_shared_from_this<MemoryGroup> {
 public:
  MemoryGroup(base::Scheduler& scheduler, std::string name)
      : scheduler_(scheduler), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] std::vector<LedgerShard> shards() const override {
    const std::lock_guard lock(mutex_);
    std::vector<LedgerShard> out;
    for (const auto& [id, shard] : shards_) out.push_back({id, shard.since, shard.upper, shard.schema});
    return out;
  }

  Future<Unit> commit(LedgerCommit commit) override {
    const std::lock_guard lock(mutex_);
    if (auto checked = check(commit); !checked) {
      return Future<Unit>::ready(base::Unexpected(std::move(checked).error()));
    }
    for (const LedgerCreate& create : commit.create) {
      shards_[create.id] = MemoryShard{.since = create.start, .upper = create.start, .schema = create.schema};
    }
    for (const GlobalId id : commit.drop) shards_.erase(id);
    for (LedgerAppend& append : commit.append) apply(std::move(append));
    return Future<Unit>::ready(Unit{});
  }

  std::unique_ptr<LedgerBatchBuilder> build(GlobalId, BatchTimes times) override {
    return std::make_unique<MemoryBatchBuilder>(times);
  }

  void allow_compaction(GlobalId id, SqlTime since) override {
    const std::lock_guard lock(mutex_);
    auto it = shards_.find(id);
    if (it == shards_.end()) return;
    MemoryShard& shard = it->second;
    shard.since = std::max(shard.since, std::min(since, shard.upper == 0 ? 0 : shard.upper - 1));
  }

  Future<std::unique_ptr<LedgerReader>> read(GlobalId id, SqlTime as_of) override;

  /// The pieces after the first `seen`, or a promise kept until there are some past `upper`.
  Future<LedgerChunk> wait(GlobalId id, std::size_t& seen, SqlTime upper,
                           std::vector<std::shared_ptr<const CollectionUpdates>>& pieces,
                           SqlTime& new_upper) {
    const std::lock_guard lock(mutex_);
    auto it = shards_.find(id);
    if (it == shards_.end()) {
      return Future<LedgerChunk>::ready(fail(ErrorCode::kNotFound, "the collection was dropped"));
    }
    MemoryShard& shard = it->second;
    new_upper = shard.upper;
    if (shard.upper > upper) {
      pieces.assign(shard.pieces.begin() + static_cast<std::ptrdiff_t>(seen), shard.pieces.end());
      seen = shard.pieces.size();
      return Future<LedgerChunk>::ready(LedgerChunk{});
    }
    shard.waiters.push_back({upper, {}});
    return shard.waiters.back().promise.future();
  }

 private:
  [[nodiscard]] Result<void> check(const LedgerCommit& commit) const {
    for (const LedgerAppend& append : commit.append) {
      SqlTime upper = 0;
      auto it = shards_.find(append.id);
      auto made = std::ranges::find(commit.create, append.id, &LedgerCreate::id);
      if (it != shards_.end()) {
        upper = it->second.upper;
      } else if (made != commit.create.end()) {
        upper = made->start;
      } else {
        return fail(ErrorCode::kNotFound, "append to unknown collection " + to_string(append.id));
      }
      if (upper != append.lower) {
        return fail(ErrorCode::kConflict, "collection " + to_string(append.id) + " is at " +
                                              std::to_string(upper) + ", not at " +
                                              std::to_string(append.lower));
      }
    }
    return {};
  }

  void apply(LedgerAppend append) {
    MemoryShard& shard = shards_.at(append.id);
    auto add = [&](CollectionUpdates updates) {
      if (updates.empty()) return;
      shard.pieces.push_back(std::make_shared<const CollectionUpdates>(std::move(updates)));
    };
    add(std::move(append.updates));
    for (const LedgerBatchPtr& batch : append.batches) {
      const auto& data = static_cast<const MemoryBatch&>(*batch);
      for (CollectionUpdates part : data.parts) {
        if (data.times == BatchTimes::kOfCommit) {
          part.oks.times.assign(1, append.upper - 1);
          part.errs.times.assign(1, append.upper - 1);
        }
        add(std::move(part));
      }
    }
    shard.upper = append.upper;
    for (Waiter& waiter : shard.waiters) waiter.promise.resolve(LedgerChunk{});
    shard.waiters.clear();
  }

  base::Scheduler& scheduler_;
  std::string name_;
  mutable std::mutex mutex_;
  std::map<GlobalId, MemoryShard> shards_;
};

void append_slice(EncodedUpdates& out, const EncodedUpdates& in, std::size_t begin, std::size_t end,
                  SqlTime as_of) {
  for (std::size_t i = begin; i < end; ++i) {
    out.push_back(in.rows[i], std::max(in.time(i), as_of), in.diff(i));
  }
}

class MemoryReader final : public LedgerReader {
 public:
  MemoryReader(std::shared_ptr<MemoryGroup> group, base::Scheduler& scheduler, GlobalId id,
               SqlTime as_of)
      : state_(std::make_shared<State>(State{std::move(group), scheduler, id, as_of})) {}

  Future<LedgerChunk> next() override { return State::next(state_); }

 private:
  struct State {
    std::shared_ptr<MemoryGroup> group;
    base::Scheduler& scheduler;
    GlobalId id;
    SqlTime as_of;
    SqlTime upper = 0;       // delivered
    SqlTime next_upper = 0;  // once the pieces at hand are delivered
    std::size_t seen = 0;
    std::size_t row = 0;  // in the first piece
    std::vector<std::shared_ptr<const CollectionUpdates>> pieces{};

    static Future<LedgerChunk> next(const std::shared_ptr<State>& self) {
      if (!self->pieces.empty() || self->next_upper > self->upper) {
        return Future<LedgerChunk>::ready(self->take());
      }
      SqlTime new_upper = 0;
      auto waiting = self->group->wait(self->id, self->seen, self->upper, self->pieces, new_upper);
      if (new_upper > self->upper) {
        self->next_upper = new_upper;
        return Future<LedgerChunk>::ready(self->take());
      }
      // The group keeps who waits, and the reader keeps the group.
      return std::move(waiting).and_then(
          self->scheduler, [weak = std::weak_ptr<State>(self)](LedgerChunk) -> Future<LedgerChunk> {
            if (const auto alive = weak.lock()) return next(alive);
            return Future<LedgerChunk>::ready(fail(ErrorCode::kCancelled, "the reader was closed"));
          });
    }

    LedgerChunk take() {
      LedgerChunk chunk;
      while (!pieces.empty() && chunk.updates.oks.size() < kChunkRows) {
        const CollectionUpdates& piece = *pieces.front();
        const std::size_t end = std::min(piece.oks.size(), row + kChunkRows);
        append_slice(chunk.updates.oks, piece.oks, row, end, as_of);
        if (row == 0) append_slice(chunk.updates.errs, piece.errs, 0, piece.errs.size(), as_of);
        row = end;
        if (row < piece.oks.size()) break;
        pieces.erase(pieces.begin());
        row = 0;
      }
      if (pieces.empty()) upper = next_upper;
      chunk.upper = upper;
      return chunk;
    }
  };
  std::shared_ptr<State> state_;
};

Future<std::unique_ptr<LedgerReader>> MemoryGroup::read(GlobalId id, SqlTime as_of) {
  {
    const std::lock_guard lock(mutex_);
    auto it = shards_.find(id);
    if (it == shards_.end()) {
      return Future<std::unique_ptr<LedgerReader>>::ready(
          fail(ErrorCode::kNotFound, "read of unknown collection " + to_string(id)));
    }
    if (as_of < it->second.since) {
      return Future<std::unique_ptr<LedgerReader>>::ready(
          fail(ErrorCode::kInvalid, "collection " + to_string(id) + " is readable from " +
                                        std::to_string(it->second.since) + ", not as of " +
                                        std::to_string(as_of)));
    }
  }
  std::unique_ptr<LedgerReader> reader =
      std::make_unique<MemoryReader>(shared_from_this(), scheduler_, id, as_of);
  return Future<std::unique_ptr<LedgerReader>>::ready(std::move(reader));
}

class MemoryLedger final : public Ledger {
 public:
  explicit MemoryLedger(base::Scheduler& scheduler) : scheduler_(scheduler) {}
  Future<std::shared_ptr<LedgerGroup>> open(std::string name) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<LedgerGroup>& group = groups_[name];
    if (group == nullptr) group = std::make_shared<MemoryGroup>(scheduler_, name);
    return Future<std::shared_ptr<LedgerGroup>>::ready(group);
  }
  Future<std::vector<std::string>> groups() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, group] : groups_) names.push_back(name);
    return Future<std::vector<std::string>>::ready(std::move(names));
  }
  Future<base::Unit> erase(std::string name) override {
    const std::lock_guard lock(mutex_);
    groups_.erase(name);
    return Future<base::Unit>::ready(base::Unit{});
  }

 private:
  base::Scheduler& scheduler_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LedgerGroup>> groups_;
};

}  // namespace

std::unique_ptr<Ledger> make_memory_ledger(base::Scheduler& scheduler) {
  return std::make_unique<MemoryLedger>(scheduler);
}

Future<std::unique_ptr<storage_api::Storage>> make_memory_storage(StorageEnvironment environment) {
  return make_storage(environment, make_memory_ledger(environment.scheduler));
}

}  // namespace freshet::storage
