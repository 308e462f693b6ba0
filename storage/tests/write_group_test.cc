// SPDX-License-Identifier: Apache-2.0
#include "write_group.h"

#include <catch2/catch.hpp>
#include <testing/sim_scheduler.h>

#include <freshet/storage/storage.h>

#include "memory_ledger.h"

namespace freshet::storage {
namespace {

using storage_api::CollectionReader;
using storage_api::EncodedUpdates;
using storage_api::ReadEvent;
using testing::SimScheduler;

constexpr GlobalId kOne{GlobalId::Kind::kUser, 1};
constexpr GlobalId kTwo{GlobalId::Kind::kUser, 2};

CollectionUpdates row(std::string_view text, repr::Diff diff = 1) {
  CollectionUpdates updates;
  updates.oks.push_back(text, 0, diff);
  return updates;
}

struct Fixture {
  explicit Fixture(std::uint64_t seed = 1) : sim(seed), process(sim.new_process()) {
    storage = std::move(*sim.wait(make_memory_storage({process, *logger})));
  }
  void create_table(GlobalId id, SqlTime since) {
    REQUIRE(sim.wait(storage->send(storage_api::CreateCollection{
        .id = id, .kind = storage_api::TableCollection{}, .since = since})));
  }
  Result<base::Unit> commit(SqlTime time, GlobalId id, CollectionUpdates updates) {
    storage_api::TableCommit commit{.time = time};
    commit.appends[id] = std::move(updates);
    return sim.wait(storage->commit(std::move(commit)));
  }
  SqlTime upper(GlobalId id) { return storage->frontiers(id)->upper; }

