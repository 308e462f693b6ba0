// SPDX-License-Identifier: Apache-2.0
#include <differential/batcher-inl.h>
#include <differential/bytes_instances.h>
#include <differential/trace-inl.h>

#include <catch2/catch.hpp>

#include "model.h"

namespace differential {
namespace {

using model::LoopTime;
template <typename T>
using TestTrace = Trace<std::string, std::string, T, std::int64_t>;

// Content at a time, from sums over all times.
template <typename K, typename V, typename T>
std::map<std::pair<K, V>, std::int64_t> content_at(const model::Sums<K, V, T>& sums, const T& time) {
  std::map<std::pair<K, V>, std::int64_t> result;
  for (const auto& [row, sum] : sums) {
    const auto& [key, val, t] = row;
    if (!timely::less_equal(t, time)) continue;
    auto place = result.try_emplace({key, val}, 0).first;
    place->second += sum;
    if (place->second == 0) result.erase(place);
  }
  return result;
}

template <typename K, typename V, typename T>
std::map<std::pair<K, V>, std::int64_t> content_at(const TraceSnapshot<K, V, T, std::int64_t>& snapshot,
                                                   const T& time) {
  std::map<std::pair<K, V>, std::int64_t> result;
  for (auto cursor = snapshot.at(time); cursor->valid(); cursor->step()) {
    result[{Column<K>::own(cursor->key()), Column<V>::own(cursor->val())}] = cursor->diff();
  }
  return result;
}

template <typename T>
void check_trace(std::uint64_t round) {
  using K = std::string;
  using V = std::string;
  auto random = testing::seeded_random(round);
  const std::size_t block_bytes = random.pick<std::size_t>({30, 300, kBlockBytes});
  HoldTable<T> holds;
  auto hold = holds.acquire(timely::Antichain<T>::minimum());
  auto trace = std::make_shared<TestTrace<T>>(holds, block_bytes);
  std::optional<TraceReader<K, V, T, std::int64_t>> reader;
  std::vector<timely::Antichain<T>> cuts{trace->upper()};
  Batcher<K, V, T, std::int64_t> batcher(block_bytes, 100);
  model::Sums<K, V, T> all;
  std::uint64_t now = 0;
  for (int step = 0; step < 60; ++step) {
    const auto upper_of = [](std::uint64_t t) {
      if constexpr (timely::TotalOrder<T>) {
        return timely::Antichain<T>{t};
      } else {
        return timely::Antichain<T>{{t, t / 2}, {t / 2, t}};
      }
    };
    const std::uint64_t next = now + random.below(3);
    for (std::uint64_t n = random.pick<std::uint64_t>({0, 1, 3, 200}); n > 0; --n) {
      const T time = model::Gen<T>::make(random, next + 3);
      if (!trace->upper().covers(time)) continue;
      const K key = model::Gen<K>::make(random, 30);
      const V val = model::Gen<V>::make(random, 4);
      const std::int64_t diff = random.coin() ? 1 : -1;
      batcher.incoming().push(key, val, time, diff);
      model::add(all, key, val, time, diff);
    }
    if (next != now) {
      auto run = batcher.seal(upper_of(next));
      trace->insert(std::make_shared<Batch<K, V, T, std::int64_t>>(
          trace->upper(), upper_of(next), hold->at(), std::move(run)));
      cuts.push_back(trace->upper());
      now = next;
    }
    if (random.one_in(4) && now > 2) {
      const auto to = upper_of(now - random.below(std::min<std::uint64_t>(now, 4)));
      if (timely::less_equal(hold->at(), to)) hold->downgrade(to);
    }
    if (random.one_in(6)) reader.emplace(trace);
    if (random.one_in(6)) reader.reset();
    if (random.one_in(3)) trace->work(random.pick<std::int64_t>({1, 100, 100000}));
    auto snapshot = trace->snapshot();
    REQUIRE(snapshot.since() == holds.since());
    for (std::uint64_t probe = 0; probe < 3; ++probe) {
      const T time = model::Gen<T>::make(random, now + 2);
      REQUIRE(snapshot.readable_at(time) ==
              (hold->at().covers(time) && !trace->upper().covers(time)));
      REQUIRE(snapshot.at(time).has_value() == snapshot.readable_at(time));
      if (snapshot.readable_at(time)) REQUIRE(content_at(snapshot, time) == content_at(all, time));
    }
  }
}

TEST_CASE("trace: shows the content at every readable time, whatever was merged",
          "[differential][property]") {
  for (std::uint64_t round = 0; round < 60; ++round) {
    check_trace<std::uint64_t>(round);
    check_trace<LoopTime>(round);
  }
}

TEST_CASE("spine: keeps few batches, and none of the cancelled updates", "[differential]") {
  using B = Batch<std::uint64_t, Unit, std::uint64_t, std::int64_t>;
  Spine<std::uint64_t, Unit, std::uint64_t, std::int64_t> spine;
  RunBuilder<std::uint64_t, Unit, std::uint64_t, std::int64_t> builder;
  std::size_t most = 0;
  for (std::uint64_t t = 0; t < 20000; ++t) {
    builder.key(t % 1000);
    builder.val({});
    builder.update(t, t % 2000 < 1000 ? 1 : -1);
    spine.insert(std::make_shared<B>(spine.upper(), timely::Antichain<std::uint64_t>{t + 1},
                                     timely::Antichain<std::uint64_t>{t}, builder.finish()),
                 {t});
    most = std::max(most, spine.size());
  }
  REQUIRE(most <= 12);
  while (spine.work(1000, {20000})) {
  }
  REQUIRE(spine.updates() <= 2000);
}

TEST_CASE("spine: fuel bounds the work of one insertion", "[differential]") {
  using B = Batch<std::uint64_t, Unit, std::uint64_t, std::int64_t>;
  Spine<std::uint64_t, Unit, std::uint64_t, std::int64_t> spine;
  RunBuilder<std::uint64_t, Unit, std::uint64_t, std::int64_t> builder;
  const auto batch = [&](std::uint64_t low, std::uint64_t high, std::uint64_t upper) {
    for (std::uint64_t k = low; k < high; k += 2) {
      builder.key(k);
      builder.val({});
      builder.update(upper - 1, 1);
    }
    return std::make_shared<B>(spine.upper(), timely::Antichain<std::uint64_t>{upper},
                               timely::Antichain<std::uint64_t>{0}, builder.finish());
  };
  spine.set_physical({0});
  spine.insert(batch(0, 200000, 1), {0});
  spine.insert(batch(1, 200001, 2), {0});
  REQUIRE(spine.size() == 2);
  spine.set_physical({});
  spine.insert(batch(0, 1, 3), {0});
  REQUIRE(spine.merging());  // 200,000 updates are not merged inside one call with little fuel
  REQUIRE(spine.work(1000, {0}));
  int rounds = 0;
  while (spine.work(10000, {0})) ++rounds;
  REQUIRE(rounds >= 1);
  REQUIRE(spine.size() == 2);
  REQUIRE(spine.updates() == 200001);
}

TEST_CASE("spine: a quiet batch is rewritten once its times may fall together", "[differential]") {
  using B = Batch<std::uint64_t, Unit, std::uint64_t, std::int64_t>;
  Spine<std::uint64_t, Unit, std::uint64_t, std::int64_t> spine;
  RunBuilder<std::uint64_t, Unit, std::uint64_t, std::int64_t> builder;
  for (std::uint64_t k = 0; k < 1000; ++k) {
    builder.key(k);
    builder.val({});
    builder.update(0, 1);
    builder.update(1, -1);
    builder.update(2, 1);
  }
  spine.insert(std::make_shared<B>(spine.upper(), timely::Antichain<std::uint64_t>{3},
                                   timely::Antichain<std::uint64_t>{0}, builder.finish()),
               {0});
  while (spine.work(1000, {0})) {
  }
  REQUIRE(spine.updates() == 3000);
  while (spine.work(1000, {3})) {
  }
  REQUIRE(spine.updates() == 1000);
}

TEST_CASE("holds: a hold is granted at or after the since, and the since never goes back",
          "[differential]") {
  HoldTable<std::uint64_t> table;
  auto first = table.acquire({0});
  REQUIRE(first);
  first->downgrade({5});
  REQUIRE(table.since() == timely::Antichain<std::uint64_t>{5});
  REQUIRE(!table.acquire({4}));
  auto second = table.acquire({7});
  first->downgrade({9});
  REQUIRE(table.since() == timely::Antichain<std::uint64_t>{7});
  auto third = table.acquire({7});
  second.reset();
  REQUIRE(table.since() == timely::Antichain<std::uint64_t>{7});
  third->downgrade({3});  // joined: stays
  REQUIRE(third->at() == timely::Antichain<std::uint64_t>{7});
  third.reset();
  REQUIRE(table.since() == timely::Antichain<std::uint64_t>{9});
  first.reset();
  REQUIRE(table.since().empty());
  REQUIRE(!table.acquire({100}));
}

}  // namespace
}  // namespace differential
