// SPDX-License-Identifier: Apache-2.0
// Laws of orders, lattices and summaries, checked by enumeration of small domains for every shipped
// time.
#include <timely/product.h>

#include <catch2/catch.hpp>

#include <limits>
#include <vector>

namespace timely {
namespace {

using Pair = Product<std::uint64_t, std::uint32_t>;
using Nested = Product<Product<std::uint64_t, std::uint64_t>, std::uint64_t>;

static_assert(Timestamp<std::uint64_t> && Timestamp<std::int32_t> && Timestamp<Pair> &&
              Timestamp<Nested>);
static_assert(TotalOrder<std::uint64_t> && TotalOrder<std::int64_t> && !TotalOrder<Pair>);
static_assert(Lattice<Pair> && Lattice<Nested>);
static_assert(Refines<Pair, std::uint64_t> &&
              Refines<Nested, Product<std::uint64_t, std::uint64_t>>);
static_assert(!Timestamp<double>);

std::vector<std::int64_t> signed_domain() {
  return {std::numeric_limits<std::int64_t>::min(), -3, -1, 0, 1, 2,
          std::numeric_limits<std::int64_t>::max()};
}
std::vector<std::uint64_t> unsigned_domain() {
  return {0, 1, 2, 3, std::numeric_limits<std::uint64_t>::max()};
}
std::vector<Pair> pair_domain() {
  std::vector<Pair> result;
  for (std::uint64_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = 0; b < 4; ++b) result.emplace_back(a, b);
  }
  return result;
}
std::vector<Nested> nested_domain() {
  std::vector<Nested> result;
  for (std::uint64_t a = 0; a < 3; ++a) {
    for (std::uint64_t b = 0; b < 2; ++b) {
      for (std::uint64_t c = 0; c < 2; ++c) result.push_back(Nested{{a, b}, c});
    }
  }
  return result;
}

template <typename T>
void check_order(const std::vector<T>& domain) {
  for (const T& a : domain) {
    REQUIRE(less_equal(a, a));
    REQUIRE(less_equal(minimum<T>(), a));
    for (const T& b : domain) {
      if (less_equal(a, b) && less_equal(b, a)) REQUIRE(a == b);
      if (less_than(a, b)) REQUIRE(a < b);  // the total order extends the partial one
      if (TotalOrder<T>) REQUIRE((less_equal(a, b) || less_equal(b, a)));
      for (const T& c : domain) {
        if (less_equal(a, b) && less_equal(b, c)) REQUIRE(less_equal(a, c));
      }
    }
  }
}

template <typename T>
void check_lattice(const std::vector<T>& domain) {
  for (const T& a : domain) {
    for (const T& b : domain) {
      REQUIRE(join(a, b) == join(b, a));
      REQUIRE(meet(a, b) == meet(b, a));
      REQUIRE(join(a, meet(a, b)) == a);
      REQUIRE(meet(a, join(a, b)) == a);
      for (const T& c : domain) {
        const bool above_both = less_equal(a, c) && less_equal(b, c);
        REQUIRE(above_both == less_equal(join(a, b), c));
        const bool below_both = less_equal(c, a) && less_equal(c, b);
        REQUIRE(below_both == less_equal(c, meet(a, b)));
      }
    }
  }
}

TEST_CASE("order: every shipped time is a partial order that its total order extends",
          "[timely][order]") {
  check_order(signed_domain());
  check_order(unsigned_domain());
  check_order(pair_domain());
  check_order(nested_domain());
}

TEST_CASE("order: join and meet are the least upper and greatest lower bounds", "[timely][order]") {
  check_lattice(signed_domain());
  check_lattice(unsigned_domain());
  check_lattice(pair_domain());
  check_lattice(nested_domain());
}

TEST_CASE("order: summaries compose, keep the order and stop at the end of time",
          "[timely][order]") {
  using Summary = SummaryOf<Pair>;
  std::vector<Summary> summaries;
  for (std::uint64_t a = 0; a < 3; ++a) {
    for (std::uint32_t b = 0; b < 3; ++b) summaries.push_back({{a}, {b}});
  }
  for (const Summary& s : summaries) {
    for (const Summary& t : summaries) {
      for (const Pair& time : pair_domain()) {
        REQUIRE(s.followed_by(t)->results_in(time) == t.results_in(*s.results_in(time)));
        REQUIRE(less_equal(time, *s.results_in(time)));
        if (less_equal(s, t)) REQUIRE(less_equal(*s.results_in(time), *t.results_in(time)));
      }
    }
  }
  CHECK(Summary{}.results_in(Pair{3, 4}) == Pair{3, 4});
  CHECK(Advance<std::uint32_t>{1}.results_in(std::numeric_limits<std::uint32_t>::max()) ==
        std::nullopt);
  CHECK(Summary{{0}, {1}}.results_in(Pair{0, std::numeric_limits<std::uint32_t>::max()}) ==
        std::nullopt);
  CHECK(Advance<std::int64_t>{2}.results_in(-1) == 1);
}

TEST_CASE("order: entering and leaving a nested scope gives the time back", "[timely][order]") {
  using In = Refinement<Pair, std::uint64_t>;
  for (std::uint64_t time = 0; time < 5; ++time) CHECK(In::to_outer(In::to_inner(time)) == time);
  CHECK(In::to_inner(7) == Pair{7, 0});
  CHECK(In::summarize({{2}, {5}}) == Advance<std::uint64_t>{2});
}

}  // namespace
}  // namespace timely
