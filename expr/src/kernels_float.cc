// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "function_table.h"

namespace freshet::expr {
namespace {

template <typename X, typename Y>
void add_arithmetic(FunctionTable& table, K a, K b) {
  using R = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;
  const K r = sizeof(R) == 8 ? K::kFloat8 : K::kFloat4;
  table.add_operator("+", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    const R out = static_cast<R>(x) + static_cast<R>(y);
    return {out, std::isinf(out) && !std::isinf(x) && !std::isinf(y) ? Fault::kFloatOverflow
                                                                     : Fault::kNone};
  }));
  table.add_operator("-", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    const R out = static_cast<R>(x) - static_cast<R>(y);
    return {out, std::isinf(out) && !std::isinf(x) && !std::isinf(y) ? Fault::kFloatOverflow
                                                                     : Fault::kNone};
  }));
  table.add_operator("*", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    const R out = static_cast<R>(x) * static_cast<R>(y);
    if (std::isinf(out) && !std::isinf(x) && !std::isinf(y)) return {out, Fault::kFloatOverflow};
    if (out == 0 && x != 0 && y != 0) return {out, Fault::kFloatUnderflow};
    return {out};
  }));
  table.add_operator("/", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    if (y == 0 && !std::isnan(x)) return {0, Fault::kDivisionByZero};
    const R out = static_cast<R>(x) / static_cast<R>(y);
    if (std::isinf(out) && !std::isinf(x)) return {out, Fault::kFloatOverflow};
    if (out == 0 && x != 0 && !std::isinf(y)) return {out, Fault::kFloatUnderflow};
    return {out};
  }));
}

template <typename X>
void add_one_type(FunctionTable& table, K a) {
  table.add_operator("-", {a}, a, lift([](X x) -> X { return -x; }));
  table.add_operator("+", {a}, a, lift([](X x) -> X { return x; }));
  table.add_both("@", "abs", {a}, a, lift([](X x) -> X { return std::fabs(x); }));
}

}  // namespace

void add_floats(FunctionTable& table) {
  add_arithmetic<float, float>(table, K::kFloat4, K::kFloat4);
  add_arithmetic<double, double>(table, K::kFloat8, K::kFloat8);
  add_arithmetic<float, double>(table, K::kFloat4, K::kFloat8);
  add_arithmetic<double, float>(table, K::kFloat8, K::kFloat4);
  add_one_type<float>(table, K::kFloat4);
  add_one_type<double>(table, K::kFloat8);
}

}  // namespace freshet::expr
