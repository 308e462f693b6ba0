// SPDX-License-Identifier: Apache-2.0
/// The token-level front: finds the streaming constructs of one statement, blanks them out and has
/// PostgreSQL's parser read what is left.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ast.h"
#include "lexer.h"

namespace freshet::sql {

/// A range of tokens of one outermost statement, being turned into a `StatementBody`.
class Front {
 public:
  /// `tokens` hold places in `*original` and end with a kEnd token.
  Front(std::shared_ptr<const std::string> original, std::int32_t offset, const std::vector<Token>& tokens);
  /// The statement of tokens [first, last).
  Result<Statement> build(std::size_t first, std::size_t last);

 private:
  struct Work;  // the statement being built

  // front.cc
  Result<void> dispatch(Work& w);
  Result<void> finish(Work& w, StatementKind kind, std::string tag);
  Result<void> parse_tree(Work& w);
  Result<void> create(Work& w);
  Result<void> generic(Work& w);
  Result<void> subscribe(Work& w);
  Result<void> copy(Work& w);
  Result<void> explain(Work& w);
  Result<void> prepare(Work& w);
  Result<void> declare(Work& w);
  Result<void> fetch(Work& w);
  Result<void> transaction(Work& w);

  // front_ddl.cc
  Result<void> create_source(Work& w);
  Result<void> create_namespace(Work& w, bool database);
  Result<void> create_index(Work& w);
  Result<void> create_view(Work& w);
  Result<void> create_materialized_view(Work& w);
  Result<void> create_table(Work& w);
  Result<void> drop(Work& w, DropSyntax::What what);
  Result<bool> show(Work& w);
  Result<void> source_tables(Work& w, CreateSourceSyntax& syntax);

  // front_rewrite.cc: within queries
  Result<void> rewrite_query(Work& w);
  Result<void> take_as_of(Work& w);
  Result<void> mutually_recursive(Work& w, std::size_t with);
  Result<std::size_t> binding(Work& w, std::size_t name);
  Result<void> check_token(Work& w, std::size_t i);

  // Reading tokens of [w.at, w.last).
  [[nodiscard]] const Token& peek(const Work& w, std::size_t ahead = 0) const;
  bool accept(Work& w, std::string_view word);
  bool accept_all(Work& w, std::initializer_list<std::string_view> words);
  Result<void> expect(Work& w, std::string_view word);
  Result<std::string> identifier(Work& w);
  Result<NameParts> name(Work& w);
  /// `( … )` at w.at: options; the parentheses are consumed.
  Result<std::vector<OptionItem>> option_list(Work& w);
  Result<OptionItem> option(Work& w, std::size_t end);
  /// The index of the parenthesis that closes the one at `open`; w.last if none does.
  [[nodiscard]] std::size_t closing(const Work& w, std::size_t open) const;
  Error syntax_error(const Work& w, std::size_t token) const;
  Error error_at(SqlState state, std::string message, std::size_t token) const;

  /// `SELECT` and the tokens [first, last), each at its place.
  Result<PgTreePtr> parse_expression(std::size_t first, std::size_t last);
  /// `SELECT NULL::t, …` for the token ranges.
  Result<PgTreePtr> parse_types(const std::vector<std::pair<std::size_t, std::size_t>>& ranges);
  /// All blanks but the tokens [first, last).
  [[nodiscard]] std::string masked(std::size_t first, std::size_t last) const;
  void blank(Work& w, std::size_t first, std::size_t last) const;
  [[nodiscard]] std::string text(std::size_t first, std::size_t last) const;

  std::shared_ptr<const std::string> original_;
  std::int32_t offset_;
  const std::vector<Token>& tokens_;
  int nesting_ = 0;
};

struct Front::Work {
  std::size_t first;
  std::size_t last;
  std::size_t at;
  std::string sql;  ///< What PostgreSQL's parser will see.
  StatementBody body{};
};

}  // namespace freshet::sql
