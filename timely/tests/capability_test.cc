// SPDX-License-Identifier: Apache-2.0
// Misuse of capabilities is caught in every build: each case aborts in a child process.
#include <timely/timely.h>

#include <catch2/catch.hpp>

#include <concepts>
#include <csignal>
#include <cstdio>
#include <functional>

#include <sys/wait.h>
#include <unistd.h>

namespace timely {
namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;

static_assert(!std::copy_constructible<Capability<Time>>);
static_assert(std::movable<Capability<Time>>);
// Nothing can be sent without a capability, and none can be made from a time.
template <typename O>
concept SendsWithoutCapability = requires(O& output, Numbers numbers) {
  output.give(numbers);
} || requires(O& output, Numbers numbers) { output.give(Time{3}, numbers); };
static_assert(!SendsWithoutCapability<Output<Time, Numbers>>);
static_assert(!std::constructible_from<Capability<Time>, Time>);

/// True if `f` ends by an assertion.
bool aborts(const std::function<void()>& f) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    std::signal(SIGABRT, SIG_DFL);  // Catch's handler would report
    f();
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/// Runs one operator on one message at time 5.
template <typename Step>
void run(Step step) {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 1});
  InputHandle<Time, Numbers> input;
  runtime.dataflow<Time>("misuse", [&](Scope<Time>& scope) {
    auto [handle, numbers] = scope.input<Numbers>();
    input = std::move(handle);
    OperatorBuilder<Time> builder(scope, "Misuse");
    const auto in = builder.input(numbers, Pipeline{});
    const auto [first, first_stream] = builder.output<Numbers>();
    const auto [second, second_stream] = builder.output<Numbers>();
    const auto [never, never_stream] = builder.output<Numbers>();
    builder.path(in, never, std::nullopt);
    builder.build([=](Setup<Time>&) {
      return [=](Ports<Time>& ports) {
        ports.input(in).for_each([&](const Capability<Time>& at, const Numbers&) {
          step(at, ports.output(first), ports.output(second), ports.output(never));
        });
      };
    });
  });
  input.advance_to(5);
  input.send({1});
  input.close();
  runtime.run_until_idle();
}

using Out = Output<Time, Numbers>;

TEST_CASE("capability: right use passes", "[timely][capability]") {
  CHECK_FALSE(aborts([] {
    run([](const Capability<Time>& at, Out& first, Out& second, Out&) {
      first.give(at, {1});
      second.give(at, {1});
      first.give(at.retain(0), {1});
      second.give(at.delayed(7, 1), {1});
      Capability<Time> later = at.delayed(6);
      later.downgrade(8);
      first.give(later, {1});
      first.give(later.delayed(9), {2});
    });
  }));
}

TEST_CASE("capability: for another output, or an output the input does not lead to",
          "[timely][capability]") {
  CHECK(aborts([] {
    run([](const Capability<Time>& at, Out&, Out& second, Out&) {
      second.give(at.retain(0), {1});
    });
  }));
  CHECK(aborts([] {
    run([](const Capability<Time>& at, Out&, Out&, Out& never) { never.give(at, {1}); });
  }));
  CHECK(aborts(
      [] { run([](const Capability<Time>& at, Out&, Out&, Out&) { (void)at.retain(2); }); }));
}

TEST_CASE("capability: going back in time", "[timely][capability]") {
  CHECK(aborts(
      [] { run([](const Capability<Time>& at, Out&, Out&, Out&) { (void)at.delayed(4); }); }));
  CHECK(aborts([] {
    run([](const Capability<Time>& at, Out&, Out&, Out&) {
      Capability<Time> later = at.delayed(7);
      later.downgrade(6);
    });
  }));
}

TEST_CASE("capability: one that was moved away or given up", "[timely][capability]") {
  CHECK(aborts([] {
    run([](const Capability<Time>&, Out& first, Out&, Out&) {
      first.give(Capability<Time>(), {1});
    });
  }));
  CHECK(aborts([] {
    run([](const Capability<Time>& at, Out& first, Out&, Out&) {
      Capability<Time> mine = at.retain();
      mine.downgrade(Antichain<Time>{});
      first.give(mine, {1});
    });
  }));
}

TEST_CASE("capability: of another operator", "[timely][capability]") {
  CHECK(aborts([] {
    SimExecutor executor(1);
    Runtime runtime(executor, {.workers = 1});
    InputHandle<Time, Numbers> input;
    auto smuggled = std::make_shared<Capability<Time>>();
    runtime.dataflow<Time>("smuggle", [&](Scope<Time>& scope) {
      auto [handle, numbers] = scope.input<Numbers>();
      input = std::move(handle);
      numbers
          .unary<Numbers>("Take", Pipeline{},
                          [=] {
                            return [=](Input<Time, Numbers>& in, Output<Time, Numbers>& out) {
                              in.for_each([&](const Capability<Time>& at, Numbers got) {
                                *smuggled = at.retain();
                                out.give(at, std::move(got));
                              });
                            };
                          })
          .unary<Numbers>("Use", Pipeline{}, [=] {
            return [=](Input<Time, Numbers>& in, Output<Time, Numbers>& out) {
              in.for_each([&](const Capability<Time>&, Numbers got) {
                out.give(*smuggled, std::move(got));
              });
            };
          });
    });
    input.send({1});
    input.flush();
    runtime.run_until_idle();
  }));
}

TEST_CASE("input handle: going back in time, and use after close", "[timely][input]") {
  auto run_input = [](auto use) {
    SimExecutor executor(1);
    Runtime runtime(executor, {.workers = 1});
    InputHandle<Time, Numbers> input;
    runtime.dataflow<Time>("input",
                           [&](Scope<Time>& scope) { input = scope.input<Numbers>().first; });
    input.advance_to(5);
    use(input);
  };
  CHECK_FALSE(aborts([&] { run_input([](auto& input) { input.advance_to(5); }); }));
  CHECK(aborts([&] { run_input([](auto& input) { input.advance_to(4); }); }));
  CHECK(aborts([&] {
    run_input([](auto& input) {
      input.close();
      input.send({1});
    });
  }));
}

}  // namespace
}  // namespace timely
