// SPDX-License-Identifier: Apache-2.0
// What a dropped view or source stored goes, also when the server dies on the way.
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <testing/sim_scheduler.h>

#include <freshet/repr/row.h>
#include <freshet/storage/storage.h>

namespace freshet::storage {
namespace {

using storage_api::GlobalId;
using storage_api::LoadGenerator;
using testing::SimScheduler;

constexpr GlobalId id_of(std::uint64_t number) { return {GlobalId::Kind::kUser, number}; }
constexpr GlobalId kDroppedView = id_of(1);
constexpr GlobalId kKeptView = id_of(2);
constexpr GlobalId kSource = id_of(3);
constexpr GlobalId kOutput = id_of(4);

/// What survives a server.
struct Disk {
  std::unique_ptr<persist::Blob> blob = persist::make_memory_blob();
  std::unique_ptr<persist::Consensus> consensus = persist::make_memory_consensus();
};

/// One life of a server, told by its catalog which collections there are.
class Life {
 public:
  Life(SimScheduler& sim, Disk& disk, std::uint64_t seed, const std::set<GlobalId>& catalog)
      : sim_(sim),
        process_(sim.new_process()),
        client_({process_, *disk.blob, *disk.consensus, *logger_, metrics_},
                {.seed = seed, .inline_bytes = 0}) {
    storage = sim.wait(make_durable_storage({process_, *logger_}, client_)).value();
    for (const GlobalId view : {kDroppedView, kKeptView}) {
      if (catalog.contains(view)) create(view, storage_api::ViewCollection{});
    }
    const LoadGenerator counter{.kind = LoadGenerator::Kind::kCounter};
    if (catalog.contains(kSource)) {
      create(kSource, storage_api::IngestionCollection{counter, {kOutput}}, storage_api::progress_desc());
      create(kOutput, storage_api::IngestionOutput{kSource}, storage_api::generator_outputs(counter)[0].second);
    }
    REQUIRE(sim.wait(storage->send(storage_api::InitializationComplete{})));
  }
  ~Life() { process_.kill(); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void fill(GlobalId view) {
    auto writer = sim_.wait(storage->open_writer(view, [](storage_api::SqlTime) {})).value();
    for (storage_api::SqlTime time = 0; time < 3; ++time) {
      storage_api::CollectionUpdates updates;
      updates.oks.push_back("row", time, 1);
      REQUIRE(sim_.wait(writer->append(time, time + 1, std::move(updates))));
    }
  }
  base::Future<base::Unit> drop(GlobalId id) {
    return storage->send(storage_api::DropCollection{id});
  }

  std::unique_ptr<storage_api::Storage> storage;

 private:
  void create(GlobalId id, storage_api::CollectionKind kind, repr::RelationDesc desc = {}) {
    REQUIRE(sim_.wait(storage->send(
        storage_api::CreateCollection{.id = id, .kind = std::move(kind), .desc = std::move(desc)})));
  }

  SimScheduler& sim_;
  SimScheduler::Process& process_;
  std::unique_ptr<base::Logger> logger_ = base::make_null_logger();
  base::Metrics metrics_;
  persist::PersistClient client_;
};

std::set<std::string> groups_with_objects(SimScheduler& sim, Disk& disk) {
  const std::vector<persist::BlobInfo> objects = sim.wait(disk.blob->list("")).value();
  std::set<std::string> groups;
  for (const persist::BlobInfo& object : objects) {
    groups.insert(object.key.substr(0, object.key.find('/')));
  }
  return groups;
}

std::vector<std::string> group_keys(SimScheduler& sim, Disk& disk) {
  return sim.wait(disk.consensus->list_keys("group/")).value();
}

TEST_CASE("drop: what a dropped view or source stored goes at once", "[storage][drop]") {
  SimScheduler sim(1);
  Disk disk;
  Life life(sim, disk, 1, {kDroppedView, kKeptView, kSource, kOutput});
  life.fill(kDroppedView);
  life.fill(kKeptView);
  sim.run_for(std::chrono::seconds(5));
  REQUIRE(groups_with_objects(sim, disk) ==
          std::set<std::string>{"source-u3", "view-u1", "view-u2"});
  REQUIRE(sim.wait(life.drop(kDroppedView)));
  CHECK(groups_with_objects(sim, disk) == std::set<std::string>{"source-u3", "view-u2"});
  REQUIRE(sim.wait(life.drop(kSource)));
  CHECK(group_keys(sim, disk).size() == 3);  // the output still belongs to the source's group
  REQUIRE(sim.wait(life.drop(kOutput)));
  sim.run_for(std::chrono::seconds(5));
  CHECK(groups_with_objects(sim, disk) == std::set<std::string>{"view-u2"});
  CHECK(group_keys(sim, disk) == std::vector<std::string>{"group/tables", "group/view-u2"});
}

TEST_CASE("storage: a server whose groups another took over stops writing at once", "[storage]") {
  SimScheduler sim(7);
  Disk disk;
  Life first(sim, disk, 1, {kSource, kOutput});
  sim.run_for(std::chrono::seconds(5));
  std::vector<storage_api::CollectionFailure> failures;
  first.storage->on_response([&](const storage_api::StorageResponse& response) {
    const auto* failure = std::get_if<storage_api::CollectionFailure>(&response);
    if (failure != nullptr) failures.push_back(*failure);
  });
  Life second(sim, disk, 2, {kSource, kOutput});
  sim.run_for(std::chrono::seconds(30));
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].id == kSource);
  CHECK_FALSE(failures[0].transient);
  CHECK(failures[0].error.code == ErrorCode::kFenced);
  const auto create = [&](Life& life) {
    return sim.wait(life.storage->commit({.time = 1'000'000'000'000'000'000, .create = {{id_of(9), {}}}}));
  };
  const auto refused = create(first);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kFenced);
  CHECK(create(second));
}

TEST_CASE("drop: the next start removes what a killed server left of a dropped view",
          "[storage][drop]") {
  bool complete = false;
  for (std::uint64_t steps = 0; !complete; ++steps) {
    SimScheduler sim(steps + 1);
    Disk disk;
    {
      Life life(sim, disk, 1, {kDroppedView, kKeptView});
      life.fill(kDroppedView);
      life.fill(kKeptView);
      auto dropping = life.drop(kDroppedView);  // the catalog has forgotten it
      for (std::uint64_t i = 0; i < steps && !dropping.is_ready(); ++i) sim.step();
      complete = dropping.is_ready();
    }
    Life life(sim, disk, 2, {kKeptView});
    sim.run_for(std::chrono::seconds(5));
    INFO("killed after " << steps << " steps");
    REQUIRE(groups_with_objects(sim, disk) == std::set<std::string>{"view-u2"});
    REQUIRE(group_keys(sim, disk) == std::vector<std::string>{"group/tables", "group/view-u2"});
    REQUIRE(life.storage->frontiers(kKeptView)->durable_upper == 3);
    REQUIRE(steps < 1000);
  }
}

}  // namespace
}  // namespace freshet::storage
