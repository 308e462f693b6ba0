// SPDX-License-Identifier: Apache-2.0
// Activation from outside, timers, dropping, width, lanes, the event log.
#include <timely/timely.h>

#include <testing/sim_scheduler.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <set>

namespace timely {
namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;

/// A source fed from outside: sends what it finds and advances, when activated.
struct Feed {
  struct State {
    Numbers waiting{};
    Time upper = 0;
    bool closed = false;
    Activator activator{};
  };
  std::shared_ptr<State> state;
  Capability<Time> capability;
  void step(Output<Time, Numbers>& output) {
    if (!capability.valid()) return;
    if (!state->waiting.empty()) output.give(capability, std::exchange(state->waiting, {}));
    if (state->closed) {
      capability = Capability<Time>();
    } else {
      capability.downgrade(state->upper);
    }
  }
};

Stream<Time, Numbers> feed(Scope<Time>& scope, std::shared_ptr<Feed::State> state) {
  return scope.source("Feed", [state](Setup<Time>& setup) {
    state->activator = setup.activator();
    return Feed{state, setup.capability()};
  });
}

TEST_CASE("source: activated from outside, holding a capability", "[timely][runtime]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 1});
  auto state = std::make_shared<Feed::State>();
  ProbeHandle<Time> probe;
  Numbers seen;
  runtime.dataflow<Time>("feed", [&](Scope<Time>& scope) {
    probe = feed(scope, state).inspect([&](std::uint64_t n) { seen.push_back(n); }).probe();
  });
  runtime.run_until_idle();
  CHECK(probe.frontier() == Antichain<Time>{0});
  state->waiting = {1, 2};
  state->upper = 9;
  CHECK_FALSE(executor.step());  // nothing polls
  state->activator.activate();
  runtime.run_until_idle();
  CHECK(seen == Numbers{1, 2});
  CHECK(probe.frontier() == Antichain<Time>{9});
  state->closed = true;
  state->activator.activate();
  runtime.run_until_idle();
  CHECK(probe.done());
  CHECK(runtime.live_dataflows() == 0);
  state->waiting = {3};
  state->activator.activate();  // gone: does nothing
  runtime.run_until_idle();
  CHECK(state->waiting == Numbers{3});
}

TEST_CASE("source: a timer activates it", "[timely][runtime]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 2, .scheduler = &executor.scheduler()});
  ProbeHandle<Time> probe;
  runtime.dataflow<Time>("ticks", [&](Scope<Time>& scope) {
    probe = scope
                .source<Numbers>("Tick",
                                 [](Setup<Time>& setup) {
                                   return [capability = setup.capability()](
                                              Output<Time, Numbers>&, Context& context) mutable {
                                     capability.downgrade(capability.time() + 1);
                                     if (capability.time() < 5) {
                                       context.activate_after(std::chrono::seconds(1));
                                     } else {
                                       capability = Capability<Time>();
                                     }
                                   };
                                 })
                .probe();
  });
  const auto start = executor.now();
  runtime.step_while([&] { return !probe.done(); });
  CHECK(executor.now() - start >= std::chrono::seconds(4));
  CHECK(executor.now() - start < std::chrono::seconds(5));
}

TEST_CASE("probe: tells a task queue when a time has passed", "[timely][probe]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 2, .scheduler = &executor.scheduler()});
  InputHandle<Time, Numbers> input;
  ProbeHandle<Time> probe;
  runtime.dataflow<Time>("probe", [&](Scope<Time>& scope) {
    auto [handle, numbers] = scope.input<Numbers>();
    input = std::move(handle);
    probe = numbers.exchange([](std::uint64_t n) { return n; }).probe();
  });
  std::vector<int> passed;
  probe.when_passed(3, executor.scheduler(), [&] { passed.push_back(3); });
  probe.when_passed(5, executor.scheduler(), [&] { passed.push_back(5); });
  input.send({1, 2, 3});
  input.advance_to(3);
  runtime.run_until_idle();
  CHECK(passed.empty());
  input.advance_to(4);
  runtime.run_until_idle();
  CHECK(passed == std::vector<int>{3});
  probe.when_passed(0, executor.scheduler(), [&] { passed.push_back(0); });  // has passed already
  runtime.run_until_idle();
  input.close();
  runtime.run_until_idle();
  CHECK(passed == std::vector<int>{3, 0, 5});
}

TEST_CASE("drop: stops one dataflow and leaves the others", "[timely][runtime]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimExecutor executor(seed);
    Runtime runtime(executor, {.workers = 3});
    InputHandle<Time, Numbers> inputs[2];
    ProbeHandle<Time> probes[2];
    Dataflow dataflows[2];
    auto alive = std::make_shared<int>(0);  // counts logic
    struct Logic {
      std::shared_ptr<int> count;
      Capability<Time> kept{};
      explicit Logic(std::shared_ptr<int> c) : count(std::move(c)) { ++*count; }
      Logic(Logic&& other) = default;
      ~Logic() {
        if (count) --*count;
      }
      void step(Input<Time, Numbers>& input, Output<Time, Numbers>& output) {
        input.for_each([&](const Capability<Time>& at, Numbers numbers) {
          if (!kept.valid()) kept = at.retain();
          output.give(at, std::move(numbers));
        });
        if (!kept.valid()) return;
        if (input.frontier().empty()) {
          kept = {};
        } else {
          kept.downgrade(input.frontier());
        }
      }
    };
    for (int i = 0; i < 2; ++i) {
      dataflows[i] = runtime.dataflow<Time>("one of two", [&](Scope<Time>& scope) {
        auto [handle, numbers] = scope.input<Numbers>();
        inputs[i] = std::move(handle);
        probes[i] = numbers
                        .unary("Logic", Exchange{[](std::uint64_t n) { return n; }},
                               [alive] { return Logic(alive); })
                        .exchange([](std::uint64_t n) { return n + 1; })
                        .probe();
      });
    }
    for (Time t = 0; t < 3; ++t) {
      for (auto& input : inputs) {
        input.send({1, 2, 3, 4});
        input.advance_to(t + 1);
      }
      for (int k = 0; k < 5; ++k) executor.step();
    }
    dataflows[0].drop();
    inputs[0].send({7});
    inputs[0].advance_to(9);
    runtime.run_until_idle();
    CHECK(*alive == 3);
    CHECK(dataflows[0].dropped());
    CHECK(runtime.live_dataflows() == 1);
    CHECK(probes[1].frontier() == Antichain<Time>{3});
    inputs[1].close();
    runtime.run_until_idle();
    CHECK(probes[1].done());
    CHECK(*alive == 0);
    CHECK(dataflows[1].complete());
  }
}

