// SPDX-License-Identifier: Apache-2.0
// Keys, sets, orders and subqueries over columns of every type that a table can have.
#include <set>

#include <catch2/catch.hpp>

#include "workbench.h"

namespace freshet::sql {
namespace {

/// What compares by equality alone: every type can.
constexpr const char* kByEquality[] = {
    "SELECT DISTINCT a FROM t",
    "SELECT a, count(*) FROM t GROUP BY a",
    "SELECT count(*) FROM t JOIN u USING (a)",
    "SELECT count(*) FROM t NATURAL LEFT JOIN u",
    "SELECT count(*) FROM t FULL JOIN u ON t.a = u.b",
    "SELECT n FROM t WHERE a IN (SELECT a FROM u)",
    "SELECT n FROM t WHERE a NOT IN (SELECT b FROM u)",
    "SELECT n FROM t WHERE (a, n) IN (SELECT a, n FROM u)",
    "SELECT a FROM t UNION SELECT b FROM u",
    "SELECT a FROM t EXCEPT ALL SELECT b FROM u",
    "SELECT a FROM t INTERSECT SELECT b FROM u",
    "SELECT n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.n > t.n)",
    "SELECT n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a IS NOT DISTINCT FROM t.a)",
    "SELECT (SELECT max(u.n) FROM u WHERE u.a = t.a) FROM t",
    "SELECT (SELECT count(*) FROM u WHERE u.n < t.n AND t.a IS NULL) FROM t",
    "SELECT t.n, l.n FROM t, LATERAL (SELECT u.n FROM u WHERE u.a = t.a ORDER BY n LIMIT 1) AS l",
    "SELECT count(DISTINCT a) FROM t",
    "SELECT a IS DISTINCT FROM b, coalesce(a, b), nullif(a, b), CASE a WHEN b THEN 1 ELSE 2 END FROM t",
    "SELECT ROW(a, b) = ROW(b, a) FROM t",
    "SELECT concat(a, b), format('%s', a) FROM t",
    "WITH RECURSIVE r AS (SELECT a FROM t UNION SELECT b FROM u) SELECT count(*) FROM r",
};
/// What orders, too, or makes an array; some types refuse some.
constexpr const char* kOthers[] = {
    "SELECT a || 'x' FROM t",
    "SELECT a FROM t ORDER BY a DESC NULLS LAST LIMIT 3",
    "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, n",
    "SELECT min(a), max(b), array_agg(a), array_agg(DISTINCT a ORDER BY a) FROM t",
    "SELECT n, min(a), max(b) FROM t GROUP BY n",
    "SELECT greatest(a, b), least(a, b), a BETWEEN b AND b, a < b FROM t",
    "SELECT array_position(ARRAY[a], b), ARRAY[a] = ARRAY[b], array_remove(ARRAY[a, b], b) FROM t",
    "SELECT a = ANY (ARRAY(SELECT b FROM u)) FROM t",
    "SELECT a::text, string_agg(a::text, ',' ORDER BY a) FROM t GROUP BY a",
    "SELECT unnest(ARRAY[a, b]) FROM t",
};

/// No such function; arrays of arrays; an array literal that is none; arrays of several sizes aggregated.
const std::set<std::string_view> kRefusals{"42883", "0A000", "22P02", "2202E"};

/// Whatever of these texts the type takes becomes a row.
constexpr const char* kTexts[] = {"1", "0", "t", "a", "{}", "{1}", "{a}", "{t}", "2020-01-01", "{2020-01-01}", "12:00",
                                  "1 day", "{1 day}", "\\x00", "00000000-0000-0000-0000-000000000000"};

TEST_CASE("types: each can be key, set, order and argument of a subquery", "[sql][property]") {
  std::vector<std::string> types;
  for (const repr::TypeKind kind : repr::all_type_kinds()) {
    if (kind == repr::TypeKind::kUnknown || kind == repr::TypeKind::kRecord || kind == repr::TypeKind::kArray) continue;
    types.push_back(repr::to_string(repr::SqlType(kind)));
    types.push_back(types.back() + "[]");
  }
  CHECK(types.size() > 40);
  for (const std::string& type : types) {
    CAPTURE(type);
    testing::Workbench bench;
    std::size_t rows = 0;
    for (const std::string table : {"t", "u"}) {
      const auto made = bench.run("CREATE TABLE " + table + " (a " + type + ", b " + type + ", n int)");
      CAPTURE(made ? "" : made.error().message);
      REQUIRE(made);
      REQUIRE(bench.run("INSERT INTO " + table + " SELECT NULL::" + type + ", NULL::" + type + ", 1"));
      for (const char* text : kTexts) {
        const std::string value = "'" + std::string(text) + "'::" + type;
        rows += bench.run("INSERT INTO " + table + " SELECT " + value + ", " + value + ", 2") ? 1 : 0;
      }
    }
    CHECK(rows > 1);
    for (const char* query : kByEquality) {
      CAPTURE(query);
      const auto answer = bench.run(query);
      CAPTURE(answer ? "" : answer.error().message);
      CHECK(answer);
    }
    for (const char* query : kOthers) {
      CAPTURE(query);
      const auto answer = bench.run(query);
      if (answer) continue;
      CAPTURE(answer.error().message);
      CHECK(kRefusals.contains(answer.error().sqlstate.view()));
    }
  }
}

}  // namespace
}  // namespace freshet::sql
