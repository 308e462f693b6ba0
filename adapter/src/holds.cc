// SPDX-License-Identifier: Apache-2.0
#include "holds.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>

namespace freshet::adapter {

Hold& Hold::operator=(Hold&& other) noexcept {
  release();
  holds_ = std::exchange(other.holds_, nullptr);
  alive_ = std::move(other.alive_);
  ids_ = std::move(other.ids_);
  everywhere_ = other.everywhere_;
  time_ = other.time_;
  return *this;
}

void Hold::downgrade(SqlTime time) {
  if (holds_ == nullptr || time <= time_ || alive_.expired()) return;
  holds_->change(*this, &time);
  time_ = time;
}

void Hold::release() {
  Holds* holds = std::exchange(holds_, nullptr);
  if (holds != nullptr && !alive_.expired()) holds->change(*this, nullptr);
}

void Holds::add(GlobalId id, SqlTime since, SqlTime upper, std::uint64_t retain_micros) {
  const std::lock_guard lock(mutex_);
  entries_[id] = Entry{.since = since, .upper = upper, .retain = retain_micros};
}

void Holds::remove(GlobalId id) {
  const std::lock_guard lock(mutex_);
  entries_.erase(id);
}

void Holds::on_upper(GlobalId id, SqlTime upper) {
  const std::lock_guard lock(mutex_);
  auto it = entries_.find(id);
  if (it == entries_.end() || upper <= it->second.upper) return;
  it->second.upper = upper;
  advance(id, it->second);
}

bool Holds::knows(GlobalId id) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(id);
}

SqlTime Holds::upper(GlobalId id) const {
  const std::lock_guard lock(mutex_);
  auto it = entries_.find(id);
  return it == entries_.end() ? 0 : it->second.upper;
}

SqlTime Holds::readable_from(const std::vector<GlobalId>& ids) const {
  const std::lock_guard lock(mutex_);
  SqlTime least = 0;
  for (const GlobalId id : ids) {
    auto it = entries_.find(id);
    if (it != entries_.end()) least = std::max(least, it->second.since);
  }
  return least;
}

Result<Hold> Holds::acquire(std::vector<GlobalId> ids, SqlTime time) {
  const std::lock_guard lock(mutex_);
  for (const GlobalId id : ids) {
    auto it = entries_.find(id);
    if (it == entries_.end()) {
      return fail(sqlstate::kUndefinedTable, "an object that the statement uses was dropped");
    }
    if (time < it->second.since) {
      return fail(sqlstate::kInvalidParameterValue,
                  "timestamp " + std::to_string(time / 1000) + " is not readable: " + to_string(id) +
                      " keeps history from " + std::to_string(it->second.since / 1000) + " on");
    }
  }
  for (const GlobalId id : ids) entries_.at(id).holds.insert(time);
  return made(std::move(ids), time);
}

Hold Holds::acquire_all(SqlTime time) {
  const std::lock_guard lock(mutex_);
  everywhere_.insert(time);
  Hold hold = made({}, time);
  hold.everywhere_ = true;
  return hold;
}

Hold Holds::made(std::vector<GlobalId> ids, SqlTime time) {
  Hold hold;
  hold.holds_ = this;
  hold.alive_ = alive_;
  hold.ids_ = std::move(ids);
  hold.time_ = time;
  return hold;
}

void Holds::change(const Hold& hold, const SqlTime* to) {
  const std::lock_guard lock(mutex_);
  if (hold.everywhere_) return change_everywhere(hold.time_, to);
  for (const GlobalId id : hold.ids_) {
    auto it = entries_.find(id);
    if (it == entries_.end()) continue;
    auto held = it->second.holds.find(hold.time_);
    if (held != it->second.holds.end()) it->second.holds.erase(held);
    if (to != nullptr) it->second.holds.insert(*to);
    advance(id, it->second);
  }
}

void Holds::change_everywhere(SqlTime from, const SqlTime* to) {
  everywhere_.erase(everywhere_.find(from));
  if (to != nullptr) everywhere_.insert(*to);
  for (const GlobalId id : std::exchange(held_back_, {})) {
    auto it = entries_.find(id);
    if (it != entries_.end()) advance(id, it->second);
  }
}

void Holds::advance(GlobalId id, Entry& entry) {
  if (entry.upper == 0) return;
  SqlTime since = entry.upper == repr::kClosed ? entry.since
                  : entry.upper > entry.retain ? entry.upper - 1 - std::min(entry.retain, entry.upper - 1)
                                               : 0;
  if (!entry.holds.empty()) since = std::min(since, *entry.holds.begin());
  if (!everywhere_.empty() && *everywhere_.begin() < since) {
    since = *everywhere_.begin();
    held_back_.insert(id);
  }
  // In steps: each costs the owner some work.
  const SqlTime step = std::max<SqlTime>(entry.retain / 4, 1000);
  if (since < entry.since + step) return;
  entry.since = since;
  compact_(id, since);
}

}  // namespace freshet::adapter
