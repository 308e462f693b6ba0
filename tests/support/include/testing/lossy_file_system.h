// SPDX-License-Identifier: Apache-2.0
/// A file system in memory that loses power: what was not synced is then lost, torn or kept, by
/// seed.
///
/// Content is durable after `sync` on the file, a name after `sync_directory` on its directory. At
/// `restart` every write since the last sync of its file is, each by itself, kept, dropped, or kept
/// only in some of its 512-byte sectors; a file may have grown without its data. Every change of a
/// name since the last sync of its directory is kept or dropped. Power goes at an operation of the
/// caller's choice: that one and all later fail with kUnavailable and do nothing. Thread safety:
/// none; for use under `SimScheduler`.
///
///     LossyFileSystem disk(seed);
///     disk.power_off_after(random.below(500));
///     … work until disk.is_off(); drop the process …
///     disk.restart();
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <freshet/base/file_system.h>
#include <freshet/base/random.h>

namespace testing {

class LossyFileSystem final : public freshet::base::FileSystem {
 public:
  explicit LossyFileSystem(std::uint64_t seed);
  ~LossyFileSystem() override;

  /// Power goes at the n-th changing operation (write, truncate, sync, rename, …) from now.
  void power_off_after(std::uint64_t operations);
  [[nodiscard]] bool is_off() const { return off_; }
  /// Writes that would make all files together larger fail with kExhausted and do nothing.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  /// The n-th sync of a file from now fails with kUnavailable, and the system forgets that those
  /// writes were not on the disk: a second sync succeeds and does nothing for them.
  void fail_sync_after(std::uint64_t syncs) { failing_sync_ = syncs; }
  [[nodiscard]] bool sync_failed() const { return sync_failed_; }
  /// Decides what survived, releases all locks, and goes on. Old `File`s stay dead.
  void restart();
  /// Changing operations so far.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  freshet::base::Result<std::unique_ptr<freshet::base::File>> open(
      const std::string& path, freshet::base::OpenMode mode) override;
  freshet::base::Result<void> rename(const std::string& from, const std::string& to) override;
  freshet::base::Result<void> remove(const std::string& path) override;
  freshet::base::Result<bool> exists(const std::string& path) override;
  freshet::base::Result<void> make_directory(const std::string& path) override;
  freshet::base::Result<std::vector<std::string>> list(const std::string& path) override;
  freshet::base::Result<void> sync_directory(const std::string& path) override;
  freshet::base::Result<std::unique_ptr<freshet::base::FileLock>> lock(
      const std::string& path) override;

 private:
  struct Node;
  class OpenFile;
  class Lock;
  using NodeRef = std::shared_ptr<Node>;

  /// What stands before a changing operation: fails if the power is off, or goes off now.
  freshet::base::Result<void> change();
  freshet::base::Result<void> check_power() const;
  NodeRef find(const std::string& path) const;
  freshet::base::Result<NodeRef> directory_of(const std::string& path) const;
  void survive(Node& node);
  static std::uint64_t size_of(const Node& node);

  freshet::base::Random random_;
  NodeRef root_;
  std::map<std::string, std::uint64_t> locks_;  ///< Path to the generation that holds it.
  std::uint64_t generation_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t off_at_ = UINT64_MAX;
  bool off_ = false;
  std::uint64_t capacity_ = UINT64_MAX;
  std::uint64_t used_ = 0;
  std::uint64_t failing_sync_ = UINT64_MAX;
  bool sync_failed_ = false;
};

}  // namespace testing
