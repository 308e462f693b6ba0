// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <freshet/base/guarded.h>
#include <freshet/persist/blob.h>

namespace freshet::persist {
namespace {

using base::Future;

class MemoryBlob final : public Blob {
 public:
  Future<base::Bytes> get(std::string key) override {
    const SharedBytes bytes = find(key);
    if (bytes == nullptr) return missing(key);
    return Future<base::Bytes>::ready(base::Bytes(*bytes));
  }

  Future<base::Bytes> get_range(std::string key, std::uint64_t offset,
                                std::uint64_t size) override {
    const SharedBytes bytes = find(key);
    if (bytes == nullptr) return missing(key);
    if (offset > bytes->size() || size > bytes->size() - offset) {
      return Future<base::Bytes>::ready(
          fail(ErrorCode::kCorrupt, "object \"" + key + "\" is shorter than its reader expects"));
    }
    return Future<base::Bytes>::ready(bytes->substr(offset, size));
  }

  Future<base::Unit> set(std::string key, SharedBytes bytes) override {
    objects_.with([&](auto& map) { map.insert_or_assign(std::move(key), std::move(bytes)); });
    return Future<base::Unit>::ready(base::Unit{});
  }

  Future<base::Unit> remove(std::string key) override {
    objects_.with([&](auto& map) { map.erase(key); });
    return Future<base::Unit>::ready(base::Unit{});
  }

  Future<std::vector<BlobInfo>> list(std::string prefix) override {
    std::vector<BlobInfo> found;
    objects_.with([&](auto& map) {
      for (auto it = map.lower_bound(prefix); it != map.end() && it->first.starts_with(prefix);
           ++it) {
        found.push_back({it->first, it->second->size()});
      }
    });
    return Future<std::vector<BlobInfo>>::ready(std::move(found));
  }

 private:
  SharedBytes find(const std::string& key) const {
    return objects_.with([&](const auto& map) {
      const auto it = map.find(key);
      return it == map.end() ? nullptr : it->second;
    });
  }
  static Future<base::Bytes> missing(const std::string& key) {
    return Future<base::Bytes>::ready(fail(ErrorCode::kNotFound, "no object \"" + key + "\""));
  }

  base::Guarded<std::map<std::string, SharedBytes>> objects_;
};

}  // namespace

std::unique_ptr<Blob> make_memory_blob() { return std::make_unique<MemoryBlob>(); }

}  // namespace freshet::persist
