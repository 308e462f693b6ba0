// SPDX-License-Identifier: Apache-2.0
// Rolling up the state, removing what nobody reads, and when to do it. Upkeep starts after commits
// and ends when there is nothing left to do; its results wait for a commit to ride on.
#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

void Machine::consider_upkeep(const std::vector<ShardId>& shards) {
  if (epoch_ == 0) return;
  to_merge_.insert(shards.begin(), shards.end());
  start_upkeep();
}

void Machine::start_upkeep() {
  if (upkeeping_ || epoch_ == 0) return;
  upkeeping_ = true;
  on(shared_from_this())
      .and_then([](const auto& self) {
        self->start_merges();
        return roll_up_if_due(self);
      })
      .then([](const auto& self, Result<Unit> rolled) {
        self->warn_if_failed("no rollup", rolled);
        return collect(self);
      })
      .finally([](const auto& self, Result<Unit> collected) {
        self->warn_if_failed("garbage stays", collected);
        self->upkeeping_ = false;
        if (!self->to_merge_.empty()) self->start_merges();
        self->check_settled();
      });
}

void Machine::warn_if_failed(std::string_view consequence, const Result<Unit>& result) {
  if (result) return;
  environment_.log.warn(consequence, {{"error", result.error().message}});
}

Future<Unit> Machine::roll_up_if_due(std::shared_ptr<Machine> self) {
  const GroupState& state = self->state();
  const std::uint64_t bytes_due = std::max(self->options_.rollup_bytes, state.rollup.size / 2);
  const bool due = state.seqno - state.rollup.seqno >= self->options_.rollup_versions ||
                   self->bytes_since_rollup_ >= bytes_due;
  if (self->pending_.rollup || !due) return done();
  auto bytes = std::make_shared<const base::Bytes>(encode_rollup(state));
  RollupRef rollup{.seqno = state.seqno, .key = self->new_key("r"), .size = bytes->size()};
  self->bytes_since_rollup_ = 0;
  return on(self, set_patiently(self->new_io(), rollup.key, std::move(bytes)))
      .and_then([rollup](const auto& machine) {
        machine->pending_.rollup = rollup;
        machine->arm_upkeep();
      });
}

// The versions before a rollup serve nobody once it is on record.
void Machine::truncate(std::uint64_t seqno) {
  const auto truncate = [&consensus = environment_.consensus, key = key_, seqno] {
    return consensus.truncate(key, seqno);
  };
  on(shared_from_this(), patiently<Unit>(shared_from_this(), environment_.scheduler, truncate))
      .finally([](const auto& self, Result<Unit> done) {
        if (!done && done.error().code == ErrorCode::kCancelled) return;
        self->warn_if_failed("old versions stay", done);
      });
}

// An object unlinked by version n is named by no state from n on: it can go once nobody reads an
// older one. Removal comes before the record of it, so that a crash between repeats it.
Future<Unit> Machine::collect(std::shared_ptr<Machine> self) {
  if (self->state().unlinked.empty()) return done();
  const auto remove = [io = self->new_io()](const auto& machine, const std::string& key) {
    return on(machine, remove_patiently(io, key)).and_then([key](const auto& owner) {
      owner->collected_.insert(key);
      owner->pending_.forgotten.push_back(key);
    });
  };
  return on(self, Session::others(self->session_))
      .and_then([remove](const auto& machine, HoldTable others) {
        return in_order(machine, machine->garbage(others), remove);
      })
      .and_then([](const auto& machine) {
        if (!machine->pending_.forgotten.empty()) machine->arm_upkeep();
      });
}

std::vector<std::string> Machine::garbage(const HoldTable& others) {
  std::uint64_t oldest =
      view_.with([](View& view) { return view.pins.empty() ? UINT64_MAX : *view.pins.begin(); });
  if (const auto group = others.find(name_); group != others.end()) {
    oldest = std::min(oldest, group->second.seqno);
  }
  std::vector<std::string> keys;
  for (const Unlinked& object : state().unlinked) {
    if (object.seqno <= oldest && !collected_.contains(object.key)) keys.push_back(object.key);
  }
  return keys;
}

void Machine::arm_upkeep() {
  if (settling()) {
    upkeep_due_ = true;
    start_pump();
    return;
  }
  if (upkeep_timer_ != 0) return;
  upkeep_timer_ = environment_.scheduler.after(options_.maintenance_delay, environment_.scheduler,
                                               [weak = weak_from_this()] {
                                                 const auto self = weak.lock();
                                                 if (self == nullptr) return;
                                                 self->strand_.post([self] {
                                                   self->upkeep_timer_ = 0;
                                                   if (self->pending_.empty()) return;
                                                   self->upkeep_due_ = true;
                                                   self->start_pump();
                                                 });
                                               });
}

void Machine::downgrade_since(ShardId shard, Time since) {
  strand_.post([self = shared_from_this(), shard, since] {
    const auto known = self->state().shards.find(shard);
    if (known == self->state().shards.end() || known->second->since >= since) return;
    Time& pending = self->pending_.sinces[shard];
    pending = std::max(pending, since);
    self->arm_upkeep();
  });
}

bool Machine::settling() const {
  return inbox_.with([](const Inbox& inbox) { return !inbox.settled.empty(); });
}

bool Machine::idle() const {
  return !has_requests() && !pumping_ && !upkeeping_ && pending_.empty() && merging_.empty() &&
         to_merge_.empty();
}

void Machine::check_settled() {
  if (!settling()) return;
  if (!pending_.empty() && !pumping_) {
    upkeep_due_ = true;
    start_pump();
    return;
  }
  if (!idle()) return;
  auto waiting = inbox_.with([](Inbox& inbox) { return std::exchange(inbox.settled, {}); });
  for (auto& promise : waiting) promise.resolve(Unit{});
}

Future<Unit> Machine::settle(std::shared_ptr<Machine> self) {
  return on(self).and_then([](const auto& machine) {
    base::Promise<Unit> promise;
    Future<Unit> settled = promise.future();
    machine->inbox_.with([&](Inbox& inbox) {
      if (!inbox.closed) inbox.settled.push_back(std::move(promise));
    });
    if (promise.pending()) promise.resolve(fail(ErrorCode::kCancelled, "persist was closed"));
    machine->start_upkeep();
    machine->check_settled();
    return settled;
  });
}

GroupHolds Machine::current_holds() const {
  return view_.with([](const View& view) {
    GroupHolds current{.seqno = view.state.seqno};
    if (!view.pins.empty()) current.seqno = std::min(current.seqno, *view.pins.begin());
    for (const auto& [shard, times] : view.holds) {
      if (!times.empty()) current.holds[shard] = *times.begin();
    }
    return current;
  });
}

}  // namespace freshet::persist
