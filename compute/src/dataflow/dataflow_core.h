// SPDX-License-Identifier: Apache-2.0
/// The control side of the dataflow engine; everything runs as tasks of one strand, and none of it for long.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <freshet/compute/dataflow_compute.h>

#include "dataflow/build_flow.h"
#include "dataflow/collection_peek.h"
#include "dataflow/index_lookup.h"
#include "dataflow/peek_task.h"
#include "dataflow/view_sink.h"

namespace freshet::compute {

class DataflowCore {
 public:
  explicit DataflowCore(DataflowComputeOptions options);
  ~DataflowCore();
  DataflowCore(const DataflowCore&) = delete;
  DataflowCore& operator=(const DataflowCore&) = delete;
  void on_response(std::function<void(compute_api::ComputeResponse)> handler);
  void send(compute_api::ComputeCommand command);
  /// From any thread.
  std::unique_ptr<compute_api::Lookup> make_lookup(expr::GlobalId index, const expr::Mfp& mfp) const {
    return make_index_lookup(directory_.find(index), mfp);
  }

 private:
  using GlobalId = expr::GlobalId;

  struct Source {
    std::shared_ptr<storage_api::CollectionReader> reader{};
    SqlTime upper = 0;
    SqlTime asked = 0;  ///< Asked to exceed everything below.
    bool reading = false;
  };
  struct Subscription {
    expr::SinkExport description;
    std::shared_ptr<Collector> collector;
    SqlTime reported = 0;
    bool ended = false;
    SqlTime wakes_at = 0;  ///< A timer asks for this time.
  };
  /// A dataflow and what the control side knows of it. Alive while exported or imported.
  struct Flow {
    ~Flow() {
      if (built.dataflow.valid()) built.dataflow.drop();
    }
    expr::DataflowDescription description;
    BuiltFlow built{};
    std::vector<std::shared_ptr<Flow>> upstream{};
    std::vector<std::weak_ptr<Flow>> downstream{};
    std::map<GlobalId, Source> sources{};
    std::map<GlobalId, std::shared_ptr<PublishedIndex>> published{};
    std::map<GlobalId, SqlTime> uppers{};  ///< Computed, of the exports that were not dropped.
    std::map<GlobalId, Subscription> subscriptions{};
    std::map<GlobalId, std::shared_ptr<ViewSink>> views{};
    std::map<GlobalId, Error> failures{};  ///< Of exports that go no further.
    bool scheduled = false;
    /// Every dataflow that reads an index of this one, directly or not, once.
    [[nodiscard]] std::vector<std::shared_ptr<Flow>> readers() const;
    /// The next time that a temporal filter in it, or in what it imports, knows of.
    [[nodiscard]] std::optional<SqlTime> next_future(SqlTime upper) const;
  };
  using FlowPtr = std::shared_ptr<Flow>;

  void respond(compute_api::ComputeResponse response);
  void handle(compute_api::ComputeCommand& command);
  void hello(const compute_api::Hello& hello);
  void configure(const compute_api::InstanceConfig& config);
  timely::Runtime& runtime();

  // Dataflows (dataflow_core.cc)
  void create(expr::DataflowDescription description);
  void build(const FlowPtr& flow);
  [[nodiscard]] std::optional<Error> import_failure(GlobalId index, SqlTime as_of) const;
  void make_sinks(const FlowPtr& flow);
  void schedule(GlobalId id);
  void allow_compaction(const compute_api::AllowCompaction& command);
  void drop(GlobalId id);
  [[nodiscard]] FlowPtr exporting(GlobalId id) const;
  /// Its exports go no further, nor do those of the dataflows that import from it.
  void fail(Flow& flow, const Error& error);
  /// Says that an export goes no further, and answers the reads that would wait for it for ever.
  void fail_export(Flow& flow, GlobalId id, const Error& error);

  // Inputs and demand (dataflow_inputs.cc)
  void open_source(const FlowPtr& flow, GlobalId id);
  void read_more(const FlowPtr& flow, GlobalId id);
  void take_event(const FlowPtr& flow, GlobalId id, storage_api::ReadEvent event);
  void ask(Flow& flow, SqlTime time);
  /// Asks for the next time at which something happens by itself, when the clock reaches it.
  void wake_for_future(const FlowPtr& flow, GlobalId id, SqlTime upper);

  // Outputs
  void computed(const FlowPtr& flow, GlobalId id, SqlTime upper);
  void report_subscription(GlobalId id, Subscription& subscription, SqlTime as_of, SqlTime until, SqlTime upper);

  // Reads (dataflow_peeks.cc)
  void peek(compute_api::Peek peek);
  void cancel_peek(const compute_api::PeekId& id);
  void answer_ready_peeks(GlobalId id, SqlTime upper);
  void start_index_peek(compute_api::Peek peek, Flow& flow);
  void start_collection_peek(compute_api::Peek peek);
  void finish_collection_peek(const compute_api::PeekId& id, Result<PeekTask::Source> source);
  void run_peek(std::shared_ptr<PeekTask> task, const compute_api::PeekId& id);
  void continue_peek(const std::shared_ptr<PeekTask>& task);
  void fail_peek(const compute_api::PeekId& id, Error error);
  /// Why a read straight from storage will never come to its time, if this engine was to write it.
  [[nodiscard]] std::optional<Error> never_written(const compute_api::Peek& peek) const;
  void fail_collection_reads();
  [[nodiscard]] PeekTask::Respond peek_responder();

  /// A read straight from storage; `rows` is there while its rows come in.
  struct CollectionRead {
    compute_api::Peek peek;
    std::shared_ptr<CollectionPeek> rows{};
  };

  DataflowComputeOptions options_;
  std::function<void(compute_api::ComputeResponse)> handler_{};
  compute_api::InstanceConfig config_{};
  std::optional<compute_api::PeekId> nonce_{};
  std::unique_ptr<timely::Runtime> runtime_{};
  IndexDirectory directory_{};
  std::list<FlowPtr> flows_{};  // in order of creation
  std::map<GlobalId, FlowPtr> exports_{};  // that were not dropped
  std::map<GlobalId, std::vector<compute_api::Peek>> waiting_peeks_{};
  std::map<compute_api::PeekId, std::shared_ptr<PeekTask>> running_peeks_{};
  std::map<compute_api::PeekId, CollectionRead> collection_reads_{};
  base::Strand strand_;
};

}  // namespace freshet::compute
