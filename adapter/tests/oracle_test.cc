// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <freshet/base/sqlstate.h>
#include <testing/random.h>
#include <testing/sim_scheduler.h>

namespace freshet::adapter {
namespace {

using base::Promise;
using base::Unit;

/// An oracle whose reservations the test grants.
struct Fixture {
  explicit Fixture(std::uint64_t seed, SqlTime floor = 100)
      : sim(seed), process(sim.new_process()), oracle(process, floor, [this](SqlTime until) {
          asked.push_back(until);
          return pending.emplace_back().future();
        }) {}
  void grant() {
    pending.front().resolve(Unit{});
    pending.erase(pending.begin());
    sim.run_ready();
  }
  testing::SimScheduler sim;
  testing::SimScheduler::Process& process;
  std::vector<SqlTime> asked;
  std::vector<Promise<Unit>> pending;
  Oracle oracle;
};

TEST_CASE("oracle: a read waits for the reservation that covers it", "[adapter]") {
  Fixture f(1);
  auto first = f.oracle.read_timestamp();
  CHECK_FALSE(first.is_ready());
  CHECK_FALSE(f.oracle.read_now().has_value());
  REQUIRE(f.asked.size() == 1);
  f.grant();
  const auto time = f.sim.wait(std::move(first));
  REQUIRE(time);
  CHECK(*time < f.asked[0]);
  CHECK(f.oracle.read_now().value_or(0) >= *time);
  CHECK(f.asked.size() == 1);
}

TEST_CASE("oracle: a reservation that fails fails those who wait, and the next read asks again", "[adapter]") {
  Fixture f(2);
  auto first = f.oracle.read_timestamp();
  f.pending.front().resolve(fail(ErrorCode::kExhausted, "the disk is full"));
  f.pending.clear();
  f.sim.run_ready();
  const auto time = f.sim.wait(std::move(first));
  REQUIRE_FALSE(time);
  CHECK(time.error().message == "the disk is full");
  auto second = f.oracle.read_timestamp();
  REQUIRE(f.pending.size() == 1);
  f.grant();
  CHECK(f.sim.wait(std::move(second)));
}

TEST_CASE("oracle: while no reservation can be made reads stay below the last, until something newer is written", "[adapter]") {
  Fixture f(5);
  (void)f.oracle.read_timestamp();
  f.grant();
  const SqlTime reserved = f.asked.back();
  f.sim.jump_wall_clock(60'000'000);
  const auto refused = [&] {
    auto answer = f.oracle.read_timestamp();
    REQUIRE(f.pending.size() == 1);
    f.pending.front().resolve(fail(ErrorCode::kExhausted, "the disk is full"));
    f.pending.clear();
    f.sim.run_ready();
    return f.sim.wait(std::move(answer));
  };
  for (int i = 0; i < 3; ++i) {
    const auto time = refused();
    REQUIRE(time);
    CHECK(*time == reserved - 1);
  }
  CHECK_FALSE(f.oracle.read_now().has_value());
  f.pending.clear();
  f.sim.run_ready();
  f.oracle.apply_write(f.oracle.write_timestamp());
  const auto time = refused();
  REQUIRE_FALSE(time);
  CHECK(time.error().message == "the disk is full");
}

TEST_CASE("oracle: times stay in order whatever the wall clock does", "[adapter][property]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    Fixture f(seed, 1'000'000);
    (void)f.oracle.read_timestamp();
    f.grant();
    SqlTime reads = 0;
    SqlTime writes = 0;
    SqlTime acknowledged = 0;
    base::Random random(seed);
    for (int step = 0; step < 300; ++step) {
      switch (random.below(4)) {
        case 0: f.sim.jump_wall_clock(static_cast<std::int64_t>(random.below(2'000'000)) - 1'000'000); break;
        case 1: {
          const auto read = f.oracle.read_now();
          if (!read) {
            while (!f.pending.empty()) f.grant();
            break;
          }
          CHECK(*read >= reads);
          CHECK(*read >= acknowledged);
          CHECK(*read < f.asked.back());
          reads = *read;
          break;
        }
        case 2: {
          const SqlTime write = f.oracle.write_timestamp();
          CHECK(write > writes);
          CHECK(write > reads);
          writes = write;
          break;
        }
        default:
          if (writes > 0) f.oracle.apply_write(acknowledged = writes);
      }
    }
    while (!f.pending.empty()) f.grant();
  }
}

TEST_CASE("oracle: a clock set back makes no reservation less, nor one for each read", "[adapter]") {
  Fixture f(4);
  (void)f.oracle.read_timestamp();
  f.grant();
  const SqlTime reserved = f.asked.back();
  // Late enough for the next reservation; only then is the clock set back.
  f.sim.jump_wall_clock(1'500'000);
  const SqlTime written = f.oracle.write_timestamp();
  f.oracle.apply_write(written);
  REQUIRE(written < reserved);
  f.sim.jump_wall_clock(-30'000'000);
  for (int i = 0; i < 100; ++i) {
    CHECK(f.oracle.read_now() == written);
    while (!f.pending.empty()) f.grant();
  }
  CHECK(f.asked == std::vector<SqlTime>{reserved});
  // Forward again: what is given was covered before.
  f.sim.jump_wall_clock(30'250'000);
  const auto later = f.oracle.read_now();
  REQUIRE(later);
  CHECK(*later < reserved);
  CHECK(f.asked[0] == reserved);
  while (!f.pending.empty()) f.grant();
  CHECK(std::ranges::is_sorted(f.asked));
}

/// What outlives a server: the reservation that was made durable last, and the greatest write.
struct Lives {
  explicit Lives(std::uint64_t seed) : random(seed), sim(seed), process(sim.new_process()) {}

