// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include <freshet/base/assert.h>

namespace freshet::persist {
namespace {

using base::Bytes;
using base::BytesView;

constexpr int kZstdLevel = 1;

struct Header {
  std::uint8_t compression = 0;
  std::uint8_t length_width = 0;
  std::uint8_t time_width = 0;  ///< 0: all times are `least_time`.
  std::uint8_t diff_width = 0;  ///< 0: all diffs are one.
  std::uint32_t updates = 0;
  std::uint32_t row_bytes = 0;
  std::uint32_t raw_bytes = 0;
  std::uint64_t least_time = 0;
};
static_assert(sizeof(Header) == 24);

std::uint8_t width_of(std::uint64_t greatest) {
  if (greatest == 0) return 0;
  if (greatest <= UINT8_MAX) return 1;
  if (greatest <= UINT16_MAX) return 2;
  return greatest <= UINT32_MAX ? 4 : 8;
}

std::uint64_t zigzag(Diff v) {
  return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
}
Diff unzigzag(std::uint64_t v) { return static_cast<Diff>((v >> 1) ^ (~(v & 1) + 1)); }

/// Calls `f` with an integer type of `width` bytes.
template <typename F>
void with_width(std::uint8_t width, F f) {
  switch (width) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

/// Appends value(i) for i in [first, last) as integers of `width` bytes.
template <typename F>
void append_column(Bytes& out, std::uint8_t width, std::size_t first, std::size_t last, F value) {
  if (width == 0) return;
  const std::size_t start = out.size();
  out.resize(start + (last - first) * width);
  with_width(width, [&](auto type) {
    using T = decltype(type);
    char* to = out.data() + start;
    for (std::size_t i = first; i < last; ++i, to += sizeof(T)) {
      const T v = static_cast<T>(value(i));
      std::memcpy(to, &v, sizeof v);
    }
  });
}

template <typename F>
void read_column(const char* from, std::uint8_t width, std::size_t count, F use) {
  with_width(width, [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < count; ++i, from += sizeof(T)) {
      T v;
      std::memcpy(&v, from, sizeof v);
      use(v);
    }
  });
}

/// Compresses `raw` behind the header that `out` holds; returns what was used in the end.
Compression compress(BytesView raw, Compression wanted, Bytes& out) {
  const std::size_t start = out.size();
  std::size_t size = 0;
  if (wanted == Compression::kLz4) {
    out.resize(start + static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(raw.size()))));
    size = static_cast<std::size_t>(LZ4_compress_default(raw.data(), out.data() + start,
                                                         static_cast<int>(raw.size()),
                                                         static_cast<int>(out.size() - start)));
  } else if (wanted == Compression::kZstd) {
    out.resize(start + ZSTD_compressBound(raw.size()));
    size =
        ZSTD_compress(out.data() + start, out.size() - start, raw.data(), raw.size(), kZstdLevel);
    if (ZSTD_isError(size) != 0) size = 0;
  }
  if (size == 0 || size >= raw.size()) {
    out.resize(start);
    out.append(raw);
    return Compression::kNone;
  }
  out.resize(start + size);
  return wanted;
}

bool decompress(Compression compression, BytesView from, Bytes& raw) {
  switch (compression) {
    case Compression::kNone:
      if (from.size() != raw.size()) return false;
      std::memcpy(raw.data(), from.data(), from.size());
      return true;
    case Compression::kLz4:
      return LZ4_decompress_safe(from.data(), raw.data(), static_cast<int>(from.size()),
                                 static_cast<int>(raw.size())) == static_cast<int>(raw.size());
    case Compression::kZstd:
      return ZSTD_decompress(raw.data(), raw.size(), from.data(), from.size()) == raw.size();
  }
  return false;
}

}  // namespace