  SimScheduler sim;
  base::Scheduler& process;
  std::unique_ptr<base::Logger> logger = base::make_null_logger();
  std::unique_ptr<storage_api::Storage> storage;
};

TEST_CASE("tables: a commit below what a reader was promised is a conflict", "[storage]") {
  Fixture f;
  f.create_table(kOne, 10);
  CHECK(f.upper(kOne) == 11);
  REQUIRE(f.commit(20, kOne, row("a")));
  CHECK(f.upper(kOne) == 21);
  REQUIRE(f.sim.wait(f.storage->send(storage_api::Advance{kOne, 30})));
  CHECK(f.upper(kOne) == 31);
  CHECK(f.storage->frontiers(kOne)->durable_upper == 21);
  CHECK(f.commit(30, kOne, row("b")).error().code == ErrorCode::kConflict);
  CHECK(f.commit(31, kOne, row("b")));
  CHECK(f.commit(40, kTwo, row("b")).error().code == ErrorCode::kNotFound);
}

TEST_CASE("tables: a commit to one table tells readers of another nothing", "[storage]") {
  Fixture f;
  f.create_table(kOne, 10);
  f.create_table(kTwo, 10);
  auto reader = std::move(*f.sim.wait(f.storage->open_reader(kTwo, 10)));
  auto first = f.sim.wait(reader->next());
  REQUIRE(first);
  CHECK(first->upper == 11);
  auto waiting = reader->next();
  REQUIRE(f.commit(20, kOne, row("a")));
  f.sim.run_for(std::chrono::seconds(1));
  CHECK_FALSE(waiting.is_ready());
  CHECK(f.upper(kTwo) == 21);  // asked, it is known to be there
  REQUIRE(f.sim.wait(f.storage->send(storage_api::Advance{kTwo, 15})));
  auto told = f.sim.wait(std::move(waiting));
  REQUIRE(told);
  CHECK(told->upper == 21);
}

TEST_CASE("tables: rows staged ahead are there with their commit, and not before", "[storage]") {
  Fixture f;
  auto blob = persist::make_memory_blob();
  auto consensus = persist::make_memory_consensus();
  base::Metrics metrics;
  std::unique_ptr<persist::PersistClient> client;
  if (GENERATE(false, true)) {
    client = std::make_unique<persist::PersistClient>(
        persist::Environment{f.process, *blob, *consensus, *f.logger, metrics}, persist::ClientOptions{.seed = 1});
    f.storage = f.sim.wait(make_durable_storage({f.process, *f.logger}, *client)).value();
  }
  CHECK(f.storage->stage(kOne) == nullptr);
  f.create_table(kOne, 10);
  REQUIRE(f.commit(20, kOne, row("a")));
  auto reader = f.sim.wait(f.storage->open_reader(kOne, 10)).value();
  auto stage = f.storage->stage(kOne);
  constexpr int kRows = 6000;
  for (int i = 0; i < kRows; ++i) {
    auto added = stage->add(row("staged " + std::to_string(i) + std::string(1000, 'x')));
    if (i % 1000 == 0) REQUIRE(f.sim.wait(std::move(added)));
  }
  const storage_api::StagedRowsPtr rows = f.sim.wait(stage->finish()).value();
  REQUIRE(f.sim.wait(f.storage->send(storage_api::Advance{kOne, 30})));
  storage_api::TableCommit commit{.time = 25};
  commit.appends[kOne] = row("beside");
  commit.staged[kOne] = {rows};
  CHECK(f.sim.wait(f.storage->commit(commit)).error().code == ErrorCode::kConflict);
  commit.time = 40;  // again, with the same rows
  REQUIRE(f.sim.wait(f.storage->commit(commit)));
  std::map<SqlTime, int> counts;
  for (SqlTime upper = 0; upper <= 40;) {
    const ReadEvent event = f.sim.wait(reader->next()).value();
    for (std::size_t i = 0; i < event.updates.oks.size(); ++i) ++counts[event.updates.oks.time(i)];
    upper = event.upper;
  }
  CHECK(counts == std::map<SqlTime, int>{{20, 1}, {40, kRows + 1}});
  reader.reset();
  f.storage.reset();
}

TEST_CASE("memory ledger: a group goes, though a reader of it waits", "[storage]") {
  SimScheduler sim(1);
  auto& process = sim.new_process();
  auto ledger = make_memory_ledger(process);
  auto group = sim.wait(ledger->open("tables")).value();
  const GlobalId id{GlobalId::Kind::kUser, 1};
  REQUIRE(sim.wait(group->commit({.create = {{.id = id, .start = 5}}})));
  auto reader = sim.wait(group->read(id, 5)).value();
  REQUIRE(sim.wait(reader->next()));  // up to where it begins
  auto pending = std::make_unique<base::Future<LedgerChunk>>(reader->next());
  sim.run_ready();
  CHECK_FALSE(pending->is_ready());
  const std::weak_ptr<LedgerGroup> left = group;
  pending.reset();
  reader.reset();
  group.reset();
  ledger.reset();
  CHECK(left.expired());
}

TEST_CASE("views: nobody reads them before their first append, and demands reach the writer",
          "[storage]") {
  Fixture f;
  REQUIRE(f.sim.wait(f.storage->send(storage_api::CreateCollection{
      .id = kOne, .kind = storage_api::ViewCollection{}, .since = 5})));
  auto opening = f.storage->open_reader(kOne, 7);
  f.sim.run_for(std::chrono::seconds(1));
  CHECK_FALSE(opening.is_ready());
  std::vector<SqlTime> demands;
  auto writer = std::move(*f.sim.wait(
      f.storage->open_writer(kOne, [&](SqlTime time) { demands.push_back(time); })));
  CHECK(demands == std::vector<SqlTime>{7});
  CHECK(writer->durable_upper() == 5);
  CollectionUpdates updates;
  updates.oks.push_back("x", 6, 1);
  REQUIRE(f.sim.wait(writer->append(5, 7, updates)));
  writer->claim(9);
  auto reader = f.sim.wait(std::move(opening));
  REQUIRE(reader);
  auto event = f.sim.wait((*reader)->next());
  REQUIRE(event);
  CHECK(event->updates.oks.size() == 1);
  CHECK(event->updates.oks.time(0) == 7);
  CHECK(event->upper == 9);
  auto newer = f.sim.wait(f.storage->open_writer(kOne, [](SqlTime) {}));
  CHECK(f.sim.wait(writer->append(7, 9, {})).error().code == ErrorCode::kConflict);
  CHECK(f.sim.wait((*newer)->append(7, 12, {})));
}

/// What a table holds at a time, recomputed from the list of its commits.
using Content = std::map<std::string, repr::Diff>;
Content content_at(const std::map<SqlTime, Content>& commits, SqlTime time) {
  Content sum;
  for (const auto& [at, changes] : commits) {
    if (at > time) break;
    for (const auto& [text, diff] : changes) {
      if ((sum[text] += diff) == 0) sum.erase(text);
    }
  }
  return sum;
}

// One reader that pulls for ever and checks each completed time against the model.
struct CheckedReader {
  std::unique_ptr<CollectionReader> reader;
  SqlTime as_of;
  std::map<SqlTime, Content> received;
  SqlTime upper = 0;
  std::optional<base::Future<ReadEvent>> pending;
  void poll() {
    if (!pending) pending.emplace(reader->next());
    if (!pending->is_ready()) return;
    auto event = *pending->poll();
    pending.reset();
    REQUIRE(event);
    for (std::size_t i = 0; i < event->updates.oks.size(); ++i) {
      const SqlTime time = event->updates.oks.time(i);
      REQUIRE(time >= as_of);
      REQUIRE(time >= upper);  // never a change at a time that was complete
      auto& sum = received[time][std::string(event->updates.oks.rows[i])];
      sum += event->updates.oks.diff(i);
    }
    REQUIRE(event->upper >= upper);
    upper = event->upper;
  }
};

TEST_CASE("tables: readers opened at any time see each change once and uppers that hold",
          "[storage][property]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Fixture f(seed);
    base::Random& random = f.sim.random();
    f.create_table(kOne, 1);
    f.create_table(kTwo, 1);
    std::map<GlobalId, std::map<SqlTime, Content>> model;
    std::map<GlobalId, std::vector<CheckedReader>> readers;
    SqlTime now = 2;
    for (int step = 0; step < 40; ++step) {
      const GlobalId id = random.coin() ? kOne : kTwo;
      now += random.below(3);
      switch (random.below(4)) {
        case 0: {
          const std::string text(1, static_cast<char>('a' + random.below(3)));
          const repr::Diff diff = random.coin() ? 1 : -1;
          const SqlTime time = std::max(now, f.upper(id));
          REQUIRE(f.commit(time, id, row(text, diff)));
          model[id][time][text] += diff;
          now = time;
          break;
        }
        case 1:
          REQUIRE(f.sim.wait(f.storage->send(storage_api::Advance{id, now})));
          break;
        case 2: {
          auto reader = f.sim.wait(f.storage->open_reader(id, now));
          REQUIRE(reader);
          readers[id].push_back({std::move(*reader), now, {}, 0, {}});
          break;
        }
        default:
          for (auto& [of, list] : readers) {
            for (CheckedReader& reader : list) reader.poll();
          }
          f.sim.run_ready();
      }
    }
    for (const GlobalId id : {kOne, kTwo}) {
      REQUIRE(f.sim.wait(f.storage->send(storage_api::Advance{id, now + 5})));
      for (CheckedReader& reader : readers[id]) {
        for (int i = 0; i < 300 && reader.upper <= now + 5; ++i) {
          reader.poll();
          f.sim.run_ready();
        }
        CHECK(reader.upper > now + 5);
        for (SqlTime time = reader.as_of; time <= now; ++time) {
          REQUIRE(content_at(reader.received, time) == content_at(model[id], time));
        }
      }
    }
  }
}

}  // namespace
}  // namespace freshet::storage
