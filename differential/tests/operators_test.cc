// SPDX-License-Identifier: Apache-2.0
// Every operator against recomputation from scratch at every time.
#include "dataflow_model.h"

#include <catch2/catch.hpp>

namespace differential {
namespace {

using model::Collected;
using model::Source;
using model::Time;
using model::World;
template <typename D>
using Content = std::map<D, std::int64_t>;
using Pair = std::pair<std::uint64_t, std::uint64_t>;
using Triple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

template <typename D>
void put(Content<D>& content, const D& data, std::int64_t diff) {
  auto place = content.try_emplace(data, 0).first;
  place->second += diff;
  if (place->second == 0) content.erase(place);
}

// Runs `build(scope)` over two random inputs and compares `spec` at every time.
template <typename D>
void check_operator(
    const std::function<Collection<Time, D>(Collection<Time, Pair>, Collection<Time, Pair>)>& build,
    const std::function<Content<D>(const Content<Pair>&, const Content<Pair>&)>& spec,
    std::uint64_t rounds = 24, std::uint64_t domain = 12, std::uint64_t changes = 25) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    auto random = testing::seeded_random(round);
    World world(round, 1 + round % 3);
    Source<Pair> left;
    Source<Pair> right;
    Collected<D> collected;
    timely::ProbeHandle<Time> probe;
    world.runtime->dataflow<Time>("test", [&](timely::Scope<Time>& scope) {
      auto result = collected.watch(build(left.in(scope), right.in(scope)));
      probe = result.probe();
    });
    const Time end = 8;
    for (Time now = 0; now < end; ++now) {
      model::random_changes(random, left, now, domain, changes);
      if (!random.one_in(3)) model::random_changes(random, right, now, domain, changes);
      if (random.coin()) {
        left.advance_to(now + 1);
        right.advance_to(now + 1);
      } else {
        right.advance_to(now + 1);
        if (random.coin()) world.runtime->run_until_idle();
        left.advance_to(now + 1);
      }
      if (random.coin()) world.runtime->step_while([&] { return probe.less_than(now + 1); });
    }
    left.close();
    right.close();
    world.runtime->step_while([&] { return !probe.done(); });
    for (Time time = 0; time < end + 5; ++time) {
      REQUIRE(collected.at(time) == spec(left.at(time), right.at(time)));
    }
  }
}

TEST_CASE("linear: map, filter, flat_map, negate, concat, explode", "[differential][property]") {
  check_operator<Pair>(
      [](auto left, auto right) {
        return left.map([](const Pair& p) { return Pair{p.second, p.first}; })
            .concat(right.negate())
            .filter([](const Pair& p) { return p.first != 2; })
            .flat_map([](const Pair& p) { return std::vector<Pair>{p, {p.first, 100}}; })
            .explode([](const Pair& p) { return std::pair(p, std::int64_t{2}); });
      },
      [](const Content<Pair>& left, const Content<Pair>& right) {
        Content<Pair> result;
        const auto one = [&](const Pair& p, std::int64_t diff) {
          if (p.first == 2) return;
          put(result, p, 2 * diff);
          put(result, Pair{p.first, 100}, 2 * diff);
        };
        for (const auto& [p, diff] : left) one({p.second, p.first}, diff);
        for (const auto& [p, diff] : right) one(p, -diff);
        return result;
      });
}

TEST_CASE("consolidate: changes nothing", "[differential][property]") {
  check_operator<Pair>([](auto left, auto right) { return left.concat(right).consolidate(); },
                       [](Content<Pair> left, const Content<Pair>& right) {
                         for (const auto& [p, diff] : right) put(left, p, diff);
                         return left;
                       });
}

TEST_CASE("count: each record with its count", "[differential][property]") {
  using Counted = std::pair<Pair, std::int64_t>;
  check_operator<Counted>([](auto left, auto) { return left.count(); },
                          [](const Content<Pair>& left, const Content<Pair>&) {
                            Content<Counted> result;
                            for (const auto& [p, diff] : left) put(result, {p, diff}, 1);
                            return result;
                          });
}

TEST_CASE("distinct and threshold: by the sign of the count", "[differential][property]") {
  check_operator<Pair>([](auto left, auto) { return left.distinct(); },
                       [](const Content<Pair>& left, const Content<Pair>&) {
                         Content<Pair> result;
                         for (const auto& [p, diff] : left) {
                           if (diff > 0) put(result, p, 1);
                         }
                         return result;
                       });
}

TEST_CASE("join: all matches by key", "[differential][property]") {
  check_operator<Triple>(
      [](auto left, auto right) {
        return left.join(right, [](auto key, auto a, auto b) { return Triple{key, a, b}; });
      },
      [](const Content<Pair>& left, const Content<Pair>& right) {
        Content<Triple> result;
        for (const auto& [a, r1] : left) {
          for (const auto& [b, r2] : right) {
            if (a.first == b.first) put(result, Triple{a.first, a.second, b.second}, r1 * r2);
          }
        }
        return result;
      });
}

