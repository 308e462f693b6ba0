// SPDX-License-Identifier: Apache-2.0
// Arrays as text: {1,2}, {{a,"b c"},{NULL,d}}, [2:3]={1,2}.
#include <charconv>
#include <optional>

#include <freshet/base/sqlstate.h>

#include "text_io.h"

namespace freshet::repr {
namespace {

constexpr std::size_t kMaxDimensions = 6;

bool equals_null(std::string_view text) {
  return text.size() == 4 && (text[0] | 32) == 'n' && (text[1] | 32) == 'u' &&
         (text[2] | 32) == 'l' && (text[3] | 32) == 'l';
}

class Reader {
 public:
  Reader(std::string_view text, const SqlType& type, const TextFormat& format)
      : whole_(text), rest_(text), element_(type.element()), format_(format) {}

  Result<ArrayValue> run() {
    FRESHET_TRY(bounds());
    skip_space();
    if (!rest_.starts_with('{')) {
      return malformed(array_.dimensions.empty()
                           ? "Array value must start with \"{\" or dimension information."
                           : "Array contents must start with \"{\".");
    }
    explicit_ = !array_.dimensions.empty();
    FRESHET_TRY(braces(0));
    skip_space();
    if (!rest_.empty()) return malformed("Junk after closing right brace.");
    FRESHET_TRY(settle_dimensions());
    // Only an array that is well formed has its elements looked at.
    for (const auto& text : texts_) {
      array_.elements.push_back(text ? FRESHET_TRY(format_.read(*text, element_)) : Datum());
    }
    return std::move(array_);
  }

 private:
  using Done = Result<bool>;

  base::Unexpected malformed(std::string detail) const {
    Error error = sql_error(sqlstate::kInvalidTextRepresentation,
                            "malformed array literal: \"" + std::string(whole_) + '"');
    error.detail = std::move(detail);
    return fail(std::move(error));
  }
  void skip_space() {
    while (!rest_.empty() && is_text_space(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool number(std::int32_t& out) {
    if (rest_.starts_with('+')) rest_.remove_prefix(1);
    const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return status == std::errc();
  }

  // [1:2][0:3]=
  Done bounds() {
    skip_space();
    while (take('[')) {
      if (array_.dimensions.size() == kMaxDimensions) {
        return fail(sqlstate::kProgramLimitExceeded,
                    "number of array dimensions (7) exceeds the maximum allowed (6)");
      }
      std::int32_t low = 1;
      std::int32_t high = 0;
      if (!number(high))
        return malformed("\"[\" must introduce explicitly-specified array dimensions.");
      if (take(':')) {
        low = high;
        if (!number(high)) return malformed("Missing array dimension value.");
      }
      if (!take(']')) return malformed("Missing \"]\" after array dimensions.");
      if (high < low) {
        return fail(sqlstate::kArraySubscriptError, "upper bound cannot be less than lower bound");
      }
      const std::int64_t length = std::int64_t{high} - low + 1;
      if (length > INT32_MAX || high == INT32_MAX) {
        return fail(sqlstate::kProgramLimitExceeded,
                    "array size exceeds the maximum allowed (134217727)");
      }
      array_.dimensions.push_back({low, static_cast<std::int32_t>(length)});
      skip_space();
    }
    if (array_.dimensions.empty()) return true;
    if (!take('=')) return malformed("Missing \"=\" after array dimensions.");
    return true;
  }

  // One pair of braces at `depth`, and the counts of what it holds.
  Done braces(std::size_t depth) {
    if (depth == kMaxDimensions) {
      return fail(sqlstate::kProgramLimitExceeded,
                  "number of array dimensions (7) exceeds the maximum allowed (6)");
    }
    take('{');
    if (lengths_.size() == depth) lengths_.push_back(-1);
    std::int32_t count = 0;
    skip_space();
    if (!take('}')) {
      while (true) {
        skip_space();
        if (rest_.empty()) return malformed("Unexpected end of input.");
        FRESHET_TRY(rest_.starts_with('{') ? nested(depth) : leaf(depth));
        ++count;
        skip_space();
        if (take('}')) break;
        if (rest_.empty()) return malformed("Unexpected end of input.");
        if (!take(',')) return malformed("Unexpected array element.");
      }
    }
    if (lengths_[depth] >= 0 && lengths_[depth] != count) return ragged();
    lengths_[depth] = count;
    return true;
  }

  Done ragged() const {
    return malformed("Multidimensional arrays must have sub-arrays with matching dimensions.");
  }

  Done nested(std::size_t depth) {
    if (leaf_depth_ == static_cast<int>(depth)) return ragged();
    return braces(depth + 1);
  }

  Done leaf(std::size_t depth) {
    if (rest_.front() == ',' || rest_.front() == '}') {
      return malformed(std::string("Unexpected \"") + rest_.front() + "\" character.");
    }
    if (leaf_depth_ >= 0 ? leaf_depth_ != static_cast<int>(depth) : lengths_.size() > depth + 1)
      return ragged();
    leaf_depth_ = static_cast<int>(depth);
    std::string text;
    bool quoted = false;
    FRESHET_TRY(take_element(text, quoted));
    const bool is_null = !quoted && equals_null(text);
    texts_.push_back(is_null ? std::nullopt : std::optional(std::move(text)));
    return true;
  }

  // Quoted or bare; backslashes escape in both, and blanks around a bare element do not count.
  Done take_element(std::string& text, bool& quoted) {
    std::size_t keep = 0;
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '"') {
        if (quoted || !text.empty()) return malformed("Unexpected array element.");
        quoted = true;
        FRESHET_TRY(take_quoted(text));
        skip_space();
        if (!rest_.empty() && rest_.front() != ',' && rest_.front() != '}') {
          return malformed("Unexpected array element.");
        }
        return true;
      }
      if (c == ',' || c == '}') {
        text.resize(keep);
        return true;
      }
      if (c == '{') return malformed("Unexpected \"{\" character.");
      rest_.remove_prefix(1);
      if (c != '\\') {
        text.push_back(c);
        if (!is_text_space(c)) keep = text.size();
        continue;
      }
      if (rest_.empty()) break;
      text.push_back(rest_.front());
      rest_.remove_prefix(1);
      keep = text.size();
      quoted = quoted || equals_null(text);  // an escape anywhere makes NULL a string
    }
    return malformed("Unexpected end of input.");
  }

  Done take_quoted(std::string& text) {
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c == '\\') {
        if (rest_.empty()) break;
        c = rest_.front();
        rest_.remove_prefix(1);
      }
      text.push_back(c);
    }
    return malformed("Unexpected end of input.");
  }

