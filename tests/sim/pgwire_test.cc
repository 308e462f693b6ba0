// SPDX-License-Identifier: Apache-2.0
#include "sim_client.h"

#include <catch2/catch.hpp>
#include <testing/random.h>

namespace testing {
namespace {

/// A client past its start; the greeting is thrown away.
std::unique_ptr<SimClient> connect(SimWorld& world, freshet::adapter::PgwireOptions options = {}) {
  auto client = std::make_unique<SimClient>(world, options);
  client->send(startup_packet());
  REQUIRE(client->received().ends_with("K ZI"));
  return client;
}

TEST_CASE("pgwire: both protocols, one write for each Sync", "[sim]") {
  SimWorld world(1);
  REQUIRE(world.start());
  auto client = connect(world);
  client->send(query("SELECT 1 AS a, NULL; SELECT 'x' WHERE false"));
  CHECK(client->received() == "T D[1][NULL] C:SELECT 1 T C:SELECT 0 ZI");
  client->send(query("  ;  "));
  CHECK(client->received() == "I ZI");
  client->send(query("SELECT 1/0; SELECT 2"));
  CHECK(client->received() == "E22012 ZI");
  client->send(parse("p", "SELECT $1::int + 1") + sync());
  CHECK(client->received() == "1 ZI");
  const std::size_t before = client->writes();
  client->send(bind("p", {"41"}) + describe() + execute() + sync());
  CHECK(client->received() == "2 T D[42] C:SELECT 1 ZI");
  CHECK(client->writes() == before + 1);
  client->send(bind("p", {"x"}) + describe() + execute() + sync() + bind("p", {"1"}) + execute() + sync());
  CHECK(client->received() == "E22P02 ZI 2 D[2] C:SELECT 1 ZI");
  client->send(parse("", "SELECT g FROM generate_series(1, 3) AS g") + bind("", {}) + execute(2) + execute(2) + sync());
  CHECK(client->received() == "1 2 D[1] D[2] s D[3] C:SELECT 1 ZI");
  client->send(bind("none", {}) + execute() + sync());
  CHECK(client->received() == "E26000 ZI");
}

// What the client gets does not depend on how its bytes are cut.
TEST_CASE("pgwire: messages may be cut anywhere", "[sim][property]") {
  const std::string bytes = startup_packet() + query("CREATE TABLE t (a int, b text)") +
                            query("INSERT INTO t VALUES (1, 'one'), (2, 'two')") +
                            parse("", "SELECT b FROM t WHERE a = $1") + bind("", {"2"}) + describe() + execute() + sync() +
                            query("COPY t FROM STDIN") + message('d', "3\tth") + message('d', "ree\n4\tfour\n") +
                            message('c', "") + query("SELECT count(*), max(b) FROM t") + message('X', "");
  std::string whole;
  for (std::uint64_t seed = 0; seed <= 25; ++seed) {
    CAPTURE(seed);
    SimWorld world(seed + 1);
    REQUIRE(world.start());
    SimClient client(world);
    freshet::base::Random random(seed);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = seed == 0 ? bytes.size() : 1 + random.below(seed == 1 ? 1 : 30);
      client.send(bytes.substr(at, size));
      at += size;
      if (random.below(3) == 0) client.settle();
    }
    std::string received = client.received();
    CHECK(client.closed());
    if (seed == 0) {
      whole = received;
      CHECK(whole.ends_with("ZI C:CREATE TABLE ZI C:INSERT 0 2 ZI 1 2 T D[two] C:SELECT 1 ZI G C:COPY 2 ZI "
                            "T D[4][two] C:SELECT 1 ZI"));
    }
    CHECK(received == whole);
  }
}

TEST_CASE("pgwire: a message too long or too short ends the connection", "[sim]") {
  SimWorld world(2);
  REQUIRE(world.start());
  for (const std::string& bad : {std::string("Q") + be32(3), std::string("Q") + be32(0), std::string("Q") + be32(0x80000000),
                                 std::string("Q") + be32(1001), std::string("P") + be32(0xffffffff)}) {
    auto client = connect(world, {.max_message_bytes = 1000});
    client->send(bad);
    CHECK(client->received() == "E08P01");
    CHECK(client->closed());
  }
  auto client = connect(world, {.max_message_bytes = 1000});
  client->send(query("SELECT length('" + std::string(900, 'x') + "')"));
  CHECK(client->received() == "T D[900] C:SELECT 1 ZI");
  client->send(query("COPY (SELECT 1) TO STDOUT"));
  CHECK(client->received() == "H d c C:COPY 1 ZI");
}

TEST_CASE("pgwire: a start that is not one is turned away", "[sim]") {
  SimWorld world(3);
  REQUIRE(world.start());
  for (const std::string& bad : {be32(7), be32(10'001), std::string("GET / HTTP/1.1\r\n\r\n"), be32(8) + be32(2 << 16),
                                 be32(12) + be32(3 << 16) + "user"}) {
    SimClient client(world);
    client.send(bad);
    CHECK(client.received().starts_with("E0"));
    CHECK(client.closed());
  }
  SimClient cancel(world);
  cancel.send(be32(16) + be32((1234 << 16) | 5678) + be32(1) + be32(2));
  CHECK(cancel.received().empty());
  CHECK(cancel.closed());
}

// Bad messages get an error, never more than one for each Sync, and the session goes on.
TEST_CASE("pgwire: garbage inside well-cut messages", "[sim][property]") {
  SimWorld world(4);
  REQUIRE(world.start());
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    freshet::base::Random random(seed);
    auto client = connect(world);
    for (std::uint64_t n = random.below(5) + 1; n > 0; --n) {
      std::string body;
      for (std::uint64_t size = random.below(40); size > 0; --size) {
        body.push_back(static_cast<char>(random.below(4) == 0 ? 0 : random.below(256)));
      }
      client->send(message("PBDECdcf"[random.below(8)], body));
    }
    client->send(sync() + query("SELECT 7"));
    const std::string received = client->received();
    CHECK(received.ends_with("ZI T D[7] C:SELECT 1 ZI"));
  }
  auto client = connect(world);
  client->send(message('?', "what"));
  CHECK(client->received() == "E08P01");
  CHECK(client->closed());
}

// An error that is the message's own is an error of its transaction all the same.
TEST_CASE("pgwire: a message that cannot be read undoes its transaction", "[sim]") {
  SimWorld world(6);
  REQUIRE(world.start());
  auto client = connect(world);
  client->send(query("CREATE TABLE t (a int)"));
  CHECK(client->received() == "C:CREATE TABLE ZI");
  const std::string unknown_type = message('P', zero_ended("") + zero_ended("SELECT $1") + be16(1) + be32(99'999'999));
  for (const std::string& bad : {message('P', "no end"), message('B', "no end"), message('D', "?"), message('E', "no end"),
                                 message('C', "?"), unknown_type}) {
    client->send(parse("", "INSERT INTO t VALUES (1)") + bind("", {}) + execute() + bad + sync());
    const std::string received = client->received();
    CHECK(received.starts_with("1 2 C:INSERT 0 1 E"));
    CHECK(received.ends_with(" ZI"));
    client->send(query("SELECT count(*) FROM t"));
    CHECK(client->received() == "T D[0] C:SELECT 1 ZI");
    client->send(query("BEGIN") + bad + sync() + query("ROLLBACK"));
    CHECK(client->received().ends_with(" ZE C:ROLLBACK ZI"));
  }
  // Query: without its end, and with more behind it.
  for (const std::string& bad : {message('Q', "SELECT 1"), message('Q', ""), message('Q', zero_ended("SELECT 1") + "x")}) {
    client->send(bad);
    CHECK(client->received() == "E08P01 ZI");
    client->send(query("BEGIN") + bad + query("ROLLBACK"));
    CHECK(client->received() == "C:BEGIN ZT E08P01 ZE C:ROLLBACK ZI");
  }
}

TEST_CASE("pgwire: a simple query drops the unnamed statement, and no other", "[sim]") {
  SimWorld world(7);
  REQUIRE(world.start());
  auto client = connect(world);
  client->send(parse("", "SELECT 1") + parse("kept", "SELECT 2") + sync() + query("SELECT 3"));
  CHECK(client->received() == "1 1 ZI T D[3] C:SELECT 1 ZI");
  client->send(bind("", {}) + execute() + sync() + bind("kept", {}) + execute() + sync());
  CHECK(client->received() == "E26000 ZI 2 D[2] C:SELECT 1 ZI");
}

TEST_CASE("pgwire: many messages at once are answered in order", "[sim]") {
  SimWorld world(5);
  REQUIRE(world.start());
  auto client = connect(world);
  client->send(parse("p", "SELECT $1::int") + sync());
  CHECK(client->received() == "1 ZI");
  std::string bytes;
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    bytes += bind("p", {std::to_string(i)}) + execute() + sync();
    expected += (i == 0 ? "2 D[" : " 2 D[") + std::to_string(i) + "] C:SELECT 1 ZI";
  }
  client->send(bytes);
  CHECK(client->received() == expected);
}

