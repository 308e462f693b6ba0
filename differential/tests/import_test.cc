// SPDX-License-Identifier: Apache-2.0
// Arrangements shared between dataflows, and half joins: delta queries against recomputation.
#include "dataflow_model.h"

#include <catch2/catch.hpp>
#include <differential/half_join.h>

namespace differential {
namespace {

using model::Collected;
using model::Source;
using model::Time;
using model::World;
using Pair = std::pair<std::uint64_t, std::uint64_t>;
using Triple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
using Tr = Trace<std::uint64_t, std::uint64_t, Time, std::int64_t>;
using Content = std::map<Triple, std::int64_t>;

template <typename D>
void put(std::map<D, std::int64_t>& content, const D& data, std::int64_t diff) {
  auto place = content.try_emplace(data, 0).first;
  place->second += diff;
  if (place->second == 0) content.erase(place);
}

Content matches(const std::map<Pair, std::int64_t>& left, const std::map<Pair, std::int64_t>& right) {
  Content result;
  for (const auto& [a, r1] : left) {
    for (const auto& [b, r2] : right) {
      if (a.first == b.first) put(result, Triple{a.first, a.second, b.second}, r1 * r2);
    }
  }
  return result;
}

// Dataflows that import both arrangements come and go while the sources change and traces compact.
TEST_CASE("import: a join of imports equals recomputation from its as-of on", "[differential][property]") {
  for (std::uint64_t round = 0; round < 24; ++round) {
    auto random = testing::seeded_random(round);
    World world(round, 1 + round % 3);
    Source<Pair> left;
    Source<Pair> right;
    std::optional<TraceHandle<Tr>> left_trace;
    std::optional<TraceHandle<Tr>> right_trace;
    timely::ProbeHandle<Time> left_probe;
    timely::ProbeHandle<Time> right_probe;
    const std::size_t block_bytes = random.pick<std::size_t>({40, kBlockBytes});
    world.runtime->dataflow<Time>("sources", [&](timely::Scope<Time>& scope) {
      auto a = left.in(scope).arrange_by_key("left", block_bytes);
      auto b = right.in(scope).arrange_by_key("right", block_bytes);
      left_trace = a.trace();
      right_trace = b.trace();
      left_probe = a.stream().probe();
      right_probe = b.stream().probe();
    });
    struct Reader {
      Time as_of;
      timely::Dataflow dataflow;
      Collected<Triple> collected;
      timely::ProbeHandle<Time> probe;
      bool dropped = false;
    };
    std::vector<Reader> readers;
    const Time end = 10;
    Time compacted = 0;
    for (Time now = 0; now < end; ++now) {
      model::random_changes(random, left, now, 12, 20);
      model::random_changes(random, right, now, 12, 20);
      left.advance_to(now + 1);
      if (random.coin()) world.runtime->run_until_idle();
      right.advance_to(now + 1);
      if (random.coin()) world.runtime->run_until_idle();
      if (random.coin()) {
        compacted = std::max(compacted, now - random.below(std::min<Time>(now, 3) + 1));
        left_trace->set_logical_compaction({compacted});
        right_trace->set_logical_compaction({compacted});
      }
      if (random.coin()) {
        Reader reader{.as_of = compacted + random.below(3)};
        reader.dataflow = world.runtime->dataflow<Time>("reader", [&](timely::Scope<Time>& scope) {
          auto a = left_trace->import(scope, {reader.as_of});
          auto b = right_trace->import(scope, {reader.as_of});
          using Out = std::vector<Update<Triple, Time, std::int64_t>>;
          Collection<Time, Triple> joined(join_core<Out>(
              a, b,
              [](auto key, auto x, auto y, const Time& time, std::int64_t r1, std::int64_t r2, Out& out) {
                out.push_back({{key, x, y}, time, r1 * r2});
              },
              JoinOptions{.container = 4, .fuel = 9}));
          reader.probe = reader.collected.watch(joined).probe();
        });
        readers.push_back(std::move(reader));
      }
      if (!readers.empty() && random.one_in(4)) {
        Reader& reader = readers[random.below(readers.size())];
        if (!reader.dropped) reader.dataflow.drop();
        reader.dropped = true;
      }
    }
    left.close();
    right.close();
    for (const Reader& reader : readers) {
      if (reader.dropped) continue;
      world.runtime->step_while([&] { return !reader.probe.done(); });
      for (Time time = reader.as_of; time < end + 5; ++time) {
        REQUIRE(reader.collected.at(time) == matches(left.at(time), right.at(time)));
      }
    }
  }
}

TEST_CASE("import: reduce and count over an import, from its as-of on", "[differential][property]") {
  for (std::uint64_t round = 0; round < 24; ++round) {
    auto random = testing::seeded_random(round);
    World world(round, 1 + round % 3);
    Source<Pair> source;
    std::optional<TraceHandle<Tr>> trace;
    world.runtime->dataflow<Time>("source", [&](timely::Scope<Time>& scope) {
      trace = source.in(scope).arrange_by_key("source", 40).trace();
    });
    Collected<Pair> least;
    Collected<Pair> present;
    timely::ProbeHandle<Time> probe1;
    timely::ProbeHandle<Time> probe2;
    const Time as_of = random.below(9);
    const Time start = random.below(8);
    for (Time now = 0; now < 8; ++now) {
      if (now == start) {
        world.runtime->dataflow<Time>("reader", [&](timely::Scope<Time>& scope) {
          auto imported = trace->import(scope, {as_of});
          auto reduced = reduce_core<Tr>(
              imported, "least", [](auto, auto& group, auto& output) { output.push(group.val(), 1); });
          probe1 = least.watch(as_collection(reduced, [](auto k, auto v) { return Pair{k, v}; })).probe();
          using Out = std::vector<Update<Pair, Time, std::int64_t>>;
          Collection<Time, Pair> distinct(accumulate_core<Out>(
              imported, "present",
              [](auto key, auto val, const Time& time, std::int64_t before, std::int64_t after, Out& out) {
                const std::int64_t change = (after > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
                if (change != 0) out.push_back({{key, val}, time, change});
              }));
          probe2 = present.watch(distinct).probe();
        });
      }
      model::random_changes(random, source, now, 12, 20);
      source.advance_to(now + 1);
      if (random.coin()) world.runtime->run_until_idle();
    }
    source.close();
    world.runtime->step_while([&] { return !probe1.done() || !probe2.done(); });
    for (Time time = as_of; time < 14; ++time) {
      std::map<Pair, std::int64_t> expected_least;
      std::map<Pair, std::int64_t> expected_present;
      std::optional<std::uint64_t> last;
      for (const auto& [p, diff] : source.at(time)) {
        if (last != p.first) expected_least[p] = 1;
        last = p.first;
        if (diff > 0) expected_present[p] = 1;
      }
      REQUIRE(least.at(time) == expected_least);
      REQUIRE(present.at(time) == expected_present);
    }
  }
}

TEST_CASE("half_join: two paths make a join, with arrangements shared and compacted",
          "[differential][property]") {
  using Changes = Updates<std::uint64_t, std::uint64_t, Time, std::int64_t>;
  using Out = std::vector<Update<Triple, Time, std::int64_t>>;
  for (std::uint64_t round = 0; round < 24; ++round) {
    auto random = testing::seeded_random(round);
    World world(round, 1 + round % 3);
    Source<Pair> left;
    Source<Pair> right;
    Collected<Triple> collected;
    timely::ProbeHandle<Time> probe;
    world.runtime->dataflow<Time>("delta", [&](timely::Scope<Time>& scope) {
      auto a = left.in(scope);
      auto b = right.in(scope);
      const auto changes = [](auto collection) {
        return detail::transform<Changes>(collection.stream(), "changes", [](auto message) {
          Changes out;
          for (const auto& u : message) out.push(u.data.first, u.data.second, u.time, u.diff);
          return out;
        });
      };
      JoinOptions options{.name = "half", .container = 3, .fuel = 7};
      auto ab = half_join<Out>(
          changes(a), b.arrange_by_key("b", 40), Seen::kBefore,
          [](auto key, auto x, auto y, const Time& time, std::int64_t r1, std::int64_t r2, Out& out) {
            out.push_back({{key, x, y}, time, r1 * r2});
          },
          options);
      auto ba = half_join<Out>(
          changes(b), a.arrange_by_key("a", 40), Seen::kThrough,
          [](auto key, auto y, auto x, const Time& time, std::int64_t r1, std::int64_t r2, Out& out) {
            out.push_back({{key, x, y}, time, r1 * r2});
          },
          options);
      probe = collected.watch(Collection<Time, Triple>(ab.concat(ba))).probe();
    });
    for (Time now = 0; now < 8; ++now) {
      model::random_changes(random, left, now, 12, 20);
      model::random_changes(random, right, now, 12, 20);
      left.advance_to(now + 1);
      if (random.coin()) world.runtime->run_until_idle();
      right.advance_to(now + 1);
    }
    left.close();
    right.close();
    world.runtime->step_while([&] { return !probe.done(); });
    for (Time time = 0; time < 13; ++time) {
      REQUIRE(collected.at(time) == matches(left.at(time), right.at(time)));
    }
  }
}

}  // namespace
}  // namespace differential
