// SPDX-License-Identifier: Apache-2.0
/// Casts between numbers and bool.
#include <cmath>
#include <limits>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/numeric.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using repr::Numeric;
using I2 = std::int16_t;
using I4 = std::int32_t;
using I8 = std::int64_t;
constexpr CastContext kImplicit = CastContext::kImplicit;
constexpr CastContext kAssignment = CastContext::kAssignment;
constexpr CastContext kExplicit = CastContext::kExplicit;

template <typename T>
constexpr Fault kRange = sizeof(T) == 2   ? Fault::kInt2Range
                         : sizeof(T) == 4 ? Fault::kInt4Range
                                          : Fault::kInt8Range;

template <typename From, typename To>
void add_integer(FunctionTable& table, K from, K to) {
  if constexpr (sizeof(From) < sizeof(To)) {
    table.add_cast(from, to, kImplicit, lift([](From x) -> To { return x; }));
  } else {
    table.add_cast(from, to, kAssignment, lift([](From x) -> Checked<To> {
      const To out = static_cast<To>(x);
      return {out, out == x ? Fault::kNone : kRange<To>};
    }));
  }
}

// Rounds to even, as rint does; NaN and what does not fit is out of range.
template <typename From, typename To>
void add_float_to_integer(FunctionTable& table, K from, K to) {
  table.add_cast(from, to, kAssignment, lift([](From x) -> Checked<To> {
    const From rounded = std::nearbyint(x);
    const From least = static_cast<From>(std::numeric_limits<To>::min());
    if (!(rounded >= least && rounded < -least)) return {0, kRange<To>};
    return {static_cast<To>(rounded)};
  }));
}

template <typename T>
void add_from_integer(FunctionTable& table, K from) {
  table.add_cast(from, K::kFloat4, kImplicit, lift([](T x) -> float { return static_cast<float>(x); }));
  table.add_cast(from, K::kFloat8, kImplicit, lift([](T x) -> double { return static_cast<double>(x); }));
  table.add_cast(from, K::kNumeric, kImplicit, lift([](T x) -> Numeric { return Numeric(x); }));
}

base::Unexpected cannot_convert(const Numeric& value, const char* type) {
  return fail(sqlstate::kFeatureNotSupported, std::string("cannot convert ") +
                                                  (value.is_nan() ? "NaN" : "infinity") + " to " + type);
}

template <typename To>
Result<To> integer_from(const Numeric& value, const char* type) {
  if (!value.is_finite()) return cannot_convert(value, type);
  const Result<I8> wide = value.to_int64();
  if (!wide.has_value() || *wide < std::numeric_limits<To>::min() ||
      *wide > std::numeric_limits<To>::max()) {
    return fail(fault_error(kRange<To>));
  }
  return static_cast<To>(*wide);
}

void add_from_numeric(FunctionTable& table) {
  table.add_cast(K::kNumeric, K::kInt2, kAssignment,
                 lift([](const Numeric& x) -> Result<I2> { return integer_from<I2>(x, "smallint"); }));
  table.add_cast(K::kNumeric, K::kInt4, kAssignment,
                 lift([](const Numeric& x) -> Result<I4> { return integer_from<I4>(x, "integer"); }));
  table.add_cast(K::kNumeric, K::kInt8, kAssignment,
                 lift([](const Numeric& x) -> Result<I8> { return integer_from<I8>(x, "bigint"); }));
  // A decimal that no double can hold fails as its text would: with the text in the message.
  table.add_cast(K::kNumeric, K::kFloat8, kImplicit, lift([](const Numeric& x) -> Result<double> {
    const double out = x.to_double();
    if (x.is_finite() && (std::isinf(out) || (out == 0 && !x.is_zero()))) {
      return fail(sqlstate::kNumericValueOutOfRange,
                  "\"" + x.to_string() + "\" is out of range for type double precision");
    }
    return out;
  }));
  table.add_cast(K::kNumeric, K::kFloat4, kImplicit, lift([](const Numeric& x) -> Result<float> {
    const float out = x.to_float();
    if (x.is_finite() && (std::isinf(out) || (out == 0 && !x.is_zero()))) {
      return fail(sqlstate::kNumericValueOutOfRange,
                  "\"" + x.to_string() + "\" is out of range for type real");
    }
    return out;
  }));
}

