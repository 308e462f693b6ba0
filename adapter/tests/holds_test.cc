// SPDX-License-Identifier: Apache-2.0
#include "holds.h"

#include <catch2/catch.hpp>
#include <freshet/base/random.h>

#include "catalog.h"

namespace freshet::adapter {
namespace {

constexpr GlobalId kA{GlobalId::Kind::kUser, 1};
constexpr GlobalId kB{GlobalId::Kind::kUser, 2};
constexpr SqlTime kSecond = 1'000'000;

struct Fixture {
  std::map<GlobalId, SqlTime> since;
  Holds holds{[this](GlobalId id, SqlTime at) { since[id] = at; }};
};

TEST_CASE("holds: history goes a second behind the upper, and stays where it is held", "[adapter]") {
  Fixture f;
  f.holds.add(kA, 0, 1, kDefaultRetainMicros);
  f.holds.on_upper(kA, 10 * kSecond);
  CHECK(f.since[kA] == 9 * kSecond - 1);
  auto hold = f.holds.acquire({kA}, 9 * kSecond);
  REQUIRE(hold);
  f.holds.on_upper(kA, 20 * kSecond);
  CHECK(f.since[kA] <= 9 * kSecond);
  hold->downgrade(12 * kSecond);
  CHECK(f.since[kA] == 12 * kSecond);
  hold->release();
  CHECK(f.since[kA] == 19 * kSecond - 1);
}

TEST_CASE("holds: a time that was given up, or a collection that is gone, cannot be held", "[adapter]") {
  Fixture f;
  f.holds.add(kA, 0, 1, kDefaultRetainMicros);
  f.holds.add(kB, 5, 6, kDefaultRetainMicros);
  f.holds.on_upper(kA, 10 * kSecond);
  const auto late = f.holds.acquire({kB, kA}, kSecond);
  REQUIRE_FALSE(late);
  CHECK(late.error().sqlstate == SqlState("22023"));
  // The one that failed holds nothing of the other.
  f.holds.on_upper(kB, 10 * kSecond);
  CHECK(f.since[kB] == 9 * kSecond - 1);
  f.holds.remove(kA);
  const auto gone = f.holds.acquire({kA}, 10 * kSecond);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().sqlstate == SqlState("42P01"));
}

TEST_CASE("holds: a hold may outlive its collection", "[adapter]") {
  Fixture f;
  f.holds.add(kA, 0, 1, kDefaultRetainMicros);
  auto hold = f.holds.acquire({kA}, 3);
  REQUIRE(hold);
  f.holds.remove(kA);
  hold->downgrade(5);
  hold->release();
  CHECK_FALSE(f.holds.knows(kA));
}

TEST_CASE("holds: a hold on everything holds what comes later, too, and lets go what moved meanwhile", "[adapter]") {
  Fixture f;
  f.holds.add(kA, 0, 1, kDefaultRetainMicros);
  f.holds.on_upper(kA, 10 * kSecond);
  auto all = f.holds.acquire_all(9 * kSecond);
  f.holds.add(kB, 9 * kSecond, 9 * kSecond + 1, kDefaultRetainMicros);
  f.holds.on_upper(kA, 20 * kSecond);
  f.holds.on_upper(kB, 20 * kSecond);
  CHECK(f.since[kA] <= 9 * kSecond);
  CHECK(f.since[kB] <= 9 * kSecond);
  auto nothing = f.holds.acquire({}, 3);
  REQUIRE(nothing);
  nothing->release();
  CHECK(f.since[kA] <= 9 * kSecond);
  all.release();
  CHECK(f.since[kA] == 19 * kSecond - 1);
  CHECK(f.since[kB] == 19 * kSecond - 1);
}

TEST_CASE("holds: the since is never above a hold", "[adapter][property]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    Fixture f;
    f.holds.add(kA, 0, 1, kDefaultRetainMicros);
    f.holds.add(kB, 0, 1, kDefaultRetainMicros);
    base::Random random(seed);
    std::vector<Hold> held;
    SqlTime upper = 1;
    for (int step = 0; step < 400; ++step) {
      upper += random.below(kSecond);
      f.holds.on_upper(random.below(2) == 0 ? kA : kB, upper);
      const std::uint64_t what = random.below(4);
      if (what == 3) {
        held.push_back(f.holds.acquire_all(f.holds.readable_from({kA, kB}) + random.below(kSecond)));
      } else if (what == 0) {
        const SqlTime time = f.holds.readable_from({kA, kB}) + random.below(kSecond);
        auto hold = f.holds.acquire({kA, kB}, time);
        REQUIRE(hold);
        held.push_back(std::move(*hold));
      } else if (what == 1 && !held.empty()) {
        Hold& hold = held[random.below(held.size())];
        hold.downgrade(hold.time() + random.below(kSecond));
      } else if (!held.empty()) {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(random.below(held.size())));
      }
      for (const Hold& hold : held) {
        CHECK(f.since[kA] <= hold.time());
        CHECK(f.since[kB] <= hold.time());
      }
    }
    // What was held back moves when nobody holds it any more.
    held.clear();
    f.holds.on_upper(kA, upper + 1);
    const SqlTime kept = kDefaultRetainMicros + kDefaultRetainMicros / 4 + 1;
    CHECK(f.since[kA] + kept >= upper);
  }
}

}  // namespace
}  // namespace freshet::adapter
