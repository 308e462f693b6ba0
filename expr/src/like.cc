// SPDX-License-Identifier: Apache-2.0
#include "like.h"

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

namespace freshet::expr {
namespace {

enum class Match : std::uint8_t { kYes, kNo, kTextEnded, kBadEscape };

// As PostgreSQL's matcher: kTextEnded says that no longer text position can help.
class Matcher {
 public:
  explicit Matcher(bool bytes) : bytes_(bytes) {}

  Match run(std::string_view text, std::string_view pattern) const {
    while (!text.empty() && !pattern.empty()) {
      if (pattern[0] == '\\') {
        pattern.remove_prefix(1);
        if (pattern.empty()) return Match::kBadEscape;
        if (pattern[0] != text[0]) return Match::kNo;
      } else if (pattern[0] == '%') {
        return run_percent(text, pattern.substr(1));
      } else if (pattern[0] == '_') {
        advance(text);
        pattern.remove_prefix(1);
        continue;
      } else if (pattern[0] != text[0]) {
        return Match::kNo;
      }
      text.remove_prefix(1);
      pattern.remove_prefix(1);
    }
    if (!text.empty()) return Match::kNo;
    while (!pattern.empty() && pattern[0] == '%') pattern.remove_prefix(1);
    return pattern.empty() ? Match::kYes : Match::kTextEnded;
  }

 private:
  void advance(std::string_view& text) const {
    text.remove_prefix(bytes_ ? 1 : std::min(text.size(), repr::utf8::sequence_length(text[0])));
  }

  // What follows a percent sign.
  Match run_percent(std::string_view text, std::string_view pattern) const {
    while (!pattern.empty() && (pattern[0] == '%' || pattern[0] == '_')) {
      if (pattern[0] == '_') {
        if (text.empty()) return Match::kTextEnded;
        advance(text);
      }
      pattern.remove_prefix(1);
    }
    if (pattern.empty()) return Match::kYes;
    char first = pattern[0];
    if (first == '\\') {
      if (pattern.size() < 2) return Match::kBadEscape;
      first = pattern[1];
    }
    for (; !text.empty(); advance(text)) {
      if (text[0] != first) continue;
      const Match rest = run(text, pattern);
      if (rest != Match::kNo) return rest;
    }
    return Match::kTextEnded;
  }

  bool bytes_;
};

}  // namespace

LikePattern::LikePattern(std::string_view pattern, bool bytes)
    : pattern_(pattern), shape_(Shape::kGeneral), bytes_(bytes) {
  if (pattern.find_first_of("\\_") != std::string_view::npos) return;
  const std::size_t start = pattern.find_first_not_of('%');
  if (start == std::string_view::npos) {
    shape_ = pattern.empty() ? Shape::kEqual : Shape::kAnything;
    return;
  }
  const std::size_t end = pattern.find_last_not_of('%') + 1;
  const std::string_view middle = pattern.substr(start, end - start);
  if (middle.find('%') != std::string_view::npos) return;
  const bool open_start = start > 0;
  const bool open_end = end < pattern.size();
  shape_ = open_start ? (open_end ? Shape::kContains : Shape::kSuffix)
                      : (open_end ? Shape::kPrefix : Shape::kEqual);
  pattern_ = std::string(middle);
}

bool LikePattern::matches_simple(std::string_view text) const {
  switch (shape_) {
    case Shape::kEqual: return text == pattern_;
    case Shape::kPrefix: return text.starts_with(pattern_);
    case Shape::kSuffix: return text.ends_with(pattern_);
    case Shape::kContains: return text.find(pattern_) != std::string_view::npos;
    case Shape::kAnything: return true;
    case Shape::kGeneral: break;
  }
  FRESHET_UNREACHABLE(static_cast<int>(shape_));
}

Result<bool> LikePattern::matches(std::string_view text) const {
  if (shape_ != Shape::kGeneral) return matches_simple(text);
  const Match match = Matcher(bytes_).run(text, pattern_);
  if (match == Match::kBadEscape) {
    return fail(sqlstate::kInvalidEscapeSequence, "LIKE pattern must not end with escape character");
  }
  return match == Match::kYes;
}

Result<std::string> like_escape(std::string_view pattern, std::string_view escape) {
  std::string out;
  if (escape.empty()) {  // no escape character: backslashes are plain
    for (const char c : pattern) {
      if (c == '\\') out += '\\';
      out += c;
    }
    return out;
  }
  if (repr::utf8::length(escape) != 1) {
    Error error = sql_error(sqlstate::kInvalidEscapeSequence, "invalid escape string");
    error.hint = "Escape string must be empty or one character.";
    return fail(std::move(error));
  }
  if (escape == "\\") return std::string(pattern);
  bool after_escape = false;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::string_view c = pattern.substr(i, repr::utf8::sequence_length(pattern[i]));
    i += c.size();
    if (c == escape && !after_escape) {
      out += '\\';
      after_escape = true;
    } else if (c == "\\") {
      out += '\\';
      if (!after_escape) out += '\\';
      after_escape = false;
    } else {
      out += c;
      after_escape = false;
    }
  }
  return out;
}

}  // namespace freshet::expr
