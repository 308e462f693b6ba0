// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/utf8.h>

#include <algorithm>
#include <cstring>

#include <freshet/base/sqlstate.h>

namespace freshet::repr::utf8 {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_continuation(unsigned byte) { return (byte & 0xC0) == 0x80; }

// The bytes of the valid character at `i`; 0 if there is none.
std::size_t valid_sequence(std::string_view text, std::size_t i) {
  const unsigned lead = byte_at(text, i);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const std::size_t size = lead < 0xC2   ? 0
                           : lead < 0xE0 ? 2
                           : lead < 0xF0 ? 3
                           : lead < 0xF5 ? 4
                                         : 0;
  if (size == 0 || text.size() - i < size) return 0;
  const unsigned second = byte_at(text, i + 1);
  // The second byte rules out overlong forms, surrogates and what is above U+10FFFF.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return 0;
  for (std::size_t k = 2; k < size; ++k) {
    if (!is_continuation(byte_at(text, i + k))) return 0;
  }
  return size;
}

}  // namespace

std::size_t first_invalid(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 8) {
      std::uint64_t word;
      std::memcpy(&word, text.data() + i, 8);
      // No high bit set and no zero byte: eight characters at once.
      const std::uint64_t zero = (word - 0x0101010101010101ULL) & ~word;
      if (((word | zero) & 0x8080808080808080ULL) == 0) {
        i += 8;
        continue;
      }
    }
    const std::size_t size = valid_sequence(text, i);
    if (size == 0) return i;
    i += size;
  }
  return i;
}

Result<void> validate(std::string_view text) {
  const std::size_t bad = first_invalid(text);
  if (bad == text.size()) return {};
  const std::size_t wanted = std::min(sequence_length(text[bad]), text.size() - bad);
  std::string message = "invalid byte sequence for encoding \"UTF8\":";
  constexpr char kHex[] = "0123456789abcdef";
  for (std::size_t k = 0; k < wanted; ++k) {
    const unsigned byte = byte_at(text, bad + k);
    message += " 0x";
    message += kHex[byte >> 4];
    message += kHex[byte & 15];
  }
  return fail(sqlstate::kCharacterNotInRepertoire, std::move(message));
}

std::size_t length(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += !is_continuation(static_cast<unsigned char>(c));
  return count;
}

std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) offset += sequence_length(text[offset]);
  return std::min(offset, text.size());
}

char32_t decode(std::string_view text, std::size_t& offset) {
  const unsigned lead = byte_at(text, offset);
  const std::size_t size = std::min(sequence_length(text[offset]), text.size() - offset);
  char32_t character = size == 1 ? lead : lead & (0xFFU >> (size + 1));
  for (std::size_t k = 1; k < size; ++k) {
    character = (character << 6) | (byte_at(text, offset + k) & 0x3F);
  }
  offset += size;
  return character;
}

void append(std::string& out, char32_t character) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto continuation = [&](int shift) { put(0x80 | ((character >> shift) & 0x3F)); };
  if (character < 0x80) return put(character);
  if (character < 0x800) {
    put(0xC0 | (character >> 6));
    return continuation(0);
  }
  if (character < 0x10000) {
    put(0xE0 | (character >> 12));
    continuation(6);
    return continuation(0);
  }
  put(0xF0 | (character >> 18));
  continuation(12);
  continuation(6);
  continuation(0);
}

}  // namespace freshet::repr::utf8
