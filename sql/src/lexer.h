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
  enum class Kind : std::uint8_t { kWord, kQuoted, kNumber, kString, kParameter, kOperator, kEnd };
  Kind kind = Kind::kEnd;
  std::size_t begin = 0;
  std::size_t end = 0;
  /// Words in lower case, quoted identifiers without their quotes, operators and numbers as they stand.
  /// Strings: the value, for plain '…' ones.
  std::string text{};

  [[nodiscard]] bool is(std::string_view word) const {
    return (kind == Kind::kWord || kind == Kind::kOperator) && text == word;
  }
  [[nodiscard]] bool is_name() const { return kind == Kind::kWord || kind == Kind::kQuoted; }
};

/// Ends with one kEnd token at `sql.size()`.
std::vector<Token> tokenize(std::string_view sql);

}  // namespace freshet::sql