TEST_CASE("join: of an arrangement with itself", "[differential][property]") {
  using Out = std::vector<Update<Triple, Time, std::int64_t>>;
  check_operator<Triple>(
      [](auto left, auto) {
        auto arranged = left.arrange_by_key();
        return Collection<Time, Triple>(join_core<Out>(
            arranged, arranged,
            [](auto key, auto a, auto b, const Time& time, std::int64_t r1, std::int64_t r2, Out& out) {
              out.push_back({{key, a, b}, time, r1 * r2});
            },
            JoinOptions{.name = "self", .container = 3, .fuel = 5}));
      },
      [](const Content<Pair>& left, const Content<Pair>&) {
        Content<Triple> result;
        for (const auto& [a, r1] : left) {
          for (const auto& [b, r2] : left) {
            if (a.first == b.first) put(result, Triple{a.first, a.second, b.second}, r1 * r2);
          }
        }
        return result;
      });
}

TEST_CASE("antijoin: the records without a match", "[differential][property]") {
  check_operator<Pair>(
      [](auto left, auto right) {
        return left.antijoin(right.map([](const Pair& p) { return p.first; }).distinct());
      },
      [](const Content<Pair>& left, const Content<Pair>& right) {
        Content<std::uint64_t> keys;
        for (const auto& [p, diff] : right) put(keys, p.first, diff);
        Content<Pair> result;
        for (const auto& [p, diff] : left) {
          const auto place = keys.find(p.first);
          if (place == keys.end() || place->second <= 0) put(result, p, diff);
        }
        return result;
      });
}

Content<Pair> least_values(const Content<Pair>& left) {
  Content<Pair> result;
  for (const auto& [p, diff] : left) {  // ascending by (key, value): the first of a key is the least
    if (result.lower_bound({p.first, 0}) == result.end() ||
        result.lower_bound({p.first, 0})->first.first != p.first) {
      put(result, p, diff);
    }
  }
  return result;
}

TEST_CASE("reduce: a function of each group", "[differential][property]") {
  check_operator<Pair>(
      [](auto left, auto) {
        return left.template reduce<std::uint64_t>([](auto, const auto& values, auto& output) {
          output.push_back(values.front());
        });
      },
      [](const Content<Pair>& left, const Content<Pair>&) { return least_values(left); });
}

TEST_CASE("reduce: of a reduce, through the shared output arrangement", "[differential][property]") {
  using Tr = Trace<std::uint64_t, std::uint64_t, Time, std::int64_t>;
  check_operator<Pair>(
      [](auto left, auto right) {
        auto logic = [](auto, auto& group, auto& output) { output.push(group.val(), group.diff()); };
        auto first = reduce_core<Tr>(left.concat(right).arrange_by_key("in", 60), "first", logic, 60);
        auto second = reduce_core<Tr>(first, "second", logic, 60);
        return as_collection(second, [](auto key, auto val) { return Pair{key, val}; });
      },
      [](Content<Pair> left, const Content<Pair>& right) {
        for (const auto& [p, diff] : right) put(left, p, diff);
        return least_values(left);
      });
}

// Nodes reachable from the roots, which are the first coordinates of `right`.
TEST_CASE("iterate: reachability equals a search", "[differential][property]") {
  check_operator<std::uint64_t>(
      [](auto left, auto right) {
        auto roots = right.map([](const Pair& p) { return p.first; }).distinct();
        auto distinct_edges = left.distinct();  // else a removed edge that was never there counts
        return roots.iterate([&](auto reached) {
          auto scope = reached.scope();
          auto edges = distinct_edges.enter(scope);
          auto keyed = reached.map([](std::uint64_t n) { return std::pair(n, Unit{}); });
          return keyed.join(edges, [](auto, Unit, auto to) { return to; })
              .concat(roots.enter(scope))
              .distinct();
        });
      },
      [](const Content<Pair>& left, const Content<Pair>& right) {
        Content<std::uint64_t> roots;
        for (const auto& [p, diff] : right) put(roots, p.first, diff);
        std::vector<std::uint64_t> todo;
        Content<std::uint64_t> result;
        for (const auto& [n, diff] : roots) {
          if (diff > 0) todo.push_back(n), result[n] = 1;
        }
        while (!todo.empty()) {
          const std::uint64_t node = todo.back();
          todo.pop_back();
          for (const auto& [p, diff] : left) {
            if (p.first == node && diff > 0 && !result.contains(p.second)) {
              result[p.second] = 1;
              todo.push_back(p.second);
            }
          }
        }
        return result;
      },
      24, 14, 10);
}

}  // namespace
}  // namespace differential
