// SPDX-License-Identifier: Apache-2.0
// The executor on threads: the same dataflows, callers, outside activation, forks. Runs under TSan.
#include "random_dataflow.h"

#include <atomic>
#include <condition_variable>
#include <numeric>
#include <thread>

namespace timely {
namespace {

using fuzz::Records;
using Time = std::uint64_t;

TEST_CASE("threads: random dataflows give the arrivals of the simulation", "[timely][threads]") {
  for (std::uint64_t round = 0; round < 40; ++round) {
    const std::uint64_t seed = testing::base_seed() + round;
    CAPTURE(seed);
    SimExecutor reference(0);
    const auto expected = fuzz::run(seed, reference, 1, 12);
    auto executor = make_tbb_executor({.threads = 2});
    for (std::size_t workers : {1, 2, 5})
      REQUIRE(fuzz::run(seed, *executor, workers, 12) == expected);
  }
}

/// Waits on the test's own thread, outside the executor.
class Latch {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST_CASE("threads: outside activation runs a dataflow while nobody waits", "[timely][threads]") {
  auto executor = make_tbb_executor({.threads = 2});
  Runtime runtime(*executor, {.workers = 3});
  struct Shared {
    std::mutex mutex;
    Records waiting;
    std::atomic<std::uint64_t> sum{0};
    Latch done;
    Activator activator;
    Latch ready;
  };
  auto shared = std::make_shared<Shared>();
  constexpr std::uint64_t kCount = 2000;
  runtime.dataflow<Time>("outside", [&](Scope<Time>& scope) {
    scope
        .source<Records>("Feed",
                         [shared](Setup<Time>& setup) {
                           if (setup.worker() == 0) {
                             shared->activator = setup.activator();
                             shared->ready.open();
                           }
                           return [shared,
                                   capability = setup.capability()](Output<Time, Records>& output) {
                             Records records;
                             {
                               std::lock_guard lock(shared->mutex);
                               records.swap(shared->waiting);
                             }
                             if (!records.empty()) output.give(capability, std::move(records));
                           };
                         })
        .sink(
            "Sum", Exchange{[](std::uint64_t n) { return n; }},
            [shared] {
              return [shared](Input<Time, Records>& input) {
                input.for_each([&](const auto&, const Records& records) {
                  const auto sum =
                      std::accumulate(records.begin(), records.end(), std::uint64_t{0});
                  if (shared->sum.fetch_add(sum) + sum == kCount * (kCount + 1) / 2)
                    shared->done.open();
                });
              };
            },
            FrontierInterest::kNever);
  });
  REQUIRE(shared->ready.wait());
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t n = 1 + t; n <= kCount; n += 2) {
        {
          std::lock_guard lock(shared->mutex);
          shared->waiting.push_back(n);
        }
        shared->activator.activate();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(shared->done.wait());
}

TEST_CASE("threads: many callers wait for their own dataflows at once", "[timely][threads]") {
  auto executor = make_tbb_executor({.threads = 2});
  Runtime runtime(*executor, {.workers = 3});
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      InputHandle<Time, Records> input;
      ProbeHandle<Time> probe;
      std::atomic<std::uint64_t> seen{0};
      runtime.dataflow<Time>("call", [&](Scope<Time>& scope) {
        auto [handle, records] = scope.input<Records>();
        input = std::move(handle);
        probe = records.exchange([](std::uint64_t n) { return n; })
                    .inspect([&](std::uint64_t) { ++seen; })
                    .exchange([](std::uint64_t n) { return n + 1; })
                    .probe();
      });
      for (Time t = 0; t < 100; ++t) {
        input.send({t, t + 1, t + 2});
        input.advance_to(t + 1);
        runtime.step_while([&] { return probe.less_than(t + 1); });
        if (seen != 3 * (t + 1)) ++wrong;
      }
      input.close();
      runtime.step_while([&] { return !probe.done(); });
    });
  }
  for (auto& caller : callers) caller.join();
  runtime.run_until_idle();
  CHECK(wrong == 0);
  CHECK(runtime.live_dataflows() == 0);
}

