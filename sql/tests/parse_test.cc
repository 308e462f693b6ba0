// SPDX-License-Identifier: Apache-2.0
#include <freshet/sql/parse.h>

#include <catch2/catch.hpp>
#include <freshet/base/sqlstate.h>
#include <testing/random.h>

#include "ast.h"
#include "snapshots.h"
#include "workbench.h"

namespace freshet::sql {
namespace {

std::string error_text(const Error& error) {
  std::string text = "error " + std::string(error.sqlstate.view()) + " at " + std::to_string(error.position) + ": " + error.message;
  if (!error.detail.empty()) text += "\ndetail: " + error.detail;
  if (!error.hint.empty()) text += "\nhint: " + error.hint;
  return text + "\n";
}

std::string options_text(const std::vector<OptionItem>& options) {
  std::string text;
  for (const OptionItem& option : options) text += "  option " + option.name + " = " + option.value.value_or("(none)") + "\n";
  return text;
}

std::string dotted(const NameParts& name) {
  std::string text;
  for (const std::string& part : name.parts) text += (text.empty() ? "" : ".") + part;
  return text;
}

std::string describe(const Statement& statement) {
  const StatementBody& body = statement.body();
  std::string text = std::string(statement.tag()) + " [" + std::string(statement.text()) + "]\n";
  text += options_text(body.options);
  if (body.as_of) text += std::string("  as of") + (body.as_of->at_least ? " at least" : "") + "\n";
  if (body.or_replace) text += "  or replace\n";
  if (body.strict_serializable) text += "  strict serializable\n";
  for (const auto& [at, with] : body.mutually_recursive) {
    text += "  mutually recursive at " + std::to_string(at);
    if (with.limit) text += (with.return_at_limit ? " return at " : " error at ") + std::to_string(*with.limit);
    text += "\n";
  }
  if (const auto* s = body.as<SubscribeSyntax>()) {
    text += s->object ? "  object " + dotted(*s->object) + "\n" : "  query\n";
    text += options_text(s->options);
    if (s->up_to) text += "  up to\n";
  }
  if (const auto* s = body.as<CreateSourceSyntax>()) {
    text += "  source " + dotted(s->name) + " generator " + s->generator + (s->all_tables ? " for all tables\n" : "\n");
    text += options_text(s->options);
    for (const auto& [table, as] : s->tables) text += "  table " + dotted(table) + (as ? " as " + dotted(*as) : "") + "\n";
  }
  if (const auto* s = body.as<DropSyntax>()) {
    for (const NameParts& name : s->names) text += "  name " + dotted(name) + "\n";
    if (s->if_exists) text += "  if exists\n";
    if (s->cascade) text += "  cascade\n";
  }
  if (const auto* s = body.as<ShowObjectsSyntax>()) {
    if (s->from) text += "  from " + dotted(*s->from) + "\n";
    if (s->like) text += "  like " + *s->like + "\n";
    if (s->where) text += "  where\n";
  }
  if (const auto* s = body.as<ExplainSyntax>()) {
    text += "  stage " + s->stage + "\n";
    if (s->object) text += "  " + s->object_kind + " " + dotted(*s->object) + "\n";
    if (s->inner) text += "  inner " + describe(*s->inner);
  }
  if (const auto* s = body.as<PrepareSyntax>()) text += "  name " + s->name + "\n  inner " + describe(s->inner);
  if (const auto* s = body.as<DeclareSyntax>()) text += "  name " + s->name + (s->hold ? " hold" : "") + "\n  inner " + describe(s->inner);
  if (const auto* s = body.as<CopySyntax>()) {
    if (s->inner) text += "  inner " + describe(*s->inner);
  }
  if (const auto* s = body.as<FetchSyntax>()) text += options_text(s->options);
  return text;
}

TEST_CASE("parse: statements, streaming constructs and errors with their places", "[sql][parse]") {
  testing::run_script("scripts/parse.script", [](const std::string&, const std::string& input) {
    const auto parsed = parse(input);
    if (!parsed) return error_text(parsed.error());
    std::string text;
    for (const Statement& statement : *parsed) text += describe(statement);
    return text.empty() ? "(nothing)\n" : text;
  });
}

TEST_CASE("parse: refuses what is nested too deep without harm", "[sql][parse]") {
  const auto repeated = [](std::string_view head, std::string_view part, std::size_t times, std::string_view tail) {
    std::string text(head);
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text += tail;
  };
  for (const std::string& sql : {repeated("SELECT ", "1+", 200'000, "1"), repeated("SELECT ", "(", 100'000, "1"),
                                 repeated("SELECT ", "NOT ", 50'000, "true"), repeated("SELECT ", "- ", 100'000, "1"),
                                 repeated("SELECT ", "(SELECT ", 5'000, "1") + std::string(5'000, ')'),
                                 repeated("SELECT ", "CASE WHEN true THEN ", 20'000, "1"),
                                 repeated("SELECT 1", " UNION SELECT 1 EXCEPT SELECT 1", 5'000, ""),
                                 repeated("SELECT ", "a[", 20'000, "1") + std::string(20'000, ']')}) {
    const auto parsed = parse(sql);
    REQUIRE(!parsed);
    CHECK(parsed.error().sqlstate == sqlstate::kStatementTooComplex);
  }
}

TEST_CASE("parse: takes long flat statements", "[sql][parse]") {
  std::string values = "INSERT INTO t VALUES (1, 'x')";
  std::string filter = "SELECT 1 WHERE 1 = 1";
  std::string both = "SELECT 1";
  for (int i = 0; i < 20'000; ++i) values += ", (" + std::to_string(i) + ", 'text')";
  for (int i = 0; i < 5'000; ++i) filter += " OR 2 = " + std::to_string(i);
  for (int i = 0; i < 500; ++i) both += " UNION ALL SELECT 1";
  CHECK(parse(values));
  CHECK(parse(filter));
  CHECK(parse(both));
  CHECK(parse(std::string(17'000'000, ' ')).error().sqlstate == sqlstate::kProgramLimitExceeded);
  CHECK(parse("SELECT '\xff'").error().sqlstate == sqlstate::kCharacterNotInRepertoire);
  CHECK(parse(std::string_view("SELECT \0 1", 10)).error().sqlstate == sqlstate::kCharacterNotInRepertoire);
}

// Soup of tokens, and real statements with tokens dropped, doubled and swapped: an answer or an error, never a
// crash; and what parses can be planned.
TEST_CASE("parse and plan: survive token soup", "[sql][property]") {
  static constexpr std::string_view kWords[] = {
      "SELECT", "FROM", "WHERE", "t", "a", "b", "c", "u", "d", "(", ")", ",", "*", "+", "-", "=", "<", "'x'", "1", "2.5", "NULL",
      "AND", "OR", "NOT", "IN", "EXISTS", "JOIN", "LEFT", "ON", "USING", "GROUP", "BY", "ORDER", "LIMIT", "OFFSET", "UNION",
      "ALL", "AS", "OF", "WITH", "MUTUALLY", "RECURSIVE", "SUBSCRIBE", "TO", "COPY", "STDOUT", "STDIN", "CREATE", "TABLE", "VIEW",
      "MATERIALIZED", "INDEX", "DEFAULT", "SOURCE", "LOAD", "GENERATOR", "TPCH", "FOR", "TABLES", "DROP", "IF", "CASCADE", "SHOW",
      "EXPLAIN", "PLAN", "INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE", "RETURNING", "CASE", "WHEN", "THEN", "ELSE", "END",
      "count", "sum", "[", "]", "::", "int", ".", "$1", ";", "LATERAL", "generate_series", "DISTINCT", "HAVING", "BETWEEN", "LIKE",
      "IS", "ANY", "ARRAY", "INTERVAL", "DECLARE", "CURSOR", "FETCH", "PREPARE", "EXECUTE", "AT", "TIME", "ZONE", "RETAIN", "HISTORY",
      "E'\\", "$$", "\"", "--", "/*", "UP", "SNAPSHOT", "RECURSION", "FILTER", "mz_now", "::", "COALESCE"};
  static constexpr std::string_view kSeeds[] = {
      "SELECT a, count(*) FROM t LEFT JOIN u USING (a) WHERE b IN (SELECT d FROM u WHERE u.a = t.a) GROUP BY a ORDER BY 2 LIMIT 3",
      "WITH MUTUALLY RECURSIVE (RECURSION LIMIT 5) r (x int, y text) AS (SELECT a, c FROM t UNION SELECT x + 1, y FROM r WHERE x < 3) SELECT * FROM r",
      "INSERT INTO t (a, b) SELECT a, 2 FROM u RETURNING a + 1",
      "UPDATE t SET b = u.a FROM u WHERE t.a = u.a",
      "CREATE MATERIALIZED VIEW v WITH (RETAIN HISTORY FOR '1h') AS SELECT (SELECT max(d) FROM u WHERE u.a = t.a) FROM t",
      "CREATE SOURCE s FROM LOAD GENERATOR TPCH (SCALE FACTOR 1, TICK INTERVAL '10ms') FOR TABLES (lineitem AS l, orders)",
      "COPY (SUBSCRIBE t WITH (PROGRESS) AS OF 5 UP TO 10) TO STDOUT WITH (FORMAT csv)",
      "SELECT CASE WHEN a > 1 THEN ARRAY[a, b] ELSE '{1}' END, c LIKE 'x%' FROM t, LATERAL (SELECT t.a AS z) q ORDER BY c NULLS FIRST",
      "EXPLAIN OPTIMIZED PLAN FOR SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b DESC"};
  ::testing::Random random = ::testing::seeded_random();
  testing::Workbench bench;
  REQUIRE(bench.run("CREATE TABLE t (a int, b int, c text); CREATE TABLE u (a int, d numeric, e text NOT NULL)"));
  std::size_t planned = 0;
  for (int round = 0; round < 6'000; ++round) {
    std::vector<std::string> tokens;
    if (round % 2 == 0) {
      tokens.emplace_back("SELECT");
      for (std::uint64_t n = random.below(25); n > 0; --n) tokens.emplace_back(kWords[random.below(std::size(kWords))]);
    } else {
      std::string word;
      for (char c : kSeeds[random.below(std::size(kSeeds))]) {
        if (c == ' ' || c == '(' || c == ')' || c == ',') {
          if (!word.empty()) tokens.push_back(std::move(word));
          word.clear();
          if (c != ' ') tokens.emplace_back(1, c);
        } else {
          word += c;
        }
      }
      if (!word.empty()) tokens.push_back(word);
      for (std::uint64_t n = random.below(4); n > 0; --n) {
        const std::size_t at = random.below(tokens.size());
        switch (random.below(4)) {
          case 0: tokens[at] = kWords[random.below(std::size(kWords))]; break;
          case 1: tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), std::string(kWords[random.below(std::size(kWords))])); break;
          case 2: std::swap(tokens[at], tokens[random.below(tokens.size())]); break;
          default: tokens[at].clear();
        }
      }
    }
    std::string sql;
    for (const std::string& token : tokens) sql += token + " ";
    const auto parsed = parse(sql);
    if (!parsed) continue;
    for (const Statement& statement : *parsed) {
      const auto result = plan(statement, bench.catalog, bench.settings);
      if (result) ++planned;
    }
  }
  CHECK(planned > 200);
}

}  // namespace
}  // namespace freshet::sql
