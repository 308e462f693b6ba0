// SPDX-License-Identifier: Apache-2.0
#include "front.h"

#include <utility>

#include <freshet/base/sqlstate.h>

namespace freshet::sql {

Front::Front(std::shared_ptr<const std::string> original, std::int32_t offset, const std::vector<Token>& tokens)
    : original_(std::move(original)), offset_(offset), tokens_(tokens) {}

Result<Statement> Front::build(std::size_t first, std::size_t last) {
  if (++nesting_ > 8) return fail(error_at(sqlstate::kStatementTooComplex, "statements are nested too deep", first));
  Work w{.first = first, .last = last, .at = first, .sql = masked(first, last)};
  w.body.text = text(first, last);
  w.body.offset = offset_;
  w.body.original = original_;
  FRESHET_TRY(dispatch(w));
  --nesting_;
  return Statement(std::make_shared<const StatementBody>(std::move(w.body)));
}

Result<void> Front::dispatch(Work& w) {
  const Token& head = peek(w);
  if (head.is("subscribe")) return subscribe(w);
  if (head.is("copy")) return copy(w);
  if (head.is("explain")) return explain(w);
  if (head.is("prepare") && !peek(w, 1).is("transaction")) return prepare(w);
  if (head.is("declare")) return declare(w);
  if (head.is("fetch") || head.is("move")) return fetch(w);
  if (head.is("create")) return create(w);
  if (head.is("drop")) {
    using What = DropSyntax::What;
    if (peek(w, 1).is("table")) return drop(w, What::kTable);
    if (peek(w, 1).is("source")) return drop(w, What::kSource);
    if (peek(w, 1).is("view")) return drop(w, What::kView);
    if (peek(w, 1).is("materialized") && peek(w, 2).is("view")) return drop(w, What::kMaterializedView);
    if (peek(w, 1).is("index")) return drop(w, What::kIndex);
    if (peek(w, 1).is("schema")) return drop(w, What::kSchema);
    if (peek(w, 1).is("database")) return drop(w, What::kDatabase);
    return generic(w);
  }
  if (head.is("show")) {
    if (FRESHET_TRY(show(w))) return {};
    return generic(w);
  }
  if (head.is("begin") || head.is("start") || head.is("set")) return transaction(w);
  return generic(w);
}

namespace {

struct KindAndTag {
  StatementKind kind;
  const char* tag;
};

KindAndTag transaction_kind(const PgQuery__TransactionStmt& stmt) {
  switch (stmt.kind) {
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_BEGIN: return {StatementKind::kBegin, "BEGIN"};
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START: return {StatementKind::kBegin, "START TRANSACTION"};
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT: return {StatementKind::kCommit, "COMMIT"};
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK: return {StatementKind::kRollback, "ROLLBACK"};
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_SAVEPOINT: return {StatementKind::kSavepoint, "SAVEPOINT"};
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_RELEASE: return {StatementKind::kRelease, "RELEASE"};
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_TO: return {StatementKind::kRollbackTo, "ROLLBACK"};
    default: return {StatementKind::kOther, "OTHER"};
  }
}

KindAndTag variable_kind(const PgQuery__VariableSetStmt& stmt) {
  const bool reset = stmt.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET ||
                     stmt.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL;
  return {StatementKind::kSetVariable, reset ? "RESET" : "SET"};
}

KindAndTag kind_of(const PgQuery__Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT:
      if (node.select_stmt->into_clause != nullptr) return {StatementKind::kOther, "SELECT INTO"};
      return {StatementKind::kSelect, "SELECT"};
    case PG_QUERY__NODE__NODE_INSERT_STMT: return {StatementKind::kInsert, "INSERT"};
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return {StatementKind::kUpdate, "UPDATE"};
    case PG_QUERY__NODE__NODE_DELETE_STMT: return {StatementKind::kDelete, "DELETE"};
    case PG_QUERY__NODE__NODE_COPY_STMT: return {StatementKind::kCopy, "COPY"};
    case PG_QUERY__NODE__NODE_CREATE_STMT: return {StatementKind::kCreateTable, "CREATE TABLE"};
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
      if (node.create_table_as_stmt->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW) {
        return {StatementKind::kCreateMaterializedView, "CREATE MATERIALIZED VIEW"};
      }
      return {StatementKind::kCreateTableAs, "CREATE TABLE AS"};
    case PG_QUERY__NODE__NODE_VIEW_STMT: return {StatementKind::kCreateView, "CREATE VIEW"};
    case PG_QUERY__NODE__NODE_INDEX_STMT: return {StatementKind::kCreateIndex, "CREATE INDEX"};
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT: return variable_kind(*node.variable_set_stmt);
    case PG_QUERY__NODE__NODE_VARIABLE_SHOW_STMT: return {StatementKind::kShowVariable, "SHOW"};
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT: return transaction_kind(*node.transaction_stmt);
    case PG_QUERY__NODE__NODE_EXECUTE_STMT: return {StatementKind::kExecute, "EXECUTE"};
    case PG_QUERY__NODE__NODE_DEALLOCATE_STMT:
      return {StatementKind::kDeallocate,
              node.deallocate_stmt->name == nullptr || *node.deallocate_stmt->name == '\0' ? "DEALLOCATE ALL"
                                                                                          : "DEALLOCATE"};
    case PG_QUERY__NODE__NODE_FETCH_STMT:
      return {StatementKind::kFetch, node.fetch_stmt->ismove ? "MOVE" : "FETCH"};
    case PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT: return {StatementKind::kClose, "CLOSE CURSOR"};
    case PG_QUERY__NODE__NODE_DISCARD_STMT: return {StatementKind::kDiscard, "DISCARD"};
    case PG_QUERY__NODE__NODE_UNLISTEN_STMT: return {StatementKind::kUnlisten, "UNLISTEN"};
    case PG_QUERY__NODE__NODE_COMMENT_STMT: return {StatementKind::kComment, "COMMENT"};
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT: return {StatementKind::kAlter, "ALTER TABLE"};
    case PG_QUERY__NODE__NODE_RENAME_STMT: return {StatementKind::kAlter, "ALTER TABLE"};
    default: return {StatementKind::kOther, "OTHER"};
  }
}

}  // namespace

