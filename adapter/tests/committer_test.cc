// SPDX-License-Identifier: Apache-2.0
#include "committer.h"

#include <catch2/catch.hpp>
#include <freshet/repr/row.h>
#include <testing/sim_scheduler.h>

namespace freshet::adapter {
namespace {

using base::Future;
using base::Promise;
using base::Unit;
using storage_api::TableCommit;

constexpr GlobalId kA{GlobalId::Kind::kUser, 1};
constexpr GlobalId kB{GlobalId::Kind::kUser, 2};

/// A storage that only commits, when and how the test says.
class CommitStorage final : public storage_api::Storage {
 public:
  Future<Unit> send(storage_api::StorageCommand) override { return Future<Unit>::ready(Unit{}); }
  void on_response(std::function<void(storage_api::StorageResponse)>) override {}
  [[nodiscard]] Result<storage_api::Frontiers> frontiers(GlobalId) const override {
    return storage_api::Frontiers{};
  }
  Future<Unit> wait_for(GlobalId, SqlTime) override { return Future<Unit>::ready(Unit{}); }
  Future<Unit> commit(TableCommit commit) override {
    commits.push_back(std::move(commit));
    return pending.emplace_back().future();
  }
  std::unique_ptr<storage_api::RowStage> stage(GlobalId) override { return nullptr; }
  Future<std::unique_ptr<storage_api::CollectionReader>> open_reader(GlobalId, SqlTime) override {
    return Future<std::unique_ptr<storage_api::CollectionReader>>::ready(fail(ErrorCode::kNotFound, "none"));
  }
  Future<std::unique_ptr<storage_api::CollectionWriter>> open_writer(GlobalId,
                                                                     std::function<void(SqlTime)>) override {
    return Future<std::unique_ptr<storage_api::CollectionWriter>>::ready(fail(ErrorCode::kNotFound, "none"));
  }

  std::vector<TableCommit> commits;
  std::vector<Promise<Unit>> pending;
};

struct Fixture {
  explicit Fixture(std::uint64_t seed)
      : sim(seed), process(sim.new_process()),
        oracle(process, 1000, [](SqlTime) { return Future<Unit>::ready(Unit{}); }),
        committer(process, storage, oracle, 1000) {
    (void)sim.wait(oracle.read_timestamp());
  }
  Future<SqlTime> write(GlobalId table, std::string row, std::optional<SqlTime> read_at = {},
                        std::set<GlobalId> read = {}) {
    TableWrite write{.read_at = read_at, .read_tables = std::move(read)};
    write.appends[table].oks.push_back(row, 0, 1);
    auto answer = committer.commit(std::move(write));
    sim.run_ready();
    return answer;
  }
  void answer(Result<Unit> result) {
    storage.pending.back().resolve(std::move(result));
    sim.run_ready();
  }
  SqlTime now() { return oracle.read_now().value(); }

