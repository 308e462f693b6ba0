// SPDX-License-Identifier: Apache-2.0
// Every shipped operator on 1, 2 and 3 workers under many interleavings, against plain loops.
#include <timely/timely.h>

#include <testing/random.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace timely {
namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;
/// What came, by time, sorted.
using Content = std::map<Time, Numbers>;

/// Collects what a stream sends.
class Collector {
 public:
  template <Timestamp T>
  ProbeHandle<T> attach(const Stream<T, Numbers>& stream) {
    return stream
        .inspect([content = content_](const Antichain<T>& times, const Numbers& numbers) {
          auto& all = (*content)[times.only()];
          all.insert(all.end(), numbers.begin(), numbers.end());
        })
        .probe();
  }
  [[nodiscard]] Content content() const {
    Content result = *content_;
    for (auto& [time, numbers] : result) std::ranges::sort(numbers);
    return result;
  }

 private:
  std::shared_ptr<Content> content_ = std::make_shared<Content>();
};

/// Sends random numbers at times 0 to 5 through what `describe` makes of them; checks content and
/// progress.
template <typename Describe, typename Expect>
void check(Describe describe, Expect expect) {
  for (std::uint64_t round = 0; round < 12; ++round) {
    for (std::size_t workers = 1; workers <= 3; ++workers) {
      auto random = testing::seeded_random(round);
      SimExecutor executor(random.next());
      Runtime runtime(executor, {.workers = workers});
      InputHandle<Time, Numbers> input;
      ProbeHandle<Time> probe;
      Collector collector;
      runtime.dataflow<Time>("test", [&](Scope<Time>& scope) {
        auto [handle, numbers] = scope.input<Numbers>();
        input = std::move(handle);
        probe = collector.attach(describe(numbers));
      });
      Content sent;
      for (Time now = 0; now < 6; ++now) {
        for (std::uint64_t n = random.below(4); n > 0; --n) {
          Numbers message;
          for (std::uint64_t k = 1 + random.below(4); k > 0; --k)
            message.push_back(random.below(100));
          sent[now].insert(sent[now].end(), message.begin(), message.end());
          input.send(std::move(message));
        }
        input.advance_to(now + 1);
        if (random.coin()) runtime.step_while([&] { return probe.less_than(now); });
      }
      input.close();
      runtime.step_while([&] { return !probe.done(); });
      Content expected = expect(sent, workers);
      std::erase_if(expected, [](const auto& entry) { return entry.second.empty(); });
      for (auto& [time, numbers] : expected) std::ranges::sort(numbers);
      REQUIRE(collector.content() == expected);
      runtime.run_until_idle();
      REQUIRE(runtime.live_dataflows() == 0);
    }
  }
}

template <typename F>
auto per_record(F f) {
  return [f](const Content& sent, std::size_t) {
    Content result;
    for (const auto& [time, numbers] : sent) {
      for (std::uint64_t n : numbers) {
        for (std::uint64_t out : f(n)) result[time].push_back(out);
      }
    }
    return result;
  };
}

using S = Stream<Time, Numbers>;

TEST_CASE("operators: map, filter, flat_map and map_messages", "[timely][operators][property]") {
  check([](const S& s) { return s.map([](std::uint64_t n) { return n + 1; }); },
        per_record([](std::uint64_t n) { return Numbers{n + 1}; }));
  check([](const S& s) { return s.filter([](std::uint64_t n) { return n % 3 == 0; }); },
        per_record([](std::uint64_t n) { return n % 3 == 0 ? Numbers{n} : Numbers{}; }));
  check([](const S& s) { return s.flat_map([](std::uint64_t n) { return Numbers(n % 4, n); }); },
        per_record([](std::uint64_t n) { return Numbers(n % 4, n); }));
  check(
      [](const S& s) {
        return s.map_messages([](Numbers n) {
          n.push_back(n.front());
          n.pop_back();
          return n;
        });
      },
      per_record([](std::uint64_t n) { return Numbers{n}; }));
}

TEST_CASE("operators: exchange keeps every record, broadcast gives it to every worker",
          "[timely][operators][property]") {
  check([](const S& s) { return s.exchange([](std::uint64_t n) { return n; }); },
        per_record([](std::uint64_t n) { return Numbers{n}; }));
  check([](const S& s) { return s.broadcast(); },
        [](const Content& sent, std::size_t workers) {
          Content result;
          for (const auto& [time, numbers] : sent) {
            for (std::uint64_t n : numbers) result[time].insert(result[time].end(), workers, n);
          }
          return result;
        });
}

TEST_CASE("operators: partition splits, concat and fan-out join again",
          "[timely][operators][property]") {
  check(
      [](const S& s) {
        auto parts = s.partition(3, [](std::uint64_t n) { return n % 3; });
        return concatenate(std::vector<S>{parts[0].map([](std::uint64_t n) { return n; }),
                                          parts[1].concat(parts[1]), parts[2]});
      },
      per_record([](std::uint64_t n) {
        return n % 3 == 1 ? Numbers{n, n} : Numbers{n};
      }));
}

