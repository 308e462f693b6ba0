// SPDX-License-Identifier: Apache-2.0
/// The naive model that tests compare with: updates as a sorted map of sums.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <differential/batch.h>
#include <differential/cursor.h>
#include <differential/updates.h>
#include <testing/random.h>
#include <timely/product.h>

namespace differential::model {

using LoopTime = timely::Product<std::uint64_t, std::uint64_t>;

/// Random values from a small domain, so that updates meet.
template <typename K>
struct Gen;
template <std::integral K>
struct Gen<K> {
  static K make(testing::Random& random, std::uint64_t domain) {
    return static_cast<K>(random.below(domain)) - static_cast<K>(std::is_signed_v<K> ? domain / 2 : 0);
  }
};
template <>
struct Gen<Unit> {
  static Unit make(testing::Random&, std::uint64_t) { return {}; }
};
template <>
struct Gen<std::string> {
  static std::string make(testing::Random& random, std::uint64_t domain) {
    const std::uint64_t v = random.below(domain);
    std::string s = (v % 3 == 0) ? "a common prefix " : (v % 3 == 1 ? "" : std::string("\0\xff", 2));
    return s + std::to_string(v / 3);
  }
};
template <typename A, typename B>
struct Gen<std::pair<A, B>> {
  static std::pair<A, B> make(testing::Random& random, std::uint64_t domain) {
    return {Gen<A>::make(random, domain / 4 + 1), Gen<B>::make(random, 5)};
  }
};
template <typename... As>
struct Gen<std::tuple<As...>> {
  static std::tuple<As...> make(testing::Random& random, std::uint64_t domain) {
    return std::tuple<As...>{Gen<As>::make(random, domain / 4 + 2)...};
  }
};
template <>
struct Gen<LoopTime> {
  static LoopTime make(testing::Random& random, std::uint64_t domain) {
    return {random.below(domain), random.below(domain)};
  }
};

template <typename K, typename V, typename T>
using Sums = std::map<std::tuple<K, V, T>, std::int64_t>;

template <typename K, typename V, typename T>
void add(Sums<K, V, T>& sums, const K& key, const V& val, const T& time, std::int64_t diff) {
  auto place = sums.try_emplace({key, val, time}, 0).first;
  place->second += diff;
  if (place->second == 0) sums.erase(place);
}

template <typename K, typename V, typename T>
Sums<K, V, T> sums_of(const Updates<K, V, T, std::int64_t>& rows) {
  Sums<K, V, T> sums;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add<K, V, T>(sums, Column<K>::own(rows.keys[i]), Column<V>::own(rows.vals[i]), rows.times[i],
                 rows.diffs[i]);
  }
  return sums;
}

/// What cursors over the batches show; also checks the order in which they show it.
template <typename K, typename V, typename T>
Sums<K, V, T> sums_of(std::vector<BatchPtr<K, V, T, std::int64_t>> batches, bool& ordered) {
  Sums<K, V, T> sums;
  std::vector<std::pair<K, V>> seen;
  for (CursorList<K, V, T, std::int64_t> cursor(std::move(batches)); cursor.key_valid();
       cursor.step_key()) {
    for (; cursor.val_valid(); cursor.step_val()) {
      const K key = Column<K>::own(cursor.key());
      const V val = Column<V>::own(cursor.val());
      if (!seen.empty() && !(seen.back() < std::pair(key, val))) ordered = false;
      seen.emplace_back(key, val);
      cursor.map_times([&](const T& time, std::int64_t diff) {
        if (diff == 0) ordered = false;
        add<K, V, T>(sums, key, val, time, diff);
      });
    }
  }
  return sums;
}

/// The batch over one run, for reading it with a cursor.
template <typename K, typename V, typename T>
BatchPtr<K, V, T, std::int64_t> batch_of(Run<K, V, T, std::int64_t> run) {
  return std::make_shared<Batch<K, V, T, std::int64_t>>(
      timely::Antichain<T>::minimum(), timely::Antichain<T>{}, timely::Antichain<T>::minimum(),
      std::move(run));
}

template <typename K, typename V, typename T>
Updates<K, V, T, std::int64_t> random_rows(testing::Random& random, std::size_t size,
                                           std::uint64_t domain, std::uint64_t times) {
  Updates<K, V, T, std::int64_t> rows;
  for (std::size_t i = 0; i < size; ++i) {
    const K key = Gen<K>::make(random, domain);
    const V val = Gen<V>::make(random, domain);
    rows.push(ref_of(key), ref_of(val), Gen<T>::make(random, times), random.coin() ? 1 : -1);
  }
  return rows;
}

}  // namespace differential::model
