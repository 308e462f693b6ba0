// SPDX-License-Identifier: Apache-2.0
/// `Product<A, B>`: a pair of times ordered component-wise, the time of loops and nested scopes.
///
/// It sorts lexicographically, which extends the partial order.
///
///     using Time = timely::Product<uint64_t, uint32_t>;
///     timely::less_equal(Time{1, 5}, Time{2, 3});    // false, and neither the other way round
///     timely::join(Time{1, 5}, Time{2, 3});          // (2, 5)
#pragma once

#include <compare>
#include <ostream>

#include <timely/order.h>

namespace timely {

/// Summary of a path through a nested scope: what the path adds in each coordinate.
template <typename A, typename B>
struct ProductSummary {
  SummaryOf<A> outer{};
  SummaryOf<B> inner{};

  template <typename Time>
  [[nodiscard]] constexpr std::optional<Time> results_in(const Time& time) const {
    auto o = outer.results_in(time.outer);
    auto i = inner.results_in(time.inner);
    if (!o || !i) return std::nullopt;
    return Time{*o, *i};
  }
  [[nodiscard]] constexpr std::optional<ProductSummary> followed_by(
      const ProductSummary& next) const {
    auto o = outer.followed_by(next.outer);
    auto i = inner.followed_by(next.inner);
    if (!o || !i) return std::nullopt;
    return ProductSummary{*o, *i};
  }
  [[nodiscard]] constexpr bool less_equal(const ProductSummary& other) const {
    return timely::less_equal(outer, other.outer) && timely::less_equal(inner, other.inner);
  }
  friend constexpr auto operator<=>(const ProductSummary&, const ProductSummary&) = default;
  friend std::ostream& operator<<(std::ostream& out, const ProductSummary& step) {
    return out << '(' << step.outer << ", " << step.inner << ')';
  }
};

template <Timestamp A, Timestamp B>
struct Product {
  A outer{};
  B inner{};

  constexpr Product() = default;
  constexpr Product(A o, B i) : outer(std::move(o)), inner(std::move(i)) {}

  using Summary = ProductSummary<A, B>;
  static constexpr bool kTotalOrder = false;
  static constexpr Product minimum() { return {timely::minimum<A>(), timely::minimum<B>()}; }
  [[nodiscard]] constexpr bool less_equal(const Product& other) const {
    return timely::less_equal(outer, other.outer) && timely::less_equal(inner, other.inner);
  }
  [[nodiscard]] constexpr Product join(const Product& other) const
    requires Lattice<A> && Lattice<B>
  {
    return {timely::join(outer, other.outer), timely::join(inner, other.inner)};
  }
  [[nodiscard]] constexpr Product meet(const Product& other) const
    requires Lattice<A> && Lattice<B>
  {
    return {timely::meet(outer, other.outer), timely::meet(inner, other.inner)};
  }

  friend constexpr bool operator==(const Product&, const Product&) = default;
  friend constexpr auto operator<=>(const Product&, const Product&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Product& time) {
    return out << '(' << +time.outer << ", " << +time.inner << ')';
  }
  /// Lets nested products print.
  Product operator+() const { return *this; }
};

/// A product refines its first component: entering a loop starts at the first round.
template <typename A, typename B>
struct Refinement<Product<A, B>, A> {
  static Product<A, B> to_inner(const A& time) { return {time, timely::minimum<B>()}; }
  static A to_outer(const Product<A, B>& time) { return time.outer; }
  static SummaryOf<A> summarize(const ProductSummary<A, B>& summary) { return summary.outer; }
};

}  // namespace timely

template <typename A, typename B>
struct std::hash<timely::Product<A, B>> {
  std::size_t operator()(const timely::Product<A, B>& time) const {
    const std::size_t first = std::hash<A>{}(time.outer);
    return (first ^ (first >> 29)) * 0x9e3779b97f4a7c15ULL + std::hash<B>{}(time.inner);
  }
};