Result<void> Front::parse_tree(Work& w) {
  Result<PgTreePtr> tree = PgTree::parse(w.sql);
  if (!tree) {
    // The library counts characters of `w.sql`, in which blanked characters may have turned into several.
    Error error = tree.error();
    if (error.position > 0) {
      std::size_t byte = 0;
      for (std::int32_t left = error.position; byte < w.sql.size(); ++byte) {
        if ((static_cast<unsigned char>(w.sql[byte]) & 0xC0) != 0x80 && --left == 0) break;
      }
      error.position = position_of(w.body, static_cast<int>(byte));
    }
    return fail(std::move(error));
  }
  w.body.tree = std::move(tree).value();
  return {};
}

Result<void> Front::generic(Work& w) {
  FRESHET_TRY(rewrite_query(w));
  FRESHET_TRY(parse_tree(w));
  const KindAndTag found = kind_of(w.body.tree->root());
  return finish(w, found.kind, found.tag);
}

Result<void> Front::finish(Work& w, StatementKind kind, std::string tag) {
  w.body.kind = kind;
  w.body.tag = std::move(tag);
  return {};
}

Result<void> Front::create(Work& w) {
  const bool replace = peek(w, 1).is("or") && peek(w, 2).is("replace");
  std::size_t skip = replace ? 3 : 1;
  if (peek(w, skip).is("temp") || peek(w, skip).is("temporary")) ++skip;
  const Token& what = peek(w, skip);
  if (what.is("source")) return create_source(w);
  if (what.is("database")) return create_namespace(w, true);
  if (what.is("schema")) return create_namespace(w, false);
  if (what.is("index") || (what.is("default") && peek(w, skip + 1).is("index"))) return create_index(w);
  if (what.is("view")) return create_view(w);
  if (what.is("materialized")) return create_materialized_view(w);
  if (what.is("table")) return create_table(w);
  for (const auto& [word, name] : {std::pair("sink", "SINK"), std::pair("connection", "CONNECTION"),
                                   std::pair("secret", "SECRET"), std::pair("cluster", "CLUSTER")}) {
    if (!what.is(word)) continue;
    return fail(error_at(sqlstate::kFeatureNotSupported, std::string("CREATE ") + name + " is not supported", w.at + skip));
  }
  return generic(w);
}

