// SPDX-License-Identifier: Apache-2.0
/// Functions of double precision.
#include <cmath>
#include <numbers>
#include <numeric>

#include "function_table.h"

namespace freshet::expr {
namespace {

constexpr double kRadiansPerDegree = std::numbers::pi / 180;

Checked<double> power(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return {std::pow(x, y)};
  if (x == 0 && y < 0) return {0, Fault::kZeroToNegativePower};
  if (x < 0 && std::floor(y) != y) return {0, Fault::kComplexPower};
  const double out = std::pow(x, y);
  if (std::isinf(x) || std::isinf(y)) return {out};
  if (std::isinf(out)) return {out, Fault::kFloatOverflow};
  if (out == 0 && x != 0) return {out, Fault::kFloatUnderflow};
  return {out};
}

Checked<double> exponential(double x) {
  const double out = std::exp(x);
  if (std::isinf(x) || std::isnan(x)) return {out};
  if (std::isinf(out)) return {out, Fault::kFloatOverflow};
  if (out == 0) return {out, Fault::kFloatUnderflow};
  return {out};
}

template <typename Log>
Checked<double> logarithm(double x, Log log) {
  if (x == 0) return {0, Fault::kLogOfZero};
  if (x < 0) return {0, Fault::kLogOfNegative};
  return {log(x)};
}

template <typename F>
Checked<double> of_finite(double x, F f) {
  if (std::isinf(x)) return {0, Fault::kInputRange};
  return {f(x)};
}
template <typename F>
Checked<double> of_unit(double x, F f) {
  if (x < -1 || x > 1) return {0, Fault::kInputRange};
  return {f(x)};
}

template <typename F>
void add_double(FunctionTable& table, std::string_view name, F) {
  table.add(name, {K::kFloat8}, K::kFloat8, lift(F{}));
}

void add_trigonometry(FunctionTable& table) {
  add_double(table, "sin", [](double x) { return of_finite(x, [](double v) { return std::sin(v); }); });
  add_double(table, "cos", [](double x) { return of_finite(x, [](double v) { return std::cos(v); }); });
  add_double(table, "tan", [](double x) { return of_finite(x, [](double v) { return std::tan(v); }); });
  add_double(table, "cot",
             [](double x) { return of_finite(x, [](double v) { return 1.0 / std::tan(v); }); });
  add_double(table, "asin", [](double x) { return of_unit(x, [](double v) { return std::asin(v); }); });
  add_double(table, "acos", [](double x) { return of_unit(x, [](double v) { return std::acos(v); }); });
  add_double(table, "atan", [](double x) -> double { return std::atan(x); });
  table.add("atan2", {K::kFloat8, K::kFloat8}, K::kFloat8,
            lift([](double y, double x) -> double { return std::atan2(y, x); }));
  add_double(table, "sinh", [](double x) -> double { return std::sinh(x); });
  add_double(table, "cosh", [](double x) -> double { return std::cosh(x); });
  add_double(table, "tanh", [](double x) -> double { return std::tanh(x); });
  add_double(table, "asinh", [](double x) -> double { return std::asinh(x); });
  add_double(table, "acosh", [](double x) -> Checked<double> {
    if (x < 1) return {0, Fault::kInputRange};
    return {std::acosh(x)};
  });
  add_double(table, "atanh", [](double x) { return of_unit(x, [](double v) { return std::atanh(v); }); });
  add_double(table, "degrees", [](double x) -> Checked<double> {
    const double out = x / kRadiansPerDegree;
    return {out, std::isinf(out) && !std::isinf(x) ? Fault::kFloatOverflow : Fault::kNone};
  });
  add_double(table, "radians", [](double x) -> Checked<double> {
    const double out = x * kRadiansPerDegree;
    return {out, out == 0 && x != 0 ? Fault::kFloatUnderflow : Fault::kNone};
  });
  table.add("pi", {}, K::kFloat8, whole([](KernelCall& call) {
              return make_column(std::vector<double>(call.rows, std::numbers::pi), {});
            }));
}

}  // namespace

void add_float_math(FunctionTable& table) {
  const auto root = lift([](double x) -> Checked<double> {
    if (x < 0) return {0, Fault::kSquareRoot};
    return {std::sqrt(x)};
  });
  table.add_both("|/", "sqrt", {K::kFloat8}, K::kFloat8, root);
  table.add_both("||/", "cbrt", {K::kFloat8}, K::kFloat8,
                 lift([](double x) -> double { return std::cbrt(x); }));
  const auto raise = lift([](double x, double y) -> Checked<double> { return power(x, y); });
  table.add_both("^", "power", {K::kFloat8, K::kFloat8}, K::kFloat8, raise);
  table.add("pow", {K::kFloat8, K::kFloat8}, K::kFloat8, raise);
  add_double(table, "exp", [](double x) -> Checked<double> { return exponential(x); });
  add_double(table, "ln", [](double x) { return logarithm(x, [](double v) { return std::log(v); }); });
  const auto log10 = [](double x) { return logarithm(x, [](double v) { return std::log10(v); }); };
  add_double(table, "log", log10);
  add_double(table, "log10", log10);
  add_double(table, "ceil", [](double x) -> double { return std::ceil(x); });
  add_double(table, "ceiling", [](double x) -> double { return std::ceil(x); });
  add_double(table, "floor", [](double x) -> double { return std::floor(x); });
  add_double(table, "round", [](double x) -> double { return std::nearbyint(x); });
  add_double(table, "trunc", [](double x) -> double { return std::trunc(x); });
  add_double(table, "sign", [](double x) -> double { return x > 0 ? 1 : x < 0 ? -1 : 0; });
  add_trigonometry(table);
}

namespace {

template <typename T>
Checked<T> greatest_divisor(T x, T y, Fault range) {
  using U = std::make_unsigned_t<T>;
  const U a = x < 0 ? U{0} - static_cast<U>(x) : static_cast<U>(x);
  const U b = y < 0 ? U{0} - static_cast<U>(y) : static_cast<U>(y);
  const U out = std::gcd(a, b);
  if (out > static_cast<U>(std::numeric_limits<T>::max())) return {0, range};
  return {static_cast<T>(out)};
}

template <typename T>
Checked<T> least_multiple(T x, T y, Fault range) {
  if (x == 0 || y == 0) return {0};
  const Checked<T> divisor = greatest_divisor(x, y, range);
  if (divisor.fault != Fault::kNone) return divisor;
  T out;
  if (__builtin_mul_overflow(static_cast<T>(x / divisor.value), y, &out) ||
      out == std::numeric_limits<T>::min()) {
    return {0, range};
  }
  return {static_cast<T>(out < 0 ? -out : out)};
}

}  // namespace

void add_integer_math(FunctionTable& table) {
  using I4 = std::int32_t;
  using I8 = std::int64_t;
  table.add("gcd", {K::kInt4, K::kInt4}, K::kInt4, lift([](I4 x, I4 y) -> Checked<I4> {
              return greatest_divisor(x, y, Fault::kInt4Range);
            }));
  table.add("gcd", {K::kInt8, K::kInt8}, K::kInt8, lift([](I8 x, I8 y) -> Checked<I8> {
              return greatest_divisor(x, y, Fault::kInt8Range);
            }));
  table.add("lcm", {K::kInt4, K::kInt4}, K::kInt4, lift([](I4 x, I4 y) -> Checked<I4> {
              return least_multiple(x, y, Fault::kInt4Range);
            }));
  table.add("lcm", {K::kInt8, K::kInt8}, K::kInt8, lift([](I8 x, I8 y) -> Checked<I8> {
              return least_multiple(x, y, Fault::kInt8Range);
            }));
}

}  // namespace freshet::expr
