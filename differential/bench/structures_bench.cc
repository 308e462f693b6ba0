// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <differential/batcher-inl.h>
#include <differential/bytes_instances.h>
#include <differential/trace-inl.h>

namespace differential {
namespace {

using freshet::base::Random;

template <typename K>
K make_key(std::uint64_t v) {
  if constexpr (std::same_as<K, std::string>) {
    std::string key(16, '\0');
    const std::uint64_t mixed = freshet::base::mix64(v);
    std::memcpy(key.data(), &mixed, 8);
    return key;
  } else {
    return static_cast<K>(v);
  }
}

template <typename K, typename V>
Updates<K, V, std::uint64_t, std::int64_t> make_rows(std::size_t size, std::uint64_t domain, std::uint64_t seed) {
  Random random(seed);
  Updates<K, V, std::uint64_t, std::int64_t> rows;
  for (std::size_t i = 0; i < size; ++i) {
    const K key = make_key<K>(random.below(domain));
    if constexpr (std::same_as<V, Unit>) {
      rows.push(ref_of(key), {}, 0, 1);
    } else {
      const V val = make_key<V>(random.below(domain));
      rows.push(ref_of(key), ref_of(val), 0, 1);
    }
  }
  return rows;
}

template <typename K, typename V>
void BM_sort(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto rows = make_rows<K, V>(size, 10'000'000, 1);
  RunBuilder<K, V, std::uint64_t, std::int64_t> builder;
  detail::SortScratch scratch;
  std::size_t bytes = 0;
  for (auto _ : state) bytes = sort_into_run(rows, builder, scratch).bytes;
  state.SetItemsProcessed(static_cast<std::int64_t>(size) * state.iterations());
  state.counters["bytes/update"] = static_cast<double>(bytes) / static_cast<double>(size);
}

template <typename K, typename V>
void BM_merge(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  RunBuilder<K, V, std::uint64_t, std::int64_t> builder;
  detail::SortScratch scratch;
  const auto a = sort_into_run(make_rows<K, V>(size, 10'000'000, 1), builder, scratch);
  const auto b = sort_into_run(make_rows<K, V>(size, 10'000'000, 2), builder, scratch);
  for (auto _ : state) benchmark::DoNotOptimize(merge_runs<K, V, std::uint64_t, std::int64_t>(a, b));
  state.SetItemsProcessed(2 * static_cast<std::int64_t>(size) * state.iterations());
}

template <typename K, typename V>
void BM_load(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<Updates<K, V, std::uint64_t, std::int64_t>> messages;
  for (std::size_t i = 0; i < size; i += 10000) messages.push_back(make_rows<K, V>(10000, size / 5, i));
  std::size_t bytes = 0;
  for (auto _ : state) {
    Batcher<K, V, std::uint64_t, std::int64_t> batcher;
    for (const auto& rows : messages) batcher.push(rows);
    bytes = batcher.seal({1}).bytes;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(size) * state.iterations());
  state.counters["bytes/update"] = static_cast<double>(bytes) / static_cast<double>(size);
}

// One update in, sealed, inserted into a trace of range(0) keys, and looked up.
void BM_single(benchmark::State& state) {
  using K = std::uint64_t;
  const auto size = static_cast<std::size_t>(state.range(0));
  HoldTable<std::uint64_t> holds;
  auto hold = holds.acquire({0});
  Trace<K, Unit, std::uint64_t, std::int64_t> trace(holds);
  Batcher<K, Unit, std::uint64_t, std::int64_t> batcher;
  using B = Batch<K, Unit, std::uint64_t, std::int64_t>;
  batcher.push(make_rows<K, Unit>(size, size, 1));
  trace.insert(std::make_shared<B>(trace.upper(), timely::Antichain<std::uint64_t>{1}, hold->at(), batcher.seal({1})));
  Random random(3);
  std::uint64_t t = 1;
  std::int64_t sum = 0;
  for (auto _ : state) {
    const K key = random.below(size);
    batcher.incoming().push(key, {}, t, 1);
    const timely::Antichain<std::uint64_t> upper{t + 1};
    auto run = batcher.seal(upper);
    batcher.held();
    trace.insert(std::make_shared<B>(trace.upper(), upper, hold->at(), std::move(run)));
    CursorList<K, Unit, std::uint64_t, std::int64_t> cursor(trace.spine().batches_through(upper));
    if (cursor.seek_exactly(key)) cursor.map_times([&](std::uint64_t, std::int64_t d) { sum += d; });
    hold->downgrade(upper);
    ++t;
  }
  benchmark::DoNotOptimize(sum);
}

BENCHMARK_TEMPLATE(BM_sort, std::uint64_t, Unit)->Arg(1 << 18);
BENCHMARK_TEMPLATE(BM_sort, std::uint32_t, std::uint32_t)->Arg(1 << 18);
BENCHMARK_TEMPLATE(BM_sort, std::uint64_t, std::uint64_t)->Arg(1 << 18);
BENCHMARK_TEMPLATE(BM_sort, std::string, std::string)->Arg(1 << 18);
BENCHMARK_TEMPLATE(BM_merge, std::uint64_t, Unit)->Arg(1 << 20);
BENCHMARK_TEMPLATE(BM_merge, std::uint32_t, std::uint32_t)->Arg(1 << 20);
BENCHMARK_TEMPLATE(BM_merge, std::uint64_t, std::uint64_t)->Arg(1 << 20);
BENCHMARK_TEMPLATE(BM_merge, std::string, std::string)->Arg(1 << 20);
BENCHMARK_TEMPLATE(BM_load, std::uint64_t, Unit)->Arg(5'000'000);
BENCHMARK_TEMPLATE(BM_load, std::uint32_t, std::uint32_t)->Arg(5'000'000);
BENCHMARK_TEMPLATE(BM_load, std::string, std::string)->Arg(2'000'000);
BENCHMARK(BM_single)->Arg(1000)->Arg(10'000'000);

}  // namespace
}  // namespace differential
