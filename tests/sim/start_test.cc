// SPDX-License-Identifier: Apache-2.0
// Starts after a kill: the history that views go on from must still be there when they ask for it.
#include <catch2/catch.hpp>

#include "sim_world.h"

namespace testing {
namespace {

std::string joined(const freshet::Result<TextRows>& rows) {
  if (!rows) return "error " + std::string(rows.error().sqlstate.view()) + " " + rows.error().message;
  std::string out;
  for (const auto& row : *rows) {
    for (const auto& cell : row) out += cell + " ";
  }
  return out;
}

// Views lag behind their tables by more than the history that is kept by default: only what they hold is there. At
// the start each has to find it, whatever moves between the start of one and of the next.
TEST_CASE("sim start: views over tables go on after kills with writes and time between", "[sim][property]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    SimWorld world(seed, engine_of(seed));
    REQUIRE(world.start());
    freshet::base::Random random(seed * 7919);
    constexpr int kTables = 3;
    for (int t = 0; t < kTables; ++t) {
      const std::string n = std::to_string(t);
      REQUIRE(world.sql("CREATE TABLE t" + n + " (k int, v int)"));
      REQUIRE(world.sql("CREATE MATERIALIZED VIEW v" + n + " AS SELECT k, sum(v) AS s FROM t" + n + " GROUP BY k"));
    }
    REQUIRE(world.sql("CREATE MATERIALIZED VIEW joined AS SELECT v0.k, v0.s + v1.s AS s FROM v0, v1 WHERE v0.k = v1.k"));
    REQUIRE(world.sql("CREATE MATERIALIZED VIEW all_rows AS SELECT count(*) AS n FROM t2, t0"));
    for (int life = 0; life < 4; ++life) {
      for (std::uint64_t writes = random.below(6); writes > 0; --writes) {
        const std::string t = std::to_string(random.below(kTables));
        REQUIRE(world.sql("INSERT INTO t" + t + " VALUES (" + std::to_string(random.below(4)) + ", " +
                          std::to_string(random.below(100)) + ")"));
        if (random.below(2) == 0) world.sim().run_for(std::chrono::milliseconds(random.below(4000)));
      }
      auto pending = world.begin("INSERT INTO t0 VALUES (1, 1), (2, 2)");
      for (std::uint64_t steps = random.below(80); steps > 0 && !pending.is_ready(); --steps) world.sim().step();
      world.kill();
      world.sim().run_for(std::chrono::milliseconds(random.below(10'000)));
      const auto started = world.start();
      CAPTURE(started ? "" : started.error().message);
      REQUIRE(started);
      CHECK(joined(world.sql("SELECT * FROM joined ORDER BY 1")) ==
            joined(world.sql("SELECT a.k, a.s + b.s FROM (SELECT k, sum(v) AS s FROM t0 GROUP BY k) a, "
                             "(SELECT k, sum(v) AS s FROM t1 GROUP BY k) b WHERE a.k = b.k ORDER BY 1")));
      CHECK(joined(world.sql("SELECT * FROM v2 ORDER BY 1")) ==
            joined(world.sql("SELECT k, sum(v) FROM t2 GROUP BY k ORDER BY 1")));
      CHECK(joined(world.sql("SELECT * FROM all_rows")) == joined(world.sql("SELECT count(*) FROM t2, t0")));
    }
  }
}

// The way out where a view ends the server whenever it starts: a life without views, in which it is dropped.
TEST_CASE("sim start: without what is kept up to date, and then with it again", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    CAPTURE(seed);
    SimWorld world(seed, engine_of(seed));
    REQUIRE(world.start());
    REQUIRE(world.sql("CREATE TABLE t (k int, v int)"));
    REQUIRE(world.sql("INSERT INTO t VALUES (1, 1), (2, 5)"));
    REQUIRE(world.sql("CREATE MATERIALIZED VIEW good AS SELECT sum(v) AS s FROM t"));
    REQUIRE(world.sql("CREATE MATERIALIZED VIEW bad AS SELECT max(v) AS m FROM t"));
    REQUIRE(world.sql("CREATE INDEX by_k ON t (k)"));
    REQUIRE(world.sql("CREATE INDEX by_s ON good (s)"));
    CHECK(joined(world.sql("SELECT * FROM good")) == "6 ");
    world.kill();
    world.maintain = false;
    REQUIRE(world.start());
    CHECK_THAT(joined(world.sql("SELECT * FROM good")), Catch::StartsWith("error 55000"));
    CHECK_THAT(joined(world.sql("SELECT * FROM bad, t")), Catch::StartsWith("error 55000"));
    CHECK(joined(world.sql("SELECT v FROM t WHERE k = 2")) == "5 ");
    REQUIRE(world.sql("INSERT INTO t VALUES (3, 7)"));
    world.sim().run_for(std::chrono::seconds(20));
    REQUIRE(world.sql("INSERT INTO t VALUES (4, 8)"));
    REQUIRE(world.sql("DROP MATERIALIZED VIEW bad"));
    REQUIRE(world.sql("DROP INDEX by_k"));
    world.kill();
    world.maintain = true;
    REQUIRE(world.start());
    CHECK(joined(world.sql("SELECT * FROM good")) == "21 ");
    CHECK_THAT(joined(world.sql("SELECT * FROM bad")), Catch::StartsWith("error 42P01"));
    CHECK(joined(world.sql("SELECT v FROM t WHERE k = 4")) == "8 ");
  }
}

// Times are promised ahead of the clock. What was promised and not given is taken back by a server that ends, and is
// never more than a few seconds however often one is killed.
TEST_CASE("sim start: however often a server starts, its time is the clock's", "[sim]") {
  SimWorld world(5);
  REQUIRE(world.start());
  REQUIRE(world.sql("CREATE TABLE t (k int)"));
  REQUIRE(world.sql("INSERT INTO t VALUES (1)"));
  const auto seconds_ahead = [&] {
    const auto rows = world.sql("SELECT mz_now()::text::numeric / 1000 FROM t");
    REQUIRE(rows);
    return std::stod((*rows)[0][0]) - static_cast<double>(world.scheduler().clock().wall_micros()) / 1e6;
  };
  for (int start = 0; start < 10; ++start) {
    CHECK(seconds_ahead() < 0.1);
    REQUIRE(world.sim().wait(world.adapter().shutdown()));
    world.kill();
    REQUIRE(world.start());
  }
  for (int start = 0; start < 10; ++start) {
    CHECK(seconds_ahead() < 5);
    world.kill();
    REQUIRE(world.start());
  }
}

// A view that is reached on many ways is looked at once: the ways double with each level.
TEST_CASE("sim start: forty levels of views over two views each start again", "[sim]") {
  SimWorld world(1, {.naive = true});
  REQUIRE(world.start());
  REQUIRE(world.sql("CREATE TABLE other (k int)"));
  REQUIRE(world.sql("CREATE INDEX other_k ON other (k)"));
  REQUIRE(world.sql("CREATE TABLE a0 (k int)"));
  REQUIRE(world.sql("CREATE TABLE b0 (k int)"));
  for (int level = 1; level <= 40; ++level) {
    const std::string below = std::to_string(level - 1);
    for (const char* side : {"a", "b"}) {
      REQUIRE(world.sql("CREATE MATERIALIZED VIEW " + std::string(side) + std::to_string(level) + " AS SELECT a.k FROM a" + below +
                        " a, b" + below + " b WHERE a.k = b.k"));
    }
  }
  world.kill();
  REQUIRE(world.start());
  CHECK(joined(world.sql("SELECT count(*) FROM b40")) == "0 ");
}

}  // namespace
}  // namespace testing
