// SPDX-License-Identifier: Apache-2.0
#include "dataflow/dataflow_core.h"

#include <algorithm>

namespace freshet::compute {

using compute_api::ComputeCommand;
using compute_api::ComputeResponse;

DataflowCore::DataflowCore(DataflowComputeOptions options) : options_(options), strand_(options.scheduler) {}

DataflowCore::~DataflowCore() {
  strand_.shut();
  directory_.clear();
  exports_.clear();
  flows_.clear();  // before the runtime
}

void DataflowCore::on_response(std::function<void(ComputeResponse)> handler) { handler_ = std::move(handler); }

void DataflowCore::send(ComputeCommand command) {
  strand_.post([this, command = std::move(command)]() mutable { handle(command); });
}

void DataflowCore::respond(ComputeResponse response) {
  if (handler_) handler_(std::move(response));
}

void DataflowCore::handle(ComputeCommand& command) {
  struct Visitor {
    DataflowCore& core;
    void operator()(compute_api::Hello& c) { core.hello(c); }
    void operator()(compute_api::CreateInstance& c) { core.configure(c.config); }
    void operator()(compute_api::InitializationComplete&) {}
    void operator()(compute_api::UpdateConfiguration& c) { core.configure(c.config); }
    void operator()(compute_api::CreateDataflow& c) { core.create(std::move(c.dataflow)); }
    void operator()(compute_api::Schedule& c) { core.schedule(c.id); }
    void operator()(compute_api::AllowWrites& c) {
      const FlowPtr flow = core.exporting(c.id);
      if (flow == nullptr) return;
      if (const auto view = flow->views.find(c.id); view != flow->views.end()) view->second->allow();
    }
    void operator()(compute_api::AllowCompaction& c) { core.allow_compaction(c); }
    void operator()(compute_api::Peek& c) { core.peek(std::move(c)); }
    void operator()(compute_api::CancelPeek& c) { core.cancel_peek(c.id); }
    void operator()(compute_api::Advance& c) {
      if (const FlowPtr flow = core.exporting(c.id)) core.ask(*flow, c.time);
    }
  };
  std::visit(Visitor{*this}, command);
}

// A controller with a new nonce sends its whole history again.
void DataflowCore::hello(const compute_api::Hello& hello) {
  if (nonce_ == hello.nonce) return;
  nonce_ = hello.nonce;
  for (const auto& [id, task] : running_peeks_) task->cancel();
  running_peeks_.clear();
  waiting_peeks_.clear();
  collection_reads_.clear();
  directory_.clear();
  exports_.clear();
  flows_.clear();
}

void DataflowCore::configure(const compute_api::InstanceConfig& config) { config_ = config; }

timely::Runtime& DataflowCore::runtime() {
  if (runtime_ == nullptr) {
    const std::size_t workers = options_.workers != 0 ? options_.workers : std::max(config_.workers, 1U);
    runtime_ = std::make_unique<timely::Runtime>(
        options_.executor, timely::Runtime::Options{.workers = workers, .scheduler = &options_.scheduler});
  }
  return *runtime_;
}

std::vector<DataflowCore::FlowPtr> DataflowCore::Flow::readers() const {
  std::vector<FlowPtr> found;
  const auto visit = [&found](const Flow& flow, const auto& self) -> void {
    for (const std::weak_ptr<Flow>& weak : flow.downstream) {
      FlowPtr reader = weak.lock();
      if (reader == nullptr || std::ranges::find(found, reader) != found.end()) continue;
      found.push_back(reader);
      self(*reader, self);
    }
  };
  visit(*this, visit);
  return found;
}

DataflowCore::FlowPtr DataflowCore::exporting(GlobalId id) const {
  const auto found = exports_.find(id);
  return found == exports_.end() ? nullptr : found->second;
}

// An index may have gone, or moved past the dataflow's time, while the plan that reads it was made.
std::optional<Error> DataflowCore::import_failure(GlobalId index, SqlTime as_of) const {
  const FlowPtr from = exporting(index);
  if (from == nullptr || (from->failures.empty() && !from->built.indexes.contains(index))) {
    return Error{.code = ErrorCode::kNotFound, .message = "index " + expr::to_string(index) + " does not exist any more"};
  }
  if (const auto failure = from->failures.find(index); failure != from->failures.end()) return failure->second;
  const IndexTraces& traces = *from->built.indexes.at(index);
  for (const RowTraceHandle* trace : {&traces.oks, &traces.errs}) {
    if (timely::less_equal(trace->logical_compaction(), timely::Antichain<SqlTime>{as_of})) continue;
    return Error{.code = ErrorCode::kInvalid,
                 .message = "index " + expr::to_string(index) + " is not readable at this time any more"};
  }
  return std::nullopt;
}

void DataflowCore::create(expr::DataflowDescription description) {
  const auto flow = std::make_shared<Flow>();
  flow->description = std::move(description);
  for (const GlobalId id : flow->description.exports()) {
    flow->uppers.emplace(id, 0);
    const bool is_new = exports_.emplace(id, flow).second;
    FRESHET_ASSERT(is_new);
  }
  flows_.push_back(flow);
  for (const auto& [index, import] : flow->description.indexes) {
    const std::optional<Error> failure = import_failure(index, flow->description.as_of);
    if (!failure) continue;
    flow->scheduled = true;  // there is nothing to start
    return fail(*flow, *failure);
  }
  build(flow);
}

void DataflowCore::build(const FlowPtr& flow) {
  std::map<GlobalId, std::shared_ptr<IndexTraces>> imported;
  for (const auto& [index, import] : flow->description.indexes) {
    const FlowPtr from = exporting(index);
    imported.emplace(index, from->built.indexes.at(index));
    if (std::ranges::find(flow->upstream, from) != flow->upstream.end()) continue;
    flow->upstream.push_back(from);
    std::erase_if(from->downstream, [](const std::weak_ptr<Flow>& reader) { return reader.expired(); });
    from->downstream.push_back(flow);
  }
  for (const auto& [id, source] : flow->description.sources) flow->sources.emplace(id, Source{});
  const std::shared_ptr<base::TaskQueue> queue = strand_.handle();
  const std::weak_ptr<Flow> weak = flow;
  const FlowCallbacks callbacks{
      .on_room =
          [this, queue, weak](GlobalId id) {
            queue->post([this, weak, id] {
              if (const FlowPtr f = weak.lock()) read_more(f, id);
            });
          },
      .on_upper =
          [this, queue, weak](GlobalId id, SqlTime upper) {
            queue->post([this, weak, id, upper] {
              if (const FlowPtr f = weak.lock()) computed(f, id, upper);
            });
          },
      .on_failure =
          [this, queue, weak](Error error) {
            queue->post([this, weak, error = std::move(error)] {
              if (const FlowPtr f = weak.lock()) fail(*f, error);
            });
          }};
  const std::size_t block_bytes = options_.block_bytes != 0 ? options_.block_bytes : differential::kBlockBytes;
  flow->built = build_flow(runtime(), flow->description, imported, callbacks, {.block_bytes = block_bytes});
  const timely::Antichain<SqlTime> as_of{flow->description.as_of};
  for (const auto& [id, traces] : flow->built.indexes) {
    traces->oks.set_logical_compaction(as_of);
    traces->errs.set_logical_compaction(as_of);
    flow->published.emplace(id, directory_.add(id, traces));
  }
  make_sinks(flow);
}

void DataflowCore::make_sinks(const FlowPtr& flow) {
  const std::weak_ptr<Flow> weak = flow;
  for (const auto& [id, sink] : flow->description.sink_exports) {
    const auto& collector = flow->built.collectors.at(id);
    if (sink.kind == expr::SinkExport::Kind::kSubscribe) {
      flow->subscriptions.emplace(id, Subscription{sink, collector, flow->description.as_of});
      continue;
    }
    ViewSink::Callbacks callbacks{
        .on_demand =
            [this, weak](SqlTime time) {
              if (const FlowPtr f = weak.lock()) ask(*f, time);
            },
        .on_upper = [this, id = id](SqlTime upper) { respond(compute_api::FrontierUpdate{id, upper}); },
        .on_failure =
            [this, weak, id = id](const Error& error) {
              options_.logger.warn("materialized view stopped", {{"id", expr::to_string(id)}, {"error", error.message}});
              if (const FlowPtr f = weak.lock()) fail_export(*f, id, error);
            },
        .on_delay =
            [this, id = id](const Error& error) {
              options_.logger.warn("materialized view waits to write", {{"id", expr::to_string(id)}, {"error", error.message}});
            }};
    flow->views.emplace(id, std::make_shared<ViewSink>(options_.scheduler, strand_, options_.storage, id, flow->description.as_of,
                                                       collector, std::move(callbacks)));
  }
}

void DataflowCore::schedule(GlobalId id) {
  const FlowPtr flow = exporting(id);
  if (flow == nullptr || flow->scheduled) return;
  flow->scheduled = true;
  for (const auto& [source, state] : flow->sources) open_source(flow, source);
}

void DataflowCore::allow_compaction(const compute_api::AllowCompaction& command) {
  if (command.since == repr::kClosed) return drop(command.id);
  const FlowPtr flow = exporting(command.id);
  if (flow == nullptr) return;
  const auto traces = flow->built.indexes.find(command.id);
  if (traces == flow->built.indexes.end()) return;
  traces->second->oks.set_logical_compaction({command.since});
  traces->second->errs.set_logical_compaction({command.since});
}

void DataflowCore::drop(GlobalId id) {
  const FlowPtr flow = exporting(id);
  if (flow == nullptr) return;
  flow->uppers.erase(id);
  exports_.erase(id);
  flow->views.erase(id);
  flow->subscriptions.erase(id);
  flow->built.indexes.erase(id);
  if (flow->published.erase(id) > 0) directory_.remove(id);
  flow->built.collectors.erase(id);
  if (const auto waiting = waiting_peeks_.extract(id); !waiting.empty()) {
    for (const compute_api::Peek& peek : waiting.mapped()) {
      fail_peek(peek.id, Error{.code = ErrorCode::kNotFound, .message = "the index was dropped"});
    }
  }
  // What others import goes on until they go.
  if (flow->uppers.empty()) flows_.remove(flow);
  respond(compute_api::Dropped{id});
}

void DataflowCore::fail(Flow& flow, const Error& error) {
  // That what it reads was dropped is nobody's failure: the dataflow goes soon, too.
  const auto level = error.code == ErrorCode::kNotFound ? base::LogLevel::kDebug : base::LogLevel::kWarn;
  options_.logger.write(level, "dataflow input failed", {{"dataflow", flow.description.name}, {"error", error.message}});
  for (const auto& [id, upper] : flow.uppers) fail_export(flow, id, error);
  for (const FlowPtr& other : flow.readers()) {
    for (const auto& [id, upper] : other->uppers) fail_export(*other, id, error);
  }
}

void DataflowCore::fail_export(Flow& flow, GlobalId id, const Error& error) {
  if (!flow.failures.emplace(id, error).second) return;
  if (const auto index = flow.published.find(id); index != flow.published.end()) {
    index->second->failed.store(true, std::memory_order_relaxed);
  }
  respond(compute_api::ExportFailure{id, error});
  if (const auto waiting = waiting_peeks_.extract(id); !waiting.empty()) {
    for (const compute_api::Peek& peek : waiting.mapped()) fail_peek(peek.id, error);
  }
  fail_collection_reads();
}

void DataflowCore::computed(const FlowPtr& flow, GlobalId id, SqlTime upper) {
  const auto known = flow->uppers.find(id);
  if (known == flow->uppers.end() || upper <= known->second || upper <= flow->description.as_of) return;
  known->second = upper;
  if (const auto index = flow->published.find(id); index != flow->published.end()) {
    index->second->upper.store(upper, std::memory_order_release);
  }
  if (const auto view = flow->views.find(id); view != flow->views.end()) return view->second->computed(upper);
  if (const auto s = flow->subscriptions.find(id); s != flow->subscriptions.end()) {
    report_subscription(id, s->second, flow->description.as_of, flow->description.until, upper);
    if (!s->second.ended && upper != repr::kClosed) wake_for_future(flow, id, upper);
  }
  respond(compute_api::FrontierUpdate{id, upper});
  if (flow->built.indexes.contains(id)) answer_ready_peeks(id, upper);
}

void DataflowCore::report_subscription(GlobalId id, Subscription& subscription, SqlTime as_of, SqlTime until,
                                       SqlTime upper) {
  if (subscription.ended) return;
  const bool is_last = upper == repr::kClosed && until != repr::kClosed;
  const SqlTime end = is_last ? until : upper;
  if (end <= subscription.reported) return;
  storage_api::CollectionUpdates updates = subscription.collector->take(subscription.reported, end);
  compute_api::SubscribeResponse response{.id = id, .lower = subscription.reported, .upper = end};
  subscription.reported = end;
  const auto& types = subscription.description.desc.type.columns;
  std::optional<Error> least;
  for (std::size_t i = 0; i < updates.errs.size(); ++i) {
    if (updates.errs.diff(i) <= 0) continue;
    Result<expr::ErrorRow> row = expr::decode_error_row(updates.errs.rows[i], types);
    const Error& error = row ? row->error : row.error();
    if (!least || expr::error_less(error, *least)) least = error;
  }
  if (least) {
    subscription.ended = true;
    response.error = std::move(least);
    return respond(std::move(response));
  }
  const storage_api::EncodedUpdates& oks = updates.oks;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < oks.size(); ++i) {
    if (subscription.description.with_snapshot || oks.time(i) > as_of) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return oks.time(i); });
  for (const std::size_t i : order) {
    response.rows.push_back(oks.rows[i]);
    response.times.push_back(oks.time(i));
    response.diffs.push_back(oks.diff(i));
  }
  respond(std::move(response));
}

namespace {

class DataflowCompute final : public compute_api::Compute {
 public:
  explicit DataflowCompute(DataflowComputeOptions options) : core_(options) {}
  void on_response(std::function<void(ComputeResponse)> handler) override { core_.on_response(std::move(handler)); }
  void send(ComputeCommand command) override { core_.send(std::move(command)); }
  std::unique_ptr<compute_api::Lookup> make_lookup(expr::GlobalId index, const expr::Mfp& mfp) override {
    return core_.make_lookup(index, mfp);
  }

 private:
  DataflowCore core_;
};

}  // namespace

std::unique_ptr<compute_api::Compute> make_dataflow_compute(DataflowComputeOptions options) {
  return std::make_unique<DataflowCompute>(options);
}

}  // namespace freshet::compute