TEST_CASE("runtime: goes down with mail in flight", "[timely][runtime]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimExecutor executor(seed);
    InputHandle<Time, Numbers> input;
    auto state = std::make_shared<Feed::State>();
    {
      Runtime runtime(executor, {.workers = 3});
      runtime.dataflow<Time>("down", [&](Scope<Time>& scope) {
        auto [handle, numbers] = scope.input<Numbers>();
        input = std::move(handle);
        numbers.concat(numbers)
            .exchange([](std::uint64_t n) { return n; })
            .delay([](Time at, std::uint64_t) { return at + 3; });
      });
      runtime.dataflow<Time>({.name = "feed", .width = 1},
                             [&](Scope<Time>& scope) { feed(scope, state); });
      for (Time t = 1; t < 4; ++t) {
        input.send({1, 2, 3});
        input.advance_to(t);
        for (std::uint64_t k = 0; k < seed; ++k) executor.step();
      }
    }
    input.send({1});  // nobody hears it
    input.flush();
    state->activator.activate();
    CHECK_FALSE(executor.busy());
  }
}

TEST_CASE("width: a dataflow runs on the first workers only", "[timely][runtime]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 3});
  InputHandle<Time, Numbers> input;
  std::set<std::size_t> ran;
  std::size_t made = 0;
  auto dataflow = runtime.dataflow<Time>({.name = "narrow", .width = 2}, [&](Scope<Time>& scope) {
    auto [handle, numbers] = scope.input<Numbers>();
    input = std::move(handle);
    numbers.sink("See", Exchange{[](std::uint64_t n) { return n; }}, [&](Setup<Time>&) {
      ++made;
      return [&](Input<Time, Numbers>& in, Context& context) {
        in.for_each([&](const Capability<Time>&, const Numbers& numbers_in) {
          for (std::uint64_t n : numbers_in) CHECK(n % 2 == context.worker());
          ran.insert(context.worker());
        });
        CHECK(context.width() == 2);
      };
    });
  });
  input.send({0, 1, 2, 3, 4, 5});
  input.close();
  runtime.run_until_idle();
  CHECK(made == 2);
  CHECK(ran == std::set<std::size_t>{0, 1});
  CHECK(dataflow.operator_names() == std::vector<std::string>{"See"});
  CHECK(dataflow.graphviz().find("See.in0 *") != std::string::npos);
}

