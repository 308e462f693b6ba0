// SPDX-License-Identifier: Apache-2.0
// Operators over partially ordered times: two handles advance along different axes, so that frontiers
// and capabilities are antichains, against recomputation at every time of a grid.
#include "dataflow_model.h"

#include <catch2/catch.hpp>

namespace differential {
namespace {

using model::Collected;
using model::LoopTime;
using model::World;
using Pair = std::pair<std::uint64_t, std::uint64_t>;
using Triple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
template <typename D>
using Content = std::map<D, std::int64_t>;

class GridSource {
 public:
  using Message = std::vector<Update<Pair, LoopTime, std::int64_t>>;

  Collection<LoopTime, Pair> in(timely::Scope<LoopTime>& scope) {
    auto [first, stream1] = scope.input<Message>();
    auto [second, stream2] = scope.input<Message>();
    handles_[0] = std::move(first);
    handles_[1] = std::move(second);
    return Collection<LoopTime, Pair>(stream1).concat(Collection<LoopTime, Pair>(stream2));
  }
  void change(testing::Random& random, std::uint64_t size, std::uint64_t domain) {
    auto& handle = handles_[random.below(2)];
    Message message;
    for (std::uint64_t n = random.below(8); n > 0; --n) {
      const LoopTime time = timely::join(handle.time(), {random.below(size), random.below(size)});
      const Pair data = model::Gen<Pair>::make(random, domain);
      const std::int64_t diff = random.one_in(3) ? -1 : 1;
      message.push_back({data, time, diff});
      sent_.add(data, time, diff);
      if (random.one_in(3)) {  // and back: what cancels must hold nothing
        message.push_back({data, time, -diff});
        sent_.add(data, time, -diff);
      }
    }
    if (!message.empty()) handle.send(std::move(message));
  }
  void advance(testing::Random& random) {
    const std::uint64_t axis = random.below(2);
    LoopTime time = handles_[axis].time();
    (axis == 0 ? time.outer : time.inner) += 1;
    handles_[axis].advance_to(time);
  }
  void close() {
    for (auto& handle : handles_) handle.close();
  }
  [[nodiscard]] Content<Pair> at(const LoopTime& time) const { return sent_.at(time); }

 private:
  timely::InputHandle<LoopTime, Message> handles_[2];
  Collected<Pair, LoopTime> sent_;
};

template <typename D>
void check_grid(const std::function<Collection<LoopTime, D>(Collection<LoopTime, Pair>,
                                                           Collection<LoopTime, Pair>)>& build,
                const std::function<Content<D>(const Content<Pair>&, const Content<Pair>&)>& spec,
                std::uint64_t rounds = 24) {
  const std::uint64_t size = 5;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    auto random = testing::seeded_random(round);
    World world(round, 1 + round % 3);
    GridSource left;
    GridSource right;
    Collected<D, LoopTime> collected;
    timely::ProbeHandle<LoopTime> probe;
    world.runtime->dataflow<LoopTime>("grid", [&](timely::Scope<LoopTime>& scope) {
      probe = collected.watch(build(left.in(scope), right.in(scope))).probe();
    });
    for (std::uint64_t step = 0; step < 14; ++step) {
      left.change(random, size, 8);
      right.change(random, size, 8);
      if (random.coin()) left.advance(random);
      if (random.coin()) right.advance(random);
      if (random.coin()) world.runtime->run_until_idle();
    }
    left.close();
    right.close();
    world.runtime->step_while([&] { return !probe.done(); });
    for (std::uint64_t x = 0; x < 20; x += 1 + x / 5) {
      for (std::uint64_t y = 0; y < 20; y += 1 + y / 5) {
        const LoopTime time{x, y};
        REQUIRE(collected.at(time) == spec(left.at(time), right.at(time)));
      }
    }
  }
}

TEST_CASE("partial order: join", "[differential][property]") {
  check_grid<Triple>(
      [](auto left, auto right) {
        return left.join(right, [](auto key, auto a, auto b) { return Triple{key, a, b}; });
      },
      [](const Content<Pair>& left, const Content<Pair>& right) {
        Content<Triple> result;
        for (const auto& [a, r1] : left) {
          for (const auto& [b, r2] : right) {
            if (a.first != b.first) continue;
            auto place = result.try_emplace({a.first, a.second, b.second}, 0).first;
            place->second += r1 * r2;
            if (place->second == 0) result.erase(place);
          }
        }
        return result;
      });
}

TEST_CASE("partial order: distinct and count", "[differential][property]") {
  check_grid<Pair>([](auto left, auto right) { return left.concat(right).distinct(); },
                   [](Content<Pair> left, const Content<Pair>& right) {
                     for (const auto& [p, diff] : right) left[p] += diff;
                     Content<Pair> result;
                     for (const auto& [p, diff] : left) {
                       if (diff > 0) result[p] = 1;
                     }
                     return result;
                   });
  using Counted = std::pair<Pair, std::int64_t>;
  check_grid<Counted>([](auto left, auto) { return left.count(); },
                      [](const Content<Pair>& left, const Content<Pair>&) {
                        Content<Counted> result;
                        for (const auto& [p, diff] : left) result[{p, diff}] = 1;
                        return result;
                      });
}

TEST_CASE("partial order: reduce of a reduce, compacting", "[differential][property]") {
  using Tr = Trace<std::uint64_t, std::uint64_t, LoopTime, std::int64_t>;
  check_grid<Pair>(
      [](auto left, auto right) {
        auto least = [](auto, auto& group, auto& output) { output.push(group.val(), 1); };
        // The second sees what the first retracts and adds at joins of times.
        auto sum = [](auto, auto& group, auto& output) {
          std::int64_t all = 0;
          for (; group.valid(); group.step()) all += group.diff() * std::int64_t(group.val() + 1);
          output.push(static_cast<std::uint64_t>(all + 1000), 1);
        };
        auto first = reduce_core<Tr>(left.arrange_by_key("l", 40), "least", least, 40);
        auto both = as_collection(first, [](auto k, auto v) { return Pair{k, v}; }).concat(right);
        auto second = reduce_core<Tr>(both.arrange_by_key("b", 40), "sum", sum, 40);
        return as_collection(second, [](auto k, auto v) { return Pair{k, v}; });
      },
      [](const Content<Pair>& left, Content<Pair> right) {
        std::optional<std::uint64_t> last;
        for (const auto& [p, diff] : left) {
          if (last != p.first) right[p] += 1;
          last = p.first;
        }
        std::map<std::uint64_t, std::int64_t> sums;
        for (const auto& [p, diff] : right) {
          if (diff != 0) sums.try_emplace(p.first, 1000).first->second += diff * std::int64_t(p.second + 1);
        }
        Content<Pair> result;
        for (const auto& [key, sum] : sums) result[{key, static_cast<std::uint64_t>(sum)}] = 1;
        return result;
      });
}

TEST_CASE("partial order: consolidate", "[differential][property]") {
  check_grid<Pair>([](auto left, auto right) { return left.concat(right.negate()).consolidate(); },
                   [](Content<Pair> left, const Content<Pair>& right) {
                     for (const auto& [p, diff] : right) {
                       left[p] -= diff;
                       if (left[p] == 0) left.erase(p);
                     }
                     return left;
                   });
}

}  // namespace
}  // namespace differential
