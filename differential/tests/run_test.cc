// SPDX-License-Identifier: Apache-2.0
#include <differential/batcher-inl.h>
#include <differential/bytes_instances.h>

#include <catch2/catch.hpp>

#include "model.h"

namespace differential {
namespace {

using model::LoopTime;

template <typename K, typename V, typename T>
void check_sort(std::uint64_t round) {
  auto random = testing::seeded_random(round);
  const std::size_t block_bytes = random.pick<std::size_t>({1, 60, 500, kBlockBytes});
  const auto rows = model::random_rows<K, V, T>(random, random.pick<std::size_t>({0, 1, 2, 40, 700}),
                                                1 + random.below(60), 1 + random.below(4));
  RunBuilder<K, V, T, std::int64_t> builder(block_bytes);
  detail::SortScratch scratch;
  auto run = sort_into_run(rows, builder, scratch);
  bool ordered = true;
  const auto sums = model::sums_of<K, V, T>({model::batch_of<K, V, T>(run)}, ordered);
  REQUIRE(ordered);
  REQUIRE(sums == model::sums_of(rows));
  REQUIRE(run.updates == sums.size());
}

template <typename K, typename V, typename T>
void check_merge(std::uint64_t round) {
  auto random = testing::seeded_random(round);
  const std::size_t block_bytes = random.pick<std::size_t>({1, 60, 500, kBlockBytes});
  const std::uint64_t domain = 1 + random.below(80);
  const std::uint64_t times = 1 + random.below(4);
  RunBuilder<K, V, T, std::int64_t> builder(block_bytes);
  detail::SortScratch scratch;
  auto a = model::random_rows<K, V, T>(random, random.below(400), domain, times);
  auto b = model::random_rows<K, V, T>(random, random.below(400), domain, times);
  auto run_a = sort_into_run(a, builder, scratch);
  auto run_b = sort_into_run(b, builder, scratch);
  a.append(b);
  timely::Antichain<T> since;
  if (random.coin()) {
    since.insert(model::Gen<T>::make(random, times));
    since.insert(model::Gen<T>::make(random, times));
  }
  model::Sums<K, V, T> expected;
  for (const auto& [row, sum] : model::sums_of(a)) {
    const auto& [key, val, time] = row;
    model::add(expected, key, val, since.empty() ? time : timely::advance_by(time, since), sum);
  }
  RunMerger<K, V, T, std::int64_t> merger(run_a, run_b, block_bytes);
  const std::int64_t step = random.pick<std::int64_t>({1, 7, 100, 1000000});
  for (std::int64_t fuel = step; !merger.work(&since, fuel);) fuel = step;
  auto merged = merger.finish();
  bool ordered = true;
  const auto sums = model::sums_of<K, V, T>({model::batch_of<K, V, T>(merged)}, ordered);
  REQUIRE(ordered);
  REQUIRE(sums == expected);
  REQUIRE(merged.updates == expected.size());
}

template <typename K, typename V, typename T = std::uint64_t>
void check_all() {
  for (std::uint64_t round = 0; round < 60; ++round) {
    check_sort<K, V, T>(round);
    check_merge<K, V, T>(round);
  }
}

TEST_CASE("run: sorting and merging equal a map of sums, for every layout", "[differential][property]") {
  check_all<std::uint64_t, Unit>();
  check_all<std::int32_t, std::uint8_t>();
  check_all<std::uint32_t, std::uint32_t>();
  check_all<std::string, std::string>();
  check_all<std::string, Unit>();
  check_all<std::pair<std::string, std::int64_t>, std::uint64_t>();
  check_all<std::tuple<std::uint16_t, std::int8_t, std::string>, std::pair<std::uint64_t, std::string>>();
}

// The layout of keys and values does not know of times: few of them do for partially ordered ones.
TEST_CASE("run: the same over pairs of times", "[differential][property]") {
  check_all<std::uint64_t, Unit, LoopTime>();
  check_all<std::string, std::string, LoopTime>();
  check_all<std::pair<std::string, std::int64_t>, std::uint64_t, LoopTime>();
}

TEST_CASE("sort: orders values with bits that differ anywhere", "[differential]") {
  auto random = testing::seeded_random();
  for (unsigned shift = 0; shift < 64; shift += 3) {
    Updates<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t> rows;
    for (int i = 0; i < 3000; ++i) {
      rows.push((random.below(5000) << shift) ^ 0x0123456789abcdefULL, random.below(3), 0, 1);
    }
    detail::SortScratch scratch;
    const auto order = sorted_order(rows, scratch);
    REQUIRE(order.size() == rows.size());
    for (std::size_t i = 1; i < order.size(); ++i) {
      const auto before = std::pair(rows.keys[order[i - 1].row], rows.vals[order[i - 1].row]);
      REQUIRE(before <= std::pair(rows.keys[order[i].row], rows.vals[order[i].row]));
    }
  }
}

TEST_CASE("sort: row numbers by a closure, few and many", "[differential][property]") {
  auto random = testing::seeded_random();
  for (std::size_t size = 0; size < 60; ++size) {
    std::vector<std::uint64_t> values(size);
    std::vector<std::uint32_t> rows(size);
    for (std::uint32_t i = 0; i < size; ++i) {
      values[i] = random.below(20);
      rows[i] = i;
    }
    std::vector<std::uint32_t> expected = rows;
    const auto less = [&](std::uint32_t a, std::uint32_t b) {
      return values[a] != values[b] ? values[a] < values[b] : a < b;
    };
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
    detail::sort_rows(rows, less);
    REQUIRE(rows == expected);
  }
}

TEST_CASE("compare: bytes compare as memcmp with the shorter first", "[differential]") {
  auto random = testing::seeded_random();
  for (int i = 0; i < 5000; ++i) {
    std::string a(random.below(20), 'x');
    std::string b(random.below(20), 'x');
    if (!a.empty()) a[random.below(a.size())] = static_cast<char>(random.below(256));
    if (!b.empty()) b[random.below(b.size())] = static_cast<char>(random.below(256));
    const int expected = a < b ? -1 : (b < a ? 1 : 0);
    REQUIRE(compare(std::string_view(a), std::string_view(b)) == expected);
    if (PrefixOf<std::string_view>::of(a) < PrefixOf<std::string_view>::of(b)) REQUIRE(expected < 0);
  }
  REQUIRE(PrefixOf<std::int32_t>::of(-1) < PrefixOf<std::int32_t>::of(0));
  REQUIRE(PrefixOf<std::int64_t>::of(INT64_MIN) < PrefixOf<std::int64_t>::of(INT64_MAX));
}

TEST_CASE("cursor: seeks find what a scan finds", "[differential][property]") {
  using K = std::string;
  for (std::uint64_t round = 0; round < 100; ++round) {
    auto random = testing::seeded_random(round);
    const std::size_t block_bytes = random.pick<std::size_t>({1, 80, 700, kBlockBytes});
    RunBuilder<K, K, std::uint64_t, std::int64_t> builder(block_bytes);
    detail::SortScratch scratch;
    std::vector<BatchPtr<K, K, std::uint64_t, std::int64_t>> batches;
    std::map<std::string, std::map<std::string, std::int64_t>> expected;
    for (std::uint64_t b = 1 + random.below(4); b > 0; --b) {
      const auto rows = model::random_rows<K, K, std::uint64_t>(random, random.below(300), 40, 1);
      for (const auto& [row, sum] : model::sums_of(rows)) {
        expected[std::get<0>(row)][std::get<1>(row)] += sum;
      }
      batches.push_back(model::batch_of<K, K, std::uint64_t>(sort_into_run(rows, builder, scratch)));
    }
    CursorList<K, K, std::uint64_t, std::int64_t> cursor(batches);
    std::string last;
    while (cursor.key_valid()) {
      std::string target = model::Gen<K>::make(random, 50);
      if (target < last) target = last;
      last = target;
      cursor.seek_key(target);
      const auto place = expected.lower_bound(target);
      REQUIRE(cursor.key_valid() == (place != expected.end()));
      if (!cursor.key_valid()) break;
      REQUIRE(cursor.key() == place->first);
      const std::string val = model::Gen<K>::make(random, 50);
      cursor.seek_val(val);
      auto val_place = place->second.lower_bound(val);
      for (; val_place != place->second.end(); ++val_place, cursor.step_val()) {
        REQUIRE(cursor.val_valid());
        REQUIRE(cursor.val() == val_place->first);
        std::int64_t sum = 0;
        cursor.map_times([&](std::uint64_t, std::int64_t diff) { sum += diff; });
        REQUIRE(sum == val_place->second);
      }
      REQUIRE(!cursor.val_valid());
      cursor.rewind_vals();
      REQUIRE(cursor.val() == place->second.begin()->first);
      if (random.coin()) {
        cursor.step_key();
        last = place->first + '\0';
      } else {
        last = place->first;
        if (random.one_in(5)) last += '\0';
      }
    }
  }
}

}  // namespace
}  // namespace differential