TEST_CASE("pgwire: a client that leaves in the middle leaves nothing behind", "[sim]") {
  SimWorld world(6);
  REQUIRE(world.start());
  REQUIRE(world.sql("CREATE TABLE t (a int)"));
  {
    auto client = connect(world);
    client->send(query("BEGIN; INSERT INTO t VALUES (1)"));
    CHECK(client->received() == "C:BEGIN C:INSERT 0 1 ZT");
  }
  {
    // What the rollback changes back is told to nobody.
    auto client = connect(world);
    client->send(query("SET application_name = 'first'") + query("BEGIN; SET TimeZone = 'Asia/Tokyo'"));
    CHECK(client->received().ends_with("ZT"));
  }
  {
    auto client = connect(world);
    client->send(query("COPY t FROM STDIN") + message('d', "1\n"));
    CHECK(client->received() == "G");
  }
  {
    auto client = connect(world);
    client->send(query("COPY (SUBSCRIBE t) TO STDOUT"));
    CHECK(client->received().starts_with("H"));
  }
  const auto rows = world.sql("SELECT count(*) FROM t");
  REQUIRE(rows);
  CHECK((*rows)[0][0] == "0");
}

// Large enough that rows are stored while others still come.
TEST_CASE("pgwire: of a large COPY all rows are there or none", "[sim]") {
  SimWorld world(7);
  REQUIRE(world.start());
  REQUIRE(world.sql("CREATE TABLE t (a int, b text)"));
  REQUIRE(world.sql("CREATE MATERIALIZED VIEW sums AS SELECT count(*) AS n, sum(a) AS a FROM t"));
  const auto objects = [&] { return world.sim().wait(world.blob().list("tables"))->size(); };
  const auto sums = [&] { return world.sql("SELECT n, a FROM sums").value(); };
  constexpr int kRows = 9000;
  std::string data;
  for (int i = 0; i < kRows; ++i) {
    data += message('d', std::to_string(i) + "\t" + std::string(1000, static_cast<char>('a' + i % 26)) + "\n");
  }
  const std::string copy = query("COPY t FROM STDIN");
  const std::size_t before = objects();
  auto client = connect(world);
  client->send(copy + data);
  CHECK(client->received() == "G");
  CHECK(objects() > before);
  client->send(message('d', "broken\n"));
  CHECK(client->received() == "E22P02 ZI");
  CHECK(objects() == before);
  client->send(copy + data);
  client->send(message('f', zero_ended("not today")));
  CHECK(client->received() == "G E57014 ZI");
  CHECK(objects() == before);
  connect(world)->send(copy + data);  // and leaves
  world.sim().run_for(std::chrono::seconds(5));
  CHECK(objects() == before);
  CHECK(sums() == TextRows{{"0", "NULL"}});

  client->send(copy + data);
  CHECK(client->received() == "G");
  client.reset();
  world.kill();
  REQUIRE(world.start());
  CHECK(sums() == TextRows{{"0", "NULL"}});
  CHECK(objects() <= before);

  client = connect(world);
  client->send(copy + data + message('c', ""));
  CHECK(client->received() == "G C:COPY 9000 ZI");
  const TextRows all{{std::to_string(kRows), std::to_string(kRows * (kRows - 1) / 2)}};
  CHECK(sums() == all);
  client.reset();
  world.kill();
  REQUIRE(world.start());
  CHECK(sums() == all);
  CHECK(world.sql("SELECT count(*), count(DISTINCT b) FROM t").value() == TextRows{{"9000", "26"}});
}

