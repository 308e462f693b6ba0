// SPDX-License-Identifier: Apache-2.0
/// A compute engine over memory storage, driven by a test: tables, dataflows, reads at any time.
///
/// Two kinds: `SimWorld` interleaves everything on one thread from a seed; `ThreadWorld` runs on threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <freshet/base/log.h>
#include <freshet/base/metrics.h>
#include <freshet/compute_api/compute.h>
#include <freshet/expr/naive.h>
#include <freshet/storage_api/storage.h>

namespace compute_testing {

using freshet::Error;
using freshet::Result;
using freshet::expr::GlobalId;
using freshet::expr::Multiset;
using freshet::repr::Diff;
using freshet::repr::SqlTime;

struct WorldOptions {
  std::size_t workers = 1;
  std::size_t block_bytes = 0;
  bool naive = false;
  bool through_bytes = false;
  bool threads = false;
};

/// Rows and error rows of one table in one commit.
struct TableChange {
  std::vector<std::pair<freshet::repr::DatumRow, Diff>> rows{};
  std::vector<std::pair<freshet::expr::ErrorRow, Diff>> errors{};
};

class World {
 public:
  static std::unique_ptr<World> make(std::uint64_t seed, const WorldOptions& options);
  virtual ~World() = default;

  void create_table(GlobalId id, freshet::repr::RelationDesc desc);
  void create_view(GlobalId id, freshet::repr::RelationDesc desc, SqlTime since);
  /// One change of several tables at `time`, and of what the model thinks they hold.
  void commit(SqlTime time, const std::map<GlobalId, TableChange>& changes);
  /// The same with rows and error rows as bytes, of which the model hears nothing.
  void commit_bytes(SqlTime time, GlobalId id, const std::vector<std::string>& rows, const std::vector<std::string>& errors);
  /// What the tables held at `time`.
  [[nodiscard]] std::map<GlobalId, Multiset> tables_at(SqlTime time) const;

  void send(freshet::compute_api::ComputeCommand command);
  /// Creates, schedules and allows writes.
  void start(const freshet::expr::DataflowDescription& description);
  /// Runs until the export's reported frontier exceeds `time`, asking for it. The first failure is the error.
  Result<void> wait_for(GlobalId id, SqlTime time);
  /// All rows of an index (or those under some keys), or the error that a reader sees.
  Result<std::map<std::string, Diff>> peek(freshet::compute_api::Peek peek);
  /// The same for one that was sent.
  Result<std::map<std::string, Diff>> answer_of(freshet::compute_api::PeekId id);
  /// What a durable collection holds at `time`, error rows included.
  Result<Multiset> stored(GlobalId id, freshet::repr::RelationType type, SqlTime time);
  /// The responses of a subscription so far.
  [[nodiscard]] std::vector<freshet::compute_api::SubscribeResponse> subscribed(GlobalId id);
  void allow_compaction(GlobalId id, SqlTime since);
  /// Drops the engine and makes a new one over the same storage.
  void restart();

 protected:
  explicit World(const WorldOptions& options) : options_(options) {}
  void start_engine();
  virtual std::unique_ptr<freshet::compute_api::Compute> make_compute() = 0;
  /// Runs until `done()`; false if it cannot come any more.
  virtual bool run_until(const std::function<bool()>& done) = 0;
  [[nodiscard]] virtual freshet::base::Scheduler& scheduler() = 0;
  template <typename T>
  Result<T> wait(freshet::base::Future<T> future);

  struct Received {
    std::map<GlobalId, SqlTime> uppers;
    std::map<GlobalId, Error> failures;
    std::map<GlobalId, std::vector<freshet::compute_api::SubscribeResponse>> subscribed;
    std::map<freshet::compute_api::PeekId, std::vector<freshet::compute_api::PeekResponse>> peeks;
    std::size_t dropped = 0;
  };
  struct Table {
    freshet::repr::RelationDesc desc;
    struct Update {
      bool is_error;
      std::string bytes;
      Diff diff;
    };
    std::map<SqlTime, std::vector<Update>> history;
  };

  WorldOptions options_;
  std::unique_ptr<freshet::base::Logger> log_ = freshet::base::make_null_logger();
  freshet::base::Metrics metrics_;
  std::unique_ptr<freshet::storage_api::Storage> storage_;
  std::map<GlobalId, Table> tables_;
  std::mutex mutex_;
  Received received_;
  std::uint64_t next_peek_ = 1;
  std::unique_ptr<freshet::compute_api::Compute> compute_;
};

}  // namespace compute_testing
