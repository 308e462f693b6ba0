// SPDX-License-Identifier: Apache-2.0
// What both engines promise beside right contents: reads, subscriptions, sharing, restarts, dropping.
#include <catch2/catch.hpp>

#include <freshet/expr/text.h>
#include <freshet/repr/row.h>
#include <freshet/sql/physical.h>

#include "support/world.h"

namespace compute_testing {
namespace {

using namespace freshet;  // NOLINT: a test
using compute_api::Peek;
using expr::Relation;
using expr::Scalar;
using repr::Datum;

constexpr GlobalId kTable{GlobalId::Kind::kUser, 1};
constexpr GlobalId kTableIndex{GlobalId::Kind::kUser, 2};
constexpr GlobalId kView{GlobalId::Kind::kUser, 3};
constexpr GlobalId kViewIndex{GlobalId::Kind::kUser, 4};
constexpr GlobalId kSubscribe{GlobalId::Kind::kTransient, 5};

repr::RelationDesc pair_desc() {
  return {.type = {{{repr::TypeKind::kInt8, true}, {repr::TypeKind::kInt8, true}}}, .names = {"a", "b"}};
}
Scalar column(std::size_t i) { return Scalar::column(i, pair_desc().type.columns[i]); }
repr::DatumRow row(std::int64_t a, std::int64_t b) { return {Datum(a), Datum(b)}; }
std::string bytes(std::int64_t a, std::int64_t b) {
  return repr::RowCodec({repr::TypeKind::kInt8, repr::TypeKind::kInt8}).encode(row(a, b));
}
using Rows = std::map<std::string, Diff>;

TableChange changed(std::vector<std::pair<repr::DatumRow, Diff>> rows) { return {.rows = std::move(rows)}; }

struct Engine {
  explicit Engine(WorldOptions options = {}) : world(World::make(7, options)) {
    world->create_table(kTable, pair_desc());
    world->commit(10, {{kTable, changed({{row(1, 10), 1}, {row(1, 11), 1}, {row(2, 20), 1}, {row(3, 0), 1}})}});
  }
  expr::DataflowDescription describe(const Relation& relation, GlobalId id, SqlTime as_of, const sql::IndexOracle& indexes = {}) {
    sql::DataflowRequest request{.name = "test", .id = id, .relation = relation};
    request.inputs.stored.emplace(kTable, pair_desc());
    request.inputs.indexes = indexes;
    auto dataflow = sql::build_dataflow(request).value();
    dataflow.as_of = as_of;
    return dataflow;
  }
  /// An index on the table by its first column.
  void index_table(SqlTime as_of = 10) {
    auto dataflow = describe(Relation::get(kTable, pair_desc().type), kTable, as_of);
    dataflow.sources.emplace(kTable, expr::SourceImport{pair_desc()});
    dataflow.index_exports.emplace(kTableIndex, expr::IndexExport{kTable, {column(0)}, pair_desc().type});
    world->start(dataflow);
  }
  Result<Rows> read(Peek peek) { return world->peek(std::move(peek)); }
  Peek all(SqlTime time, GlobalId index = kTableIndex) {
    return {.target = Peek::Index{index}, .time = time, .mfp = expr::Mfp::identity(2)};
  }
  std::unique_ptr<World> world;
};

WorldOptions any_engine() {
  const WorldOptions options = GENERATE(WorldOptions{}, WorldOptions{.workers = 3, .block_bytes = 64},
                                        WorldOptions{.naive = true}, WorldOptions{.workers = 2, .through_bytes = true});
  UNSCOPED_INFO("workers " << options.workers << (options.naive ? ", naive" : "") << (options.through_bytes ? ", through bytes" : ""));
  return options;
}
std::string shown(const Rows& rows) {
  const repr::RowCodec codec({repr::TypeKind::kInt8, repr::TypeKind::kInt8});
  std::string out;
  for (const auto& [bytes, count] : rows) {
    out += std::to_string(count) + " x " + expr::row_text(codec.decode_row(bytes).value(), pair_desc().type.columns) + " ";
  }
  return out;
}

const expr::FunctionSpec* divide() { return expr::function_by_signature("/(int8,int8)"); }

TEST_CASE("engine: an index answers at every time it holds", "[compute]") {
  Engine engine(any_engine());
  engine.index_table();
  CHECK(engine.read(engine.all(10)).value() == Rows{{bytes(1, 10), 1}, {bytes(1, 11), 1}, {bytes(2, 20), 1}, {bytes(3, 0), 1}});
  engine.world->commit(12, {{kTable, changed({{row(1, 10), -1}, {row(2, 20), 2}})}});
  CHECK(engine.read(engine.all(11)).value().size() == 4);
  CHECK(engine.read(engine.all(12)).value() == Rows{{bytes(1, 11), 1}, {bytes(2, 20), 3}, {bytes(3, 0), 1}});
}

TEST_CASE("engine: a new controller starts from nothing, under the same names", "[compute]") {
  Engine engine(any_engine());
  engine.index_table();
  REQUIRE(engine.read(engine.all(10)).value().size() == 4);
  engine.world->commit(12, {{kTable, changed({{row(1, 10), -1}})}});
  engine.world->send(compute_api::Hello{{2, 2}});
  engine.world->send(compute_api::CreateInstance{});
  engine.index_table(12);
  CHECK(engine.read(engine.all(12)).value().size() == 3);
  engine.world->commit(14, {{kTable, changed({{row(2, 20), -1}})}});
  CHECK(engine.read(engine.all(14)).value().size() == 2);
}

TEST_CASE("engine: a seek reads only the keys asked for", "[compute]") {
  Engine engine(any_engine());
  engine.index_table();
  Peek peek = engine.all(10);
  std::get<Peek::Index>(peek.target).seek = {{Datum(std::int64_t{1})}, {Datum(std::int64_t{9})}, {Datum(std::int64_t{1})}};
  CHECK(engine.read(peek).value() == Rows{{bytes(1, 10), 1}, {bytes(1, 11), 1}});
}

TEST_CASE("engine: an ordered peek with a limit has the first rows", "[compute]") {
  Engine engine(any_engine());
  engine.index_table();
  Peek peek = engine.all(10);
  peek.order = {{.column = 1, .descending = true}};
  peek.limit = 2;
  const Rows rows = engine.read(peek).value();
  CHECK(rows.contains(bytes(2, 20)));
  CHECK(rows.contains(bytes(1, 11)));
}

TEST_CASE("engine: a peek with a limit sends the first rows and no others", "[compute]") {
  Engine engine(WorldOptions{.workers = GENERATE(1u, 3u)});
  engine.index_table();
  Peek peek = engine.all(10);
  peek.limit = 2;
  CHECK(engine.read(peek).value() == Rows{{bytes(1, 10), 1}, {bytes(1, 11), 1}});
  peek.order = {{.column = 1, .descending = true}};
  CHECK(engine.read(peek).value() == Rows{{bytes(2, 20), 1}, {bytes(1, 11), 1}});
  peek.limit = 0;
  CHECK(engine.read(peek).value().empty());
}

TEST_CASE("engine: a collection is read straight from storage", "[compute]") {
  Engine engine(any_engine());
  engine.world->commit(12, {{kTable, changed({{row(1, 10), -1}})}});
  const expr::Mfp mfp = expr::Mfp::identity(2).filter({Scalar::call(expr::function_by_signature("=(int8,int8)"), {column(0), Scalar::literal(Datum(std::int64_t{1}), repr::TypeKind::kInt8)})}).value();
  Peek peek{.target = Peek::Collection{kTable, pair_desc()}, .time = 12, .mfp = mfp};
  CHECK(engine.read(peek).value() == Rows{{bytes(1, 11), 1}});
  peek.time = 11;
  CHECK(engine.read(peek).value().size() == 2);
}

TEST_CASE("engine: a read fails where a bad row is in scope, and heals", "[compute]") {
  Engine engine(any_engine());
  // b := 100 / b fails for (3, 0).
  const Scalar hundred = Scalar::literal(Datum(std::int64_t{100}), repr::TypeKind::kInt8);
  const Relation view = Relation::get(kTable, pair_desc().type).map({Scalar::call(divide(), {hundred, column(1)})}).project({0, 2});
  auto dataflow = engine.describe(view, kView, 10);
  dataflow.index_exports.emplace(kViewIndex, expr::IndexExport{kView, {view.type().columns.empty() ? column(0) : column(0)}, view.type()});
  engine.world->start(dataflow);
  Peek whole = engine.all(10, kViewIndex);
  REQUIRE(!engine.read(whole));
  CHECK(engine.read(whole).error().sqlstate == SqlState("22012"));
  Peek good = whole;
  std::get<Peek::Index>(good.target).seek = {{Datum(std::int64_t{2})}};
  CHECK(engine.read(good).value() == Rows{{bytes(2, 5), 1}});
  Peek bad = whole;
  std::get<Peek::Index>(bad.target).seek = {{Datum(std::int64_t{3})}};
  CHECK(!engine.read(bad));
  engine.world->commit(13, {{kTable, changed({{row(3, 0), -1}, {row(3, 50), 1}})}});
  bad.time = whole.time = 13;
  CHECK(engine.read(bad).value() == Rows{{bytes(3, 2), 1}});
  CHECK(engine.read(whole).value().size() == 4);
}

TEST_CASE("engine: a dataflow reads another one's index", "[compute]") {
  Engine engine(any_engine());
  engine.index_table();
  const Relation table = Relation::get(kTable, pair_desc().type);
  const Relation sums = table.reduce({column(0)}, {expr::Aggregate{.spec = expr::aggregate_by_signature("count(*)")}});
  sql::IndexOracle indexes;
  indexes.indexes[kTable].push_back({kTableIndex, {column(0)}});
  auto dataflow = engine.describe(sums, kView, 10, indexes);
  CHECK(dataflow.sources.empty());
  dataflow.index_exports.emplace(kViewIndex, expr::IndexExport{kView, {column(0)}, sums.type()});
  engine.world->start(dataflow);
  CHECK(engine.read(engine.all(10, kViewIndex)).value() == Rows{{bytes(1, 2), 1}, {bytes(2, 1), 1}, {bytes(3, 1), 1}});
  // The index goes, but what reads it goes on.
  engine.world->allow_compaction(kTableIndex, repr::kClosed);
  engine.world->commit(14, {{kTable, changed({{row(1, 10), -1}, {row(1, 11), -1}})}});
  CHECK(shown(engine.read(engine.all(14, kViewIndex)).value()) == shown({{bytes(2, 1), 1}, {bytes(3, 1), 1}}));
  CHECK(!engine.read(engine.all(14)));
}

/// 0 and -0 are equal: rows with them differ in nothing but a form.
struct Zeros {
  explicit Zeros(const WorldOptions& options) : engine(options) {
    engine.world->create_table(kZeros, desc);
    engine.world->commit(11, {{kZeros, changed({{at(-0.0), 1}, {at(0.0), 1}})}});
  }
  static repr::DatumRow at(double b) { return {Datum(std::int64_t{1}), Datum(b)}; }
  /// Maintains `relation` and reads all of it.
  Rows content(const Relation& relation) {
    sql::DataflowRequest request{.name = "zeros", .id = kView, .relation = relation};
    request.inputs.stored.emplace(kZeros, desc);
    request.index_exports.emplace(kViewIndex, expr::ArrangementKey{});
    auto dataflow = sql::build_dataflow(request).value();
    dataflow.as_of = 11;
    engine.world->start(dataflow);
    Peek peek = engine.all(11, kViewIndex);
    peek.mfp = expr::Mfp::identity(relation.arity());
    return engine.read(peek).value();
  }
  static constexpr GlobalId kZeros{GlobalId::Kind::kUser, 6};
  repr::RelationDesc desc{.type = {{{repr::TypeKind::kInt8, true}, {repr::TypeKind::kFloat8, true}}}, .names = {"a", "b"}};
  Engine engine;
};

TEST_CASE("engine: of rows that differ only in a form the one without it comes first", "[compute]") {
  Zeros zeros(any_engine());
  const Relation table = Relation::get(Zeros::kZeros, zeros.desc.type);
  const Relation first = table.top_k({}, {{.column = 0}}, Scalar::literal(Datum(std::int64_t{1}), repr::TypeKind::kInt8), 0);
  const repr::RowCodec codec({repr::TypeKind::kInt8, repr::TypeKind::kFloat8});
  CHECK(zeros.content(first) == Rows{{codec.encode(Zeros::at(0.0)), 1}});
}

TEST_CASE("engine: ordered aggregates take equal values with forms last", "[compute]") {
  Zeros zeros(any_engine());
  const Relation table = Relation::get(Zeros::kZeros, zeros.desc.type);
  expr::Aggregate list{.spec = expr::aggregate_by_signature("array_agg(anynonarray)"),
                       .arguments = {Scalar::column(1, zeros.desc.type.columns[1])}};
  list.order_by.push_back({Scalar::column(0, zeros.desc.type.columns[0])});
  const Relation lists = table.reduce({}, {list});
  const Rows content = zeros.content(lists);
  REQUIRE(content.size() == 1);
  const repr::RowCodec codec({lists.type().columns[0].type});
  CHECK(expr::row_text(codec.decode_row(content.begin()->first).value(), lists.type().columns) == "('{0,-0}'::double precision[])");
}

TEST_CASE("engine: a column that is one value does not equal one that is another, whatever their types", "[compute]") {
  Engine engine(any_engine());
  const Relation table = Relation::get(kTable, pair_desc().type);
  const auto literal = [](std::int64_t value) { return Scalar::literal(Datum(value), repr::TypeKind::kInt8); };
  const Relation minus_one = table.map({Scalar::literal(Datum(std::int32_t{-1}), repr::TypeKind::kInt4)});
  const Relation zero = table.filter({Scalar::call(expr::function_by_signature("=(int8,int8)"), {column(1), literal(0)})});
  const Relation joined =
      Relation::join({minus_one, zero}, {{Scalar::column(2, minus_one.type().columns[2]), Scalar::column(4, pair_desc().type.columns[1])}})
          .project({0, 1});
  auto dataflow = engine.describe(joined, kView, 10);
  dataflow.index_exports.emplace(kViewIndex, expr::IndexExport{kView, {}, joined.type()});
  engine.world->start(dataflow);
  CHECK(engine.read(engine.all(10, kViewIndex)).value().empty());
}

TEST_CASE("engine: the error of a recursion without an end keeps what is known after it", "[compute]") {
  Engine engine(any_engine());
  const Relation table = Relation::get(kTable, pair_desc().type);
  const expr::LocalId id{0};
  const Relation all = Relation::get(id, pair_desc().type);
  const Relation reached = Relation::let_rec({id}, {Relation::union_all({table, all}).distinct()}, all, 0, false);
  const Relation view = reached.map({Scalar::literal(Datum(std::int64_t{1}), repr::TypeKind::kInt8)}).project({0, 2});
  auto dataflow = engine.describe(view, kView, 10);
  dataflow.index_exports.emplace(kViewIndex, expr::IndexExport{kView, {column(1)}, view.type()});
  engine.world->start(dataflow);
  Peek one = engine.all(10, kViewIndex);
  std::get<Peek::Index>(one.target).seek = {{Datum(std::int64_t{1})}};
  CHECK(!engine.read(one));
  Peek two = one;
  std::get<Peek::Index>(two.target).seek = {{Datum(std::int64_t{2})}};
  const Result<Rows> none = engine.read(two);
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("engine: a filter on what is known after a recursion without an end removes its error", "[compute]") {
  Engine engine(any_engine());
  const Relation table = Relation::get(kTable, pair_desc().type);
  const expr::LocalId id{0};
  const Relation all = Relation::get(id, pair_desc().type);
  const Relation reached = Relation::let_rec({id}, {Relation::union_all({table, all}).distinct()}, all, 0, false);
  const auto literal = [](std::int64_t value) { return Scalar::literal(Datum(value), repr::TypeKind::kInt8); };
  const Relation known = reached.map({literal(1)}).project({0, 2});
  const Relation view = known.filter({Scalar::call(expr::function_by_signature("=(int8,int8)"),
                                                   {Scalar::column(1, known.type().columns[1]), literal(2)})});
  auto dataflow = engine.describe(view, kView, 10);
  dataflow.index_exports.emplace(kViewIndex, expr::IndexExport{kView, {}, view.type()});
  engine.world->start(dataflow);
  const Result<Rows> none = engine.read(engine.all(10, kViewIndex));
  REQUIRE(none);
  CHECK(none->empty());
}

expr::SinkExport sink(expr::SinkExport::Kind kind, bool with_snapshot = true) {
  return {.kind = kind, .from = kTable, .desc = pair_desc(), .with_snapshot = with_snapshot};
}

TEST_CASE("engine: a subscription begins with the state, or without, and ends at until", "[compute]") {
  const WorldOptions options = any_engine();
  const bool with_snapshot = GENERATE(true, false);
  Engine engine(options);
  expr::DataflowDescription dataflow{.name = "subscribe"};
  dataflow.sources.emplace(kTable, expr::SourceImport{pair_desc()});
  dataflow.sink_exports.emplace(kSubscribe, sink(expr::SinkExport::Kind::kSubscribe, with_snapshot));
  dataflow.as_of = 10;
  dataflow.until = 15;
  engine.world->start(dataflow);
  REQUIRE(engine.world->wait_for(kSubscribe, 10));
  engine.world->commit(12, {{kTable, changed({{row(1, 10), -1}, {row(5, 5), 1}})}});
  engine.world->commit(16, {{kTable, changed({{row(6, 6), 1}})}});
  REQUIRE(engine.world->wait_for(kSubscribe, repr::kClosed - 1));
  std::map<SqlTime, Rows> changes;
  SqlTime upper = 10;
  for (const auto& response : engine.world->subscribed(kSubscribe)) {
    CHECK(response.lower == upper);
    upper = response.upper;
    for (std::size_t i = 0; i < response.rows.size(); ++i) {
      changes[response.times[i]][std::string(response.rows[i])] += response.diffs[i];
    }
  }
  CHECK(upper == 15);
  CHECK(changes[12] == Rows{{bytes(1, 10), -1}, {bytes(5, 5), 1}});
  CHECK(changes[10].size() == (with_snapshot ? 4U : 0U));
  CHECK(!changes.contains(16));
}

TEST_CASE("engine: time goes on behind the error of a subscription", "[compute]") {
  Engine engine(any_engine());
  const auto ten = Scalar::literal(Datum(std::int64_t{10}), repr::TypeKind::kInt8);
  const Relation view = Relation::get(kTable, pair_desc().type)
                            .map({Scalar::call(expr::function_by_signature("/(int8,int8)"), {ten, column(1)})})
                            .project({0, 2});
  auto dataflow = engine.describe(view, kView, 10);
  expr::SinkExport subscription = sink(expr::SinkExport::Kind::kSubscribe);
  subscription.from = kView;
  dataflow.sink_exports.emplace(kSubscribe, subscription);
  engine.world->start(dataflow);
  REQUIRE(engine.world->wait_for(kSubscribe, 10));
  engine.world->commit(12, {{kTable, changed({{row(1, 10), -1}})}});
  CHECK(engine.world->wait_for(kSubscribe, 12));
  const auto responses = engine.world->subscribed(kSubscribe);
  REQUIRE(responses.size() == 1);
  CHECK(responses.front().error);
}

TEST_CASE("engine: a view corrects what it finds", "[compute]") {
  Engine engine(any_engine());
  engine.world->create_view(kView, pair_desc(), 10);
  expr::DataflowDescription dataflow{.name = "view"};
  dataflow.sources.emplace(kTable, expr::SourceImport{pair_desc()});
  dataflow.sink_exports.emplace(kView, sink(expr::SinkExport::Kind::kMaterializedView));
  dataflow.as_of = 10;
  engine.world->start(dataflow);
  engine.world->commit(12, {{kTable, changed({{row(1, 10), -1}})}});
  REQUIRE(engine.world->wait_for(kView, 12));
  CHECK(engine.world->stored(kView, pair_desc().type, 12).value().oks.size() == 3);
  // Another definition takes over: only the pairs with a = 1 stay.
  engine.world->restart();
  const Relation some = Relation::get(kTable, pair_desc().type)
                            .filter({Scalar::call(expr::function_by_signature("=(int8,int8)"), {column(0), Scalar::literal(Datum(std::int64_t{1}), repr::TypeKind::kInt8)})});
  const GlobalId object{GlobalId::Kind::kTransient, 30};
  auto next = engine.describe(some, object, 12);
  next.sink_exports.emplace(kView, sink(expr::SinkExport::Kind::kMaterializedView));
  next.sink_exports.at(kView).from = object;
  engine.world->start(next);
  engine.world->commit(14, {{kTable, changed({{row(1, 77), 1}})}});
  REQUIRE(engine.world->wait_for(kView, 14));
  CHECK(engine.world->stored(kView, pair_desc().type, 12).value().oks.size() == 3);
  CHECK(engine.world->stored(kView, pair_desc().type, 14).value().oks == Rows{{bytes(1, 11), 1}, {bytes(1, 77), 1}});
}

TEST_CASE("engine: who reads a view that goes no further has its error", "[compute]") {
  Engine engine(any_engine());
  engine.world->create_view(kView, pair_desc(), 10);
  const GlobalId missing{GlobalId::Kind::kUser, 99};
  expr::DataflowDescription dataflow{.name = "view"};
  dataflow.sources.emplace(missing, expr::SourceImport{pair_desc()});
  dataflow.sink_exports.emplace(kView, sink(expr::SinkExport::Kind::kMaterializedView));
  dataflow.sink_exports.at(kView).from = missing;
  dataflow.index_exports.emplace(kViewIndex, expr::IndexExport{missing, {column(0)}, pair_desc().type});
  dataflow.as_of = 10;
  engine.world->start(dataflow);
  const Peek stored{.target = Peek::Collection{kView, pair_desc()}, .time = 10, .mfp = expr::Mfp::identity(2)};
  const Result<void> failed = engine.world->wait_for(kView, 10);
  REQUIRE(!failed);
  for (const Peek& peek : {stored, engine.all(10, kViewIndex)}) {
    const Result<Rows> rows = engine.read(peek);
    REQUIRE(!rows);
    CHECK(rows.error() == failed.error());
  }
}

TEST_CASE("engine: a peek at a time that has not come is answered when it comes, or cancelled", "[compute]") {
  Engine engine(any_engine());
  engine.index_table();
  engine.world->commit(20, {{kTable, changed({{row(9, 9), 1}})}});
  CHECK(engine.read(engine.all(20)).value().size() == 5);
  Peek unknown = engine.all(20, {GlobalId::Kind::kUser, 999});
  CHECK(engine.read(unknown).error().code == ErrorCode::kNotFound);
}

TEST_CASE("engine: a peek that waits for an index that is dropped has an error", "[compute]") {
  Engine engine(any_engine());
  expr::DataflowDescription dataflow{.name = "index"};
  dataflow.sources.emplace(kTable, expr::SourceImport{pair_desc()});
  dataflow.index_exports.emplace(kTableIndex, expr::IndexExport{kTable, {column(0)}, pair_desc().type});
  dataflow.as_of = 10;
  // It is not scheduled, so its time does not come.
  engine.world->send(compute_api::CreateDataflow{dataflow});
  Peek peek = engine.all(10);
  peek.id = {9, 9};
  engine.world->send(peek);
  engine.world->allow_compaction(kTableIndex, repr::kClosed);
  CHECK(engine.world->answer_of({9, 9}).error().code == ErrorCode::kNotFound);
}

TEST_CASE("engine: a result beyond the limit is refused", "[compute]") {
  Engine engine(any_engine());
  engine.index_table();
  engine.world->send(compute_api::UpdateConfiguration{{.max_result_bytes = 4}});
  const Result<Rows> rows = engine.read(engine.all(10));
  INFO((rows ? shown(*rows) : rows.error().message));
  REQUIRE(!rows);
  CHECK(rows.error().sqlstate == SqlState("54000"));
}

}  // namespace
}  // namespace compute_testing
