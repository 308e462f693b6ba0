// SPDX-License-Identifier: Apache-2.0
/// Functions on text that count in characters.
#include <algorithm>
#include <string>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

#include "case_map.h"
#include "function_table.h"

namespace freshet::expr {
namespace {

namespace utf8 = repr::utf8;
using View = std::string_view;
using Int = std::int32_t;

Int length(View text) { return static_cast<Int>(utf8::length(text)); }
View without_blanks(View text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Characters [start, start + count) of 1-based positions, cut to the text.
struct Window {
  std::size_t skip;
  std::size_t count;
};
Result<Window> window(Int start, std::optional<Int> count) {
  const std::size_t skip = start > 1 ? static_cast<std::size_t>(start) - 1 : 0;
  if (!count.has_value()) return Window{skip, SIZE_MAX};
  if (*count < 0) {
    return fail(sqlstate::kSubstringError, "negative substring length not allowed");
  }
  const std::int64_t end = std::int64_t{start} + *count;  // exclusive
  if (end > INT32_MAX) return Window{skip, SIZE_MAX};
  if (end <= 1) return Window{0, 0};
  return Window{skip, static_cast<std::size_t>(end) - 1 - skip};
}

View characters(View text, Window w) {
  text.remove_prefix(utf8::offset_of(text, w.skip));
  return w.count == SIZE_MAX ? text : utf8::prefix(text, w.count);
}
View bytes(View text, Window w) { return text.substr(std::min(w.skip, text.size()), w.count); }

void add_lengths(FunctionTable& table) {
  const auto chars = lift([](View text) -> Int { return length(text); });
  const auto blank_chars = lift([](View text) -> Int { return length(without_blanks(text)); });
  const auto octets = lift([](View text) -> Int { return static_cast<Int>(text.size()); });
  const auto bits = lift([](View text) -> Int { return static_cast<Int>(8 * text.size()); });
  for (const char* name : {"length", "char_length", "character_length"}) {
    table.add(name, {K::kText}, K::kInt4, chars);
    table.add(name, {K::kBpchar}, K::kInt4, blank_chars);
  }
  table.add("length", {K::kBytea}, K::kInt4, octets);
  for (const K kind : {K::kText, K::kBpchar, K::kBytea}) {
    table.add("octet_length", {kind}, K::kInt4, octets);
  }
  for (const K kind : {K::kText, K::kBytea}) table.add("bit_length", {kind}, K::kInt4, bits);
}

void add_substrings(FunctionTable& table) {
  const auto text3 = lift([](std::string& out, View text, Int start, Int count) -> Result<void> {
    const auto part = FRESHET_TRY(window(start, count));
    out += characters(text, part);
    return {};
  });
  const auto text2 = lift([](std::string& out, View text, Int start) {
    out += characters(text, *window(start, std::nullopt));
  });
  const auto bytea3 = lift([](std::string& out, View text, Int start, Int count) -> Result<void> {
    const auto part = FRESHET_TRY(window(start, count));
    out += bytes(text, part);
    return {};
  });
  const auto bytea2 = lift(
      [](std::string& out, View text, Int start) { out += bytes(text, *window(start, std::nullopt)); });
  for (const char* name : {"substr", "substring"}) {
    table.add(name, {K::kText, K::kInt4, K::kInt4}, K::kText, text3);
    table.add(name, {K::kText, K::kInt4}, K::kText, text2);
    table.add(name, {K::kBytea, K::kInt4, K::kInt4}, K::kBytea, bytea3);
    table.add(name, {K::kBytea, K::kInt4}, K::kBytea, bytea2);
  }
  table.add("left", {K::kText, K::kInt4}, K::kText, lift([](std::string& out, View text, Int n) {
              if (n >= 0) {
                out += utf8::prefix(text, static_cast<std::size_t>(n));
              } else {
                const std::int64_t keep = std::int64_t{length(text)} + n;
                if (keep > 0) out += utf8::prefix(text, static_cast<std::size_t>(keep));
              }
            }));
  table.add("right", {K::kText, K::kInt4}, K::kText, lift([](std::string& out, View text, Int n) {
              const std::int64_t skip = n < 0 ? -std::int64_t{n} : std::int64_t{length(text)} - n;
              out += text.substr(utf8::offset_of(text, static_cast<std::size_t>(std::max<std::int64_t>(skip, 0))));
            }));
  const auto position = lift([](View text, View part) -> Int {
    const std::size_t at = text.find(part);
    return at == View::npos ? 0 : length(text.substr(0, at)) + 1;
  });
  table.add("position", {K::kText, K::kText}, K::kInt4, position);
  table.add("strpos", {K::kText, K::kText}, K::kInt4, position);
  table.add("position", {K::kBytea, K::kBytea}, K::kInt4, lift([](View text, View part) -> Int {
              const std::size_t at = text.find(part);
              return at == View::npos ? 0 : static_cast<Int>(at) + 1;
            }));
  const auto starts = lift([](View text, View part) -> bool { return text.starts_with(part); });
  table.add("starts_with", {K::kText, K::kText}, K::kBool, starts);
  table.add_operator("^@", {K::kText, K::kText}, K::kBool, starts);
}

void overlay(std::string& out, View text, View with, Int start, Int count) {
  out += characters(text, Window{0, static_cast<std::size_t>(start) - 1});
  out += with;
  const std::int64_t rest = std::int64_t{start} + count - 1;
  out += text.substr(utf8::offset_of(text, static_cast<std::size_t>(std::max<std::int64_t>(rest, 0))));
}

void add_overlay(FunctionTable& table) {
  table.add("overlay", {K::kText, K::kText, K::kInt4, K::kInt4}, K::kText,
            lift([](std::string& out, View text, View with, Int start, Int count) -> Result<void> {
              if (start <= 0) {
                return fail(sqlstate::kSubstringError, "negative substring length not allowed");
              }
              overlay(out, text, with, start, count);
              return {};
            }));
  table.add("overlay", {K::kText, K::kText, K::kInt4}, K::kText,
            lift([](std::string& out, View text, View with, Int start) -> Result<void> {
              if (start <= 0) {
                return fail(sqlstate::kSubstringError, "negative substring length not allowed");
              }
              overlay(out, text, with, start, length(with));
              return {};
            }));
}

// Is the character that starts `text` one of those in `set`?
bool contains_first(View set, View text) {
  return set.find(text.substr(0, utf8::sequence_length(text[0]))) != View::npos;
}
View trim_left(View text, View set) {
  while (!text.empty() && contains_first(set, text)) {
    text.remove_prefix(utf8::sequence_length(text[0]));
  }
  return text;
}
View trim_right(View text, View set) {
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!contains_first(set, text.substr(last))) break;
    text = text.substr(0, last);
  }
  return text;
}

void add_trims(FunctionTable& table) {
  table.add("btrim", {K::kText, K::kText}, K::kText, lift([](std::string& out, View text, View set) {
              out += trim_right(trim_left(text, set), set);
            }));
  table.add("ltrim", {K::kText, K::kText}, K::kText,
            lift([](std::string& out, View text, View set) { out += trim_left(text, set); }));
  table.add("rtrim", {K::kText, K::kText}, K::kText,
            lift([](std::string& out, View text, View set) { out += trim_right(text, set); }));
  table.add("btrim", {K::kText}, K::kText, lift([](std::string& out, View text) {
              out += trim_right(trim_left(text, " "), " ");
            }));
  table.add("ltrim", {K::kText}, K::kText,
            lift([](std::string& out, View text) { out += trim_left(text, " "); }));
  table.add("rtrim", {K::kText}, K::kText,
            lift([](std::string& out, View text) { out += trim_right(text, " "); }));
  table.add("btrim", {K::kBytea, K::kBytea}, K::kBytea,
            lift([](std::string& out, View text, View set) {
              while (!text.empty() && set.find(text.front()) != View::npos) text.remove_prefix(1);
              while (!text.empty() && set.find(text.back()) != View::npos) text.remove_suffix(1);
              out += text;
            }));
}

// Fills `count` characters with `fill`, over and over.
void append_fill(std::string& out, View fill, std::size_t count) {
  for (std::size_t at = 0; count > 0; --count) {
    const std::size_t size = utf8::sequence_length(fill[at]);
    out += fill.substr(at, size);
    at = at + size == fill.size() ? 0 : at + size;
  }
}

// Each append doubles what is there, so that short texts cost no more than long ones.
void append_copies(std::string& out, View text, std::size_t times) {
  const std::size_t begin = out.size();
  const std::size_t end = begin + text.size() * times;
  if (end == begin) return;
  out.reserve(end);
  out += text;
  while (out.size() < end) out.append(out.data() + begin, std::min(out.size() - begin, end - out.size()));
}

Result<void> pad(std::string& out, View text, Int want, View fill, bool left) {
  const auto wanted = static_cast<std::size_t>(std::max(want, 0));
  if (wanted > kMostValueBytes / 4) return too_large();
  const std::size_t have = utf8::length(text);
  if (have >= wanted || fill.empty()) {
    out += utf8::prefix(text, wanted);
    return {};
  }
  FRESHET_TRY(check_room(out, text.size() + 4 * (wanted - have)));
  if (left) append_fill(out, fill, wanted - have);
  out += text;
  if (!left) append_fill(out, fill, wanted - have);
  return {};
}

void add_padding(FunctionTable& table) {
  table.add("lpad", {K::kText, K::kInt4, K::kText}, K::kText,
            lift([](std::string& out, View text, Int n, View fill) -> Result<void> {
              return pad(out, text, n, fill, true);
            }));
  table.add("rpad", {K::kText, K::kInt4, K::kText}, K::kText,
            lift([](std::string& out, View text, Int n, View fill) -> Result<void> {
              return pad(out, text, n, fill, false);
            }));
  table.add("lpad", {K::kText, K::kInt4}, K::kText,
            lift([](std::string& out, View text, Int n) -> Result<void> {
              return pad(out, text, n, " ", true);
            }));
  table.add("rpad", {K::kText, K::kInt4}, K::kText,
            lift([](std::string& out, View text, Int n) -> Result<void> {
              return pad(out, text, n, " ", false);
            }));
  table.add("repeat", {K::kText, K::kInt4}, K::kText,
            lift([](std::string& out, View text, Int n) -> Result<void> {
              const auto times = static_cast<std::size_t>(std::max(n, 0));
              if (times > 0 && text.size() > kMostValueBytes / times) return too_large();
              FRESHET_TRY(check_room(out, text.size() * times));
              append_copies(out, text, times);
              return {};
            }));
}

}  // namespace

void add_text(FunctionTable& table) {
  add_lengths(table);
  table.add("lower", {K::kText}, K::kText,
            lift([](std::string& out, View text) { append_lower(out, text); }));
  table.add("upper", {K::kText}, K::kText,
            lift([](std::string& out, View text) { append_upper(out, text); }));
  table.add("initcap", {K::kText}, K::kText,
            lift([](std::string& out, View text) { append_initcap(out, text); }));
  add_substrings(table);
  add_overlay(table);
  add_trims(table);
  add_padding(table);
}

}  // namespace freshet::expr
