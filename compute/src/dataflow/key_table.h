// SPDX-License-Identifier: Apache-2.0
/// Numbers for byte strings: each distinct key gets the next one, from 0.
///
/// Open addressing over one array; the keys lie end to end. Cost: one hash and about one probe a lookup.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <freshet/repr/chunk.h>
#include <freshet/repr/row.h>

namespace freshet::compute {

class KeyTable {
 public:
  KeyTable() : slots_(kInitial, kFree) {}

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] std::string_view key(std::uint32_t id) const { return keys_[id]; }

  std::uint32_t find_or_add(std::string_view key) {
    const std::uint64_t hash = repr::hash_key(key);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const std::uint32_t id = slots_[at];
      if (id == kFree) return add(key, tag, at, hash);
      if (tags_[id] == tag && keys_[id] == key) return id;
    }
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  static constexpr std::size_t kInitial = 64;

  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  std::uint32_t add(std::string_view key, std::uint32_t tag, std::size_t at, std::uint64_t hash) {
    const auto id = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    tags_.push_back(tag);
    hashes_.push_back(static_cast<std::uint32_t>(hash));
    slots_[at] = id;
    if (2 * keys_.size() > slots_.size()) grow();
    return id;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kFree);
    for (std::uint32_t id = 0; id < keys_.size(); ++id) {
      std::size_t at = full_hash(id) & mask();
      while (slots_[at] != kFree) at = (at + 1) & mask();
      slots_[at] = id;
    }
  }
  [[nodiscard]] std::uint64_t full_hash(std::uint32_t id) const {
    return std::uint64_t{tags_[id]} << 32 | hashes_[id];
  }

  repr::BytesVector keys_;
  std::vector<std::uint32_t> tags_;    // the upper half of the hash
  std::vector<std::uint32_t> hashes_;  // the lower half
  std::vector<std::uint32_t> slots_;
};

/// Numbers for numbers: the same for small sets of ids out of a large range.
class IdTable {
 public:
  IdTable() : slots_(16, kFree) {}
  [[nodiscard]] const std::vector<std::uint32_t>& ids() const { return ids_; }
  std::uint32_t find_or_add(std::uint32_t id) {
    for (std::size_t at = place(id);; at = (at + 1) & (slots_.size() - 1)) {
      const std::uint32_t slot = slots_[at];
      if (slot == kFree) {
        slots_[at] = static_cast<std::uint32_t>(ids_.size());
        ids_.push_back(id);
        if (2 * ids_.size() > slots_.size()) grow();
        return static_cast<std::uint32_t>(ids_.size() - 1);
      }
      if (ids_[slot] == id) return slot;
    }
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  [[nodiscard]] std::size_t place(std::uint32_t id) const {
    return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15ULL) >> 20) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kFree);
    for (std::uint32_t slot = 0; slot < ids_.size(); ++slot) {
      std::size_t at = place(ids_[slot]);
      while (slots_[at] != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace freshet::compute
