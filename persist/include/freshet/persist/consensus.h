// SPDX-License-Identifier: Apache-2.0
/// Compare-and-set on short values by key: the only thing that persist coordinates through.
///
/// Each key is a chain of versions with ascending sequence numbers, from 1 on without gaps. The
/// chain grows at its head and is truncated at its tail; the head itself goes only by `remove`.
/// Errors: kUnavailable (nothing happened), kExhausted (disk full, nothing happened),
/// kIndeterminate (a write may have happened, now or later: only a compare that fails, or reading
/// it, tells). Thread safety: all of it. Reads are linearizable with writes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <freshet/base/bytes.h>
#include <freshet/base/future.h>

namespace freshet::persist {

struct Version {
  std::uint64_t seqno = 0;
  base::Bytes data;
  friend bool operator==(const Version&, const Version&) = default;
};

enum class CasOutcome : std::uint8_t { kApplied, kMismatch };

class Consensus {
 public:
  virtual ~Consensus() = default;
  virtual base::Future<std::optional<Version>> head(std::string key) = 0;
  /// Appends `next` if the head is `next.seqno - 1` (no versions at all if that is 0). Durable when
  /// it resolves to kApplied.
  virtual base::Future<CasOutcome> compare_and_set(std::string key, Version next) = 0;
  /// The versions from `from` on, ascending, at most `limit`.
  virtual base::Future<std::vector<Version>> scan(std::string key, std::uint64_t from,
                                                  std::size_t limit) = 0;
  /// Drops the versions before `seqno`, which must not be past the head (kInvalid). Idempotent.
  virtual base::Future<base::Unit> truncate(std::string key, std::uint64_t seqno) = 0;
  /// Drops the whole chain if its head is `seqno`; kMismatch otherwise.
  virtual base::Future<CasOutcome> remove(std::string key, std::uint64_t seqno) = 0;
  /// In order.
  virtual base::Future<std::vector<std::string>> list_keys(std::string prefix) = 0;
};

/// Keeps versions while it lives.
std::unique_ptr<Consensus> make_memory_consensus();

struct SqliteOptions {
  std::string path;
  /// The name of a registered SQLite VFS; empty for the system's.
  std::string vfs{};
};

/// One SQLite database that this object alone may use: WAL, full sync. What is asked while a
/// transaction syncs goes into the next one, so that many writers share one fsync.
/// kCorrupt when its log is missing, or damaged before its last transaction: what was acknowledged is not there.
/// Once a sync has failed every later operation fails: the file can no longer be trusted.
/// Lifetime: `scheduler` outlives the last pending operation, not only the consensus.
Result<std::unique_ptr<Consensus>> make_sqlite_consensus(base::Scheduler& scheduler,
                                                         SqliteOptions options);

}  // namespace freshet::persist
