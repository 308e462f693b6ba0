// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <freshet/expr/aggregate.h>

namespace freshet::expr {
namespace {

using repr::Int128;
using repr::UInt128;
using Entry = AccumulatorSet::Entry;

UInt128 amount_of(const Entry& entry) {
  return static_cast<UInt128>(entry.high) << 64 | entry.low;
}
void set_amount(Entry& entry, UInt128 amount) {
  entry.low = static_cast<std::uint64_t>(amount);
  entry.high = static_cast<std::uint64_t>(amount >> 64);
}
bool vanishes(const Entry& entry) { return (entry.low | entry.high) == 0; }

void put_varint(std::string& out, UInt128 value) {
  while (value >= 128) {
    out += static_cast<char>(static_cast<unsigned char>(value) | 0x80U);
    value >>= 7;
  }
  out += static_cast<char>(static_cast<unsigned char>(value));
}
// Small magnitudes of either sign become small numbers.
UInt128 zigzag(UInt128 value) {
  const auto sign = static_cast<UInt128>(static_cast<Int128>(value) >> 127);
  return (value << 1) ^ sign;
}
UInt128 unzigzag(UInt128 value) { return (value >> 1) ^ (UInt128{0} - (value & 1)); }

bool get_varint(std::string_view& in, UInt128& value) {
  value = 0;
  for (unsigned shift = 0; shift < 128 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<UInt128>(byte & 0x7F) << shift;
    if (byte < 128) return true;
  }
  return false;
}

}  // namespace

AccumulatorSet::AccumulatorSet(const AccumulatorSet& other) { assign(other); }
AccumulatorSet::AccumulatorSet(AccumulatorSet&& other) noexcept { take(other); }
AccumulatorSet& AccumulatorSet::operator=(const AccumulatorSet& other) {
  if (this != &other) assign(other);
  return *this;
}
AccumulatorSet& AccumulatorSet::operator=(AccumulatorSet&& other) noexcept {
  if (this != &other) {
    if (capacity_ > kInline) delete[] heap_;
    take(other);
  }
  return *this;
}
AccumulatorSet::~AccumulatorSet() {
  if (capacity_ > kInline) delete[] heap_;
}

void AccumulatorSet::assign(const AccumulatorSet& other) {
  size_ = 0;
  reserve(other.size_);
  std::copy_n(other.data(), other.size_, data());
  size_ = other.size_;
  records_ = other.records_;
}

void AccumulatorSet::take(AccumulatorSet& other) noexcept {
  records_ = other.records_;
  size_ = other.size_;
  capacity_ = other.capacity_;
  if (capacity_ > kInline) {
    heap_ = other.heap_;
  } else {
    std::copy_n(other.inline_, size_, inline_);
  }
  other.records_ = 0;
  other.size_ = 0;
  other.capacity_ = kInline;
}

void AccumulatorSet::reserve(std::uint32_t capacity) {
  if (capacity <= capacity_) return;
  capacity = std::max(capacity, 2 * capacity_);
  auto* grown = new Entry[capacity];
  std::copy_n(data(), size_, grown);
  if (capacity_ > kInline) delete[] heap_;
  heap_ = grown;
  capacity_ = capacity;
}

void AccumulatorSet::add_records(std::int64_t count) {
  records_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(records_) +
                                       static_cast<std::uint64_t>(count));
}

void AccumulatorSet::add(std::uint64_t coordinate, Int128 amount) {
  if (amount == 0) return;
  Entry* begin = data();
  Entry* at = std::lower_bound(begin, begin + size_, coordinate, [](const Entry& e, std::uint64_t c) {
    return e.coordinate < c;
  });
  const auto index = static_cast<std::uint32_t>(at - begin);
  if (index < size_ && at->coordinate == coordinate) {
    set_amount(*at, amount_of(*at) + static_cast<UInt128>(amount));
    if (vanishes(*at)) {
      std::copy(at + 1, begin + size_, at);
      --size_;
    }
    return;
  }
  reserve(size_ + 1);
  begin = data();
  std::copy_backward(begin + index, begin + size_, begin + size_ + 1);
  begin[index].coordinate = coordinate;
  set_amount(begin[index], static_cast<UInt128>(amount));
  ++size_;
}

