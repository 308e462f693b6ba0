// SPDX-License-Identifier: Apache-2.0
/// Tokens of SQL text, as PostgreSQL's scanner cuts them; broken text gives a last token to the end, and the
/// parser says what is wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::sql {

struct Token {
  enum class Kind : std::uint8_t { kWord, kQuoted, kNumber, kString, kParameter, kOperator, kOpenComment, kEnd };
  Kind kind = Kind::kEnd;
  std::size_t begin = 0;
  std::size_t end = 0;
  /// Words in lower case, quoted identifiers without their quotes, operators and numbers as they stand.
  /// Strings: the value, for plain '…' ones. A block comment without end is a token up to the end of the text.
  std::string text{};

  [[nodiscard]] bool is(std::string_view word) const {
    return (kind == Kind::kWord || kind == Kind::kOperator) && text == word;
  }
  [[nodiscard]] bool is_name() const { return kind == Kind::kWord || kind == Kind::kQuoted; }
};

/// The byte after the block comment at `begin`, with those inside it; npos if it has no end.
std::size_t end_of_block_comment(std::string_view sql, std::size_t begin);

/// Ends with one kEnd token at `sql.size()`.
std::vector<Token> tokenize(std::string_view sql);

}  // namespace freshet::sql
