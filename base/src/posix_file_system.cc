// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <freshet/base/file_system.h>

namespace freshet::base {
namespace {

Unexpected system_failure(const char* action, const std::string& path, int error = errno) {
  ErrorCode code = ErrorCode::kUnavailable;
  if (error == ENOENT) code = ErrorCode::kNotFound;
  if (error == EEXIST || error == EWOULDBLOCK) code = ErrorCode::kConflict;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = ErrorCode::kExhausted;
  return fail(code, std::string(action) + " \"" + path + "\": " + std::strerror(error));
}

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Result<Bytes> read_at(std::uint64_t offset, std::uint64_t size) override {
    // The size may come from a damaged header: never allocate more than the file has.
    const std::uint64_t end = FRESHET_TRY(this->size());
    Bytes out(offset >= end ? 0 : std::min(size, end - offset), '\0');
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_failure("read", path_);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    out.resize(done);
    return out;
  }

  Result<void> write_at(std::uint64_t offset, BytesView bytes) override {
    while (!bytes.empty()) {
      const ssize_t n =
          ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_failure("write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Result<void> truncate(std::uint64_t size) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return system_failure("truncate", path_);
    return {};
  }

  Result<void> sync() override {
    if (::fdatasync(fd_.get()) != 0) return system_failure("sync", path_);
    return {};
  }

  Result<std::uint64_t> size() override {
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) return system_failure("stat", path_);
    return static_cast<std::uint64_t>(info.st_size);
  }

 private:
  Descriptor fd_;
  std::string path_;
};

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(int fd) : fd_(fd) {}

 private:
  Descriptor fd_;
};

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead: return O_RDONLY;
    case OpenMode::kReadWrite: return O_RDWR;
    case OpenMode::kCreate: return O_RDWR | O_CREAT;
    case OpenMode::kCreateNew: return O_RDWR | O_CREAT | O_EXCL;
  }
  FRESHET_UNREACHABLE(static_cast<int>(mode));
}

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    const int fd = ::open(path.c_str(), open_flags(mode) | O_CLOEXEC, 0640);
    if (fd < 0) return system_failure("open", path);
    return std::unique_ptr<File>(std::make_unique<PosixFile>(fd, path));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return system_failure("rename", from);
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return system_failure("remove", path);
    return {};
  }

  Result<bool> exists(const std::string& path) override {
    if (::access(path.c_str(), F_OK) == 0) return true;
    if (errno == ENOENT) return false;
    return system_failure("look up", path);
  }

  Result<void> make_directory(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return system_failure("create directory", path, error.value());
    return {};
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (directory == nullptr) return system_failure("list", path);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(directory)) {
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
    }
    ::closedir(directory);
    std::ranges::sort(names);
    return names;
  }

  Result<void> sync_directory(const std::string& path) override {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return system_failure("open directory", path);
    if (::fsync(fd.get()) != 0) return system_failure("sync directory", path);
    return {};
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0) return system_failure("open", path);
    auto lock = std::make_unique<PosixLock>(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return system_failure("lock", path);
    return std::unique_ptr<FileLock>(std::move(lock));
  }
};

}  // namespace

std::unique_ptr<FileSystem> make_posix_file_system() { return std::make_unique<PosixFileSystem>(); }

}  // namespace freshet::base
