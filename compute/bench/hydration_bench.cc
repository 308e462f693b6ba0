// SPDX-License-Identifier: Apache-2.0
// How fast a dataflow takes in what its inputs hold, and what an index costs.
#include <malloc.h>

#include <future>

#include <benchmark/benchmark.h>

#include <freshet/base/log.h>
#include <freshet/base/metrics.h>
#include <freshet/compute/dataflow_compute.h>
#include <freshet/sql/physical.h>
#include <freshet/storage/storage.h>
#include <timely/tbb_executor.h>

namespace {

using namespace freshet;  // NOLINT: a benchmark
using expr::GlobalId;
using expr::Relation;
using expr::Scalar;
using repr::SqlTime;

constexpr GlobalId kSource{GlobalId::Kind::kUser, 1};
constexpr GlobalId kView{GlobalId::Kind::kUser, 100};
constexpr GlobalId kIndex{GlobalId::Kind::kUser, 101};
constexpr SqlTime kAsOf = 1'000'000;

/// Storage with the TPC-H tables, generated once.
class World {
 public:
  explicit World(double scale)
      : scheduler_(base::make_thread_scheduler(2, 4)),
        executor_(timely::make_tbb_executor({.threads = 2})),
        log_(base::make_stderr_logger(base::LogLevel::kWarn)) {
    storage_ = wait(storage::make_memory_storage({*scheduler_, *log_}));
    storage_api::LoadGenerator generator{.kind = storage_api::LoadGenerator::Kind::kTpch,
                                         .scale_factor = scale, .tick_micros = 0};
    std::vector<GlobalId> outputs;
    for (const auto& [name, desc] : storage_api::generator_outputs(generator)) {
      const GlobalId id{GlobalId::Kind::kUser, 2 + outputs.size()};
      outputs.push_back(id);
      tables_.emplace(name, std::pair(id, desc));
    }
    wait(storage_->send(storage_api::CreateCollection{kSource, storage_api::IngestionCollection{generator, outputs}, {}, 0}));
    for (const auto& [name, table] : tables_) {
      wait(storage_->send(storage_api::CreateCollection{table.first, storage_api::IngestionOutput{kSource}, table.second, 0}));
    }
    wait(storage_->send(storage_api::InitializationComplete{}));
    for (const auto& [name, table] : tables_) {
      wait(storage_->send(storage_api::Advance{table.first, kAsOf}));
      wait(storage_->wait_for(table.first, kAsOf));
    }
  }

  [[nodiscard]] Relation get(const std::string& name) const {
    return Relation::get(tables_.at(name).first, tables_.at(name).second.type);
  }
  [[nodiscard]] Scalar column(const std::string& table, const std::string& name) const {
    const repr::RelationDesc& desc = tables_.at(table).second;
    const auto at = std::find(desc.names.begin(), desc.names.end(), name) - desc.names.begin();
    return Scalar::column(static_cast<std::size_t>(at), desc.type.columns[static_cast<std::size_t>(at)]);
  }

  struct Hydrated {
    double seconds;
    double bytes;  ///< By which the heap grew.
  };
  /// Maintains an index on `relation` until it is there once. `eager`: by a delta join, if it is a join.
  Hydrated hydrate(const Relation& relation, const expr::ArrangementKey& key, std::size_t workers, bool eager) {
    const std::size_t before = heap_bytes();
    base::Metrics metrics;
    auto compute = compute::make_dataflow_compute({.scheduler = *scheduler_, .executor = *executor_, .storage = *storage_,
                                                   .logger = *log_, .metrics = metrics, .workers = workers});
    std::promise<void> done;
    compute->on_response([&](compute_api::ComputeResponse response) {
      const auto* frontier = std::get_if<compute_api::FrontierUpdate>(&response);
      if (frontier != nullptr && !std::exchange(finished_, true)) done.set_value();
    });
    finished_ = false;
    sql::DataflowRequest request{.name = "bench", .id = kView, .relation = relation};
    for (const auto& [name, table] : tables_) request.inputs.stored.emplace(table.first, table.second);
    request.index_exports.emplace(kIndex, key);
    request.physical.eager_delta_joins = eager;
    auto dataflow = sql::build_dataflow(request).value();
    dataflow.as_of = kAsOf;
    const auto start = std::chrono::steady_clock::now();
    compute->send(compute_api::CreateDataflow{dataflow});
    compute->send(compute_api::Schedule{kIndex});
    done.get_future().wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return {took.count(), static_cast<double>(heap_bytes() - before)};
  }

