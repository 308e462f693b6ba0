// SPDX-License-Identifier: Apache-2.0
// Part := magic, format id, blocks, index, checksum of the index, offset of the index, end magic.
#include <algorithm>

#include <freshet/base/assert.h>
#include <freshet/base/bytes.h>
#include <freshet/persist/part_codec.h>

#include "block.h"

namespace freshet::persist {
namespace {

using base::ByteReader;
using base::Bytes;
using base::BytesView;
using base::ByteWriter;

constexpr BytesView kMagic = "FRESHPRT";
constexpr BytesView kEnd = "FRESHEND";
constexpr std::size_t kTrailer = 8 + 8 + 8;

Unexpected corrupt(const char* what) { return fail(ErrorCode::kCorrupt, what); }

void write_block_info(ByteWriter& out, const BlockInfo& block) {
  out.varint(block.offset);
  out.varint(block.size);
  out.varint(block.updates);
  out.u64(block.checksum);
  out.bytes(block.least_row);
  out.bytes(block.greatest_row);
  out.u64(block.least_time);
  out.u64(block.greatest_time);
}

BlockInfo read_block_info(ByteReader& in) {
  BlockInfo block;
  block.offset = in.varint();
  block.size = static_cast<std::uint32_t>(in.varint());
  block.updates = static_cast<std::uint32_t>(in.varint());
  block.checksum = in.u64();
  block.least_row = in.bytes();
  block.greatest_row = in.bytes();
  block.least_time = in.u64();
  block.greatest_time = in.u64();
  return block;
}

class BlockCodec final : public PartCodec {
 public:
  explicit BlockCodec(BlockCodecOptions options) : options_(options) {}

  [[nodiscard]] FormatId format() const override { return FormatId::kBlocks1; }

  [[nodiscard]] EncodedPart encode(const Updates& updates) const override {
    FRESHET_ASSERT(!updates.empty());
    FRESHET_DASSERT(updates.is_consolidated());
    ByteWriter out;
    out.raw(kMagic);
    out.u32(static_cast<std::uint32_t>(format()));
    out.u32(0);
    std::vector<BlockInfo> blocks;
    for (std::size_t first = 0; first < updates.size();) {
      const std::size_t last = block_end(updates, first);
      blocks.push_back(write_block(updates, first, last, out));
      first = last;
    }
    const std::uint64_t index_offset = out.size();
    ByteWriter index;
    index.varint(blocks.size());
    for (const BlockInfo& block : blocks) write_block_info(index, block);
    out.raw(index.view());
    out.u64(hash_bytes(index.view()));
    out.u64(index_offset);
    out.raw(kEnd);
    return {out.take(), index_offset};
  }

  [[nodiscard]] Result<std::vector<BlockInfo>> decode_index(
      BytesView bytes, std::uint64_t index_offset) const override {
    if (bytes.size() < kTrailer || !bytes.ends_with(kEnd)) return corrupt("part has no proper end");
    const BytesView index = bytes.substr(0, bytes.size() - kTrailer);
    ByteReader trailer(bytes.substr(index.size()));
    if (trailer.u64() != hash_bytes(index)) return corrupt("checksum of the block index differs");
    if (trailer.u64() != index_offset) return corrupt("block index is not where it should be");
    ByteReader in(index);
    std::vector<BlockInfo> blocks;
    const std::uint64_t count = in.varint();
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) blocks.push_back(read_block_info(in));
    if (!in.ok() || !in.at_end()) return corrupt("block index does not parse");
    return blocks;
  }

  [[nodiscard]] Result<Updates> decode_block(const BlockInfo& block,
                                             BytesView bytes) const override {
    if (bytes.size() != block.size) return corrupt("block has the wrong size");
    if (hash_bytes(bytes) != block.checksum) return corrupt("checksum of a block differs");
    Updates updates = FRESHET_TRY(persist::decode_block(bytes));
    if (updates.size() != block.updates) return corrupt("block has the wrong number of updates");
    return updates;
  }

 private:
  [[nodiscard]] std::size_t block_end(const Updates& updates, std::size_t first) const {
    const auto offsets = updates.offsets();
    std::size_t last = first;
    while (last < updates.size() &&
           offsets[last] - offsets[first] + (last - first) * 12 < options_.block_bytes) {
      ++last;
    }
    return std::max(last, first + 1);
  }

  [[nodiscard]] BlockInfo write_block(const Updates& updates, std::size_t first, std::size_t last,
                                      ByteWriter& out) const {
    const Bytes bytes = encode_block(updates, first, last, options_.compression);
    const auto times = updates.times().subspan(first, last - first);
    BlockInfo block{.offset = out.size(),
                    .size = static_cast<std::uint32_t>(bytes.size()),
                    .updates = static_cast<std::uint32_t>(last - first),
                    .checksum = hash_bytes(bytes),
                    .least_row = Bytes(updates.row(first).substr(0, kBoundBytes)),
                    .greatest_row = Bytes(updates.row(last - 1).substr(0, kBoundBytes)),
                    .least_time = *std::ranges::min_element(times),
                    .greatest_time = *std::ranges::max_element(times)};
    out.raw(bytes);
    return block;
  }

  BlockCodecOptions options_;
};

}  // namespace

bool may_hold_rows(const BlockInfo& block, BytesView from, BytesView to) {
  if (!to.empty() && BytesView(block.least_row) >= to) return false;
  // A bound of full length stands for everything that starts with it.
  if (block.greatest_row.size() >= kBoundBytes) from = from.substr(0, kBoundBytes);
  return BytesView(block.greatest_row) >= from;
}

std::unique_ptr<PartCodec> make_block_codec(BlockCodecOptions options) {
  return std::make_unique<BlockCodec>(options);
}

}  // namespace freshet::persist
