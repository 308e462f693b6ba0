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
                 .schema = shard.schema,
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
    const auto shard = view.state.shards.find(id);
    if (shard == view.state.shards.end()) return Future<Time>::ready(no_shard(id));
    if (view.closed) return Future<Time>::ready(closed());
    if (shard->second->upper > time) return Future<Time>::ready(shard->second->upper);
    Waiter waiter{.time = time};
    Future<Time> future = waiter.promise.future();
    view.waiters.emplace(id, std::move(waiter));
    return future;
  });
}

std::shared_ptr<void> Machine::pin() {
  return view_.with([this](View& view) { return pin(view); });
}

std::shared_ptr<void> Machine::pin(View& view) {
  const std::uint64_t seqno = view.state.seqno;
  view.pins.insert(seqno);
  return {this, [weak = weak_from_this(), seqno](void*) {
            if (const auto self = weak.lock()) self->unpin(seqno);
          }};
}

Result<ShardPlan> Machine::plan(ShardId id) {
  return view_.with([&](View& view) -> Result<ShardPlan> {
    const auto shard = view.state.shards.find(id);
    if (shard == view.state.shards.end()) return no_shard(id);
    if (view.closed) return closed();
    ShardPlan plan{.batches = shard->second->batches,
                   .since = shard->second->since,
                   .upper = shard->second->upper};
    plan.pin = pin(view);
    return plan;
  });
}

void Machine::unpin(std::uint64_t seqno) {
  std::vector<base::Promise<Unit>> waiting;
  view_.with([&](View& view) {
    view.pins.erase(view.pins.find(seqno));
    if (view.pins.empty()) waiting.swap(view.unpinned);
  });
  for (auto& promise : waiting) promise.resolve(Unit{});
  strand_.post([self = shared_from_this()] {
    if (!self->state().unlinked.empty()) self->start_upkeep();
  });
}

Future<Unit> Machine::unpinned() {
  base::Promise<Unit> promise;
  Future<Unit> future = promise.future();
  view_.with([&](View& view) {
    if (!view.pins.empty()) view.unpinned.push_back(std::move(promise));
  });
  if (promise.pending()) promise.resolve(Unit{});
  return future;
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

}  // namespace freshet::persist
