// SPDX-License-Identifier: Apache-2.0
// Constructs inside queries, and the reading of tokens.
#include <algorithm>
#include <charconv>

#include <freshet/base/assert.h>
#include <freshet/base/sqlstate.h>

#include "front.h"

namespace freshet::sql {
namespace {

constexpr std::size_t kMaxIdentifierBytes = 63;

// After `AS of`, words that show that `of` was an alias.
bool follows_alias(const Token& token) {
  for (std::string_view word : {"from", "where", "group", "having", "window", "union", "intersect", "except", "order",
                                "limit", "offset", "fetch", "for", "join", "inner", "cross", "left", "right", "full",
                                "natural", "on", "using", "tablesample", "into"}) {
    if (token.is(word)) return true;
  }
  return token.kind == Token::Kind::kEnd ||
         (token.kind == Token::Kind::kOperator && !token.is("(") && !token.is("-") && !token.is("+"));
}

}  // namespace

const Token& Front::peek(const Work& w, std::size_t ahead) const {
  return w.at + ahead < w.last ? tokens_[w.at + ahead] : tokens_.back();
}

bool Front::accept(Work& w, std::string_view word) {
  if (!peek(w).is(word)) return false;
  ++w.at;
  return true;
}

bool Front::accept_all(Work& w, std::initializer_list<std::string_view> words) {
  std::size_t ahead = 0;
  for (std::string_view word : words) {
    if (!peek(w, ahead++).is(word)) return false;
  }
  w.at += words.size();
  return true;
}

Result<void> Front::expect(Work& w, std::string_view word) {
  if (!accept(w, word)) return fail(syntax_error(w, w.at));
  return {};
}

Result<std::string> Front::identifier(Work& w) {
  if (!peek(w).is_name() || (peek(w).kind == Token::Kind::kQuoted && peek(w).text.empty())) {
    return fail(syntax_error(w, w.at));
  }
  FRESHET_TRY(check_token(w, w.at));
  return tokens_[w.at++].text;
}

Result<NameParts> Front::name(Work& w) {
  NameParts result;
  result.location = static_cast<int>(peek(w).begin);
  const std::size_t from = w.at;
  result.parts.push_back(FRESHET_TRY(identifier(w)));
  while (accept(w, ".")) result.parts.push_back(FRESHET_TRY(identifier(w)));
  if (result.parts.size() > 3) {
    return fail(error_at(sqlstate::kSyntaxError, "improper qualified name (too many dotted names): " + text(from, w.at),
                         from));
  }
  return result;
}

Result<std::vector<OptionItem>> Front::option_list(Work& w) {
  FRESHET_TRY(expect(w, "("));
  const std::size_t end = closing(w, w.at - 1);
  if (end == w.last) return fail(syntax_error(w, w.last));
  std::vector<OptionItem> options;
  while (w.at < end) {
    if (!options.empty()) FRESHET_TRY(expect(w, ","));
    options.push_back(FRESHET_TRY(option(w, end)));
  }
  ++w.at;
  return options;
}

// The words up to `=`, a literal, a comma or the end are the name, except that after two or more words a
// last word without `=` before it is no value either: `SNAPSHOT` is true by itself.
Result<OptionItem> Front::option(Work& w, std::size_t end) {
  OptionItem item;
  item.location = static_cast<int>(peek(w).begin);
  while (w.at < end && peek(w).kind == Token::Kind::kWord) {
    std::string word = tokens_[w.at++].text;
    if (word == "for" && !item.name.empty()) break;
    if ((word == "true" || word == "false" || word == "on" || word == "off") && !item.name.empty()) {
      item.value = std::move(word);
      return item;
    }
    for (char& c : word) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    item.name += (item.name.empty() ? "" : " ") + word;
  }
  if (item.name.empty()) return fail(syntax_error(w, w.at));
  const bool equals = accept(w, "=");
  accept(w, "for");
  if (w.at >= end || peek(w).is(",")) {
    if (equals) return fail(syntax_error(w, w.at));
    return item;
  }
  std::string sign;
  if (accept(w, "-")) sign = "-";
  switch (peek(w).kind) {
    case Token::Kind::kString:
    case Token::Kind::kNumber:
    case Token::Kind::kWord:
    case Token::Kind::kQuoted:
      item.value = sign + tokens_[w.at++].text;
      return item;
    default: return fail(syntax_error(w, w.at));
  }
}

std::size_t Front::closing(const Work& w, std::size_t open) const {
  std::size_t depth = 0;
  for (std::size_t i = open; i < w.last; ++i) {
    if (tokens_[i].is("(")) ++depth;
    if (tokens_[i].is(")") && --depth == 0) return i;
  }
  return w.last;
}

Error Front::syntax_error(const Work& w, std::size_t token) const {
  if (token >= w.last) {
    return error_at(sqlstate::kSyntaxError, "syntax error at end of input", w.last);
  }
  return error_at(sqlstate::kSyntaxError, "syntax error at or near \"" + text(token, token + 1) + "\"", token);
}

Error Front::error_at(SqlState state, std::string message, std::size_t token) const {
  Error error = sql_error(state, std::move(message));
  StatementBody body;
  body.original = original_;
  body.offset = offset_;
  // At the end of input PostgreSQL points behind the last token.
  const bool at_end = token >= tokens_.size() || tokens_[token].kind == Token::Kind::kEnd;
  const std::size_t byte = at_end ? original_->size() : tokens_[token].begin;
  error.position = position_of(body, static_cast<int>(byte));
  return error;
}

namespace {

/// True if the statement is SELECT and a list of `count` expressions without names, and nothing else: what a client wrote
/// into a template has stayed in its place.
bool is_bare_list(const PgTree& tree, std::size_t count) {
  const PgQuery__Node& root = tree.root();
  if (root.node_case != PG_QUERY__NODE__NODE_SELECT_STMT) return false;
  const PgQuery__SelectStmt& s = *root.select_stmt;
  const bool more = s.n_distinct_clause > 0 || s.into_clause != nullptr || s.n_from_clause > 0 || s.where_clause != nullptr ||
                    s.n_group_clause > 0 || s.having_clause != nullptr || s.n_window_clause > 0 || s.n_values_lists > 0 ||
                    s.n_sort_clause > 0 || s.limit_offset != nullptr || s.limit_count != nullptr ||
                    s.n_locking_clause > 0 || s.with_clause != nullptr || s.larg != nullptr || s.rarg != nullptr;
  if (more || s.n_target_list != count) return false;
  return std::all_of(s.target_list, s.target_list + count, [](const PgQuery__Node* target) {
    const PgQuery__ResTarget& result = *target->res_target;
    return result.name == nullptr || *result.name == '\0';
  });
}

/// True if the tree is the casts of NULL that `parse_types` wrote.
bool is_type_list(const PgTree& tree, std::size_t count) {
  if (!is_bare_list(tree, count)) return false;
  const PgQuery__SelectStmt& s = *tree.root().select_stmt;
  return std::all_of(s.target_list, s.target_list + count, [](const PgQuery__Node* target) {
    const PgQuery__Node* value = target->res_target->val;
    return value->node_case == PG_QUERY__NODE__NODE_TYPE_CAST &&
           value->type_cast->arg->node_case == PG_QUERY__NODE__NODE_A_CONST;
  });
}

}  // namespace

Result<PgTreePtr> Front::parse_expression(std::size_t first, std::size_t last) {
  if (first >= last) {
    Work w{.first = first, .last = last, .at = first, .sql = {}};
    return fail(syntax_error(w, last));
  }
  std::string sql = masked(first, last);
  // Every expression stands behind at least seven bytes of keywords, except in hostile texts.
  constexpr std::string_view kSelect = "SELECT ";
  if (tokens_[first].begin >= kSelect.size()) {
    sql.replace(0, kSelect.size(), kSelect);
  } else {
    sql.insert(0, kSelect);
  }
  Work w{.first = first, .last = last, .at = first, .sql = std::move(sql)};
  w.body.original = original_;
  w.body.offset = offset_;
  FRESHET_TRY(parse_tree(w));
  if (!is_bare_list(*w.body.tree, 1)) return fail(syntax_error(w, last));
  return w.body.tree;
}

Result<PgTreePtr> Front::parse_types(const std::vector<std::pair<std::size_t, std::size_t>>& ranges) {
  std::string sql = "SELECT ";
  for (const auto& [first, last] : ranges) {
    if (sql.size() > 7) sql += ", ";
    sql += "NULL::" + text(first, last);
  }
  Result<PgTreePtr> tree = PgTree::parse(sql);
  if (!tree) {
    Error error = tree.error();
    error.position = error_at(error.sqlstate, "", ranges.front().first).position;
    return fail(std::move(error));
  }
  if (!is_type_list(**tree, ranges.size())) {
    return fail(error_at(sqlstate::kSyntaxError, "expected a type and nothing else", ranges.front().first));
  }
  return tree;
}

namespace {

// Of what stands between two tokens only the ends of lines are left: they join strings. PostgreSQL's scanner takes
// quadratic time for comments that touch.
void blank_comments(std::string& sql, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end;) {
    if (sql.compare(at, 2, "/*") == 0) {
      const std::size_t after = end_of_block_comment(sql, at);
      FRESHET_ASSERT(after <= end, after, end);
      std::fill(sql.begin() + static_cast<std::ptrdiff_t>(at), sql.begin() + static_cast<std::ptrdiff_t>(after), ' ');
      at = after;
    } else if (sql.compare(at, 2, "--") == 0) {
      for (; at < end && sql[at] != '\n' && sql[at] != '\r'; ++at) sql[at] = ' ';
    } else {
      ++at;
    }
  }
}

}  // namespace

