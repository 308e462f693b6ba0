// SPDX-License-Identifier: Apache-2.0
// The one loop that changes a group: requests and upkeep become steps, steps a version, versions
// are compared and set.
#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

/// A batch of the state from uploaded data.
BatchEntry make_batch(const UploadedBatch& data, std::uint64_t id, Time lower, Time upper) {
  Batch batch{.id = id, .lower = lower, .upper = upper, .runs = data.runs, .inlined = data.inlined};
  for (const Run& run : data.runs) {
    for (const PartRef& part : run) {
      batch.updates += part->updates;
      batch.bytes += part->size;
      batch.row_hash_sum += part->row_hash_sum;
    }
  }
  if (data.inlined != nullptr) {
    batch.updates += data.inlined->size();
    batch.bytes += data.inlined->byte_size();
    batch.row_hash_sum += data.inlined->row_hash_sum();
  }
  return std::make_shared<const Batch>(std::move(batch));
}

std::vector<ShardId> shards_of(const Commit& commit) {
  std::vector<ShardId> shards;
  for (const CreateShard& create : commit.create) shards.push_back(create.shard);
  for (const Append& append : commit.append) shards.push_back(append.shard);
  for (const Downgrade& downgrade : commit.downgrade) shards.push_back(downgrade.shard);
  shards.insert(shards.end(), commit.drop.begin(), commit.drop.end());
  return shards;
}

Unexpected closed() { return fail(ErrorCode::kCancelled, "persist was closed"); }

bool times_within(const UploadedBatch& data, Time lower, Time upper) {
  for (const Run& run : data.runs) {
    for (const PartRef& part : run) {
      if (part->least_time < lower || part->greatest_time >= upper) return false;
    }
  }
  return data.inlined == nullptr ||
         (data.inlined->least_time() >= lower && data.inlined->greatest_time() < upper);
}

/// Applies the steps of a request and notes them; what went wrong, if anything did.
class RequestSteps {
 public:
  explicit RequestSteps(Draft& draft) : draft_(draft) {}

  Result<void> add(Step step) {
    FRESHET_TRY(draft_.apply(step));
    steps.push_back(std::move(step));
    return {};
  }

  Result<void> add(const Append& append, CommitOutcome& outcome) {
    const ShardState* shard = draft_.shard(append.shard);
    if (shard != nullptr && shard->upper != append.lower) {
      outcome = {.status = CommitOutcome::Status::kUpperMismatch,
                 .shard = append.shard,
                 .upper = shard->upper,
                 .epoch = draft_.epoch()};
    }
    step::Append step{.shard = append.shard, .lower = append.lower, .upper = append.upper};
    for (const BatchRef& data : append.batches) {
      if (!times_within(*data, append.lower, append.upper)) {
        return fail(ErrorCode::kInvalid, "an update for shard " + to_string(append.shard) +
                                             " is outside [" + std::to_string(append.lower) + ", " +
                                             std::to_string(append.upper) + ")");
      }
      step.batches.push_back(make_batch(*data, draft_.new_batch_id(), append.lower, append.upper));
    }
    return add(std::move(step));
  }

  Result<void> add(const Commit& commit, CommitOutcome& outcome) {
    if (commit.epoch != draft_.epoch()) {
      outcome = {.status = CommitOutcome::Status::kFenced, .epoch = draft_.epoch()};
      return fail(commit.epoch < draft_.epoch() ? ErrorCode::kConflict : ErrorCode::kInvalid,
                  "the epoch of the commit is not the newest");
    }
    for (const CreateShard& create : commit.create) {
      FRESHET_TRY(add(step::Create{create.shard, create.start, create.schema_id}));
    }
    for (const Append& append : commit.append) FRESHET_TRY(add(append, outcome));
    for (const Downgrade& downgrade : commit.downgrade) {
      FRESHET_TRY(add(step::Since{downgrade.shard, downgrade.since}));
    }
    for (const ShardId shard : commit.drop) FRESHET_TRY(add(step::Drop{shard}));
    return {};
  }

  std::vector<Step> steps;

 private:
  Draft& draft_;
};

}  // namespace