Result<void> Front::subscribe(Work& w) {
  SubscribeSyntax syntax;
  blank(w, w.at, w.at + 1);
  ++w.at;
  if (peek(w).is("to")) {
    blank(w, w.at, w.at + 1);
    ++w.at;
  }
  std::size_t query_end = w.at;
  const std::size_t query = w.at;
  if (peek(w).is("(")) {
    query_end = closing(w, w.at);
    if (query_end == w.last) return fail(syntax_error(w, w.last));
    w.at = ++query_end;
  } else {
    syntax.object = FRESHET_TRY(name(w));
    query_end = w.at;
  }
  if (peek(w).is("envelope") || peek(w).is("within")) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "SUBSCRIBE with ENVELOPE or WITHIN TIMESTAMP is not supported",
                         w.at));
  }
  if (accept(w, "with")) syntax.options = FRESHET_TRY(option_list(w));
  if (accept_all(w, {"as", "of"})) {
    const bool at_least = accept_all(w, {"at", "least"});
    const std::size_t from = w.at;
    while (w.at < w.last && !(peek(w).is("up") && peek(w, 1).is("to"))) ++w.at;
    w.body.as_of = TimeClause{FRESHET_TRY(parse_expression(from, w.at)), at_least};
  }
  if (accept_all(w, {"up", "to"})) {
    syntax.up_to = TimeClause{FRESHET_TRY(parse_expression(w.at, w.last)), false};
    w.at = w.last;
  }
  if (w.at != w.last) return fail(syntax_error(w, w.at));
  if (!syntax.object) {
    blank(w, query_end, w.last);
    w.first = query;
    w.last = query_end;
    FRESHET_TRY(rewrite_query(w));
    FRESHET_TRY(parse_tree(w));
  }
  w.body.syntax = std::move(syntax);
  return finish(w, StatementKind::kSubscribe, "SUBSCRIBE");
}

Result<void> Front::copy(Work& w) {
  CopySyntax syntax;
  std::size_t open = w.at + 1;
  if (open < w.last && tokens_[open].is("(")) {
    const std::size_t close = closing(w, open);
    if (close == w.last || close == open + 1) return fail(syntax_error(w, close));
    syntax.inner = FRESHET_TRY(build(open + 1, close));
    // A stand-in that is short enough: the query has at least one token, of which we keep the place.
    const std::size_t from = tokens_[open].begin;
    const std::size_t to = tokens_[close].end;
    if (to - from >= 10) {
      w.sql.replace(from, to - from, "(SELECT 1)" + std::string(to - from - 10, ' '));
    } else {
      return fail(syntax_error(w, open + 1));
    }
    const StatementKind kind = syntax.inner->kind();
    if (kind != StatementKind::kSelect && kind != StatementKind::kSubscribe) {
      return fail(error_at(sqlstate::kFeatureNotSupported,
                           "COPY (" + std::string(syntax.inner->tag()) + ") is not supported", open + 1));
    }
  }
  FRESHET_TRY(parse_tree(w));
  w.body.syntax = std::move(syntax);
  return finish(w, StatementKind::kCopy, "COPY");
}

Result<void> Front::explain(Work& w) {
  ExplainSyntax syntax;
  syntax.stage = "physical";
  ++w.at;
  if (accept(w, "timestamp")) {
    syntax.stage = "timestamp";
  } else if (accept_all(w, {"raw", "plan"}) || accept_all(w, {"decorrelated", "plan"})) {
    syntax.stage = "raw";
  } else if (accept_all(w, {"optimized", "plan"}) || accept_all(w, {"locally", "optimized", "plan"})) {
    syntax.stage = "optimized";
  } else if (accept_all(w, {"physical", "plan"}) || accept(w, "plan")) {
    syntax.stage = "physical";
  } else if (peek(w).is("(")) {
    for (const OptionItem& option : FRESHET_TRY(option_list(w))) {
      const bool on = !option.value || (*option.value != "false" && *option.value != "off" && *option.value != "0");
      if (option.name == "ANALYZE") syntax.analyze = on;
      if (option.name == "FORMAT" && option.value == "json") syntax.json = true;
    }
  } else {
    syntax.analyze = accept(w, "analyze") || accept(w, "analyse");
    accept(w, "verbose");
  }
  if (peek(w).is("with") && peek(w, 1).is("(")) {
    ++w.at;
    FRESHET_TRY(option_list(w));
  }
  if (accept(w, "as")) {
    if (accept(w, "json")) {
      syntax.json = true;
    } else if (!accept(w, "text") && !accept_all(w, {"verbose", "text"})) {
      return fail(syntax_error(w, w.at));
    }
  }
  const bool has_for = accept(w, "for");
  if (has_for && (peek(w).is("view") || peek(w).is("index") || peek(w).is("materialized"))) {
    syntax.object_kind = accept_all(w, {"materialized", "view"}) ? "materialized view" : FRESHET_TRY(identifier(w));
    syntax.object = FRESHET_TRY(name(w));
    if (w.at != w.last) return fail(syntax_error(w, w.at));
  } else {
    if (w.at == w.last) return fail(syntax_error(w, w.at));
    syntax.inner = FRESHET_TRY(build(w.at, w.last));
  }
  w.body.syntax = std::move(syntax);
  return finish(w, StatementKind::kExplain, "EXPLAIN");
}