TEST_CASE("pgwire: a failed block runs no portal, and a cursor tells its error once", "[sim]") {
  SimWorld world(6);
  REQUIRE(world.start());
  REQUIRE(world.sql("CREATE TABLE t (k int)"));
  auto client = connect(world);
  client->send(query("BEGIN"));
  client->send(parse("s", "SELECT generate_series(1, 9)") + bind("s", {}) + execute(2) + message('H', ""));
  CHECK(client->received() == "C:BEGIN ZT 1 2 D[1] D[2] s");
  client->send(parse("bad", "SELECT nothing") + sync());
  CHECK(client->received() == "E42703 ZE");
  client->send(execute(2) + sync());
  CHECK(client->received() == "E25P02 ZE");
  client->send(query("ROLLBACK"));
  CHECK(client->received() == "C:ROLLBACK ZI");
  // The subscription's table goes while nobody waits for its rows.
  client->send(query("DECLARE c CURSOR WITH HOLD FOR SUBSCRIBE t WITH (SNAPSHOT = false)"));
  CHECK(client->received() == "C:DECLARE CURSOR ZI");
  client->send(query("FETCH 1 c WITH (TIMEOUT = '1ms')"));
  CHECK(client->received() == "T C:FETCH 0 ZI");
  REQUIRE(world.sql("DROP TABLE t"));
  client->settle();
  client->send(query("FETCH 3 c"));
  CHECK(client->received() == "T E42P01 ZI");
  client->send(query("FETCH 3 c"));
  CHECK(client->received() == "T E55000 ZI");
}

