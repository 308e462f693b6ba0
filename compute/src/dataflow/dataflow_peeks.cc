// SPDX-License-Identifier: Apache-2.0
// Reads: they wait for their time, take snapshots, and run beside the dataflows.
#include <algorithm>

#include <freshet/compute_api/errors.h>

#include "dataflow/dataflow_core.h"
#include "read_failure.h"

namespace freshet::compute {
namespace {

/// A short read is answered where it came in; a long one goes on as tasks of its own.
constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(1);

Error not_found(std::string message) { return Error{.code = ErrorCode::kNotFound, .message = std::move(message)}; }

}  // namespace

void DataflowCore::fail_peek(const compute_api::PeekId& id, Error error) {
  respond(compute_api::PeekResponse{.id = id, .error = std::move(error)});
}

void DataflowCore::peek(compute_api::Peek peek) {
  const auto* index = std::get_if<compute_api::Peek::Index>(&peek.target);
  if (index == nullptr) return start_collection_peek(std::move(peek));
  const FlowPtr flow = exporting(index->id);
  if (flow == nullptr) return fail_peek(peek.id, not_found("unknown index " + expr::to_string(index->id)));
  const bool built = flow->built.indexes.contains(index->id);
  if (built && flow->uppers.at(index->id) > peek.time) return start_index_peek(std::move(peek), *flow);
  if (const auto failure = flow->failures.find(index->id); failure != flow->failures.end()) {
    return fail_peek(peek.id, failure->second);
  }
  if (!built) return fail_peek(peek.id, not_found("unknown index " + expr::to_string(index->id)));
  ask(*flow, peek.time);
  const GlobalId id = index->id;
  waiting_peeks_[id].push_back(std::move(peek));
}

void DataflowCore::cancel_peek(const compute_api::PeekId& id) {
  if (const auto running = running_peeks_.find(id); running != running_peeks_.end()) {
    return running->second->cancel();
  }
  if (collection_reads_.erase(id) > 0) return fail_peek(id, compute_api::cancelled());
  for (auto& [index, peeks] : waiting_peeks_) {
    if (std::erase_if(peeks, [&](const compute_api::Peek& peek) { return peek.id == id; }) > 0) {
      return fail_peek(id, compute_api::cancelled());
    }
  }
}

void DataflowCore::answer_ready_peeks(GlobalId id, SqlTime upper) {
  const auto waiting = waiting_peeks_.find(id);
  if (waiting == waiting_peeks_.end()) return;
  std::vector<compute_api::Peek> ready;
  for (compute_api::Peek& peek : waiting->second) {
    if (peek.time < upper) ready.push_back(std::move(peek));
  }
  std::erase_if(waiting->second, [&](const compute_api::Peek& peek) { return peek.time < upper; });
  if (waiting->second.empty()) waiting_peeks_.erase(waiting);
  for (compute_api::Peek& peek : ready) start_index_peek(std::move(peek), *exporting(id));
}

void DataflowCore::start_index_peek(compute_api::Peek peek, Flow& flow) {
  const auto& target = std::get<compute_api::Peek::Index>(peek.target);
  const IndexTraces& traces = *flow.built.indexes.at(target.id);
  const timely::Antichain<SqlTime> at{peek.time};
  auto oks_hold = traces.oks.holds().acquire(at);
  auto errs_hold = traces.errs.holds().acquire(at);
  if (!oks_hold || !errs_hold) {
    return fail_peek(peek.id, Error{.code = ErrorCode::kInvalid,
                                    .message = "the index is not readable at this time any more"});
  }
  using Holds = std::pair<differential::Hold<SqlTime>, differential::Hold<SqlTime>>;
  std::optional<std::vector<std::string>> seek;
  if (target.seek) {
    seek.emplace();
    for (const repr::DatumRow& key : *target.seek) seek->push_back(traces.arranger->keys().encode(key));
    std::ranges::sort(*seek);
    seek->erase(std::unique(seek->begin(), seek->end()), seek->end());
  }
  // With every key on one worker, the others need not be looked at. A worker that had nothing to do may not have
  // noticed yet that time passed; what passed is what the dataflow reported.
  const bool one = seek && seek->size() == 1;
  const SqlTime upper = flow.uppers.at(target.id);
  const auto complete = [&](const PeekTask::Snapshot& snapshot) {
    return PeekTask::Snapshot(snapshot.since(), upper == repr::kClosed ? timely::Antichain<SqlTime>{} : timely::Antichain<SqlTime>{upper},
                              snapshot.batches());
  };
  PeekTask::Source source{
      .layout = traces.arranger->layout(),
      .types = traces.arranger->types(),
      .oks = complete(one ? traces.oks.snapshot_of(traces.oks.worker_of(seek->front())) : traces.oks.snapshot()),
      .errs = complete(traces.errs.snapshot()),
      .seek = std::move(seek),
      .holds = std::make_shared<Holds>(std::move(*oks_hold), std::move(*errs_hold))};
  const compute_api::PeekId id = peek.id;
  run_peek(std::make_shared<PeekTask>(std::move(peek), std::move(source), config_.max_result_bytes, peek_responder()), id);
}

// Answers pass through our own queue, so that they end with us. The task's last response ends its entry.
PeekTask::Respond DataflowCore::peek_responder() {
  const std::shared_ptr<base::TaskQueue> queue = strand_.handle();
  return [this, queue](compute_api::PeekResponse response) {
    queue->post([this, response = std::move(response)]() mutable {
      if (response.last && running_peeks_.erase(response.id) == 0) return;
      respond(std::move(response));
    });
  };
}

void DataflowCore::run_peek(std::shared_ptr<PeekTask> task, const compute_api::PeekId& id) {
  running_peeks_[id] = task;
  if (!task->run(options_.scheduler.clock(), kSlice)) continue_peek(task);
}

void DataflowCore::continue_peek(const std::shared_ptr<PeekTask>& task) {
  base::Scheduler& scheduler = options_.scheduler;
  // Holds nothing of this object: the task goes on by itself, and its answers know whether we are there.
  struct Slice {
    static void post(base::Scheduler& on, std::shared_ptr<PeekTask> peek) {
      on.post([&on, peek = std::move(peek)]() mutable {
        if (!peek->run(on.clock(), 10 * kSlice)) post(on, std::move(peek));
      });
    }
  };
  Slice::post(scheduler, task);
}

// -- straight from storage -----------------------------------------------------------------------

void DataflowCore::start_collection_peek(compute_api::Peek peek) {
  const compute_api::PeekId id = peek.id;
  if (const auto error = never_written(peek)) return fail_peek(id, *error);
  const auto& target = std::get<compute_api::Peek::Collection>(peek.target);
  const GlobalId collection = target.id;
  const SqlTime time = peek.time;
  collection_reads_.emplace(id, CollectionRead{.peek = std::move(peek)});
  static_cast<void>(options_.storage.send(storage_api::Advance{collection, time}));
  options_.storage.open_reader(collection, time).on_ready(strand_, [this, id](auto reader) {
    const auto read = collection_reads_.find(id);
    if (read == collection_reads_.end()) return;
    if (!reader) {
      collection_reads_.erase(read);
      return fail_peek(id, read_failure(reader.error()));
    }
    auto done = [this, id, queue = strand_.handle()](Result<PeekTask::Source> source) {
      queue->post([this, id, source = std::move(source)]() mutable { finish_collection_peek(id, std::move(source)); });
    };
    read->second.rows = std::make_shared<CollectionPeek>(options_.scheduler, read->second.peek, std::move(done));
    read->second.rows->read(std::move(*reader));
  });
}

void DataflowCore::finish_collection_peek(const compute_api::PeekId& id, Result<PeekTask::Source> source) {
  const auto read = collection_reads_.find(id);
  if (read == collection_reads_.end()) return;
  compute_api::Peek peek = std::move(read->second.peek);
  collection_reads_.erase(read);
  if (!source) return fail_peek(id, source.error());
  peek.mfp = expr::Mfp::identity(source->types.size());
  run_peek(std::make_shared<PeekTask>(std::move(peek), std::move(*source), config_.max_result_bytes, peek_responder()), id);
}

std::optional<Error> DataflowCore::never_written(const compute_api::Peek& peek) const {
  const GlobalId id = std::get<compute_api::Peek::Collection>(peek.target).id;
  const FlowPtr flow = exporting(id);
  if (flow == nullptr) return std::nullopt;
  const auto failure = flow->failures.find(id);
  if (failure == flow->failures.end()) return std::nullopt;
  // What was written before the failure stays readable.
  const auto frontiers = options_.storage.frontiers(id);
  if (frontiers && peek.time < frontiers->upper) return std::nullopt;
  return failure->second;
}

void DataflowCore::fail_collection_reads() {
  std::map<compute_api::PeekId, Error> failed;
  for (const auto& [id, read] : collection_reads_) {
    if (auto error = never_written(read.peek)) failed.emplace(id, *std::move(error));
  }
  for (auto& [id, error] : failed) {
    collection_reads_.erase(id);
    fail_peek(id, std::move(error));
  }
}

}  // namespace freshet::compute
