// SPDX-License-Identifier: Apache-2.0
#include "data_directory.h"

namespace freshet::server {

using base::Error;
using base::ErrorCode;
using base::fail;
using base::Result;

namespace {
constexpr std::string_view kFormat = "2\n";  // 2: shards say what they store
}

Result<std::unique_ptr<DataDirectory>> DataDirectory::open(base::FileSystem& files, std::string path) {
  FRESHET_TRY(base::make_durable_directory(files, path));
  std::unique_ptr<DataDirectory> directory(new DataDirectory(files, std::move(path)));
  FRESHET_TRY(directory->lock());
  const std::string format = FRESHET_TRY(directory->format());
  if (format.empty()) return directory;  // new, or its first start did not come to its end
  if (format != kFormat) {
    return fail(Error{.code = ErrorCode::kInvalid,
                      .message = "data directory \"" + directory->path_ + "\" was written by another version of Freshet: its format is " +
                                 format.substr(0, format.find('\n')) + ", this version reads " +
                                 std::string(kFormat.substr(0, kFormat.find('\n'))),
                      .hint = "start the version that wrote it, or name a new directory"});
  }
  FRESHET_TRY(directory->check_whole());
  return directory;
}

Result<void> DataDirectory::lock() {
  auto lock = files_.lock(path_ + "/lock");
  if (!lock && lock.error().code == ErrorCode::kConflict) {
    return fail(Error{.code = ErrorCode::kConflict,
                      .message = "data directory \"" + path_ + "\" is in use by another server"});
  }
  lock_ = FRESHET_TRY(std::move(lock));
  return {};
}

// Empty if there is none.
Result<std::string> DataDirectory::format() {
  if (!FRESHET_TRY(files_.exists(path_ + "/format"))) return std::string();
  const auto file = FRESHET_TRY(files_.open(path_ + "/format", base::OpenMode::kRead));
  const std::uint64_t size = FRESHET_TRY(file->size());
  return file->read_at(0, size);
}

Result<void> DataDirectory::check_whole() {
  for (const std::string& name : {consensus(), consensus() + "-wal", blob()}) {
    if (FRESHET_TRY(files_.exists(name))) continue;
    return fail(Error{.code = ErrorCode::kCorrupt,
                      .message = "data directory \"" + path_ + "\" is damaged: \"" + name + "\" is missing",
                      .hint = "restore the whole directory from a copy"});
  }
  return {};
}

Result<void> DataDirectory::mark_in_use() {
  if (FRESHET_TRY(format()) == kFormat) return {};
  const auto file = FRESHET_TRY(files_.open(path_ + "/format", base::OpenMode::kCreate));
  FRESHET_TRY(file->write_at(0, kFormat));
  FRESHET_TRY(file->sync());
  return files_.sync_directory(path_);
}

}  // namespace freshet::server
