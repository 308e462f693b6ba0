// SPDX-License-Identifier: Apache-2.0
/// Files as the durable layers see them: whole operations that say what has reached the disk.
/// Blocking. Only implementations of Blob, Consensus and the server's data directory use it, on
/// blocking tasks. A write is durable only after `sync` on its file *and*, for a new or renamed name,
/// `sync_directory` on its parent. Tests replace it by a layer that loses or tears what was not synced.
///
/// Errors: kNotFound, kExhausted (disk full), kConflict (already exists, already locked),
/// kUnavailable (any other failure of the system call; the message has path and reason).
/// Thread safety: the file system and distinct files; one file is used by one thread at a time,
/// except `read_at`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <freshet/base/bytes.h>
#include <freshet/base/result.h>

namespace freshet::base {

class File {
 public:
  virtual ~File() = default;  ///< Closes; never syncs.
  /// Up to `size` bytes at `offset`; fewer only at the end of the file.
  virtual Result<Bytes> read_at(std::uint64_t offset, std::uint64_t size) = 0;
  virtual Result<void> write_at(std::uint64_t offset, BytesView bytes) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  /// Content and size are on the disk when this returns.
  virtual Result<void> sync() = 0;
  virtual Result<std::uint64_t> size() = 0;
};

/// Held while it lives; released by the system when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class OpenMode : std::uint8_t { kRead, kReadWrite, kCreate, kCreateNew };

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  /// Replaces `to` if it exists; atomic for readers.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  /// Also its parents; no error if it is there.
  virtual Result<void> make_directory(const std::string& path) = 0;
  /// The names (not paths) in a directory, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  /// The names created, renamed and removed in the directory so far are on the disk.
  virtual Result<void> sync_directory(const std::string& path) = 0;
  /// kConflict if another process, or this one, holds it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

/// Makes a directory, with its parents, that no loss of power takes away once this returns. Also if
/// it is there already: an earlier process may have died before its name was on the disk.
Result<void> make_durable_directory(FileSystem& files, const std::string& path);

/// The operating system's.
std::unique_ptr<FileSystem> make_posix_file_system();

}  // namespace freshet::base
