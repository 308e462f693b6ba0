// SPDX-License-Identifier: Apache-2.0
// A shard says what it stores: a catalog that says something else is found when the collection is opened.
#include "schema.h"

#include <string>

#include <catch2/catch.hpp>
#include <testing/sim_scheduler.h>

#include <freshet/storage/storage.h>

namespace freshet::storage {
namespace {

using repr::RelationDesc;
using repr::SqlType;
using repr::TypeKind;
using storage_api::CollectionKind;
using storage_api::CreateCollection;
using storage_api::GlobalId;
using storage_api::IngestionCollection;
using storage_api::IngestionOutput;
using storage_api::TableCollection;
using storage_api::ViewCollection;
using testing::SimScheduler;

constexpr GlobalId id_of(std::uint64_t number) { return {GlobalId::Kind::kUser, number}; }

RelationDesc desc_of(SqlType type) {
  RelationDesc desc;
  desc.names = {"k", "v"};
  desc.type.columns = {{SqlType(TypeKind::kInt4), false}, {std::move(type), true}};
  desc.type.keys = {{0}};
  return desc;
}

struct Disk {
  std::unique_ptr<persist::Blob> blob = persist::make_memory_blob();
  std::unique_ptr<persist::Consensus> consensus = persist::make_memory_consensus();
};

/// One life of a server.
class Life {
 public:
  Life(SimScheduler& sim, Disk& disk, std::uint64_t seed)
      : sim_(sim),
        process_(sim.new_process()),
        client_({process_, *disk.blob, *disk.consensus, *logger_, metrics_}, {.seed = seed}) {
    storage = sim.wait(make_durable_storage({process_, *logger_}, client_)).value();
  }
  ~Life() { process_.kill(); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  /// Empty, or what was wrong.
  std::string create(GlobalId id, CollectionKind kind, RelationDesc desc) {
    const auto made = sim_.wait(storage->send(CreateCollection{.id = id, .kind = std::move(kind), .desc = std::move(desc)}));
    return made ? "" : std::string(made.error().sqlstate.view()) + " " + made.error().message;
  }
  std::string create_by_commit(GlobalId id, RelationDesc desc) {
    const auto made = sim_.wait(storage->commit({.time = 5, .create = {{id, std::move(desc)}}}));
    return made ? "" : made.error().message;
  }

  std::unique_ptr<storage_api::Storage> storage;

 private:
  SimScheduler& sim_;
  SimScheduler::Process& process_;
  std::unique_ptr<base::Logger> logger_ = base::make_null_logger();
  base::Metrics metrics_;
  persist::PersistClient client_;
};

std::string other_columns(const std::string& shard, const std::string& group) {
  return "XX001 shard " + shard + " of group \"" + group + "\" stores other columns than the catalog says";
}

TEST_CASE("schema: reads back, and what is no schema is an error", "[storage]") {
  const RelationDesc desc = desc_of(SqlType::array_of(SqlType(TypeKind::kText)));
  const std::string bytes = encode_schema(desc);
  CHECK(decode_schema(bytes).value() == desc);
  CHECK(decode_schema("").error().sqlstate.view() == "XX001");
  CHECK_FALSE(decode_schema(bytes + "x"));
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(decode_schema(bytes.substr(0, size)));
  std::string newer = bytes;
  newer[0] = 2;
  CHECK_FALSE(decode_schema(newer));
}

TEST_CASE("schema: a collection that stores other columns than the catalog says is refused by name", "[storage]") {
  SimScheduler sim(1);
  Disk disk;
  const storage_api::LoadGenerator counter{.kind = storage_api::LoadGenerator::Kind::kCounter};
  const RelationDesc right = desc_of(SqlType(TypeKind::kText));
  const RelationDesc number = storage_api::generator_outputs(counter)[0].second;
  {
    Life life(sim, disk, 1);
    CHECK(life.create(id_of(1), TableCollection{}, right).empty());
    CHECK(life.create_by_commit(id_of(2), right).empty());
    CHECK(life.create(id_of(3), ViewCollection{}, right).empty());
    CHECK(life.create(id_of(4), IngestionCollection{counter, {id_of(5)}}, storage_api::progress_desc()).empty());
    CHECK(life.create(id_of(5), IngestionOutput{id_of(4)}, number).empty());
  }
  {
    Life life(sim, disk, 2);
    RelationDesc nullable = right;
    nullable.type.columns[0].nullable = true;
    RelationDesc renamed = right;
    renamed.names[0] = "other";
    for (const RelationDesc& wrong : {desc_of(SqlType(TypeKind::kBytea)), RelationDesc{}, nullable, renamed}) {
      CHECK(life.create(id_of(1), TableCollection{}, wrong) == other_columns("u1", "tables"));
      CHECK(life.create(id_of(2), TableCollection{}, wrong) == other_columns("u2", "tables"));
      CHECK(life.create(id_of(3), ViewCollection{}, wrong) == other_columns("u3", "view-u3"));
    }
    CHECK(life.create(id_of(4), IngestionCollection{counter, {id_of(5)}}, right) == other_columns("u4", "source-u4"));
  }
  Life life(sim, disk, 3);
  CHECK(life.create(id_of(1), TableCollection{}, right).empty());
  CHECK(life.create(id_of(2), TableCollection{}, right).empty());
  CHECK(life.create(id_of(3), ViewCollection{}, right).empty());
  CHECK(life.create(id_of(4), IngestionCollection{counter, {id_of(5)}}, storage_api::progress_desc()).empty());
  CHECK(life.create(id_of(5), IngestionOutput{id_of(4)}, right) == other_columns("u5", "source-u4"));
  CHECK(life.create(id_of(5), IngestionOutput{id_of(4)}, number).empty());
}

TEST_CASE("schema: a source whose catalog lists too few outputs is refused", "[storage]") {
  SimScheduler sim(1);
  Disk disk;
  Life life(sim, disk, 1);
  const storage_api::LoadGenerator counter{.kind = storage_api::LoadGenerator::Kind::kCounter};
  CHECK_FALSE(life.create(id_of(4), IngestionCollection{counter, {}}, storage_api::progress_desc()).empty());
}

}  // namespace
}  // namespace freshet::storage
