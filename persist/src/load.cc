// SPDX-License-Identifier: Apache-2.0
// How the state comes into memory: from the latest rollup and the versions after it.
#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {
constexpr std::size_t kScanVersions = 256;
constexpr int kReloadsMax = 20;
}  // namespace

Machine::Machine(Environment environment, const ClientOptions& options,
                 std::shared_ptr<Session> session, std::string name)
    : environment_(environment),
      options_(options),
      session_(std::move(session)),
      name_(std::move(name)),
      key_("group/" + name_),
      codec_(make_block_codec({.compression = options.compression})),
      strand_(environment.scheduler),
      random_(std::in_place, base::Random(base::mix64(options.seed) ^ hash_bytes(name_))) {}

std::string Machine::new_key(const char* kind) {
  return name_ + "/" + session_->id() + "/" + kind + std::to_string(session_->next_number());
}

Future<Unit> Machine::load(std::shared_ptr<Machine> self) {
  const std::weak_ptr<Machine> weak = self;
  Future<Unit> joining = Session::join(
      self->session_, self->name_,
      [weak] {
        const auto machine = weak.lock();
        return machine == nullptr ? GroupHolds{.seqno = UINT64_MAX} : machine->current_holds();
      },
      [weak] {
        if (const auto machine = weak.lock()) machine->close();
      });
  Result<Unit> joined = co_await std::move(joining);
  FRESHET_CO_CHECK(joined);
  Future<Unit> refreshing = refresh(self);
  Result<Unit> refreshed = co_await std::move(refreshing);
  FRESHET_CO_CHECK(refreshed);
  if (!self->session_->exclusive()) co_return Unit{};
  Future<Unit> removing = remove_leftovers(self);
  Result<Unit> removed = co_await std::move(removing);
  co_return std::move(removed);
}

// What earlier processes uploaded without linking it. They are gone, so nobody will.
Future<Unit> Machine::remove_leftovers(std::shared_ptr<Machine> self) {
  const IoRef io = self->new_io();
  Future<std::vector<BlobInfo>> listing = patiently<std::vector<BlobInfo>>(
      self, self->environment_.scheduler,
      [&blob = self->environment_.blob, prefix = self->name_ + "/"] { return blob.list(prefix); });
  Result<std::vector<BlobInfo>> objects = co_await std::move(listing);
  FRESHET_CO_CHECK(objects);
  const std::set<std::string> named = named_objects(self->state());
  const std::string own = self->name_ + "/" + self->session_->id() + "/";
  for (const BlobInfo& object : *objects) {
    if (named.contains(object.key) || object.key.starts_with(own)) continue;
    Future<Unit> removing = remove_patiently(io, object.key);
    Result<Unit> removed = co_await std::move(removing);
    FRESHET_CO_CHECK(removed);
  }
  co_return Unit{};
}

Result<void> Machine::apply_version(const Version& version) {
  const auto named = [&](Error error) {
    error.code = ErrorCode::kCorrupt;
    error.message += " (version " + std::to_string(version.seqno) + " of group \"" + name_ + "\")";
    environment_.log.error("a version of a group is damaged", {{"error", error.message}});
    return fail(std::move(error));
  };
  Result<StateVersion> decoded = decode_version(version.data);
  if (!decoded) return named(std::move(decoded).error());
  if (decoded->seqno != version.seqno) {
    return named({.message = "version of a group has another one's number"});
  }
  Draft draft(state());
  for (const Step& step : decoded->steps) {
    if (Result<void> applied = draft.apply(step); !applied)
      return named(std::move(applied).error());
  }
  const std::vector<ShardId> shards =
      view_.with([&](View& view) { return std::move(draft).move_into(view.state, decoded->mark); });
  changed(shards, version.data.size());
  return {};
}

