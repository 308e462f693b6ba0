// SPDX-License-Identifier: Apache-2.0
// Random dataflows whose arrivals depend on the input alone, whatever the interleaving: each record
// decides by its own bits where it goes and when. Every operator checks that nothing arrives which
// its frontier excluded.
#pragma once

#include <timely/timely.h>

#include <testing/random.h>
#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace timely::fuzz {

using Time = std::uint64_t;
using Inner = Product<Time, std::uint32_t>;
using Records = std::vector<std::uint64_t>;

/// What arrived where: (operator, record, outer time, rounds).
using Arrival = std::tuple<int, std::uint64_t, std::uint64_t, std::uint64_t>;
class Arrivals {
 public:
  void add(Arrival arrival) {
    std::lock_guard lock(mutex_);
    all_.insert(arrival);
  }
  [[nodiscard]] std::multiset<Arrival> all() const {
    std::lock_guard lock(mutex_);
    return all_;
  }
  void violation(const std::string& what) {
    std::lock_guard lock(mutex_);
    violations_.push_back(what);
  }
  [[nodiscard]] std::vector<std::string> violations() const {
    std::lock_guard lock(mutex_);
    return violations_;
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<Arrival> all_;
  std::vector<std::string> violations_;
};

inline Arrival arrival(int op, std::uint64_t record, Time time) { return {op, record, time, 0}; }
inline Arrival arrival(int op, std::uint64_t record, const Inner& time) {
  return {op, record, time.outer, time.inner};
}
inline Time later(Time time, std::uint64_t by) { return time + by; }
inline Inner later(const Inner& time, std::uint64_t by) {
  return by % 2 == 0 ? Inner{time.outer + by / 2, time.inner}
                     : Inner{time.outer, time.inner + static_cast<std::uint32_t>(by)};
}

/// Sends each record on with a smaller time to live (its low 3 bits), now or at a later time that
/// it waits for.
template <typename T>
class Hop {
 public:
  Hop(int op, std::shared_ptr<Arrivals> arrivals) : op_(op), arrivals_(std::move(arrivals)) {}

  void step(Input<T, Records>& input, Output<T, Records>& output) {
    input.for_each([&](const Capability<T>& at, Records records) {
      if (!seen_.covers(at.time()))
        arrivals_->violation("arrived after its frontier, at operator " + std::to_string(op_));
      Records now;
      for (std::uint64_t record : records) {
        arrivals_->add(arrival(op_, record, at.time()));
        const std::uint64_t life = record & 7;
        if (life == 0) continue;
        const std::uint64_t mixed = freshet::base::mix64(record + static_cast<std::uint64_t>(op_));
        const std::uint64_t next = (mixed & ~std::uint64_t{7}) | (life - 1);
        const std::uint64_t by = (mixed >> 8) % 4;
        if (by == 0) {
          now.push_back(next);
        } else {
          const T time = later(at.time(), by);
          auto [place, fresh] = waiting_.try_emplace(time);
          if (fresh) notificator_.notify_at(at.delayed(time));
          place->second.push_back(next);
        }
      }
      if (!now.empty()) output.give(at, std::move(now));
    });
    notificator_.for_each({&input.frontier()}, [&](Capability<T> due) {
      output.give(due, waiting_.extract(due.time()).mapped());
    });
    if (!seen_.covers_all(input.frontier())) arrivals_->violation("a frontier went back");
    seen_ = input.frontier();
  }

 private:
  int op_;
  std::shared_ptr<Arrivals> arrivals_;
  Antichain<T> seen_ = Antichain<T>::minimum();
  std::map<T, Records> waiting_;
  Notificator<T> notificator_;
};

/// Describes a random dataflow; the same draws give the same description.
class Describer {
 public:
  Describer(testing::Random& random, std::shared_ptr<Arrivals> arrivals)
      : random_(random), arrivals_(std::move(arrivals)) {}

  Stream<Time, Records> describe(const Stream<Time, Records>& input) {
    std::vector<Stream<Time, Records>> streams{input};
    for (std::uint64_t n = 2 + random_.below(4); n > 0; --n) {
      Stream<Time, Records> source = streams[random_.below(streams.size())];
      if (random_.one_in(3)) source = source.concat(streams[random_.below(streams.size())]);
      streams.push_back(random_.one_in(3) ? loop(source) : hop(source));
    }
    return concatenate(streams);
  }

 private:
  template <typename T>
  Stream<T, Records> hop(const Stream<T, Records>& stream) {
    const int op = next_op_++;
    auto make = [op, arrivals = arrivals_] { return Hop<T>(op, arrivals); };
    // Broadcast would make arrivals depend on the number of workers.
    if (random_.coin()) return stream.unary("Hop", Pipeline{}, make, interest());
    return stream.unary("Hop", Exchange{[](std::uint64_t r) { return r >> 3; }}, make, interest());
  }
  static FrontierInterest interest() { return FrontierInterest::kAlways; }

  Stream<Time, Records> loop(const Stream<Time, Records>& stream) {
    Scope<Time> outer = stream.scope();
    return outer.iterative<std::uint32_t>("Loop", [&](Scope<Inner>& inner) {
      auto again = inner.feedback<Records>(random_.coin() ? SummaryOf<Inner>{{0}, {1}}
                                                          : SummaryOf<Inner>{{1}, {0}});
      auto body = hop(stream.enter(inner).concat(again.stream()));
      if (random_.coin()) body = hop(body);
      auto parts = body.partition(2, [](std::uint64_t r) { return (r >> 5) % 2; });
      again.connect(parts[0]);
      return (random_.coin() ? parts[1] : body).leave(outer);
    });
  }

  testing::Random& random_;
  std::shared_ptr<Arrivals> arrivals_;
  int next_op_ = 0;
};

/// Runs the dataflow of `seed` on `executor`; gives what arrived.
inline std::multiset<Arrival> run(std::uint64_t seed, Executor& executor, std::size_t workers,
                                  int rounds) {
  testing::Random random(seed);
  auto arrivals = std::make_shared<Arrivals>();
  Runtime runtime(executor, {.workers = workers});
  InputHandle<Time, Records> input;
  ProbeHandle<Time> probe;
  auto dataflow = runtime.dataflow<Time>("fuzz", [&](Scope<Time>& scope) {
    auto [handle, records] = scope.input<Records>();
    input = std::move(handle);
    probe = Describer(random, arrivals).describe(records).probe();
  });
  for (int round = 0; round < rounds; ++round) {
    Records records;
    for (std::uint64_t n = random.below(6); n > 0; --n) records.push_back(random.below(1 << 16));
    if (!records.empty()) input.send(std::move(records));
    const Time next = input.time() + random.below(3);
    input.advance_to(next);
    if (random.one_in(3)) runtime.step_while([&] { return probe.less_than(next); });
  }
  input.close();
  runtime.step_while([&] { return !probe.done(); });
  runtime.run_until_idle();
  CHECK(dataflow.complete());
  CHECK(runtime.live_dataflows() == 0);
  CHECK(arrivals->violations() == std::vector<std::string>{});
  return arrivals->all();
}

}  // namespace timely::fuzz
