// SPDX-License-Identifier: Apache-2.0
// The byte level of the row encoding: tags, and the fast paths of every kind of value.
// docs/row-format.md holds the rules; `put_…` write, `get_…` read and never pass the end of a row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <freshet/repr/datetime.h>
#include <freshet/repr/datum.h>

namespace freshet::repr::key {

inline constexpr std::uint8_t kEnd = 0x00;  // ends a sequence; no value begins with it
inline constexpr std::uint8_t kFalse = 0x04;
inline constexpr std::uint8_t kTrue = 0x05;
inline constexpr std::uint8_t kUuid = 0x08;
inline constexpr std::uint8_t kFloat4 = 0x09;
inline constexpr std::uint8_t kFloat8 = 0x0A;
inline constexpr std::uint8_t kText = 0x0B;
inline constexpr std::uint8_t kBytea = 0x0C;

inline constexpr std::uint8_t kIntNegative8 = 0x10;  // eight bytes down to one at 0x17
inline constexpr std::uint8_t kIntZero = 0x18;       // 0 to 55 without further bytes
inline constexpr std::uint8_t kIntPositive1 = 0x50;  // one byte up to eight at 0x57
inline constexpr std::int64_t kIntSmall = kIntPositive1 - kIntZero;

inline constexpr std::uint8_t kNumericNegativeInfinity = 0x60;
inline constexpr std::uint8_t kNumericNegativeBig = 0x61;
inline constexpr std::uint8_t kNumericNegative8 = 0x62;
inline constexpr std::uint8_t kNumericZero = 0x6A;  // 0 to 25
inline constexpr std::uint8_t kNumericPositive1 = 0x84;
inline constexpr std::uint8_t kNumericPositiveBig = 0x8C;
inline constexpr std::uint8_t kNumericInfinity = 0x8D;
inline constexpr std::uint8_t kNumericNaN = 0x8E;
inline constexpr int kNumericSmall = kNumericPositive1 - kNumericZero;

inline constexpr std::uint8_t kIntervalNegative10 = 0x90;
inline constexpr std::uint8_t kIntervalZero = 0x9A;
inline constexpr std::uint8_t kIntervalPositive1 = 0x9B;  // up to ten bytes at 0xA4

inline constexpr std::uint8_t kArray = 0xB0;
inline constexpr std::uint8_t kNull = 0xFF;

// Room that any value but text, bytea, arrays and long numerics needs, with the overrun of wide
// stores.
inline constexpr std::size_t kFixedRoom = 48;
inline constexpr std::size_t kMaxDimensions = 6;

// Where a row is read: [at, end), of which bytes up to `readable` (>= end) may be loaded.
struct Cursor {
  const std::uint8_t* at;
  const std::uint8_t* end;
  const std::uint8_t* readable;

  static Cursor over(std::string_view bytes) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return {p, p + bytes.size(), p + bytes.size()};
  }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end - at); }
  [[nodiscard]] std::string_view rest() const {
    return {reinterpret_cast<const char*>(at), left()};
  }
};

inline std::uint64_t load_big_endian(const std::uint8_t* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return __builtin_bswap64(word);
}
inline void store_big_endian(std::uint8_t* p, std::uint64_t word) {
  word = __builtin_bswap64(word);
  std::memcpy(p, &word, sizeof word);
}

// --- Integers ------------------------------------------------------------------------------------

// Significant bytes of a value whose sign bits are folded away: 1 to 8.
inline unsigned significant_bytes(std::uint64_t folded) {
  return static_cast<unsigned>(71 - std::countl_zero(folded | 1)) / 8;
}

inline std::size_t put_int(std::uint8_t* p, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (bits < static_cast<std::uint64_t>(kIntSmall)) {
    *p = static_cast<std::uint8_t>(kIntZero + bits);
    return 1;
  }
  const std::uint64_t folded = bits ^ static_cast<std::uint64_t>(value >> 63);
  const unsigned n = significant_bytes(folded);
  *p = static_cast<std::uint8_t>(value < 0 ? kIntNegative8 + 8 - n : kIntPositive1 + n - 1);
  store_big_endian(p + 1, bits << (64 - 8 * n));
  return 1 + n;
}

struct IntTables {
  std::array<std::uint8_t, 256> size{};  // bytes behind the tag; 0xFF: not a tag of this kind
  std::array<std::int64_t, 256> base{};  // what those bytes are added to
};

