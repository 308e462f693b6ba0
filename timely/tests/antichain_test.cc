// SPDX-License-Identifier: Apache-2.0
#include <timely/progress_instances.h>

#include <testing/random.h>
#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace timely {
namespace {

using Time = Product<std::uint64_t, std::uint64_t>;

// The specification: all minimal times with positive counts.
template <typename T>
Antichain<T> minimal(const std::map<T, std::int64_t>& counts) {
  Antichain<T> result;
  for (const auto& [time, count] : counts) {
    bool dominated = count <= 0;
    for (const auto& [other, n] : counts) dominated |= n > 0 && less_than(other, time);
    if (!dominated) result.insert(time);
  }
  return result;
}

template <typename T, typename MakeTime>
void check_random_history(testing::Random& random, MakeTime make_time, bool may_dip) {
  std::map<T, std::int64_t> reference;
  MutableAntichain<T> counts;
  for (int step = 0; step < 300; ++step) {
    const T time = make_time();
    std::int64_t diff = random.between(-2, 2);
    if (!may_dip && reference[time] + diff < 0) diff = -reference[time];
    const Antichain<T> before = counts.frontier();
    reference[time] += diff;
    const bool changed = counts.update(time, diff);
    REQUIRE(counts.frontier() == minimal(reference));
    REQUIRE(changed == !(before == counts.frontier()));
    REQUIRE(counts.count_for(time) == reference[time]);
    std::erase_if(reference, [](const auto& entry) { return entry.second == 0; });
    REQUIRE(counts.entries().size() == reference.size());
  }
}

TEST_CASE("antichain: keeps only minimal elements", "[timely][antichain]") {
  Antichain<Time> frontier{Time{3, 0}, Time{0, 5}};
  CHECK(frontier.covers(Time{4, 1}));
  CHECK_FALSE(frontier.covers(Time{2, 4}));
  CHECK(frontier.insert(Time{0, 4}));
  CHECK_FALSE(frontier.insert(Time{3, 3}));
  CHECK(frontier == Antichain<Time>{Time{0, 4}, Time{3, 0}});
  CHECK(frontier.insert(Time{0, 0}));
  CHECK(frontier == Antichain<Time>::minimum());
  CHECK_FALSE(frontier.covers_strictly(Time{0, 0}));
  CHECK(frontier.covers_strictly(Time{0, 1}));
  CHECK(Antichain<Time>{}.empty());
  CHECK_FALSE(Antichain<Time>{}.covers(Time{9, 9}));
}

TEST_CASE("antichain: copies and moves are values, of one element and of many",
          "[timely][antichain]") {
  Antichain<Time> many{Time{3, 0}, Time{0, 5}, Time{1, 2}};
  Antichain<Time> copy = many;
  Antichain<Time> moved = std::move(many);
  CHECK(copy == moved);
  CHECK(many.empty());  // NOLINT: a moved-from antichain is empty by contract
  many = Antichain<Time>{Time{7, 7}};
  CHECK(many.only() == Time{7, 7});
  copy = many;
  many.clear();
  CHECK(copy.only() == Time{7, 7});
}

TEST_CASE("antichain: join and meet agree with what is covered", "[timely][antichain][property]") {
  auto random = testing::seeded_random();
  auto draw = [&] {
    Antichain<Time> result;
    for (std::uint64_t n = random.below(4); n > 0; --n)
      result.insert(Time{random.below(5), random.below(5)});
    return result;
  };
  for (int round = 0; round < 300; ++round) {
    const auto a = draw();
    const auto b = draw();
    for (std::uint64_t x = 0; x < 6; ++x) {
      for (std::uint64_t y = 0; y < 6; ++y) {
        const Time t{x, y};
        REQUIRE(meet(a, b).covers(t) == (a.covers(t) || b.covers(t)));
        REQUIRE(join(a, b).covers(t) == (a.covers(t) && b.covers(t)));
      }
    }
    REQUIRE(less_equal(a, b) == (meet(a, b) == a));
  }
}

TEST_CASE("antichain: advance_by gives equal representatives to indistinguishable times",
          "[timely][antichain][property]") {
  auto random = testing::seeded_random();
  for (int round = 0; round < 200; ++round) {
    Antichain<Time> since;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
      since.insert(Time{random.below(4), random.below(4)});
    std::vector<Time> domain;
    for (std::uint64_t i = 0; i < 36; ++i) domain.push_back(Time{i / 6, i % 6});
    for (const Time& s : domain) {
      for (const Time& t : domain) {
        bool same = true;
        for (const Time& observer : domain) {
          if (since.covers(observer)) same &= less_equal(s, observer) == less_equal(t, observer);
        }
        REQUIRE(same == (advance_by(s, since) == advance_by(t, since)));
      }
    }
  }
}

TEST_CASE("mutable antichain: agrees with recomputation", "[timely][antichain][property]") {
  for (std::uint64_t round = 0; round < 20; ++round) {
    auto random = testing::seeded_random(round);
    check_random_history<std::uint64_t>(
        random, [&] { return random.below(12); }, round % 2 == 0);
    check_random_history<Time>(
        random,
        [&] {
          return Time{random.below(5), random.below(5)};
        },
        round % 2 == 0);
  }
}

TEST_CASE("mutable antichain: a moving window of times stays small", "[timely][antichain]") {
  MutableAntichain<std::uint64_t> counts;
  for (std::uint64_t t = 0; t < 10; ++t) counts.update(t, 1);
  for (std::uint64_t t = 10; t < 2000; ++t) {
    counts.update(t, 1);
    REQUIRE(counts.update(t - 10, -1));
    REQUIRE(counts.frontier().only() == t - 9);
    REQUIRE(counts.entries().size() == 10);
  }
}

TEST_CASE("mutable antichain: a batch of changes reports only a net move", "[timely][antichain]") {
  MutableAntichain<std::uint64_t> counts;
  CHECK(counts.update_all(std::vector<std::pair<std::uint64_t, std::int64_t>>{{3, 1}, {5, 2}}));
  CHECK_FALSE(
      counts.update_all(std::vector<std::pair<std::uint64_t, std::int64_t>>{{3, -1}, {3, 1}}));
  CHECK(counts.update_all(std::vector<std::pair<std::uint64_t, std::int64_t>>{{3, -1}, {4, 1}}));
  CHECK(counts.frontier() == Antichain<std::uint64_t>{4});
}

TEST_CASE("change batch: sums equal times and forgets zeros", "[timely][change_batch][property]") {
  auto random = testing::seeded_random();
  for (int round = 0; round < 100; ++round) {
    ChangeBatch<std::uint64_t> batch;
    std::map<std::uint64_t, std::int64_t> reference;
    for (std::uint64_t n = random.below(100); n > 0; --n) {
      const std::uint64_t time = random.below(20);
      const std::int64_t diff = random.between(-1, 1);
      batch.update(time, diff);
      reference[time] += diff;
      if (random.one_in(10)) (void)batch.empty();
    }
    std::erase_if(reference, [](const auto& entry) { return entry.second == 0; });
    REQUIRE(batch.empty() == reference.empty());
    std::vector<std::pair<std::uint64_t, std::int64_t>> expected(reference.begin(),
                                                                 reference.end());
    REQUIRE(std::vector(batch.changes().begin(), batch.changes().end()) == expected);
    batch.drain([](std::uint64_t, std::int64_t) {});
    REQUIRE(batch.empty());
  }
}

}  // namespace
}  // namespace timely