// Puts the updates of an append where a batch finds them: small ones stay, large ones are uploaded.
Future<Unit> Machine::prepare(std::shared_ptr<Machine> self, Append& append) {
  Updates updates = std::exchange(append.updates, {});
  if (updates.empty()) co_return Unit{};
  auto batch = std::make_shared<UploadedBatch>();
  batch->group = self->name_;
  batch->shard = append.shard;
  if (updates.byte_size() <= self->options_.inline_bytes) {
    updates.consolidate();
    if (updates.empty()) co_return Unit{};
    batch->inlined = std::make_shared<const Updates>(std::move(updates));
  } else {
    Future<PartRef> uploading = upload_part(self->new_io(), self->new_key("p"), std::move(updates));
    Result<PartRef> part = co_await std::move(uploading);
    FRESHET_CO_CHECK(part);
    if (*part == nullptr) co_return Unit{};
    batch->runs.push_back({*part});
  }
  append.batches.push_back(std::move(batch));
  co_return Unit{};
}

// The request takes its place in the queue at once; what is to be uploaded is, meanwhile.
Future<CommitOutcome> Machine::commit(std::shared_ptr<Machine> self, Commit commit) {
  for (const Append& append : commit.append) {
    for (const BatchRef& batch : append.batches) {
      if (batch->group != self->name_ || batch->shard != append.shard) {
        co_return fail(ErrorCode::kInvalid, "a batch was built for another shard");
      }
    }
    if (append.upper < append.lower) {
      co_return fail(ErrorCode::kInvalid, "an append moves the upper back");
    }
  }
  const auto work = std::make_shared<Work>(Work{.commit = std::move(commit)});
  Request request{.work = work};
  Future<CommitOutcome> answer = request.promise.future();
  if (!self->enqueue(std::move(request))) co_return closed();
  for (Append& append : work->commit.append) {
    if (append.updates.empty() || work->failure) continue;
    Future<Unit> preparing = prepare(self, append);
    Result<Unit> prepared = co_await std::move(preparing);
    if (!prepared) work->failure = prepared.error();
  }
  work->ready = true;
  self->start_pump();
  Result<CommitOutcome> outcome = co_await std::move(answer);
  co_return std::move(outcome);
}

Future<Epoch> Machine::acquire(std::shared_ptr<Machine> self) {
  Request request{.work = std::make_shared<Work>(Work{.ready = true}), .acquire = true};
  Future<CommitOutcome> answer = request.promise.future();
  if (!self->enqueue(std::move(request))) co_return closed();
  self->start_pump();
  Result<CommitOutcome> outcome = co_await std::move(answer);
  FRESHET_CO_CHECK(outcome);
  co_return outcome->epoch;
}

Future<Unit> Machine::join(std::shared_ptr<Machine> self, Epoch epoch) {
  Future<Unit> refreshing = refresh(self);
  Result<Unit> refreshed = co_await std::move(refreshing);
  FRESHET_CO_CHECK(refreshed);
  if (self->state().epoch != epoch)
    co_return fail(ErrorCode::kConflict, "a newer writer took over");
  self->epoch_ = epoch;
  co_return Unit{};
}

bool Machine::enqueue(Request request) {
  return inbox_.with([&](Inbox& inbox) {
    request.order = ++inbox.last_order;
    if (!inbox.closed) inbox.requests.push_back(std::move(request));
    return !inbox.closed;
  });
}

bool Machine::has_requests() const {
  return inbox_.with([](const Inbox& inbox) { return !inbox.requests.empty(); });
}

bool Machine::is_closed() const {
  return inbox_.with([](const Inbox& inbox) { return inbox.closed; });
}

void Machine::start_pump() {
  if (pumping_) return;
  pumping_ = true;
  std::move(pump(shared_from_this())).on_ready(strand_, [](Result<Unit>) {});
}

