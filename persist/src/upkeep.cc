// SPDX-License-Identifier: Apache-2.0
// Merging batches, rolling up the state, removing what nobody reads. It starts after commits and
// ends when there is nothing left to do; its results wait for a commit to ride on.
#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

constexpr std::size_t kMergesMax = 4;
constexpr std::uint64_t kLevelBytes = 4096;
/// A merged batch up to this size stays in the state.
constexpr std::uint64_t kMergedInlineBytes = 4096;
constexpr std::size_t kMergeChunkBytes = 1 << 20;

std::size_t level_of(std::uint64_t bytes, std::size_t fan_in) {
  std::size_t level = 0;
  for (std::uint64_t limit = kLevelBytes; bytes > limit; limit *= fan_in) ++level;
  return level;
}

// The latest batches of about one size, once there are enough. Every update is merged once per size
// class, so the work is logarithmic in the shard.
std::vector<BatchEntry> batches_to_merge(const ShardState& shard, std::size_t fan_in) {
  std::size_t count = 0;
  std::size_t level = 0;
  for (auto it = shard.batches.rbegin(); it != shard.batches.rend(); ++it) {
    const std::size_t own = level_of((*it)->bytes, fan_in);
    if (own > level && count >= fan_in) break;
    level = std::max(level, own);
    ++count;
  }
  if (count < fan_in) return {};
  return {shard.batches.end() - static_cast<std::ptrdiff_t>(count), shard.batches.end()};
}

}  // namespace

void Machine::consider_upkeep(const std::vector<ShardId>& shards) {
  if (epoch_ == 0) return;
  to_merge_.insert(shards.begin(), shards.end());
  start_upkeep();
}

void Machine::start_upkeep() {
  if (upkeeping_ || epoch_ == 0) return;
  upkeeping_ = true;
  std::move(upkeep(shared_from_this())).on_ready(strand_, [](Result<Unit>) {});
}

Future<Unit> Machine::upkeep(std::shared_ptr<Machine> self) {
  self->start_merges();
  const GroupState& state = self->state();
  const std::uint64_t due = std::max(self->options_.rollup_bytes, state.rollup.size / 2);
  if (!self->pending_.rollup &&
      (state.seqno - state.rollup.seqno >= self->options_.rollup_versions ||
       self->bytes_since_rollup_ >= due)) {
    Future<Unit> rolling = roll_up(self);
    const Result<Unit> rolled = co_await std::move(rolling);
    if (!rolled) self->environment_.log.warn("no rollup", {{"error", rolled.error().message}});
  }
  if (!state.unlinked.empty()) {
    Future<Unit> collecting = collect(self);
    const Result<Unit> collected = co_await std::move(collecting);
    if (!collected) {
      self->environment_.log.warn("garbage stays", {{"error", collected.error().message}});
    }
  }
  self->upkeeping_ = false;
  if (!self->to_merge_.empty()) self->start_merges();
  self->check_settled();
  co_return Unit{};
}

void Machine::start_merges() {
  for (auto it = to_merge_.begin(); it != to_merge_.end() && merging_.size() < kMergesMax;) {
    const auto shard = state().shards.find(*it);
    if (shard == state().shards.end()) {
      it = to_merge_.erase(it);
      continue;
    }
    if (merging_.contains(*it)) {
      ++it;
      continue;
    }
    std::vector<BatchEntry> inputs = batches_to_merge(*shard->second, options_.merge_fan_in);
    it = to_merge_.erase(it);
    if (inputs.empty()) continue;
    merging_.insert(shard->first);
    std::move(merge(shared_from_this(), shard->first, std::move(inputs)))
        .on_ready(strand_, [](Result<Unit>) {});
  }
}

Time Machine::own_hold(ShardId shard) const {
  return view_.with([&](const View& view) {
    const auto it = view.holds.find(shard);
    return it == view.holds.end() || it->second.empty() ? kClosed : *it->second.begin();
  });
}

// The since committed by the owner comes first, then what readers hold: a reader that comes later
// has written its hold before it reads that since, and gives up if it is late.
Future<Unit> Machine::merge(std::shared_ptr<Machine> self, ShardId shard,
                            std::vector<BatchEntry> inputs) {
  const auto found = self->state().shards.find(shard);
  Time since = found == self->state().shards.end() ? 0 : found->second->since;
  Future<HoldTable> asking = Session::others(self->session_);
  Result<HoldTable> others = co_await std::move(asking);
  Result<BatchEntry> merged = fail(ErrorCode::kUnavailable, "");
  if (others) {
    if (const auto group = others->find(self->name_); group != others->end()) {
      const auto hold = group->second.holds.find(shard);
      if (hold != group->second.holds.end()) since = std::min(since, hold->second);
    }
    since = std::min(since, self->own_hold(shard));
    Future<BatchEntry> merging = merge_batches(self, shard, inputs, since);
    merged = co_await std::move(merging);
  } else {
    merged = Unexpected(others.error());
  }
  if (merged) {
    step::Replace replace{.shard = shard, .batch = *merged};
    for (const BatchEntry& input : inputs) replace.ids.push_back(input->id);
    self->pending_.replaces.push_back(std::move(replace));
    self->arm_upkeep();
  } else {
    self->merging_.erase(shard);
    const auto level =
        merged.error().code == ErrorCode::kCorrupt ? base::LogLevel::kError : base::LogLevel::kWarn;
    self->environment_.log.write(level, "batches stay unmerged",
                                 {{"shard", to_string(shard)}, {"error", merged.error().message}});
  }
  if (!self->to_merge_.empty()) self->start_merges();
  self->check_settled();
  co_return Unit{};
}

