// SPDX-License-Identifier: Apache-2.0
/// How a run of updates becomes the bytes of a part, and back, block by block.
///
/// A part is one object in Blob: blocks, then an index of blocks. The reader fetches the index
/// first and then the byte ranges of the blocks it wants. The format's id stands in the part's
/// header and in the group's state, so that formats can live side by side. Errors: kCorrupt for
/// bytes that are not what was written; the caller adds the part's key and shard. Thread safety:
/// codecs have no state.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/persist/updates.h>

namespace freshet::persist {

enum class FormatId : std::uint32_t {
  kBlocks1 = 1,  ///< Sorted rows in compressed blocks, times and diffs beside them.
};

/// What the index says about one block. Good for leaving blocks out.
struct BlockInfo {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t updates = 0;
  std::uint64_t checksum = 0;
  /// Bounds of the rows, each at most `kBoundBytes` long: no row is before `least_row`; no row is
  /// after every string that starts with `greatest_row` (exact where shorter than the limit).
  base::Bytes least_row{};
  base::Bytes greatest_row{};
  Time least_time = 0;
  Time greatest_time = 0;
};

inline constexpr std::size_t kBoundBytes = 64;

/// False if no row of the block is in [from, to); an empty `to` means without end.
[[nodiscard]] bool may_hold_rows(const BlockInfo& block, base::BytesView from, base::BytesView to);

struct EncodedPart {
  base::Bytes bytes;
  std::uint64_t index_offset = 0;
};

class PartCodec {
 public:
  virtual ~PartCodec() = default;
  [[nodiscard]] virtual FormatId format() const = 0;
  /// `updates` must be consolidated and not empty.
  [[nodiscard]] virtual EncodedPart encode(const Updates& updates) const = 0;
  /// `bytes` is the part from `index_offset` to its end.
  [[nodiscard]] virtual Result<std::vector<BlockInfo>> decode_index(
      base::BytesView bytes, std::uint64_t index_offset) const = 0;
  /// `bytes` is the byte range of the block.
  [[nodiscard]] virtual Result<Updates> decode_block(const BlockInfo& block,
                                                     base::BytesView bytes) const = 0;
};

enum class Compression : std::uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };

struct BlockCodecOptions {
  std::size_t block_bytes = 256 << 10;  ///< Of rows, times and diffs, before compression.
  Compression compression = Compression::kLz4;
};

std::unique_ptr<PartCodec> make_block_codec(BlockCodecOptions options = {});

}  // namespace freshet::persist