constexpr IntTables make_int_tables(unsigned negative8, unsigned zero, unsigned positive1) {
  IntTables tables;
  tables.size.fill(0xFF);
  for (unsigned n = 1; n <= 8; ++n) {
    tables.size[negative8 + 8 - n] = static_cast<std::uint8_t>(n);
    tables.base[negative8 + 8 - n] = n == 8 ? 0 : -(std::int64_t{1} << (8 * n));
    tables.size[positive1 + n - 1] = static_cast<std::uint8_t>(n);
  }
  for (unsigned tag = zero; tag < positive1; ++tag) {
    tables.size[tag] = 0;
    tables.base[tag] = static_cast<std::int64_t>(tag - zero);
  }
  return tables;
}
inline constexpr IntTables kIntTables = make_int_tables(kIntNegative8, kIntZero, kIntPositive1);
inline constexpr IntTables kNumericTables =
    make_int_tables(kNumericNegative8, kNumericZero, kNumericPositive1);

// The `n` (0 to 8) bytes behind the tag as a number. They must lie inside the row.
inline std::uint64_t load_payload(const Cursor& in, unsigned n) {
  if (in.readable - in.at >= 9) [[likely]] {
    return n == 0 ? 0 : load_big_endian(in.at + 1) >> (64 - 8 * n);
  }
  std::uint64_t value = 0;
  for (unsigned i = 1; i <= n; ++i) value = value << 8 | in.at[i];
  return value;
}

// The cursor stands on a tag. Afterwards it stands behind the value.
inline bool get_int(Cursor& in, std::int64_t& value) {
  const std::uint8_t tag = *in.at;
  const unsigned n = kIntTables.size[tag];
  if (n > 8 || n >= in.left()) [[unlikely]]
    return false;
  const std::uint64_t payload = load_payload(in, n);
  value = static_cast<std::int64_t>(payload + static_cast<std::uint64_t>(kIntTables.base[tag]));
  in.at += 1 + n;
  // Eight bytes also hold numbers beyond 64 signed bits, which no type of ours has yet.
  return n < 8 || (value < 0) == (tag == kIntNegative8);
}

// --- Floats --------------------------------------------------------------------------------------

// Bits whose unsigned order is SQL's: NaN greatest, -0 as 0.
inline std::uint64_t ordered_bits(double value) {
  if (value != value) return UINT64_MAX;
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}
inline std::uint32_t ordered_bits(float value) {
  if (value != value) return UINT32_MAX;
  const auto bits = std::bit_cast<std::uint32_t>(value == 0 ? 0.0F : value);
  return bits >> 31 ? ~bits : bits | (std::uint32_t{1} << 31);
}
inline double double_of(std::uint64_t ordered) {
  return std::bit_cast<double>(ordered >> 63 ? ordered ^ (std::uint64_t{1} << 63) : ~ordered);
}
inline float float_of(std::uint32_t ordered) {
  return std::bit_cast<float>(ordered >> 31 ? ordered ^ (std::uint32_t{1} << 31) : ~ordered);
}

inline std::size_t put_float(std::uint8_t* p, float value) {
  *p = kFloat4;
  const std::uint32_t bits = __builtin_bswap32(ordered_bits(value));
  std::memcpy(p + 1, &bits, sizeof bits);
  return 5;
}
inline std::size_t put_float(std::uint8_t* p, double value) {
  *p = kFloat8;
  store_big_endian(p + 1, ordered_bits(value));
  return 9;
}
inline bool get_float(Cursor& in, float& value) {
  if (*in.at != kFloat4 || in.left() < 5) return false;
  std::uint32_t bits;
  std::memcpy(&bits, in.at + 1, sizeof bits);
  value = float_of(__builtin_bswap32(bits));
  in.at += 5;
  return true;
}
inline bool get_float(Cursor& in, double& value) {
  if (*in.at != kFloat8 || in.left() < 9) return false;
  value = double_of(load_big_endian(in.at + 1));
  in.at += 9;
  return true;
}

// --- Text, bytea, uuid ---------------------------------------------------------------------------

