// SPDX-License-Identifier: Apache-2.0
// CREATE, DROP and SHOW of objects.
#include <freshet/base/sqlstate.h>

#include "front.h"

namespace freshet::sql {

// CREATE SOURCE n [IN CLUSTER c] FROM LOAD GENERATOR g [(options)]
//   [FOR ALL TABLES | FOR TABLES (a [AS b], …)] [WITH (options)]
Result<void> Front::create_source(Work& w) {
  CreateSourceSyntax syntax;
  ++w.at;
  if (!accept(w, "source")) return fail(syntax_error(w, w.at));
  syntax.if_not_exists = accept_all(w, {"if", "not", "exists"});
  syntax.name = FRESHET_TRY(name(w));
  if (accept_all(w, {"in", "cluster"})) FRESHET_TRY(identifier(w));
  FRESHET_TRY(expect(w, "from"));
  if (!peek(w).is("load")) {
    const std::string connector = peek(w).text;
    if (!peek(w).is_name()) return fail(syntax_error(w, w.at));
    return fail(error_at(sqlstate::kFeatureNotSupported, "sources from " + connector + " are not supported", w.at));
  }
  ++w.at;
  FRESHET_TRY(expect(w, "generator"));
  syntax.generator_location = static_cast<int>(peek(w).begin);
  syntax.generator = FRESHET_TRY(identifier(w));
  if (peek(w).is("value") && syntax.generator == "key") {
    ++w.at;
    syntax.generator = "key value";
  }
  if (peek(w).is("(")) syntax.options = FRESHET_TRY(option_list(w));
  if (accept(w, "for")) FRESHET_TRY(source_tables(w, syntax));
  if (accept(w, "with")) w.body.options = FRESHET_TRY(option_list(w));
  if (w.at != w.last) return fail(syntax_error(w, w.at));
  w.body.syntax = std::move(syntax);
  return finish(w, StatementKind::kCreateSource, "CREATE SOURCE");
}

Result<void> Front::source_tables(Work& w, CreateSourceSyntax& syntax) {
  if (accept_all(w, {"all", "tables"})) {
    syntax.all_tables = true;
    return {};
  }
  FRESHET_TRY(expect(w, "tables"));
  FRESHET_TRY(expect(w, "("));
  do {
    NameParts output = FRESHET_TRY(name(w));
    std::optional<NameParts> as;
    if (accept(w, "as") || accept(w, "into")) as = FRESHET_TRY(name(w));
    syntax.tables.emplace_back(std::move(output), std::move(as));
  } while (accept(w, ","));
  return expect(w, ")");
}

Result<void> Front::create_namespace(Work& w, bool database) {
  CreateNamespaceSyntax syntax;
  ++w.at;
  if (!accept(w, database ? "database" : "schema")) return fail(syntax_error(w, w.at));
  syntax.if_not_exists = accept_all(w, {"if", "not", "exists"});
  syntax.name = FRESHET_TRY(name(w));
  if (w.at != w.last) {
    if (peek(w).is_name()) {
      return fail(error_at(sqlstate::kFeatureNotSupported,
                           std::string("options of CREATE ") + (database ? "DATABASE" : "SCHEMA") + " are not supported",
                           w.at));
    }
    return fail(syntax_error(w, w.at));
  }
  w.body.syntax = std::move(syntax);
  return database ? finish(w, StatementKind::kCreateDatabase, "CREATE DATABASE")
                  : finish(w, StatementKind::kCreateSchema, "CREATE SCHEMA");
}

// CREATE [DEFAULT] INDEX [IF NOT EXISTS] [n] [IN CLUSTER c] ON t [USING m] [(keys)] [WITH (options)]
Result<void> Front::create_index(Work& w) {
  CreateDefaultIndexSyntax syntax;
  ++w.at;
  const std::size_t after_create = w.at;
  const bool by_default = accept(w, "default");
  FRESHET_TRY(expect(w, "index"));
  if (by_default) blank(w, after_create, after_create + 1);
  syntax.if_not_exists = accept_all(w, {"if", "not", "exists"});
  if (!peek(w).is("on") && !peek(w).is("in")) syntax.name = FRESHET_TRY(name(w));
  const std::size_t cluster = w.at;
  if (accept_all(w, {"in", "cluster"})) {
    FRESHET_TRY(identifier(w));
    blank(w, cluster, w.at);
  }
  FRESHET_TRY(expect(w, "on"));
  syntax.on = FRESHET_TRY(name(w));
  if (accept(w, "using")) FRESHET_TRY(identifier(w));
  bool keys = false;
  if (peek(w).is("(")) {
    const std::size_t close = closing(w, w.at);
    if (close == w.last) return fail(syntax_error(w, w.last));
    keys = close > w.at + 1;
    syntax.empty_key = !keys;
    w.at = close + 1;
  }
  const std::size_t with = w.at;
  if (accept(w, "with")) {
    w.body.options = FRESHET_TRY(option_list(w));
    blank(w, with, w.at);
  }
  if (keys) {
    FRESHET_TRY(parse_tree(w));
  } else {
    if (w.at != w.last) return fail(syntax_error(w, w.at));
    w.body.syntax = std::move(syntax);
  }
  return finish(w, StatementKind::kCreateIndex, "CREATE INDEX");
}

Result<void> Front::create_view(Work& w) {
  ++w.at;
  accept_all(w, {"or", "replace"});
  if (peek(w).is("temp") || peek(w).is("temporary")) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "temporary views are not supported", w.at));
  }
  FRESHET_TRY(expect(w, "view"));
  const std::size_t at = w.at;
  if (accept_all(w, {"if", "not", "exists"})) {
    w.body.if_not_exists = true;
    blank(w, at, w.at);
  }
  return generic(w);
}

// CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] n [(cols)] [IN CLUSTER c] [WITH (options)] AS query
Result<void> Front::create_materialized_view(Work& w) {
  ++w.at;
  const std::size_t replace = w.at;
  if (accept_all(w, {"or", "replace"})) {
    w.body.or_replace = true;
    blank(w, replace, w.at);
  }
  if (!accept_all(w, {"materialized", "view"})) return fail(syntax_error(w, w.at + 1));
  accept_all(w, {"if", "not", "exists"});
  FRESHET_TRY(name(w));
  if (peek(w).is("(")) {
    w.at = closing(w, w.at);
    if (w.at == w.last) return fail(syntax_error(w, w.last));
    ++w.at;
  }
  const std::size_t cluster = w.at;
  if (accept_all(w, {"in", "cluster"})) {
    FRESHET_TRY(identifier(w));
    blank(w, cluster, w.at);
  }
  const std::size_t with = w.at;
  if (accept(w, "with")) {
    w.body.options = FRESHET_TRY(option_list(w));
    blank(w, with, w.at);
  }
  return generic(w);
}

Result<void> Front::create_table(Work& w) {
  std::size_t depth = 0;
  for (std::size_t i = w.at; i + 1 < w.last; ++i) {
    if (tokens_[i].is("(")) ++depth;
    if (tokens_[i].is(")") && depth > 0) --depth;
    // AS begins a query, which may have a WITH of its own.
    if (depth == 0 && tokens_[i].is("as")) break;
    if (depth != 0 || !tokens_[i].is("with") || !tokens_[i + 1].is("(")) continue;
    w.at = i + 1;
    w.body.options = FRESHET_TRY(option_list(w));
    blank(w, i, w.at);
    break;
  }
  return generic(w);
}

Result<void> Front::drop(Work& w, DropSyntax::What what) {
  using What = DropSyntax::What;
  DropSyntax syntax{.what = what};
  w.at += what == What::kMaterializedView ? 3 : 2;
  if (what == What::kIndex && accept(w, "concurrently")) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "DROP INDEX CONCURRENTLY is not supported", w.at - 1));
  }
  syntax.if_exists = accept_all(w, {"if", "exists"});
  do {
    syntax.names.push_back(FRESHET_TRY(name(w)));
  } while (accept(w, ","));
  if (accept(w, "cascade")) {
    syntax.cascade = true;
  } else if (accept(w, "restrict")) {
    syntax.restrict = true;
  }
  if (w.at != w.last) return fail(syntax_error(w, w.at));
  static constexpr const char* kTags[] = {"DROP TABLE", "DROP SOURCE",  "DROP VIEW",    "DROP MATERIALIZED VIEW",
                                          "DROP INDEX", "DROP SCHEMA", "DROP DATABASE"};
  w.body.syntax = std::move(syntax);
  return finish(w, StatementKind::kDrop, kTags[static_cast<std::size_t>(what)]);
}

// True if it is a SHOW of objects, not of a variable.
Result<bool> Front::show(Work& w) {
  using What = ShowObjectsSyntax::What;
  ShowObjectsSyntax syntax;
  ++w.at;
  const Token& head = peek(w);
  const bool full = head.is("full");
  if (full) ++w.at;
  if (accept(w, "databases")) {
    syntax.what = What::kDatabases;
  } else if (accept(w, "schemas")) {
    syntax.what = What::kSchemas;
  } else if (accept(w, "tables")) {
    syntax.what = What::kTables;
  } else if (accept(w, "sources")) {
    syntax.what = What::kSources;
  } else if (accept(w, "views")) {
    syntax.what = What::kViews;
  } else if (accept_all(w, {"materialized", "views"})) {
    syntax.what = What::kMaterializedViews;
  } else if (accept(w, "indexes") || accept(w, "indices")) {
    syntax.what = What::kIndexes;
  } else if (accept(w, "objects")) {
    syntax.what = What::kObjects;
  } else if (accept(w, "columns")) {
    syntax.what = What::kColumns;
  } else if (peek(w).is("create") && peek(w, 1).is_name()) {
    ++w.at;
    syntax.what = What::kCreate;
    syntax.create_kind = accept_all(w, {"materialized", "view"}) ? "materialized view" : FRESHET_TRY(identifier(w));
    syntax.from = FRESHET_TRY(name(w));
  } else {
    w.at = w.first;
    return false;
  }
  if (syntax.what == What::kIndexes && accept(w, "on")) syntax.on = FRESHET_TRY(name(w));
  if (syntax.what != What::kCreate && (accept(w, "from") || accept(w, "in"))) syntax.from = FRESHET_TRY(name(w));
  if (syntax.what == What::kIndexes && accept(w, "on")) syntax.on = FRESHET_TRY(name(w));
  if (syntax.what == What::kColumns && !syntax.from) return fail(syntax_error(w, w.at));
  if (accept(w, "like")) {
    if (peek(w).kind != Token::Kind::kString) return fail(syntax_error(w, w.at));
    syntax.like = peek(w).text;
    ++w.at;
  } else if (accept(w, "where")) {
    syntax.where = FRESHET_TRY(parse_expression(w.at, w.last));
    w.at = w.last;
  }
  if (w.at != w.last) return fail(syntax_error(w, w.at));
  w.body.syntax = std::move(syntax);
  FRESHET_TRY(finish(w, StatementKind::kSelect, "SELECT"));
  return true;
}

}  // namespace freshet::sql