Future<BatchEntry> Machine::merge_batches(std::shared_ptr<Machine> self, ShardId shard,
                                          std::vector<BatchEntry> inputs, Time since) {
  const IoRef io = self->new_io();
  const auto merger =
      std::make_shared<Merger>(open_runs(shard, inputs, ReadWindow{.advance_to = since}));
  Batch merged{.lower = inputs.front()->lower, .upper = inputs.back()->upper, .since = since};
  Run run;
  Updates buffer;
  bool more = true;
  while (more) {
    Future<Updates> reading = Merger::next(io, merger, kMergeChunkBytes);
    Result<Updates> chunk = co_await std::move(reading);
    FRESHET_CO_CHECK(chunk);
    more = !chunk->empty();
    buffer.append(*chunk);
    if (buffer.empty()) break;
    if (!more && run.empty() && buffer.byte_size() <= kMergedInlineBytes) break;
    if (more && buffer.byte_size() < self->options_.part_bytes) continue;
    Future<PartRef> uploading =
        upload_part(io, self->new_key("m"), std::exchange(buffer, Updates()));
    Result<PartRef> part = co_await std::move(uploading);
    FRESHET_CO_CHECK(part);
    FRESHET_ASSERT(*part != nullptr);
    merged.updates += (*part)->updates;
    merged.bytes += (*part)->size;
    merged.row_hash_sum += (*part)->row_hash_sum;
    run.push_back(std::move(part).value());
  }
  if (!run.empty()) merged.runs.push_back(std::move(run));
  if (!buffer.empty()) {
    merged.updates += buffer.size();
    merged.bytes += buffer.byte_size();
    merged.row_hash_sum += buffer.row_hash_sum();
    merged.inlined = std::make_shared<const Updates>(std::move(buffer));
  }
  std::uint64_t expected = 0;
  for (const BatchEntry& input : inputs) expected += input->row_hash_sum;
  if (merged.row_hash_sum != expected) {
    co_return fail(ErrorCode::kCorrupt, "merged batches of shard " + to_string(shard) +
                                            " do not add up to their inputs");
  }
  if (merged.updates == 0) co_return BatchEntry();
  co_return BatchEntry(std::make_shared<const Batch>(std::move(merged)));
}

Future<Unit> Machine::roll_up(std::shared_ptr<Machine> self) {
  auto bytes = std::make_shared<const base::Bytes>(encode_rollup(self->state()));
  RollupRef rollup{.seqno = self->state().seqno, .key = self->new_key("r"), .size = bytes->size()};
  self->bytes_since_rollup_ = 0;
  Future<Unit> setting = set_patiently(self->new_io(), rollup.key, bytes);
  Result<Unit> set = co_await std::move(setting);
  FRESHET_CO_CHECK(set);
  self->pending_.rollup = std::move(rollup);
  self->arm_upkeep();
  co_return Unit{};
}

// The versions before a rollup serve nobody once it is on record.
void Machine::truncate(std::uint64_t seqno) {
  std::move(patiently<Unit>(shared_from_this(), environment_.scheduler,
                            [&consensus = environment_.consensus, key = key_, seqno] {
                              return consensus.truncate(key, seqno);
                            }))
      .on_ready(strand_, [self = shared_from_this()](Result<Unit> done) {
        if (!done && done.error().code != ErrorCode::kCancelled) {
          self->environment_.log.warn("old versions stay", {{"error", done.error().message}});
        }
      });
}

// An object unlinked by version n is named by no state from n on: it can go once nobody reads an
// older one. Removal comes before the record of it, so that a crash between repeats it.
Future<Unit> Machine::collect(std::shared_ptr<Machine> self) {
  Future<HoldTable> asking = Session::others(self->session_);
  Result<HoldTable> others = co_await std::move(asking);
  FRESHET_CO_CHECK(others);
  std::uint64_t oldest = self->view_.with(
      [](View& view) { return view.pins.empty() ? UINT64_MAX : *view.pins.begin(); });
  if (const auto group = others->find(self->name_); group != others->end()) {
    oldest = std::min(oldest, group->second.seqno);
  }
  std::vector<std::string> keys;
  for (const Unlinked& object : self->state().unlinked) {
    if (object.seqno <= oldest && !self->collected_.contains(object.key))
      keys.push_back(object.key);
  }
  const IoRef io = self->new_io();
  for (const std::string& key : keys) {
    Future<Unit> removing = remove_patiently(io, key);
    Result<Unit> removed = co_await std::move(removing);
    FRESHET_CO_CHECK(removed);
    self->collected_.insert(key);
    self->pending_.forgotten.push_back(key);
  }
  if (!keys.empty()) self->arm_upkeep();
  co_return Unit{};
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
  base::Promise<Unit> promise;
  Future<Unit> settled = promise.future();
  self->inbox_.with([&](Inbox& inbox) {
    if (!inbox.closed) inbox.settled.push_back(std::move(promise));
  });
  self->start_upkeep();
  self->check_settled();
  Result<Unit> result = co_await std::move(settled);
  co_return std::move(result);
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
