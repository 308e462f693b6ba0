// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <algorithm>
#include <cstdio>

#include <freshet/base/assert.h>
#include <freshet/base/random.h>

#include "io.h"

namespace freshet::persist {

using base::ByteReader;
using base::Bytes;
using base::BytesView;
using base::ByteWriter;
using base::Future;
using base::Unit;

namespace {

constexpr std::uint32_t kMagic = 0x31535246;  // "FRS1"
constexpr const char* kPrefix = "session/";
constexpr auto kReleaseDelay = std::chrono::seconds(30);

struct Record {
  base::WallMicros heartbeat = 0;
  HoldTable groups{};
};

Bytes encode(const Record& record, std::uint64_t mark) {
  ByteWriter out;
  out.u32(kMagic);
  out.u64(mark);
  out.u64(record.heartbeat);
  out.varint(record.groups.size());
  for (const auto& [name, group] : record.groups) {
    out.bytes(name);
    out.varint(group.seqno);
    out.varint(group.holds.size());
    for (const auto& [shard, time] : group.holds) {
      out.varint(static_cast<std::uint64_t>(shard));
      out.varint(time);
    }
  }
  out.u64(hash_bytes(out.view()));
  return out.take();
}

Result<Record> decode(BytesView bytes) {
  const auto bad = [] { return fail(ErrorCode::kCorrupt, "stored session is damaged"); };
  if (bytes.size() < 8) return bad();
  const BytesView body = bytes.substr(0, bytes.size() - 8);
  if (ByteReader(bytes.substr(body.size())).u64() != hash_bytes(body)) return bad();
  ByteReader in(body);
  if (in.u32() != kMagic) return bad();
  in.u64();
  Record record{.heartbeat = in.u64()};
  for (std::uint64_t groups = in.varint(); groups > 0 && in.ok(); --groups) {
    GroupHolds& group = record.groups[std::string(in.bytes())];
    group.seqno = in.varint();
    for (std::uint64_t holds = in.varint(); holds > 0 && in.ok(); --holds) {
      const ShardId shard{in.varint()};
      group.holds[shard] = in.varint();
    }
  }
  if (!in.ok() || !in.at_end()) return bad();
  return record;
}

void merge(HoldTable& into, const HoldTable& from) {
  for (const auto& [name, group] : from) {
    const auto [it, added] = into.try_emplace(name, group);
    if (added) continue;
    it->second.seqno = std::min(it->second.seqno, group.seqno);
    for (const auto& [shard, time] : group.holds) {
      const auto [hold, fresh] = it->second.holds.try_emplace(shard, time);
      if (!fresh) hold->second = std::min(hold->second, time);
    }
  }
}

Unexpected ended() { return fail(ErrorCode::kCancelled, "the session has ended"); }

std::string hex(std::uint64_t v) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(v));
  return text;
}

}  // namespace

Session::Session(Environment environment, const ClientOptions& options)
    : environment_(environment),
      lease_(options.session_lease),
      exclusive_(options.exclusive),
      id_(hex(base::mix64(options.seed))),
      key_(kPrefix + id_),
      strand_(environment.scheduler) {}

Future<Unit> Session::join(std::shared_ptr<Session> self, std::string group,
                           std::function<GroupHolds()> current, std::function<void()> on_lost) {
  Member member{std::move(current), std::move(on_lost)};
  return on(self).and_then(
      [group = std::move(group), member = std::move(member)](const auto& session) mutable {
        session->members_.insert_or_assign(std::move(group), std::move(member));
        return publish(session);
      });
}

Bytes Session::record() {
  Record record{.heartbeat = environment_.scheduler.clock().wall_micros()};
  for (const auto& [name, member] : members_) record.groups[name] = member.current();
  return encode(record, ++writes_);
}

Future<Unit> Session::publish(std::shared_ptr<Session> self) {
  if (self->exclusive_) return done();
  return on(self).and_then([](const auto& session) -> Future<Unit> {
    if (session->lost_) return Future<Unit>::ready(ended());
    base::Promise<Unit> promise;
    Future<Unit> published = promise.future();
    session->inbox_.with([&](Inbox& inbox) {
      if (!inbox.closed) inbox.waiting.push_back(std::move(promise));
    });
    if (promise.pending()) promise.resolve(ended());
    if (!session->writing_) session->write_next();
    return published;
  });
}

std::vector<base::Promise<Unit>> Session::take_waiting() {
  return inbox_.with([](Inbox& inbox) { return std::exchange(inbox.waiting, {}); });
}

bool Session::is_closed() const {
  return inbox_.with([](const Inbox& inbox) { return inbox.closed; });
}

// Only this process writes its key, and others may remove it. So a mismatch is either an earlier
// attempt of this very write, or the end.
class Session::Write final : public Flow<Write, Unit> {
 public:
  Write(std::shared_ptr<Session> session, Bytes data)
      : session_(std::move(session)),
        version_{session_->seqno_ + 1, std::move(data)},
        backoff_(session_->environment_.scheduler) {}
  base::TaskQueue& queue() { return session_->queue(); }

  void begin() {
    if (session_->is_closed()) return finish(ended());
    await(consensus().compare_and_set(session_->key_, version_), &Write::answered);
  }

 private:
  Consensus& consensus() { return session_->environment_.consensus; }

  void answered(Result<CasOutcome> outcome) {
    if (!outcome && !may_help_to_retry(outcome.error())) {
      return finish(Unexpected(std::move(outcome).error()));
    }
    if (!outcome) return await(backoff_.wait(), &Write::begin);
    if (*outcome == CasOutcome::kApplied) return applied();
    await(consensus().head(session_->key_), &Write::looked);
  }

