// SPDX-License-Identifier: Apache-2.0
/// Decimals: while both operands fit 128 bits, arithmetic stays inline and touches no heap.
#include <freshet/base/sqlstate.h>
#include <freshet/repr/numeric.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using repr::Int128;
using repr::Numeric;

// The value as coefficient and scale. `as_parts` is all inline.
struct Parts {
  Int128 coefficient;
  int scale;
};

// `Fast` computes from parts, and says false where it cannot; `Slow` gives a Result.
template <typename Fast, typename Slow>
repr::ColumnPtr binary(KernelCall& call) {
  const Reader<Numeric> left(*call.arguments[0], call.rows);
  const Reader<Numeric> right(*call.arguments[1], call.rows);
  std::vector<Numeric> out(call.rows);
  auto validity = strict_validity(call);
  RowErrors found;
  for (std::size_t row = 0; row < call.rows; ++row) {
    const Numeric& x = left[row];
    const Numeric& y = right[row];
    Parts a;
    Parts b;
    if (x.as_parts(a.coefficient, a.scale) && y.as_parts(b.coefficient, b.scale) &&
        Fast{}(a, b)) [[likely]] {
      out[row] = Numeric::from_parts(a.coefficient, a.scale);
      continue;
    }
    Result<Numeric> result = Slow{}(x, y);
    if (result.has_value()) {
      out[row] = *std::move(result);
    } else {
      note_error(call, validity, row, std::move(result).error(), found);
    }
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

// Kernels of the type (a op b) -> a, in place, with the fast path.
template <typename Fast, typename Slow>
Lifted fast(Fast, Slow) {
  static constexpr ScalarKernel kernel{&binary<Fast, Slow>};
  return {&kernel, true, false};
}

bool in_range(const Int128& value) {
  constexpr Int128 kLeast = static_cast<Int128>(1) << 127;
  return value != kLeast;
}

void add_operators(FunctionTable& table) {
  constexpr K n = K::kNumeric;
  table.add_operator("+", {n, n}, n, fast(
      [](Parts& a, const Parts& b) {
        return a.scale == b.scale &&
               !__builtin_add_overflow(a.coefficient, b.coefficient, &a.coefficient) &&
               in_range(a.coefficient);
      },
      [](const Numeric& x, const Numeric& y) { return x.add(y); }));
  table.add_operator("-", {n, n}, n, fast(
      [](Parts& a, const Parts& b) {
        return a.scale == b.scale &&
               !__builtin_sub_overflow(a.coefficient, b.coefficient, &a.coefficient) &&
               in_range(a.coefficient);
      },
      [](const Numeric& x, const Numeric& y) { return x.subtract(y); }));
  table.add_operator("*", {n, n}, n, fast(
      [](Parts& a, const Parts& b) {
        // Two factors of 64 bits cannot overflow; the check of wider ones is a call.
        const auto x = static_cast<std::int64_t>(a.coefficient);
        const auto y = static_cast<std::int64_t>(b.coefficient);
        if (x != a.coefficient || y != b.coefficient || a.scale + b.scale > 1000) return false;
        a.coefficient = static_cast<Int128>(x) * y;
        a.scale += b.scale;
        return true;
      },
      [](const Numeric& x, const Numeric& y) { return x.multiply(y); }));
  table.add_operator("/", {n, n}, n, lift([](const Numeric& x, const Numeric& y) -> Result<Numeric> {
    return x.divide(y);
  }));
  table.add_both("%", "mod", {n, n}, n, lift([](const Numeric& x, const Numeric& y) -> Result<Numeric> {
    return x.remainder(y);
  }));
  table.add_operator("-", {n}, n, lift([](const Numeric& x) -> Numeric { return x.negate(); }));
  table.add_operator("+", {n}, n, lift([](const Numeric& x) -> Numeric { return x; }));
  table.add_both("@", "abs", {n}, n, lift([](const Numeric& x) -> Numeric { return x.abs(); }));
  const auto power = lift([](const Numeric& x, const Numeric& y) -> Result<Numeric> { return x.power(y); });
  table.add_both("^", "power", {n, n}, n, power);
  table.add("pow", {n, n}, n, power);
}

// Scales beyond these cannot be had; PostgreSQL clamps as well.
int clamp_scale(std::int32_t scale) { return std::min(std::max(scale, -2000), 2000); }

void add_rounding(FunctionTable& table) {
  constexpr K n = K::kNumeric;
  table.add("round", {n}, n, lift([](const Numeric& x) -> Numeric { return x.round(0); }));
  table.add("round", {n, K::kInt4}, n, lift([](const Numeric& x, std::int32_t scale) -> Numeric {
              return x.round(clamp_scale(scale));
            }));
  table.add("trunc", {n}, n, lift([](const Numeric& x) -> Numeric { return x.truncate(0); }));
  table.add("trunc", {n, K::kInt4}, n, lift([](const Numeric& x, std::int32_t scale) -> Numeric {
              return x.truncate(clamp_scale(scale));
            }));
  table.add("ceil", {n}, n, lift([](const Numeric& x) -> Numeric { return x.ceil(); }));
  table.add("ceiling", {n}, n, lift([](const Numeric& x) -> Numeric { return x.ceil(); }));
  table.add("floor", {n}, n, lift([](const Numeric& x) -> Numeric { return x.floor(); }));
  table.add("sign", {n}, n, lift([](const Numeric& x) -> Numeric {
              if (x.is_nan()) return x;
              return Numeric(x.is_zero() ? 0 : x.is_negative() ? -1 : 1);
            }));
  table.add("scale", {n}, K::kInt4, lift([](const Numeric& x) -> std::optional<std::int32_t> {
              if (!x.is_finite()) return std::nullopt;
              return x.scale();
            }));
  table.add("min_scale", {n}, K::kInt4, lift([](const Numeric& x) -> std::optional<std::int32_t> {
              if (!x.is_finite()) return std::nullopt;
              return x.min_scale();
            }));
  table.add("trim_scale", {n}, n, lift([](const Numeric& x) -> Numeric { return x.trim_scale(); }));
}

// div(): the quotient without its fraction.
Result<Numeric> whole_quotient(const Numeric& x, const Numeric& y) {
  if (!x.is_finite() || !y.is_finite() || y.is_zero()) {
    return x.divide(y);
  }
  const Numeric rest = FRESHET_TRY(x.remainder(y));
  const Numeric whole = FRESHET_TRY(x.subtract(rest));
  return FRESHET_TRY(whole.divide(y)).round(0);
}

}  // namespace

void add_numerics(FunctionTable& table) {
  constexpr K n = K::kNumeric;
  add_operators(table);
  add_rounding(table);
  table.add("div", {n, n}, n, lift([](const Numeric& x, const Numeric& y) -> Result<Numeric> {
              return whole_quotient(x, y);
            }));
  table.add("sqrt", {n}, n, lift([](const Numeric& x) -> Result<Numeric> { return x.sqrt(); }));
  table.add("exp", {n}, n, lift([](const Numeric& x) -> Result<Numeric> { return x.exp(); }));
  table.add("ln", {n}, n, lift([](const Numeric& x) -> Result<Numeric> { return x.ln(); }));
  const auto log10 = lift([](const Numeric& x) -> Result<Numeric> { return x.log(Numeric(10)); });
  table.add("log", {n}, n, log10);
  table.add("log10", {n}, n, log10);
  table.add("log", {n, n}, n, lift([](const Numeric& base, const Numeric& x) -> Result<Numeric> {
              // The base fails first.
              if (base.is_finite() && x.is_finite() && base.is_zero()) {
                return fail(fault_error(Fault::kLogOfZero));
              }
              return x.log(base);
            }));
}

}  // namespace freshet::expr