TEST_CASE("operators: delay moves records to later times", "[timely][operators][property]") {
  check([](const S& s) { return s.delay([](Time at, std::uint64_t n) { return at + n % 4; }); },
        [](const Content& sent, std::size_t) {
          Content result;
          for (const auto& [time, numbers] : sent) {
            for (std::uint64_t n : numbers) result[time + n % 4].push_back(n);
          }
          return result;
        });
}

TEST_CASE("operators: a notificator sums a time once it is complete",
          "[timely][operators][property]") {
  auto describe = [](const S& s) {
    return s.unary<Numbers>(
        "Sum", Exchange{[](std::uint64_t) { return 0U; }},
        [] {
          return [sums = std::map<Time, std::uint64_t>(), notificator = Notificator<Time>()](
                     Input<Time, Numbers>& input, Output<Time, Numbers>& output) mutable {
            input.for_each([&](const Capability<Time>& at, const Numbers& numbers) {
              auto [sum, fresh] = sums.try_emplace(at.time(), 0);
              if (fresh) notificator.notify_at(at.retain());
              for (std::uint64_t n : numbers) sum->second += n;
            });
            notificator.for_each({&input.frontier()}, [&](Capability<Time> done) {
              output.give(done, {sums.extract(done.time()).mapped()});
            });
          };
        },
        FrontierInterest::kIfCapability);
  };
  check(describe, [](const Content& sent, std::size_t) {
    Content result;
    for (const auto& [time, numbers] : sent) {
      std::uint64_t sum = 0;
      for (std::uint64_t n : numbers) sum += n;
      result[time] = {sum};
    }
    return result;
  });
}

TEST_CASE("operators: a binary operator sees both frontiers", "[timely][operators][property]") {
  // Pairs the sum of the even numbers with the sum of the odd ones, per time.
  auto describe = [](const S& s) {
    auto parts = s.partition(2, [](std::uint64_t n) { return n % 2; });
    auto to_first = Exchange{[](std::uint64_t) { return 0U; }};
    return parts[0].template binary<Numbers>(parts[1], "Pair", to_first, to_first, [] {
      struct State {
        std::map<Time, std::pair<std::uint64_t, std::uint64_t>> sums{};
        Notificator<Time> notificator{};
      };
      return
          [state = std::make_unique<State>()](Input<Time, Numbers>& even, Input<Time, Numbers>& odd,
                                              Output<Time, Numbers>& output) mutable {
            auto add = [&](const Capability<Time>& at, const Numbers& numbers, auto member) {
              auto [entry, fresh] = state->sums.try_emplace(at.time());
              if (fresh) state->notificator.notify_at(at.retain());
              for (std::uint64_t n : numbers) entry->second.*member += n;
            };
            using Sums = std::pair<std::uint64_t, std::uint64_t>;
            even.for_each([&](const auto& at, const Numbers& n) { add(at, n, &Sums::first); });
            odd.for_each([&](const auto& at, const Numbers& n) { add(at, n, &Sums::second); });
            state->notificator.for_each(
                {&even.frontier(), &odd.frontier()}, [&](Capability<Time> done) {
                  const auto [first, second] = state->sums.extract(done.time()).mapped();
                  output.give(done, {first, second});
                });
          };
    });
  };
  check(describe, [](const Content& sent, std::size_t) {
    Content result;
    for (const auto& [time, numbers] : sent) {
      std::uint64_t sums[2] = {0, 0};
      for (std::uint64_t n : numbers) sums[n % 2] += n;
      if (!numbers.empty()) result[time] = {sums[0], sums[1]};
    }
    return result;
  });
}

TEST_CASE("operators: a replayed capture is the same stream", "[timely][capture][property]") {
  for (std::uint64_t round = 0; round < 12; ++round) {
    auto random = testing::seeded_random(round);
    SimExecutor executor(random.next());
    Runtime runtime(executor, {.workers = 3});
    InputHandle<Time, Numbers> input;
    EventLists<Time, Numbers> lists;
    Collector first;
    Collector second;
    ProbeHandle<Time> probe;
    ProbeHandle<Time> later;
    runtime.dataflow<Time>("capture", [&](Scope<Time>& scope) {
      auto [handle, numbers] = scope.input<Numbers>();
      input = std::move(handle);
      auto held = numbers.delay([](Time at, std::uint64_t n) { return at + n % 3; });
      probe = first.attach(held);
      lists = capture(held);
    });
    runtime.dataflow<Time>({.name = "replay", .width = 2}, [&](Scope<Time>& scope) {
      later = second.attach(replay(scope, lists));
    });
    for (Time now = 0; now < 5; ++now) {
      input.send({random.below(9), random.below(9)});
      input.advance_to(now + 1);
      runtime.step_while([&] { return later.less_than(now); });
      CHECK(!probe.less_than(now));
    }
    runtime.run_until_idle();
    CHECK(later.frontier() == probe.frontier());
    CHECK(second.content() == first.content());
    input.close();
    runtime.step_while([&] { return !later.done(); });
    REQUIRE(second.content() == first.content());
  }
}

}  // namespace
}  // namespace timely
