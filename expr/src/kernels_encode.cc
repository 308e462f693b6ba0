// SPDX-License-Identifier: Apache-2.0
/// md5, encode and decode.
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include <freshet/base/sqlstate.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using View = std::string_view;

// --- MD5 (RFC 1321) --------------------------------------------------------------------------------------

constexpr std::array<std::uint32_t, 64> kSines{
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr std::array<int, 16> kRotations{7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

void md5_block(std::array<std::uint32_t, 4>& state, const char* block) {
  std::array<std::uint32_t, 16> words;
  std::memcpy(words.data(), block, 64);
  auto [a, b, c, d] = state;
  for (unsigned i = 0; i < 64; ++i) {
    std::uint32_t f = 0;
    unsigned g = 0;
    switch (i / 16) {
      case 0: f = (b & c) | (~b & d), g = i; break;
      case 1: f = (d & b) | (~d & c), g = (5 * i + 1) % 16; break;
      case 2: f = b ^ c ^ d, g = (3 * i + 5) % 16; break;
      default: f = c ^ (b | ~d), g = (7 * i) % 16; break;
    }
    const std::uint32_t next = b + std::rotl(a + f + kSines[i] + words[g], kRotations[i / 16 * 4 + i % 4]);
    a = d, d = c, c = b, b = next;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

void append_hex(std::string& out, View bytes) {
  constexpr View kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

void md5(std::string& out, View text) {
  std::array<std::uint32_t, 4> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::size_t at = 0;
  for (; at + 64 <= text.size(); at += 64) md5_block(state, text.data() + at);
  std::array<char, 128> last{};
  const std::size_t rest = text.size() - at;
  std::memcpy(last.data(), text.data() + at, rest);
  last[rest] = static_cast<char>(0x80);
  const std::size_t blocks = rest < 56 ? 1 : 2;
  const std::uint64_t bits = 8 * std::uint64_t{text.size()};
  std::memcpy(last.data() + 64 * blocks - 8, &bits, 8);
  for (std::size_t i = 0; i < blocks; ++i) md5_block(state, last.data() + 64 * i);
  static_assert(std::endian::native == std::endian::little);
  append_hex(out, View(reinterpret_cast<const char*>(state.data()), 16));
}

// --- encode and decode -------------------------------------------------------------------------------------

base::Unexpected bad(std::string message) {
  return fail(sqlstate::kInvalidParameterValue, std::move(message));
}

Result<void> decode_hex(std::string& out, View text) {
  int high = -1;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      if (high < 0) continue;
    }
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit < 0) return bad("invalid hexadecimal digit: \"" + std::string(1, c) + "\"");
    if (high < 0) {
      high = digit;
    } else {
      out += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  if (high >= 0) return bad("invalid hexadecimal data: odd number of digits");
  return {};
}

constexpr View kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void encode_base64(std::string& out, View bytes) {
  std::size_t column = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    if (column == 76) {
      out += '\n';
      column = 0;
    }
    std::uint32_t group = 0;
    const std::size_t size = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < size ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= size ? kBase64[(group >> (18 - 6 * j)) & 63] : '=';
    }
    column += 4;
  }
}

Result<void> decode_base64(std::string& out, View text) {
  std::uint32_t group = 0;
  int count = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    std::size_t value = 0;
    if (c == '=') {
      if (padding == 0 && count != 2 && count != 3) return bad("unexpected \"=\" while decoding base64 sequence");
      ++padding;
    } else {
      value = kBase64.find(c);
      if (value == View::npos) {
        return bad("invalid symbol \"" + std::string(1, c) + "\" found while decoding base64 sequence");
      }
      if (padding > 0) return bad("invalid base64 end sequence");
    }
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (++count < 4) continue;
    out += static_cast<char>(group >> 16);
    if (padding < 2) out += static_cast<char>(group >> 8);
    if (padding < 1) out += static_cast<char>(group);
    group = 0;
    count = 0;
  }
  if (count != 0) {
    Error error = sql_error(sqlstate::kInvalidParameterValue, "invalid base64 end sequence");
    error.hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
    return fail(std::move(error));
  }
  return {};
}

void encode_escape(std::string& out, View bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0 || byte >= 0x80) {
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + ((byte >> shift) & 7));
    } else {
      if (c == '\\') out += '\\';
      out += c;
    }
  }
}

Result<void> decode_escape(std::string& out, View text) {
  const auto octal = [&](std::size_t i, char most) { return text[i] >= '0' && text[i] <= most; };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out += text[i++];
    } else if (i + 3 < text.size() && octal(i + 1, '3') && octal(i + 2, '7') && octal(i + 3, '7')) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 4;
    } else if (i + 1 < text.size() && text[i + 1] == '\\') {
      out += '\\';
      i += 2;
    } else {
      return fail(sqlstate::kInvalidTextRepresentation, "invalid input syntax for type bytea");
    }
  }
  return {};
}

std::string lower(View text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

Result<void> encode(std::string& out, View bytes, View format) {
  const std::string name = lower(format);
  FRESHET_TRY(check_room(out, name == "hex" ? 2 * bytes.size() : bytes.size()));
  if (name == "hex") return append_hex(out, bytes), Result<void>();
  if (name == "base64") return encode_base64(out, bytes), Result<void>();
  if (name == "escape") return encode_escape(out, bytes), Result<void>();
  return bad("unrecognized encoding: \"" + std::string(format) + "\"");
}

Result<void> decode(std::string& out, View text, View format) {
  const std::string name = lower(format);
  if (name == "hex") return decode_hex(out, text);
  if (name == "base64") return decode_base64(out, text);
  if (name == "escape") return decode_escape(out, text);
  return bad("unrecognized encoding: \"" + std::string(format) + "\"");
}

}  // namespace

void add_encodings(FunctionTable& table) {
  const auto digest = lift([](std::string& out, View text) { md5(out, text); });
  table.add("md5", {K::kText}, K::kText, digest);
  table.add("md5", {K::kBytea}, K::kText, digest);
  table.add("encode", {K::kBytea, K::kText}, K::kText,
            lift([](std::string& out, View bytes, View format) -> Result<void> {
              return encode(out, bytes, format);
            }));
  table.add("decode", {K::kText, K::kText}, K::kBytea,
            lift([](std::string& out, View text, View format) -> Result<void> {
              return decode(out, text, format);
            }));
  table.add("get_byte", {K::kBytea, K::kInt4}, K::kInt4,
            lift([](View bytes, std::int32_t n) -> Result<std::int32_t> {
              if (n < 0 || static_cast<std::size_t>(n) >= bytes.size()) {
                return fail(sqlstate::kArraySubscriptError,
                            "index " + std::to_string(n) + " out of valid range, 0.." +
                                std::to_string(static_cast<std::int64_t>(bytes.size()) - 1));
              }
              return static_cast<unsigned char>(bytes[static_cast<std::size_t>(n)]);
            }));
}

}  // namespace freshet::expr
