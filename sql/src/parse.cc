// SPDX-License-Identifier: Apache-2.0
#include <freshet/sql/parse.h>

#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

#include "front.h"

namespace freshet::sql {
namespace {

std::int32_t characters(std::string_view text) {
  return static_cast<std::int32_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// An upper bound of how deep the text nests, whatever it means: within each open parenthesis the operators
// since the last comma, AND or OR. Keeps the parser's thread within its stack.
constexpr std::size_t kMaxNestingEstimate = 50'000;

bool separates(const Token& token) {
  return token.is(",") || token.is(";") || token.is("and") || token.is("or") || token.is("when") || token.is("then");
}

/// PostgreSQL's limit. Its scanner takes cubic time to cut a long run of signs.
constexpr std::size_t kMaxOperatorBytes = 63;

Result<void> check_tokens(std::string_view sql, const std::vector<Token>& tokens) {
  for (const Token& token : tokens) {
    const bool open = token.kind == Token::Kind::kOpenComment;
    if (!open && (token.kind != Token::Kind::kOperator || token.text.size() <= kMaxOperatorBytes)) continue;
    Error error = sql_error(sqlstate::kSyntaxError, std::string(open ? "unterminated /* comment" : "operator too long") +
                                                        " at or near \"" + token.text + "\"");
    error.position = characters(sql.substr(0, token.begin)) + 1;
    return fail(std::move(error));
  }
  return {};
}

Result<void> check_nesting(const std::vector<Token>& tokens) {
  std::vector<std::size_t> open{0};
  std::size_t total = 0;
  for (const Token& token : tokens) {
    if (token.is("(") || token.is("[") || token.is("case")) {
      open.push_back(1);
      ++total;
    } else if (token.is(")") || token.is("]") || token.is("end")) {
      if (open.size() > 1) {
        total -= open.back();
        open.pop_back();
        ++open.back();
        ++total;
      }
    } else if (separates(token)) {
      total -= open.back();
      open.back() = 0;
    } else if ((token.kind == Token::Kind::kOperator && !token.is(".")) || token.kind == Token::Kind::kWord) {
      ++open.back();
      ++total;
    }
    if (total > kMaxNestingEstimate) {
      return fail(sqlstate::kStatementTooComplex, "stack depth limit exceeded");
    }
  }
  return {};
}

}  // namespace

std::int32_t position_of(const StatementBody& body, int location) {
  if (location < 0) return 0;
  const std::size_t byte = std::min(static_cast<std::size_t>(location), body.original->size());
  return body.offset + characters(std::string_view(*body.original).substr(0, byte)) + 1;
}

StatementKind Statement::kind() const { return body_->kind; }
std::string_view Statement::text() const { return body_->text; }
std::string_view Statement::tag() const { return body_->tag; }
std::int32_t Statement::offset() const { return body_->offset; }

Result<std::vector<Statement>> parse(std::string_view sql) {
  if (sql.size() > kMaxStatementBytes) {
    return fail(sqlstate::kProgramLimitExceeded,
                "the text is longer than " + std::to_string(kMaxStatementBytes) + " bytes");
  }
  if (repr::utf8::first_invalid(sql) < sql.size()) {
    return fail(sqlstate::kCharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\"");
  }
  const std::vector<Token> tokens = tokenize(sql);
  FRESHET_TRY(check_tokens(sql, tokens));
  FRESHET_TRY(check_nesting(tokens));
  std::vector<Statement> statements;
  std::size_t first = 0;
  std::size_t depth = 0;
  std::int32_t offset = 0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is("(")) ++depth;
    if (tokens[i].is(")") && depth > 0) --depth;
    const bool ends = tokens[i].kind == Token::Kind::kEnd || (depth == 0 && tokens[i].is(";"));
    if (!ends) continue;
    if (i > first) {
      const std::size_t begin = tokens[first].begin;
      const std::size_t end = tokens[i - 1].end;
      offset += characters(sql.substr(counted, begin - counted));
      counted = begin;
      auto original = std::make_shared<const std::string>(sql.substr(begin, end - begin));
      std::vector<Token> own(tokens.begin() + static_cast<std::ptrdiff_t>(first),
                             tokens.begin() + static_cast<std::ptrdiff_t>(i));
      for (Token& token : own) {
        token.begin -= begin;
        token.end -= begin;
      }
      own.push_back({Token::Kind::kEnd, original->size(), original->size(), {}});
      Front front(original, offset, own);
      statements.push_back(FRESHET_TRY(front.build(0, own.size() - 1)));
    }
    first = i + 1;
  }
  return statements;
}

}  // namespace freshet::sql
