// SPDX-License-Identifier: Apache-2.0
#include <differential/sort.h>

namespace differential::detail {

std::size_t shared_prefix(ColumnView<std::string> strings, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view first = strings[0];
  std::size_t shared = first.size();
  for (std::size_t i = 1; i < size && shared > 0; ++i) {
    const std::string_view other = strings[i];
    if (other.size() < shared) shared = other.size();
    if (std::memcmp(first.data(), other.data(), shared) != 0) {
      std::size_t same = 0;
      while (first[same] == other[same]) ++same;
      shared = same;
    }
  }
  return shared;
}

void sort_many_rows(std::span<std::uint32_t> rows, const void* context,
                    bool (*less)(const void* context, std::uint32_t a, std::uint32_t b)) {
  std::sort(rows.begin(), rows.end(),
            [&](std::uint32_t a, std::uint32_t b) { return less(context, a, b); });
}

void radix_sort_packed(SortScratch& scratch, unsigned shift, unsigned bits) {
  constexpr unsigned kMostBits = 11;
  const unsigned passes = (bits + kMostBits - 1) / kMostBits;
  if (passes == 0) return;
  const unsigned each = (bits + passes - 1) / passes;
  const std::uint64_t mask = (std::uint64_t{1} << each) - 1;
  const std::size_t size = scratch.packed.size();
  auto& counts = scratch.counts;
  counts.assign(passes << each, 0);
  for (const std::uint64_t v : scratch.packed) {
    for (unsigned pass = 0; pass < passes; ++pass) {
      ++counts[(pass << each) + ((v >> (shift + pass * each)) & mask)];
    }
  }
  scratch.packed_other.resize(size);
  for (unsigned pass = 0; pass < passes; ++pass) {
    std::uint32_t* bucket = counts.data() + (pass << each);
    std::uint32_t start = 0;
    for (std::size_t i = 0; i <= mask; ++i) start += std::exchange(bucket[i], start);
    const std::uint64_t* from = scratch.packed.data();
    std::uint64_t* to = scratch.packed_other.data();
    const unsigned at = shift + pass * each;
    for (std::size_t i = 0; i < size; ++i) to[bucket[(from[i] >> at) & mask]++] = from[i];
    std::swap(scratch.packed, scratch.packed_other);
  }
}

std::span<SortEntry> radix_pass(SortScratch& scratch, std::vector<std::uint32_t>& bounds) {
  auto& from = scratch.entries;
  auto& to = scratch.other;
  to.resize(from.size());
  std::uint64_t differing = 0;
  for (const SortEntry& e : from) differing |= e.prefix ^ from[0].prefix;
  if (differing == 0) {
    bounds.assign(1, static_cast<std::uint32_t>(from.size()));
    return from;
  }
  const unsigned top = 64 - static_cast<unsigned>(std::countl_zero(differing));
  unsigned bits = 8;
  while (bits < 14 && (std::size_t{8} << bits) < from.size()) ++bits;
  if (bits > top) bits = top;
  const unsigned shift = top - bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  bounds.assign(std::size_t{1} << bits, 0);
  for (const SortEntry& e : from) ++bounds[(e.prefix >> shift) & mask];
  std::uint32_t start = 0;
  for (std::uint32_t& b : bounds) start += std::exchange(b, start);
  for (const SortEntry& e : from) to[bounds[(e.prefix >> shift) & mask]++] = e;
  return to;
}

}  // namespace differential::detail
