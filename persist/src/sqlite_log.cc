// SPDX-License-Identifier: Apache-2.0
// The format: https://sqlite.org/walformat.html. All numbers are big-endian; checksums add words of the order that
// the magic number names.
#include "sqlite_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace freshet::persist {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::size_t kHeaderSize = 32;
constexpr std::size_t kFrameHeaderSize = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // its last bit: words are big-endian

using Octets = std::span<const unsigned char>;

std::uint32_t big_endian(Octets bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at]) << 24 | static_cast<std::uint32_t>(bytes[at + 1]) << 16 |
         static_cast<std::uint32_t>(bytes[at + 2]) << 8 | static_cast<std::uint32_t>(bytes[at + 3]);
}

std::uint32_t little_endian(Octets bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at + 3]) << 24 | static_cast<std::uint32_t>(bytes[at + 2]) << 16 |
         static_cast<std::uint32_t>(bytes[at + 1]) << 8 | static_cast<std::uint32_t>(bytes[at]);
}

struct Checksum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  void add(Octets bytes, bool big) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += (big ? big_endian(bytes, at) : little_endian(bytes, at)) + second;
      second += (big ? big_endian(bytes, at + 4) : little_endian(bytes, at + 4)) + first;
    }
  }
  [[nodiscard]] bool stands_at(Octets bytes, std::size_t at) const {
    return big_endian(bytes, at) == first && big_endian(bytes, at + 4) == second;
  }
};

/// The log as a file of the VFS, open for reading.
class LogFile {
 public:
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    if (file_ != nullptr && file_->pMethods != nullptr) file_->pMethods->xClose(file_);
  }

  /// False if there is none.
  Result<bool> open(const std::string& database_path, const std::string& vfs_name) {
    sqlite3_vfs* vfs = sqlite3_vfs_find(vfs_name.empty() ? nullptr : vfs_name.c_str());
    if (vfs == nullptr) return fail(ErrorCode::kInvalid, "no SQLite VFS is called \"" + vfs_name + "\"");
    std::vector<char> full(static_cast<std::size_t>(vfs->mxPathname) + 1);
    if (vfs->xFullPathname(vfs, database_path.c_str(), vfs->mxPathname, full.data()) != SQLITE_OK) {
      return fail(ErrorCode::kUnavailable, "cannot find the path of \"" + database_path + "\"");
    }
    // SQLite wants the name in memory of its own kind: it looks for parameters behind it.
    name_.reset(sqlite3_create_filename(full.data(), "", (std::string(full.data()) + "-wal").c_str(), 0, nullptr));
    if (name_ == nullptr) return fail(ErrorCode::kExhausted, "out of memory");
    const char* path = sqlite3_filename_wal(name_.get());
    int exists = 0;
    if (vfs->xAccess(vfs, path, SQLITE_ACCESS_EXISTS, &exists) != SQLITE_OK) return unreadable(path);
    if (exists == 0) return false;
    memory_.resize(static_cast<std::size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
    file_ = reinterpret_cast<sqlite3_file*>(memory_.data());
    if (vfs->xOpen(vfs, path, file_, SQLITE_OPEN_READONLY | SQLITE_OPEN_WAL, nullptr) != SQLITE_OK) {
      return unreadable(path);
    }
    return true;
  }

  Result<std::vector<unsigned char>> contents() {
    sqlite3_int64 size = 0;
    if (file_->pMethods->xFileSize(file_, &size) != SQLITE_OK) return unreadable("its log");
    std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
    constexpr sqlite3_int64 kAtOnce = 1 << 20;
    for (sqlite3_int64 at = 0; at < size; at += kAtOnce) {
      const int length = static_cast<int>(std::min(kAtOnce, size - at));
      if (file_->pMethods->xRead(file_, bytes.data() + at, length, at) != SQLITE_OK) return unreadable("its log");
    }
    return bytes;
  }

 private:
  struct FreeName {
    void operator()(const char* name) const { sqlite3_free_filename(const_cast<char*>(name)); }
  };
  static base::Unexpected unreadable(const std::string& what) {
    return fail(ErrorCode::kUnavailable, "read consensus database: " + what + " cannot be read");
  }

  std::unique_ptr<const char, FreeName> name_;
  std::vector<std::max_align_t> memory_;
  sqlite3_file* file_ = nullptr;
};

/// How many transactions end in frames of this log that SQLite will not look at.
std::size_t lost_transactions(Octets log) {
  if (log.size() < kHeaderSize) return 0;
  const Octets header = log.first(kHeaderSize);
  const bool big = (big_endian(header, 0) & 1) != 0;
  const std::size_t page = big_endian(header, 8);
  Checksum sum;
  sum.add(header.first(24), big);
  // A log whose first write was cut has no valid header yet, and nothing behind it counts.
  if ((big_endian(header, 0) & ~1U) != kMagic || !sum.stands_at(header, 24) || page < 512 || page > 65536) return 0;
  bool valid = true;
  std::size_t lost = 0;
  for (std::size_t at = kHeaderSize; at + kFrameHeaderSize + page <= log.size(); at += kFrameHeaderSize + page) {
    const Octets frame = log.subspan(at, kFrameHeaderSize);
    // Older frames that stand behind the present end have other salts.
    const bool ours = std::ranges::equal(frame.subspan(8, 8), header.subspan(16, 8));
    if (valid) {
      sum.add(frame.first(8), big);
      sum.add(log.subspan(at + kFrameHeaderSize, page), big);
      valid = ours && sum.stands_at(frame, 16);
    }
    const bool ends_transaction = big_endian(frame, 4) != 0;
    if (!valid && ours && ends_transaction) ++lost;
  }
  return lost;
}

}  // namespace

Result<SqliteLog> check_sqlite_log(const std::string& database_path, const std::string& vfs) {
  LogFile file;
  if (!FRESHET_TRY(file.open(database_path, vfs))) return SqliteLog::kMissing;
  const std::vector<unsigned char> log = FRESHET_TRY(file.contents());
  // One may be the transaction that was being written.
  if (const std::size_t lost = lost_transactions(log); lost > 1) {
    return fail(ErrorCode::kCorrupt, "the log of the consensus database \"" + database_path + "-wal\" is damaged: " +
                                         std::to_string(lost) + " transactions follow bytes that are not valid");
  }
  return SqliteLog::kPresent;
}

}  // namespace freshet::persist
