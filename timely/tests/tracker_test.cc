// SPDX-License-Identifier: Apache-2.0
// The tracker against a specification that knows every path: random graphs, loops, partial orders.
#include <timely/detail/tracker.h>
#include <timely/instances.h>

#include <testing/random.h>
#include <catch2/catch.hpp>

#include <map>
#include <vector>

namespace timely::detail {
namespace {

using Pair = Product<std::uint64_t, std::uint64_t>;

template <typename T>
struct Draw;
template <>
struct Draw<std::uint64_t> {
  static std::uint64_t time(testing::Random& random) { return random.below(6); }
  static Advance<std::uint64_t> step(testing::Random& random) { return {random.below(2) + 1}; }
};
template <>
struct Draw<Pair> {
  static Pair time(testing::Random& random) { return {random.below(4), random.below(4)}; }
  static ProductSummary<std::uint64_t, std::uint64_t> step(testing::Random& random) {
    return random.coin() ? ProductSummary<std::uint64_t, std::uint64_t>{{0}, {1}}
                         : ProductSummary<std::uint64_t, std::uint64_t>{{1}, {0}};
  }
};

/// Forward edges are plain or advance; backward ones always advance.
template <typename T>
GraphSpec<T> random_graph(testing::Random& random) {
  GraphSpec<T> spec;
  const auto count = static_cast<std::uint32_t>(2 + random.below(9));
  for (std::uint32_t i = 0; i < count; ++i) {
    spec.add_port("p" + std::to_string(i));
    if (random.coin()) spec.watch(i);
  }
  for (std::uint64_t n = random.below(2 * count); n > 0; --n) {
    const auto from = static_cast<std::uint32_t>(random.below(count));
    const auto to = static_cast<std::uint32_t>(random.below(count));
    const bool plain = from < to && !random.one_in(4);
    spec.edges.push_back({from, to, plain ? SummaryOf<T>{} : Draw<T>::step(random)});
  }
  return spec;
}

/// Every time at which something can arrive at each port, found by walking all stamps along all
/// edges until nothing new is minimal.
template <typename T>
std::vector<Antichain<T>> reachable(
    const GraphSpec<T>& spec, const std::map<std::pair<std::uint32_t, T>, std::int64_t>& stamps) {
  std::vector<Antichain<T>> result(spec.ports.size());
  for (const auto& [where, count] : stamps) {
    if (count > 0) result[where.first].insert(where.second);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& edge : spec.edges) {
      const Antichain<T> from = result[edge.from];
      for (const T& time : from.elements()) {
        if (auto next = edge.summary.results_in(time)) changed |= result[edge.to].insert(*next);
      }
    }
  }
  return result;
}

struct Listener final : FrontierListener {
  void frontier_moved(std::size_t) override {}
};

template <typename T>
void check_random_graph(testing::Random& random) {
  GraphSpec<T> spec = random_graph<T>(random);
  REQUIRE(spec.check().has_value());
  std::vector<Listener> listeners(spec.ports.size());
  for (std::size_t i = 0; i < spec.ports.size(); ++i) {
    if (spec.ports[i].cell) spec.ports[i].listeners.push_back(&listeners[i]);
  }
  std::int64_t outstanding = 0;
  Tracker<T> tracker(spec, outstanding);
  std::map<std::pair<std::uint32_t, T>, std::int64_t> stamps;
  std::vector<Antichain<T>> before(spec.ports.size());
  for (int posting = 0; posting < 40; ++posting) {
    ChangeBatch<std::pair<std::uint32_t, T>> changes;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
      std::pair<std::uint32_t, T> where{random.below(spec.ports.size()), Draw<T>::time(random)};
      const std::int64_t diff = stamps[where] > 0 && !random.one_in(3) ? -stamps[where] : 1;
      stamps[where] += diff;
      changes.update({tracker.node(where.first), where.second}, diff);
    }
    tracker.apply(changes.changes());
    std::vector<FrontierListener*> moved;
    tracker.settle_outward();
    tracker.settle_inward(moved);
    const auto expected = reachable(spec, stamps);
    std::int64_t sum = 0;
    for (const auto& [where, count] : stamps) sum += count;
    REQUIRE(outstanding == sum);
    for (std::size_t port = 0; port < spec.ports.size(); ++port) {
      if (!spec.ports[port].cell) continue;
      REQUIRE(spec.ports[port].cell->load() == expected[port]);
      // Those are told whose frontier moved, and no others.
      const auto told = std::ranges::count(moved, static_cast<FrontierListener*>(&listeners[port]));
      REQUIRE(told == (before[port] == expected[port] ? 0 : 1));
      before[port] = expected[port];
    }
  }
}

TEST_CASE("tracker: agrees with a walk along all paths, total order",
          "[timely][tracker][property]") {
  for (std::uint64_t round = 0; round < 300; ++round) {
    auto random = testing::seeded_random(round);
    check_random_graph<std::uint64_t>(random);
  }
}

TEST_CASE("tracker: agrees with a walk along all paths, partial order",
          "[timely][tracker][property]") {
  for (std::uint64_t round = 0; round < 300; ++round) {
    auto random = testing::seeded_random(round);
    check_random_graph<Pair>(random);
  }
}

TEST_CASE("tracker: unwatched ports in a row cost nothing", "[timely][tracker]") {
  GraphSpec<std::uint64_t> spec;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    spec.add_port("p");
    if (i > 0) spec.edges.push_back({i - 1, i});
  }
  spec.watch(999);
  std::int64_t outstanding = 0;
  Tracker<std::uint64_t> tracker(spec, outstanding);
  CHECK(tracker.nodes() == 1);
  spec.watch(500);
  Tracker<std::uint64_t> two(spec, outstanding);
  CHECK(two.nodes() == 2);
}

TEST_CASE("tracker: the paths through a graph are the least ones", "[timely][tracker]") {
  GraphSpec<Pair> spec;
  for (int i = 0; i < 4; ++i) spec.add_port("p");
  using Step = ProductSummary<std::uint64_t, std::uint64_t>;
  spec.edges.push_back({0, 1, Step{{1}, {0}}});
  spec.edges.push_back({0, 2, Step{{0}, {1}}});
  spec.edges.push_back({1, 3, Step{}});
  spec.edges.push_back({2, 3, Step{}});
  spec.edges.push_back({3, 0, Step{{0}, {5}}});
  const auto paths = spec.paths_from(0);
  CHECK(paths[0] == Antichain<Step>{Step{}});
  CHECK(paths[3].size() == 2);
  CHECK(paths[3].covers(Step{{1}, {0}}));
  CHECK(paths[3].covers(Step{{0}, {1}}));
}

TEST_CASE("tracker: a port that leads to itself needs a step", "[timely][tracker]") {
  GraphSpec<std::uint64_t> spec;
  spec.add_port("p");
  CHECK(spec.check().has_value());
  spec.edges.push_back({0, 0, {}});
  CHECK_FALSE(spec.check().has_value());
  spec.edges[0].summary = {1};
  CHECK(spec.check().has_value());
}

}  // namespace
}  // namespace timely::detail