  void looked(Result<std::optional<Version>> head) {
    if (!head) return await(backoff_.wait(), &Write::begin);
    if (*head && **head == version_) return applied();
    session_->lost();
    finish(fail(ErrorCode::kFenced, "the session of this process has expired"));
  }

  void applied() {
    session_->seqno_ = version_.seqno;
    if (version_.seqno % 16 == 0) {
      on(session_, consensus().truncate(session_->key_, version_.seqno))
          .finally([](const auto&, Result<Unit>) {});
    }
    finish(Unit{});
  }

  std::shared_ptr<Session> session_;
  Version version_;
  Backoff backoff_;
};

void Session::publish_later() {
  if (exclusive_) return;
  strand_.post([self = shared_from_this()] {
    if (self->seqno_ != 0) self->arm(kReleaseDelay);
  });
}

void Session::arm(std::chrono::nanoseconds delay) {
  const base::Instant due = environment_.scheduler.clock().now() + delay;
  if (is_closed() || lost_ || (timer_ != 0 && timer_due_ <= due)) return;
  if (timer_ != 0) environment_.scheduler.cancel(timer_);
  timer_due_ = due;
  timer_ = environment_.scheduler.after(delay, environment_.scheduler, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->strand_.post([self] {
      self->timer_ = 0;
      if (self->is_closed() || self->lost_) return;
      on(self, publish(self)).finally([](const auto&, Result<Unit>) {});
    });
  });
}

// One write after the other, for all who came meanwhile.
void Session::write_next() {
  auto waiting = take_waiting();
  writing_ = !lost_ && !waiting.empty();
  if (!writing_) {
    for (auto& promise : waiting) promise.resolve(ended());
    return;
  }
  on(shared_from_this(), Write::start(shared_from_this(), record()))
      .finally([waiting = std::move(waiting)](const auto& self, Result<Unit> written) mutable {
        for (auto& promise : waiting) promise.resolve(written);
        self->arm(self->lease_ / 4);
        self->write_next();
      });
}

// Looks at one session after the other, and removes those that have expired.
class Session::HoldsOfOthers final : public Flow<HoldsOfOthers, HoldTable> {
 public:
  explicit HoldsOfOthers(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  base::TaskQueue& queue() { return session_->queue(); }
  void begin() { await(consensus().list_keys(kPrefix), &HoldsOfOthers::listed); }

 private:
  Consensus& consensus() { return session_->environment_.consensus; }

  void listed(std::vector<std::string> keys) {
    keys_ = std::move(keys);
    std::erase(keys_, session_->key_);
    look_at_next();
  }

  void look_at_next() {
    if (keys_.empty()) return finish(std::move(table_));
    await(consensus().head(keys_.back()), &HoldsOfOthers::found);
  }

  void found(std::optional<Version> head) {
    if (!head) return skip();
    Result<Record> record = decode(head->data);
    if (!record) return finish(Unexpected(std::move(record).error()));
    holds_ = std::move(record->groups);
    const auto lease = static_cast<std::uint64_t>(session_->lease_.count());
    const auto now = session_->environment_.scheduler.clock().wall_micros();
    if (record->heartbeat + lease >= now) return respect();
    await(consensus().remove(keys_.back(), head->seqno), &HoldsOfOthers::removed);
  }

  void removed(Result<CasOutcome> removed) {
    if (!removed || *removed != CasOutcome::kApplied) return respect();
    session_->environment_.log.warn("removed an expired session", {{"session", keys_.back()}});
    skip();
  }

  void respect() {
    merge(table_, holds_);
    skip();
  }

  void skip() {
    keys_.pop_back();
    look_at_next();
  }

  std::shared_ptr<Session> session_;
  std::vector<std::string> keys_;  ///< To be looked at, from the back.
  HoldTable holds_;                ///< Of the one at the back.
  HoldTable table_;
};

Future<HoldTable> Session::others(std::shared_ptr<Session> self) {
  if (self->exclusive_) return Future<HoldTable>::ready(HoldTable{});
  return HoldsOfOthers::start(std::move(self));
}

Future<Unit> Session::sweep(std::shared_ptr<Session> self) {
  FRESHET_ASSERT(self->exclusive_);
  return on(self, self->environment_.consensus.list_keys(kPrefix))
      .and_then([](const auto& session, std::vector<std::string> keys) {
        return in_order(session, std::move(keys), remove_session);
      });
}

Future<Unit> Session::remove_session(std::shared_ptr<Session> self, std::string key) {
  Consensus& consensus = self->environment_.consensus;
  return on(self, consensus.head(key))
      .and_then(
          [&consensus, key](const auto& session, std::optional<Version> head) -> Future<Unit> {
            if (!head) return done();
            return on(session, consensus.remove(key, head->seqno))
                .and_then([](const auto&, CasOutcome) { return Unit{}; });
          });
}

void Session::lost() {
  lost_ = true;
  environment_.log.warn("the session of this process has expired", {{"session", id_}});
  for (auto& [name, member] : members_) member.on_lost();
}

void Session::close() {
  inbox_.with([](Inbox& inbox) { inbox.closed = true; });
  take_waiting();  // dropped: they answer kCancelled
  strand_.post([self = shared_from_this()] {
    if (self->timer_ != 0) self->environment_.scheduler.cancel(self->timer_);
    self->timer_ = 0;
    self->members_.clear();
  });
}

}  // namespace freshet::persist