Result<void> Front::prepare(Work& w) {
  ++w.at;
  std::string statement_name = FRESHET_TRY(identifier(w));
  PgTreePtr types;
  if (peek(w).is("(")) {
    const std::size_t close = closing(w, w.at);
    if (close == w.last) return fail(syntax_error(w, w.last));
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    std::size_t from = w.at + 1;
    std::size_t depth = 0;
    for (std::size_t i = from; i <= close; ++i) {
      if (tokens_[i].is("(") || tokens_[i].is("[")) ++depth;
      if (i == close || (depth == 0 && tokens_[i].is(","))) {
        if (i == from) return fail(syntax_error(w, i));
        ranges.emplace_back(from, i);
        from = i + 1;
      } else if (tokens_[i].is(")") || tokens_[i].is("]")) {
        --depth;
      }
    }
    types = FRESHET_TRY(parse_types(ranges));
    w.at = close + 1;
  }
  FRESHET_TRY(expect(w, "as"));
  if (w.at == w.last) return fail(syntax_error(w, w.at));
  Statement inner = FRESHET_TRY(build(w.at, w.last));
  switch (inner.kind()) {
    case StatementKind::kPrepare:
    case StatementKind::kExecute:
      return fail(syntax_error(w, w.at));
    default: break;
  }
  w.body.syntax = PrepareSyntax{std::move(statement_name), std::move(types), std::move(inner)};
  return finish(w, StatementKind::kPrepare, "PREPARE");
}

Result<void> Front::declare(Work& w) {
  ++w.at;
  std::string cursor = FRESHET_TRY(identifier(w));
  for (bool more = true; more;) {
    if (peek(w).is("binary") || (peek(w).is("scroll"))) {
      return fail(error_at(sqlstate::kFeatureNotSupported,
                           peek(w).is("binary") ? "binary cursors are not supported" : "scrollable cursors are not supported",
                           w.at));
    }
    more = accept_all(w, {"no", "scroll"}) || accept(w, "insensitive") || accept(w, "asensitive");
  }
  FRESHET_TRY(expect(w, "cursor"));
  bool hold = false;
  if (accept_all(w, {"with", "hold"})) {
    hold = true;
  } else {
    accept_all(w, {"without", "hold"});
  }
  FRESHET_TRY(expect(w, "for"));
  if (w.at == w.last) return fail(syntax_error(w, w.at));
  const std::size_t query = w.at;
  Statement inner = FRESHET_TRY(build(query, w.last));
  if (inner.kind() != StatementKind::kSelect && inner.kind() != StatementKind::kSubscribe) {
    return fail(syntax_error(w, query));
  }
  w.body.syntax = DeclareSyntax{std::move(cursor), hold, std::move(inner)};
  return finish(w, StatementKind::kDeclare, "DECLARE CURSOR");
}

Result<void> Front::fetch(Work& w) {
  FetchSyntax syntax;
  for (std::size_t i = w.at; i + 1 < w.last; ++i) {
    if (!tokens_[i].is("with") || !tokens_[i + 1].is("(")) continue;
    const std::size_t with = i;
    w.at = i + 1;
    syntax.options = FRESHET_TRY(option_list(w));
    if (w.at != w.last) return fail(syntax_error(w, w.at));
    blank(w, with, w.last);
    break;
  }
  FRESHET_TRY(parse_tree(w));
  w.body.syntax = std::move(syntax);
  const KindAndTag found = kind_of(w.body.tree->root());
  return finish(w, found.kind, found.tag);
}

// STRICT SERIALIZABLE is no level of PostgreSQL's grammar.
Result<void> Front::transaction(Work& w) {
  for (std::size_t i = w.at; i + 1 < w.last; ++i) {
    if (tokens_[i].is("strict") && tokens_[i + 1].is("serializable") && i > w.first && tokens_[i - 1].is("level")) {
      blank(w, i, i + 1);
      w.body.strict_serializable = true;
    }
  }
  FRESHET_TRY(parse_tree(w));
  const KindAndTag found = kind_of(w.body.tree->root());
  return finish(w, found.kind, found.tag);
}

}  // namespace freshet::sql
