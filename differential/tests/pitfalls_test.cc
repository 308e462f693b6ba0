// SPDX-License-Identifier: Apache-2.0
// Faults that engines of this kind have had, each as a test.
#include "dataflow_model.h"

#include <catch2/catch.hpp>

namespace differential {
namespace {

using model::Collected;
using model::Source;
using model::Time;
using model::World;
using Pair = std::pair<std::uint64_t, std::uint64_t>;
using Tr = Trace<std::uint64_t, std::uint64_t, Time, std::int64_t>;
using Frontier = timely::Antichain<Time>;

Collection<Time, Pair> join_values(const Arranged<Tr>& a, const Arranged<Tr>& b) {
  using Out = std::vector<Update<Pair, Time, std::int64_t>>;
  return Collection<Time, Pair>(join_core<Out>(
      a, b,
      [](auto, auto x, auto y, const Time& time, std::int64_t r1, std::int64_t r2, Out& out) {
        out.push_back({{x, y}, time, r1 * r2});
      },
      JoinOptions{.container = 2, .fuel = 3}));
}

// Batches on their way to a reader cancel in the shared trace meanwhile, which then looks empty where
// they were. A join that believed the trace lost them, or joined them twice.
TEST_CASE("join: batches in flight that cancel in the shared trace", "[differential][property]") {
  for (std::uint64_t round = 0; round < 120; ++round) {
    auto random = testing::seeded_random(round);
    timely::SimExecutor executor(round);
    timely::Runtime runtime(executor, {.workers = 1 + round % 3});
    Source<Pair> left;
    Source<Pair> right;
    std::optional<TraceHandle<Tr>> left_trace;
    std::optional<TraceHandle<Tr>> right_trace;
    runtime.dataflow<Time>("sources", [&](timely::Scope<Time>& scope) {
      left_trace = left.in(scope).arrange_by_key("left", 30).trace();
      right_trace = right.in(scope).arrange_by_key("right", 30).trace();
    });
    Collected<Pair> collected;
    timely::ProbeHandle<Time> probe;
    runtime.dataflow<Time>("reader", [&](timely::Scope<Time>& scope) {
      probe = collected.watch(join_values(left_trace->import(scope), right_trace->import(scope))).probe();
    });
    const Time end = 12;
    for (Time now = 0; now < end; ++now) {
      for (std::uint64_t key = 0; key < 3; ++key) {
        left.send({key, 1}, now, now % 2 == 0 ? 1 : -1);  // there at even times only
        if (random.coin()) right.send({key, now}, now, 1);
      }
      left.advance_to(now + 1);
      if (random.coin()) right.advance_to(now + 1);
      left_trace->set_logical_compaction({now});
      for (std::uint64_t steps = random.below(30); steps > 0; --steps) executor.step();
    }
    right.advance_to(end);  // what it still has to send
    left.close();
    right.close();
    runtime.step_while([&] { return !probe.done(); });
    for (Time time = 0; time < end; ++time) {
      std::map<Pair, std::int64_t> expected;
      for (const auto& [a, r1] : left.at(time)) {
        for (const auto& [b, r2] : right.at(time)) {
          if (a.first == b.first) expected[{a.second, b.second}] += r1 * r2;
        }
      }
      REQUIRE(collected.at(time) == expected);
    }
  }
}

TEST_CASE("import: of a completed and of an empty arrangement", "[differential]") {
  World world(1, 2);
  Source<Pair> full;
  Source<Pair> empty;
  std::optional<TraceHandle<Tr>> full_trace;
  std::optional<TraceHandle<Tr>> empty_trace;
  world.runtime->dataflow<Time>("sources", [&](timely::Scope<Time>& scope) {
    full_trace = full.in(scope).arrange_by_key().trace();
    empty_trace = empty.in(scope).arrange_by_key().trace();
  });
  full.send({1, 10}, 0, 1);
  full.send({1, 20}, 3, 1);
  full.advance_to(4);
  full.close();
  empty.close();
  world.runtime->run_until_idle();
  Collected<Pair> with_itself;
  Collected<Pair> with_empty;
  timely::ProbeHandle<Time> probe1;
  timely::ProbeHandle<Time> probe2;
  world.runtime->dataflow<Time>("reader", [&](timely::Scope<Time>& scope) {
    auto a = full_trace->import(scope, {2});
    probe1 = with_itself.watch(join_values(a, full_trace->import(scope, {2}))).probe();
    probe2 = with_empty.watch(join_values(a, empty_trace->import(scope, {2}))).probe();
  });
  world.runtime->step_while([&] { return !probe1.done() || !probe2.done(); });
  CHECK(with_itself.at(2) == std::map<Pair, std::int64_t>{{{10, 10}, 1}});
  CHECK(with_itself.at(3).size() == 4);
  CHECK(with_empty.at(9).empty());
}

TEST_CASE("threshold: a record whose count became zero is absent, whatever zero maps to",
          "[differential]") {
  for (std::size_t workers = 1; workers <= 2; ++workers) {
    World world(workers, workers);
    Source<Pair> source;
    Collected<Pair> collected;
    timely::ProbeHandle<Time> probe;
    world.runtime->dataflow<Time>("test", [&](timely::Scope<Time>& scope) {
      probe = collected.watch(source.in(scope).threshold([](const auto&, std::int64_t) { return 1; })).probe();
    });
    source.send({1, 1}, 0, 2);
    source.send({1, 1}, 1, -2);
    source.send({1, 1}, 2, -1);
    source.advance_to(3);
    source.close();
    world.runtime->step_while([&] { return !probe.done(); });
    CHECK(collected.at(0) == std::map<Pair, std::int64_t>{{{1, 1}, 1}});
    CHECK(collected.at(1).empty());
    CHECK(collected.at(2) == std::map<Pair, std::int64_t>{{{1, 1}, 1}});
  }
}

TEST_CASE("spine: a merged batch's since is the join of both and of the frontier", "[differential]") {
  using B = Batch<std::uint64_t, Unit, Time, std::int64_t>;
  RunBuilder<std::uint64_t, Unit, Time, std::int64_t> builder;
  Spine<std::uint64_t, Unit, Time, std::int64_t> spine;
  for (Time t = 0; t < 2; ++t) {
    builder.key(t);
    builder.val({});
    builder.update(t, 1);
    spine.insert(std::make_shared<B>(Frontier{t}, Frontier{t + 1}, Frontier{5 - t}, builder.finish()), {3});
  }
  REQUIRE(spine.size() == 1);
  CHECK(spine.batches()[0]->since() == Frontier{5});
  CHECK(spine.batches()[0]->lower() == Frontier{0});
  CHECK(spine.batches()[0]->upper() == Frontier{2});
}

TEST_CASE("arrange: an arrangement nobody can read keeps nothing, and a late reader is refused",
          "[differential]") {
  World world(0, 1);
  Source<Pair> source;
  std::optional<TraceHandle<Tr>> trace;
  timely::ProbeHandle<Time> probe;
  world.runtime->dataflow<Time>("test", [&](timely::Scope<Time>& scope) {
    auto arranged = source.in(scope).arrange_by_key();
    trace = arranged.trace();
    probe = arranged.stream().probe();
  });
  for (std::uint64_t i = 0; i < 1000; ++i) source.send({i, i}, 0, 1);
  source.advance_to(1);
  world.runtime->step_while([&] { return probe.less_than(1); });
  CHECK(trace->size().first == 1000);
  trace->set_logical_compaction({});
  source.send({1, 1}, 1, 1);
  source.advance_to(2);
  world.runtime->step_while([&] { return probe.less_than(2); });
  CHECK(trace->size().first == 0);
  CHECK(!trace->holds().acquire({7}));
  CHECK(!trace->snapshot().readable_at(1));
  source.close();
}

TEST_CASE("join: one hot key is done in bounded pieces", "[differential]") {
  using Cursor = CursorList<std::uint64_t, std::uint64_t, Time, std::int64_t>;
  RunBuilder<std::uint64_t, std::uint64_t, Time, std::int64_t> builder;
  const auto side = [&](std::uint64_t size) {
    builder.key(7);
    for (std::uint64_t v = 0; v < size; ++v) {
      builder.val(v);
      builder.update(0, 1);
    }
    return Cursor({model::batch_of<std::uint64_t, std::uint64_t, Time>(builder.finish())});
  };
  JoinUnit<Cursor, Cursor, StoredTimes<Time>, StoredTimes<Time>> unit(side(2000), side(2000), {}, {}, {});
  std::uint64_t matches = 0;
  std::uint64_t most = 0;
  std::uint64_t pieces = 0;
  auto emit = [](auto, auto, auto, const Time&, std::int64_t, std::int64_t, std::uint64_t& out) { ++out; };
  for (bool done = false; !done; ++pieces) {
    std::int64_t fuel = 10'000;
    std::uint64_t out = 0;
    done = unit.work(emit, out, [](const std::uint64_t&) { return false; }, fuel);
    most = std::max(most, out);
    matches += out;
  }
  CHECK(matches == 4'000'000);
  CHECK(most <= 10'000);
  CHECK(pieces >= 400);
}

TEST_CASE("diffs: sums wrap and are not undefined", "[differential]") {
  std::int64_t sum = INT64_MAX;
  add_to(sum, std::int64_t{1});
  CHECK(sum == INT64_MIN);
  CHECK(negated(INT64_MIN) == INT64_MIN);
  CHECK(multiplied(INT64_MAX, std::int64_t{2}) == -2);
}

}  // namespace
}  // namespace differential