// Several refreshes may run at once: each applies only what comes next.
Future<Unit> Machine::refresh(std::shared_ptr<Machine> self) {
  for (int reloads = 0; reloads < kReloadsMax;) {
    const std::uint64_t from = self->state().seqno + 1;
    Future<std::vector<Version>> scanning = patiently<std::vector<Version>>(
        self, self->environment_.scheduler,
        [&consensus = self->environment_.consensus, key = self->key_, from] {
          return consensus.scan(key, from, kScanVersions);
        });
    Result<std::vector<Version>> versions = co_await std::move(scanning);
    FRESHET_CO_CHECK(versions);
    if (versions->empty()) co_return Unit{};
    bool gap = false;
    for (const Version& version : *versions) {
      const std::uint64_t have = self->state().seqno;
      if (version.seqno <= have) continue;
      gap = version.seqno != have + 1;
      if (gap) break;
      Result<void> applied = self->apply_version(version);
      FRESHET_CO_CHECK(applied);
    }
    if (!gap && versions->size() < kScanVersions) co_return Unit{};
    if (!gap) continue;
    ++reloads;
    Future<Unit> reloading = reload(self);
    Result<Unit> reloaded = co_await std::move(reloading);
    FRESHET_CO_CHECK(reloaded);
  }
  co_return fail(ErrorCode::kUnavailable,
                 "the state of group \"" + self->name_ + "\" changes faster than it can be read");
}

// Goes on from the latest rollup, if that is further than what is known.
Future<Unit> Machine::reload(std::shared_ptr<Machine> self) {
  Future<std::optional<Version>> asking =
      patiently<std::optional<Version>>(self, self->environment_.scheduler,
                                        [&consensus = self->environment_.consensus,
                                         key = self->key_] { return consensus.head(key); });
  Result<std::optional<Version>> head = co_await std::move(asking);
  FRESHET_CO_CHECK(head);
  if (!*head) co_return Unit{};
  Result<RollupRef> rollup = decode_version_rollup((*head)->data);
  FRESHET_CO_CHECK(rollup);
  if (rollup->seqno <= self->state().seqno) co_return Unit{};
  Future<base::Bytes> getting = get_patiently(self->new_io(), rollup->key);
  Result<base::Bytes> bytes = co_await std::move(getting);
  // Gone: a newer rollup took its place meanwhile. The caller looks again.
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) co_return Unit{};
  FRESHET_CO_CHECK(bytes);
  Result<GroupState> decoded = decode_rollup(*bytes);
  if (!decoded) {
    Error error = decoded.error();
    error.message += " (object \"" + rollup->key + "\")";
    self->environment_.log.error("a rollup is damaged", {{"error", error.message}});
    co_return Unexpected(std::move(error));
  }
  if (decoded->seqno <= self->state().seqno) co_return Unit{};
  std::vector<ShardId> shards;
  self->view_.with([&](View& view) {
    for (const auto& [id, shard] : view.state.shards) shards.push_back(id);
    for (const auto& [id, shard] : decoded->shards) shards.push_back(id);
    view.state = std::move(decoded).value();
  });
  self->changed(shards, 0);
  co_return Unit{};
}

// Wakes who waits, and looks whether there is upkeep to do.
void Machine::changed(const std::vector<ShardId>& shards, std::size_t bytes) {
  bytes_since_rollup_ += bytes;
  std::vector<std::pair<base::Promise<Time>, Result<Time>>> ready;
  view_.with([&](View& view) {
    for (const ShardId id : shards) {
      const auto shard = view.state.shards.find(id);
      const auto [first, last] = view.waiters.equal_range(id);
      for (auto it = first; it != last;) {
        if (shard == view.state.shards.end()) {
          ready.emplace_back(std::move(it->second.promise),
                             fail(ErrorCode::kNotFound, "shard " + to_string(id) + " was dropped"));
        } else if (shard->second->upper > it->second.time) {
          ready.emplace_back(std::move(it->second.promise), shard->second->upper);
        } else {
          ++it;
          continue;
        }
        it = view.waiters.erase(it);
      }
    }
  });
  for (auto& [promise, result] : ready) promise.resolve(std::move(result));
  if (!session_->exclusive()) session_->publish_later();
  if (epoch_ != 0 && state().epoch != epoch_) epoch_ = 0;
  consider_upkeep(shards);
}

}  // namespace freshet::persist
