// SPDX-License-Identifier: Apache-2.0
#include "naive/naive_core.h"

#include <algorithm>

#include "read_failure.h"

namespace freshet::compute {

using compute_api::ComputeCommand;
using compute_api::ComputeResponse;

NaiveCore::NaiveCore(NaiveComputeOptions options) : options_(options), strand_(options.scheduler) {}

NaiveCore::~NaiveCore() { strand_.shut(); }

void NaiveCore::on_response(std::function<void(ComputeResponse)> handler) { handler_ = std::move(handler); }

void NaiveCore::send(ComputeCommand command) {
  strand_.post([this, command = std::move(command)]() mutable { handle(command); });
}

void NaiveCore::respond(ComputeResponse response) {
  if (handler_) handler_(std::move(response));
}

void NaiveCore::handle(ComputeCommand& command) {
  struct Visitor {
    NaiveCore& core;
    void operator()(compute_api::Hello& c) { core.hello(c); }
    void operator()(compute_api::CreateInstance& c) { core.config_ = c.config; }
    void operator()(compute_api::InitializationComplete&) {}
    void operator()(compute_api::UpdateConfiguration& c) { core.config_ = c.config; }
    void operator()(compute_api::CreateDataflow& c) { core.create(std::move(c.dataflow)); }
    void operator()(compute_api::Schedule& c) { core.schedule(c.id); }
    void operator()(compute_api::AllowWrites& c) { core.allow_writes(c.id); }
    void operator()(compute_api::AllowCompaction& c) { core.allow_compaction(c); }
    void operator()(compute_api::Peek& c) { core.start_peek(std::move(c)); }
    void operator()(compute_api::CancelPeek& c) { core.cancel_peek(c.id); }
    void operator()(compute_api::Advance& c) {
      if (const auto flow = core.exporting(c.id)) core.ask(*flow->dataflow, c.time);
    }
  };
  std::visit(Visitor{*this}, command);
}

// A new controller sends everything again, and nothing is kept for it: this engine is for tests.
void NaiveCore::hello(const compute_api::Hello& hello) {
  if (nonce_ == hello.nonce) return;
  nonce_ = hello.nonce;
  peeks_.clear();
  flows_.clear();
}

void NaiveCore::create(expr::DataflowDescription description) {
  std::map<GlobalId, std::shared_ptr<NaiveDataflow>> upstream;
  std::optional<Error> failure;
  for (const auto& [index, import] : description.indexes) {
    const auto from = exporting(index);
    if (from == nullptr) {
      failure = Error{.code = ErrorCode::kNotFound, .message = "index " + to_string(index) + " does not exist any more"};
      continue;
    }
    if (!from->failures.empty()) failure = from->failures.begin()->second;
    upstream.emplace(import.on, from->dataflow);
  }
  auto flow = std::make_shared<Flow>();
  for (const GlobalId id : description.exports()) flow->sinces.emplace(id, description.as_of);
  for (const auto& [id, sink] : description.sink_exports) flow->sinks[id].description = sink;
  flow->dataflow = std::make_shared<NaiveDataflow>(std::move(description), std::move(upstream));
  flows_.push_back(flow);
  if (failure) fail_flow(*flow, *failure);
}

void NaiveCore::schedule(GlobalId id) {
  const auto flow = exporting(id);
  if (flow == nullptr || flow->scheduled || !flow->failures.empty()) return;
  flow->scheduled = true;
  for (auto& [input, state] : flow->dataflow->inputs()) open_input(flow, input);
  progress();
}

void NaiveCore::allow_writes(GlobalId id) {
  const auto flow = exporting(id);
  if (flow == nullptr) return;
  if (const auto sink = flow->sinks.find(id); sink != flow->sinks.end()) {
    sink->second.allowed = true;
    progress();
  }
}

void NaiveCore::allow_compaction(const compute_api::AllowCompaction& command) {
  const auto flow = exporting(command.id);
  if (flow == nullptr) return;
  if (command.since != repr::kClosed) {
    SqlTime& since = flow->sinces[command.id];
    since = std::max(since, command.since);
    compact(*flow);
    return;
  }
  flow->sinces.erase(command.id);
  flow->sinks.erase(command.id);
  drop_unused();
  for (auto peek = peeks_.begin(); peek != peeks_.end();) {
    const auto* index = std::get_if<compute_api::Peek::Index>(&peek->second.peek.target);
    const bool lost = index != nullptr && index->id == command.id;
    peek = lost && answer_index_peek(peek->second) ? peeks_.erase(peek) : std::next(peek);
  }
  respond(compute_api::Dropped{command.id});
}

// A dataflow without exports goes on while another one reads it. Readers come after what they read.
void NaiveCore::drop_unused() {
  for (auto flow = flows_.end(); flow != flows_.begin();) {
    --flow;
    if (!(*flow)->sinces.empty()) continue;
    const bool is_read = std::ranges::any_of(
        flows_, [&](const auto& other) { return other->dataflow->reads(*(*flow)->dataflow); });
    if (!is_read) flow = flows_.erase(flow);
  }
}

std::shared_ptr<NaiveCore::Flow> NaiveCore::exporting(GlobalId id) const {
  for (const auto& flow : flows_) {
    if (flow->sinces.contains(id)) return flow;
  }
  return nullptr;
}

void NaiveCore::open_input(const std::shared_ptr<Flow>& flow, GlobalId id) {
  const SqlTime as_of = flow->dataflow->description().as_of;
  options_.storage.open_reader(id, as_of).on_ready(strand_, [this, weak = std::weak_ptr(flow), id](auto reader) {
                       const auto f = weak.lock();
                       if (f == nullptr) return;
                       if (!reader) return fail_flow(*f, read_failure(reader.error()));
                       f->readers[id] = std::move(*reader);
                       read_next(f, id);
                     });
}

void NaiveCore::read_next(const std::shared_ptr<Flow>& flow, GlobalId id) {
  const auto reader = flow->readers.find(id);
  if (reader == flow->readers.end()) return;
  reader->second->next().on_ready(strand_, [this, weak = std::weak_ptr(flow), id](Result<storage_api::ReadEvent> event) {
                       const auto f = weak.lock();
                       if (f == nullptr || !f->readers.contains(id)) return;
                       if (!event) return fail_flow(*f, read_failure(event.error()));
                       take_event(f, id, std::move(*event));
                     });
}

void NaiveCore::take_event(const std::shared_ptr<Flow>& flow, GlobalId id, storage_api::ReadEvent event) {
  NaiveInput& input = flow->dataflow->inputs().at(id);
  input.apply(event.updates);
  input.set_upper(event.upper);
  SqlTime last_change = 0;
  for (const auto* side : {&event.updates.oks, &event.updates.errs}) {
    for (std::size_t i = 0; i < side->size(); ++i) last_change = std::max(last_change, side->time(i));
  }
  if (!event.updates.empty()) {
    // What came in through one import asks for its time on the others.
    ask(*flow->dataflow, last_change);
    for (const auto& other : flows_) {
      if (other->dataflow->reads(*flow->dataflow)) ask(*other->dataflow, last_change);
    }
  }
  if (event.upper == repr::kClosed) {
    flow->readers.erase(id);
  } else {
    read_next(flow, id);
  }
  progress();
}

void NaiveCore::fail_flow(Flow& flow, const Error& error) {
  for (const auto& [id, since] : flow.sinces) fail_export(flow, id, error);
  for (const auto& other : std::list(flows_)) {
    if (!other->dataflow->reads(*flow.dataflow)) continue;
    for (const auto& [id, since] : other->sinces) fail_export(*other, id, error);
  }
}

void NaiveCore::ask(NaiveDataflow& dataflow, SqlTime time) {
  for (auto& flow : flows_) {
    if (flow->dataflow.get() != &dataflow) continue;
    for (const auto& [id, input] : dataflow.inputs()) {
      SqlTime& asked = flow->asked[id];
      if (input.upper() > time || asked > time) continue;
      asked = time + 1;
      static_cast<void>(options_.storage.send(storage_api::Advance{id, time}));
    }
  }
  for (const auto& [id, from] : dataflow.upstream()) ask(*from, time);
}

void NaiveCore::progress() {
  for (const auto& flow : std::list(flows_)) {
    if (!flow->scheduled) continue;
    const SqlTime upper = flow->dataflow->upper();
    if (upper <= flow->dataflow->description().as_of) continue;
    for (const auto& [id, index] : flow->dataflow->description().index_exports) {
      if (flow->sinces.contains(id)) report_upper(*flow, id, upper);
    }
    for (auto& [id, sink] : flow->sinks) run_sink(flow, id, sink);
    compact(*flow);
  }
  for (auto peek = peeks_.begin(); peek != peeks_.end();) {
    peek = answer_index_peek(peek->second) ? peeks_.erase(peek) : std::next(peek);
  }
}

void NaiveCore::report_upper(Flow& flow, GlobalId id, SqlTime upper) {
  SqlTime& reported = flow.reported_uppers[id];
  if (upper <= reported) return;
  reported = upper;
  respond(compute_api::FrontierUpdate{id, upper});
}

// The earliest time that somebody may still read of the flow.
repr::SqlTime NaiveCore::hold(const Flow& flow) const {
  SqlTime hold = repr::kClosed;
  for (const auto& [id, since] : flow.sinces) {
    const auto sink = flow.sinks.find(id);
    if (sink == flow.sinks.end()) {
      hold = std::min(hold, since);
    } else if (!sink->second.failed) {
      hold = std::min(hold, sink->second.reported ? *sink->second.reported - 1
                                                  : flow.dataflow->description().as_of);
    }
  }
  return hold;
}

void NaiveCore::compact(Flow& flow) {
  SqlTime since = hold(flow);
  for (const auto& other : flows_) {
    if (other->dataflow->reads(*flow.dataflow)) since = std::min(since, hold(*other));
  }
  flow.dataflow->compact(since);
}

namespace {

class NaiveCompute final : public compute_api::Compute {
 public:
  explicit NaiveCompute(NaiveComputeOptions options) : core_(options) {}
  void on_response(std::function<void(ComputeResponse)> handler) override {
    core_.on_response(std::move(handler));
  }
  void send(ComputeCommand command) override { core_.send(std::move(command)); }

 private:
  NaiveCore core_;
};

}  // namespace

std::unique_ptr<compute_api::Compute> make_naive_compute(NaiveComputeOptions options) {
  return std::make_unique<NaiveCompute>(options);
}

}  // namespace freshet::compute
