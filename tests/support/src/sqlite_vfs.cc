// SPDX-License-Identifier: Apache-2.0
#include <testing/sqlite_vfs.h>

#include <sqlite3.h>

#include <cstring>
#include <new>

#include <freshet/base/random.h>

namespace testing {

using freshet::base::Bytes;
using freshet::base::BytesView;
using freshet::base::ErrorCode;
using freshet::base::File;
using freshet::base::FileSystem;
using freshet::base::OpenMode;
using freshet::base::Result;

namespace {

/// What the methods of a VFS find behind `pAppData`.
struct Machine {
  FileSystem& files;
  freshet::base::Random random;
};

Machine& machine_of(sqlite3_vfs* vfs) { return *static_cast<Machine*>(vfs->pAppData); }
FileSystem& files_of(sqlite3_vfs* vfs) { return machine_of(vfs).files; }

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

struct Contents {
  FileSystem& files;
  std::string path;
  std::unique_ptr<File> file;
  bool sync_name = false;  ///< New: its name must reach the disk with its first sync.
  bool delete_on_close = false;
};

/// What SQLite allocates for us: its header, then our pointer.
struct OpenFile {
  sqlite3_file base;
  Contents* contents;
};

Contents& contents_of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file)->contents; }

template <typename T>
int code_of(const Result<T>& result, int failure) {
  if (result) return SQLITE_OK;
  return result.error().code == ErrorCode::kExhausted ? SQLITE_FULL : failure;
}

int close_file(sqlite3_file* file) {
  Contents& contents = contents_of(file);
  contents.file.reset();
  if (contents.delete_on_close) {
    const Result<void> removed = contents.files.remove(contents.path);
    (void)removed;
  }
  delete &contents;
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  const auto wanted = static_cast<std::size_t>(size);
  const Result<Bytes> bytes =
      contents_of(file).file->read_at(static_cast<std::uint64_t>(offset), wanted);
  if (!bytes) return SQLITE_IOERR_READ;
  std::memcpy(to, bytes->data(), bytes->size());
  if (bytes->size() == wanted) return SQLITE_OK;
  std::memset(static_cast<char*>(to) + bytes->size(), 0, wanted - bytes->size());
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  return code_of(contents_of(file).file->write_at(
                     static_cast<std::uint64_t>(offset),
                     BytesView(static_cast<const char*>(from), static_cast<std::size_t>(size))),
                 SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  return code_of(contents_of(file).file->truncate(static_cast<std::uint64_t>(size)),
                 SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* file, int) {
  Contents& contents = contents_of(file);
  if (const auto synced = contents.file->sync(); !synced) return SQLITE_IOERR_FSYNC;
  if (!contents.sync_name) return SQLITE_OK;
  const auto named = contents.files.sync_directory(parent_of(contents.path));
  if (named) contents.sync_name = false;
  return code_of(named, SQLITE_IOERR_DIR_FSYNC);
}

int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  const Result<std::uint64_t> result = contents_of(file).file->size();
  if (result) *size = static_cast<sqlite3_int64>(*result);
  return code_of(result, SQLITE_IOERR_FSTAT);
}

int lock_nothing(sqlite3_file*, int) { return SQLITE_OK; }
int check_reserved(sqlite3_file*, int* result) {
  *result = 0;
  return SQLITE_OK;
}
int control_nothing(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 512; }
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

const sqlite3_io_methods kMethods = {1,
                                     close_file,
                                     read_file,
                                     write_file,
                                     truncate_file,
                                     sync_file,
                                     size_of_file,
                                     lock_nothing,
                                     lock_nothing,
                                     check_reserved,
                                     control_nothing,
                                     sector_size,
                                     characteristics,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  auto& open = *reinterpret_cast<OpenFile*>(file);
  open.base.pMethods = nullptr;
  if (path == nullptr) return SQLITE_CANTOPEN;
  FileSystem& files = files_of(vfs);
  const bool create = (flags & SQLITE_OPEN_CREATE) != 0;
  const Result<bool> existed = files.exists(path);
  if (!existed) return SQLITE_CANTOPEN;
  auto opened = files.open(path, create ? OpenMode::kCreate : OpenMode::kReadWrite);
  if (!opened) return SQLITE_CANTOPEN;
  open.contents = new Contents{.files = files,
                               .path = path,
                               .file = std::move(opened).value(),
                               .sync_name = !*existed,
                               .delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
  open.base.pMethods = &kMethods;
  if (flags_out != nullptr) *flags_out = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int sync) {
  FileSystem& files = files_of(vfs);
  const auto removed = files.remove(path);
  if (!removed) {
    return removed.error().code == ErrorCode::kNotFound ? SQLITE_IOERR_DELETE_NOENT
                                                        : SQLITE_IOERR_DELETE;
  }
  if (sync == 0) return SQLITE_OK;
  return code_of(files.sync_directory(parent_of(path)), SQLITE_IOERR_DIR_FSYNC);
}

int access_file(sqlite3_vfs* vfs, const char* path, int, int* result) {
  const auto exists = files_of(vfs).exists(path);
  *result = exists && *exists ? 1 : 0;
  return code_of(exists, SQLITE_IOERR_ACCESS);
}

int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", path);
  return SQLITE_OK;
}

int sleep_not(sqlite3_vfs*, int micros) { return micros; }

int current_time(sqlite3_vfs*, double* julian_day) {
  *julian_day = 2460000.0;
  return SQLITE_OK;
}

int randomness(sqlite3_vfs* vfs, int size, char* out) {
  for (int i = 0; i < size; ++i) out[i] = static_cast<char>(machine_of(vfs).random.next());
  return size;
}

}  // namespace

struct SqliteVfs::State {
  std::string name;
  Machine machine;
  sqlite3_vfs vfs{};
};

SqliteVfs::SqliteVfs(FileSystem& files, std::string name, std::uint64_t seed)
    : state_(new State{std::move(name), {files, freshet::base::Random(seed)}}) {
  sqlite3_vfs& vfs = state_->vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.mxPathname = 512;
  vfs.zName = state_->name.c_str();
  vfs.pAppData = &state_->machine;
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_path;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep_not;
  vfs.xCurrentTime = current_time;
  sqlite3_vfs_register(&vfs, 0);
}

SqliteVfs::~SqliteVfs() { sqlite3_vfs_unregister(&state_->vfs); }

const std::string& SqliteVfs::name() const { return state_->name; }

}  // namespace testing