std::string Front::masked(std::size_t first, std::size_t last) const {
  std::string sql(original_->size(), ' ');
  if (first >= last) return sql;
  const std::size_t begin = tokens_[first].begin;
  const std::size_t end = tokens_[last - 1].end;
  sql.replace(begin, end - begin, *original_, begin, end - begin);
  sql.resize(end);
  for (std::size_t i = first; i + 1 < last; ++i) blank_comments(sql, tokens_[i].end, tokens_[i + 1].begin);
  return sql;
}

void Front::blank(Work& w, std::size_t first, std::size_t last) const {
  if (first >= last) return;
  const std::size_t begin = tokens_[first].begin;
  const std::size_t end = std::min(tokens_[last - 1].end, w.sql.size());
  for (std::size_t i = begin; i < end; ++i) w.sql[i] = ' ';
}

std::string Front::text(std::size_t first, std::size_t last) const {
  if (first >= last) return {};
  return original_->substr(tokens_[first].begin, tokens_[last - 1].end - tokens_[first].begin);
}

Result<void> Front::check_token(Work& w, std::size_t i) {
  const Token& token = tokens_[i];
  if (token.is_name() && token.text.size() > kMaxIdentifierBytes) {
    // PostgreSQL would cut it off, and two names could become one.
    return fail(error_at("42622", "identifier is longer than 63 bytes: \"" + token.text + "\"", i));
  }
  const Token& next = i + 1 < w.last ? tokens_[i + 1] : tokens_.back();
  if (token.is("list") && i >= w.first + 2 && tokens_[i - 1].kind == Token::Kind::kWord && tokens_[i - 2].is("::")) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "list types are not supported", i));
  }
  // Would be taken for the alias of the table before it.
  if (token.is("qualify") && i > w.first && (tokens_[i - 1].is_name() || tokens_[i - 1].is(")")) &&
      !tokens_[i - 1].is("as") &&
      (next.kind == Token::Kind::kWord || next.kind == Token::Kind::kQuoted || next.is("(")) && !follows_alias(next)) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "QUALIFY is not supported", i));
  }
  return {};
}

