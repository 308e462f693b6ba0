// SPDX-License-Identifier: Apache-2.0
/// The state of the naive engine; everything runs as tasks of one strand.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <freshet/compute/naive_compute.h>

#include "naive/naive_dataflow.h"

namespace freshet::compute {

class NaiveCore {
 public:
  explicit NaiveCore(NaiveComputeOptions options);
  ~NaiveCore();
  void on_response(std::function<void(compute_api::ComputeResponse)> handler);
  void send(compute_api::ComputeCommand command);

 private:
  using GlobalId = expr::GlobalId;
  using SqlTime = repr::SqlTime;

  /// A subscription or a materialized view.
  struct Sink {
    expr::SinkExport description;
    bool failed = false;
    std::optional<SqlTime> reported{};  ///< Everything below was emitted; none: nothing yet.
    expr::Multiset last{};              ///< What the other side holds at reported - 1.
    // Materialized views:
    bool allowed = false;
    bool opening = false;
    bool busy = false;  ///< An append is under way.
    std::unique_ptr<storage_api::CollectionWriter> writer{};
  };
  struct Flow {
    std::shared_ptr<NaiveDataflow> dataflow;
    std::map<GlobalId, SqlTime> sinces{};  ///< Of the exports that were not dropped.
    std::map<GlobalId, Sink> sinks{};
    std::map<GlobalId, SqlTime> reported_uppers{};
    std::map<GlobalId, std::shared_ptr<storage_api::CollectionReader>> readers{};
    std::map<GlobalId, SqlTime> asked{};
    std::map<GlobalId, Error> failures{};  ///< Of exports that go no further.
    bool scheduled = false;
  };
  struct PendingPeek {
    compute_api::Peek peek;
    std::shared_ptr<storage_api::CollectionReader> reader{};  ///< Collection peeks.
    std::optional<NaiveInput> input{};
  };

  void respond(compute_api::ComputeResponse response);
  void handle(compute_api::ComputeCommand& command);
  void hello(const compute_api::Hello& hello);
  void create(expr::DataflowDescription description);
  void schedule(GlobalId id);
  void allow_writes(GlobalId id);
  void allow_compaction(const compute_api::AllowCompaction& command);
  void start_peek(compute_api::Peek peek);
  void cancel_peek(const compute_api::PeekId& id);

  void drop_unused();
  [[nodiscard]] std::shared_ptr<Flow> exporting(GlobalId id) const;
  void open_input(const std::shared_ptr<Flow>& flow, GlobalId id);
  void read_next(const std::shared_ptr<Flow>& flow, GlobalId id);
  void take_event(const std::shared_ptr<Flow>& flow, GlobalId id, storage_api::ReadEvent event);
  void fail_flow(Flow& flow, const Error& error);
  void ask(NaiveDataflow& dataflow, SqlTime time);

  /// Everything that follows from a frontier that moved.
  void progress();
  void report_upper(Flow& flow, GlobalId id, SqlTime upper);
  void run_sink(const std::shared_ptr<Flow>& flow, GlobalId id, Sink& sink);
  void run_subscribe(Flow& flow, GlobalId id, Sink& sink);
  void run_view(const std::shared_ptr<Flow>& flow, GlobalId id, Sink& sink);
  void open_view(const std::shared_ptr<Flow>& flow, GlobalId id, Sink& sink);
  void load_view(const std::shared_ptr<Flow>& flow, GlobalId id,
                 std::shared_ptr<storage_api::CollectionReader> reader, NaiveInput input);
  void start_view(Flow& flow, GlobalId id, expr::Multiset persisted);
  void fail_sink(Flow& flow, GlobalId id, const Error& error);
  void fail_export(Flow& flow, GlobalId id, const Error& error);
  Result<storage_api::CollectionUpdates> sink_updates(Flow& flow, Sink& sink, SqlTime lower, SqlTime upper);
  void compact(Flow& flow);
  [[nodiscard]] SqlTime hold(const Flow& flow) const;

  bool answer_index_peek(PendingPeek& pending);
  /// Why a read will never come to its time, if so.
  [[nodiscard]] std::optional<Error> never_comes(const compute_api::Peek& peek) const;
  void open_collection_peek(const compute_api::PeekId& id);
  void read_collection_peek(const compute_api::PeekId& id);
  void answer(const compute_api::Peek& peek, const expr::Multiset& content,
              const std::vector<repr::ColumnType>& types, const expr::ArrangementKey* key);
  void fail_peek(const compute_api::PeekId& id, Error error);

  NaiveComputeOptions options_;
  std::function<void(compute_api::ComputeResponse)> handler_{};
  compute_api::InstanceConfig config_{};
  std::optional<compute_api::PeekId> nonce_{};
  std::list<std::shared_ptr<Flow>> flows_{};  // in order of creation: imports before importers
  std::map<compute_api::PeekId, PendingPeek> peeks_{};
  base::Strand strand_;
};

}  // namespace freshet::compute
