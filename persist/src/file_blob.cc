// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include <freshet/persist/blob.h>

namespace freshet::persist {
namespace {

using base::Bytes;
using base::BytesView;
using base::FileSystem;
using base::Future;
using base::OpenMode;
using base::Unit;

constexpr BytesView kTemporary = "tmp=";

/// '/' means nothing in a key, so all objects lie in one directory. '=' occurs in no key.
std::string file_name(std::string key) {
  std::ranges::replace(key, '/', '=');
  return key;
}

/// Survives the blob while tasks of it run.
class Directory {
 public:
  Directory(base::Scheduler& scheduler, FileSystem& files, std::string path)
      : scheduler_(scheduler), files_(files), path_(std::move(path)) {}

  Result<void> prepare() {
    FRESHET_TRY(base::make_durable_directory(files_, path_));
    for (const std::string& name : FRESHET_TRY(files_.list(path_))) {
      if (name.starts_with(kTemporary)) FRESHET_TRY(files_.remove(path_ + "/" + name));
    }
    return {};
  }

  Result<Bytes> get(const std::string& key, std::uint64_t offset, std::uint64_t size, bool whole) {
    const auto file = FRESHET_TRY(files_.open(path_of(key), OpenMode::kRead));
    if (whole) size = FRESHET_TRY(file->size());
    Bytes bytes = FRESHET_TRY(file->read_at(offset, size));
    if (bytes.size() != size) {
      return fail(ErrorCode::kCorrupt,
                  "object \"" + file_name(key) + "\" is shorter than its reader expects");
    }
    return bytes;
  }

  // A reader finds the whole object under its name or nothing. The content is on the disk before
  // the name, and the name before the answer. What fails starts over with a new file: the system
  // may have dropped what a failed sync was to write.
  Result<void> set(const std::string& key, const Bytes& bytes) {
    const std::string temporary =
        path_ + "/" + std::string(kTemporary) + std::to_string(next_.fetch_add(1));
    Result<void> written = write(temporary, bytes);
    if (written) written = files_.rename(temporary, path_of(key));
    if (!written) {
      const Result<void> removed = files_.remove(temporary);
      (void)removed;  // swept at the next start
      return written;
    }
    return files_.sync_directory(path_);
  }

  Result<void> remove(const std::string& key) {
    Result<void> removed = files_.remove(path_of(key));
    if (!removed && removed.error().code == ErrorCode::kNotFound) return {};
    return removed;
  }

  Result<std::vector<BlobInfo>> list(const std::string& prefix) {
    std::vector<BlobInfo> found;
    const std::string start = file_name(prefix);
    for (std::string& name : FRESHET_TRY(files_.list(path_))) {
      if (!name.starts_with(start) || name.starts_with(kTemporary)) continue;
      const auto file = files_.open(path_ + "/" + name, OpenMode::kRead);
      if (!file) continue;  // removed meanwhile
      const std::uint64_t size = FRESHET_TRY((*file)->size());
      std::ranges::replace(name, '=', '/');
      found.push_back({std::move(name), size});
    }
    std::ranges::sort(found, {}, &BlobInfo::key);
    return found;
  }

  base::Scheduler& scheduler() { return scheduler_; }

 private:
  [[nodiscard]] std::string path_of(const std::string& key) const {
    return path_ + "/" + file_name(key);
  }

  Result<void> write(const std::string& path, const Bytes& bytes) {
    const auto file = FRESHET_TRY(files_.open(path, OpenMode::kCreateNew));
    FRESHET_TRY(file->write_at(0, bytes));
    return file->sync();
  }

  base::Scheduler& scheduler_;
  FileSystem& files_;
  std::string path_;
  std::atomic<std::uint64_t> next_{1};
};

class FileBlob final : public Blob {
 public:
  explicit FileBlob(std::shared_ptr<Directory> directory) : directory_(std::move(directory)) {}

  Future<Bytes> get(std::string key) override {
    return run<Bytes>([key](Directory& d) { return d.get(key, 0, 0, true); });
  }
  Future<Bytes> get_range(std::string key, std::uint64_t offset, std::uint64_t size) override {
    return run<Bytes>(
        [key, offset, size](Directory& d) { return d.get(key, offset, size, false); });
  }
  Future<Unit> set(std::string key, SharedBytes bytes) override {
    return run<Unit>([key, bytes](Directory& d) { return d.set(key, *bytes); });
  }
  Future<Unit> remove(std::string key) override {
    return run<Unit>([key](Directory& d) { return d.remove(key); });
  }
  Future<std::vector<BlobInfo>> list(std::string prefix) override {
    return run<std::vector<BlobInfo>>([prefix](Directory& d) { return d.list(prefix); });
  }
  [[nodiscard]] std::string location(const std::string& key) const override {
    return file_name(key);
  }

 private:
  template <typename T, typename F>
  Future<T> run(F act) {
    base::Promise<T> promise;
    Future<T> future = promise.future();
    directory_->scheduler().post_blocking(
        [directory = directory_, act = std::move(act), promise = std::move(promise)]() mutable {
          auto result = act(*directory);
          if constexpr (std::is_same_v<decltype(result), Result<void>>) {
            if (result) {
              promise.resolve(Unit{});
            } else {
              promise.resolve(base::Unexpected(std::move(result).error()));
            }
          } else {
            promise.resolve(std::move(result));
          }
        });
    return future;
  }

  std::shared_ptr<Directory> directory_;
};

}  // namespace

Result<std::unique_ptr<Blob>> make_file_blob(base::Scheduler& scheduler, base::FileSystem& files,
                                             std::string directory) {
  auto shared = std::make_shared<Directory>(scheduler, files, std::move(directory));
  FRESHET_TRY(shared->prepare());
  return std::unique_ptr<Blob>(std::make_unique<FileBlob>(std::move(shared)));
}

}  // namespace freshet::persist
