// SPDX-License-Identifier: Apache-2.0
/// `SimWorld`: the whole system on one thread, from a seed: SQL in, kill, restart, SQL in.
///
/// Storage, persist, compute, adapter and sessions run as they are; clock, tasks, workers, Blob and Consensus are
/// simulated. A killed server is dropped with everything that was under way; Blob and Consensus stay.
/// Invariant: the same seed, options and calls give the same run, to the last task.
///
///     SimWorld world(seed, engine_of(seed));
///     world.start();
///     world.sql("INSERT INTO t VALUES (1)");   // rows as text, or the error
///     world.kill(); world.start();
#pragma once

#include <memory>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <freshet/adapter/adapter.h>
#include <freshet/compute/dataflow_compute.h>
#include <freshet/compute/naive_compute.h>
#include <freshet/compute_api/bytes_compute.h>
#include <freshet/persist/client.h>
#include <freshet/storage/storage.h>
#include <testing/sim_scheduler.h>
#include <timely/sim_executor.h>

namespace testing {

using TextRows = std::vector<std::vector<std::string>>;

struct SimEngine {
  bool naive = false;  ///< The engine that recomputes, instead of the dataflow engine.
  std::uint32_t workers = 1;
  bool through_bytes = false;    ///< Each command and response is encoded and decoded.
  std::size_t block_bytes = 0;   ///< Of arrangements; 0: as in production.
};

/// All of them take their turn as seeds go by; the dataflow engine has three of four.
inline SimEngine engine_of(std::uint64_t seed) {
  return {.naive = seed % 4 == 3,
          .workers = static_cast<std::uint32_t>(1 + seed % 3),
          .through_bytes = seed % 2 == 0,
          .block_bytes = seed % 5 == 0 ? std::size_t{256} : 0};
}

/// One run of the server; everything in it dies together.
struct SimServer {
  SimScheduler::Process* process = nullptr;
  freshet::base::Metrics metrics{};
  std::unique_ptr<freshet::persist::PersistClient> client{};
  std::unique_ptr<freshet::storage_api::Storage> storage{};
  std::unique_ptr<timely::SimExecutor> executor{};
  std::unique_ptr<freshet::compute_api::Compute> compute{};
  std::unique_ptr<freshet::adapter::Adapter> adapter{};
};

class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed, SimEngine engine = {})
      : sim_(seed), engine_(engine), blob_(freshet::persist::make_memory_blob()),
        consensus_(freshet::persist::make_memory_consensus()) {}
  ~SimWorld() { kill(); }

  bool maintain = true;  ///< As the server's option, of the next start.

  SimScheduler& sim() { return sim_; }
  freshet::adapter::Adapter& adapter() { return *server_->adapter; }
  freshet::base::Scheduler& scheduler() { return *server_->process; }
  freshet::base::Logger& log() { return *log_; }
  /// What the world's disk holds; it survives a kill.
  freshet::persist::Blob& blob() { return *blob_; }

  freshet::Result<void> start() {
    server_ = std::make_unique<SimServer>();
    SimServer& s = *server_;
    s.process = &sim_.new_process();
    s.client = std::make_unique<freshet::persist::PersistClient>(
        freshet::persist::Environment{*s.process, *blob_, *consensus_, *log_, s.metrics},
        freshet::persist::ClientOptions{.seed = sim_.random().next()});
    s.storage = FRESHET_TRY(sim_.wait(freshet::storage::make_durable_storage({*s.process, *log_}, *s.client)));
    make_compute();
    s.adapter = FRESHET_TRY(sim_.wait(freshet::adapter::Adapter::start(
        {*s.process, *s.storage, *s.compute, *log_, s.metrics},
        {.workers = engine_.workers, .maintain = maintain, .seed = sim_.random().next()})));
    session_ = FRESHET_TRY(s.adapter->new_session({}));
    return {};
  }

  /// A second server over the same stores, as after a network was cut: the first goes on until it finds out.
  /// `sql` and `open` speak to the second from then on.
  freshet::Result<void> start_beside() {
    besides_.emplace_back(std::move(server_), std::move(session_));
    return start();
  }

  /// At once: nothing that was under way is finished or told.
  void kill() {
    if (server_ == nullptr) return;
    server_->process->kill();
    session_.reset();
    server_.reset();
    for (auto& [server, session] : besides_) {
      server->process->kill();
      session.reset();
      server.reset();
    }
    besides_.clear();
  }

  /// The server's tasks run no more; its objects stay until `kill`.
  void stop_here() { server_->process->kill(); }

  /// Runs one statement on the world's session to its end.
  freshet::Result<TextRows> sql(const std::string& text) {
    auto statements = FRESHET_TRY(session_->parse(text));
    TextRows rows;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      auto outcome = FRESHET_TRY(sim_.wait(session_->run(statements[i], i + 1 == statements.size())));
      if (auto* result = std::get_if<freshet::adapter::Rows>(&outcome)) FRESHET_TRY(drain(*result, rows));
    }
    FRESHET_TRY(sim_.wait(session_->sync()));
    return rows;
  }
  /// Runs a statement of another session to its end, from where `begin` left it.
  freshet::Result<TextRows> finish(freshet::adapter::Session& session,
                                   freshet::base::Future<freshet::adapter::Outcome> pending) {
    auto outcome = sim_.wait(std::move(pending));
    TextRows rows;
    freshet::Result<void> done{};
    if (outcome) {
      if (auto* result = std::get_if<freshet::adapter::Rows>(&*outcome)) done = drain(*result, rows);
    } else {
      done = freshet::base::Unexpected(outcome.error());
    }
    FRESHET_TRY(sim_.wait(session.sync()));
    if (!done) return freshet::base::Unexpected(done.error());
    return rows;
  }
  std::unique_ptr<freshet::adapter::Session> open() { return server_->adapter->new_session({}).value(); }

  /// Starts a statement and does not wait: for killing in the middle.
  freshet::base::Future<freshet::adapter::Outcome> begin(const std::string& text) { return begin(*session_, text); }
  static freshet::base::Future<freshet::adapter::Outcome> begin(freshet::adapter::Session& session, const std::string& text) {
    auto statements = session.parse(text);
    FRESHET_ASSERT(statements && statements->size() == 1, text);
    return session.run((*statements)[0], true);
  }

 private:
  void make_compute() {
    SimServer& s = *server_;
    if (engine_.naive) {
      s.compute = freshet::compute::make_naive_compute({*s.process, *s.storage, *log_});
    } else {
      s.executor = std::make_unique<timely::SimExecutor>(sim_.random().next(), *s.process, [this] { return sim_.step(); });
      s.compute = freshet::compute::make_dataflow_compute({.scheduler = *s.process,
                                                           .executor = *s.executor,
                                                           .storage = *s.storage,
                                                           .logger = *log_,
                                                           .metrics = s.metrics,
                                                           .workers = engine_.workers,
                                                           .block_bytes = engine_.block_bytes});
    }
    if (engine_.through_bytes) s.compute = std::make_unique<freshet::compute_api::BytesCompute>(std::move(s.compute));
  }

  freshet::Result<void> drain(freshet::adapter::Rows& result, TextRows& rows) {
    while (true) {
      const auto batch = FRESHET_TRY(sim_.wait(result.stream->next(100)));
      if (batch.rows == 0) return {};
      for (std::size_t row = 0; row < batch.rows; ++row) {
        std::vector<std::string>& text = rows.emplace_back();
        for (std::size_t c = 0; c < batch.columns.size(); ++c) {
          const auto& type = result.desc.type.columns[c].type;
          const auto datum = batch.columns[c]->datum(row, type);
          text.push_back(datum.is_null() ? "NULL" : freshet::repr::to_text(datum, type));
        }
      }
    }
  }

  SimScheduler sim_;
  SimEngine engine_;
  std::unique_ptr<freshet::base::Logger> log_ = freshet::base::make_null_logger();
  std::unique_ptr<freshet::persist::Blob> blob_;
  std::unique_ptr<freshet::persist::Consensus> consensus_;
  std::unique_ptr<SimServer> server_;
  std::unique_ptr<freshet::adapter::Session> session_;
  std::vector<std::pair<std::unique_ptr<SimServer>, std::unique_ptr<freshet::adapter::Session>>> besides_{};
};

}  // namespace testing
