// SPDX-License-Identifier: Apache-2.0
#include "case_map.h"

#include <unicode/uchar.h>

#include <freshet/repr/utf8.h>

namespace freshet::expr {
namespace {

constexpr bool is_ascii(char c) { return static_cast<signed char>(c) >= 0; }
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr char ascii_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

template <typename Ascii, typename Wide>
void map(std::string& out, std::string_view text, Ascii ascii, Wide wide) {
  for (std::size_t i = 0; i < text.size();) {
    if (is_ascii(text[i])) {
      out += ascii(text[i++]);
    } else {
      const char32_t c = repr::utf8::decode(text, i);
      repr::utf8::append(out, static_cast<char32_t>(wide(static_cast<UChar32>(c))));
    }
  }
}

}  // namespace

void append_lower(std::string& out, std::string_view text) { map(out, text, ascii_lower, u_tolower); }
void append_upper(std::string& out, std::string_view text) { map(out, text, ascii_upper, u_toupper); }

void append_initcap(std::string& out, std::string_view text) {
  bool in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<UChar32>(repr::utf8::decode(text, i));
    repr::utf8::append(out, static_cast<char32_t>(in_word ? u_tolower(c) : u_toupper(c)));
    in_word = u_isalnum(c) != 0;
  }
}

}  // namespace freshet::expr