  Done settle_dimensions() {
    if (texts_.empty()) {
      if (lengths_.size() > 1) return malformed("Unexpected \"}\" character.");
      if (explicit_) return malformed("Specified array dimensions do not match array contents.");
      array_.dimensions.clear();
      return true;
    }
    if (explicit_) {
      bool match = lengths_.size() == array_.dimensions.size();
      for (std::size_t i = 0; match && i < lengths_.size(); ++i)
        match = lengths_[i] == array_.dimensions[i].length;
      if (!match) return malformed("Specified array dimensions do not match array contents.");
      return true;
    }
    for (const std::int32_t length : lengths_) array_.dimensions.push_back({1, length});
    return true;
  }

  std::string_view whole_;
  std::string_view rest_;
  const SqlType& element_;
  const TextFormat& format_;
  ArrayValue array_{};
  std::vector<std::optional<std::string>> texts_{};
  std::vector<std::int32_t> lengths_{};  // -1: not known yet
  int leaf_depth_ = -1;
  bool explicit_ = false;
};

bool needs_quotes(std::string_view text) {
  if (text.empty() || equals_null(text)) return true;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '{' || c == '}' || c == ',' || is_text_space(c)) return true;
  }
  return false;
}

void append_element(std::string& out, const Datum& element, const SqlType& type,
                    const TextFormat& format) {
  if (element.is_null()) {
    out += "NULL";
    return;
  }
  std::string text;
  format.write(text, element, type);
  if (!needs_quotes(text)) {
    out += text;
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

void append_braces(std::string& out, const ArrayValue& array, std::size_t depth, std::size_t& next,
                   const SqlType& element, const TextFormat& format) {
  out.push_back('{');
  for (std::int32_t i = 0; i < array.dimensions[depth].length; ++i) {
    if (i > 0) out.push_back(',');
    if (depth + 1 < array.dimensions.size()) {
      append_braces(out, array, depth + 1, next, element, format);
    } else {
      append_element(out, array.elements[next++], element, format);
    }
  }
  out.push_back('}');
}

}  // namespace

Result<ArrayValue> read_array(std::string_view text, const SqlType& type,
                              const TextFormat& format) {
  return Reader(text, type, format).run();
}

void write_array(std::string& out, const ArrayValue& array, const SqlType& type,
                 const TextFormat& format) {
  if (array.dimensions.empty()) {
    out += "{}";
    return;
  }
  bool shifted = false;
  for (const auto& dimension : array.dimensions) shifted = shifted || dimension.lower != 1;
  if (shifted) {
    for (const auto& d : array.dimensions) {
      out += '[' + std::to_string(d.lower) + ':' + std::to_string(d.lower + d.length - 1) + ']';
    }
    out.push_back('=');
  }
  std::size_t next = 0;
  append_braces(out, array, 0, next, type.element(), format);
}

}  // namespace freshet::repr
