// SPDX-License-Identifier: Apache-2.0
#include <timely/input.h>
#include <timely/probe.h>
#include <timely/runtime.h>
#include <timely/sim_executor.h>
#include <timely/tbb_executor.h>
#include <timely/unary.h>

#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

namespace timely {
namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;

struct Doubler {
  void step(Input<Time, Numbers>& input, Output<Time, Numbers>& output) {
    input.for_each([&](const Capability<Time>& at, Numbers numbers) {
      for (auto& n : numbers) n *= 2;
      output.give(at, std::move(numbers));
    });
  }
};

TEST_CASE("dataflow: a record goes through two operators to the probe", "[timely][dataflow]") {
  SimExecutor executor(1);
  Runtime runtime(executor, {.workers = 1});
  InputHandle<Time, Numbers> input;
  ProbeHandle<Time> probe;
  Numbers seen;
  runtime.dataflow<Time>("doubles", [&](Scope<Time>& scope) {
    auto [handle, numbers] = scope.input<Numbers>();
    input = std::move(handle);
    probe = numbers.unary("Double", Pipeline{}, [] { return Doubler{}; })
                .unary<Numbers>("Collect", Pipeline{},
                                [&] {
                                  return [&](auto& in, auto& out) {
                                    in.for_each([&](const Capability<Time>& at, Numbers got) {
                                      seen.insert(seen.end(), got.begin(), got.end());
                                      out.give(at, std::move(got));
                                    });
                                  };
                                })
                .probe();
  });
  CHECK(probe.less_equal(0));
  input.send({1, 2});
  input.push(3);
  input.advance_to(1);
  runtime.step_while([&] { return probe.less_than(1); });
  CHECK(seen == Numbers{2, 4, 6});
  CHECK(probe.frontier() == Antichain<Time>{1});
  input.close();
  runtime.run_until_idle();
  CHECK(probe.done());
  CHECK(runtime.live_dataflows() == 0);
}

}  // namespace
}  // namespace timely