void add_oids(FunctionTable& table) {
  constexpr I8 kMaxOid = std::numeric_limits<std::uint32_t>::max();
  for (const K oid : {K::kOid, K::kRegclass, K::kRegtype, K::kRegproc}) {
    table.add_cast(K::kInt4, oid, kImplicit,
                   lift([](I4 x) -> I8 { return static_cast<std::uint32_t>(x); }));
    table.add_cast(K::kInt2, oid, kImplicit,
                   lift([](I2 x) -> I8 { return static_cast<std::uint32_t>(I4{x}); }));
    table.add_cast(K::kInt8, oid, kImplicit, lift([](I8 x) -> Checked<I8> {
      return {x, x < 0 || x > kMaxOid ? Fault::kOidRange : Fault::kNone};
    }));
    table.add_cast(oid, K::kInt4, kAssignment,
                   lift([](I8 x) -> I4 { return static_cast<I4>(static_cast<std::uint32_t>(x)); }));
    table.add_relabel(oid, K::kInt8, kAssignment);
    if (oid != K::kOid) {
      table.add_relabel(K::kOid, oid, kImplicit);
      table.add_relabel(oid, K::kOid, kImplicit);
    }
  }
}

}  // namespace

void add_number_casts(FunctionTable& table) {
  add_integer<I2, I4>(table, K::kInt2, K::kInt4);
  add_integer<I2, I8>(table, K::kInt2, K::kInt8);
  add_integer<I4, I2>(table, K::kInt4, K::kInt2);
  add_integer<I4, I8>(table, K::kInt4, K::kInt8);
  add_integer<I8, I2>(table, K::kInt8, K::kInt2);
  add_integer<I8, I4>(table, K::kInt8, K::kInt4);
  add_from_integer<I2>(table, K::kInt2);
  add_from_integer<I4>(table, K::kInt4);
  add_from_integer<I8>(table, K::kInt8);
  add_float_to_integer<float, I2>(table, K::kFloat4, K::kInt2);
  add_float_to_integer<float, I4>(table, K::kFloat4, K::kInt4);
  add_float_to_integer<float, I8>(table, K::kFloat4, K::kInt8);
  add_float_to_integer<double, I2>(table, K::kFloat8, K::kInt2);
  add_float_to_integer<double, I4>(table, K::kFloat8, K::kInt4);
  add_float_to_integer<double, I8>(table, K::kFloat8, K::kInt8);
  table.add_cast(K::kFloat4, K::kFloat8, kImplicit, lift([](float x) -> double { return x; }));
  table.add_cast(K::kFloat8, K::kFloat4, kAssignment, lift([](double x) -> Checked<float> {
    const auto out = static_cast<float>(x);
    if (std::isinf(out) && !std::isinf(x)) return {out, Fault::kFloatOverflow};
    if (out == 0 && x != 0) return {out, Fault::kFloatUnderflow};
    return {out};
  }));
  table.add_cast(K::kFloat4, K::kNumeric, kAssignment,
                 lift([](float x) -> Numeric { return Numeric::from_float(x); }));
  table.add_cast(K::kFloat8, K::kNumeric, kAssignment,
                 lift([](double x) -> Result<Numeric> { return Numeric::from_double(x); }));
  add_from_numeric(table);
  table.add_cast(K::kBool, K::kInt4, kExplicit, lift([](bool x) -> I4 { return x ? 1 : 0; }));
  table.add_cast(K::kInt4, K::kBool, kExplicit, lift([](I4 x) -> bool { return x != 0; }));
  add_oids(table);
}

}  // namespace freshet::expr
