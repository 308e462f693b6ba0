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

Future<Unit> Machine::load(std::shared_ptr<Machine> self, std::vector<std::string> found) {
  const std::weak_ptr<Machine> weak = self;
  const auto current = [weak] {
    const auto machine = weak.lock();
    return machine == nullptr ? GroupHolds{.seqno = UINT64_MAX} : machine->current_holds();
  };
  const auto on_lost = [weak] {
    if (const auto machine = weak.lock()) machine->close();
  };
  return on(self, Session::join(self->session_, self->name_, current, on_lost))
      .and_then(refresh)
      .and_then([found = std::move(found)](const auto& machine) mutable {
        // What earlier processes uploaded without linking it. They are gone, so nobody will.
        const std::set<std::string> named = named_objects(machine->state());
        std::erase_if(found, [&](const std::string& key) { return named.contains(key); });
        return remove_objects(machine, std::move(found));
      });
}

Future<std::vector<std::string>> Machine::list_objects(std::shared_ptr<Machine> self) {
  const auto list = [&blob = self->environment_.blob, prefix = self->name_ + "/"] {
    return blob.list(prefix);
  };
  return on(self, patiently<std::vector<BlobInfo>>(self, self->environment_.scheduler, list))
      .and_then([](const auto&, std::vector<BlobInfo> objects) {
        std::vector<std::string> keys;
        for (BlobInfo& object : objects) keys.push_back(std::move(object.key));
        return keys;
      });
}

Future<Unit> Machine::remove_objects(std::shared_ptr<Machine> self, std::vector<std::string> keys) {
  return in_order(self, std::move(keys),
                  [io = self->new_io()](const auto&, const std::string& key) {
                    return remove_patiently(io, key);
                  });
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
class Machine::Refresh final : public Flow<Refresh, Unit> {
 public:
  explicit Refresh(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
  base::TaskQueue& queue() { return machine_->queue(); }

  void begin() {
    const auto scan = [&consensus = machine_->environment_.consensus, key = machine_->key_,
                       from = machine_->state().seqno + 1] {
      return consensus.scan(key, from, kScanVersions);
    };
    await(patiently<std::vector<Version>>(machine_, machine_->environment_.scheduler, scan),
          &Refresh::scanned);
  }

 private:
  void scanned(std::vector<Version> versions) {
    for (const Version& version : versions) {
      const std::uint64_t have = machine_->state().seqno;
      if (version.seqno <= have) continue;
      if (version.seqno != have + 1) return jump();
      Result<void> applied = machine_->apply_version(version);
      if (!applied) return finish(Unexpected(std::move(applied).error()));
    }
    if (versions.size() < kScanVersions) return finish(Unit{});
    begin();
  }

  // Versions are missing: a rollup took their place.
  void jump() {
    if (++jumps_ > kReloadsMax) {
      return finish(fail(ErrorCode::kUnavailable, "the state of group \"" + machine_->name_ +
                                                      "\" changes faster than it can be read"));
    }
    await(reload(machine_), &Refresh::begin);
  }

  std::shared_ptr<Machine> machine_;
  int jumps_ = 0;
};

Future<Unit> Machine::refresh(std::shared_ptr<Machine> self) {
  return Refresh::start(std::move(self));
}

// Goes on from the latest rollup, if that is further than what is known.
Future<Unit> Machine::reload(std::shared_ptr<Machine> self) {
  return on(self, head(self)).and_then([](const auto& machine, std::optional<Version> head) {
    return machine->fetch_rollup(head);
  });
}

Future<std::optional<Version>> Machine::head(std::shared_ptr<Machine> self) {
  return patiently<std::optional<Version>>(self, self->environment_.scheduler,
                                           [&consensus = self->environment_.consensus,
                                            key = self->key_] { return consensus.head(key); });
}

Future<Unit> Machine::fetch_rollup(const std::optional<Version>& head) {
  if (!head) return done();
  Result<RollupRef> rollup = decode_version_rollup(head->data);
  if (!rollup) return Future<Unit>::ready(Unexpected(std::move(rollup).error()));
  if (rollup->seqno <= state().seqno) return done();
  return on(shared_from_this(), get_patiently(new_io(), rollup->key))
      .then([key = rollup->key](const auto& self, Result<base::Bytes> bytes) -> Result<void> {
        // Gone: a newer rollup took its place meanwhile. The caller looks again.
        if (!bytes && bytes.error().code == ErrorCode::kNotFound) return {};
        const auto stored = FRESHET_TRY(std::move(bytes));
        return self->install_rollup(key, stored);
      });
}

Result<void> Machine::install_rollup(const std::string& key, base::BytesView bytes) {
  Result<GroupState> decoded = decode_rollup(bytes);
  if (!decoded) {
    Error error = std::move(decoded).error();
    error.message += " (object \"" + environment_.blob.location(key) + "\")";
    environment_.log.error("a rollup is damaged", {{"error", error.message}});
    return fail(std::move(error));
  }
  if (decoded->seqno <= state().seqno) return {};
  std::vector<ShardId> shards;
  view_.with([&](View& view) {
    for (const auto& [id, shard] : view.state.shards) shards.push_back(id);
    for (const auto& [id, shard] : decoded->shards) shards.push_back(id);
    view.state = std::move(decoded).value();
  });
  changed(shards, 0);
  return {};
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
