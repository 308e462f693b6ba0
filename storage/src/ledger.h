// SPDX-License-Identifier: Apache-2.0
/// `Ledger`: where the storage layer keeps what it writes; over persist, or in memory.
///
/// A ledger has groups; the collections of a group change together. It knows durable uppers only;
/// logical uppers, demand and times are the business of `WriteGroup`.
/// Thread safety: all of it. Futures resolve on scheduler tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/storage_api/storage.h>

namespace freshet::storage {

using storage_api::CollectionUpdates;
using storage_api::GlobalId;
using storage_api::SqlTime;

/// What the times of a batch are.
enum class BatchTimes : std::uint8_t {
  kGiven,
  kOfCommit,  ///< The `upper - 1` of the append that takes it; those of its updates count for nothing.
};

/// Data written ahead of the commit that makes it visible.
class LedgerBatch {
 public:
  virtual ~LedgerBatch() = default;
};
using LedgerBatchPtr = std::shared_ptr<const LedgerBatch>;

class LedgerBatchBuilder {
 public:
  virtual ~LedgerBatchBuilder() = default;
  /// Wait for the answer before the next call: that is the backpressure.
  virtual base::Future<base::Unit> add(CollectionUpdates updates) = 0;
  virtual base::Future<LedgerBatchPtr> finish() = 0;
};

struct LedgerAppend {
  GlobalId id;
  SqlTime lower = 0;
  SqlTime upper = 0;
  CollectionUpdates updates{};
  std::vector<LedgerBatchPtr> batches{};
};

struct LedgerCreate {
  GlobalId id;
  SqlTime start = 0;     ///< Its first since and upper.
  std::string schema{};  ///< encode_schema; kept, and found again in LedgerShard.
};

struct LedgerCommit {
  std::vector<LedgerCreate> create{};
  std::vector<GlobalId> drop{};
  std::vector<LedgerAppend> append{};
};

struct LedgerShard {
  GlobalId id;
  SqlTime since = 0;
  SqlTime upper = 0;
  std::string schema{};
};

struct LedgerChunk {
  CollectionUpdates updates{};
  SqlTime upper = 0;  ///< Every update at an earlier time was delivered.
};

class LedgerReader {
 public:
  virtual ~LedgerReader() = default;
  virtual base::Future<LedgerChunk> next() = 0;
};

class LedgerGroup {
 public:
  virtual ~LedgerGroup() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::vector<LedgerShard> shards() const = 0;
  /// All or nothing, durable when it resolves. kConflict: an append's lower is not the upper.
  /// kFenced: a newer writer took the group over, for good.
  virtual base::Future<base::Unit> commit(LedgerCommit commit) = 0;
  virtual std::unique_ptr<LedgerBatchBuilder> build(GlobalId id, BatchTimes times) = 0;
  virtual void allow_compaction(GlobalId id, SqlTime since) = 0;
  virtual base::Future<std::unique_ptr<LedgerReader>> read(GlobalId id, SqlTime as_of) = 0;
};

class Ledger {
 public:
  virtual ~Ledger() = default;
  /// Opens or makes a group and becomes its writer; an earlier writer's commits fail from then on.
  virtual base::Future<std::shared_ptr<LedgerGroup>> open(std::string name) = 0;
  /// The names of the groups there are, open or not.
  virtual base::Future<std::vector<std::string>> groups() = 0;
  /// Removes a group and all it stored, for ever; nobody writes to it any more. No error if there is none.
  virtual base::Future<base::Unit> erase(std::string name) = 0;
};

}  // namespace freshet::storage
