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
  self->members_.insert_or_assign(std::move(group), Member{std::move(current), std::move(on_lost)});
  Future<Unit> publishing = publish(self);
  Result<Unit> published = co_await std::move(publishing);
  co_return std::move(published);
}

Bytes Session::record() {
  Record record{.heartbeat = environment_.scheduler.clock().wall_micros()};
  for (const auto& [name, member] : members_) record.groups[name] = member.current();
  return encode(record, ++writes_);
}

Future<Unit> Session::publish(std::shared_ptr<Session> self) {
  if (self->exclusive_) co_return Unit{};
  if (self->lost_) co_return fail(ErrorCode::kCancelled, "the session has ended");
  base::Promise<Unit> promise;
  Future<Unit> published = promise.future();
  // After `close` the promise is dropped here, which answers kCancelled.
  self->inbox_.with([&](Inbox& inbox) {
    if (!inbox.closed) inbox.waiting.push_back(std::move(promise));
  });
  if (!self->writing_) {
    self->writing_ = true;
    Future<Unit> writing = write_loop(self);
    std::move(writing).on_ready(self->strand_, [](Result<Unit>) {});
  }
  Result<Unit> result = co_await std::move(published);
  co_return std::move(result);
}

std::vector<base::Promise<Unit>> Session::take_waiting() {
  return inbox_.with([](Inbox& inbox) { return std::exchange(inbox.waiting, {}); });
}

bool Session::is_closed() const {
  return inbox_.with([](const Inbox& inbox) { return inbox.closed; });
}

Future<Unit> Session::write_loop(std::shared_ptr<Session> self) {
  while (!self->lost_) {
    auto waiting = self->take_waiting();
    if (waiting.empty()) break;
    Future<Unit> writing = write_once(self, self->record());
    const Result<Unit> written = co_await std::move(writing);
    for (auto& promise : waiting) promise.resolve(written);
    self->arm(self->lease_ / 4);
  }
  for (auto& promise : self->take_waiting()) {
    promise.resolve(fail(ErrorCode::kCancelled, "the session has ended"));
  }
  self->writing_ = false;
  co_return Unit{};
}

// Only this process writes its key, and others may remove it. So a mismatch is either an earlier
// attempt of this very write, or the end.
Future<Unit> Session::write_once(std::shared_ptr<Session> self, Bytes data) {
  Backoff backoff(self->environment_.scheduler);
  const std::uint64_t next = self->seqno_ + 1;
  while (!self->is_closed()) {
    Future<CasOutcome> writing =
        self->environment_.consensus.compare_and_set(self->key_, Version{next, data});
    const Result<CasOutcome> outcome = co_await std::move(writing);
    bool applied = outcome && *outcome == CasOutcome::kApplied;
    if (outcome && !applied) {
      Future<std::optional<Version>> reading = self->environment_.consensus.head(self->key_);
      const auto head = co_await std::move(reading);
      if (head && *head && (*head)->seqno == next && (*head)->data == data) applied = true;
      if (head && !applied) {
        self->lost();
        co_return fail(ErrorCode::kCancelled, "the session of this process has expired");
      }
    }
    if (applied) {
      self->seqno_ = next;
      if (next % 16 == 0) {
        Future<Unit> truncating = self->environment_.consensus.truncate(self->key_, next);
        std::move(truncating).on_ready(self->strand_, [self](Result<Unit>) {});
      }
      co_return Unit{};
    }
    if (!outcome && !may_help_to_retry(outcome.error())) co_return Unexpected(outcome.error());
    Future<Unit> pause = backoff.wait();
    const Result<Unit> waited = co_await std::move(pause);
    FRESHET_CO_CHECK(Result<Unit>(waited));
  }
  co_return fail(ErrorCode::kCancelled, "the session has ended");
}

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
      std::move(publish(self)).on_ready(self->strand_, [self](Result<Unit>) {});
    });
  });
}

Future<HoldTable> Session::others(std::shared_ptr<Session> self) {
  HoldTable table;
  if (self->exclusive_) co_return std::move(table);
  Consensus& consensus = self->environment_.consensus;
  Future<std::vector<std::string>> listing = consensus.list_keys(kPrefix);
  Result<std::vector<std::string>> keys = co_await std::move(listing);
  FRESHET_CO_CHECK(keys);
  for (const std::string& key : *keys) {
    if (key == self->key_) continue;
    Future<std::optional<Version>> reading = consensus.head(key);
    Result<std::optional<Version>> head = co_await std::move(reading);
    FRESHET_CO_CHECK(head);
    if (!*head) continue;
    Result<Record> record = decode((*head)->data);
    FRESHET_CO_CHECK(record);
    const auto lease = static_cast<std::uint64_t>(self->lease_.count());
    if (record->heartbeat + lease < self->environment_.scheduler.clock().wall_micros()) {
      Future<CasOutcome> removing = consensus.remove(key, (*head)->seqno);
      const Result<CasOutcome> removed = co_await std::move(removing);
      if (removed && *removed == CasOutcome::kApplied) {
        self->environment_.log.warn("removed an expired session", {{"session", key}});
        continue;
      }
    }
    merge(table, record->groups);
  }
  co_return std::move(table);
}

Future<Unit> Session::sweep(std::shared_ptr<Session> self) {
  FRESHET_ASSERT(self->exclusive_);
  Consensus& consensus = self->environment_.consensus;
  Future<std::vector<std::string>> listing = consensus.list_keys(kPrefix);
  Result<std::vector<std::string>> keys = co_await std::move(listing);
  FRESHET_CO_CHECK(keys);
  for (const std::string& key : *keys) {
    Future<std::optional<Version>> reading = consensus.head(key);
    Result<std::optional<Version>> head = co_await std::move(reading);
    FRESHET_CO_CHECK(head);
    if (!*head) continue;
    Future<CasOutcome> removing = consensus.remove(key, (*head)->seqno);
    Result<CasOutcome> removed = co_await std::move(removing);
    FRESHET_CO_CHECK(removed);
  }
  co_return Unit{};
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
