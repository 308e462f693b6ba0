// SPDX-License-Identifier: Apache-2.0
// Files and SQLite on a disk that loses power: whatever was acknowledged is there once, whatever
// was not is there as a whole or not at all.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include <freshet/persist/client.h>
#include <testing/lossy_file_system.h>
#include <testing/random.h>
#include <testing/sqlite_vfs.h>

#include "world.h"

namespace freshet::persist {
namespace {

using ::testing::LossyFileSystem;
using ::testing::SimScheduler;

constexpr ShardId kShards[] = {ShardId{1}, ShardId{2}, ShardId{3}};

// The specification: for each shard its rows, each written by exactly one commit.
using Model = std::map<ShardId, std::map<std::string, Diff>>;

struct Sent {
  Time lower = 0;
  Time upper = 0;
  std::map<ShardId, std::vector<std::string>> rows{};
};

/// One life of a server on the disk.
class Life {
 public:
  Life(SimScheduler& sim, LossyFileSystem& disk, std::uint64_t seed)
      : sim_(sim), process_(sim.new_process()), vfs_(disk, "lossy-" + std::to_string(seed), seed) {
    // What the server does before it starts persist.
    if (!base::make_durable_directory(disk, "/data/consensus")) return;
    auto blob = make_file_blob(process_, disk, "/data/blob/objects");
    if (!blob) return;
    blob_ = std::move(blob).value();
    auto consensus =
        make_sqlite_consensus(process_, {.path = "/data/consensus/c.db", .vfs = vfs_.name()});
    if (!consensus) {
      failure = consensus.error();
      return;
    }
    consensus_ = std::move(consensus).value();
    client_ = std::make_unique<SimClient>(sim, process_, *blob_, *consensus_,
                                          ClientOptions{.seed = seed,
                                                        .inline_bytes = 120,
                                                        .part_bytes = 2000,
                                                        .merge_fan_in = 3,
                                                        .rollup_versions = 6});
    auto opened = client_->wait(client_->client().open("tables"));
    if (!opened) {
      failure = opened.error();
      return;
    }
    group = std::move(opened).value();
  }
  ~Life() { process_.kill(); }
  SimClient& client() { return *client_; }

  std::shared_ptr<Group> group;
  std::optional<Error> failure;

 private:
  SimScheduler& sim_;
  SimScheduler::Process& process_;
  ::testing::SqliteVfs vfs_;
  std::unique_ptr<Blob> blob_;
  std::unique_ptr<Consensus> consensus_;
  std::unique_ptr<SimClient> client_;
};

class CrashWorld {
 public:
  explicit CrashWorld(std::uint64_t seed) : seed_(seed), random_(seed), sim_(seed), disk_(seed) {}

  void run() {
    for (std::uint64_t life = 0; life < 5; ++life) {
      if (life > 0) disk_.restart();
      if (life < 4) disk_.power_off_after(random_.below(life == 0 ? 60 : 400));
      if (random_.one_in(4)) disk_.fail_sync_after(random_.below(100));
      live(seed_ * 8 + life);
      if (failed_) return;
    }
  }

  [[nodiscard]] const std::string& failed() const { return failed_.value(); }
  [[nodiscard]] bool has_failed() const { return failed_.has_value(); }
  int acknowledged = 0;
  int sync_failures = 0;

 private:
  void live(std::uint64_t life_seed) {
    Life life(sim_, disk_, life_seed);
    if (life.group == nullptr) {
      return expect_off("does not start: " + (life.failure ? life.failure->message : "?"));
    }
    if (!check(life)) return;
    const auto epoch = life.client().wait(life.group->acquire_writer());
    if (!epoch) return expect_off("no writer");
    if (life.group->shards().empty()) {
      Commit commit{.epoch = *epoch};
      for (const ShardId shard : kShards) commit.create.push_back({.shard = shard});
      const auto outcome = life.client().wait(life.group->commit(std::move(commit)));
      if (!outcome) return expect_off("no shards");
      created_ = true;
    }
    for (int i = 0; i < 60; ++i) {
      if (!write(life, *epoch)) return;
      if (random_.one_in(20)) sim_.run_for(std::chrono::seconds(2));
    }
    if (!check(life)) return;
  }

  // The rows go to Blob before their commit gives them a time.
  static bool upload_ahead(Life& life, Append& append) {
    auto builder = life.group->build_batch(append.shard, {.timeless = true, .first_part_bytes = 100});
    auto added = builder->add(std::exchange(append.updates, {}));
    auto batch = life.client().wait(builder->finish());
    if (batch) append.batches.push_back(std::move(batch).value());
    return batch.has_value();
  }

  // One commit over some shards, sometimes of parts, sometimes of both kinds.
  bool write(Life& life, Epoch epoch) {
    Sent sent{.lower = now_, .upper = now_ + 1 + random_.below(3)};
    Commit commit{.epoch = epoch};
    for (const ShardId shard : kShards) {
      Append append{.shard = shard, .lower = sent.lower, .upper = sent.upper};
      const std::uint64_t count = random_.below(3) * random_.below(10);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string row = "row " + std::to_string(next_row_++);
        append.updates.push(row, sent.lower, 1);
        sent.rows[shard].push_back(row);
      }
      if (random_.one_in(4) && !upload_ahead(life, append)) return expect_off("batch refused"), false;
      commit.append.push_back(std::move(append));
    }
    unclear_ = sent;
    const auto outcome = life.client().wait(life.group->commit(std::move(commit)));
    if (!outcome || !outcome->committed()) return expect_off("commit refused"), false;
    apply(sent);
    ++acknowledged;
    if (random_.one_in(3) && now_ > 5) {
      for (const ShardId shard : kShards) life.group->downgrade_since(shard, now_ - 3);
    }
    return true;
  }

