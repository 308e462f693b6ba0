// SPDX-License-Identifier: Apache-2.0
// The instantiation for encoded rows, used as SQL uses it: columns in, closures that append columns out.
#include <differential/arrange.h>
#include <differential/bytes_instances.h>
#include <differential/join.h>
#include <differential/reduce.h>

#include <catch2/catch.hpp>

#include "dataflow_model.h"

namespace differential {
namespace {

using Time = std::uint64_t;
using Rows = RowUpdates<Time>;
using Row = std::pair<std::string, std::string>;
using Content = std::map<Row, std::int64_t>;

Content content_of(const RowSnapshot<Time>& snapshot, Time time) {
  Content content;
  auto cursor = snapshot.at(time);
  REQUIRE(cursor.has_value());
  for (; cursor->valid(); cursor->step()) {
    content[{std::string(cursor->key()), std::string(cursor->val())}] = cursor->diff();
  }
  return content;
}

class RowSource {
 public:
  timely::Stream<Time, Rows> in(timely::Scope<Time>& scope) {
    auto [handle, stream] = scope.input<Rows>();
    handle_ = std::move(handle);
    return stream;
  }
  void change(testing::Random& random, Time now) {
    Rows rows;
    for (std::uint64_t n = random.below(30); n > 0; --n) {
      const std::string key = "key " + std::to_string(random.below(9));
      const std::string val = std::to_string(random.below(100000));
      const std::int64_t diff = random.one_in(4) ? 2 : 1;
      rows.push(key, val, now, diff);
      sent_.add({key, val}, now, diff);
      if (random.coin()) {
        rows.push(key, val, now + 1, -diff);
        sent_.add({key, val}, now + 1, -diff);
      }
    }
    if (!rows.empty()) handle_.send(std::move(rows));
  }
  void advance_to(Time time) { handle_.advance_to(time); }
  [[nodiscard]] Content at(Time time) const { return sent_.at(time); }

 private:
  timely::InputHandle<Time, Rows> handle_;
  model::Collected<Row> sent_;
};

TEST_CASE("rows: join and reduce over byte arrangements equal recomputation", "[differential][property]") {
  for (std::uint64_t round = 0; round < 24; ++round) {
    auto random = testing::seeded_random(round);
    model::World world(round, 1 + round % 3);
    RowSource left;
    RowSource right;
    std::optional<TraceHandle<RowTrace<Time>>> joined_trace;
    std::optional<TraceHandle<RowTrace<Time>>> least_trace;
    timely::ProbeHandle<Time> probe;
    const std::size_t block_bytes = random.pick<std::size_t>({100, kBlockBytes});
    world.runtime->dataflow<Time>("rows", [&](timely::Scope<Time>& scope) {
      auto a = arrange<RowTrace<Time>>(left.in(scope), "left", block_bytes);
      auto b = arrange<RowTrace<Time>>(right.in(scope), "right", block_bytes);
      auto matches = join_core<Rows>(
          a, b,
          [](std::string_view key, std::string_view x, std::string_view y, const Time& time, std::int64_t r1,
             std::int64_t r2, Rows& out) {
            out.keys.open().append(key).append("/").append(x);  // in place: no string per row
            out.keys.close();
            out.vals.push(y);
            out.times.push(time);
            out.diffs.push_back(r1 * r2);
          },
          JoinOptions{.container = 10, .fuel = 50});
      auto joined = arrange<RowTrace<Time>>(matches, "joined", block_bytes);
      auto least = reduce_core<RowTrace<Time>>(
          joined, "least", [](std::string_view, auto& group, auto& output) { output.push(group.val(), 1); },
          block_bytes);
      joined_trace = joined.trace();
      least_trace = least.trace();
      probe = least.stream().probe();
    });
    for (Time now = 0; now < 12; ++now) {
      left.change(random, now);
      right.change(random, now);
      left.advance_to(now + 1);
      right.advance_to(now + 1);
      // A trace hears of an interval without updates a step after the probe does.
      world.runtime->step_while([&] {
        return probe.less_than(now + 1) || joined_trace->upper().covers(now) || least_trace->upper().covers(now);
      });
      const Time since = now - random.below(std::min<Time>(now, 3) + 1);
      if (random.coin()) {
        joined_trace->set_logical_compaction({since});
        least_trace->set_logical_compaction({since});
      }
      const Time first = std::max(joined_trace->logical_compaction().only(),
                                  least_trace->logical_compaction().only());
      for (Time time = first; time <= now; ++time) {
        Content expected;
        for (const auto& [a, r1] : left.at(time)) {
          for (const auto& [b, r2] : right.at(time)) {
            if (a.first == b.first) expected[{a.first + "/" + a.second, b.second}] += r1 * r2;
          }
        }
        Content least;
        std::string last;
        for (const auto& [row, diff] : expected) {
          if (row.first != last) least[row] = 1;
          last = row.first;
        }
        REQUIRE(content_of(joined_trace->snapshot(), time) == expected);
        REQUIRE(content_of(least_trace->snapshot(), time) == least);
      }
      REQUIRE(!joined_trace->snapshot().at(now + 1).has_value());
    }
    // A lookup goes to the worker that the key's hash names.
    const auto whole = content_of(joined_trace->snapshot(), 11);
    for (const auto& [row, diff] : whole) {
      auto cursor = joined_trace->snapshot_of(joined_trace->worker_of(row.first)).at(11);
      cursor->seek_key(row.first);
      REQUIRE(cursor->valid());
      REQUIRE(cursor->key() == row.first);
    }
  }
}

}  // namespace
}  // namespace differential
