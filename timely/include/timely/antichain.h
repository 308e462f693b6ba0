// SPDX-License-Identifier: Apache-2.0
/// A set of mutually incomparable times, standing for every time at or after one of them.
///
/// Frontiers are antichains: "input `i` may still deliver any time that `f.covers(t)`". An empty
/// antichain covers nothing, so it is the frontier of a closed input.
///
/// Invariant: no element is less than or equal to another. Every method keeps it.
/// Cost: linear in `size()`, which is 1 for totally ordered times (no allocation then).
/// Thread safety: a value type. Const access may be shared; mutation needs external ordering.
///
///     Antichain<Time> frontier{Time{3, 0}, Time{0, 5}};
///     frontier.covers(Time{4, 1});  // true: at or after (3, 0)
///     frontier.insert(Time{0, 4});  // true: replaces (0, 5)
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include <freshet/base/assert.h>
#include <timely/detail/small_vector.h>
#include <timely/order.h>

namespace timely {

template <PartiallyOrdered T>
class Antichain {
 public:
  Antichain() = default;
  Antichain(std::initializer_list<T> times) {
    for (const T& time : times) insert(time);
  }
  template <typename Range>
  static Antichain from(const Range& times) {
    Antichain result;
    for (const T& time : times) result.insert(time);
    return result;
  }
  /// The frontier before anything happened.
  static Antichain minimum() { return Antichain{timely::minimum<T>()}; }

  /// True if `time` is at or after some element.
  [[nodiscard]] bool covers(const T& time) const {
    return std::ranges::any_of(elements(), [&](const T& e) { return less_equal(e, time); });
  }
  /// True if `time` is after some element, and not that element.
  [[nodiscard]] bool covers_strictly(const T& time) const {
    return std::ranges::any_of(elements(), [&](const T& e) { return less_than(e, time); });
  }
  /// True if every time of `other` is covered: `other` is the same frontier or a later one.
  [[nodiscard]] bool covers_all(const Antichain& other) const {
    return std::ranges::all_of(other.elements(), [&](const T& e) { return covers(e); });
  }

  /// Adds `time` and drops the elements it makes redundant. Returns false, changing nothing, if
  /// `time` was already covered.
  bool insert(T time) {
    if (covers(time)) return false;
    elements_.erase_if([&](const T& e) { return less_equal(time, e); });
    elements_.push_back(std::move(time));
    return true;
  }
  /// Inserts every element of `other`: the result covers what either covered (the earlier
  /// frontier). True if anything changed.
  bool extend(const Antichain& other) {
    bool changed = false;
    for (const T& time : other.elements()) changed |= insert(time);
    return changed;
  }
  void clear() { elements_.clear(); }

  /// The elements, in no particular order. Valid until the next mutation.
  [[nodiscard]] std::span<const T> elements() const { return elements_.span(); }
  [[nodiscard]] bool empty() const { return elements_.empty(); }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  /// The element of an antichain known to have one.
  [[nodiscard]] const T& only() const {
    FRESHET_ASSERT(size() == 1, size());
    return elements_[0];
  }
  /// The elements in the total order, for output that must not depend on history.
  [[nodiscard]] std::vector<T> sorted() const {
    std::vector<T> result(elements_.begin(), elements_.end());
    std::ranges::sort(result, std::less<>{});
    return result;
  }

  /// Equality as sets: the order of insertion does not show.
  friend bool operator==(const Antichain& a, const Antichain& b) {
    if (a.size() != b.size()) return false;
    if (a.size() == 1) return a.elements_[0] == b.elements_[0];
    return std::ranges::is_permutation(a.elements(), b.elements());
  }
  friend std::ostream& operator<<(std::ostream& out, const Antichain& a) {
    const char* separator = "{";
    for (const T& time : a.sorted()) {
      out << separator << time;
      separator = ", ";
    }
    return out << (a.empty() ? "{}" : "}");
  }

 private:
  detail::SmallVector<T> elements_;
};

/// True if `b` is `a` or a later frontier.
template <PartiallyOrdered T>
bool less_equal(const Antichain<T>& a, const Antichain<T>& b) {
  return a.covers_all(b);
}

/// The earlier frontier of both: covers what either covers.
template <PartiallyOrdered T>
Antichain<T> meet(Antichain<T> a, const Antichain<T>& b) {
  a.extend(b);
  return a;
}

/// The later frontier of both: covers what both cover.
template <Lattice T>
Antichain<T> join(const Antichain<T>& a, const Antichain<T>& b) {
  Antichain<T> result;
  for (const T& x : a.elements()) {
    for (const T& y : b.elements()) result.insert(timely::join(x, y));
  }
  return result;
}

/// The representative of `time` for observers at or after `frontier`: the meet of its joins with
/// the elements. Two times with the same representative cannot be told apart there. `frontier` must
/// not be empty.
template <Lattice T>
T advance_by(const T& time, const Antichain<T>& frontier) {
  auto elements = frontier.elements();
  FRESHET_ASSERT(!elements.empty());
  T result = timely::join(time, elements[0]);
  for (std::size_t i = 1; i < elements.size(); ++i) {
    result = timely::meet(result, timely::join(time, elements[i]));
  }
  return result;
}

}  // namespace timely
