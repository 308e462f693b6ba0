// SPDX-License-Identifier: Apache-2.0
/// Partial orders, lattices, timestamps and path summaries: what a time must offer.
///
/// A timestamp has two orders. The partial order (`less_equal`) says which times can still
/// influence which. The total order (`<`) extends it and only serves to sort and to keep maps. For
/// integers both are the usual one; `Product` (product.h) compares component-wise and sorts
/// lexicographically.
///
/// A type of ours or of a user becomes a timestamp by members (`less_equal`, `join`, `meet`, static
/// `minimum`, type `Summary`, and `operator<`), or by specialising `TimeTraits`.
///
///     static_assert(timely::Timestamp<uint64_t>);
///     timely::join(uint64_t{3}, uint64_t{5});                        // 5, the least upper bound
///     timely::Advance<uint64_t>{1}.results_in(7);                    // 8; nothing on overflow
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <type_traits>

namespace timely {

/// Summary of a path for integer times: what leaves is at least `by` later than what entered.
template <std::integral T>
struct Advance {
  T by = 0;

  /// The time at which an input at `time` can come out; nothing if it does not exist.
  [[nodiscard]] constexpr std::optional<T> results_in(T time) const {
    T sum;
    if (__builtin_add_overflow(time, by, &sum)) return std::nullopt;
    return sum;
  }
  [[nodiscard]] constexpr std::optional<Advance> followed_by(Advance next) const {
    T sum;
    if (__builtin_add_overflow(by, next.by, &sum)) return std::nullopt;
    return Advance{sum};
  }
  [[nodiscard]] constexpr bool less_equal(Advance other) const { return by <= other.by; }
  friend constexpr auto operator<=>(Advance, Advance) = default;
  friend std::ostream& operator<<(std::ostream& out, Advance step) {
    return out << '+' << +step.by;
  }
};

/// How a type is used as a time. The primary template forwards to members.
template <typename T>
struct TimeTraits {
  static constexpr bool less_equal(const T& a, const T& b) { return a.less_equal(b); }
  static constexpr T join(const T& a, const T& b)
    requires requires { a.join(b); }
  {
    return a.join(b);
  }
  static constexpr T meet(const T& a, const T& b)
    requires requires { a.meet(b); }
  {
    return a.meet(b);
  }
  static constexpr T minimum()
    requires requires { T::minimum(); }
  {
    return T::minimum();
  }
  /// Void for partially ordered types that are not times.
  using Summary = typename decltype([] {
    if constexpr (requires { typename T::Summary; }) {
      return std::type_identity<typename T::Summary>{};
    } else {
      return std::type_identity<void>{};
    }
  }())::type;
  static constexpr bool kTotal = requires { requires T::kTotalOrder; };
};

template <std::integral T>
struct TimeTraits<T> {
  static constexpr bool less_equal(T a, T b) { return a <= b; }
  static constexpr T join(T a, T b) { return a < b ? b : a; }
  static constexpr T meet(T a, T b) { return a < b ? a : b; }
  static constexpr T minimum() { return std::numeric_limits<T>::min(); }
  using Summary = Advance<T>;
  static constexpr bool kTotal = true;
};

/// True if `a` can influence `b`: `a` is at or before `b`.
template <typename T>
constexpr bool less_equal(const T& a, const T& b)
  requires requires { TimeTraits<T>::less_equal(a, b); }
{
  return TimeTraits<T>::less_equal(a, b);
}
/// At or before, and not the same.
template <typename T>
constexpr bool less_than(const T& a, const T& b) {
  return !(a == b) && less_equal(a, b);
}
/// Least upper bound: the first time that both can influence.
template <typename T>
constexpr T join(const T& a, const T& b)
  requires requires { TimeTraits<T>::join(a, b); }
{
  return TimeTraits<T>::join(a, b);
}
/// Greatest lower bound.
template <typename T>
constexpr T meet(const T& a, const T& b)
  requires requires { TimeTraits<T>::meet(a, b); }
{
  return TimeTraits<T>::meet(a, b);
}
/// The time that precedes every other.
template <typename T>
constexpr T minimum() {
  return TimeTraits<T>::minimum();
}

template <typename T>
concept PartiallyOrdered =
    std::equality_comparable<T> && std::copyable<T> && requires(const T& a, const T& b) {
      { timely::less_equal(a, b) } -> std::same_as<bool>;
    };

template <typename T>
concept Lattice = PartiallyOrdered<T> && requires(const T& a, const T& b) {
  { timely::join(a, b) } -> std::same_as<T>;
  { timely::meet(a, b) } -> std::same_as<T>;
};

/// Summaries compose and never lead back in time; the value-initialised one changes nothing.
template <typename S, typename T>
concept PathSummary =
    PartiallyOrdered<S> && std::default_initializable<S> && requires(const S& s, const T& t) {
      { s.results_in(t) } -> std::same_as<std::optional<T>>;
      { s.followed_by(s) } -> std::same_as<std::optional<S>>;
    };

template <typename T>
using SummaryOf = typename TimeTraits<T>::Summary;

template <typename T>
concept Timestamp =
    PartiallyOrdered<T> && std::totally_ordered<T> && PathSummary<SummaryOf<T>, T> && requires {
      { timely::minimum<T>() } -> std::same_as<T>;
    };

/// Times of which any two are comparable. Fast paths ask for this.
template <typename T>
concept TotalOrder = PartiallyOrdered<T> && TimeTraits<T>::kTotal;

/// How the times of a nested scope relate to those around it. Law: to_outer(to_inner(t)) == t, and
/// both keep the order. Specialise it for new pairs.
template <typename Inner, typename Outer>
struct Refinement;

template <typename T>
struct Refinement<T, T> {
  static T to_inner(const T& time) { return time; }
  static T to_outer(const T& time) { return time; }
  static SummaryOf<T> summarize(const SummaryOf<T>& summary) { return summary; }
};

template <typename Inner, typename Outer>
concept Refines =
    requires(const Inner& inner, const Outer& outer, const SummaryOf<Inner>& summary) {
      { Refinement<Inner, Outer>::to_inner(outer) } -> std::same_as<Inner>;
      { Refinement<Inner, Outer>::to_outer(inner) } -> std::same_as<Outer>;
      { Refinement<Inner, Outer>::summarize(summary) } -> std::same_as<SummaryOf<Outer>>;
    };

}  // namespace timely