 private:
  static std::size_t heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  template <typename T>
  T wait(base::Future<T> future) {
    std::promise<Result<T>> promise;
    std::move(future).on_ready(*scheduler_, [&](Result<T> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get().value();
  }
  std::unique_ptr<base::Scheduler> scheduler_;
  std::unique_ptr<timely::Executor> executor_;
  std::unique_ptr<base::Logger> log_;
  std::unique_ptr<storage_api::Storage> storage_;
  std::map<std::string, std::pair<GlobalId, repr::RelationDesc>> tables_;
  bool finished_ = false;
};

World& world() {
  const char* scale = std::getenv("FRESHET_SCALE");
  static World shared(scale == nullptr ? 0.01 : std::atof(scale));
  return shared;
}

const expr::FunctionSpec* op(const char* signature) {
  const auto* spec = expr::function_by_signature(signature);
  FRESHET_ASSERT(spec != nullptr, signature);
  return spec;
}

/// revenue of TPC-H query 15.
Relation revenue(const World& w) {
  const auto date = [](int days) { return Scalar::literal(repr::Datum(std::int32_t{days}), repr::TypeKind::kDate); };
  const Relation lineitem = w.get("lineitem");
  const Scalar one = Scalar::literal(repr::Datum(repr::Numeric(1)), repr::TypeKind::kNumeric);
  const Scalar shipped = w.column("lineitem", "l_shipdate");
  const Scalar amount = Scalar::call(op("*(numeric,numeric)"),
                                     {w.column("lineitem", "l_extendedprice"),
                                      Scalar::call(op("-(numeric,numeric)"), {one, w.column("lineitem", "l_discount")})});
  const Relation some = lineitem.filter({Scalar::call(op(">=(date,date)"), {shipped, date(-1461)}),
                                         Scalar::call(op("<(date,date)"), {shipped, date(-1371)})});
  return some.reduce({w.column("lineitem", "l_suppkey")},
                     {expr::Aggregate{.spec = expr::aggregate_by_signature("sum(numeric)"), .arguments = {amount}}});
}

void run(benchmark::State& state, const Relation& relation, const expr::ArrangementKey& key, double rows, bool eager = false) {
  double seconds = 0;
  for (auto _ : state) {
    const auto hydrated = world().hydrate(relation, key, static_cast<std::size_t>(state.range(0)), eager);
    state.SetIterationTime(hydrated.seconds);
    seconds += hydrated.seconds;
    state.counters["heap_bytes_per_row"] = hydrated.bytes / rows;
  }
  state.counters["rows_per_second"] = rows * static_cast<double>(state.iterations()) / seconds;
}

double lineitems() { return 6'000'000 * (std::getenv("FRESHET_SCALE") == nullptr ? 0.01 : std::atof(std::getenv("FRESHET_SCALE"))); }

void BM_hydrate_revenue(benchmark::State& state) {
  const Relation relation = revenue(world());
  run(state, relation, {Scalar::column(0, relation.type().columns[0])}, lineitems());
}
BENCHMARK(BM_hydrate_revenue)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_hydrate_index(benchmark::State& state) {
  run(state, world().get("lineitem"), {world().column("lineitem", "l_orderkey")}, lineitems());
}
BENCHMARK(BM_hydrate_index)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_hydrate_group(benchmark::State& state) {
  const Scalar price = world().column("lineitem", "l_extendedprice");
  const Relation relation =
      world().get("lineitem").reduce({world().column("lineitem", "l_orderkey")},
                                     {expr::Aggregate{.spec = expr::aggregate_by_signature("sum(numeric)"), .arguments = {price}},
                                      expr::Aggregate{.spec = expr::aggregate_by_signature("count(*)"), .arguments = {}}});
  run(state, relation, {Scalar::column(0, relation.type().columns[0])}, lineitems());
}
BENCHMARK(BM_hydrate_group)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_hydrate_join(benchmark::State& state) {
  const World& w = world();
  const Relation orders = w.get("orders");
  const Relation lineitem = w.get("lineitem");
  const Scalar order = w.column("orders", "o_orderkey");
  const Scalar item = w.column("lineitem", "l_orderkey");
  const std::size_t offset = orders.arity();
  std::vector<std::size_t> shift;
  for (std::size_t c = 0; c < lineitem.arity(); ++c) shift.push_back(c + offset);
  const Relation joined = Relation::join({orders, lineitem}, {{order, item.with_columns(shift)}});
  const Relation grouped = joined.reduce({w.column("orders", "o_orderpriority")},
                                         {expr::Aggregate{.spec = expr::aggregate_by_signature("count(*)"), .arguments = {}}});
  run(state, grouped, {Scalar::column(0, grouped.type().columns[0])}, lineitems());
}
BENCHMARK(BM_hydrate_join)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond);

/// customer, orders and lineitem, joined and counted.
void three_tables(benchmark::State& state, bool eager) {
  const World& w = world();
  const std::vector<std::string> names{"customer", "orders", "lineitem"};
  std::vector<Relation> inputs;
  std::map<std::string, std::size_t> offset;
  std::size_t arity = 0;
  for (const std::string& name : names) {
    inputs.push_back(w.get(name));
    offset[name] = arity;
    arity += inputs.back().arity();
  }
  const auto column = [&](const std::string& table, const std::string& name) {
    std::vector<std::size_t> shift;
    for (std::size_t c = 0; c < w.get(table).arity(); ++c) shift.push_back(c + offset[table]);
    return w.column(table, name).with_columns(shift);
  };
  const Relation joined = Relation::join(inputs, {{column("customer", "c_custkey"), column("orders", "o_custkey")},
                                                  {column("orders", "o_orderkey"), column("lineitem", "l_orderkey")}});
  const Relation grouped = joined.reduce({column("customer", "c_nationkey")},
                                         {expr::Aggregate{.spec = expr::aggregate_by_signature("count(*)"), .arguments = {}}});
  run(state, grouped, {Scalar::column(0, grouped.type().columns[0])}, lineitems(), eager);
}
void BM_hydrate_linear_join_of_three(benchmark::State& state) { three_tables(state, false); }
BENCHMARK(BM_hydrate_linear_join_of_three)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond);
void BM_hydrate_delta_join_of_three(benchmark::State& state) { three_tables(state, true); }
BENCHMARK(BM_hydrate_delta_join_of_three)->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