// Takes as many requests as the state allows, in order, and what upkeep there is.
std::shared_ptr<Machine::Attempt> Machine::build_attempt() {
  auto attempt = std::make_shared<Attempt>(state());
  std::deque<Request> waiting;
  inbox_.with([&](Inbox& inbox) { waiting.swap(inbox.requests); });
  std::set<ShardId> blocked;
  for (Request& request : waiting) {
    const std::vector<ShardId> shards = shards_of(request.work->commit);
    const bool behind =
        std::ranges::any_of(shards, [&](ShardId shard) { return blocked.contains(shard); });
    if (request.work->ready && !behind) {
      take_request(*attempt, std::move(request));
    } else {
      blocked.insert(shards.begin(), shards.end());
      attempt->waiting.push_back(std::move(request));
    }
  }
  if (!attempt->stale) add_upkeep(*attempt);
  return attempt;
}

void Machine::take_request(Attempt& attempt, Request request) {
  if (request.work->failure) return request.promise.resolve(fail(*request.work->failure));
  const Draft before = attempt.draft;
  RequestSteps steps(attempt.draft);
  request.outcome = {};
  const Result<void> added = request.acquire ? steps.add(step::TakeOver{attempt.draft.epoch() + 1})
                                             : steps.add(request.work->commit, request.outcome);
  if (added) {
    request.outcome.epoch = attempt.draft.epoch();
    std::ranges::move(steps.steps, std::back_inserter(attempt.steps));
    attempt.accepted.push_back(std::move(request));
    return;
  }
  attempt.draft = before;
  if (!request.verified) {
    attempt.stale = true;
    attempt.waiting.push_back(std::move(request));
  } else if (added.error().code == ErrorCode::kConflict) {
    request.promise.resolve(request.outcome);
  } else {
    request.promise.resolve(Unexpected(added.error()));
  }
}

void Machine::add_upkeep(Attempt& attempt) {
  Pending pending = std::exchange(pending_, {});
  const auto add = [&](Step step) {
    if (!attempt.draft.apply(step)) return false;
    attempt.steps.push_back(std::move(step));
    return true;
  };
  for (const auto& [shard, since] : pending.sinces) {
    const ShardState* known = attempt.draft.shard(shard);
    if (known == nullptr || since <= known->since) continue;
    if (add(step::Since{shard, std::min(since, known->upper)}))
      attempt.upkeep.sinces[shard] = since;
  }
  for (step::Replace& replace : pending.replaces) {
    if (replace.batch != nullptr) {
      Batch numbered = *replace.batch;
      numbered.id = attempt.draft.new_batch_id();
      replace.batch = std::make_shared<const Batch>(std::move(numbered));
    }
    if (add(replace)) {
      attempt.upkeep.replaces.push_back(std::move(replace));
    } else {
      merging_.erase(replace.shard);  // its batches are gone; the merged parts are leftovers
    }
  }
  if (pending.rollup && add(step::Rollup{*pending.rollup})) attempt.upkeep.rollup = pending.rollup;
  if (!pending.forgotten.empty() && add(step::Forget{pending.forgotten})) {
    attempt.upkeep.forgotten = std::move(pending.forgotten);
  }
  upkeep_due_ = false;
}

void Machine::give_back_upkeep(Pending upkeep) {
  std::ranges::move(upkeep.replaces, std::back_inserter(pending_.replaces));
  std::ranges::move(upkeep.forgotten, std::back_inserter(pending_.forgotten));
  for (const auto& [shard, since] : upkeep.sinces) {
    Time& waiting = pending_.sinces[shard];
    waiting = std::max(waiting, since);
  }
  if (upkeep.rollup && !pending_.rollup) pending_.rollup = std::move(upkeep.rollup);
}

void Machine::put_back(std::vector<Request>& requests) {
  const bool refuse = inbox_.with([&](Inbox& inbox) {
    if (inbox.closed) return true;
    std::ranges::move(requests, std::back_inserter(inbox.requests));
    std::ranges::sort(inbox.requests, {}, &Request::order);
    return false;
  });
  if (refuse) {
    for (Request& request : requests) request.promise.resolve(closed());
  }
  requests.clear();
}

void Machine::give_back(Attempt& attempt) {
  put_back(attempt.accepted);
  give_back_upkeep(std::exchange(attempt.upkeep, {}));
}

