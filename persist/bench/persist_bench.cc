// SPDX-License-Identifier: Apache-2.0
// Appending and reading rows of TPC-H's shape, and the latency of a small commit, on real files.
#include <benchmark/benchmark.h>

#include <unistd.h>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

#include <freshet/base/random.h>
#include <freshet/persist/client.h>

namespace freshet::persist {
namespace {

constexpr ShardId kShard{1};

/// Blocks the calling thread: only a benchmark may.
template <typename T>
Result<T> wait(base::Scheduler& scheduler, base::Future<T> future) {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<Result<T>> answer;
  std::move(future).on_ready(scheduler, [&](Result<T> result) {
    const std::lock_guard lock(mutex);
    answer.emplace(std::move(result));
    ready.notify_one();
  });
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] { return answer.has_value(); });
  return std::move(*answer);
}

class World {
 public:
  explicit World(Compression compression) {
    std::string pattern = std::filesystem::temp_directory_path() / "freshet-bench-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    scheduler_ = base::make_thread_scheduler(1, 4);
    blob_ = make_file_blob(*scheduler_, *files_, directory_ + "/blob").value();
    consensus_ = make_sqlite_consensus(*scheduler_, {.path = directory_ + "/consensus.db"}).value();
    client_ = std::make_unique<PersistClient>(
        Environment{*scheduler_, *blob_, *consensus_, *log_, metrics_},
        ClientOptions{.seed = 1, .compression = compression});
    group = wait(client_->open("bench")).value();
    epoch = wait(group->acquire_writer()).value();
    Commit commit{.epoch = epoch};
    commit.create.push_back({.shard = kShard});
    wait(group->commit(std::move(commit))).value();
  }
  ~World() {
    group.reset();
    client_.reset();
    scheduler_.reset();
    consensus_.reset();
    std::filesystem::remove_all(directory_);
  }
  template <typename T>
  Result<T> wait(base::Future<T> future) {
    return persist::wait(*scheduler_, std::move(future));
  }

  std::shared_ptr<Group> group;
  Epoch epoch = 0;

 private:
  std::string directory_;
  std::unique_ptr<base::FileSystem> files_ = base::make_posix_file_system();
  std::unique_ptr<base::Scheduler> scheduler_;
  std::unique_ptr<base::Logger> log_ = base::make_null_logger();
  base::Metrics metrics_;
  std::unique_ptr<Blob> blob_;
  std::unique_ptr<Consensus> consensus_;
  std::unique_ptr<PersistClient> client_;
};

/// About 125 bytes: a key in order, numbers, and words that compress as text does.
Updates rows(std::uint64_t first, std::uint64_t count) {
  static constexpr const char* kWords[] = {"carefully ", "final ",    "deposits ", "sleep ",
                                           "blithely ",  "quickly ",  "ironic ",   "requests ",
                                           "about ",     "furiously "};
  Updates updates;
  updates.reserve(count, count * 128);
  for (std::uint64_t i = first; i < first + count; ++i) {
    std::uint64_t hash = base::mix64(i);
    std::string row(8, '\0');
    const std::uint64_t key = __builtin_bswap64(i);
    std::memcpy(row.data(), &key, 8);
    row.append(reinterpret_cast<const char*>(&hash), 8);
    row += "1995-01-17|DELIVER IN PERSON|TRUCK|" + std::to_string(hash % 200000) + "|";
    while (row.size() < 118) row += kWords[(hash = base::mix64(hash)) % 10];
    updates.push(row, 1, 1);
  }
  return updates;
}

void load(World& world, std::uint64_t count) {
  auto builder = world.group->build_batch(kShard);
  constexpr std::uint64_t kChunk = 8192;
  for (std::uint64_t at = 0; at < count; at += kChunk) {
    world.wait(builder->add(rows(at, std::min(kChunk, count - at)))).value();
  }
  Commit commit{.epoch = world.epoch};
  commit.append.push_back({.shard = kShard, .lower = 0, .upper = 2});
  commit.append.back().batches.push_back(world.wait(builder->finish()).value());
  FRESHET_ASSERT(world.wait(world.group->commit(std::move(commit)))->committed());
}

void BM_append(benchmark::State& state) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t stored = 0;
  for (auto _ : state) {
    state.PauseTiming();
    World world(static_cast<Compression>(state.range(1)));
    state.ResumeTiming();
    load(world, count);
    state.PauseTiming();
    stored = world.group->shard(kShard)->stored_bytes;
    state.ResumeTiming();
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(count * state.iterations()),
                                                benchmark::Counter::kIsRate);
  state.counters["stored_bytes_per_row"] = static_cast<double>(stored) / static_cast<double>(count);
}
BENCHMARK(BM_append)
    ->ArgNames({"rows", "compression"})
    ->Args({1 << 16, 1})
    ->Args({1 << 20, 0})
    ->Args({1 << 20, 1})
    ->Args({1 << 20, 2})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void BM_generate(benchmark::State& state) {
  for (auto _ : state) {
    for (std::uint64_t at = 0; at < (1 << 20); at += 8192) {
      benchmark::DoNotOptimize(rows(at, 8192));
    }
  }
}
BENCHMARK(BM_generate)->Unit(benchmark::kMillisecond);

void BM_read(benchmark::State& state) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  World world(static_cast<Compression>(state.range(1)));
  load(world, count);
  for (auto _ : state) {
    auto reader = world.wait(world.group->read(
        {.shard = kShard,
         .as_of = 1,
         .until = 2,
         .order = state.range(2) == 0 ? ReadOrder::kAsStored : ReadOrder::kConsolidated}));
    std::uint64_t read = 0;
    while (true) {
      const ReadChunk chunk = world.wait((*reader)->next()).value();
      read += chunk.updates->size();
      if (chunk.done) break;
    }
    FRESHET_ASSERT(read == count, read, count);
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(count * state.iterations()),
                                                benchmark::Counter::kIsRate);
}
BENCHMARK(BM_read)
    ->ArgNames({"rows", "compression", "merged"})
    ->Args({1 << 16, 1, 0})
    ->Args({1 << 20, 0, 0})
    ->Args({1 << 20, 1, 0})
    ->Args({1 << 20, 2, 0})
    ->Args({1 << 20, 1, 1})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// A commit of one row: one fsync. `writers` are in flight at once and share it.
void BM_commit(benchmark::State& state) {
  World world(Compression::kLz4);
  const auto writers = static_cast<std::size_t>(state.range(0));
  Time now = 0;
  for (auto _ : state) {
    std::vector<base::Future<CommitOutcome>> pending;
    for (std::size_t i = 0; i < writers; ++i, ++now) {
      Commit commit{.epoch = world.epoch};
      commit.append.push_back({.shard = kShard, .lower = now, .upper = now + 1});
      commit.append.back().updates.push("one row of an insert", now, 1);
      pending.push_back(world.group->commit(std::move(commit)));
    }
    for (auto& future : pending) FRESHET_ASSERT(world.wait(std::move(future))->committed());
    if (now % 64 == 0) world.group->downgrade_since(kShard, now - 1);
  }
  state.counters["commits/s"] = benchmark::Counter(
      static_cast<double>(writers * state.iterations()), benchmark::Counter::kIsRate);
  state.counters["batches"] = static_cast<double>(world.group->shard(kShard)->batches);
}
BENCHMARK(BM_commit)
    ->ArgName("in_flight")
    ->Arg(1)
    ->Arg(16)
    ->Unit(benchmark::kMicrosecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace freshet::persist
