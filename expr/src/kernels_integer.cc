// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "function_table.h"

namespace freshet::expr {
namespace {

template <typename T>
constexpr Fault kRange = sizeof(T) == 2   ? Fault::kInt2Range
                         : sizeof(T) == 4 ? Fault::kInt4Range
                                          : Fault::kInt8Range;

template <typename R>
constexpr Checked<R> checked(R value, bool overflow) {
  return {value, overflow ? kRange<R> : Fault::kNone};
}

// The type of a mixed operation is the wider of the two.
template <typename X, typename Y>
using Wider = std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>;

template <typename X, typename Y>
void add_arithmetic(FunctionTable& table, K a, K b) {
  using R = Wider<X, Y>;
  const K r = sizeof(X) > sizeof(Y) ? a : b;
  table.add_operator("+", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    R out;
    const bool overflow = __builtin_add_overflow(x, y, &out);
    return checked(out, overflow);
  }));
  table.add_operator("-", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    R out;
    const bool overflow = __builtin_sub_overflow(x, y, &out);
    return checked(out, overflow);
  }));
  table.add_operator("*", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    R out;
    const bool overflow = __builtin_mul_overflow(x, y, &out);
    return checked(out, overflow);
  }));
  table.add_operator("/", {a, b}, r, lift([](X x, Y y) -> Checked<R> {
    if (y == 0) return {0, Fault::kDivisionByZero};
    if (y == -1) {
      R out;
      const bool overflow = __builtin_sub_overflow(R{0}, x, &out);
      return checked(out, overflow);
    }
    return {static_cast<R>(static_cast<R>(x) / static_cast<R>(y))};
  }));
}

template <typename X>
void add_one_type(FunctionTable& table, K a) {
  using U = std::make_unsigned_t<X>;
  // Shifts count modulo the width of the register, as the machine does.
  constexpr unsigned kBits = sizeof(X) == 8 ? 63 : 31;
  table.add_both("%", "mod", {a, a}, a, lift([](X x, X y) -> Checked<X> {
    if (y == 0) return {0, Fault::kDivisionByZero};
    if (y == -1) return {0};
    return {static_cast<X>(x % y)};
  }));
  table.add_operator("-", {a}, a, lift([](X x) -> Checked<X> {
    return checked(static_cast<X>(U{0} - static_cast<U>(x)), x == std::numeric_limits<X>::min());
  }));
  table.add_operator("+", {a}, a, lift([](X x) -> X { return x; }));
  table.add_both("@", "abs", {a}, a, lift([](X x) -> Checked<X> {
    if (x >= 0) return {x};
    return checked(static_cast<X>(U{0} - static_cast<U>(x)), x == std::numeric_limits<X>::min());
  }));
  table.add_operator("&", {a, a}, a, lift([](X x, X y) -> X { return static_cast<X>(x & y); }));
  table.add_operator("|", {a, a}, a, lift([](X x, X y) -> X { return static_cast<X>(x | y); }));
  table.add_operator("#", {a, a}, a, lift([](X x, X y) -> X { return static_cast<X>(x ^ y); }));
  table.add_operator("~", {a}, a, lift([](X x) -> X { return static_cast<X>(~x); }));
  table.add_operator("<<", {a, K::kInt4}, a, lift([](X x, std::int32_t n) -> X {
    return static_cast<X>(static_cast<std::uint64_t>(x) << (static_cast<unsigned>(n) & kBits));
  }));
  table.add_operator(">>", {a, K::kInt4}, a, lift([](X x, std::int32_t n) -> X {
    return static_cast<X>(x >> (static_cast<unsigned>(n) & kBits));
  }));
}

}  // namespace

void add_integers(FunctionTable& table) {
  using I2 = std::int16_t;
  using I4 = std::int32_t;
  using I8 = std::int64_t;
  add_arithmetic<I2, I2>(table, K::kInt2, K::kInt2);
  add_arithmetic<I4, I4>(table, K::kInt4, K::kInt4);
  add_arithmetic<I8, I8>(table, K::kInt8, K::kInt8);
  add_arithmetic<I2, I4>(table, K::kInt2, K::kInt4);
  add_arithmetic<I4, I2>(table, K::kInt4, K::kInt2);
  add_arithmetic<I2, I8>(table, K::kInt2, K::kInt8);
  add_arithmetic<I8, I2>(table, K::kInt8, K::kInt2);
  add_arithmetic<I4, I8>(table, K::kInt4, K::kInt8);
  add_arithmetic<I8, I4>(table, K::kInt8, K::kInt4);
  add_one_type<I2>(table, K::kInt2);
  add_one_type<I4>(table, K::kInt4);
  add_one_type<I8>(table, K::kInt8);
}

}  // namespace freshet::expr