// After it, the requests that are waiting now have been seen by a state newer than themselves.
Future<Unit> Machine::look_again(std::shared_ptr<Machine> self) {
  const std::size_t waiting = self->inbox_.with([](Inbox& inbox) { return inbox.requests.size(); });
  Future<Unit> refreshing = refresh(self);
  const Result<Unit> refreshed = co_await std::move(refreshing);
  std::vector<Request> refused;
  self->inbox_.with([&](Inbox& inbox) {
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
  co_return Unit{};
}

Future<Unit> Machine::pump(std::shared_ptr<Machine> self) {
  while (self->has_requests() || (self->upkeep_due_ && !self->pending_.empty())) {
    if (self->is_closed()) break;
    const auto attempt = self->build_attempt();
    self->put_back(attempt->waiting);
    if (attempt->stale) {
      self->give_back(*attempt);
      Future<Unit> looking = look_again(self);
      const Result<Unit> looked = co_await std::move(looking);
      FRESHET_ASSERT(looked.has_value());
      continue;
    }
    if (attempt->steps.empty()) {
      for (Request& request : attempt->accepted) request.promise.resolve(request.outcome);
      break;  // what is left is not ready, and starts the pump when it is
    }
    StateVersion version{.seqno = self->state().seqno + 1,
                         .mark = self->random_.with([](base::Random& r) { return r.next(); }),
                         .rollup = attempt->upkeep.rollup.value_or(self->state().rollup),
                         .steps = std::move(attempt->steps)};
    base::Bytes data = encode_version(version);
    const std::size_t size = data.size();
    Future<Written> writing = write(self, {version.seqno, std::move(data)}, version.mark);
    const Result<Written> written = co_await std::move(writing);
    if (written && *written == Written::kApplied) {
      self->accept(*attempt, version, size);
    } else if (written) {
      for (Request& request : attempt->accepted) request.verified = true;
      self->give_back(*attempt);
    } else {
      for (Request& request : attempt->accepted)
        request.promise.resolve(Unexpected(written.error()));
      self->give_back_upkeep(std::exchange(attempt->upkeep, {}));
      if (!self->pending_.empty()) self->arm_upkeep();
    }
  }
  self->pumping_ = false;
  self->check_settled();
  co_return Unit{};
}

// Ends only when it is known whether this very version is part of the chain. A failure that says
// "nothing happened" ends it too, unless an earlier attempt left that open.
Future<Machine::Written> Machine::write(std::shared_ptr<Machine> self, Version version,
                                        std::uint64_t mark) {
  Backoff backoff(self->environment_.scheduler);
  bool maybe_applied = false;
  while (true) {
    Future<CasOutcome> setting = self->environment_.consensus.compare_and_set(self->key_, version);
    const Result<CasOutcome> outcome = co_await std::move(setting);
    if (outcome && *outcome == CasOutcome::kApplied) co_return Written::kApplied;
    std::optional<Error> error;
    if (outcome) {
      Future<Unit> refreshing = refresh(self);
      const Result<Unit> refreshed = co_await std::move(refreshing);
      if (refreshed) {
        const auto& marks = self->state().marks;
        if (std::ranges::find(marks, mark) != marks.end()) co_return Written::kApplied;
        co_return Written::kMismatch;
      }
      error = refreshed.error();
    } else {
      error = outcome.error();
      maybe_applied = maybe_applied || error->code == ErrorCode::kIndeterminate;
    }
    const bool closed = self->is_closed();
    const bool retry = may_help_to_retry(*error) &&
                       (maybe_applied || backoff.attempts() < kAttemptsMax) && !closed;
    if (!retry) {
      if (maybe_applied) error->code = ErrorCode::kIndeterminate;
      co_return Unexpected(std::move(*error));
    }
    Future<Unit> pause = backoff.wait();
    const Result<Unit> waited = co_await std::move(pause);
    if (!waited) {
      co_return fail(maybe_applied ? ErrorCode::kIndeterminate : ErrorCode::kCancelled,
                     "persist was closed during a commit");
    }
  }
}

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

}  // namespace freshet::persist
