// SPDX-License-Identifier: Apache-2.0
/// UTF-8: validation, and positions counted in characters.
///
/// All text in Freshet is valid UTF-8 without NUL; these functions check it where bytes enter and
/// count characters inside. The counting functions assume valid input and never read past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <freshet/base/result.h>

namespace freshet::repr::utf8 {

/// The offset of the first byte that is not valid UTF-8 (or is NUL); `text.size()` if all is well.
std::size_t first_invalid(std::string_view text);
/// 22021 "invalid byte sequence for encoding "UTF8": 0x…" if `text` is not valid.
Result<void> validate(std::string_view text);

/// The number of characters.
std::size_t length(std::string_view text);
/// The byte offset of character `index` (0-based); `text.size()` if there are fewer.
std::size_t offset_of(std::string_view text, std::size_t index);
/// The first `count` characters.
inline std::string_view prefix(std::string_view text, std::size_t count) {
  return text.substr(0, offset_of(text, count));
}
/// How many bytes the character that starts with `lead` takes (1 for stray bytes).
constexpr std::size_t sequence_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
/// The character at byte `offset`, which is moved behind it.
char32_t decode(std::string_view text, std::size_t& offset);
/// Appends one character. It must be a Unicode scalar value.
void append(std::string& out, char32_t character);

}  // namespace freshet::repr::utf8
