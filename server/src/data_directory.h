// SPDX-License-Identifier: Apache-2.0
// The directory that a server keeps its data in: one server at a time, and never taken for new when it is not.
//
//     lock                  held while a server runs
//     format                "2", once the directory has been in use
//     blob/                 parts of data
//     consensus.sqlite      the state that names them, with its log consensus.sqlite-wal
#pragma once

#include <memory>
#include <string>

#include <freshet/base/file_system.h>

namespace freshet::server {

class DataDirectory {
 public:
  /// Makes it if it is not there, and locks it. kConflict if another server has it; kCorrupt if it was in use and
  /// lacks a file; kInvalid if a server of another format wrote it.
  static base::Result<std::unique_ptr<DataDirectory>> open(base::FileSystem& files, std::string path);

  [[nodiscard]] std::string blob() const { return path_ + "/blob"; }
  [[nodiscard]] std::string consensus() const { return path_ + "/consensus.sqlite"; }
  /// Once its files are made: from now on they must be there.
  base::Result<void> mark_in_use();

 private:
  DataDirectory(base::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  base::Result<void> lock();
  base::Result<std::string> format();
  base::Result<void> check_whole();

  base::FileSystem& files_;
  std::string path_;
  std::unique_ptr<base::FileLock> lock_;
};

}  // namespace freshet::server
