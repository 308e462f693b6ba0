// SPDX-License-Identifier: Apache-2.0
#include "lexer.h"

namespace freshet::sql {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_word(char c) { return is_word_start(c) || is_digit(c) || c == '$'; }
bool is_operator(char c) { return std::string_view("+-*/<>=~!@#%^&|`?").find(c) != std::string_view::npos; }

class Lexer {
 public:
  explicit Lexer(std::string_view sql) : sql_(sql) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (skip_blanks(); at_ < sql_.size(); skip_blanks()) tokens.push_back(next());
    tokens.push_back({Token::Kind::kEnd, sql_.size(), sql_.size(), {}});
    return tokens;
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0';
  }

  void skip_blanks() {
    while (at_ < sql_.size()) {
      if (is_space(peek())) {
        ++at_;
      } else if (peek() == '-' && peek(1) == '-') {
        while (at_ < sql_.size() && peek() != '\n' && peek() != '\r') ++at_;
      } else if (peek() == '/' && peek(1) == '*') {
        const std::size_t end = end_of_block_comment(sql_, at_);
        if (end == std::string_view::npos) return;
        at_ = end;
      } else {
        return;
      }
    }
  }

  Token next() {
    begin_ = at_;
    const char c = peek();
    if (c == '/' && peek(1) == '*') {
      at_ = sql_.size();
      return make(Token::Kind::kOpenComment);
    }
    if (c == '\'') return string(false);
    if (c == '"') return quoted_identifier();
    if (c == '$' && is_digit(peek(1))) return parameter();
    if (c == '$') return dollar_string();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_word_start(c)) return word();
    return punctuation();
  }

  Token make(Token::Kind kind, std::string text) { return {kind, begin_, at_, std::move(text)}; }
  Token make(Token::Kind kind) { return make(kind, std::string(sql_.substr(begin_, at_ - begin_))); }

  Token string(bool escapes) {
    std::string value;
    ++at_;
    while (at_ < sql_.size()) {
      const char c = peek();
      if (c == '\'' && peek(1) == '\'') {
        value += c;
        at_ += 2;
      } else if (c == '\'') {
        ++at_;
        return make(Token::Kind::kString, std::move(value));
      } else if (escapes && c == '\\' && at_ + 1 < sql_.size()) {
        value += sql_.substr(at_, 2);
        at_ += 2;
      } else {
        value += c;
        ++at_;
      }
    }
    return make(Token::Kind::kString, std::move(value));
  }

  Token quoted_identifier() {
    std::string value;
    ++at_;
    while (at_ < sql_.size()) {
      if (peek() == '"' && peek(1) == '"') {
        value += '"';
        at_ += 2;
      } else if (peek() == '"') {
        ++at_;
        break;
      } else {
        value += peek();
        ++at_;
      }
    }
    return make(Token::Kind::kQuoted, std::move(value));
  }

  Token parameter() {
    ++at_;
    while (is_digit(peek())) ++at_;
    return make(Token::Kind::kParameter);
  }

  Token dollar_string() {
    std::size_t tag_end = at_ + 1;
    while (tag_end < sql_.size() && is_word(sql_[tag_end]) && sql_[tag_end] != '$') ++tag_end;
    if (tag_end >= sql_.size() || sql_[tag_end] != '$') {
      ++at_;
      return make(Token::Kind::kOperator);
    }
    const std::string_view tag = sql_.substr(at_, tag_end + 1 - at_);
    const std::size_t close = sql_.find(tag, tag_end + 1);
    if (close == std::string_view::npos) {
      at_ = sql_.size();
      return make(Token::Kind::kString);
    }
    at_ = close + tag.size();
    return make(Token::Kind::kString, std::string(sql_.substr(tag_end + 1, close - tag_end - 1)));
  }

  Token number() {
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && peek(1) != '.') {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
      at_ += 2;
      while (is_digit(peek())) ++at_;
    }
    return make(Token::Kind::kNumber);
  }

  Token word() {
    const char c = peek();
    if (peek(1) == '\'') {
      const bool escapes = c == 'e' || c == 'E';
      if (escapes || c == 'b' || c == 'B' || c == 'x' || c == 'X' || c == 'n' || c == 'N') {
        ++at_;
        return string(escapes);
      }
    }
    if ((c == 'u' || c == 'U') && peek(1) == '&' && (peek(2) == '\'' || peek(2) == '"')) {
      at_ += 2;
      return peek() == '"' ? quoted_identifier() : string(false);
    }
    while (is_word(peek())) ++at_;
    std::string text(sql_.substr(begin_, at_ - begin_));
    for (char& letter : text) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return make(Token::Kind::kWord, std::move(text));
  }

  Token punctuation() {
    const char c = peek();
    if (c == ':' && (peek(1) == ':' || peek(1) == '=')) {
      at_ += 2;
    } else if (is_operator(c)) {
      while (is_operator(peek()) && !(peek() == '-' && peek(1) == '-') && !(peek() == '/' && peek(1) == '*')) ++at_;
    } else {
      ++at_;
    }
    return make(Token::Kind::kOperator);
  }

  std::string_view sql_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
};

}  // namespace

std::size_t end_of_block_comment(std::string_view sql, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at + 1 < sql.size();) {
    if (sql[at] == '/' && sql[at + 1] == '*') {
      ++depth;
      at += 2;
    } else if (sql[at] == '*' && sql[at + 1] == '/') {
      at += 2;
      if (--depth == 0) return at;
    } else {
      ++at;
    }
  }
  return std::string_view::npos;
}

std::vector<Token> tokenize(std::string_view sql) { return Lexer(sql).run(); }

}  // namespace freshet::sql
