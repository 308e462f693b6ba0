// SPDX-License-Identifier: Apache-2.0
#include <testing/sim_scheduler.h>

#include <catch2/catch.hpp>
#include <string>

namespace testing {
namespace {

using namespace std::chrono_literals;

std::string trace(std::uint64_t seed) {
  SimScheduler sim(seed);
  auto& process = sim.new_process();
  std::string order;
  for (char c = 'a'; c < 'h'; ++c) {
    process.post([&order, &process, c] {
      order += c;
      process.post_blocking([&order, c] { order += static_cast<char>(c - 'a' + 'A'); });
    });
  }
  sim.run_for(1ms);
  return order;
}

TEST_CASE("sim: a seed replays to the last task, and seeds differ", "[testing][sim]") {
  CHECK(trace(1) == trace(1));
  CHECK(trace(1).size() == 14);
  CHECK(trace(1) != trace(2));
}

TEST_CASE("sim: time jumps to the next timer and stands still while tasks are ready",
          "[testing][sim]") {
  SimScheduler sim(7);
  auto& process = sim.new_process();
  const auto start = sim.clock().now();
  std::vector<int> fired;
  process.after(2h, process, [&] { fired.push_back(2); });
  process.after(1h, process, [&] { fired.push_back(1); });
  const auto never = process.after(90min, process, [&] { fired.push_back(3); });
  CHECK(process.cancel(never));
  CHECK_FALSE(process.cancel(never));
  sim.run_for(1h);
  CHECK(fired == std::vector{1});
  CHECK(sim.clock().now() - start == 1h);
  while (sim.step()) {
  }
  CHECK(fired == std::vector{1, 2});
}

TEST_CASE("sim: a killed process runs nothing more, and its promises answer kCancelled",
          "[testing][sim]") {
  SimScheduler sim(7);
  auto& process = sim.new_process();
  auto& other = sim.new_process();
  bool ran = false;
  freshet::base::Promise<int> promise;
  auto future = promise.future();
  process.after(1s, process, [&ran, promise = std::move(promise)] { ran = true; });
  other.post([&] { process.kill(); });
  sim.run_for(1min);
  CHECK_FALSE(ran);
  CHECK(sim.wait(std::move(future)).error().code == freshet::base::ErrorCode::kCancelled);
  process.post([&] { ran = true; });
  CHECK_FALSE(sim.step());
  CHECK_FALSE(ran);
}

TEST_CASE("sim: strands keep their order in every schedule", "[testing][sim]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimScheduler sim(seed);
    auto& process = sim.new_process();
    freshet::base::Strand a(process);
    freshet::base::Strand b(process);
    std::vector<int> order_a;
    std::vector<int> order_b;
    for (int i = 0; i < 40; ++i) {
      a.post([&, i] { order_a.push_back(i); });
      b.post([&, i] { order_b.push_back(i); });
    }
    sim.run_for(1s);
    CHECK((order_a.size() == 40 && std::ranges::is_sorted(order_a)));
    CHECK((order_b.size() == 40 && std::ranges::is_sorted(order_b)));
  }
}

}  // namespace
}  // namespace testing
