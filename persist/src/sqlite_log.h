// SPDX-License-Identifier: Apache-2.0
// A look at the write-ahead log of a SQLite database before SQLite opens it.
//
// SQLite takes of a log what is valid from its beginning, and silently ignores the rest. That is right for a
// transaction that was being written when the power went: it had not been acknowledged. It is wrong where bytes in
// the middle were damaged: transactions that were acknowledged would be gone, and nobody would know.
#pragma once

#include <string>

#include <freshet/base/result.h>

namespace freshet::persist {

enum class SqliteLog {
  kMissing,  ///< No log: the database is new, or somebody took the log away.
  kPresent,
};

/// kCorrupt if whole transactions follow the first bytes that are not valid. Each transaction is synced before the next
/// begins, so a loss of power spoils the last one only. `vfs` empty: the system's.
base::Result<SqliteLog> check_sqlite_log(const std::string& database_path, const std::string& vfs);

}  // namespace freshet::persist
