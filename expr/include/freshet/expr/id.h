// SPDX-License-Identifier: Apache-2.0
/// Names of collections: `GlobalId` across the system, `LocalId` inside one plan.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace freshet::expr {

/// A catalog item (system or user), or something that lives only while a query does. Never reused.
struct GlobalId {
  enum class Kind : std::uint8_t { kSystem = 's', kUser = 'u', kTransient = 't' };
  Kind kind = Kind::kUser;
  std::uint64_t number = 0;
  friend auto operator<=>(const GlobalId&, const GlobalId&) = default;
};
/// "u12"
std::string to_string(GlobalId id);
inline std::ostream& operator<<(std::ostream& out, GlobalId id) { return out << to_string(id); }

/// Bound by a Let or LetRec of the same plan; unique within the plan.
struct LocalId {
  std::uint64_t number = 0;
  friend auto operator<=>(const LocalId&, const LocalId&) = default;
};
/// "l3"
std::string to_string(LocalId id);
inline std::ostream& operator<<(std::ostream& out, LocalId id) { return out << to_string(id); }

}  // namespace freshet::expr

template <>
struct std::hash<freshet::expr::GlobalId> {
  std::size_t operator()(freshet::expr::GlobalId id) const noexcept {
    return std::hash<std::uint64_t>()(id.number * 4 + static_cast<std::uint64_t>(id.kind) % 4);
  }
};
