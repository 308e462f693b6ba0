// SPDX-License-Identifier: Apache-2.0
// One block: a header, then rows, row lengths, times and diffs, compressed together. Also the form
// of a small batch inside a group's state.
#pragma once

#include <freshet/base/result.h>
#include <freshet/persist/part_codec.h>
#include <freshet/persist/updates.h>

namespace freshet::persist {

using base::Unexpected;

/// Updates [first, last) as one block. `first < last`.
base::Bytes encode_block(const Updates& updates, std::size_t first, std::size_t last,
                         Compression compression);

/// Checks sizes, not content: whoever stored the block keeps a checksum of it.
Result<Updates> decode_block(base::BytesView bytes);

}  // namespace freshet::persist
