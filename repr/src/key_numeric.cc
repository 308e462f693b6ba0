// SPDX-License-Identifier: Apache-2.0
#include "key_codec.h"
#include "numeric_big.h"

namespace freshet::repr::key {
namespace {

using Access = NumericAccess;

// Pairs of fraction digits, the last not zero: byte 2p + 2 if more follow, 2p + 1 if not; 0 for
// none.
std::size_t put_fraction(std::uint8_t* p, UInt128 fraction, int scale, std::uint32_t& zeros) {
  if (fraction == 0) {
    zeros = static_cast<std::uint32_t>(scale);
    *p = 0;
    return 1;
  }
  std::uint32_t dropped = 0;
  if (scale % 2 != 0) {
    fraction *= 10;
    dropped = static_cast<std::uint32_t>(-1);  // the digit just added does not count
    ++scale;
  }
  std::array<std::uint8_t, 20> pairs;
  const auto count = static_cast<std::size_t>(scale / 2);
  std::size_t i = count;
  for (; fraction > UINT64_MAX; fraction /= 100)
    pairs[--i] = static_cast<std::uint8_t>(fraction % 100);
  auto low = static_cast<std::uint64_t>(fraction);
  for (; i > 0; low /= 100) pairs[--i] = static_cast<std::uint8_t>(low % 100);
  std::size_t last = count - 1;
  for (; pairs[last] == 0; --last) dropped += 2;
  if (pairs[last] % 10 == 0) ++dropped;
  for (i = 0; i < last; ++i) p[i] = static_cast<std::uint8_t>(2 * pairs[i] + 2);
  p[last] = static_cast<std::uint8_t>(2 * pairs[last] + 1);
  zeros = dropped;
  return last + 1;
}

// 0 if the whole part has more than 64 bits.
std::size_t put_whole(std::uint8_t* p, Int128 whole) {
  if (whole >= 0 && whole < kNumericSmall) {
    *p = static_cast<std::uint8_t>(kNumericZero + static_cast<int>(whole));
    return 1;
  }
  const UInt128 folded = static_cast<UInt128>(whole < 0 ? ~whole : whole);
  if (folded > UINT64_MAX) return 0;
  const unsigned n = significant_bytes(static_cast<std::uint64_t>(folded));
  *p = static_cast<std::uint8_t>(whole < 0 ? kNumericNegative8 + 8 - n : kNumericPositive1 + n - 1);
  store_big_endian(p + 1, static_cast<std::uint64_t>(whole) << (64 - 8 * n));
  return 1 + n;
}

// Money, two digits behind the point: division by a constant, and at most one pair.
std::size_t put_money(std::uint8_t* p, std::int64_t value, std::uint32_t& zeros) {
  std::int64_t whole = value / 100;
  auto cents = static_cast<int>(value % 100);
  if (cents < 0) --whole, cents += 100;
  const std::size_t size = put_whole(p, whole);
  p[size] = static_cast<std::uint8_t>(cents == 0 ? 0 : 2 * cents + 1);
  zeros = cents == 0 ? 2 : cents % 10 == 0 ? 1 : 0;
  return size + 1;
}

struct Split {
  Int128 whole;
  UInt128 fraction;
};

Split split(Int128 coefficient, int scale) {
  const Int128 unit = kPowersOfTen[static_cast<std::size_t>(scale)];
  if (scale <= 18 && coefficient <= INT64_MAX && coefficient >= INT64_MIN) {
    const auto value = static_cast<std::int64_t>(coefficient);
    const auto unit64 = static_cast<std::int64_t>(unit);
    std::int64_t whole = value / unit64;
    std::int64_t rest = value % unit64;
    if (rest < 0) --whole, rest += unit64;
    return {whole, static_cast<UInt128>(rest)};
  }
  Int128 whole = coefficient / unit;
  Int128 rest = coefficient % unit;
  if (rest < 0) --whole, rest += unit;
  return {whole, static_cast<UInt128>(rest)};
}

std::string big_endian_bytes(const BigInt& value) {
  std::string bytes;
  export_bits(value, std::back_inserter(bytes), 8);
  return bytes;
}

void append_big_whole(std::string& out, const BigInt& whole) {
  const bool negative = whole < 0;
  const BigInt folded = negative ? BigInt(-whole - 1) : whole;
  const std::size_t n = folded.is_zero() ? 1 : msb(folded) / 8 + 1;
  FRESHET_ASSERT(n < 0xFFFF, n);
  std::string bytes = folded.is_zero() ? std::string(1, '\0') : big_endian_bytes(folded);
  if (negative) {
    for (char& byte : bytes) byte = static_cast<char>(~byte);
  }
  if (n <= 8) {
    out.push_back(
        static_cast<char>(negative ? kNumericNegative8 + 8 - n : kNumericPositive1 + n - 1));
  } else {
    const std::size_t size = negative ? 0xFFFF - n : n;
    out.push_back(static_cast<char>(negative ? kNumericNegativeBig : kNumericPositiveBig));
    out.push_back(static_cast<char>(size >> 8));
    out.push_back(static_cast<char>(size));
  }
  out += bytes;
}

// The whole part of any size; the cursor stands behind it afterwards.
bool get_whole(Cursor& in, BigInt& whole) {
  const std::uint8_t tag = *in.at;
  const unsigned small = kNumericTables.size[tag];
  if (small == 0) {
    whole = kNumericTables.base[tag];
    ++in.at;
    return true;
  }
  std::size_t size = small;
  std::size_t head = 1;
  if (small == 0xFF) {
    if ((tag != kNumericNegativeBig && tag != kNumericPositiveBig) || in.left() < 3) return false;
    size = static_cast<std::size_t>(in.at[1]) << 8 | in.at[2];
    if (tag == kNumericNegativeBig) size = 0xFFFF - size;
    head = 3;
  }
  if (in.left() < head + size || size == 0) return false;
  import_bits(whole, in.at + head, in.at + head + size, 8);
  if (tag < kNumericZero) whole -= BigInt(1) << static_cast<unsigned>(8 * size);
  in.at += head + size;
  return true;
}

bool get_numeric_slow(Cursor& in, Numeric& value) {
  BigInt coefficient;
  if (!get_whole(in, coefficient)) return false;
  std::string digits;
  while (true) {
    if (in.at == in.end) return false;
    const std::uint8_t byte = *in.at++;
    if (byte == 0 && digits.empty()) break;
    if (byte == 0 || byte > 200) return false;
    const int pair = (byte - 1) / 2;
    digits.push_back(static_cast<char>('0' + pair / 10));
    digits.push_back(static_cast<char>('0' + pair % 10));
    if ((byte & 1) != 0) break;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  if (digits.size() > static_cast<std::size_t>(kMaxScale)) return false;
  const int scale = static_cast<int>(digits.size());
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  coefficient *= power_of_ten(scale);
  if (!digits.empty()) coefficient += BigInt(digits);
  value = Access::make(coefficient, scale);
  return true;
}

}  // namespace

std::size_t put_numeric(std::uint8_t* p, const Numeric& value, std::uint32_t& zeros) {
  if (!Access::is_small(value)) {
    zeros = 0;
    switch (Access::kind(value)) {
      case Access::Kind::kNaN:
        return *p = kNumericNaN, 1;
      case Access::Kind::kInfinity:
        return *p = kNumericInfinity, 1;
      case Access::Kind::kNegativeInfinity:
        return *p = kNumericNegativeInfinity, 1;
      default:
        return 0;
    }
  }
  const int scale = value.scale();
  const Int128 coefficient = Access::small(value);
  if (scale == 2 && coefficient <= INT64_MAX && coefficient >= INT64_MIN) {
    return put_money(p, static_cast<std::int64_t>(coefficient), zeros);
  }
  if (scale >= static_cast<int>(kPowersOfTen.size()) - 1) return 0;
  const Split parts = split(coefficient, scale);
  const std::size_t size = put_whole(p, parts.whole);
  if (size == 0) return 0;
  return size + put_fraction(p + size, parts.fraction, scale, zeros);
}

void append_numeric_slow(std::string& out, const Numeric& value, std::uint32_t& zeros) {
  const BigParts parts = Access::parts(value);
  const BigInt unit = power_of_ten(parts.scale);
  BigInt whole, rest;
  boost::multiprecision::divide_qr(parts.coefficient, unit, whole, rest);
  if (rest < 0) {
    whole -= 1;
    rest += unit;
  }
  std::uint8_t head[16];
  if (whole >= 0 && whole < kNumericSmall) {
    out.append(reinterpret_cast<const char*>(head), put_whole(head, static_cast<int>(whole)));
  } else {
    append_big_whole(out, whole);
  }
  std::string digits = rest.is_zero() ? "" : rest.str();
  const auto scale = static_cast<std::size_t>(parts.scale);
  digits.insert(0, scale - digits.size(), '0');
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  zeros = static_cast<std::uint32_t>(scale - digits.size());
  if (digits.empty()) return out.push_back(0);
  if (digits.size() % 2 != 0) digits.push_back('0');
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int pair = (digits[i] - '0') * 10 + (digits[i + 1] - '0');
    out.push_back(static_cast<char>(2 * pair + (i + 2 < digits.size() ? 2 : 1)));
  }
}

bool get_numeric(Cursor& in, Numeric& value) {
  const std::uint8_t tag = *in.at;
  const unsigned n = kNumericTables.size[tag];
  if (n > 8) {
    if (tag == kNumericNaN) return value = Numeric::nan(), ++in.at, true;
    if (tag == kNumericInfinity) return value = Numeric::infinity(), ++in.at, true;
    if (tag == kNumericNegativeInfinity) return value = Numeric::infinity(true), ++in.at, true;
    return get_numeric_slow(in, value);
  }
  if (n + 1 >= in.left()) return false;
  Cursor at = in;
  const std::uint64_t payload = load_payload(in, n);
  const Int128 base =
      tag == kNumericNegative8 ? -(Int128{1} << 64) : Int128{kNumericTables.base[tag]};
  at.at += 1 + n;
  std::uint64_t fraction = 0;
  int digits = 0;
  while (true) {
    if (at.at == at.end) return false;
    const std::uint8_t byte = *at.at++;
    if (byte == 0) {
      if (digits != 0) return false;
      break;
    }
    if (byte > 200) return false;
    if (digits == 18) return get_numeric_slow(in, value);
    const unsigned pair = static_cast<unsigned>(byte - 1) / 2;
    fraction = fraction * 100 + pair;
    digits += 2;
    if ((byte & 1) != 0) {
      if (pair % 10 == 0) fraction /= 10, --digits;
      break;
    }
  }
  if (n <= 5 && digits <= 6 && Access::is_small(value)) [[likely]] {
    // Forty bits times a million: nothing overflows.
    const auto whole = static_cast<std::int64_t>(payload) + kNumericTables.base[tag];
    const auto small_unit =
        static_cast<std::int64_t>(kPowersOfTen[static_cast<std::size_t>(digits)]);
    Access::set(value, whole * small_unit + static_cast<std::int64_t>(fraction), digits);
    in.at = at.at;
    return true;
  }
  Int128 coefficient;
  const Int128 unit = kPowersOfTen[static_cast<std::size_t>(digits)];
  if (__builtin_mul_overflow(static_cast<Int128>(payload) + base, unit, &coefficient))
    return get_numeric_slow(in, value);
  if (__builtin_add_overflow(coefficient, static_cast<Int128>(fraction), &coefficient) ||
      coefficient < -kInt128Max) {
    return get_numeric_slow(in, value);
  }
  value = Access::make(coefficient, digits);
  in.at = at.at;
  return true;
}

bool add_zeros(Numeric& value, std::uint64_t zeros) {
  if (!value.is_finite() || zeros > static_cast<std::uint64_t>(kMaxScale - value.scale()))
    return false;
  const int scale = value.scale() + static_cast<int>(zeros);
  Int128 coefficient;
  if (Access::is_small(value) && zeros < kPowersOfTen.size() &&
      !__builtin_mul_overflow(Access::small(value), kPowersOfTen[zeros], &coefficient) &&
      coefficient >= -kInt128Max) {
    value = Access::make(coefficient, scale);
    return true;
  }
  value = Access::make(rescale(Access::parts(value).coefficient, value.scale(), scale), scale);
  return true;
}

}  // namespace freshet::repr::key