TEST_CASE("sim executor: runs inside an outer simulation, and dies with a killed process",
          "[timely][runtime]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    testing::SimScheduler sim(seed);
    auto& process = sim.new_process();
    SimExecutor executor(seed, process, [&] { return sim.step(); });
    {
      Runtime runtime(executor, {.workers = 2, .scheduler = &process});
      ProbeHandle<Time> probe;
      runtime.dataflow<Time>("ticks", [&](Scope<Time>& scope) {
        probe = scope
                    .source<Numbers>("Tick",
                                     [](Setup<Time>& setup) {
                                       return [capability = setup.capability()](
                                                  Output<Time, Numbers>& output,
                                                  Context& context) mutable {
                                         output.give(capability, {capability.time()});
                                         capability.downgrade(capability.time() + 1);
                                         context.activate_after(std::chrono::milliseconds(10));
                                       };
                                     })
                    .exchange([](std::uint64_t n) { return n; })
                    .probe();
      });
      runtime.step_while([&] { return probe.less_than(5); });  // drives the whole simulation
      CHECK(sim.clock().now().time_since_epoch() >= std::chrono::milliseconds(40));
      sim.run_for(std::chrono::milliseconds(50));
      CHECK_FALSE(probe.less_than(10));
      process.kill();
      const auto stopped_at = probe.frontier();
      sim.run_for(std::chrono::milliseconds(50));
      CHECK(probe.frontier() == stopped_at);
    }
  }
}

TEST_CASE("runtime: tasks run on the worker that they were posted to", "[timely][runtime]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 2});
  int ran = 0;
  runtime.post(1, [&] { ++ran; });
  CHECK(ran == 0);
  runtime.run_until_idle();
  CHECK(ran == 1);
}

TEST_CASE("lanes: bulk operators run when no latency operator waits", "[timely][runtime]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 1});
  std::vector<std::string> order;
  std::vector<InputHandle<Time, Numbers>> inputs;
  for (const auto& [name, lane] :
       {std::pair{"bulk", Lane::kBulk}, std::pair{"quick", Lane::kLatency}}) {
    runtime.dataflow<Time>({.name = name, .lane = lane}, [&](Scope<Time>& scope) {
      auto [handle, numbers] = scope.input<Numbers>();
      inputs.push_back(std::move(handle));
      numbers.sink(
          "Note", Pipeline{},
          [&order, n = std::string(name)] {
            return [&order, n](Input<Time, Numbers>& in) {
              in.for_each([&](const Capability<Time>&, const Numbers&) { order.push_back(n); });
            };
          },
          FrontierInterest::kNever);
    });
  }
  runtime.run_until_idle();
  for (auto& input : inputs) {
    input.send({1});
    input.flush();
  }
  runtime.run_until_idle();
  CHECK(order == std::vector<std::string>{"quick", "bulk"});
}

TEST_CASE("event log: tells what ran, what moved and what was posted", "[timely][events]") {
  SimExecutor executor(1);
  EventLog log;
  Runtime runtime(executor, {.workers = 2, .events = &log});
  InputHandle<Time, Numbers> input;
  runtime.dataflow<Time>("logged", [&](Scope<Time>& scope) {
    auto [handle, numbers] = scope.input<Numbers>();
    input = std::move(handle);
    numbers.map([](std::uint64_t n) { return n + 1; })
        .sink("End", Exchange{[](std::uint64_t n) { return n; }}, [] {
          return [](Input<Time, Numbers>& in) { in.for_each([](const auto&, const Numbers&) {}); };
        });
  });
  input.send({1, 2, 3, 4});
  input.close();
  runtime.run_until_idle();
  const std::vector<Event> events = log.drain();
  auto sum = [&](EventKind kind, std::uint32_t op) {
    std::uint64_t result = 0;
    for (const Event& event : events)
      result += event.kind == kind && event.op == op ? event.value : 0;
    return result;
  };
  auto count = [&](EventKind kind) { return std::ranges::count(events, kind, &Event::kind); };
  CHECK(count(EventKind::kDataflowInstalled) == 2);
  CHECK(count(EventKind::kDataflowGone) == 2);
  CHECK(sum(EventKind::kMessageReceived, 0) == 4);
  CHECK(sum(EventKind::kMessageSent, 0) == 4);
  CHECK(sum(EventKind::kMessageReceived, 1) == 4);
  CHECK(count(EventKind::kOperatorStart) == count(EventKind::kOperatorStop));
  CHECK(count(EventKind::kProgressPosted) >= 1);
  CHECK(log.drain().empty());
}

TEST_CASE("event log: is bounded and counts what it drops", "[timely][events]") {
  EventLog log(3);
  std::vector<Event> some(2);
  log.append(some);
  some.resize(2);
  log.append(some);
  CHECK(log.dropped() == 1);
  CHECK(log.drain().size() == 3);
}

}  // namespace
}  // namespace timely
