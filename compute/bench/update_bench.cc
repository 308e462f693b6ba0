// SPDX-License-Identifier: Apache-2.0
// What one small change costs a join of three tables, by the number of rows that they hold.
#include <malloc.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include <benchmark/benchmark.h>

#include <freshet/base/log.h>
#include <freshet/base/metrics.h>
#include <freshet/compute/dataflow_compute.h>
#include <freshet/repr/row.h>
#include <freshet/sql/physical.h>
#include <freshet/storage/storage.h>
#include <timely/tbb_executor.h>

namespace {

using namespace freshet;  // NOLINT: a benchmark
using expr::GlobalId;
using expr::Relation;
using expr::Scalar;
using repr::Diff;
using repr::SqlTime;

constexpr GlobalId kView{GlobalId::Kind::kUser, 100};
constexpr GlobalId kIndex{GlobalId::Kind::kUser, 101};
constexpr std::size_t kTables = 3;
constexpr SqlTime kAsOf = 10;

/// Tables t(id, next): t1.next = t2.id, t2.next = t3.id; ids are unique.
class Chain {
 public:
  Chain(std::int64_t rows, bool eager)
      : rows_(rows),
        scheduler_(base::make_thread_scheduler(2, 4)),
        executor_(timely::make_tbb_executor({.threads = 2})),
        log_(base::make_stderr_logger(base::LogLevel::kWarn)) {
    storage_ = wait(storage::make_memory_storage({*scheduler_, *log_}));
    storage_api::TableCommit load{.time = kAsOf};
    for (std::size_t t = 0; t < kTables; ++t) {
      wait(storage_->send(storage_api::CreateCollection{id(t), storage_api::TableCollection{}, desc(), 0}));
      for (std::int64_t i = 0; i < rows; ++i) load.appends[id(t)].oks.push_back(row(i, i * 7919 % rows), kAsOf, 1);
    }
    wait(storage_->commit(std::move(load)));
    compute_ = compute::make_dataflow_compute({.scheduler = *scheduler_, .executor = *executor_, .storage = *storage_,
                                               .logger = *log_, .metrics = metrics_, .workers = 1});
    compute_->on_response([this](compute_api::ComputeResponse response) {
      const auto* frontier = std::get_if<compute_api::FrontierUpdate>(&response);
      if (frontier == nullptr) return;
      const std::lock_guard lock(mutex_);
      upper_ = frontier->upper;
      came_.notify_all();
    });
    compute_->send(compute_api::CreateDataflow{describe(eager)});
    compute_->send(compute_api::Schedule{kIndex});
    wait_for(kAsOf);
  }
  ~Chain() { compute_.reset(); }

  /// Moves one row of one table elsewhere and waits until the index shows it.
  void update() {
    // There and back, so that the tables stay as they are in the long run.
    const std::uint64_t turn = step_ / 2;
    const Diff diff = step_ % 2 == 0 ? -1 : 1;
    const std::size_t table = turn % kTables;
    const std::int64_t i = static_cast<std::int64_t>(turn * 104729) % rows_;
    const std::int64_t next = i * 7919 % rows_;
    const SqlTime time = kAsOf + ++step_;
    storage_api::TableCommit commit{.time = time};
    commit.appends[id(table)].oks.push_back(row(i, next), time, diff);
    commit.appends[id(table)].oks.push_back(row(i, (next + 1) % rows_), time, -diff);
    wait(storage_->commit(std::move(commit)));
    compute_->send(compute_api::Advance{kIndex, time});
    wait_for(time);
    compute_->send(compute_api::AllowCompaction{kIndex, time});
  }

 private:
  static GlobalId id(std::size_t table) { return {GlobalId::Kind::kUser, 1 + table}; }
  static repr::RelationDesc desc() {
    return {.type = {{{repr::TypeKind::kInt8, false}, {repr::TypeKind::kInt8, false}}, {{0}}}, .names = {"id", "next"}};
  }
  static std::string row(std::int64_t a, std::int64_t b) {
    return repr::RowCodec({repr::TypeKind::kInt8, repr::TypeKind::kInt8}).encode({repr::Datum(a), repr::Datum(b)});
  }
  static expr::DataflowDescription describe(bool eager) {
    const auto& type = desc().type;
    std::vector<Relation> inputs;
    for (std::size_t t = 0; t < kTables; ++t) inputs.push_back(Relation::get(id(t), type));
    const auto column = [&](std::size_t c) { return Scalar::column(c, type.columns[c % 2]); };
    const Relation joined = Relation::join(inputs, {{column(1), column(2)}, {column(3), column(4)}}).project({0, 5});
    sql::DataflowRequest request{.name = "chain", .id = kView, .relation = joined};
    for (std::size_t t = 0; t < kTables; ++t) request.inputs.stored.emplace(id(t), desc());
    request.index_exports.emplace(kIndex, expr::ArrangementKey{Scalar::column(0, type.columns[0])});
    request.physical.eager_delta_joins = eager;
    auto dataflow = sql::build_dataflow(request).value();
    dataflow.as_of = kAsOf;
    return dataflow;
  }
  void wait_for(SqlTime time) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return upper_ > time; });
  }
  template <typename T>
  T wait(base::Future<T> future) {
    std::promise<Result<T>> promise;
    std::move(future).on_ready(*scheduler_, [&](Result<T> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get().value();
  }

  std::int64_t rows_;
  std::uint64_t step_ = 0;
  std::unique_ptr<base::Scheduler> scheduler_;
  std::unique_ptr<timely::Executor> executor_;
  std::unique_ptr<base::Logger> log_;
  base::Metrics metrics_;
  std::unique_ptr<storage_api::Storage> storage_;
  std::unique_ptr<compute_api::Compute> compute_;
  std::mutex mutex_;
  std::condition_variable came_;
  SqlTime upper_ = 0;
};

void BM_update_join_of_three(benchmark::State& state) {
  const std::size_t before = mallinfo2().uordblks;
  Chain chain(state.range(1), state.range(0) != 0);
  state.counters["heap_bytes_per_row"] =
      static_cast<double>(mallinfo2().uordblks - before) / static_cast<double>(state.range(1) * 3);
  for (auto _ : state) chain.update();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_update_join_of_three)
    ->ArgNames({"delta", "rows"})
    ->ArgsProduct({{0, 1}, {1'000, 100'000}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
