// SPDX-License-Identifier: Apache-2.0
#include <differential/batcher-inl.h>
#include <differential/bytes_instances.h>

#include <catch2/catch.hpp>

#include "model.h"

namespace differential {
namespace {

using model::LoopTime;

template <typename K, typename V, typename T>
void check_batcher(std::uint64_t round) {
  auto random = testing::seeded_random(round);
  const std::uint64_t times = random.pick<std::uint64_t>({3, 10, 1000});
  Batcher<K, V, T, std::int64_t> batcher(random.pick<std::size_t>({50, kBlockBytes}),
                                         random.pick<std::size_t>({4, 50, Batcher<K, V, T, std::int64_t>::kRunRows}));
  model::Sums<K, V, T> held;
  timely::Antichain<T> upper = timely::Antichain<T>::minimum();
  for (int step = 0; step < 12; ++step) {
    for (std::uint64_t pushes = random.below(4); pushes > 0; --pushes) {
      Updates<K, V, T, std::int64_t> rows;
      const bool one_time = random.coin();
      T fixed = model::Gen<T>::make(random, times);
      for (std::uint64_t n = random.below(100); n > 0; --n) {
        const T time = one_time ? fixed : model::Gen<T>::make(random, times);
        if (!upper.covers(time)) continue;
        const K key = model::Gen<K>::make(random, 3);
        const V val = model::Gen<V>::make(random, 2);
        const std::int64_t diff = random.coin() ? 1 : -1;
        rows.push(ref_of(key), ref_of(val), time, diff);
        model::add(held, key, val, time, diff);
      }
      if (random.coin()) {
        batcher.push(rows);
      } else {
        batcher.push(std::move(rows));
      }
    }
    timely::Antichain<T> next;
    if (step < 11) {
      next.insert(timely::join(upper.elements()[0], model::Gen<T>::make(random, times)));
      for (const T& t : upper.elements()) next.insert(timely::join(t, model::Gen<T>::make(random, times)));
    }
    auto run = batcher.seal(next);
    model::Sums<K, V, T> expected;
    for (const auto& [row, sum] : held) {
      if (!next.covers(std::get<2>(row))) expected[row] = sum;
    }
    std::erase_if(held, [&](const auto& entry) { return !next.covers(std::get<2>(entry.first)); });
    bool ordered = true;
    REQUIRE(model::sums_of<K, V, T>({model::batch_of<K, V, T>(run)}, ordered) == expected);
    REQUIRE(ordered);
    // Exact after consolidation: cancelled updates hold nothing (else recursion stalls).
    timely::Antichain<T> frontier;
    for (const auto& [row, sum] : held) frontier.insert(std::get<2>(row));
    REQUIRE(batcher.held() == frontier);
    upper = next;
  }
  REQUIRE(batcher.size() == 0);
}

TEST_CASE("batcher: seals what is complete and holds exactly the rest", "[differential][property]") {
  for (std::uint64_t round = 0; round < 150; ++round) {
    check_batcher<std::uint64_t, Unit, std::uint64_t>(round);
    check_batcher<std::string, std::string, std::uint64_t>(round);
    check_batcher<std::uint32_t, std::uint32_t, LoopTime>(round);
    check_batcher<std::string, std::string, LoopTime>(round);
  }
}

TEST_CASE("batcher: future updates are not touched by seals before their time", "[differential]") {
  Batcher<std::uint64_t, Unit, std::uint64_t, std::int64_t> batcher;
  for (std::uint64_t i = 0; i < 100000; ++i) batcher.incoming().push(i, {}, 1000000 + i, 1);
  batcher.written();
  // 20,000 seals over 100,000 waiting updates: 2e9 touches if each seal looked at all of them.
  for (std::uint64_t t = 1; t <= 20000; ++t) {
    batcher.incoming().push(t, {}, t - 1, 1);
    REQUIRE(batcher.seal({t}).updates == 1);
    REQUIRE(batcher.held() == timely::Antichain<std::uint64_t>{1000000});
  }
  REQUIRE(batcher.seal({1000010}).updates == 10);
  REQUIRE(batcher.held() == timely::Antichain<std::uint64_t>{1000010});
}

}  // namespace
}  // namespace differential
