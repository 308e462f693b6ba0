// SPDX-License-Identifier: Apache-2.0
#include "support/world.h"

#include <thread>

#include <freshet/compute/dataflow_compute.h>
#include <freshet/compute/naive_compute.h>
#include <freshet/compute_api/bytes_compute.h>
#include <freshet/repr/row.h>
#include <freshet/storage/storage.h>
#include <testing/sim_scheduler.h>
#include <timely/sim_executor.h>
#include <timely/tbb_executor.h>

namespace compute_testing {

using namespace freshet;  // NOLINT: a test

namespace {

std::vector<repr::SqlType> sql_types(const repr::RelationType& type) {
  std::vector<repr::SqlType> types;
  for (const auto& column : type.columns) types.push_back(column.type);
  return types;
}

void add(std::map<std::string, Diff>& side, std::string_view row, Diff diff) {
  const auto entry = side.try_emplace(std::string(row), 0).first;
  entry->second += diff;
  if (entry->second == 0) side.erase(entry);
}

std::unique_ptr<compute_api::Compute> make_engine(const WorldOptions& options, base::Scheduler& scheduler,
                                                  timely::Executor& executor, storage_api::Storage& storage,
                                                  base::Logger& log, base::Metrics& metrics) {
  std::unique_ptr<compute_api::Compute> engine;
  if (options.naive) {
    engine = compute::make_naive_compute({scheduler, storage, log});
  } else {
    engine = compute::make_dataflow_compute({.scheduler = scheduler,
                                             .executor = executor,
                                             .storage = storage,
                                             .logger = log,
                                             .metrics = metrics,
                                             .workers = options.workers,
                                             .block_bytes = options.block_bytes});
  }
  if (options.through_bytes) engine = std::make_unique<compute_api::BytesCompute>(std::move(engine));
  return engine;
}

class SimWorld final : public World {
 public:
  SimWorld(std::uint64_t seed, const WorldOptions& options)
      : World(options), sim_(seed), process_(sim_.new_process()), executor_(seed + 1, process_, [this] { return sim_.step(); }) {
    storage_ = wait(storage::make_memory_storage({process_, *log_})).value();
    start_engine();
  }
  ~SimWorld() override {
    compute_.reset();
    process_.kill();
    storage_.reset();
  }

 protected:
  std::unique_ptr<compute_api::Compute> make_compute() override {
    return make_engine(options_, process_, executor_, *storage_, *log_, metrics_);
  }
  bool run_until(const std::function<bool()>& done) override {
    for (std::size_t steps = 0; !done(); ++steps) {
      FRESHET_ASSERT(steps < 50'000'000);
      if (!sim_.step()) return done();
    }
    return true;
  }
  base::Scheduler& scheduler() override { return process_; }

 private:
  testing::SimScheduler sim_;
  testing::SimScheduler::Process& process_;
  timely::SimExecutor executor_;
};

class ThreadWorld final : public World {
 public:
  explicit ThreadWorld(const WorldOptions& options)
      : World(options),
        scheduler_(base::make_thread_scheduler(2, 2)),
        executor_(timely::make_tbb_executor({.threads = 2})) {
    storage_ = wait(storage::make_memory_storage({*scheduler_, *log_})).value();
    start_engine();
  }
  ~ThreadWorld() override {
    compute_.reset();
    storage_.reset();
  }

 protected:
  std::unique_ptr<compute_api::Compute> make_compute() override {
    return make_engine(options_, *scheduler_, *executor_, *storage_, *log_, metrics_);
  }
  bool run_until(const std::function<bool()>& done) override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
  }
  base::Scheduler& scheduler() override { return *scheduler_; }

 private:
  std::unique_ptr<base::Scheduler> scheduler_;
  std::unique_ptr<timely::Executor> executor_;
};

}  // namespace

std::unique_ptr<World> World::make(std::uint64_t seed, const WorldOptions& options) {
  if (options.threads) return std::make_unique<ThreadWorld>(options);
  return std::make_unique<SimWorld>(seed, options);
}

void World::start_engine() {
  compute_ = make_compute();
  compute_->on_response([this](compute_api::ComputeResponse response) {
    std::lock_guard lock(mutex_);
    struct Visitor {
      Received& to;
      void operator()(compute_api::FrontierUpdate& r) { to.uppers[r.id] = r.upper; }
      void operator()(compute_api::PeekResponse& r) { to.peeks[r.id].push_back(std::move(r)); }
      void operator()(compute_api::SubscribeResponse& r) { to.subscribed[r.id].push_back(std::move(r)); }
      void operator()(compute_api::ExportFailure& r) { to.failures.emplace(r.id, r.error); }
      void operator()(compute_api::Dropped&) { ++to.dropped; }
    };
    std::visit(Visitor{received_}, response);
  });
  send(compute_api::Hello{{1, 1}});
  send(compute_api::CreateInstance{{.workers = static_cast<std::uint32_t>(options_.workers)}});
}

void World::restart() {
  compute_.reset();
  {
    std::lock_guard lock(mutex_);
    received_ = {};
  }
  start_engine();
}

template <typename T>
Result<T> World::wait(base::Future<T> future) {
  std::optional<Result<T>> answer;
  run_until([&] {
    if (!answer && future.is_ready()) answer = future.poll();
    return answer.has_value();
  });
  if (!answer) return fail(ErrorCode::kCancelled, "no answer");
  return std::move(*answer);
}