  void apply(const Sent& sent) {
    for (const auto& [shard, rows] : sent.rows) {
      for (const std::string& row : rows) model_[shard][row] += 1;
    }
    now_ = sent.upper;
    unclear_.reset();
  }

  bool check(Life& life) {
    if (life.group->shards().empty()) {
      if (created_) return expect_off("acknowledged shards are gone"), false;
      return true;
    }
    // The commit that got no answer is in all its shards or in none.
    const auto first = life.group->shard(kShards[0]);
    if (unclear_ && first && first->upper == unclear_->upper) apply(*unclear_);
    unclear_.reset();
    for (const ShardId shard : kShards) {
      const auto info = life.group->shard(shard);
      if (!info || info->upper != now_) return expect_off("a shard is at the wrong upper"), false;
      if (now_ == 0) continue;
      const auto order = random_.coin() ? ReadOrder::kAsStored : ReadOrder::kConsolidated;
      const auto content = life.client().content(*life.group, shard, now_ - 1, order);
      if (!content) return expect_off("content cannot be read: " + content.error().message), false;
      std::map<std::string, Diff> rows;
      for (std::size_t i = 0; i < content->size(); ++i) {
        rows[std::string(content->row(i))] += content->diff(i);
      }
      if (rows != model_[shard]) return fail_with("content differs"), false;
    }
    if (life.client().log.errors > 0) return fail_with(life.client().log.last), false;
    return true;
  }

  // Nothing goes wrong while the power is on and syncs work.
  void expect_off(const std::string& what) {
    sync_failures += disk_.sync_failed();
    if (!disk_.is_off() && !disk_.sync_failed()) fail_with(what);
  }
  void fail_with(const std::string& what) {
    failed_ = what + " (seed " + std::to_string(seed_) + ")";
  }

  std::uint64_t seed_;
  base::Random random_;
  SimScheduler sim_;
  LossyFileSystem disk_;
  Model model_;
  std::optional<Sent> unclear_;
  std::optional<std::string> failed_;
  Time now_ = 0;
  std::uint64_t next_row_ = 0;
  bool created_ = false;
};

TEST_CASE("crash: every acknowledged commit is there once, after any loss of power",
          "[persist][crash]") {
  // FRESHET_CRASH_SEEDS says how many; FRESHET_SEED runs one.
  const char* count = std::getenv("FRESHET_CRASH_SEEDS");
  const std::uint64_t seeds = ::testing::seed_is_fixed() ? 1 : count ? std::stoull(count) : 1000;
  int failures = 0;
  std::string reasons;
  int acknowledged = 0;
  int sync_failures = 0;
  for (std::uint64_t seed = ::testing::base_seed();
       seeds > 0 && seed < ::testing::base_seed() + seeds; ++seed) {
    CrashWorld world(seed);
    world.run();
    acknowledged += world.acknowledged;
    sync_failures += world.sync_failures;
    if (!world.has_failed()) continue;
    if (++failures <= 5) reasons += "\n" + world.failed();
  }
  INFO(reasons);
  CHECK(failures == 0);
  CHECK(acknowledged > 10 * static_cast<int>(seeds));
  CHECK((seeds < 100 || sync_failures > static_cast<int>(seeds) / 4));
}

TEST_CASE("crash: a full disk refuses commits and loses nothing", "[persist][crash]") {
  SimScheduler sim(1);
  LossyFileSystem disk(1);
  Time now = 0;
  std::size_t rows = 0;
  {
    Life life(sim, disk, 1);
    const Epoch epoch = life.client().wait(life.group->acquire_writer()).value();
    Commit create{.epoch = epoch};
    create.create.push_back({.shard = kShards[0]});
    REQUIRE(life.client().wait(life.group->commit(std::move(create))));
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
      if (i % 50 == 10) disk.set_capacity(disk.used() + 3000);
      if (i % 50 == 40) disk.set_capacity(UINT64_MAX);
      Commit commit{.epoch = epoch};
      commit.append.push_back({.shard = kShards[0], .lower = now, .upper = now + 1});
      const std::size_t count = i % 2 == 0 ? 1 : 20;  // in the state, or as a part
      for (std::size_t r = 0; r < count; ++r) {
        commit.append.back().updates.push("row " + std::to_string(i * 100) + std::to_string(r), now,
                                          1);
      }
      const auto outcome = life.client().wait(life.group->commit(std::move(commit)));
      if (outcome) {
        REQUIRE(outcome->committed());
        ++now;
        rows += count;
      } else {
        REQUIRE(outcome.error().code == ErrorCode::kExhausted);
        ++refused;
      }
    }
    CHECK(refused > 20);
    CHECK(life.client().content(*life.group, kShards[0], now - 1)->size() == rows);
  }
  disk.restart();
  Life life(sim, disk, 2);
  INFO((life.failure ? life.failure->message : ""));
  REQUIRE(life.group != nullptr);
  const auto content = life.client().content(*life.group, kShards[0], now - 1);
  REQUIRE(content);
  CHECK(content->size() == rows);
}

}  // namespace
}  // namespace freshet::persist
