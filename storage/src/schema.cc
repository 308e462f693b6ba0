// SPDX-License-Identifier: Apache-2.0
#include "schema.h"

#include <freshet/base/bytes.h>
#include <freshet/base/sqlstate.h>
#include <freshet/repr/type_codec.h>

namespace freshet::storage {
namespace {

// Of the schema and of the rows that it describes: docs/row-format.md.
constexpr std::uint64_t kVersion = 1;

}  // namespace

std::string encode_schema(const repr::RelationDesc& desc) {
  base::ByteWriter out;
  out.varint(kVersion);
  repr::write_desc(out, desc);
  return out.take();
}

base::Result<repr::RelationDesc> decode_schema(std::string_view bytes) {
  base::ByteReader in(bytes);
  const std::uint64_t version = in.varint();
  repr::RelationDesc desc = repr::read_desc(in);
  if (version != kVersion || !in.ok() || !in.at_end()) {
    return base::fail(base::Error{.code = base::ErrorCode::kCorrupt,
                                  .sqlstate = base::sqlstate::kDataCorrupted,
                                  .message = "a stored schema cannot be read"});
  }
  return desc;
}

}  // namespace freshet::storage