void World::create_table(GlobalId id, repr::RelationDesc desc) {
  tables_[id].desc = desc;
  wait(storage_->send(storage_api::CreateCollection{id, storage_api::TableCollection{}, std::move(desc), 0})).value();
}

void World::create_view(GlobalId id, repr::RelationDesc desc, SqlTime since) {
  wait(storage_->send(storage_api::CreateCollection{id, storage_api::ViewCollection{}, std::move(desc), since})).value();
}

void World::commit(SqlTime time, const std::map<GlobalId, TableChange>& changes) {
  storage_api::TableCommit commit{.time = time};
  for (const auto& [id, change] : changes) {
    Table& table = tables_.at(id);
    const repr::RowCodec codec(sql_types(table.desc.type));
    for (const auto& [row, diff] : change.rows) {
      const std::string bytes = codec.encode(row);
      commit.appends[id].oks.push_back(bytes, time, diff);
      table.history[time].push_back({false, bytes, diff});
    }
    for (const auto& [row, diff] : change.errors) {
      const std::string bytes = expr::encode_error_row(row, table.desc.type.columns);
      commit.appends[id].errs.push_back(bytes, time, diff);
      table.history[time].push_back({true, bytes, diff});
    }
  }
  wait(storage_->commit(std::move(commit))).value();
}

void World::commit_bytes(SqlTime time, GlobalId id, const std::vector<std::string>& rows,
                         const std::vector<std::string>& errors) {
  storage_api::TableCommit commit{.time = time};
  for (const std::string& row : rows) commit.appends[id].oks.push_back(row, time, 1);
  for (const std::string& row : errors) commit.appends[id].errs.push_back(row, time, 1);
  wait(storage_->commit(std::move(commit))).value();
}

std::map<GlobalId, Multiset> World::tables_at(SqlTime time) const {
  std::map<GlobalId, Multiset> result;
  for (const auto& [id, table] : tables_) {
    Multiset& content = result[id];
    for (const auto& [at, rows] : table.history) {
      if (at > time) break;
      for (const Table::Update& update : rows) {
        add(update.is_error ? content.errs : content.oks, update.bytes, update.diff);
      }
    }
  }
  return result;
}

void World::send(compute_api::ComputeCommand command) { compute_->send(std::move(command)); }

void World::start(const expr::DataflowDescription& description) {
  send(compute_api::CreateDataflow{description});
  for (const GlobalId id : description.exports()) {
    send(compute_api::Schedule{id});
    send(compute_api::AllowWrites{id});
  }
}

Result<void> World::wait_for(GlobalId id, SqlTime time) {
  send(compute_api::Advance{id, time});
  const bool came = run_until([&] {
    std::lock_guard lock(mutex_);
    const auto upper = received_.uppers.find(id);
    return received_.failures.contains(id) || (upper != received_.uppers.end() && upper->second > time);
  });
  std::lock_guard lock(mutex_);
  if (const auto failure = received_.failures.find(id); failure != received_.failures.end()) {
    return base::fail(failure->second);
  }
  if (!came) return base::fail(ErrorCode::kUnavailable, "the frontier of " + to_string(id) + " stands still");
  return {};
}

Result<std::map<std::string, Diff>> World::peek(compute_api::Peek peek) {
  peek.id = {7, next_peek_++};
  const compute_api::PeekId id = peek.id;
  send(std::move(peek));
  return answer_of(id);
}

Result<std::map<std::string, Diff>> World::answer_of(compute_api::PeekId id) {
  const bool came = run_until([&] {
    std::lock_guard lock(mutex_);
    const auto parts = received_.peeks.find(id);
    return parts != received_.peeks.end() && parts->second.back().last;
  });
  if (!came) return base::fail(ErrorCode::kUnavailable, "the peek was not answered");
  std::lock_guard lock(mutex_);
  std::map<std::string, Diff> rows;
  for (const compute_api::PeekResponse& part : received_.peeks.at(id)) {
    if (part.error) return base::fail(*part.error);
    for (std::size_t i = 0; i < part.rows.size(); ++i) add(rows, part.rows[i], part.diffs.empty() ? 1 : part.diffs[i]);
  }
  return rows;
}

Result<Multiset> World::stored(GlobalId id, repr::RelationType, SqlTime time) {
  wait(storage_->send(storage_api::Advance{id, time})).value();
  auto reader = wait(storage_->open_reader(id, time));
  if (!reader) return base::fail(reader.error());
  Multiset content;
  while (true) {
    Result<storage_api::ReadEvent> event = wait((*reader)->next());
    if (!event) return base::fail(event.error());
    const auto take = [&](const storage_api::EncodedUpdates& updates, std::map<std::string, Diff>& side) {
      for (std::size_t i = 0; i < updates.size(); ++i) {
        if (updates.time(i) <= time) add(side, updates.rows[i], updates.diff(i));
      }
    };
    take(event->updates.oks, content.oks);
    take(event->updates.errs, content.errs);
    if (event->upper > time) return content;
  }
}

std::vector<compute_api::SubscribeResponse> World::subscribed(GlobalId id) {
  std::lock_guard lock(mutex_);
  return received_.subscribed[id];
}

void World::allow_compaction(GlobalId id, SqlTime since) { send(compute_api::AllowCompaction{id, since}); }

}  // namespace compute_testing
