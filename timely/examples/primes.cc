// SPDX-License-Identifier: Apache-2.0
// Primes below a bound by trial division, spread over workers: numbers go to the worker of their
// hash, and what each worker finds is counted once its round is complete.
#include <timely/timely.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;

bool is_prime(std::uint64_t n) {
  for (std::uint64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5;
  constexpr std::uint64_t kPerRound = 10'000;
  auto executor = timely::make_tbb_executor({.threads = 2});
  timely::Runtime runtime(*executor, {.workers = 4});
  timely::Executor::Driver driver(*executor);  // this thread is about to wait, so it works itself

  timely::InputHandle<Time, Numbers> input;
  timely::ProbeHandle<Time> probe;
  std::vector<std::uint64_t> counts(rounds, 0);
  runtime.dataflow<Time>("primes", [&](timely::Scope<Time>& scope) {
    auto [handle, numbers] = scope.input<Numbers>();
    input = std::move(handle);
    auto primes = numbers.exchange([](std::uint64_t n) { return n; }).filter(is_prime);
    auto to_one = timely::Exchange{[](std::uint64_t) { return 0U; }};
    probe =
        primes
            .unary<Numbers>("Count", to_one,
                            [&] {
                              return [&](auto& in, auto& out) {
                                in.for_each([&](const timely::Capability<Time>& at, Numbers found) {
                                  counts[at.time()] += found.size();
                                  out.give(at, std::move(found));
                                });
                              };
                            })
            .probe();
  });
  for (Time round = 0; round < rounds; ++round) {
    for (std::uint64_t n = 0; n < kPerRound; ++n) input.push(round * kPerRound + n);
    input.advance_to(round + 1);
    runtime.step_while([&] { return probe.less_than(round + 1); });
    std::printf("below %llu: %llu more primes\n",
                static_cast<unsigned long long>((round + 1) * kPerRound),
                static_cast<unsigned long long>(counts[round]));
  }
  return 0;
}