  testing::SimScheduler sim;
  testing::SimScheduler::Process& process;
  CommitStorage storage;
  Oracle oracle;
  Committer committer;
};

TEST_CASE("committer: what comes while a commit is under way goes out together", "[adapter]") {
  Fixture f(1);
  auto first = f.write(kA, "one");
  auto second = f.write(kA, "two");
  auto third = f.write(kB, "three");
  REQUIRE(f.storage.commits.size() == 1);
  f.answer(Unit{});
  const auto time = f.sim.wait(std::move(first));
  REQUIRE(time);
  CHECK(f.now() >= *time);
  CHECK_FALSE(second.is_ready());
  REQUIRE(f.storage.commits.size() == 2);
  CHECK(f.storage.commits[1].time > *time);
  CHECK(f.storage.commits[1].appends.at(kA).oks.rows[0] == "two");
  CHECK(f.storage.commits[1].appends.at(kB).oks.rows[0] == "three");
  f.answer(Unit{});
  CHECK(*f.sim.wait(std::move(second)) == *f.sim.wait(std::move(third)));
}

TEST_CASE("committer: rows of one table from several writes are merged with their counts", "[adapter]") {
  Fixture f(2);
  auto blocker = f.write(kB, "x");
  auto first = f.write(kA, "one");
  TableWrite removal;
  removal.appends[kA].oks.push_back("two", 0, -1);
  removal.appends[kA].oks.push_back("three", 0, 2);
  auto second = f.committer.commit(std::move(removal));
  f.sim.run_ready();
  f.answer(Unit{});
  const auto& rows = f.storage.commits.at(1).appends.at(kA).oks;
  REQUIRE(rows.size() == 3);
  CHECK(rows.rows[0] == "one");
  CHECK(rows.diff(0) == 1);
  CHECK(rows.rows[1] == "two");
  CHECK(rows.diff(1) == -1);
  CHECK(rows.rows[2] == "three");
  CHECK(rows.diff(2) == 2);
  f.answer(Unit{});
  CHECK(f.sim.wait(std::move(second)));
}

TEST_CASE("committer: what would be too large together goes out one after the other", "[adapter]") {
  Fixture f(1);
  auto first = f.write(kA, "first");
  std::vector<Future<SqlTime>> more;
  for (int i = 0; i < 3; ++i) more.push_back(f.write(kA, std::string(600, 'x')));
  auto beside = f.write(kB, std::string(600, 'y'));
  for (int commits = 1; commits <= 4; ++commits) {
    REQUIRE(f.storage.commits.size() == static_cast<std::size_t>(commits));
    f.answer(Unit{});
  }
  CHECK(f.storage.commits.size() == 4);
  CHECK(f.storage.commits.back().appends.size() == 2);  // the last, and the other table's
  for (auto& done : more) CHECK(f.sim.wait(std::move(done)));
  CHECK(f.sim.wait(std::move(beside)));
}

TEST_CASE("committer: a write whose tables changed since it read gets 40001", "[adapter]") {
  Fixture f(3);
  const SqlTime read_at = f.now();
  auto first = f.write(kA, "one");
  // Another that read at the same time waits behind it, and a third beside them.
  auto lost = f.write(kA, "two", read_at, {kA});
  auto other = f.write(kA, "three", read_at, {kB});
  f.answer(Unit{});
  const auto conflict = f.sim.wait(std::move(lost));
  REQUIRE_FALSE(conflict);
  CHECK(conflict.error().sqlstate == SqlState("40001"));
  f.answer(Unit{});
  CHECK(f.sim.wait(std::move(other)));
  // After reading again it goes through.
  auto again = f.write(kA, "two", f.now(), {kA});
  f.answer(Unit{});
  CHECK(f.sim.wait(std::move(again)));
}

TEST_CASE("committer: of two that read and write one table in one commit the first wins", "[adapter]") {
  Fixture f(4);
  auto blocker = f.write(kB, "x");
  const SqlTime read_at = f.now();
  auto first = f.write(kA, "one", read_at, {kA});
  auto second = f.write(kA, "two", read_at, {kA});
  f.answer(Unit{});
  f.answer(Unit{});
  CHECK(f.sim.wait(std::move(first)));
  const auto lost = f.sim.wait(std::move(second));
  REQUIRE_FALSE(lost);
  CHECK(lost.error().sqlstate == SqlState("40001"));
}

TEST_CASE("committer: a time that readers were promised is tried again above it", "[adapter]") {
  Fixture f(5);
  auto write = f.write(kA, "one");
  for (int i = 0; i < 3; ++i) f.answer(fail(ErrorCode::kConflict, "the upper is above"));
  REQUIRE(f.storage.commits.size() == 4);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(f.storage.commits[i].time > f.storage.commits[i - 1].time);
    CHECK(f.storage.commits[i].appends.at(kA).oks.rows[0] == "one");
  }
  f.answer(Unit{});
  CHECK(*f.sim.wait(std::move(write)) == f.storage.commits[3].time);
}

TEST_CASE("committer: a failed commit tells its writers, and the next goes on", "[adapter]") {
  Fixture f(6);
  auto first = f.write(kA, "one");
  auto second = f.write(kA, "two");
  f.answer(fail(ErrorCode::kExhausted, "the disk is full"));
  const auto full = f.sim.wait(std::move(first));
  REQUIRE_FALSE(full);
  CHECK(full.error().sqlstate == SqlState("53100"));
  f.answer(Unit{});
  CHECK(f.sim.wait(std::move(second)));
  CHECK(f.sim.wait(f.committer.settled()));
}

TEST_CASE("committer: tables are quiet since their last change, a commit on its way included", "[adapter]") {
  Fixture f(7);
  const SqlTime opened = f.committer.quiet_since({kA, kB});
  CHECK(opened <= f.now());
  auto write = f.write(kA, "one");
  const SqlTime on_its_way = f.storage.commits[0].time;
  CHECK(f.committer.quiet_since({kA}) == on_its_way);
  CHECK(f.committer.quiet_since({kB}) == opened);
  CHECK(f.committer.quiet_since({kB, kA}) == on_its_way);
  f.answer(Unit{});
  CHECK(*f.sim.wait(std::move(write)) == on_its_way);
  CHECK(f.committer.quiet_since({kA}) == on_its_way);
}

}  // namespace
}  // namespace freshet::adapter
