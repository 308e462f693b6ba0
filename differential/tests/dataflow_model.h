// SPDX-License-Identifier: Apache-2.0
/// Runs a dataflow over random histories on several executors, and collects what comes out of it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include <differential/collection.h>
#include <freshet/base/guarded.h>
#include <timely/timely.h>

#include "model.h"

namespace differential::model {

using Time = std::uint64_t;

/// Sums by (data, time), written by the workers of a dataflow.
template <typename D, typename T = Time>
class Collected {
 public:
  using Sums = std::map<std::pair<T, D>, std::int64_t>;

  void add(const D& data, const T& time, std::int64_t diff) const {
    sums_->with([&](Sums& sums) {
      auto place = sums.try_emplace({time, data}, 0).first;
      place->second += diff;
      if (place->second == 0) sums.erase(place);
    });
  }
  /// Content at a time.
  [[nodiscard]] std::map<D, std::int64_t> at(const T& time) const {
    std::map<D, std::int64_t> result;
    sums_->with([&](const Sums& sums) {
      for (const auto& [row, sum] : sums) {
        if (!timely::less_equal(row.first, time)) continue;
        auto place = result.try_emplace(row.second, 0).first;
        place->second += sum;
        if (place->second == 0) result.erase(place);
      }
    });
    return result;
  }
  /// Attaches itself to a collection.
  Collection<T, D> watch(const Collection<T, D>& collection) const {
    return collection.inspect(
        [self = *this](const D& data, const T& time, std::int64_t diff) { self.add(data, time, diff); });
  }

 private:
  std::shared_ptr<freshet::base::Guarded<Sums>> sums_ = std::make_shared<freshet::base::Guarded<Sums>>();
};

/// An executor and the number of workers, by round: simulated with a seed, or threads.
struct World {
  explicit World(std::uint64_t round, std::size_t workers) {
    if (round % 4 != 3) {
      auto simulated = std::make_unique<timely::SimExecutor>(round);
      scheduler = &simulated->scheduler();
      executor = std::move(simulated);
    } else {
      executor = timely::make_tbb_executor({.threads = 2});
    }
    runtime = std::make_unique<timely::Runtime>(
        *executor, timely::Runtime::Options{.workers = workers, .scheduler = scheduler});
  }
  std::unique_ptr<timely::Executor> executor;
  freshet::base::Scheduler* scheduler = nullptr;
  std::unique_ptr<timely::Runtime> runtime;
};

/// One input with its history: what was sent, so that a specification can recompute.
template <typename D>
class Source {
 public:
  using Message = std::vector<Update<D, Time, std::int64_t>>;

  Collection<Time, D> in(timely::Scope<Time>& scope) {
    auto [handle, stream] = scope.input<Message>();
    handle_ = std::move(handle);
    return Collection<Time, D>(stream);
  }
  void send(const D& data, Time time, std::int64_t diff) {
    sent_.add(data, time, diff);
    buffer_.push_back({data, time, diff});
  }
  void advance_to(Time time) {
    if (!buffer_.empty()) handle_.send(std::exchange(buffer_, {}));
    handle_.advance_to(time);
  }
  void close() { handle_.close(); }
  [[nodiscard]] std::map<D, std::int64_t> at(Time time) const { return sent_.at(time); }

 private:
  timely::InputHandle<Time, Message> handle_;
  Message buffer_;
  Collected<D> sent_;
};

/// Sends random changes: mostly at the present, some in the future; removals of what is there and others.
template <typename D>
void random_changes(testing::Random& random, Source<D>& source, Time now, std::uint64_t domain,
                    std::uint64_t count) {
  for (std::uint64_t n = random.below(count + 1); n > 0; --n) {
    const Time time = random.one_in(4) ? now + random.below(4) : now;
    source.send(Gen<D>::make(random, domain), time, random.one_in(3) ? -1 : 1);
  }
}

}  // namespace differential::model
