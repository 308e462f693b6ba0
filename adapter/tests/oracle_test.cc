// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <catch2/catch.hpp>
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

}  // namespace
}  // namespace freshet::adapter
