// SPDX-License-Identifier: Apache-2.0
// Round latency, throughput of an exchange, and how a frontier goes through a chain.
#include <benchmark/benchmark.h>

#include <timely/timely.h>

#include <vector>

namespace timely {
namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;

struct Setting {
  explicit Setting(std::size_t workers, std::size_t threads)
      : executor(make_tbb_executor({.threads = threads})),
        runtime(*executor, {.workers = workers}) {}
  std::unique_ptr<Executor> executor;
  Runtime runtime;
  InputHandle<Time, Numbers> input{};
  ProbeHandle<Time> probe{};

  template <typename F>
  void describe(F f) {
    runtime.dataflow<Time>("bench", [&](Scope<Time>& scope) {
      auto [handle, numbers] = scope.input<Numbers>();
      input = std::move(handle);
      probe = f(numbers).probe();
    });
  }
  void wait(Time time) {
    runtime.step_while([&] { return probe.less_than(time); });
  }
};

auto hash = [](std::uint64_t n) { return n; };
auto same = [](std::uint64_t n) { return n; };

/// One record through input, exchange, operator, exchange, operator, probe.
void BM_round(benchmark::State& state) {
  Setting setting(static_cast<std::size_t>(state.range(0)),
                  static_cast<std::size_t>(state.range(1)));
  Executor::Driver driver(*setting.executor);
  setting.describe([](auto s) { return s.exchange(hash).map(same).exchange(hash).map(same); });
  Time time = 0;
  for (auto _ : state) {
    setting.input.send({time});
    setting.input.advance_to(++time);
    setting.wait(time);
  }
}
BENCHMARK(BM_round)->Args({1, 1})->Args({2, 1})->Args({2, 2})->Args({8, 2});

/// Records a second through one exchange.
void BM_exchange(benchmark::State& state) {
  Setting setting(static_cast<std::size_t>(state.range(0)), 2);
  Executor::Driver driver(*setting.executor);
  setting.describe([](auto s) { return s.exchange(hash); });
  const auto size = static_cast<std::size_t>(state.range(1));
  Time time = 0;
  Numbers pattern(size);
  for (std::size_t i = 0; i < size; ++i) pattern[i] = i;
  for (auto _ : state) {
    for (int i = 0; i < 16; ++i) setting.input.send(Numbers(pattern));
    setting.input.advance_to(++time);
    setting.wait(time);
  }
  state.SetItemsProcessed(state.iterations() * 16 * static_cast<std::int64_t>(size));
}
BENCHMARK(BM_exchange)->Args({1, 64})->Args({1, 1024})->Args({2, 1024});

/// A frontier moves through 1,000 operators: contracted, each watching, each holding a capability.
void BM_chain(benchmark::State& state) {
  Setting setting(1, 1);
  Executor::Driver driver(*setting.executor);
  const auto kind = state.range(0);
  setting.describe([&](auto s) {
    for (int i = 0; i < 1000; ++i) {
      if (kind == 0) {
        s = s.map(same);
      } else {
        s = s.template unary<Numbers>(
            "Watch", Pipeline{},
            [kind] {
              return [kind, held = Capability<Time>()](Input<Time, Numbers>& in,
                                                       Output<Time, Numbers>& out) mutable {
                in.for_each([&](const Capability<Time>& at, Numbers numbers) {
                  if (kind == 2 && !held.valid()) held = at.retain();
                  out.give(at, std::move(numbers));
                });
                if (held.valid()) held.downgrade(in.frontier());
              };
            },
            kind == 1 ? FrontierInterest::kIfCapability : FrontierInterest::kAlways);
      }
    }
    return s;
  });
  Time time = 0;
  setting.input.send({1});
  for (auto _ : state) {
    setting.input.advance_to(++time);
    setting.wait(time);
  }
}
BENCHMARK(BM_chain)->Arg(0)->Arg(1)->Arg(2);

/// One record through 1,000 maps.
void BM_chain_record(benchmark::State& state) {
  Setting setting(1, 1);
  Executor::Driver driver(*setting.executor);
  setting.describe([&](auto s) {
    for (int i = 0; i < 1000; ++i) s = s.map(same);
    return s;
  });
  Time time = 0;
  for (auto _ : state) {
    setting.input.send({time});
    setting.input.advance_to(++time);
    setting.wait(time);
  }
}
BENCHMARK(BM_chain_record);

/// A loop of 100 rounds.
void BM_loop(benchmark::State& state) {
  Setting setting(1, 1);
  Executor::Driver driver(*setting.executor);
  setting.describe([&](Stream<Time, Numbers> s) {
    Scope<Time> outer = s.scope();
    return outer.iterative<std::uint32_t>("Loop", [&](auto& inner) {
      auto again = inner.template feedback<Numbers>({{0}, {1}});
      auto next = s.enter(inner).concat(again.stream()).map([](std::uint64_t n) { return n - 1; });
      again.connect(next.filter([](std::uint64_t n) { return n > 0; }));
      return next.leave(outer);
    });
  });
  Time time = 0;
  for (auto _ : state) {
    setting.input.send({100});
    setting.input.advance_to(++time);
    setting.wait(time);
  }
}
BENCHMARK(BM_loop);

/// Installing and finishing a small dataflow.
void BM_install(benchmark::State& state) {
  Setting setting(static_cast<std::size_t>(state.range(0)), 1);
  Executor::Driver driver(*setting.executor);
  for (auto _ : state) {
    setting.describe([](auto s) {
      return s.exchange(hash).map(same).filter([](std::uint64_t n) { return n > 1; });
    });
    setting.input.close();
    setting.runtime.step_while([&] { return !setting.probe.done(); });
  }
}
BENCHMARK(BM_install)->Arg(1)->Arg(4);

}  // namespace
}  // namespace timely
