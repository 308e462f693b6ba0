// SPDX-License-Identifier: Apache-2.0
#include <testing/lossy_file_system.h>

#include <algorithm>
#include <optional>

namespace testing {

using freshet::base::Bytes;
using freshet::base::BytesView;
using freshet::base::ErrorCode;
using freshet::base::fail;
using freshet::base::File;
using freshet::base::FileLock;
using freshet::base::OpenMode;
using freshet::base::Result;

namespace {

constexpr std::size_t kSector = 512;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}
std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

void apply_write(Bytes& content, std::uint64_t offset, BytesView bytes) {
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
  content.replace(offset, bytes.size(), bytes);
}

}  // namespace

/// A file or a directory: as the living see it, as the disk has it, and what lies between.
struct LossyFileSystem::Node {
  struct Write {
    bool truncate = false;
    std::uint64_t offset = 0;  ///< Or the new size.
    Bytes bytes{};
  };
  struct NameChange {
    std::optional<std::string> removed{};
    std::optional<std::pair<std::string, NodeRef>> added{};
  };
  bool directory = false;
  Bytes content{};
  Bytes durable{};
  std::vector<Write> writes{};
  std::map<std::string, NodeRef> entries{};
  std::map<std::string, NodeRef> durable_entries{};
  std::vector<NameChange> changes{};

  static void apply(Bytes& content, const Write& write) {
    if (write.truncate) {
      content.resize(write.offset);
    } else {
      apply_write(content, write.offset, write.bytes);
    }
  }
  static void apply(std::map<std::string, NodeRef>& map, const NameChange& change) {
    if (change.removed) map.erase(*change.removed);
    if (change.added) map.insert_or_assign(change.added->first, change.added->second);
  }
  void change_name(NameChange change) {
    apply(entries, change);
    changes.push_back(std::move(change));
  }
};

class LossyFileSystem::OpenFile final : public File {
 public:
  OpenFile(LossyFileSystem& files, NodeRef node)
      : files_(files), node_(std::move(node)), generation_(files.generation_) {}

  Result<Bytes> read_at(std::uint64_t offset, std::uint64_t size) override {
    FRESHET_TRY(check());
    const Bytes& content = node_->content;
    return offset >= content.size() ? Bytes() : content.substr(offset, size);
  }
  Result<void> write_at(std::uint64_t offset, BytesView bytes) override {
    FRESHET_TRY(check());
    const std::uint64_t end = offset + bytes.size();
    const std::uint64_t growth = end > node_->content.size() ? end - node_->content.size() : 0;
    if (growth > 0 && files_.used_ + growth > files_.capacity_) {
      return fail(ErrorCode::kExhausted, "the disk is full");
    }
    FRESHET_TRY(files_.change());
    files_.used_ += growth;
    apply_write(node_->content, offset, bytes);
    node_->writes.push_back({.offset = offset, .bytes = Bytes(bytes)});
    return {};
  }
  Result<void> truncate(std::uint64_t size) override {
    FRESHET_TRY(check());
    FRESHET_TRY(files_.change());
    files_.used_ = files_.used_ - node_->content.size() + size;
    node_->content.resize(size);
    node_->writes.push_back({.truncate = true, .offset = size});
    return {};
  }
  Result<void> sync() override {
    FRESHET_TRY(check());
    FRESHET_TRY(files_.change());
    if (files_.failing_sync_ != UINT64_MAX && files_.failing_sync_-- == 0) {
      files_.sync_failed_ = true;
      node_->writes.clear();
      return fail(ErrorCode::kUnavailable, "injected: the sync failed");
    }
    for (const Node::Write& write : node_->writes) Node::apply(node_->durable, write);
    node_->writes.clear();
    return {};
  }
  Result<std::uint64_t> size() override {
    FRESHET_TRY(check());
    return node_->content.size();
  }

 private:
  Result<void> check() const {
    if (generation_ != files_.generation_)
      return fail(ErrorCode::kUnavailable, "file of a past life");
    return files_.check_power();
  }
  LossyFileSystem& files_;
  NodeRef node_;
  std::uint64_t generation_;
};

class LossyFileSystem::Lock final : public FileLock {
 public:
  Lock(LossyFileSystem& files, std::string path)
      : files_(files), path_(std::move(path)), generation_(files.generation_) {}
  ~Lock() override {
    if (generation_ == files_.generation_) files_.locks_.erase(path_);
  }

 private:
  LossyFileSystem& files_;
  std::string path_;
  std::uint64_t generation_;
};

LossyFileSystem::LossyFileSystem(std::uint64_t seed)
    : random_(seed), root_(std::make_shared<Node>(Node{.directory = true})) {}
LossyFileSystem::~LossyFileSystem() = default;

void LossyFileSystem::power_off_after(std::uint64_t operations) {
  off_at_ = operations_ + operations;
}

Result<void> LossyFileSystem::check_power() const {
  if (off_) return fail(ErrorCode::kUnavailable, "the power is off");
  return {};
}

Result<void> LossyFileSystem::change() {
  FRESHET_TRY(check_power());
  if (operations_ >= off_at_) off_ = true;
  FRESHET_TRY(check_power());
  ++operations_;
  return {};
}

