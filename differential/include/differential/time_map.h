// SPDX-License-Identifier: Apache-2.0
/// How the times stored in an arrangement appear to a reader: as they are, advanced to an as-of, or
/// entered into a nested scope. The batches are shared and never rewritten for it.
#pragma once

#include <utility>

#include <timely/antichain.h>

namespace differential {

/// Times as stored, or as seen from `as_of` on when that is later than the minimum.
template <typename T>
class StoredTimes {
 public:
  using Stored = T;
  using Time = T;
  using StoredFrontier = timely::Antichain<T>;
  using Frontier = timely::Antichain<T>;

  StoredTimes() = default;
  explicit StoredTimes(Frontier as_of)
      : as_of_(std::move(as_of)), moves_(!(as_of_ == Frontier::minimum())) {
    if (as_of_.empty()) moves_ = false;
  }
  T operator()(const T& time) const {
    if (!moves_) return time;
    return timely::advance_by(time, as_of_);
  }
  /// The stored times that a reader needs who will only look at or after `frontier`.
  [[nodiscard]] Frontier needed(const Frontier& frontier) const { return frontier; }
  /// The stored times that can still arrive when seen times from `frontier` on can.
  [[nodiscard]] Frontier arriving(const Frontier& frontier) const { return passed(frontier); }
  /// The seen times that are not complete when stored times before `frontier` are.
  [[nodiscard]] Frontier complete(const Frontier& frontier) const { return passed(frontier); }

 private:
  // All stored times before the as-of appear as it: nothing has passed until it has.
  [[nodiscard]] Frontier passed(const Frontier& frontier) const {
    if (!moves_ || frontier.empty()) return frontier;
    if constexpr (timely::TotalOrder<T>) {
      if (timely::less_than(as_of_.only(), frontier.only())) return frontier;
    }
    return Frontier::minimum();  // for partial orders only the end is sure
  }

  Frontier as_of_ = Frontier::minimum();
  bool moves_ = false;
};

/// The times of an outer scope seen in an inner one.
template <typename Inner, typename OuterMap>
class EnteredTimes {
 public:
  using Stored = typename OuterMap::Stored;
  using Outer = typename OuterMap::Time;
  using Time = Inner;
  using StoredFrontier = timely::Antichain<Stored>;
  using Frontier = timely::Antichain<Inner>;

  EnteredTimes() = default;
  explicit EnteredTimes(OuterMap outer) : outer_(std::move(outer)) {}
  Inner operator()(const Stored& time) const {
    return timely::Refinement<Inner, Outer>::to_inner(outer_(time));
  }
  [[nodiscard]] StoredFrontier needed(const Frontier& frontier) const {
    return outer_.needed(outside(frontier));
  }
  [[nodiscard]] StoredFrontier arriving(const Frontier& frontier) const {
    return outer_.arriving(outside(frontier));
  }
  [[nodiscard]] Frontier complete(const StoredFrontier& frontier) const {
    Frontier inner;
    for (const Outer& time : outer_.complete(frontier).elements()) {
      inner.insert(timely::Refinement<Inner, Outer>::to_inner(time));
    }
    return inner;
  }

 private:
  static timely::Antichain<Outer> outside(const Frontier& frontier) {
    timely::Antichain<Outer> outer;
    for (const Inner& time : frontier.elements()) {
      outer.insert(timely::Refinement<Inner, Outer>::to_outer(time));
    }
    return outer;
  }

  OuterMap outer_;
};

}  // namespace differential
