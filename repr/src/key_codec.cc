// SPDX-License-Identifier: Apache-2.0
#include "key_codec.h"

namespace freshet::repr::key {

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    if (static_cast<unsigned char>(c) <= 1) {
      out.push_back(1);
      out.push_back(static_cast<char>(c + 1));
    } else {
      out.push_back(c);
    }
  }
}

bool get_bytea(Cursor& in, std::string& out) {
  if (*in.at != kBytea) return false;
  const std::uint8_t* p = in.at + 1;
  for (; p != in.end && *p != 0; ++p) {
    std::uint8_t byte = *p;
    if (byte == 1) {
      if (++p == in.end || *p < 1 || *p > 2) return false;
      byte = static_cast<std::uint8_t>(*p - 1);
    }
    out.push_back(static_cast<char>(byte));
  }
  if (p == in.end) return false;
  in.at = p + 1;
  return true;
}

Interval default_parts(Int128 span) {
  const Int128 whole_days = span / kMicrosPerDay;
  if (whole_days >= INT32_MIN && whole_days <= INT32_MAX) {
    return {0, static_cast<std::int32_t>(whole_days),
            static_cast<std::int64_t>(span % kMicrosPerDay)};
  }
  const auto clamp = [](Int128 value) {
    return static_cast<std::int32_t>(value < INT32_MIN   ? INT32_MIN
                                     : value > INT32_MAX ? INT32_MAX
                                                         : value);
  };
  const std::int32_t months = clamp(span / (30 * kMicrosPerDay));
  const std::int32_t days = clamp((span - Int128{months} * 30 * kMicrosPerDay) / kMicrosPerDay);
  Interval parts;
  interval_of_span(span, months, days, parts);  // fails only for spans that no interval has
  return parts;
}

std::size_t put_interval(std::uint8_t* p, Int128 span) {
  if (span == 0) return *p = kIntervalZero, 1;
  const UInt128 folded = static_cast<UInt128>(span < 0 ? ~span : span);
  const auto high = static_cast<std::uint64_t>(folded >> 64);
  const unsigned n = high != 0 ? 8 + significant_bytes(high)
                               : significant_bytes(static_cast<std::uint64_t>(folded));
  FRESHET_ASSERT(n <= 10, n);  // 2^31 months are less than 2^73 microseconds
  *p = static_cast<std::uint8_t>(span < 0 ? kIntervalNegative10 + 10 - n
                                          : kIntervalPositive1 + n - 1);
  for (unsigned i = 0; i < n; ++i) {
    p[1 + i] = static_cast<std::uint8_t>(static_cast<UInt128>(span) >> (8 * (n - 1 - i)));
  }
  return 1 + n;
}

bool get_interval(Cursor& in, Int128& span) {
  const std::uint8_t tag = *in.at;
  if (tag < kIntervalNegative10 || tag >= kIntervalPositive1 + 10) return false;
  const unsigned n = kSkipTable[tag];
  if (n >= in.left()) return false;
  span = tag < kIntervalZero ? -1 : 0;
  for (unsigned i = 1; i <= n; ++i) span = span * 256 + in.at[i];
  // A negative span is its bytes below -1, shifted up: -256^n plus the bytes.
  in.at += 1 + n;
  return true;
}

bool interval_of_span(Int128 span, std::int64_t months, std::int64_t days, Interval& out) {
  if (months < INT32_MIN || months > INT32_MAX || days < INT32_MIN || days > INT32_MAX)
    return false;
  const Int128 micros = span - static_cast<Int128>(months * 30 + days) * kMicrosPerDay;
  if (micros < INT64_MIN || micros > INT64_MAX) return false;
  out = {static_cast<std::int32_t>(months), static_cast<std::int32_t>(days),
         static_cast<std::int64_t>(micros)};
  return true;
}

bool get_varint(Cursor& in, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (in.at == in.end) return false;
    const std::uint8_t byte = *in.at++;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

namespace {

bool skip_past_zero(Cursor& in) {
  const auto* zero = static_cast<const std::uint8_t*>(std::memchr(in.at, 0, in.left()));
  if (zero == nullptr) return false;
  in.at = zero + 1;
  return true;
}

bool skip_numeric(Cursor& in) {
  const std::uint8_t tag = *in.at;
  std::size_t size = kNumericTables.size[tag];
  if (tag == kNumericNegativeBig || tag == kNumericPositiveBig) {
    if (in.left() < 3) return false;
    size = static_cast<std::size_t>(in.at[1]) << 8 | in.at[2];
    if (tag == kNumericNegativeBig) size = 0xFFFF - size;
    size += 2;
  }
  if (size >= in.left()) return false;
  in.at += 1 + size;
  // The fraction: zero, or bytes of which the last is odd.
  while (in.at != in.end) {
    const std::uint8_t byte = *in.at++;
    if (byte == 0 || (byte & 1) != 0) return true;
  }
  return false;
}

bool skip_array(Cursor& in, unsigned depth) {
  ++in.at;
  while (in.at != in.end && *in.at != kEnd) {
    if (!skip_slow(in, depth + 1)) return false;
  }
  if (in.left() < 2) return false;
  const std::size_t dimensions = in.at[1];
  in.at += 2;
  if (dimensions > kMaxDimensions) return false;
  const std::size_t numbers = dimensions < 2 ? dimensions : 2 * dimensions;
  for (std::size_t i = 0; i < numbers; ++i) {
    if (!skip_slow(in, depth + 1)) return false;
  }
  return true;
}

}  // namespace

bool skip_slow(Cursor& in, unsigned depth) {
  if (in.at == in.end || depth > 32) return false;
  const std::uint8_t tag = *in.at;
  const std::uint8_t size = kSkipTable[tag];
  if (size == kSkipBad) return false;
  if (size != kSkipSlow) {
    if (size >= in.left()) return false;
    in.at += 1 + size;
    return true;
  }
  if (tag == kText || tag == kBytea) return skip_past_zero(in);
  return tag == kArray ? skip_array(in, depth) : skip_numeric(in);
}

}  // namespace freshet::repr::key
