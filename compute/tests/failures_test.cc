// SPDX-License-Identifier: Apache-2.0
// A dataflow that cannot go on says so, and so does everything that reads from it.
#include <catch2/catch.hpp>

#include <freshet/repr/row.h>
#include <freshet/sql/physical.h>

#include "support/world.h"

namespace compute_testing {
namespace {

using namespace freshet;  // NOLINT: a test
using compute_api::Peek;
using expr::Relation;
using repr::Datum;

constexpr GlobalId kTable{GlobalId::Kind::kUser, 1};
constexpr GlobalId kMissing{GlobalId::Kind::kUser, 2};
constexpr GlobalId kIndex{GlobalId::Kind::kUser, 3};
constexpr GlobalId kReader{GlobalId::Kind::kUser, 4};
constexpr GlobalId kReaderIndex{GlobalId::Kind::kUser, 5};

repr::RelationDesc pair_of(repr::TypeKind kind) {
  return {.type = {{{repr::TypeKind::kInt8, true}, {kind, true}}}, .names = {"a", "b"}};
}
expr::Scalar first_column() { return expr::Scalar::column(0, {repr::TypeKind::kInt8, true}); }

struct Engine {
  explicit Engine(WorldOptions options) : world(World::make(7, options)) {
    world->create_table(kTable, desc);
    world->commit(10, {{kTable, {.rows = {{{Datum(std::int64_t{1}), Datum(std::int64_t{-9})}, 1}}}}});
  }
  /// An index over a stored collection, which is said to have the columns of `as`.
  void index(GlobalId collection, const repr::RelationDesc& as, SqlTime as_of = 10) {
    expr::DataflowDescription dataflow{.name = "index"};
    dataflow.sources.emplace(collection, expr::SourceImport{as});
    dataflow.index_exports.emplace(kIndex, expr::IndexExport{collection, {first_column()}, as.type});
    dataflow.as_of = as_of;
    world->start(dataflow);
  }
  /// A dataflow that reads the index.
  void read_index(SqlTime as_of = 10) {
    expr::DataflowDescription dataflow{.name = "reader"};
    dataflow.indexes.emplace(kIndex, expr::IndexImport{kTable, {first_column()}, desc.type});
    dataflow.index_exports.emplace(kReaderIndex, expr::IndexExport{kTable, {first_column()}, desc.type});
    dataflow.as_of = as_of;
    world->start(dataflow);
  }
  Result<std::map<std::string, Diff>> peek(GlobalId id, SqlTime time = 10) {
    return world->peek({.target = Peek::Index{id}, .time = time, .mfp = expr::Mfp::identity(2)});
  }
  repr::RelationDesc desc = pair_of(repr::TypeKind::kInt8);
  std::unique_ptr<World> world;
};

WorldOptions any_engine() { return GENERATE(WorldOptions{}, WorldOptions{.workers = 3}, WorldOptions{.naive = true}); }
WorldOptions one_or_more_workers() { return GENERATE(WorldOptions{}, WorldOptions{.workers = 3}); }

TEST_CASE("engine: who imports an index that is not there has an error", "[compute]") {
  Engine engine(any_engine());
  engine.read_index();
  CHECK(engine.world->wait_for(kReaderIndex, 10).error().code == ErrorCode::kNotFound);
  CHECK(engine.peek(kReaderIndex).error().code == ErrorCode::kNotFound);
  // It can be dropped, and made again once the index is there.
  engine.world->allow_compaction(kReaderIndex, repr::kClosed);
  engine.world->restart();
  engine.index(kTable, engine.desc);
  engine.read_index();
  const auto rows = engine.peek(kReaderIndex);
  INFO((rows ? "" : rows.error().message));
  REQUIRE(rows);
  CHECK(rows->size() == 1);
}

TEST_CASE("dataflow: who imports an index that moved past its time has an error", "[compute]") {
  Engine engine(one_or_more_workers());
  engine.index(kTable, engine.desc);
  REQUIRE(engine.world->wait_for(kIndex, 20));
  engine.world->allow_compaction(kIndex, 15);
  engine.read_index(12);
  CHECK(engine.world->wait_for(kReaderIndex, 12).error().code == ErrorCode::kInvalid);
}

TEST_CASE("engine: the failure of an input reaches who imports from it, before and after", "[compute]") {
  Engine engine(any_engine());
  const bool early = GENERATE(true, false);
  if (!early) {
    engine.index(kMissing, engine.desc);
    REQUIRE(!engine.world->wait_for(kIndex, 10));
    engine.read_index();
  } else {
    // Both are there before the source is opened.
    expr::DataflowDescription dataflow{.name = "index"};
    dataflow.sources.emplace(kMissing, expr::SourceImport{engine.desc});
    dataflow.index_exports.emplace(kIndex, expr::IndexExport{kMissing, {first_column()}, engine.desc.type});
    dataflow.as_of = 10;
    engine.world->send(compute_api::CreateDataflow{dataflow});
    engine.read_index();
    engine.world->send(compute_api::Schedule{kIndex});
  }
  const Result<void> failed = engine.world->wait_for(kReaderIndex, 10);
  REQUIRE(!failed);
  CHECK(engine.world->wait_for(kIndex, 10).error() == failed.error());
  CHECK(engine.peek(kReaderIndex).error() == failed.error());
  CHECK(engine.peek(kIndex).error() == failed.error());
}

TEST_CASE("dataflow: stored bytes that do not decode are an error of the dataflow", "[compute]") {
  Engine engine(one_or_more_workers());
  engine.index(kTable, pair_of(repr::TypeKind::kNumeric));
  engine.read_index();
  CHECK(engine.world->wait_for(kIndex, 10).error().code == ErrorCode::kCorrupt);
  CHECK(engine.world->wait_for(kReaderIndex, 10).error().code == ErrorCode::kCorrupt);
}

TEST_CASE("dataflow: stored bytes that do not decode are an error of a read", "[compute]") {
  Engine engine(one_or_more_workers());
  const auto rows = engine.world->peek({.target = Peek::Collection{kTable, pair_of(repr::TypeKind::kNumeric)},
                                        .time = 10,
                                        .mfp = expr::Mfp::identity(2)});
  CHECK(rows.error().code == ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace compute_testing
