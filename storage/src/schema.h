// SPDX-License-Identifier: Apache-2.0
/// What a collection's rows are, as bytes that stand beside its shard: a shard can be read without the catalog, and is
/// not read as something else. Never change what is written here, only add.
#pragma once

#include <string>
#include <string_view>

#include <freshet/base/result.h>
#include <freshet/repr/types.h>

namespace freshet::storage {

std::string encode_schema(const repr::RelationDesc& desc);
/// XX001 if the bytes are not a schema.
base::Result<repr::RelationDesc> decode_schema(std::string_view bytes);

}  // namespace freshet::storage