// What a client reads and sends was promised when the statement was first planned, whatever became of its tables.
TEST_CASE("pgwire: a prepared statement keeps the types of its parameters", "[sim]") {
  SimWorld world(4);
  REQUIRE(world.start());
  const char* types[] = {"int", "text", "bigint", "timestamp", "date", "numeric", "float8", "bool"};
  for (const char* first : types) {
    for (const char* then : types) {
      CAPTURE(first, then);
      REQUIRE(world.sql("CREATE TABLE p (a " + std::string(first) + ")"));
      auto client = connect(world);
      client->send(parse("s", "SELECT a = $1 FROM p") + sync());
      CHECK(client->received() == "1 ZI");
      REQUIRE(world.sql("DROP TABLE p"));
      REQUIRE(world.sql("CREATE TABLE p (a " + std::string(then) + ")"));
      REQUIRE(world.sql("INSERT INTO p VALUES (NULL)"));
      const std::string value = std::string_view(first) == "bool" ? "t" : std::string_view(first) == "timestamp" ||
                                                                                  std::string_view(first) == "date"
                                                                              ? "2020-01-01"
                                                                              : "5";
      client->send(bind("s", {value}) + execute() + sync());
      const std::string answer = client->received();
      CHECK((answer == "2 D[NULL] C:SELECT 1 ZI" || answer == "E42883 ZI"));
      if (std::string_view(first) == then) CHECK(answer.starts_with("2"));
      client->leave();
      REQUIRE(world.sql("DROP TABLE p"));
    }
  }
}

// Statements, sessions, connections and their streams wait for each other in circles. Whatever they were about, the
// end of the server is the end of them all.
TEST_CASE("pgwire: nothing of a connection outlives the server, wherever it stopped", "[sim][property]") {
  const std::string block = query("BEGIN") + query("DECLARE c CURSOR FOR SUBSCRIBE t");
  const std::vector<std::string> scripts{
      query("COPY t FROM STDIN") + message('d', "3\n4\n"),
      query("COPY t FROM STDIN") + message('d', "3\n4\n") + message('c', "") + query("SELECT 1"),
      query("COPY (SUBSCRIBE t) TO STDOUT"),
      query("SUBSCRIBE t"),
      block + query("FETCH ALL c WITH (TIMEOUT = '1h')"),
      block + query("FETCH ALL c") + query("SELECT 1"),
      parse("", "SELECT a FROM t") + bind("", {}) + execute(1) + message('H', ""),
      query("INSERT INTO t VALUES (5); UPDATE t SET a = a + 1; SELECT * FROM t, t AS u"),
      query("CREATE MATERIALIZED VIEW m AS SELECT count(*) FROM t") + query("SELECT * FROM m"),
      query("SELECT count(*) FROM t AS OF AT LEAST now() + interval '1 hour'")};
  for (std::uint64_t seed = base_seed(1), end = seed + (seed_is_fixed() ? 1 : 300); seed < end; ++seed) {
    const std::string& script = scripts[seed % scripts.size()];
    CAPTURE(seed, script);
    SimWorld world(seed, engine_of(seed));
    REQUIRE(world.start());
    REQUIRE(world.sql("CREATE TABLE t (a int)"));
    REQUIRE(world.sql("INSERT INTO t VALUES (1), (2), (3)"));
    SimClient client(world);
    client.send(startup_packet());
    client.settle();
    client.send(script);
    freshet::base::Random random(seed);
    for (std::uint64_t steps = random.below(random.one_in(2) ? 100 : 1000); steps > 0; --steps) world.sim().step();
    world.stop_here();
    client.drop_reader();
    world.kill();
    CHECK(client.forgotten());
  }
}

}  // namespace
}  // namespace testing