Bytes encode_block(const Updates& updates, std::size_t first, std::size_t last,
                   Compression compression) {
  FRESHET_ASSERT(first < last && last <= updates.size(), first, last, updates.size());
  const auto offsets = updates.offsets();
  const auto times = updates.times().subspan(first, last - first);
  const auto [least, greatest] = std::ranges::minmax_element(times);
  std::uint64_t longest = 1;
  bool all_ones = true;
  std::uint64_t greatest_diff = 1;
  for (std::size_t i = first; i < last; ++i) {
    longest = std::max<std::uint64_t>(longest, offsets[i + 1] - offsets[i]);
    all_ones = all_ones && updates.diff(i) == 1;
    greatest_diff = std::max(greatest_diff, zigzag(updates.diff(i)));
  }
  Header header{.length_width = width_of(longest),
                .time_width = width_of(*greatest - *least),
                .diff_width = all_ones ? std::uint8_t{0} : width_of(greatest_diff),
                .updates = static_cast<std::uint32_t>(last - first),
                .row_bytes = offsets[last] - offsets[first],
                .least_time = *least};
  Bytes raw;
  raw.reserve(header.row_bytes + (last - first) * 20);
  raw.append(updates.rows().substr(offsets[first], header.row_bytes));
  append_column(raw, header.length_width, first, last,
                [&](std::size_t i) { return offsets[i + 1] - offsets[i]; });
  append_column(raw, header.time_width, first, last,
                [&](std::size_t i) { return updates.time(i) - header.least_time; });
  append_column(raw, header.diff_width, first, last,
                [&](std::size_t i) { return zigzag(updates.diff(i)); });
  FRESHET_ASSERT(raw.size() < LZ4_MAX_INPUT_SIZE, raw.size());
  header.raw_bytes = static_cast<std::uint32_t>(raw.size());
  Bytes out(sizeof header, '\0');
  header.compression = static_cast<std::uint8_t>(compress(raw, compression, out));
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Result<Updates> decode_block(BytesView bytes) {
  const auto bad = [](const char* what) { return fail(ErrorCode::kCorrupt, what); };
  Header header;
  if (bytes.size() < sizeof header) return bad("block is shorter than its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  const auto known = [](unsigned w) { return w == 0 || w == 1 || w == 2 || w == 4 || w == 8; };
  const std::uint64_t count = header.updates;
  if (!known(header.length_width) || header.length_width == 0 || !known(header.time_width) ||
      !known(header.diff_width) || header.compression > 2) {
    return bad("block header has impossible values");
  }
  const std::uint64_t columns =
      count * header.length_width + count * header.time_width + count * header.diff_width;
  if (header.raw_bytes >= LZ4_MAX_INPUT_SIZE || header.raw_bytes != header.row_bytes + columns ||
      header.raw_bytes / 300 > bytes.size()) {
    return bad("block header has impossible sizes");
  }
  Bytes raw(header.raw_bytes, '\0');
  if (!decompress(static_cast<Compression>(header.compression), bytes, raw)) {
    return bad("block does not decompress to its size");
  }
  const char* column = raw.data() + header.row_bytes;
  std::vector<std::uint32_t> offsets;
  offsets.reserve(count + 1);
  offsets.push_back(0);
  std::uint64_t end = 0;
  read_column(column, header.length_width, count, [&](auto length) {
    end += length;
    offsets.push_back(static_cast<std::uint32_t>(end));
  });
  if (end != header.row_bytes) return bad("row lengths of a block do not add up");
  column += count * header.length_width;
  std::vector<Time> times;
  if (header.time_width == 0) {
    times.assign(count, header.least_time);
  } else {
    times.reserve(count);
    read_column(column, header.time_width, count,
                [&](auto offset) { times.push_back(header.least_time + offset); });
  }
  column += count * header.time_width;
  std::vector<Diff> diffs;
  if (header.diff_width == 0) {
    diffs.assign(count, 1);
  } else {
    diffs.reserve(count);
    read_column(column, header.diff_width, count,
                [&](auto diff) { diffs.push_back(unzigzag(diff)); });
  }
  return Updates::adopt(std::move(raw), std::move(offsets), std::move(times), std::move(diffs));
}

}  // namespace freshet::persist
