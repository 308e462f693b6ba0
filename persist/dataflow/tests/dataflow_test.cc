// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/dataflow/sink.h>
#include <freshet/persist/dataflow/source.h>

#include <catch2/catch.hpp>

#include <map>

#include <freshet/persist/client.h>
#include <testing/random.h>
#include <testing/sim_scheduler.h>

namespace freshet::persist {
namespace {

struct Row {
  std::string bytes;
  Time time = 0;
  Diff diff = 0;
};
using Rows = std::vector<Row>;
using Content = std::map<std::pair<std::string, Time>, Diff>;

Rows decode(const Updates& updates) {
  Rows rows;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    rows.push_back({std::string(updates.row(i)), updates.time(i), updates.diff(i)});
  }
  return rows;
}

void encode(Rows rows, Updates& updates) {
  for (const Row& row : rows) updates.push(row.bytes, row.time, row.diff);
}

/// Persist and a dataflow runtime on one simulated thread.
struct World {
  explicit World(std::uint64_t seed, std::size_t workers)
      : sim(seed),
        process(sim.new_process()),
        blob(make_memory_blob()),
        consensus(make_memory_consensus()),
        log(base::make_null_logger()),
        client({process, *blob, *consensus, *log, metrics}, {.seed = seed, .inline_bytes = 50}),
        executor(seed),
        runtime(executor, {.workers = workers}) {
    group = sim.wait(client.open("g")).value();
    epoch = sim.wait(group->acquire_writer()).value();
    Commit commit{.epoch = epoch};
    commit.create = {{.shard = ShardId{1}}, {.shard = ShardId{2}}};
    sim.wait(group->commit(std::move(commit))).value();
  }

  // Everything, in any order, until nothing moves.
  void settle() {
    bool moved = true;
    while (moved) {
      moved = false;
      while (executor.step()) moved = true;
      for (int i = 0; i < 1000 && sim.step(); ++i) moved = true;
    }
  }
  void append(ShardId shard, Time lower, Time upper, Updates updates) {
    Commit commit{.epoch = epoch};
    commit.append.push_back(
        {.shard = shard, .lower = lower, .upper = upper, .updates = std::move(updates)});
    REQUIRE(sim.wait(group->commit(std::move(commit)))->committed());
  }
  SourceOptions source(ReadOptions read) {
    return {
        .group = group, .read = std::move(read), .scheduler = process, .on_error = [this](Error e) {
          error = std::move(e);
        }};
  }

