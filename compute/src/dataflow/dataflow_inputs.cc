// SPDX-License-Identifier: Apache-2.0
// What dataflows read from storage, and how demand for time reaches it.
#include <algorithm>

#include "dataflow/dataflow_core.h"
#include "read_failure.h"

namespace freshet::compute {

void DataflowCore::open_source(const FlowPtr& flow, GlobalId id) {
  const SqlTime as_of = flow->description.as_of;
  options_.storage.open_reader(id, as_of).on_ready(strand_, [this, weak = std::weak_ptr(flow), id](auto reader) {
                       const FlowPtr f = weak.lock();
                       if (f == nullptr) return;
                       if (!reader) return fail(*f, read_failure(reader.error()));
                       f->sources.at(id).reader = std::move(*reader);
                       read_more(f, id);
                     });
  // The snapshot may have to be asked for.
  ask(*flow, as_of);
}

void DataflowCore::read_more(const FlowPtr& flow, GlobalId id) {
  Source& source = flow->sources.at(id);
  if (source.reader == nullptr || source.reading || !flow->built.queues.at(id)->has_room()) return;
  source.reading = true;
  source.reader->next().on_ready(strand_, [this, weak = std::weak_ptr(flow), id](Result<storage_api::ReadEvent> event) {
                       const FlowPtr f = weak.lock();
                       if (f == nullptr) return;
                       f->sources.at(id).reading = false;
                       if (!event) return fail(*f, read_failure(event.error()));
                       take_event(f, id, std::move(*event));
                     });
}

void DataflowCore::take_event(const FlowPtr& flow, GlobalId id, storage_api::ReadEvent event) {
  Source& source = flow->sources.at(id);
  source.upper = event.upper;
  std::optional<SqlTime> change;
  for (const auto* side : {&event.updates.oks, &event.updates.errs}) {
    for (const SqlTime time : side->times) change = std::max(change.value_or(0), time);
  }
  if (event.upper == repr::kClosed || event.upper >= flow->description.until) source.reader = nullptr;
  flow->built.queues.at(id)->push(std::move(event));
  if (change) {
    // A change is an ask for its time on everything that it meets.
    ask(*flow, *change);
    for (const FlowPtr& reader : flow->readers()) ask(*reader, *change);
  }
  read_more(flow, id);
}

void DataflowCore::ask(Flow& flow, SqlTime time) {
  if (time >= flow.description.until && flow.description.until != repr::kClosed) time = flow.description.until - 1;
  for (auto& [id, source] : flow.sources) {
    if (source.upper > time || source.asked > time) continue;
    source.asked = time + 1;
    static_cast<void>(options_.storage.send(storage_api::Advance{id, time}));
  }
  for (const FlowPtr& from : flow.upstream) ask(*from, time);
}

std::optional<SqlTime> DataflowCore::Flow::next_future(SqlTime upper) const {
  std::optional<SqlTime> next = built.futures->next(upper);
  for (const FlowPtr& from : upstream) {
    const std::optional<SqlTime> other = from->next_future(upper);
    if (other && (!next || *other < *next)) next = other;
  }
  return next;
}

void DataflowCore::wake_for_future(const FlowPtr& flow, GlobalId id, SqlTime upper) {
  const std::optional<SqlTime> next = flow->next_future(upper);
  SqlTime& wakes_at = flow->subscriptions.at(id).wakes_at;
  if (!next || wakes_at == *next) return;
  wakes_at = *next;
  const SqlTime now = options_.scheduler.clock().wall_micros();
  const std::chrono::microseconds delay(*next > now ? std::min<SqlTime>(*next - now + 1, 3'600'000'000) : 0);
  options_.scheduler.after(delay, strand_, [this, weak = std::weak_ptr(flow), id, time = *next] {
    const FlowPtr f = weak.lock();
    if (f == nullptr || !f->subscriptions.contains(id)) return;
    f->subscriptions.at(id).wakes_at = 0;
    // An hour at most was slept; the rest of a longer wait follows.
    if (options_.scheduler.clock().wall_micros() < time) return wake_for_future(f, id, f->uppers.at(id));
    ask(*f, time);
  });
}

}  // namespace freshet::compute
