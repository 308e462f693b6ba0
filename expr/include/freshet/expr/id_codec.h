// SPDX-License-Identifier: Apache-2.0
/// Global ids as bytes, in plans on the wire and in the stored catalog.
#pragma once

#include <optional>

#include <freshet/base/bytes.h>
#include <freshet/expr/id.h>

namespace freshet::expr {

/// The kind with that number, if there is one.
inline std::optional<GlobalId::Kind> id_kind_from(std::uint64_t number) {
  for (const auto kind : {GlobalId::Kind::kSystem, GlobalId::Kind::kUser, GlobalId::Kind::kTransient}) {
    if (static_cast<std::uint64_t>(kind) == number) return kind;
  }
  return std::nullopt;
}

inline void write_id(base::ByteWriter& out, GlobalId id) {
  out.u8(static_cast<std::uint8_t>(id.kind));
  out.varint(id.number);
}

/// The reader turns bad on an unknown kind.
inline GlobalId read_id(base::ByteReader& in) {
  const std::optional<GlobalId::Kind> kind = id_kind_from(in.u8());
  if (!kind) in.bad();
  return {kind.value_or(GlobalId::Kind::kUser), in.varint()};
}

}  // namespace freshet::expr