  /// One life: reads and writes until it is killed, or ends cleanly.
  void live(bool clean, bool jumps) {
    Oracle oracle(process, std::max(reserved, write + 1), [this](SqlTime until) -> base::Future<Unit> {
      if (random.one_in(10)) return base::Future<Unit>::ready(fail(ErrorCode::kUnavailable, "not now"));
      reserved = until;
      return base::Future<Unit>::ready(Unit{});
    });
    for (std::uint64_t step = random.below(60); step > 0; --step) {
      if (jumps && random.one_in(10)) {
        sim.jump_wall_clock(static_cast<std::int64_t>(random.below(2'000'000)) - 1'000'000);
      } else if (random.one_in(3)) {
        const SqlTime time = oracle.write_timestamp();
        REQUIRE(time > std::max(read, write));
        oracle.apply_write(write = time);
      } else {
        auto answer = oracle.read_timestamp();
        sim.run_ready();
        const auto time = answer.poll();
        if (!time || !*time) continue;
        REQUIRE(**time >= std::max(read, write));
        REQUIRE(**time < reserved);
        read = **time;
        if (!jumps) CHECK(read < process.clock().wall_micros() + 5'000'000);
      }
      sim.run_until([] { return false; }, std::chrono::microseconds(random.below(3000)));
    }
    if (!clean) return;
    (void)oracle.release();
    sim.run_ready();
    CHECK_FALSE(oracle.read_now().has_value());
    const auto refused = oracle.read_timestamp().poll();
    REQUIRE(refused.has_value());
    CHECK(refused->error().sqlstate == base::sqlstate::kAdminShutdown);
  }

  base::Random random;
  testing::SimScheduler sim;
  testing::SimScheduler::Process& process;
  SqlTime reserved = 0;
  SqlTime read = 0;
  SqlTime write = 0;
};

TEST_CASE("oracle: over many lives no time is given twice the wrong way, and none runs ahead", "[adapter][property]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Lives lives(seed);
    for (int life = 0; life < 40; ++life) lives.live(seed % 3 == 0, seed % 3 == 1);
  }
}

TEST_CASE("oracle: one that is released reserves nothing beyond what it gave", "[adapter]") {
  Fixture f(3);
  auto first = f.oracle.read_timestamp();
  f.grant();
  const SqlTime given = f.sim.wait(std::move(first)).value();
  CHECK(f.asked.back() > given + 1'000'000);
  const SqlTime written = f.oracle.write_timestamp();
  f.oracle.apply_write(written);
  auto released = f.oracle.release();
  REQUIRE(f.pending.size() == 1);
  f.grant();
  CHECK(f.asked.back() == std::max(given, written) + 1);
  CHECK(f.sim.wait(std::move(released)));
}

}  // namespace
}  // namespace freshet::adapter
