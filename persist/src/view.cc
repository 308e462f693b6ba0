// SPDX-License-Identifier: Apache-2.0
// What other threads see of a machine, and the holds they take.
#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

ShardInfo describe(const ShardState& shard) {
  ShardInfo info{.shard = shard.id,
                 .since = shard.since,
                 .upper = shard.upper,
                 .schema_id = shard.schema_id,
                 .batches = shard.batches.size()};
  for (const BatchEntry& batch : shard.batches) {
    info.updates += batch->updates;
    info.stored_bytes += batch->bytes;
  }
  return info;
}

Unexpected no_shard(ShardId shard) {
  return fail(ErrorCode::kNotFound, "no shard " + to_string(shard));
}

Unexpected closed() { return fail(ErrorCode::kCancelled, "persist was closed"); }

}  // namespace

std::optional<ShardInfo> Machine::shard(ShardId id) const {
  const auto shard = view_.with([&](const View& view) -> std::shared_ptr<const ShardState> {
    const auto it = view.state.shards.find(id);
    return it == view.state.shards.end() ? nullptr : it->second;
  });
  if (shard == nullptr) return std::nullopt;
  return describe(*shard);
}

std::vector<ShardInfo> Machine::shards() const {
  std::vector<std::shared_ptr<const ShardState>> states;
  view_.with([&](const View& view) {
    for (const auto& [id, shard] : view.state.shards) states.push_back(shard);
  });
  std::vector<ShardInfo> infos;
  for (const auto& shard : states) infos.push_back(describe(*shard));
  return infos;
}

Epoch Machine::epoch() const {
  return view_.with([](const View& view) { return view.state.epoch; });
}

Future<Time> Machine::upper_past(ShardId id, Time time) {
  return view_.with([&](View& view) {
    if (view.closed) return Future<Time>::ready(closed());
    const auto shard = view.state.shards.find(id);
    if (shard == view.state.shards.end()) return Future<Time>::ready(no_shard(id));
    if (shard->second->upper > time) return Future<Time>::ready(shard->second->upper);
    Waiter waiter{.time = time};
    Future<Time> future = waiter.promise.future();
    view.waiters.emplace(id, std::move(waiter));
    return future;
  });
}

Result<ShardPlan> Machine::plan(ShardId id) {
  return view_.with([&](View& view) -> Result<ShardPlan> {
    if (view.closed) return closed();
    const auto shard = view.state.shards.find(id);
    if (shard == view.state.shards.end()) return no_shard(id);
    ShardPlan plan{.batches = shard->second->batches,
                   .since = shard->second->since,
                   .upper = shard->second->upper};
    const std::uint64_t seqno = view.state.seqno;
    view.pins.insert(seqno);
    const auto release = [weak = weak_from_this(), seqno](void*) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->view_.with([&](View& v) { v.pins.erase(v.pins.find(seqno)); });
      self->strand_.post([self] {
        if (!self->state().unlinked.empty()) self->start_upkeep();
      });
    };
    plan.pin = std::shared_ptr<void>(this, release);
    return plan;
  });
}

void Machine::change_hold(ShardId shard, std::optional<Time> from, std::optional<Time> to) {
  view_.with([&](View& view) {
    auto& times = view.holds[shard];
    if (from) {
      const auto it = times.find(*from);
      FRESHET_ASSERT(it != times.end(), *from);
      times.erase(it);
    }
    if (to) times.insert(*to);
    if (times.empty()) view.holds.erase(shard);
  });
  if (from) session_->publish_later();
}

// The hold is written first, then the state is read: either the owner sees the hold before it
// merges, or its since is seen here.
Future<Unit> Machine::hold(std::shared_ptr<Machine> self, ShardId shard, Time at) {
  return on(self)
      .and_then([shard, at](const auto& machine) -> Future<Unit> {
        machine->change_hold(shard, std::nullopt, at);
        if (machine->session_->exclusive()) return done();
        return on(machine, Session::publish(machine->session_)).and_then(refresh);
      })
      .then([shard, at](const auto& machine, Result<Unit> published) -> Result<void> {
        Result<void> readable =
            published ? machine->readable_at(shard, at) : Unexpected(std::move(published).error());
        if (!readable) machine->change_hold(shard, at, std::nullopt);
        return readable;
      });
}

Result<void> Machine::readable_at(ShardId shard, Time at) {
  if (is_closed()) return closed();
  const auto found = state().shards.find(shard);
  if (found == state().shards.end()) return no_shard(shard);
  if (found->second->since <= at) return {};
  return fail(ErrorCode::kInvalid, "shard " + to_string(shard) + " can be read from " +
                                       std::to_string(found->second->since) + " on, not at " +
                                       std::to_string(at));
}

void Machine::close() {
  std::multimap<ShardId, Waiter> waiters;
  view_.with([&](View& view) {
    view.closed = true;
    waiters.swap(view.waiters);
  });
  Inbox left;
  inbox_.with([&](Inbox& inbox) {
    inbox.closed = true;
    left.requests.swap(inbox.requests);
    left.settled.swap(inbox.settled);
  });
  for (auto& [shard, waiter] : waiters) waiter.promise.resolve(closed());
  for (Request& request : left.requests) request.promise.resolve(closed());
  for (auto& promise : left.settled) promise.resolve(closed());
  strand_.post([self = shared_from_this()] {
    if (self->upkeep_timer_ != 0) self->environment_.scheduler.cancel(self->upkeep_timer_);
    self->epoch_ = 0;
  });
}

// First the state goes, so that nothing names the objects any more; then the objects.
Future<Unit> Machine::erase(std::shared_ptr<Machine> self) {
  return on(self, refresh(self))
      .and_then(remove_state)
      .and_then([](const auto& machine) {
        machine->close();
        return list_objects(machine);
      })
      .and_then(remove_objects);
}

Future<Unit> Machine::remove_state(std::shared_ptr<Machine> self) {
  const std::uint64_t seqno = self->state().seqno;
  if (seqno == 0) return done();
  const auto remove = [&consensus = self->environment_.consensus, key = self->key_, seqno] {
    return consensus.remove(key, seqno);
  };
  return on(self, patiently<CasOutcome>(self, self->environment_.scheduler, remove))
      .and_then([](const auto& machine, CasOutcome) { return head(machine); })
      .and_then([](const auto& machine, std::optional<Version> head) -> Result<void> {
        if (!head) return {};
        return fail(ErrorCode::kConflict, "group \"" + machine->name_ + "\" is in use");
      });
}

}  // namespace freshet::persist
