// SPDX-License-Identifier: Apache-2.0
// The one loop that changes a group: it compares and sets one version after the other, and clears
// up unclear answers.
#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

// After it, the requests that are waiting now have been seen by a state newer than themselves.
Future<Unit> Machine::look_again(std::shared_ptr<Machine> self) {
  const std::size_t waiting = self->inbox_.with([](Inbox& inbox) { return inbox.requests.size(); });
  return on(self, refresh(self))
      .then([waiting](const auto& machine, const Result<Unit>& refreshed) {
        std::vector<Request> refused;
        machine->inbox_.with([&](Inbox& inbox) {
          // Only a closing client takes requests away meanwhile.
          const auto end = inbox.requests.begin() +
                           static_cast<std::ptrdiff_t>(std::min(waiting, inbox.requests.size()));
          std::for_each(inbox.requests.begin(), end,
                        [&](Request& r) { r.verified = refreshed.has_value(); });
          if (refreshed) return;
          std::move(inbox.requests.begin(), end, std::back_inserter(refused));
          inbox.requests.erase(inbox.requests.begin(), end);
        });
        for (Request& request : refused) request.promise.resolve(Unexpected(refreshed.error()));
      });
}

/// Ends only when it is known whether this very version is part of the chain. A failure that says
/// "nothing happened" ends it too, unless an earlier attempt left that open.
class Machine::VersionWrite final : public Flow<VersionWrite, Written> {
 public:
  VersionWrite(std::shared_ptr<Machine> machine, Version version, std::uint64_t mark)
      : machine_(std::move(machine)),
        version_(std::move(version)),
        mark_(mark),
        backoff_(machine_->environment_.scheduler) {}
  base::TaskQueue& queue() { return machine_->queue(); }

  void begin() {
    await(machine_->environment_.consensus.compare_and_set(machine_->key_, version_),
          &VersionWrite::answered);
  }

 private:
  void answered(Result<CasOutcome> outcome) {
    if (!outcome) {
      maybe_applied_ = maybe_applied_ || outcome.error().code == ErrorCode::kIndeterminate;
      return retry_after(std::move(outcome).error());
    }
    if (*outcome == CasOutcome::kApplied) return finish(Written::kApplied);
    await(refresh(machine_), &VersionWrite::refreshed);
  }

  // Somebody else's version came first, or an earlier attempt of ours did apply: its mark tells.
  void refreshed(Result<Unit> refreshed) {
    if (!refreshed) return retry_after(std::move(refreshed).error());
    const auto& marks = machine_->state().marks;
    const bool ours = std::ranges::find(marks, mark_) != marks.end();
    finish(ours ? Written::kApplied : Written::kMismatch);
  }

  void retry_after(Error error) {
    const bool retry = may_help_to_retry(error) &&
                       (maybe_applied_ || backoff_.attempts() < kAttemptsMax) &&
                       !machine_->is_closed();
    if (retry) return await(backoff_.wait(), &VersionWrite::waited);
    if (maybe_applied_) error.code = ErrorCode::kIndeterminate;
    finish(fail(std::move(error)));
  }

  void waited(Result<Unit> waited) {
    if (waited) return begin();
    finish(fail(maybe_applied_ ? ErrorCode::kIndeterminate : ErrorCode::kCancelled,
                "persist was closed during a commit"));
  }

  std::shared_ptr<Machine> machine_;
  Version version_;
  std::uint64_t mark_;
  Backoff backoff_;
  bool maybe_applied_ = false;
};

// The version is durable. The state may know it already: a refresh, or a retry, can be faster.
void Machine::accept(Attempt& attempt, const StateVersion& version, std::size_t bytes) {
  for (const Request& request : attempt.accepted) {
    if (request.acquire) epoch_ = request.outcome.epoch;
  }
  for (const step::Replace& replace : attempt.upkeep.replaces) {
    merging_.erase(replace.shard);
    to_merge_.insert(replace.shard);
  }
  for (const std::string& key : attempt.upkeep.forgotten) collected_.erase(key);
  if (state().seqno + 1 == version.seqno) {
    const std::vector<ShardId> shards = view_.with(
        [&](View& view) { return std::move(attempt.draft).move_into(view.state, version.mark); });
    changed(shards, bytes);
  } else {
    FRESHET_ASSERT(state().seqno >= version.seqno, state().seqno, version.seqno);
  }
  if (attempt.upkeep.rollup) truncate(attempt.upkeep.rollup->seqno + 1);
  for (Request& request : attempt.accepted) request.promise.resolve(request.outcome);
}

/// Compares and sets one version after the other, until nothing is left that can go.
class Machine::Pump final : public Flow<Pump, Unit> {
 public:
  explicit Pump(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
  base::TaskQueue& queue() { return machine_->queue(); }

  void begin() {
    const bool due =
        machine_->has_requests() || (machine_->upkeep_due_ && !machine_->pending_.empty());
    if (!due || machine_->is_closed()) return stop();
    attempt_ = machine_->build_attempt();
    machine_->put_back(attempt_->waiting);
    if (attempt_->stale) {
      machine_->give_back(*attempt_);
      return await(look_again(machine_), &Pump::begin);
    }
    if (!attempt_->steps.empty()) return send();
    for (Request& request : attempt_->accepted) request.promise.resolve(request.outcome);
    stop();  // what is left is not ready, and starts the pump when it is
  }

 private:
  void send() {
    const GroupState& state = machine_->state();
    version_ = {.seqno = state.seqno + 1,
                .mark = machine_->random_.with([](base::Random& r) { return r.next(); }),
                .rollup = attempt_->upkeep.rollup.value_or(state.rollup),
                .steps = std::move(attempt_->steps)};
    base::Bytes data = encode_version(version_);
    size_ = data.size();
    await(VersionWrite::start(machine_, Version{version_.seqno, std::move(data)}, version_.mark),
          &Pump::sent);
  }

  void sent(Result<Written> written) {
    if (written && *written == Written::kApplied) {
      machine_->accept(*attempt_, version_, size_);
    } else if (written) {
      for (Request& request : attempt_->accepted) request.verified = true;
      machine_->give_back(*attempt_);
    } else {
      machine_->refuse(*attempt_, written.error());
    }
    begin();
  }

  void stop() {
    machine_->pumping_ = false;
    machine_->check_settled();
    finish(Unit{});
  }

  std::shared_ptr<Machine> machine_;
  // The version under way.
  std::shared_ptr<Attempt> attempt_;
  StateVersion version_;
  std::size_t size_ = 0;
};

void Machine::start_pump() {
  if (pumping_) return;
  pumping_ = true;
  Pump::launch(shared_from_this());
}

}  // namespace freshet::persist
