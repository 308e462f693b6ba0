// SPDX-License-Identifier: Apache-2.0
// Files that are missing or damaged are found and said, and nothing that may be data is erased.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include <freshet/persist/client.h>

#include "world.h"

namespace freshet::persist {
namespace {

namespace fs = std::filesystem;

constexpr int kCommits = 20;

/// A database in a directory of its own, written and closed.
struct WrittenDatabase {
  WrittenDatabase() {
    std::string pattern = fs::temp_directory_path() / "freshet-damage-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    auto consensus = make_sqlite_consensus(process, {.path = path()}).value();
    for (std::uint64_t seqno = 1; seqno <= kCommits; ++seqno) {
      const auto outcome =
          sim.wait(consensus->compare_and_set("k", {seqno, "version " + std::to_string(seqno)}));
      REQUIRE(outcome.value() == CasOutcome::kApplied);
    }
  }
  ~WrittenDatabase() { fs::remove_all(directory); }

  [[nodiscard]] std::string path() const { return directory + "/c.db"; }
  [[nodiscard]] std::string log() const { return path() + "-wal"; }
  Result<std::unique_ptr<Consensus>> open() { return make_sqlite_consensus(process, {.path = path()}); }
  std::uint64_t head_after_open() {
    auto consensus = open();
    REQUIRE(consensus);
    const auto head = sim.wait((*consensus)->head("k"));
    return head->has_value() ? (*head)->seqno : 0;
  }
  void flip(std::uint64_t at) const {
    std::fstream file(log(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 4));
  }

  ::testing::SimScheduler sim{7};
  ::testing::SimScheduler::Process& process = sim.new_process();
  std::string directory;
};

TEST_CASE("sqlite: a log whose last transaction was cut is opened without it", "[persist][damage]") {
  WrittenDatabase database;
  const auto size = fs::file_size(database.log());
  SECTION("whole") { CHECK(database.head_after_open() == kCommits); }
  SECTION("cut") {
    fs::resize_file(database.log(), size - 100);
    CHECK(database.head_after_open() == kCommits - 1);
  }
  SECTION("torn") {
    database.flip(size - 100);
    CHECK(database.head_after_open() == kCommits - 1);
  }
  SECTION("nothing but a torn beginning") {
    fs::resize_file(database.log(), 20);
    CHECK(database.head_after_open() == 0);
  }
}

TEST_CASE("sqlite: a log damaged before its last transaction is not opened", "[persist][damage]") {
  WrittenDatabase database;
  const auto size = fs::file_size(database.log());
  // In frames of the beginning, the middle and the end, in their headers as in their pages.
  for (const std::uint64_t at : {std::uint64_t{40}, std::uint64_t{500}, size / 2, size / 2 + 4100, size - 9000}) {
    INFO(at);
    database.flip(at);
    const auto refused = database.open();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kCorrupt);
    CHECK_THAT(refused.error().message, Catch::Contains("c.db-wal"));
    database.flip(at);
  }
  CHECK(database.head_after_open() == kCommits);
}

TEST_CASE("sqlite: a database that was moved into its file needs its log all the same", "[persist][damage]") {
  WrittenDatabase database;
  {
    // Enough for a checkpoint.
    auto consensus = database.open().value();
    for (std::uint64_t seqno = kCommits + 1; seqno <= kCommits + 40; ++seqno) {
      REQUIRE(database.sim.wait(consensus->compare_and_set("k", {seqno, std::string(400'000, 'x')})));
    }
  }
  fs::rename(database.log(), database.directory + "/away");
  const auto refused = database.open();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kCorrupt);
  CHECK_THAT(refused.error().message, Catch::Contains("c.db-wal\" is missing"));
  fs::remove(database.log());  // what the attempt made
  fs::rename(database.directory + "/away", database.log());
  CHECK(database.head_after_open() == kCommits + 40);
}

TEST_CASE("client: parts without any state are refused, not erased", "[persist][damage]") {
  ::testing::SimScheduler sim{1};
  auto blob = make_memory_blob();
  auto consensus = make_memory_consensus();
  {
    SimClient process(sim, *blob, *consensus, {.seed = 1});
    auto group = process.open("tables");
    Commit commit{.epoch = process.wait(group->acquire_writer()).value()};
    commit.create = {{.shard = ShardId{1}}};
    REQUIRE(process.wait(group->commit(commit))->committed());
    Commit rows{.epoch = commit.epoch};
    Updates updates;
    for (int i = 0; i < 50'000; ++i) updates.push("row " + std::to_string(i), 1, 1);
    updates.consolidate();
    rows.append.push_back({.shard = ShardId{1}, .upper = 2, .updates = std::move(updates)});
    REQUIRE(process.wait(group->commit(std::move(rows)))->committed());
  }
  const auto parts = sim.wait(blob->list(""))->size();
  REQUIRE(parts > 0);
  const auto empty = make_memory_consensus();
  {
    SimClient process(sim, *blob, *empty, {.seed = 2});
    const auto refused = process.wait(process.client().open("tables"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kCorrupt);
  }
  CHECK(sim.wait(blob->list(""))->size() == parts);
  SimClient process(sim, *blob, *consensus, {.seed = 3});
  CHECK(process.open("tables")->shard(ShardId{1})->upper == 2);
}

}  // namespace
}  // namespace freshet::persist