Int128 AccumulatorSet::at(std::uint64_t coordinate) const {
  const auto all = entries();
  const auto found = std::lower_bound(all.begin(), all.end(), coordinate,
                                      [](const Entry& e, std::uint64_t c) { return e.coordinate < c; });
  if (found == all.end() || found->coordinate != coordinate) return 0;
  return static_cast<Int128>(amount_of(*found));
}

void AccumulatorSet::drop_zeros() {
  Entry* begin = data();
  size_ = static_cast<std::uint32_t>(std::remove_if(begin, begin + size_, vanishes) - begin);
}

AccumulatorSet& AccumulatorSet::operator+=(const AccumulatorSet& other) {
  add_records(other.records_);
  const Entry* from = other.data();
  // Most sets of one Reduce have the same coordinates: add in place.
  if (size_ == other.size_) {
    Entry* to = data();
    bool same = true;
    for (std::uint32_t i = 0; i < size_; ++i) same = same && to[i].coordinate == from[i].coordinate;
    if (same) {
      bool zeros = false;
      for (std::uint32_t i = 0; i < size_; ++i) {
        set_amount(to[i], amount_of(to[i]) + amount_of(from[i]));
        zeros = zeros || vanishes(to[i]);
      }
      if (zeros) drop_zeros();
      return *this;
    }
  }
  merge(other);
  return *this;
}

void AccumulatorSet::merge(const AccumulatorSet& other) {
  AccumulatorSet out;
  out.records_ = records_;
  out.reserve(size_ + other.size_);
  Entry* to = out.data();
  const Entry* a = data();
  const Entry* a_end = a + size_;
  const Entry* b = other.data();
  const Entry* b_end = b + other.size_;
  while (a != a_end && b != b_end) {
    if (a->coordinate < b->coordinate) {
      *to++ = *a++;
    } else if (b->coordinate < a->coordinate) {
      *to++ = *b++;
    } else {
      *to = *a++;
      set_amount(*to, amount_of(*to) + amount_of(*b++));
      if (!vanishes(*to)) ++to;
    }
  }
  to = std::copy(a, a_end, to);
  to = std::copy(b, b_end, to);
  out.size_ = static_cast<std::uint32_t>(to - out.data());
  *this = std::move(out);
}

AccumulatorSet AccumulatorSet::operator*(std::int64_t factor) const {
  AccumulatorSet out(*this);
  out.records_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(records_) *
                                           static_cast<std::uint64_t>(factor));
  Entry* entry = out.data();
  for (std::uint32_t i = 0; i < size_; ++i) {
    set_amount(entry[i], amount_of(entry[i]) * static_cast<UInt128>(static_cast<Int128>(factor)));
  }
  out.drop_zeros();
  return out;
}

bool operator==(const AccumulatorSet& a, const AccumulatorSet& b) {
  return a.records_ == b.records_ && std::ranges::equal(a.entries(), b.entries());
}

void AccumulatorSet::encode(std::string& out) const {
  put_varint(out, zigzag(static_cast<UInt128>(static_cast<Int128>(records_))));
  put_varint(out, size_);
  std::uint64_t previous = 0;
  for (const Entry& entry : entries()) {
    put_varint(out, entry.coordinate - previous);
    put_varint(out, zigzag(amount_of(entry)));
    previous = entry.coordinate;
  }
}

Result<AccumulatorSet> AccumulatorSet::decode(std::string_view& bytes) {
  const auto corrupt = [] {
    return fail(ErrorCode::kCorrupt, "accumulators are not what was written");
  };
  AccumulatorSet out;
  UInt128 records = 0;
  UInt128 size = 0;
  if (!get_varint(bytes, records) || !get_varint(bytes, size)) return corrupt();
  if (size > bytes.size() / 2) return corrupt();
  out.records_ = static_cast<std::int64_t>(unzigzag(records));
  out.reserve(static_cast<std::uint32_t>(size));
  Entry* entry = out.data();
  std::uint64_t coordinate = 0;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(size); ++i, ++entry) {
    UInt128 step = 0;
    UInt128 amount = 0;
    if (!get_varint(bytes, step) || !get_varint(bytes, amount)) return corrupt();
    if ((step == 0 && i > 0) || step > UINT64_MAX - coordinate || amount == 0) return corrupt();
    coordinate += static_cast<std::uint64_t>(step);
    entry->coordinate = coordinate;
    set_amount(*entry, unzigzag(amount));
  }
  out.size_ = static_cast<std::uint32_t>(size);
  return out;
}

}  // namespace freshet::expr