Result<void> Front::rewrite_query(Work& w) {
  for (std::size_t i = w.first; i < w.last; ++i) {
    FRESHET_TRY(check_token(w, i));
    if (tokens_[i].is("with") && i + 1 < w.last && tokens_[i + 1].is("mutually")) FRESHET_TRY(mutually_recursive(w, i));
  }
  return take_as_of(w);
}

// A trailing AS OF at the statement's own level.
Result<void> Front::take_as_of(Work& w) {
  if (!w.body.as_of) {
    std::size_t depth = 0;
    for (std::size_t i = w.first; i + 2 < w.last; ++i) {
      if (tokens_[i].is("(") || tokens_[i].is("[")) ++depth;
      if ((tokens_[i].is(")") || tokens_[i].is("]")) && depth > 0) --depth;
      if (depth != 0 || !tokens_[i].is("as") || !tokens_[i + 1].is("of") || follows_alias(tokens_[i + 2])) continue;
      std::size_t from = i + 2;
      const bool at_least = from + 1 < w.last && tokens_[from].is("at") && tokens_[from + 1].is("least");
      if (at_least) from += 2;
      w.body.as_of = TimeClause{FRESHET_TRY(parse_expression(from, w.last)), at_least};
      blank(w, i, w.last);
      w.last = i;
      break;
    }
  }
  return {};
}

