// SPDX-License-Identifier: Apache-2.0
/// Write-once objects by key: where parts and rollups live.
///
/// Every key is written at most once with one value (a retry writes the same bytes), so a reader
/// that holds a key finds the bytes or finds a bug. Keys use [a-zA-Z0-9_.-] and '/', which means
/// nothing.
/// Errors: kNotFound; kUnavailable (nothing happened); kIndeterminate (may have happened; retry,
/// every operation is idempotent); kExhausted (disk full, nothing happened). Thread safety: all of
/// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <freshet/base/bytes.h>
#include <freshet/base/file_system.h>
#include <freshet/base/future.h>

namespace freshet::persist {

using SharedBytes = std::shared_ptr<const base::Bytes>;

struct BlobInfo {
  std::string key;
  std::uint64_t size = 0;
};

class Blob {
 public:
  virtual ~Blob() = default;
  virtual base::Future<base::Bytes> get(std::string key) = 0;
  /// The bytes in [offset, offset + size); kCorrupt if the object is shorter.
  virtual base::Future<base::Bytes> get_range(std::string key, std::uint64_t offset,
                                              std::uint64_t size) = 0;
  /// The whole object is durable when the future resolves; a crash before leaves all or nothing.
  virtual base::Future<base::Unit> set(std::string key, SharedBytes bytes) = 0;
  /// No error if there is none. It may come back after a crash: a leak, never a loss.
  virtual base::Future<base::Unit> remove(std::string key) = 0;
  /// In key order.
  virtual base::Future<std::vector<BlobInfo>> list(std::string prefix) = 0;
  /// What an operator looks for to find the object where it is stored; for messages.
  [[nodiscard]] virtual std::string location(const std::string& key) const { return key; }
};

/// Keeps objects while it lives.
std::unique_ptr<Blob> make_memory_blob();

/// One file per object in `directory`, which is made (durably) if it is missing. Written to a
/// temporary name, synced, renamed, directory synced. A failed sync is never repeated on the same
/// file. Leftover temporary files are removed here, at the start.
/// Lifetime: `files` and `scheduler` outlive the last pending operation, not only the blob.
Result<std::unique_ptr<Blob>> make_file_blob(base::Scheduler& scheduler, base::FileSystem& files,
                                             std::string directory);

}  // namespace freshet::persist
