// SPDX-License-Identifier: Apache-2.0
/// SQLite's operating system, on a `base::FileSystem`: with `LossyFileSystem` a database loses
/// power.
///
/// It syncs what SQLite's own unix layer syncs: files when asked, and the directory of a new file
/// at its first sync. Locks do nothing; there is no shared memory, so WAL needs
/// locking_mode=EXCLUSIVE. Lifetime: registered under `name` while it lives; all its databases are
/// closed before.
///
///     SqliteVfs vfs(disk, "lossy-7", seed);   // a new seed for each life of the process
///     sqlite3_open_v2(path, &db, flags, "lossy-7");
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <freshet/base/file_system.h>

namespace testing {

class SqliteVfs {
 public:
  SqliteVfs(freshet::base::FileSystem& files, std::string name, std::uint64_t seed);
  ~SqliteVfs();
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;
  [[nodiscard]] const std::string& name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace testing
