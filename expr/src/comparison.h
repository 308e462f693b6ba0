// SPDX-License-Identifier: Apache-2.0
/// The six comparison operators from one pair of lambdas.
#pragma once

#include "function_table.h"

namespace freshet::expr {

/// `Order` gives a value that compares with 0 (negative: less); `Equal` is the fast test for equality.
template <typename X, typename Y, typename Order, typename Equal>
void add_six(FunctionTable& table, Arg a, Arg b, Order, Equal) {
  table.add_operator("=", {a, b}, K::kBool, lift([](const X& x, const Y& y) -> bool { return Equal{}(x, y); }));
  table.add_operator("<>", {a, b}, K::kBool, lift([](const X& x, const Y& y) -> bool { return !Equal{}(x, y); }));
  table.add_operator("<", {a, b}, K::kBool, lift([](const X& x, const Y& y) -> bool { return Order{}(x, y) < 0; }));
  table.add_operator("<=", {a, b}, K::kBool, lift([](const X& x, const Y& y) -> bool { return Order{}(x, y) <= 0; }));
  table.add_operator(">", {a, b}, K::kBool, lift([](const X& x, const Y& y) -> bool { return Order{}(x, y) > 0; }));
  table.add_operator(">=", {a, b}, K::kBool, lift([](const X& x, const Y& y) -> bool { return Order{}(x, y) >= 0; }));
}

/// For types where the machine's comparison is SQL's.
template <typename X, typename Y = X>
void add_six_plain(FunctionTable& table, Arg a, Arg b) {
  add_six<X, Y>(
      table, std::move(a), std::move(b), [](X x, Y y) { return x <=> y; },
      [](X x, Y y) { return x == y; });
}

}  // namespace freshet::expr
