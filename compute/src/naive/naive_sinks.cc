// SPDX-License-Identifier: Apache-2.0
// The sinks of the naive engine: both show the difference between the content at successive times.
#include <algorithm>

#include "naive/naive_core.h"

namespace freshet::compute {
namespace {

void diff_side(const std::map<std::string, repr::Diff>& from, const std::map<std::string, repr::Diff>& to,
               repr::SqlTime time, storage_api::EncodedUpdates& out) {
  std::map<std::string_view, repr::Diff> change;
  for (const auto& [row, count] : to) change[row] += count;
  for (const auto& [row, count] : from) change[row] -= count;
  for (const auto& [row, count] : change) {
    if (count != 0) out.push_back(row, time, count);
  }
}

}  // namespace

void NaiveCore::run_sink(const std::shared_ptr<Flow>& flow, GlobalId id, Sink& sink) {
  const bool subscribes = sink.description.kind == expr::SinkExport::Kind::kSubscribe;
  if (sink.failed) {
    // An error ends what a subscription shows, and not the time that it knows.
    if (subscribes && !flow->failures.contains(id)) report_upper(*flow, id, flow->dataflow->upper());
    return;
  }
  if (subscribes) {
    run_subscribe(*flow, id, sink);
  } else {
    run_view(flow, id, sink);
  }
}

void NaiveCore::fail_sink(Flow& flow, GlobalId id, const Error& error) {
  const auto sink = flow.sinks.find(id);
  if (sink == flow.sinks.end() || sink->second.failed) return;
  sink->second.failed = true;
  fail_export(flow, id, error);
}

// What changed in [lower, upper) against `sink.last`, which moves along. The content at `lower` counts whole.
Result<storage_api::CollectionUpdates> NaiveCore::sink_updates(Flow& flow, Sink& sink, SqlTime lower,
                                                               SqlTime upper) {
  storage_api::CollectionUpdates updates;
  NaiveDataflow& dataflow = *flow.dataflow;
  std::vector<SqlTime> times = FRESHET_TRY(dataflow.changes(sink.description.from, lower, upper));
  times.insert(times.begin(), lower);
  for (const SqlTime time : times) {
    const auto content = FRESHET_TRY(dataflow.content(sink.description.from, time));
    diff_side(sink.last.oks, content->oks, time, updates.oks);
    diff_side(sink.last.errs, content->errs, time, updates.errs);
    sink.last = *content;
  }
  return updates;
}

void NaiveCore::run_subscribe(Flow& flow, GlobalId id, Sink& sink) {
  const expr::DataflowDescription& description = flow.dataflow->description();
  const bool is_last = flow.dataflow->upper() == repr::kClosed && description.until != repr::kClosed;
  const SqlTime upper = is_last ? description.until : flow.dataflow->upper();
  const bool is_first = !sink.reported.has_value();
  const SqlTime lower = sink.reported.value_or(description.as_of);
  if (upper <= lower) return;
  // The content at lower - 1 is in `last`, so that a change at `lower` itself shows.
  Result<storage_api::CollectionUpdates> updates = sink_updates(flow, sink, lower, upper);
  if (!updates) return fail_sink(flow, id, updates.error());
  compute_api::SubscribeResponse response{.id = id, .lower = lower, .upper = upper};
  const auto checked = check_content(sink.last, sink.description.desc.type.columns);
  if (!checked) {
    response.error = checked.error();
    sink.failed = true;
    respond(std::move(response));
    return report_upper(flow, id, is_last ? repr::kClosed : upper);
  }
  for (std::size_t i = 0; i < updates->oks.size(); ++i) {
    if (is_first && !sink.description.with_snapshot && updates->oks.time(i) == lower) continue;
    response.rows.push_back(updates->oks.rows[i]);
    response.times.push_back(updates->oks.time(i));
    response.diffs.push_back(updates->oks.diff(i));
  }
  sink.reported = upper;
  respond(std::move(response));
  report_upper(flow, id, is_last ? repr::kClosed : upper);
}

void NaiveCore::run_view(const std::shared_ptr<Flow>& flow, GlobalId id, Sink& sink) {
  if (!sink.allowed || sink.busy) return;
  if (sink.writer == nullptr) return open_view(flow, id, sink);
  const SqlTime upper = flow->dataflow->upper();
  const bool is_first = !sink.reported.has_value();
  const SqlTime durable = sink.writer->durable_upper();
  const SqlTime lower = sink.reported.value_or(std::max(durable, flow->dataflow->description().as_of));
  if (upper <= lower) return;
  Result<storage_api::CollectionUpdates> updates = sink_updates(*flow, sink, lower, upper);
  if (!updates) return fail_sink(*flow, id, updates.error());
  sink.reported = upper;
  if (updates->empty() && !is_first) {
    sink.writer->claim(upper);
    return report_upper(*flow, id, upper);
  }
  SqlTime last = lower;
  for (const auto* side : {&updates->oks, &updates->errs}) {
    for (std::size_t i = 0; i < side->size(); ++i) last = std::max(last, side->time(i));
  }
  sink.busy = true;
  sink.writer->append(durable, last + 1, std::move(*updates)).on_ready(strand_, [this, weak = std::weak_ptr(flow), id, upper](Result<base::Unit> done) {
                       const auto f = weak.lock();
                       if (f == nullptr || !f->sinks.contains(id)) return;
                       if (!done) return fail_sink(*f, id, done.error());
                       Sink& s = f->sinks.at(id);
                       s.busy = false;
                       s.writer->claim(upper);
                       report_upper(*f, id, upper);
                       progress();
                     });
}

void NaiveCore::open_view(const std::shared_ptr<Flow>& flow, GlobalId id, Sink& sink) {
  if (sink.opening) return;
  sink.opening = true;
  auto demand = [this, queue = strand_.handle(),
                 weak = std::weak_ptr(flow)](SqlTime time) {
    queue->post([this, weak, time] {
      if (const auto f = weak.lock()) ask(*f->dataflow, time);
    });
  };
  options_.storage.open_writer(id, std::move(demand)).on_ready(strand_, [this, weak = std::weak_ptr(flow), id](auto writer) {
        const auto f = weak.lock();
        if (f == nullptr || !f->sinks.contains(id)) return;
        if (!writer) return fail_sink(*f, id, writer.error());
        const SqlTime durable = (*writer)->durable_upper();
        f->sinks.at(id).writer = std::move(*writer);
        // Before its first append a collection's since is its upper.
        const Result<storage_api::Frontiers> frontiers = options_.storage.frontiers(id);
        if (!frontiers) return fail_sink(*f, id, frontiers.error());
        if (durable <= frontiers->since) return start_view(*f, id, {});
        options_.storage.open_reader(id, durable - 1).on_ready(strand_, [this, weak, id, durable](auto reader) {
                             const auto again = weak.lock();
                             if (again == nullptr || !again->sinks.contains(id)) return;
                             if (!reader) return fail_sink(*again, id, reader.error());
                             load_view(again, id, std::move(*reader), NaiveInput(durable - 1));
                           });
      });
  sink.busy = true;
}

// Reads what the shard holds at its durable upper, so that the first append corrects it.
void NaiveCore::load_view(const std::shared_ptr<Flow>& flow, GlobalId id,
                          std::shared_ptr<storage_api::CollectionReader> reader, NaiveInput input) {
  auto next = reader->next();
  std::move(next).on_ready(strand_, [this, weak = std::weak_ptr(flow), id, reader = std::move(reader),
                                       input = std::move(input)](Result<storage_api::ReadEvent> event) mutable {
    const auto f = weak.lock();
    if (f == nullptr || !f->sinks.contains(id)) return;
    if (!event) return fail_sink(*f, id, event.error());
    const SqlTime durable = f->sinks.at(id).writer->durable_upper();
    input.apply(event->updates);
    input.set_upper(event->upper);
    if (event->upper < durable) return load_view(f, id, std::move(reader), std::move(input));
    start_view(*f, id, input.at(durable - 1));
  });
}

void NaiveCore::start_view(Flow& flow, GlobalId id, expr::Multiset persisted) {
  Sink& sink = flow.sinks.at(id);
  sink.last = std::move(persisted);
  sink.busy = false;
  progress();
}

}  // namespace freshet::compute
