// SPDX-License-Identifier: Apache-2.0
// What callers ask for: requests wait in order and become, with what upkeep has ready, the steps of
// one version.
#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

/// What was uploaded before its time was known gets the time.
void stamp(Batch& batch, Time time) {
  for (Run& run : batch.runs) {
    for (PartRef& part : run) {
      Part stamped = *part;
      stamped.least_time = stamped.greatest_time = time;
      stamped.stamped = true;
      part = std::make_shared<const Part>(std::move(stamped));
    }
  }
  if (batch.inlined == nullptr) return;
  Updates updates = *batch.inlined;
  updates.set_times(time);
  batch.inlined = std::make_shared<const Updates>(std::move(updates));
}

/// A batch of the state from uploaded data.
BatchEntry make_batch(const UploadedBatch& data, std::uint64_t id, Time lower, Time upper) {
  Batch batch{.id = id, .lower = lower, .upper = upper, .runs = data.runs, .inlined = data.inlined};
  if (data.timeless) stamp(batch, upper - 1);
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
  if (data.timeless) return lower < upper;
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
      FRESHET_TRY(add(step::Create{create.shard, create.start, create.schema}));
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

/// One commit of a caller. The request takes its place in the queue at once; what is to be
/// uploaded is, meanwhile.
class Machine::Commitment final : public Flow<Commitment, CommitOutcome> {
 public:
  Commitment(std::shared_ptr<Machine> machine, Commit commit)
      : machine_(std::move(machine)),
        work_(std::make_shared<Work>(Work{.commit = std::move(commit)})),
        answer_(request_.promise.future()) {}
  base::TaskQueue& queue() { return machine_->queue(); }

  void begin() {
    Result<void> sound = machine_->check(work_->commit);
    if (!sound) return finish(Unexpected(std::move(sound).error()));
    request_.work = work_;
    if (!machine_->enqueue(std::move(request_))) return finish(closed());
    upload_next();
  }

 private:
  void upload_next() {
    std::vector<Append>& appends = work_->commit.append;
    for (; next_ < appends.size(); ++next_) {
      Append& append = appends[next_];
      if (append.updates.byte_size() <= machine_->options_.inline_bytes) {
        keep(append);
        continue;
      }
      return await(upload_part(machine_->new_io(), machine_->new_key("p"),
                               std::exchange(append.updates, {})),
                   &Commitment::uploaded);
    }
    ready();
  }

  /// Small updates travel in the state.
  void keep(Append& append) {
    Updates updates = std::exchange(append.updates, {});
    if (updates.empty()) return;
    updates.consolidate();
    if (updates.empty()) return;
    const auto batch = new_batch(append);
    batch->inlined = std::make_shared<const Updates>(std::move(updates));
    append.batches.push_back(batch);
  }

  void uploaded(Result<PartRef> part) {
    if (!part) {
      work_->failure = std::move(part).error();
      return ready();
    }
    Append& append = work_->commit.append[next_++];
    if (*part != nullptr) {
      const auto batch = new_batch(append);
      batch->runs.push_back({std::move(part).value()});
      append.batches.push_back(batch);
    }
    upload_next();
  }

  [[nodiscard]] std::shared_ptr<UploadedBatch> new_batch(const Append& append) const {
    auto batch = std::make_shared<UploadedBatch>();
    batch->group = machine_->name_;
    batch->shard = append.shard;
    return batch;
  }

  void ready() {
    work_->ready = true;
    machine_->start_pump();
    finish_with(std::move(answer_));
  }

  std::shared_ptr<Machine> machine_;
  std::shared_ptr<Work> work_;
  Request request_;
  Future<CommitOutcome> answer_;
  std::size_t next_ = 0;
};

Result<void> Machine::check(const Commit& commit) const {
  for (const Append& append : commit.append) {
    for (const BatchRef& batch : append.batches) {
      if (batch->group != name_ || batch->shard != append.shard) {
        return fail(ErrorCode::kInvalid, "a batch was built for another shard");
      }
    }
    if (append.upper < append.lower) {
      return fail(ErrorCode::kInvalid, "an append moves the upper back");
    }
  }
  return {};
}

Future<CommitOutcome> Machine::commit(std::shared_ptr<Machine> self, Commit commit) {
  return Commitment::start(std::move(self), std::move(commit));
}

Future<Epoch> Machine::acquire(std::shared_ptr<Machine> self) {
  return on(self)
      .and_then([](const auto& machine) {
        Request request{.work = std::make_shared<Work>(Work{.ready = true}), .acquire = true};
        Future<CommitOutcome> answer = request.promise.future();
        if (!machine->enqueue(std::move(request))) return Future<CommitOutcome>::ready(closed());
        machine->start_pump();
        return answer;
      })
      .and_then([](const auto&, const CommitOutcome& outcome) { return outcome.epoch; });
}

Future<Unit> Machine::join(std::shared_ptr<Machine> self, Epoch epoch) {
  return on(self, refresh(self)).and_then([epoch](const auto& machine) -> Result<void> {
    if (machine->state().epoch != epoch) {
      return fail(ErrorCode::kConflict, "a newer writer took over");
    }
    machine->epoch_ = epoch;
    return {};
  });
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

// Nothing of it happened, or nobody can tell.
void Machine::refuse(Attempt& attempt, const Error& error) {
  for (Request& request : attempt.accepted) request.promise.resolve(Unexpected(error));
  give_back_upkeep(std::exchange(attempt.upkeep, {}));
  if (!pending_.empty()) arm_upkeep();
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

}  // namespace freshet::persist
