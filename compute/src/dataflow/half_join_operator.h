// SPDX-License-Identifier: Apache-2.0
/// Looks each update of a stream up in an arrangement, as of the update's own time: one step of a delta join.
///
/// An update at t meets what the arrangement holds at t, or before t if `strict`. Over the paths of a join, a
/// pair of updates of two inputs meets on exactly one path: the later one's, and for equal times that of the
/// input that comes first. Nothing of the stream is kept longer than until the arrangement has passed its time.
///
/// For totally ordered times. The arrangement stays readable from just before the earliest update that may
/// still come.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include <differential/join.h>
#include <timely/operator.h>

#include "dataflow/join_operator.h"

namespace freshet::compute {

class HalfJoinOperator {
 public:
  using Arranged = differential::Arranged<differential::RowTrace<SqlTime>>;
  using Side = differential::JoinSide<Arranged>;
  using Updates = differential::RowUpdates<SqlTime>;
  using Batches = differential::BatchList<differential::RowTrace<SqlTime>>;
  static constexpr std::int64_t kFuel = 200'000;

  HalfJoinOperator(Side lookup, bool strict, std::shared_ptr<const MatchLayout> layout)
      : lookup_(std::move(lookup)), strict_(strict), layout_(std::move(layout)) {}

  void step(timely::Input<SqlTime, Updates>& stream, timely::Input<SqlTime, Batches>& batches,
            timely::Output<SqlTime, Matches<SqlTime>>& output, timely::Context& context) {
    stream.for_each([&](const timely::Capability<SqlTime>& at, Updates updates) { stash(at, std::move(updates)); });
    batches.for_each([&](const timely::Capability<SqlTime>&, Batches list) { lookup_.receive(list); });
    lookup_.settle(batches.frontier(), needed(stream.frontier()));
    while (!waiting_.empty() && !batches.frontier().covers(waiting_.begin()->first)) {
      Stash& ready = waiting_.begin()->second;
      work_.push_back(Work(std::move(ready.capability), std::move(ready.updates), lookup_.received()));
      waiting_.erase(waiting_.begin());
    }
    std::int64_t fuel = kFuel;
    while (!work_.empty() && fuel > 0 && !context.should_yield()) {
      Work& work = work_.front();
      Matches<SqlTime> matches;
      const bool done = run(work, matches, fuel);
      if (matches.size() > 0) output.give(work.capability, std::move(matches));
      if (done) work_.pop_front();
    }
    // What was looked up need not stay readable.
    lookup_.settle(batches.frontier(), needed(stream.frontier()));
    if (!work_.empty()) context.activate();
  }

 private:
  struct Stash {
    timely::Capability<SqlTime> capability;
    Updates updates;
  };
  struct Work {
    Work(timely::Capability<SqlTime> c, Updates u, Side::Cursor::Batches batches)
        : capability(std::move(c)), updates(std::move(u)), cursor(std::move(batches)), order(updates.size()) {
      std::iota(order.begin(), order.end(), 0U);
      const auto keys = updates.keys.view();
      std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
        const int compared = keys[a].compare(keys[b]);
        return compared != 0 ? compared < 0 : a < b;
      });
    }
    timely::Capability<SqlTime> capability;
    Updates updates;
    Side::Cursor cursor;
    std::vector<std::uint32_t> order;  // updates by key
    std::size_t next = 0;
    bool at_key = false;    // the cursor stands at the key of `next`, somewhere among its values
  };

  void stash(const timely::Capability<SqlTime>& at, Updates updates) {
    if (updates.times.uniform() && !updates.empty()) {
      add(at, updates.times[0]).append(updates);
      return;
    }
    for (std::size_t i = 0; i < updates.size(); ++i) add(at, updates.times[i]).push_row(updates, i);
  }
  Updates& add(const timely::Capability<SqlTime>& at, SqlTime time) {
    const auto found = waiting_.find(time);
    if (found != waiting_.end()) return found->second.updates;
    return waiting_.emplace(time, Stash{at.delayed(time), {}}).first->second.updates;
  }

  /// Just before the earliest time that is or may still be looked up.
  [[nodiscard]] timely::Antichain<SqlTime> needed(const timely::Antichain<SqlTime>& frontier) const {
    timely::Antichain<SqlTime> times = frontier;
    if (!waiting_.empty()) times.insert(waiting_.begin()->first);
    for (const Work& work : work_) times.insert(work.capability.time());
    if (times.empty()) return times;
    const SqlTime first = times.only();
    return {first == 0 ? 0 : first - 1};
  }

  // True when all updates met their matches.
  bool run(Work& work, Matches<SqlTime>& matches, std::int64_t& fuel) {
    const SqlTime time = work.capability.time();
    for (; work.next < work.order.size(); ++work.next, work.at_key = false) {
      const std::uint32_t row = work.order[work.next];
      const std::string_view key = work.updates.keys[row];
      --fuel;
      if (!work.at_key) {
        if (fuel <= 0) return false;
        const bool again = work.next > 0 && work.updates.keys[work.order[work.next - 1]] == key;
        if (!work.cursor.key_valid() && !again) return true;
        if (!work.cursor.seek_exactly(key)) continue;
        if (again) work.cursor.rewind_vals();
        work.at_key = true;
      }
      for (; work.cursor.val_valid(); work.cursor.step_val()) {
        if (fuel <= 0 || matches.size() >= kChunkRows) return false;
        Diff sum = 0;
        work.cursor.map_times([&](const SqlTime& stored, const Diff& diff) {
          --fuel;
          const SqlTime seen = lookup_.map()(stored);
          if (strict_ ? seen < time : seen <= time) sum += diff;
        });
        if (sum == 0) continue;
        layout_->emit(key, work.updates.vals[row], work.cursor.val(), time, sum * work.updates.diffs[row], matches);
      }
    }
    return true;
  }

  Side lookup_;
  bool strict_;
  std::shared_ptr<const MatchLayout> layout_;
  std::map<SqlTime, Stash> waiting_;
  std::deque<Work> work_;
};

}  // namespace freshet::compute