void LossyFileSystem::survive(Node& node) {
  for (const Node::Write& write : node.writes) {
    const std::uint64_t fate = random_.below(4);
    if (fate == 0) continue;
    if (write.truncate) {
      node.durable.resize(write.offset);
    } else if (fate == 1) {
      apply_write(node.durable, write.offset, write.bytes);
    } else {
      // Torn: the file has grown, and of each sector it is open whether it was written.
      const std::uint64_t end = write.offset + write.bytes.size();
      if (node.durable.size() < end) node.durable.resize(end);
      for (std::uint64_t at = 0; at < write.bytes.size(); at += kSector) {
        if (random_.coin()) {
          apply_write(node.durable, write.offset + at, BytesView(write.bytes).substr(at, kSector));
        }
      }
    }
  }
  node.writes.clear();
  node.content = node.durable;
  for (const Node::NameChange& change : node.changes) {
    if (random_.coin()) Node::apply(node.durable_entries, change);
  }
  node.changes.clear();
  node.entries = node.durable_entries;
  for (auto& [name, entry] : node.entries) survive(*entry);
}

void LossyFileSystem::restart() {
  survive(*root_);
  used_ = size_of(*root_);
  locks_.clear();
  ++generation_;
  off_ = false;
  off_at_ = UINT64_MAX;
  failing_sync_ = UINT64_MAX;
  sync_failed_ = false;
}

std::uint64_t LossyFileSystem::size_of(const Node& node) {
  std::uint64_t size = node.content.size();
  for (const auto& [name, entry] : node.entries) size += size_of(*entry);
  return size;
}

LossyFileSystem::NodeRef LossyFileSystem::find(const std::string& path) const {
  NodeRef node = root_;
  for (std::size_t at = 1; at < path.size() && node != nullptr;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const auto entry = node->entries.find(path.substr(at, end - at));
    node = entry == node->entries.end() ? nullptr : entry->second;
    at = end + 1;
  }
  return node;
}

Result<LossyFileSystem::NodeRef> LossyFileSystem::directory_of(const std::string& path) const {
  NodeRef node = find(parent_of(path));
  if (node == nullptr || !node->directory) {
    return fail(ErrorCode::kNotFound, "no directory for \"" + path + "\"");
  }
  return node;
}

Result<std::unique_ptr<File>> LossyFileSystem::open(const std::string& path, OpenMode mode) {
  FRESHET_TRY(check_power());
  const NodeRef directory = FRESHET_TRY(directory_of(path));
  NodeRef node = find(path);
  const bool create = mode == OpenMode::kCreate || mode == OpenMode::kCreateNew;
  if (node == nullptr && !create) return fail(ErrorCode::kNotFound, "no file \"" + path + "\"");
  if (node != nullptr && mode == OpenMode::kCreateNew) {
    return fail(ErrorCode::kConflict, "file \"" + path + "\" exists");
  }
  if (node == nullptr) {
    FRESHET_TRY(change());
    node = std::make_shared<Node>();
    directory->change_name({.added = {{name_of(path), node}}});
  }
  return std::unique_ptr<File>(std::make_unique<OpenFile>(*this, std::move(node)));
}

// Within one directory a rename is one change; between two it is two.
Result<void> LossyFileSystem::rename(const std::string& from, const std::string& to) {
  FRESHET_TRY(check_power());
  const NodeRef source = FRESHET_TRY(directory_of(from));
  const NodeRef target = FRESHET_TRY(directory_of(to));
  NodeRef node = find(from);
  if (node == nullptr) return fail(ErrorCode::kNotFound, "no file \"" + from + "\"");
  FRESHET_TRY(change());
  if (const NodeRef replaced = find(to); replaced != nullptr) used_ -= replaced->content.size();
  if (source == target) {
    source->change_name({.removed = name_of(from), .added = {{name_of(to), std::move(node)}}});
  } else {
    target->change_name({.added = {{name_of(to), std::move(node)}}});
    source->change_name({.removed = name_of(from)});
  }
  return {};
}

Result<void> LossyFileSystem::remove(const std::string& path) {
  FRESHET_TRY(check_power());
  const NodeRef directory = FRESHET_TRY(directory_of(path));
  const NodeRef node = find(path);
  if (node == nullptr) return fail(ErrorCode::kNotFound, "no file \"" + path + "\"");
  FRESHET_TRY(change());
  used_ -= node->content.size();
  directory->change_name({.removed = name_of(path)});
  return {};
}

Result<bool> LossyFileSystem::exists(const std::string& path) {
  FRESHET_TRY(check_power());
  return find(path) != nullptr;
}

Result<void> LossyFileSystem::make_directory(const std::string& path) {
  FRESHET_TRY(check_power());
  for (std::size_t at = 1; at < path.size();) {
    at = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(0, at++);
    if (find(part) != nullptr) continue;
    const NodeRef directory = FRESHET_TRY(directory_of(part));
    FRESHET_TRY(change());
    directory->change_name(
        {.added = {{name_of(part), std::make_shared<Node>(Node{.directory = true})}}});
  }
  return {};
}

Result<std::vector<std::string>> LossyFileSystem::list(const std::string& path) {
  FRESHET_TRY(check_power());
  const NodeRef node = find(path);
  if (node == nullptr) return fail(ErrorCode::kNotFound, "no directory \"" + path + "\"");
  std::vector<std::string> names;
  for (const auto& [name, entry] : node->entries) names.push_back(name);
  return names;
}

Result<void> LossyFileSystem::sync_directory(const std::string& path) {
  FRESHET_TRY(check_power());
  const NodeRef node = find(path);
  if (node == nullptr) return fail(ErrorCode::kNotFound, "no directory \"" + path + "\"");
  FRESHET_TRY(change());
  node->durable_entries = node->entries;
  node->changes.clear();
  return {};
}

Result<std::unique_ptr<FileLock>> LossyFileSystem::lock(const std::string& path) {
  FRESHET_TRY(check_power());
  if (!locks_.emplace(path, generation_).second) {
    return fail(ErrorCode::kConflict, "\"" + path + "\" is locked");
  }
  return std::unique_ptr<FileLock>(std::make_unique<Lock>(*this, path));
}

}  // namespace testing
