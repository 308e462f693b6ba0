// SPDX-License-Identifier: Apache-2.0
#include "sim_world.h"

#include <catch2/catch.hpp>

namespace testing {
namespace {

std::string only(const freshet::Result<TextRows>& rows) {
  if (!rows) return "error " + std::string(rows.error().sqlstate.view()) + " " + rows.error().message;
  std::string out;
  for (const auto& row : *rows) {
    for (const auto& cell : row) out += (out.empty() ? "" : " ") + cell;
  }
  return out;
}

TEST_CASE("sim world: insert, view, select, kill, restart", "[sim]") {
  SimWorld world(7, GENERATE(SimEngine{}, SimEngine{.workers = 3, .through_bytes = true}, SimEngine{.naive = true}));
  REQUIRE(world.start());
  REQUIRE(world.sql("CREATE TABLE t (a int, b text)"));
  REQUIRE(world.sql("CREATE MATERIALIZED VIEW v AS SELECT b, sum(a) AS s FROM t GROUP BY b"));
  REQUIRE(world.sql("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'x')"));
  CHECK(only(world.sql("SELECT * FROM v ORDER BY b")) == "x 4 y 2");
  world.kill();
  REQUIRE(world.start());
  CHECK(only(world.sql("SELECT * FROM v ORDER BY b")) == "x 4 y 2");
  REQUIRE(world.sql("UPDATE t SET a = a * 10 WHERE b = 'y'"));
  REQUIRE(world.sql("DELETE FROM t WHERE a = 1"));
  CHECK(only(world.sql("SELECT * FROM v ORDER BY b")) == "x 3 y 20");
  CHECK(only(world.sql("SELECT 1 / 0")) == "error 22012 division by zero");
}

// Every acknowledged write is there once after a kill; one that was under way is there whole or not at all;
// the view equals recomputation.
TEST_CASE("sim world: kills at random steps lose nothing that was acknowledged", "[sim][property]") {
  std::uint64_t kills = 0;
  std::uint64_t unfinished = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    SimWorld world(seed, engine_of(seed));
    REQUIRE(world.start());
    REQUIRE(world.sql("CREATE TABLE t (id int, half int)"));
    REQUIRE(world.sql("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(id) AS s FROM t"));
    freshet::base::Random random(seed);
    std::set<int> acknowledged;
    std::set<int> maybe;
    int next = 1;
    for (int life = 0; life < 3; ++life) {
      for (std::uint64_t writes = random.below(4); writes > 0; --writes) {
        const int id = next++;
        const std::string row = std::to_string(id);
        REQUIRE(world.sql("INSERT INTO t VALUES (" + row + ", 1), (" + row + ", 2)"));
        acknowledged.insert(id);
      }
      const int id = next++;
      const std::string row = std::to_string(id);
      auto pending = world.begin("INSERT INTO t VALUES (" + row + ", 1), (" + row + ", 2)");
      for (std::uint64_t steps = random.below(60); steps > 0 && !pending.is_ready(); --steps) world.sim().step();
      auto answer = pending.poll();
      if (answer && *answer) {
        acknowledged.insert(id);
      } else {
        maybe.insert(id);
        ++unfinished;
      }
      world.kill();
      ++kills;
      REQUIRE(world.start());
      std::map<int, int> found;
      const auto rows = world.sql("SELECT id, count(*) FROM t GROUP BY id");
      REQUIRE(rows);
      for (const auto& r : *rows) found[std::stoi(r[0])] = std::stoi(r[1]);
      int sum = 0;
      for (const auto& [number, count] : found) {
        CHECK(count == 2);
        CHECK((acknowledged.contains(number) || maybe.contains(number)));
        sum += 2 * number;
      }
      for (const int number : acknowledged) CHECK(found.contains(number));
      CHECK(only(world.sql("SELECT n, coalesce(s, 0) FROM v")) ==
            std::to_string(2 * found.size()) + " " + std::to_string(sum));
    }
  }
  CHECK(kills == 180);
  CHECK(unfinished > 20);  // else the kills came too late to matter
}

/// The answers of a life with indexes, views over views, a kill and a restart, and how many tasks it took.
std::string story(std::uint64_t seed) {
  SimWorld world(seed, engine_of(seed));
  std::string told;
  const auto tell = [&](const std::string& text) { told += only(world.sql(text)) + ";"; };
  const auto start = [&] {
    const auto started = world.start();
    told += started ? "" : started.error().message;
  };
  start();
  tell("CREATE TABLE t (k int, v int)");
  tell("CREATE TABLE names (k int, name text)");
  tell("INSERT INTO names VALUES (0, 'zero'), (1, 'one'), (2, 'two')");
  tell("CREATE VIEW sums AS SELECT k, sum(v) AS s, max(v) AS m FROM t GROUP BY k");
  tell("CREATE INDEX sums_by_k ON sums (k)");
  tell("CREATE MATERIALIZED VIEW named AS SELECT name, s, m FROM sums, names WHERE sums.k = names.k");
  for (int i = 0; i < 12; ++i) {
    tell("INSERT INTO t VALUES (" + std::to_string(i % 3) + ", " + std::to_string(i) + ")");
    if (i % 4 == 3) tell("DELETE FROM t WHERE v = " + std::to_string(i - 2));
    if (i % 5 == 4) tell("SELECT * FROM sums WHERE k = 1");
    if (i == 6) {
      auto pending = world.begin("INSERT INTO t VALUES (2, 100)");
      for (int steps = 0; steps < 40 && !pending.is_ready(); ++steps) world.sim().step();
      world.kill();
      start();
    }
  }
  tell("SELECT * FROM named ORDER BY name");
  tell("SELECT name, sum(v), max(v) FROM t JOIN names USING (k) GROUP BY name ORDER BY name");
  return told + std::to_string(world.sim().steps());
}

TEST_CASE("sim world: a seed tells the same story, to the last task", "[sim]") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    const std::string told = story(seed);
    CHECK(told == story(seed));
    // The view and the query that recomputes it, before the number of tasks.
    const std::size_t recomputed = told.rfind(';');
    const std::size_t view = told.rfind(';', recomputed - 1);
    const std::size_t before = told.rfind(';', view - 1);
    CHECK(told.substr(before + 1, view - before) == told.substr(view + 1, recomputed - view));
    CHECK(told.find("error") == std::string::npos);
  }
}

}  // namespace
}  // namespace testing
