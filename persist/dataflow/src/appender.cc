// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/dataflow/appender.h>

namespace freshet::persist {

Appender::Appender(SinkOptions options) : options_(std::move(options)) {
  state_.with([this](State& state) { state.upper = options_.upper; });
}

void Appender::activate_with(timely::Activator activator) {
  state_.with([&](State& state) { state.activator = std::move(activator); });
}

void Appender::advance(Updates& pending, Time frontier) {
  Time lower = 0;
  const bool go = state_.with([&](State& state) {
    if (state.busy || state.failed || frontier <= state.upper) return false;
    lower = state.upper;
    return state.busy = true;
  });
  if (!go) return;
  Append append{.shard = options_.shard, .lower = lower, .upper = frontier};
  Updates later;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending.time(i) < lower) continue;
    (pending.time(i) < frontier ? append.updates : later).push_from(pending, i);
  }
  pending = std::move(later);
  Commit commit{.epoch = options_.epoch};
  commit.append.push_back(std::move(append));
  options_.group->commit(std::move(commit))
      .on_ready(options_.scheduler,
                [self = shared_from_this(), frontier](Result<CommitOutcome> outcome) {
                  self->finish(frontier, std::move(outcome));
                });
}

void Appender::finish(Time upper, Result<CommitOutcome> outcome) {
  const bool committed = outcome && outcome->committed();
  const timely::Activator activator = state_.with([&](State& state) {
    state.busy = false;
    state.failed = !committed;
    if (committed) state.upper = upper;
    return state.activator;
  });
  if (committed) return activator.activate();
  if (!options_.on_error) return;
  if (!outcome) return options_.on_error(std::move(outcome).error());
  const bool fenced = outcome->status == CommitOutcome::Status::kFenced;
  options_.on_error({.code = ErrorCode::kConflict,
                     .message = "append to shard " + to_string(options_.shard) +
                                (fenced ? ": a newer writer took over"
                                        : ": its upper is " + std::to_string(outcome->upper))});
}

}  // namespace freshet::persist
