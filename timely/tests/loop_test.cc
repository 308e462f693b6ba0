// SPDX-License-Identifier: Apache-2.0
// Loops and nested scopes: results, progress, and what is refused.
#include <timely/timely.h>

#include <testing/random.h>
#include <catch2/catch.hpp>

#include <limits>
#include <memory>
#include <set>
#include <vector>

namespace timely {
namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;
using Round = std::uint32_t;
using Inner = Product<Time, Round>;
using InnerInner = Product<Inner, Round>;

std::uint64_t collatz(std::uint64_t n) { return n % 2 == 0 ? n / 2 : 3 * n + 1; }

struct Run {
  explicit Run(std::uint64_t seed, std::size_t workers)
      : executor(seed), runtime(executor, {.workers = workers}) {}
  SimExecutor executor;
  Runtime runtime;
  InputHandle<Time, Numbers> input{};
  ProbeHandle<Time> probe{};
  std::shared_ptr<std::multiset<std::uint64_t>> seen =
      std::make_shared<std::multiset<std::uint64_t>>();

  template <typename Describe>
  void describe(Describe f) {
    runtime.dataflow<Time>("loop", [&](Scope<Time>& scope) {
      auto [handle, numbers] = scope.input<Numbers>();
      input = std::move(handle);
      probe = f(scope, numbers).inspect([all = seen](std::uint64_t n) { all->insert(n); }).probe();
    });
  }
};

template <typename F>
void for_seeds(F f) {
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (std::size_t workers = 1; workers <= 3; ++workers) {
      auto random = testing::seeded_random(round);
      f(random, workers);
    }
  }
}

TEST_CASE("loop: runs until nothing is left, then lets time advance", "[timely][loop][property]") {
  for_seeds([](testing::Random& random, std::size_t workers) {
    Run run(random.next(), workers);
    run.describe([](Scope<Time>& scope, const Stream<Time, Numbers>& numbers) {
      return scope.iterative<Round>("Collatz", [&](Scope<Inner>& inner) {
        auto again = inner.feedback<Numbers>({.outer = {}, .inner = {1}});
        auto next = numbers.enter(inner)
                        .concat(again.stream())
                        .exchange([](std::uint64_t n) { return n; })
                        .map([](std::uint64_t n) { return n == 1 ? 1 : collatz(n); });
        auto parts = next.partition(2, [](std::uint64_t n) { return n == 1 ? 0 : 1; });
        again.connect(parts[1]);
        return parts[0].leave(scope);
      });
    });
    for (Time now = 0; now < 4; ++now) {
      run.input.send({random.below(30) + 1, random.below(30) + 1});
      run.input.advance_to(now + 1);
      run.runtime.step_while([&] { return run.probe.less_than(now + 1); });
      REQUIRE(run.seen->size() == 2 * (now + 1));
    }
    run.input.close();
    run.runtime.step_while([&] { return !run.probe.done(); });
    run.runtime.run_until_idle();
    REQUIRE(run.runtime.live_dataflows() == 0);
  });
}

TEST_CASE("loop: a loop in a loop, with a loop around both", "[timely][loop][property]") {
  for_seeds([](testing::Random& random, std::size_t workers) {
    Run run(random.next(), workers);
    // Inner loop: halve while even. Outer loop: from an odd n > 1 go on with n - 1. All reach 1.
    run.describe([](Scope<Time>& scope, const Stream<Time, Numbers>& numbers) {
      return scope.iterative<Round>("Outer", [&](Scope<Inner>& outer) {
        auto again = outer.feedback<Numbers>({.outer = {}, .inner = {1}});
        auto odd = outer.iterative<Round>("Inner", [&](Scope<InnerInner>& inner) {
          auto halve = inner.feedback<Numbers>({.outer = {}, .inner = {1}});
          auto parts = numbers.enter(outer)
                           .concat(again.stream())
                           .enter(inner)
                           .concat(halve.stream())
                           .partition(2, [](std::uint64_t n) { return n % 2; });
          halve.connect(
              parts[0].map([](std::uint64_t n) { return n / 2; }).exchange([](std::uint64_t n) {
                return n;
              }));
          return parts[1].leave(outer);
        });
        auto done = odd.partition(2, [](std::uint64_t n) { return n == 1 ? 0 : 1; });
        again.connect(done[1].map([](std::uint64_t n) { return n - 1; }));
        return done[0].leave(scope);
      });
    });
    for (Time now = 0; now < 3; ++now) {
      run.input.send({random.below(100) + 1, random.below(100) + 1});
      run.input.advance_to(10 * now + 10);
      run.runtime.step_while([&] { return run.probe.less_than(10 * now + 10); });
      REQUIRE(run.seen->size() == 2 * (now + 1));
      REQUIRE(run.seen->count(1) == run.seen->size());
    }
    run.input.close();
    run.runtime.step_while([&] { return !run.probe.done(); });
  });
}

TEST_CASE("loop: messages past the end of time are dropped and do not stall it", "[timely][loop]") {
  Run run(1, 2);
  run.describe([](Scope<Time>& scope, const Stream<Time, Numbers>& numbers) {
    auto again = scope.feedback<Numbers>({1});
    auto all = numbers.concat(again.stream()).map([](std::uint64_t n) { return n + 1; });
    again.connect(all);
    return all;
  });
  run.input.advance_to(std::numeric_limits<Time>::max() - 5);
  run.input.send({0});
  run.input.close();
  run.runtime.step_while([&] { return !run.probe.done(); });
  CHECK(*run.seen == std::multiset<std::uint64_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("loop: a frontier jumps over any distance in one step", "[timely][loop]") {
  Run run(1, 1);
  run.describe([](Scope<Time>& scope, const Stream<Time, Numbers>& numbers) {
    return scope.iterative<Round>("Loop", [&](Scope<Inner>& inner) {
      auto again = inner.feedback<Numbers>({.outer = {}, .inner = {1}});
      auto all = numbers.enter(inner).concat(again.stream());
      again.connect(all.filter([](std::uint64_t n) { return n > 1000; }));
      return all.leave(scope);
    });
  });
  run.input.advance_to(std::uint64_t{1} << 60);
  CHECK(run.probe.frontier() == Antichain<Time>{std::uint64_t{1} << 60});
  run.input.close();
  CHECK(run.probe.done());
}

TEST_CASE("loop: a cycle that does not advance time is refused by name", "[timely][loop]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 1});
  auto result = runtime.try_dataflow<Time>({.name = "bad"}, [](Scope<Time>& scope) {
    auto [handle, numbers] = scope.input<Numbers>();
    auto again = scope.feedback<Numbers>({0});
    again.connect(numbers.concat(again.stream()).map([](std::uint64_t n) { return n; }));
  });
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message.find("Map.in0") != std::string::npos);
  CHECK(result.error().message.find("Feedback") != std::string::npos);

  // Through a nested scope too: what its loop adds does not show outside.
  auto nested = runtime.try_dataflow<Time>({.name = "bad"}, [](Scope<Time>& scope) {
    auto again = scope.feedback<Numbers>({0});
    again.connect(scope.iterative<Round>("Inner", [&](Scope<Inner>& inner) {
      return again.stream().enter(inner).map([](std::uint64_t n) { return n; }).leave(scope);
    }));
  });
  CHECK_FALSE(nested.has_value());
}

}  // namespace
}  // namespace timely