  ::testing::SimScheduler sim;
  ::testing::SimScheduler::Process& process;
  std::unique_ptr<Blob> blob;
  std::unique_ptr<Consensus> consensus;
  std::unique_ptr<base::Logger> log;
  base::Metrics metrics;
  PersistClient client;
  timely::SimExecutor executor;
  timely::Runtime runtime;
  std::shared_ptr<Group> group;
  Epoch epoch = 0;
  std::optional<Error> error;
};

TEST_CASE("source: content, then changes, with a frontier that follows the shard",
          "[persist][dataflow]") {
  for (std::uint64_t round = 0; round < 60; ++round) {
    auto random = ::testing::seeded_random(round);
    World world(random.seed(), 1 + round % 3);
    Content expected;
    Time upper = 0;
    const auto append = [&] {
      Updates updates;
      const Time next = upper + 1 + random.below(3);
      for (std::uint64_t n = random.below(40); n > 0; --n) {
        const std::string row = "row " + std::to_string(random.below(20));
        const Time time = upper + random.below(next - upper);
        updates.push(row, time, 1);
        expected[{row, std::max<Time>(time, 2)}] += 1;
      }
      world.append(ShardId{1}, upper, next, std::move(updates));
      upper = next;
    };
    while (upper <= 2) append();
    Content seen;
    timely::ProbeHandle<Time> probe;
    world.runtime.dataflow<Time>("read", [&](timely::Scope<Time>& scope) {
      auto rows = persist_source<Rows>(
          scope, "source", world.source({.shard = ShardId{1}, .as_of = 2, .chunk_bytes = 1}),
          decode);
      probe = rows.inspect([&](const timely::Antichain<Time>& at, const Rows& batch) {
                    for (const Row& row : batch) {
                      CHECK(at.covers(row.time));
                      seen[{row.bytes, row.time}] += row.diff;
                    }
                  })
                  .probe();
    });
    world.settle();
    CHECK(probe.frontier() == timely::Antichain<Time>{upper});
    CHECK(seen == expected);
    for (int i = 0; i < 5; ++i) append();
    world.settle();
    CHECK(probe.frontier() == timely::Antichain<Time>{upper});
    CHECK(seen == expected);
    world.append(ShardId{1}, upper, kClosed, {});
    world.settle();
    CHECK(probe.done());
  }
}

TEST_CASE("source: ends at until, and reports what it cannot read", "[persist][dataflow]") {
  World world(1, 2);
  Updates updates;
  updates.push("a", 1, 1);
  updates.push("b", 5, 1);
  world.append(ShardId{1}, 0, 9, std::move(updates));
  std::size_t seen = 0;
  timely::ProbeHandle<Time> probe;
  timely::ProbeHandle<Time> broken;
  world.runtime.dataflow<Time>("read", [&](timely::Scope<Time>& scope) {
    auto rows = persist_source<Rows>(
        scope, "source", world.source({.shard = ShardId{1}, .as_of = 3, .until = 4}), decode);
    probe = rows.inspect([&](const Row&) { ++seen; }).probe();
    broken =
        persist_source<Rows>(scope, "none", world.source({.shard = ShardId{7}}), decode).probe();
  });
  world.settle();
  CHECK(probe.done());
  CHECK(seen == 1);
  REQUIRE(world.error);
  CHECK(world.error->code == ErrorCode::kNotFound);
  CHECK_FALSE(broken.done());
}

TEST_CASE("source: stops reading when its dataflow is dropped", "[persist][dataflow]") {
  World world(1, 1);
  auto dataflow = world.runtime.dataflow<Time>("read", [&](timely::Scope<Time>& scope) {
    (void)persist_source<Rows>(scope, "source", world.source({.shard = ShardId{1}}), decode)
        .probe();
  });
  world.settle();
  dataflow.drop();
  world.settle();
  // Its hold goes with it.
  world.append(ShardId{1}, 0, 9, {});
  world.settle();
  world.group->downgrade_since(ShardId{1}, 5);
  REQUIRE(world.sim.wait(world.client.settle()));
  CHECK(world.group->shard(ShardId{1})->since == 5);
}

TEST_CASE("sink: appends what is complete, once, and stops when fenced", "[persist][dataflow]") {
  for (std::uint64_t round = 0; round < 40; ++round) {
    World world(round + 1, 1);
    auto random = ::testing::seeded_random(round);
    timely::InputHandle<Time, Rows> input;
    world.runtime.dataflow<Time>("write", [&](timely::Scope<Time>& scope) {
      auto [handle, rows] = scope.input<Rows>();
      input = std::move(handle);
      persist_sink(rows, "sink",
                   {.group = world.group,
                    .shard = ShardId{2},
                    .epoch = world.epoch,
                    .upper = 0,
                    .scheduler = world.process,
                    .on_error = [&](Error e) { world.error = e; }},
                   encode);
    });
    std::uint64_t sent = 0;
    for (Time t = 0; t < 20; ++t) {
      for (std::uint64_t n = random.below(4); n > 0; --n, ++sent) {
        input.send({{"row " + std::to_string(sent), t + random.below(3), 1}});
      }
      input.advance_to(t + 1);
      if (random.coin()) world.settle();
    }
    world.settle();
    CHECK(world.group->shard(ShardId{2})->upper == 20);
    input.advance_to(30);
    world.settle();
    CHECK(world.group->shard(ShardId{2})->upper == 30);
    CHECK(world.group->shard(ShardId{2})->updates == sent);
    REQUIRE(world.sim.wait(world.group->acquire_writer()));
    CHECK_FALSE(world.error);
    input.advance_to(40);
    world.settle();
    REQUIRE(world.error);
    CHECK(world.error->code == ErrorCode::kConflict);
    CHECK(world.group->shard(ShardId{2})->upper == 30);
    input.close();
    world.settle();
  }
}

}  // namespace
}  // namespace freshet::persist
