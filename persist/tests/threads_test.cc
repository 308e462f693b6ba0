// SPDX-License-Identifier: Apache-2.0
// Real threads, files and SQLite: many callers at once.
#include <unistd.h>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <thread>

#include <freshet/persist/client.h>

namespace freshet::persist {
namespace {

/// Blocks the calling thread: only tests may.
template <typename T>
Result<T> wait(base::Scheduler& scheduler, base::Future<T> future) {
  std::promise<Result<T>> promise;
  std::move(future).on_ready(scheduler, [&](Result<T> r) { promise.set_value(std::move(r)); });
  return promise.get_future().get();
}

TEST_CASE("threads: writers, readers and upkeep at once, over files and SQLite",
          "[persist][threads]") {
  constexpr int kWriters = 3;
  constexpr Time kCommits = 60;
  std::string pattern = std::filesystem::temp_directory_path() / "freshet-persist-XXXXXX";
  const std::string directory = ::mkdtemp(pattern.data());
  const auto files = base::make_posix_file_system();
  const auto log = base::make_stderr_logger(base::LogLevel::kWarn);
  base::Metrics metrics;
  auto scheduler = base::make_thread_scheduler(3, 4);
  const auto blob = make_file_blob(*scheduler, *files, directory + "/blob").value();
  const auto consensus =
      make_sqlite_consensus(*scheduler, {.path = directory + "/consensus.db"}).value();
  auto client = std::make_unique<PersistClient>(
      Environment{*scheduler, *blob, *consensus, *log, metrics},
      ClientOptions{.seed = 1, .inline_bytes = 200, .merge_fan_in = 4, .rollup_versions = 40});
  auto group = wait(*scheduler, client->open("g")).value();
  const Epoch epoch = wait(*scheduler, group->acquire_writer()).value();
  Commit create{.epoch = epoch};
  for (int i = 0; i < kWriters; ++i)
    create.create.push_back({.shard = ShardId{static_cast<std::uint64_t>(i)}});
  REQUIRE(wait(*scheduler, group->commit(std::move(create))));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    const ShardId shard{static_cast<std::uint64_t>(i)};
    threads.emplace_back([&, shard] {
      for (Time t = 0; t < kCommits; ++t) {
        Commit commit{.epoch = epoch};
        commit.append.push_back({.shard = shard, .lower = t, .upper = t + 1});
        for (Time row = 0; row <= t % 7 * 3; ++row) {
          commit.append.back().updates.push("row " + std::to_string(row), t, 1);
        }
        const auto outcome = wait(*scheduler, group->commit(std::move(commit)));
        if (!outcome || !outcome->committed()) ++wrong;
        if (t % 5 == 4) group->downgrade_since(shard, t - 3);
      }
    });
    threads.emplace_back([&, shard] {
      auto reader = wait(*scheduler, group->read({.shard = shard, .as_of = 0, .until = kCommits}));
      if (!reader) return;  // since was faster
      std::uint64_t rows = 0;
      while (true) {
        const auto chunk = wait(*scheduler, (*reader)->next());
        if (!chunk) return void(++wrong);
        for (std::size_t r = 0; r < chunk->updates->size(); ++r)
          rows += static_cast<std::uint64_t>(chunk->updates->diff(r));
        if (chunk->done) break;
      }
      std::uint64_t expected = 0;
      for (Time t = 0; t < kCommits; ++t) expected += t % 7 * 3 + 1;
      if (rows != expected) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(wait(*scheduler, client->settle()));
  // Destroyed with work under way: readers wait, a commit flies, a merge may run.
  auto waiting = wait(*scheduler, group->read({.shard = ShardId{0}, .as_of = kCommits})).value();
  auto pending = waiting->next();
  Commit last{.epoch = epoch};
  last.append.push_back({.shard = ShardId{1}, .lower = kCommits, .upper = kCommits + 1});
  auto flying = group->commit(std::move(last));
  client.reset();
  CHECK(wait(*scheduler, std::move(pending)).error().code == ErrorCode::kCancelled);
  (void)wait(*scheduler, std::move(flying));
  group.reset();
  waiting.reset();
  scheduler.reset();
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace freshet::persist