// WITH MUTUALLY RECURSIVE [(limit)] name (column type, …) AS (query), … becomes WITH RECURSIVE, the types
// taken out.
Result<void> Front::mutually_recursive(Work& w, std::size_t with) {
  MutuallyRecursive found;
  std::size_t i = with + 2;
  if (i >= w.last || !tokens_[i].is("recursive")) return fail(syntax_error(w, i));
  blank(w, with + 1, with + 2);
  ++i;
  if (i < w.last && tokens_[i].is("(")) {
    const std::size_t open = i;
    const std::size_t at = w.at;
    w.at = i;
    const std::vector<OptionItem> options = FRESHET_TRY(option_list(w));
    i = w.at;
    w.at = at;
    blank(w, open, i);
    for (const OptionItem& option : options) {
      found.return_at_limit = option.name == "RETURN AT RECURSION LIMIT";
      if (!found.return_at_limit && option.name != "RECURSION LIMIT" && option.name != "ERROR AT RECURSION LIMIT") {
        return fail(error_at(sqlstate::kSyntaxError, "unknown option of WITH MUTUALLY RECURSIVE: " + option.name, open));
      }
      std::uint64_t limit = 0;
      const std::string value = option.value.value_or("");
      const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), limit);
      if (bad != std::errc() || end != value.data() + value.size() || limit == 0) {
        return fail(error_at(sqlstate::kInvalidParameterValue, "the recursion limit must be a positive integer", open));
      }
      found.limit = limit;
    }
  }
  while (true) {
    i = FRESHET_TRY(binding(w, i));
    if (i >= w.last || !tokens_[i].is(",")) break;
    ++i;
  }
  w.body.mutually_recursive.emplace(static_cast<int>(tokens_[with].begin), found);
  return {};
}

Result<std::size_t> Front::binding(Work& w, std::size_t name_token) {
  std::size_t i = name_token;
  if (i >= w.last || !tokens_[i].is_name()) return fail(syntax_error(w, i));
  ++i;
  if (i >= w.last || !tokens_[i].is("(")) {
    return fail(error_at(sqlstate::kSyntaxError,
                         "a binding of WITH MUTUALLY RECURSIVE needs its columns with their types", std::min(i, w.last)));
  }
  std::vector<std::pair<std::size_t, std::size_t>> types;
  const std::size_t close = closing(w, i);
  while (i < close) {
    ++i;
    if (i >= close || !tokens_[i].is_name()) return fail(syntax_error(w, i));
    const std::size_t from = ++i;
    std::size_t depth = 0;
    while (i < close && !(depth == 0 && tokens_[i].is(","))) {
      if (tokens_[i].is("(")) ++depth;
      if (tokens_[i].is(")")) --depth;
      ++i;
    }
    if (from == i) return fail(syntax_error(w, i));
    types.emplace_back(from, i);
    blank(w, from, i);
  }
  if (close + 2 >= w.last || !tokens_[close + 1].is("as") || !tokens_[close + 2].is("(")) {
    return fail(syntax_error(w, close + 1));
  }
  const std::size_t end = closing(w, close + 2);
  if (end == w.last) return fail(syntax_error(w, w.last));
  auto parsed = FRESHET_TRY(parse_types(types));
  w.body.binding_types.emplace(static_cast<int>(tokens_[name_token].begin), std::move(parsed));
  return end + 1;
}

}  // namespace freshet::sql
