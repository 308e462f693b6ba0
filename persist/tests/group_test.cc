// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <freshet/persist/client.h>

#include "world.h"

namespace freshet::persist {
namespace {

using namespace std::chrono_literals;

constexpr ShardId kOrders{1};
constexpr ShardId kItems{2};

struct World {
  explicit World(ClientOptions options = {.seed = 1})
      : blob(make_memory_blob()),
        consensus(make_memory_consensus()),
        process(sim, *blob, *consensus, options) {
    group = process.open("tables");
    epoch = process.wait(group->acquire_writer()).value();
    Commit commit{.epoch = epoch};
    commit.create = {{.shard = kOrders, .schema = "k int, v text"}, {.shard = kItems}};
    REQUIRE(process.wait(group->commit(std::move(commit)))->committed());
  }

  CommitOutcome append(ShardId shard, Time lower, Time upper, Updates updates) {
    Commit commit{.epoch = epoch};
    commit.append.push_back(
        {.shard = shard, .lower = lower, .upper = upper, .updates = std::move(updates)});
    return process.wait(group->commit(std::move(commit))).value();
  }

  ::testing::SimScheduler sim{1};
  std::unique_ptr<Blob> blob;
  std::unique_ptr<Consensus> consensus;
  SimClient process;
  std::shared_ptr<Group> group;
  Epoch epoch = 0;
};

TEST_CASE("group: a commit over several shards is there in all of them", "[persist][group]") {
  World world;
  Commit commit{.epoch = world.epoch};
  commit.append.push_back(
      {.shard = kOrders, .upper = 5, .updates = updates_of({{"o1", 3, 1}, {"o2", 4, 1}})});
  commit.append.push_back({.shard = kItems, .upper = 5, .updates = updates_of({{"i1", 4, 2}})});
  REQUIRE(world.process.wait(world.group->commit(std::move(commit)))->committed());
  CHECK(world.process.content(*world.group, kOrders, 3).value() == updates_of({{"o1", 3, 1}}));
  CHECK(world.process.content(*world.group, kOrders, 4).value() ==
        updates_of({{"o1", 4, 1}, {"o2", 4, 1}}));
  CHECK(world.process.content(*world.group, kItems, 4).value() == updates_of({{"i1", 4, 2}}));
  CHECK(world.group->shard(kOrders)->upper == 5);
  CHECK(world.group->shard(kOrders)->schema == "k int, v text");
  CHECK(world.group->shard(kItems)->schema.empty());
}

TEST_CASE("group: a mismatch in one shard leaves all as they were", "[persist][group]") {
  World world;
  REQUIRE(world.append(kItems, 0, 7, {}).committed());
  Commit commit{.epoch = world.epoch};
  commit.append.push_back({.shard = kOrders, .upper = 5, .updates = updates_of({{"o1", 3, 1}})});
  commit.append.push_back({.shard = kItems, .upper = 5});
  const auto outcome = world.process.wait(world.group->commit(std::move(commit))).value();
  CHECK(outcome.status == CommitOutcome::Status::kUpperMismatch);
  CHECK(outcome.shard == kItems);
  CHECK(outcome.upper == 7);
  CHECK(world.group->shard(kOrders)->upper == 0);
}

TEST_CASE("group: wrong requests are refused and say why", "[persist][group]") {
  World world;
  const auto code = [&](Commit commit) {
    commit.epoch = world.epoch;
    return world.process.wait(world.group->commit(std::move(commit))).error().code;
  };
  CHECK(code({.append = {{.shard = kOrders, .upper = 5, .updates = updates_of({{"x", 5, 1}})}}}) ==
        ErrorCode::kInvalid);
  CHECK(code({.append = {{.shard = kOrders, .lower = 5, .upper = 4}}}) == ErrorCode::kInvalid);
  CHECK(code({.append = {{.shard = ShardId{9}, .upper = 4}}}) == ErrorCode::kNotFound);
  CHECK(code({.create = {{.shard = kOrders}}}) == ErrorCode::kInvalid);
  CHECK(code({.downgrade = {{kOrders, 1}}}) == ErrorCode::kInvalid);
  CHECK(world.process.wait(world.group->hold(ShardId{9}, 0)).error().code == ErrorCode::kNotFound);
  CHECK(world.process.wait(world.process.client().open("a/b")).error().code == ErrorCode::kInvalid);
}

TEST_CASE("group: commits asked for at once go out in one version, in order", "[persist][group]") {
  World world;
  std::vector<base::Future<CommitOutcome>> pending;
  for (Time t = 0; t < 10; ++t) {
    Commit commit{.epoch = world.epoch};
    commit.append.push_back(
        {.shard = kOrders, .lower = t, .upper = t + 1, .updates = updates_of({{"o", t, 1}})});
    pending.push_back(world.group->commit(std::move(commit)));
  }
  std::size_t committed = 0;
  for (auto& future : pending) committed += world.process.wait(std::move(future))->committed();
  // Tasks of one strand keep their order, so all ten fit.
  CHECK(committed == 10);
  CHECK(world.process.content(*world.group, kOrders, 9).value() == updates_of({{"o", 9, 10}}));
  const auto head = world.process.wait(world.consensus->head("group/tables")).value();
  CHECK(head->seqno < 8);
}

TEST_CASE("group: commits to one shard keep their order, also when the first must upload",
          "[persist][group]") {
  World world;
  const auto append = [&](ShardId shard, Time lower, std::size_t rows) {
    Commit commit{.epoch = world.epoch};
    commit.append.push_back({.shard = shard, .lower = lower, .upper = lower + 1});
    for (std::size_t i = 0; i < rows; ++i) {
      commit.append.back().updates.push("row " + std::to_string(i), lower, 1);
    }
    return world.group->commit(std::move(commit));
  };
  auto large = append(kOrders, 0, 10000);
  auto small = append(kOrders, 1, 1);
  auto other = append(kItems, 0, 1);
  CHECK(world.process.wait(std::move(other))->committed());
  CHECK_FALSE(large.is_ready());  // another shard does not wait for it
  CHECK(world.process.wait(std::move(small))->committed());
  CHECK(world.process.wait(std::move(large))->committed());
  CHECK(world.group->shard(kOrders)->updates == 10001);
}

TEST_CASE("group: a new writer fences the old one, also in another process", "[persist][group]") {
  World world({.seed = 1, .exclusive = false});
  SimClient other(world.sim, *world.blob, *world.consensus, {.seed = 2, .exclusive = false});
  const auto group = other.open("tables");
  const Epoch epoch = other.wait(group->acquire_writer()).value();
  CHECK(epoch == world.epoch + 1);
  const auto outcome = world.append(kOrders, 0, 5, updates_of({{"o", 1, 1}}));
  CHECK(outcome.status == CommitOutcome::Status::kFenced);
  CHECK(outcome.epoch == epoch);
  CHECK(world.process.wait(world.group->join_writer(world.epoch)).error().code ==
        ErrorCode::kConflict);
  REQUIRE(world.process.wait(world.group->join_writer(epoch)));
  world.epoch = epoch;
  CHECK(world.append(kOrders, 0, 5, updates_of({{"o", 1, 1}})).committed());
}

TEST_CASE("group: a reader gives the content, then every change, then ends", "[persist][reader]") {
  for (const ReadOrder order : {ReadOrder::kAsStored, ReadOrder::kConsolidated}) {
    World world;
    world.append(kOrders, 0, 3, updates_of({{"a", 1, 1}, {"b", 2, 1}}));
    auto reader =
        world.process
            .wait(world.group->read({.shard = kOrders, .as_of = 1, .until = 8, .order = order}))
            .value();
    Updates content;
    Time upper = 0;
    while (upper < 2) {
      const auto chunk = world.process.wait(reader->next()).value();
      content.append(*chunk.updates);
      upper = chunk.upper;
    }
    CHECK(content == updates_of({{"a", 1, 1}}));
    Updates changes;
    const auto collect = [&](Time to) {
      while (upper < to) {
        const auto chunk = world.process.wait(reader->next()).value();
        changes.append(*chunk.updates);
        upper = chunk.upper;
      }
    };
    collect(3);
    CHECK(changes == updates_of({{"b", 2, 1}}));
    auto waiting = reader->next();
    world.sim.run_for(10s);
    CHECK_FALSE(waiting.is_ready());
    world.append(kOrders, 3, 5, updates_of({{"b", 4, -1}}));
    const auto chunk = world.process.wait(std::move(waiting)).value();
    CHECK(*chunk.updates == updates_of({{"b", 4, -1}}));
    CHECK(chunk.upper == 5);
    world.append(kOrders, 5, kClosed, updates_of({{"c", 7, 1}, {"d", 8, 1}}));
    const auto last = world.process.wait(reader->next()).value();
    CHECK(*last.updates == updates_of({{"c", 7, 1}}));
    CHECK((last.upper == 8 && last.done));
  }
}

TEST_CASE("group: a snapshot at or past the upper waits, it never returns early",
          "[persist][reader]") {
  World world;
  auto reader =
      world.process.wait(world.group->read({.shard = kOrders, .as_of = 9, .until = 10})).value();
  auto waiting = reader->next();
  world.append(kOrders, 0, 9, updates_of({{"a", 1, 1}}));
  world.sim.run_for(1s);
  CHECK_FALSE(waiting.is_ready());
  world.append(kOrders, 9, 10, updates_of({{"b", 9, 1}}));
  const auto chunk = world.process.wait(std::move(waiting)).value();
  CHECK(chunk.updates->size() == 2);
}

TEST_CASE("group: upper_past resolves when the upper passes, and for a dropped shard fails",
          "[persist][group]") {
  World world;
  auto past = world.group->upper_past(kOrders, 5);
  auto dropped = world.group->upper_past(kItems, 5);
  world.append(kOrders, 0, 5, {});
  world.sim.run_for(1s);
  CHECK_FALSE(past.is_ready());
  world.append(kOrders, 5, 6, {});
  CHECK(world.process.wait(std::move(past)).value() == 6);
  REQUIRE(world.process.wait(world.group->commit({.epoch = world.epoch, .drop = {kItems}})));
  CHECK(world.process.wait(std::move(dropped)).error().code == ErrorCode::kNotFound);
  CHECK_FALSE(world.group->shard(kItems));
}

TEST_CASE("group: since moves by itself within the delay, and stops at holds", "[persist][hold]") {
  World world;
  for (Time t = 0; t < 20; ++t) {
    world.append(kOrders, t, t + 1, updates_of({{"a", t, 1}, {"b", t, t % 2 == 0 ? 1 : -1}}));
  }
  Hold hold = world.process.wait(world.group->hold(kOrders, 12)).value();
  world.group->downgrade_since(kOrders, 16);
  world.sim.run_for(1500ms);
  CHECK(world.group->shard(kOrders)->since == 16);
  CHECK(world.process.wait(world.group->hold(kOrders, 15)).error().code == ErrorCode::kInvalid);
  for (Time t = 20; t < 100; ++t) world.append(kOrders, t, t + 1, updates_of({{"a", t, 1}}));
  REQUIRE(world.process.wait(world.process.client().settle()));
  // Merged, but not beyond the hold: a listener at 12 must still see 13 and on as they were.
  CHECK(world.group->shard(kOrders)->batches < 20);
  CHECK(world.process.content(*world.group, kOrders, 16).value() ==
        updates_of({{"a", 16, 17}, {"b", 16, 1}}));
  hold.downgrade(99);
  CHECK(hold.at() == 99);
}

TEST_CASE("group: merging shrinks the shard, and what nobody reads is removed",
          "[persist][upkeep]") {
  World world({.seed = 1, .inline_bytes = 0, .merge_fan_in = 4});
  for (Time t = 0; t < 64; ++t) {
    world.append(
        kOrders, t, t + 1,
        updates_of({{"x" + std::to_string(t), t, 1}, {"x" + std::to_string(t - 1), t, -1}}));
    world.group->downgrade_since(kOrders, t);
  }
  REQUIRE(world.process.wait(world.process.client().settle()));
  const auto info = *world.group->shard(kOrders);
  CHECK(info.batches < 12);
  CHECK(info.updates < 40);
  const auto objects = world.process.wait(world.blob->list("")).value();
  CHECK(objects.size() < 14);
  CHECK(world.process.content(*world.group, kOrders, 63)->size() == 2);
}

TEST_CASE("group: a pinned batch stays until its reader has moved on", "[persist][upkeep]") {
  World world({.seed = 1, .inline_bytes = 0, .merge_fan_in = 4});
  for (Time t = 0; t < 3; ++t) {
    world.append(kOrders, t, t + 1, updates_of({{"x" + std::to_string(t), t, 1}}));
  }
  auto reader =
      world.process
          .wait(world.group->read({.shard = kOrders, .as_of = 2, .until = 3, .chunk_bytes = 1}))
          .value();
  Updates content(*world.process.wait(reader->next())->updates);
  for (Time t = 3; t < 20; ++t) {
    world.append(kOrders, t, t + 1, updates_of({{"x" + std::to_string(t), t, 1}}));
  }
  REQUIRE(world.process.wait(world.process.client().settle()));
  const auto pinned = world.process.wait(world.blob->list(""))->size();
  while (true) {
    const auto chunk = world.process.wait(reader->next()).value();
    content.append(*chunk.updates);
    if (chunk.done) break;
  }
  CHECK(content.size() == 3);
  reader.reset();
  world.sim.run_for(5s);
  CHECK(world.process.wait(world.blob->list(""))->size() < pinned);
}

TEST_CASE("group: a large batch is built in parts and read back in bounded chunks",
          "[persist][part]") {
  World world({.seed = 1, .part_bytes = 64 << 10});
  auto builder = world.group->build_batch(kOrders);
  Updates all;
  for (int part = 0; part < 40; ++part) {
    Updates updates;
    for (int i = 0; i < 300; ++i) {
      updates.push("row number " + std::to_string((part * 300 + i) * 7919 % 12007), 3, 1);
    }
    all.append(updates);
    REQUIRE(world.process.wait(builder->add(std::move(updates))));
  }
  const BatchRef batch = world.process.wait(builder->finish()).value();
  Commit commit{.epoch = world.epoch};
  commit.append.push_back({.shard = kOrders, .upper = 4, .batches = {batch}});
  REQUIRE(world.process.wait(world.group->commit(std::move(commit)))->committed());
  all.consolidate();
  for (const ReadOrder order : {ReadOrder::kAsStored, ReadOrder::kConsolidated}) {
    auto reader = world.process
                      .wait(world.group->read({.shard = kOrders,
                                               .as_of = 3,
                                               .until = 4,
                                               .order = order,
                                               .chunk_bytes = 32 << 10}))
                      .value();
    Updates read;
    int chunks = 0;
    while (true) {
      const auto chunk = world.process.wait(reader->next()).value();
      CHECK(chunk.updates->byte_size() < (400 << 10));
      read.append(*chunk.updates);
      ++chunks;
      if (chunk.done) break;
      CHECK(chunk.upper == 3);
    }
    CHECK(chunks > 3);
    if (order == ReadOrder::kConsolidated) CHECK(read.is_consolidated());
    read.consolidate();
    CHECK(read == all);
  }
}

TEST_CASE("group: a block filter leaves out what cannot match", "[persist][part]") {
  World world({.seed = 1, .inline_bytes = 0});
  Updates updates;
  for (int i = 0; i < 60000; ++i) {
    updates.push("row " + std::to_string(1000000 + i), 1, 1);
  }
  world.append(kOrders, 0, 2, std::move(updates));
  const std::string from = "row 1030000";
  const std::string to = "row 1030010";
  int kept = 0;
  int asked = 0;
  const auto filter = std::make_shared<const BlockFilter>([&](const BlockInfo& block) {
    ++asked;
    const bool keep = may_hold_rows(block, from, to);
    kept += keep;
    return keep;
  });
  const auto read =
      world.process.read(*world.group, {.shard = kOrders, .as_of = 1, .until = 2, .filter = filter})
          .value();
  CHECK(asked > 4);
  CHECK(kept == 1);
  int found = 0;
  for (std::size_t i = 0; i < read.size(); ++i) found += read.row(i) >= from && read.row(i) < to;
  CHECK(found == 10);
}

TEST_CASE("group: a flipped bit in a part is found, and named with its shard",
          "[persist][corrupt]") {
  World world({.seed = 1, .inline_bytes = 0});
  Updates updates;
  for (int i = 0; i < 3000; ++i) updates.push("row " + std::to_string(i), 1, 1);
  world.append(kOrders, 0, 2, std::move(updates));
  const auto object = world.process.wait(world.blob->list("tables/")).value().at(0);
  const auto good = world.process.wait(world.blob->get(object.key)).value();
  for (std::size_t at = 17; at < good.size(); at += good.size() / 50) {
    auto bad = std::make_shared<base::Bytes>(good);
    (*bad)[at] = static_cast<char>((*bad)[at] ^ 4);
    REQUIRE(world.process.wait(world.blob->set(object.key, bad)));
    const auto read = world.process.content(*world.group, kOrders, 1);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::kCorrupt);
    CHECK_THAT(read.error().message, Catch::Contains(world.blob->location(object.key)) &&
                                         Catch::Contains("shard 1"));
  }
  REQUIRE(world.process.wait(world.blob->remove(object.key)));
  CHECK(world.process.content(*world.group, kOrders, 1).error().code == ErrorCode::kCorrupt);
}

TEST_CASE("group: a timeless batch gets the time of the append that takes it", "[persist][part]") {
  const std::size_t inline_bytes = GENERATE(std::size_t{0}, std::size_t{32 << 10});
  const ClientOptions options{.seed = 1, .inline_bytes = inline_bytes, .part_bytes = 64 << 10, .merge_fan_in = 4};
  World world(options);
  world.append(kOrders, 0, 5, updates_of({{"before", 1, 1}}));
  auto builder = world.group->build_batch(kOrders, {.timeless = true, .first_part_bytes = 4 << 10});
  Updates all;
  std::vector<base::Future<base::Unit>> added;
  for (Time i = 0; i < 3000; ++i) {  // nobody waits, and the times say nothing
    Updates updates;
    updates.push("row number " + std::to_string(i * 7919 % 2999), i % 7, 1);
    all.append(updates);
    added.push_back(builder->add(std::move(updates)));
  }
  const BatchRef batch = world.process.wait(builder->finish()).value();
  for (auto& one : added) REQUIRE(world.process.wait(std::move(one)));
  Commit commit{.epoch = world.epoch};
  commit.append.push_back({.shard = kOrders, .lower = 3, .upper = 9, .batches = {batch}});
  CHECK_FALSE(world.process.wait(world.group->commit(commit))->committed());
  commit.append.front().lower = 5;
  REQUIRE(world.process.wait(world.group->commit(std::move(commit)))->committed());
  CHECK(world.group->shard(kOrders)->batches == 2);

  all.set_times(8);
  all.push("before", 8, 1);
  all.consolidate();
  Updates changes = all;
  changes.push("before", 8, -1);
  changes.push("before", 1, 1);
  changes.consolidate();
  const auto check = [&](SimClient& process, Group& group) {
    CHECK(process.content(group, kOrders, 7).value() == updates_of({{"before", 7, 1}}));
    CHECK(process.content(group, kOrders, 8).value() == all);
    CHECK(process.content(group, kOrders, 8, ReadOrder::kConsolidated).value() == all);
    CHECK(process.read(group, {.shard = kOrders, .as_of = 1, .until = 9}).value() == changes);
  };
  check(world.process, *world.group);
  world.process.kill();
  ClientOptions other_seed = options;
  other_seed.seed = 2;  // names of objects are made of it
  SimClient next(world.sim, *world.blob, *world.consensus, other_seed);
  const auto group = next.open("tables");
  check(next, *group);
  // Merged with others, it stays what it is.
  const Epoch epoch = next.wait(group->acquire_writer()).value();
  for (Time t = 9; t < 20; ++t) {
    Commit more{.epoch = epoch};
    more.append.push_back({.shard = kOrders, .lower = t, .upper = t + 1, .batches = {}});
    auto other = group->build_batch(kOrders, {.timeless = true});
    REQUIRE(next.wait(other->add(all)));
    more.append.back().batches.push_back(next.wait(other->finish()).value());
    REQUIRE(next.wait(group->commit(std::move(more)))->committed());
  }
  REQUIRE(next.wait(next.client().settle()));
  CHECK(group->shard(kOrders)->batches < 12);
  check(next, *group);
}

TEST_CASE("group: a builder that is dropped removes what it has uploaded", "[persist][part]") {
  World world({.seed = 1, .inline_bytes = 0, .part_bytes = 4 << 10});
  const std::size_t before = world.process.wait(world.blob->list(""))->size();
  auto builder = world.group->build_batch(kOrders);
  for (int i = 0; i < 300; ++i) {
    REQUIRE(world.process.wait(builder->add(updates_of({{"row number " + std::to_string(i), 1, 1}}))));
  }
  CHECK(world.process.wait(world.blob->list(""))->size() > before);
  builder.reset();
  world.sim.run_for(5s);
  CHECK(world.process.wait(world.blob->list(""))->size() == before);
}

TEST_CASE("group: after a restart all is there, and leftovers are swept", "[persist][restart]") {
  World world({.seed = 1, .inline_bytes = 0, .merge_fan_in = 4, .rollup_versions = 8});
  for (Time t = 0; t < 40; ++t) {
    world.append(kOrders, t, t + 1, updates_of({{"x" + std::to_string(t), t, 1}}));
  }
  auto builder = world.group->build_batch(kItems);
  REQUIRE(world.process.wait(builder->add(updates_of({{"never appended", 1, 1}}))));
  REQUIRE(world.process.wait(builder->finish()));
  // The objects of a group whose removal was interrupted.
  REQUIRE(world.process.wait(world.blob->set("gone/1/p1", std::make_shared<base::Bytes>("x"))));
  world.process.kill();
  SimClient next(world.sim, *world.blob, *world.consensus, {.seed = 2});
  const auto group = next.open("tables");
  CHECK(next.wait(world.blob->get("gone/1/p1")).error().code == ErrorCode::kNotFound);
  CHECK(group->shard(kOrders)->upper == 40);
  CHECK(next.content(*group, kOrders, 39)->size() == 40);
  REQUIRE(next.wait(group->acquire_writer()));
  REQUIRE(next.wait(next.client().settle()));
  // Versions before the latest rollup are gone.
  CHECK(next.wait(world.consensus->scan("group/tables", 0, 1000))->size() < 20);
  REQUIRE(next.wait(next.client().erase("tables")));
  CHECK(next.wait(world.blob->list(""))->empty());
  CHECK(next.wait(world.consensus->list_keys(""))->empty());
}

TEST_CASE("client: erasing a group waits for who reads it, and leaves nothing", "[persist][gc]") {
  World world({.seed = 1, .inline_bytes = 0, .merge_fan_in = 3});
  for (Time t = 0; t < 8; ++t) world.append(kOrders, t, t + 1, updates_of({{"a", t, 1}}));
  CHECK(world.process.wait(world.process.client().groups()).value() ==
        std::vector<std::string>{"tables"});
  auto reader =
      world.process.wait(world.group->read({.shard = kOrders, .as_of = 7, .chunk_bytes = 1}))
          .value();
  std::size_t read = world.process.wait(reader->next())->updates->size();
  REQUIRE(read < 8);
  world.append(kOrders, 8, 9, updates_of({{"a", 8, 1}}));  // its merge is under way
  auto erasing = world.process.client().erase("tables");
  world.sim.run_for(std::chrono::seconds(10));
  CHECK_FALSE(erasing.is_ready());
  CHECK(world.process.wait(world.process.client().groups())->empty());
  for (Time upper = 0; upper < 8;) {
    const ReadChunk chunk = world.process.wait(reader->next()).value();
    read += chunk.updates->size();
    upper = chunk.upper;
  }
  CHECK(read == 8);
  REQUIRE(world.process.wait(std::move(erasing)));
  CHECK(world.process.wait(reader->next()).error().code == ErrorCode::kCancelled);
  CHECK(world.process.wait(world.blob->list(""))->empty());
  CHECK(world.process.wait(world.consensus->list_keys(""))->empty());
}

TEST_CASE("group: nothing runs when nothing changes", "[persist][idle]") {
  World world({.seed = 1, .merge_fan_in = 4});
  for (Time t = 0; t < 30; ++t) world.append(kOrders, t, t + 1, updates_of({{"x", t, 1}}));
  world.sim.run_for(10s);
  const auto steps = world.sim.steps();
  world.sim.run_for(std::chrono::hours(24));
  CHECK(world.sim.steps() == steps);
}

TEST_CASE("client: what is asked of a closed client, or was waiting, is cancelled",
          "[persist][client]") {
  const bool exclusive = GENERATE(true, false);
  ::testing::SimScheduler sim(1);
  auto& process = sim.new_process();
  const auto blob = make_memory_blob();
  const auto consensus = make_memory_consensus();
  const auto log = base::make_null_logger();
  base::Metrics metrics;
  auto client =
      std::make_unique<PersistClient>(Environment{process, *blob, *consensus, *log, metrics},
                                      ClientOptions{.seed = 1, .exclusive = exclusive});
  const auto group = sim.wait(client->open("g")).value();
  const Epoch epoch = sim.wait(group->acquire_writer()).value();
  Commit create{.epoch = epoch};
  create.create.push_back({.shard = kOrders});
  REQUIRE(sim.wait(group->commit(std::move(create))));
  auto opening = client->open("other");
  auto waiting = group->upper_past(kOrders, 5);
  auto settling = client->settle();
  auto reader = sim.wait(group->read({.shard = kOrders, .as_of = 7})).value();
  auto next = reader->next();
  Commit large{.epoch = epoch};
  large.append.push_back({.shard = kOrders, .upper = 2});
  for (int i = 0; i < 9000; ++i) large.append.back().updates.push(std::to_string(i), 1, 1);
  auto committing = group->commit(std::move(large));
  client.reset();
  const auto code = [&](auto future) { return sim.wait(std::move(future)).error().code; };
  CHECK(code(std::move(opening)) == ErrorCode::kCancelled);
  CHECK(code(std::move(waiting)) == ErrorCode::kCancelled);
  CHECK(code(std::move(next)) == ErrorCode::kCancelled);
  CHECK(code(std::move(committing)) == ErrorCode::kCancelled);
  (void)sim.wait(std::move(settling));
  CHECK(code(group->acquire_writer()) == ErrorCode::kCancelled);
  CHECK(code(group->commit({.epoch = epoch})) == ErrorCode::kCancelled);
  CHECK(code(group->upper_past(kOrders, 9)) == ErrorCode::kCancelled);
  CHECK(code(group->hold(kOrders, 9)) == ErrorCode::kCancelled);
  CHECK(code(reader->next()) == ErrorCode::kCancelled);
  CHECK(group->shard(kOrders)->upper == 0);
}

TEST_CASE("session: a reader in another process is respected, and an expired one is not",
          "[persist][session]") {
  World world({.seed = 1, .exclusive = false, .inline_bytes = 0, .merge_fan_in = 4});
  for (Time t = 0; t < 3; ++t) {
    world.append(kOrders, t, t + 1, updates_of({{"a", t, 1}, {"b" + std::to_string(t), t, 1}}));
  }
  SimClient other(world.sim, *world.blob, *world.consensus, {.seed = 2, .exclusive = false});
  const auto group = other.open("tables");
  auto reader = other.wait(group->read({.shard = kOrders, .as_of = 1, .chunk_bytes = 1})).value();
  world.group->downgrade_since(kOrders, 2);
  for (Time t = 3; t < 40; ++t) world.append(kOrders, t, t + 1, updates_of({{"a", t, 1}}));
  REQUIRE(world.process.wait(world.process.client().settle()));
  Updates seen;
  REQUIRE(other.wait(group->refresh()));
  for (Time upper = 0; upper < 40;) {
    const auto chunk = other.wait(reader->next()).value();
    upper = chunk.upper;
    seen.append(*chunk.updates);
  }
  seen.consolidate();
  CHECK(seen.size() == 42);  // a at 1 (two of them) to 39, b0, b1, b2: each at its own time
  // Another hold in the past is refused: the committed since is past it.
  CHECK(other.wait(group->hold(kOrders, 1)).error().code == ErrorCode::kInvalid);
  // Killed without a word: its lease runs out, then its holds do not count.
  Hold hold = other.wait(group->hold(kOrders, 5)).value();
  other.kill();
  world.sim.run_for(std::chrono::minutes(20));
  for (Time t = 40; t < 80; ++t) world.append(kOrders, t, t + 1, updates_of({{"a", t, 1}}));
  REQUIRE(world.process.wait(world.process.client().settle()));
  CHECK(world.process.wait(world.consensus->list_keys("session/"))->size() == 1);
}

}  // namespace
}  // namespace freshet::persist