TEST_CASE("threads: a driver's worker runs on the driver", "[timely][threads]") {
  auto executor = make_tbb_executor({.threads = 2});
  Runtime runtime(*executor, {.workers = 2});
  InputHandle<Time, Records> input;
  ProbeHandle<Time> probe;
  std::atomic<int> elsewhere{0};
  const auto here = std::this_thread::get_id();
  Executor::Driver driver(*executor);
  runtime.dataflow<Time>("drive", [&](Scope<Time>& scope) {
    auto [handle, records] = scope.input<Records>();
    input = std::move(handle);
    probe = records.exchange([](std::uint64_t n) { return n; })
                .inspect(
                    [&](std::uint64_t) { elsewhere += std::this_thread::get_id() == here ? 0 : 1; })
                .probe();
  });
  for (Time t = 0; t < 200; ++t) {
    input.send({t});
    input.advance_to(t + 1);
    runtime.step_while([&] { return probe.less_than(t + 1); });
  }
  CHECK(elsewhere == 0);
}

TEST_CASE("threads: forks run every piece, also from inside workers", "[timely][threads]") {
  auto executor = make_tbb_executor({.threads = 2});
  std::vector<int> marks(1000, 0);
  executor->fork(marks.size(), [&](std::size_t i) { ++marks[i]; });
  CHECK(std::ranges::count(marks, 1) == 1000);

  Runtime runtime(*executor, {.workers = 3});
  InputHandle<Time, Records> input;
  ProbeHandle<Time> probe;
  std::atomic<std::uint64_t> total{0};
  runtime.dataflow<Time>("fork", [&](Scope<Time>& scope) {
    auto [handle, records] = scope.input<Records>();
    input = std::move(handle);
    probe = records
                .unary<Records>("Fork", Exchange{[](std::uint64_t n) { return n; }},
                                [&total] {
                                  return [&total](Input<Time, Records>& in,
                                                  Output<Time, Records>& out, Context& context) {
                                    in.for_each([&](const Capability<Time>& at, Records got) {
                                      std::vector<std::uint64_t> squares(got.size());
                                      context.executor().fork(got.size(), [&](std::size_t i) {
                                        squares[i] = got[i] * got[i];
                                      });
                                      for (std::uint64_t s : squares) total += s;
                                      out.give(at, std::move(got));
                                    });
                                  };
                                })
                .probe();
  });
  std::uint64_t expected = 0;
  for (Time t = 0; t < 20; ++t) {
    Records records(500);
    std::iota(records.begin(), records.end(), t);
    for (std::uint64_t n : records) expected += n * n;
    input.send(std::move(records));
    input.advance_to(t + 1);
  }
  runtime.step_while([&] { return probe.less_than(20); });
  CHECK(total == expected);
}

TEST_CASE("threads: posted tasks run, and the executor waits for them at its end",
          "[timely][threads]") {
  std::atomic<int> ran{0};
  {
    auto executor = make_tbb_executor({.threads = 2});
    for (int i = 0; i < 100; ++i) executor->post([&] { ++ran; });
  }
  CHECK(ran == 100);
}

TEST_CASE("threads: dataflows come and go while others run", "[timely][threads]") {
  auto executor = make_tbb_executor({.threads = 2});
  Runtime runtime(*executor, {.workers = 3});
  for (int i = 0; i < 60; ++i) {
    InputHandle<Time, Records> input;
    ProbeHandle<Time> probe;
    auto dataflow = runtime.dataflow<Time>("short", [&](Scope<Time>& scope) {
      auto [handle, records] = scope.input<Records>();
      input = std::move(handle);
      auto held = records.delay([](Time at, std::uint64_t n) { return at + n % 5; });
      probe = held.exchange([](std::uint64_t n) { return n; }).concat(held).probe();
    });
    for (Time t = 0; t < 10; ++t) {
      input.send({t, t + 1, t + 2, t + 3});
      input.advance_to(t + 1);
    }
    if (i % 2 == 0) runtime.step_while([&] { return probe.less_than(4); });
    if (i % 3 == 0) {
      dataflow.drop();
    } else {
      input.close();
    }
  }
  runtime.run_until_idle();
  CHECK(runtime.live_dataflows() == 0);
}

TEST_CASE("threads: at rest nothing runs", "[timely][threads]") {
  auto executor = make_tbb_executor({.threads = 2});
  EventLog log;
  Runtime runtime(*executor, {.workers = 4, .events = &log});
  std::vector<InputHandle<Time, Records>> inputs(50);
  for (auto& input : inputs) {
    runtime.dataflow<Time>("idle", [&](Scope<Time>& scope) {
      auto [handle, records] = scope.input<Records>();
      input = std::move(handle);
      records.delay([](Time at, std::uint64_t) { return at + 1; });
    });
  }
  runtime.run_until_idle();
  (void)log.drain();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(log.drain().empty());
}

}  // namespace
}  // namespace timely