inline std::string_view without_trailing_blanks(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Text lies as it is, ended by a zero byte, which text cannot contain.
inline bool get_text(Cursor& in, std::string_view& value) {
  if (*in.at != kText) return false;
  const auto* begin = in.at + 1;
  const auto* zero = static_cast<const std::uint8_t*>(
      std::memchr(begin, 0, static_cast<std::size_t>(in.end - begin)));
  if (zero == nullptr) return false;
  value = {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(zero - begin)};
  in.at = zero + 1;
  return true;
}

// In bytea the bytes 0 and 1 become 1 1 and 1 2, so that zero still ends it.
void append_escaped(std::string& out, std::string_view bytes);
bool get_bytea(Cursor& in, std::string& out);

inline std::size_t put_uuid(std::uint8_t* p, const Uuid& value) {
  *p = kUuid;
  std::memcpy(p + 1, value.data(), value.size());
  return 1 + value.size();
}
inline bool get_uuid(Cursor& in, Uuid& value) {
  if (*in.at != kUuid || in.left() < 1 + value.size()) return false;
  std::memcpy(value.data(), in.at + 1, value.size());
  in.at += 1 + value.size();
  return true;
}

// --- Intervals -----------------------------------------------------------------------------------

// The parts that need no form: no months, whole days and the rest; months only if the days do not
// fit.
Interval default_parts(Int128 span);
std::size_t put_interval(std::uint8_t* p, Int128 span);
bool get_interval(Cursor& in, Int128& span);
/// The interval of `months` and `days` that has that span; false if there is none.
bool interval_of_span(Int128 span, std::int64_t months, std::int64_t days, Interval& out);

// --- Numerics ------------------------------------------------------------------------------------

// The whole part as an integer (rounded down), then the fraction in pairs of digits. `zeros`, the
// form, is how many zeros end the shown fraction. Returns 0 if the value needs the slow path.
std::size_t put_numeric(std::uint8_t* p, const Numeric& value, std::uint32_t& zeros);
void append_numeric_slow(std::string& out, const Numeric& value, std::uint32_t& zeros);
bool get_numeric(Cursor& in, Numeric& value);
/// The same value showing `zeros` more digits; false if the scale is beyond PostgreSQL's.
bool add_zeros(Numeric& value, std::uint64_t zeros);

// --- Any value -----------------------------------------------------------------------------------

/// Moves behind one value, whatever its type. False if the bytes end before it does, or make no
/// sense.
bool skip(Cursor& in);
bool skip_slow(Cursor& in, unsigned depth);

// Forms: a varint, or for intervals and arrays more of them; see docs/row-format.md.
bool get_varint(Cursor& in, std::uint64_t& value);
void append_varint(std::string& out, std::uint64_t value);
inline std::uint64_t zigzag(std::int64_t v) {
  return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
}
inline std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
}

// Bytes behind the tag of values of fixed size, or one of these.
inline constexpr std::uint8_t kSkipSlow = 0xFE;
inline constexpr std::uint8_t kSkipBad = 0xFF;
constexpr std::array<std::uint8_t, 256> make_skip_table() {
  std::array<std::uint8_t, 256> table{};
  table.fill(kSkipBad);
  for (std::size_t tag = 0; tag < 256; ++tag) {
    if (kIntTables.size[tag] != 0xFF) table[tag] = kIntTables.size[tag];
    if (tag >= kNumericNegativeBig && tag <= kNumericPositiveBig) table[tag] = kSkipSlow;
  }
  for (std::size_t n = 1; n <= 10; ++n) {
    table[kIntervalNegative10 + 10 - n] = static_cast<std::uint8_t>(n);
    table[kIntervalPositive1 + n - 1] = static_cast<std::uint8_t>(n);
  }
  for (const std::uint8_t tag : {kFalse, kTrue, kIntervalZero, kNumericInfinity,
                                 kNumericNegativeInfinity, kNumericNaN, kNull}) {
    table[tag] = 0;
  }
  table[kUuid] = 16;
  table[kFloat4] = 4;
  table[kFloat8] = 8;
  table[kText] = table[kBytea] = table[kArray] = kSkipSlow;
  return table;
}
inline constexpr std::array<std::uint8_t, 256> kSkipTable = make_skip_table();

inline bool skip(Cursor& in) {
  if (in.at == in.end) return false;
  const std::uint8_t size = kSkipTable[*in.at];
  if (size >= kSkipSlow) return skip_slow(in, 0);
  if (size >= in.left()) return false;
  in.at += 1 + size;
  return true;
}

// --- Datums (row_datum.cc)
// -------------------------------------------------------------------------

void append_key(std::string& out, const Datum& datum, const SqlType& type);
/// NULL and types without forms have the default form.
bool has_default_form(const Datum& datum, const SqlType& type);
void append_form(std::string& out, const Datum& datum, const SqlType& type);
bool get_key(Cursor& in, const SqlType& type, Datum& datum);
bool get_form(Cursor& in, const SqlType& type, Datum& datum);
/// Moves behind one form of a column of `type`.
bool skip_form(Cursor& in, const SqlType& type);
/// PostgreSQL's longest char(n).
inline constexpr std::uint64_t kMaxBlanks = 10485760;

}  // namespace freshet::repr::key
