// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/aggregate.h>
#include <freshet/repr/datetime.h>

#include "accumulator_layout.h"
#include "fault.h"

namespace freshet::expr {
namespace {

using repr::Datum;
using repr::Int128;
using repr::Numeric;
using repr::UInt128;

base::Unexpected impossible() {
  return fail(sqlstate::kInternalError, "a group has rows with negative multiplicity");
}

// What one aggregate left in a set.
class View {
 public:
  View(const AccumulatorSet& set, std::size_t aggregate, bool counts_values)
      : set_(set), aggregate_(aggregate), counts_values_(counts_values) {}
  [[nodiscard]] Int128 at(std::uint64_t place) const {
    return set_.at(layout::coordinate(aggregate_, place));
  }
  [[nodiscard]] Int128 count() const { return counts_values_ ? at(layout::kCount) : set_.records(); }
  // f(place, amount) for each coordinate in [from, to).
  template <typename F>
  void each(std::uint64_t from, std::uint64_t to, F f) const {
    for (const auto& entry : set_.entries()) {
      if (entry.coordinate < layout::coordinate(aggregate_, from)) continue;
      if (entry.coordinate >= layout::coordinate(aggregate_, to)) break;
      f(entry.coordinate & ((std::uint64_t{1} << 48) - 1),
        static_cast<Int128>(static_cast<UInt128>(entry.high) << 64 | entry.low));
    }
  }

 private:
  const AccumulatorSet& set_;
  std::size_t aggregate_;
  bool counts_values_;
};

std::optional<std::int64_t> narrow(Int128 value) {
  if (value < INT64_MIN || value > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Any of the special values; nothing if all are finite. `bad` is set by a negative count.
enum class Special : std::uint8_t { kNone, kNaN, kPositive, kNegative };
Special special(const View& view, bool& bad) {
  const Int128 nans = view.at(layout::kNaN);
  const Int128 positive = view.at(layout::kInfinity);
  const Int128 negative = view.at(layout::kNegativeInfinity);
  bad = nans < 0 || positive < 0 || negative < 0;
  if (nans > 0 || (positive > 0 && negative > 0)) return Special::kNaN;
  return positive > 0 ? Special::kPositive : negative > 0 ? Special::kNegative : Special::kNone;
}

// --- Floating sums ----------------------------------------------------------------------------------------

// The exact sum as a sign and a magnitude in units of 2^-1074.
struct Exact {
  static constexpr std::size_t kLimbs = layout::kFloatPlaceCount + 2;
  bool negative = false;
  std::array<std::uint64_t, kLimbs> limbs{};

  [[nodiscard]] bool bit(int position) const {
    return (limbs[static_cast<std::size_t>(position) / 64] >> (position % 64) & 1) != 0;
  }
  // The position of the highest one; -1 for zero.
  [[nodiscard]] int top() const {
    for (std::size_t i = kLimbs; i-- > 0;) {
      if (limbs[i] != 0) return static_cast<int>(64 * i) + 63 - std::countl_zero(limbs[i]);
    }
    return -1;
  }
  // Whether a bit below `position` is one.
  [[nodiscard]] bool any_below(int position) const {
    const auto whole = static_cast<std::size_t>(position) / 64;
    for (std::size_t i = 0; i < whole; ++i) {
      if (limbs[i] != 0) return true;
    }
    const int rest = position % 64;
    return rest != 0 && (limbs[whole] & ((std::uint64_t{1} << rest) - 1)) != 0;
  }
  // Bits [from, to], at most 64.
  [[nodiscard]] std::uint64_t bits(int from, int to) const {
    std::uint64_t out = 0;
    for (int position = to; position >= from; --position) out = out << 1 | (bit(position) ? 1U : 0U);
    return out;
  }
};

Exact exact_sum(const View& view) {
  Exact sum;
  std::array<Int128, layout::kFloatPlaceCount> places{};
  view.each(layout::kFloatPlaces, layout::kFloatPlaces + layout::kFloatPlaceCount,
            [&](std::uint64_t place, Int128 amount) { places[place - layout::kFloatPlaces] = amount; });
  Int128 carry = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    // The halves are carried apart so that the addition cannot overflow.
    const Int128 low = static_cast<Int128>(static_cast<std::uint64_t>(places[i])) +
                       static_cast<Int128>(static_cast<std::uint64_t>(carry));
    sum.limbs[i] = static_cast<std::uint64_t>(low);
    carry = (places[i] >> 64) + (carry >> 64) + (low >> 64);
  }
  sum.limbs[places.size()] = static_cast<std::uint64_t>(carry);
  sum.limbs[places.size() + 1] = static_cast<std::uint64_t>(carry >> 64);
  sum.negative = carry < 0;
  if (sum.negative) {
    std::uint64_t add = 1;
    for (std::uint64_t& limb : sum.limbs) {
      limb = ~limb + add;
      add = add != 0 && limb == 0 ? 1 : 0;
    }
  }
  return sum;
}

// Rounded once, half to even, to `digits` bits with no unit below 2^least. Infinite if it does not fit.
double round_sum(const Exact& sum, int digits, int least) {
  const int top = sum.top();
  if (top < 0) return 0;
  const int unit = std::max(top - digits + 1, least - layout::kFloatLeastExponent);
  std::uint64_t mantissa = 0;
  if (unit <= top) mantissa = sum.bits(unit, top);
  if (unit > 0 && unit - 1 <= top && sum.bit(unit - 1) &&
      (sum.any_below(unit - 1) || (mantissa & 1) != 0)) {
    ++mantissa;
  }
  const double out = std::ldexp(static_cast<double>(mantissa), unit + layout::kFloatLeastExponent);
  return sum.negative ? -out : out;
}

template <typename T>
Result<double> float_sum(const View& view) {
  bool bad = false;
  const Special kind = special(view, bad);
  if (bad) return impossible();
  switch (kind) {
    case Special::kNaN: return std::numeric_limits<double>::quiet_NaN();
    case Special::kPositive: return std::numeric_limits<double>::infinity();
    case Special::kNegative: return -std::numeric_limits<double>::infinity();
    case Special::kNone: break;
  }
  const double sum = std::is_same_v<T, float> ? round_sum(exact_sum(view), 24, -149)
                                              : round_sum(exact_sum(view), 53, -1074);
  if (std::isinf(static_cast<T>(sum))) return fail(fault_error(Fault::kFloatOverflow));
  return sum;
}

// --- Decimal sums -------------------------------------------------------------------------------------------

struct DecimalSum {
  Numeric value;
  Int128 count = 0;
};

Result<Numeric> shifted(Int128 amount, int scale, std::uint64_t piece) {
  Numeric out = Numeric::from_parts(amount, scale);
  const Numeric unit(layout::kPiece);
  for (std::uint64_t i = 0; i < piece; ++i) out = FRESHET_TRY(out.multiply(unit));
  return out;
}

// Nothing if the group has no values.
Result<std::optional<DecimalSum>> decimal_sum(const View& view) {
  bool bad = false;
  const Special kind = special(view, bad);
  Int128 count = view.at(layout::kNaN) + view.at(layout::kInfinity) + view.at(layout::kNegativeInfinity);
  int scale = 0;
  view.each(layout::kScaleCounts, layout::kScaleSums, [&](std::uint64_t place, Int128 amount) {
    bad = bad || amount < 0;
    count += amount;
    scale = std::max(scale, static_cast<int>(place & 0xFFFF));
  });
  if (bad) return impossible();
  Numeric sum = Numeric::from_parts(0, scale);
  std::optional<Error> failed;
  view.each(layout::kScaleSums, layout::kScaleSums << 1, [&](std::uint64_t place, Int128 amount) {
    if (failed.has_value()) return;
    Result<Numeric> part = shifted(amount, static_cast<int>(place >> 16 & 0xFFFF), place & 0xFFFF);
    if (part.has_value()) part = sum.add(*part);
    if (part.has_value()) {
      sum = *part;
    } else {
      failed = part.error();
    }
  });
  if (failed.has_value()) return fail(std::move(*failed));
  if (count == 0) {
    if (!sum.is_zero()) return impossible();
    return std::optional<DecimalSum>();
  }
  if (kind == Special::kNaN) sum = Numeric::nan();
  if (kind == Special::kPositive) sum = Numeric::infinity();
  if (kind == Special::kNegative) sum = Numeric::infinity(true);
  return std::optional(DecimalSum{std::move(sum), count});
}

// --- By kind ----------------------------------------------------------------------------------------------

Result<repr::Interval> interval_sum(const View& view) {
  const Int128 months = view.at(layout::kMonths);
  const Int128 days = view.at(layout::kDays);
  const auto micros = narrow(view.at(layout::kMicros));
  if (months < INT32_MIN || months > INT32_MAX || days < INT32_MIN || days > INT32_MAX ||
      !micros.has_value()) {
    return fail(fault_error(Fault::kIntervalRange));
  }
  return repr::Interval{static_cast<std::int32_t>(months), static_cast<std::int32_t>(days), *micros};
}

Result<Datum> finish_decimal(AggregateKind kind, const View& view) {
  auto sum = FRESHET_TRY(decimal_sum(view));
  if (!sum.has_value()) return Datum();
  if (kind == AggregateKind::kSumNumeric) return Datum(std::move(sum->value));
  return Datum(FRESHET_TRY(sum->value.divide(Numeric::from_parts(sum->count, 0))));
}

bool leaves_sum(AggregateKind kind, const View& view) {
  switch (kind) {
    case AggregateKind::kCount:
    case AggregateKind::kCountStar: return false;
    case AggregateKind::kSumFloat4:
    case AggregateKind::kSumFloat8:
    case AggregateKind::kAvgFloat4:
    case AggregateKind::kAvgFloat8: {
      bool bad = false;
      return special(view, bad) != Special::kNone || bad || exact_sum(view).top() >= 0;
    }
    default:
      return view.at(1) != 0 || view.at(2) != 0 || view.at(3) != 0;
  }
}

Result<Datum> finish_values(AggregateKind kind, const View& view, Int128 count) {
  const Int128 sum = view.at(layout::kSum);
  const Numeric rows = Numeric::from_parts(count, 0);
  switch (kind) {
    case AggregateKind::kSumInt2:
    case AggregateKind::kSumInt4: {
      const auto out = narrow(sum);
      if (!out.has_value()) return fail(fault_error(Fault::kInt8Range));
      return Datum(*out);
    }
    case AggregateKind::kSumInt8: return Datum(Numeric::from_parts(sum, 0));
    case AggregateKind::kAvgInt2:
    case AggregateKind::kAvgInt4:
    case AggregateKind::kAvgInt8: return Datum(FRESHET_TRY(Numeric::from_parts(sum, 0).divide(rows)));
    case AggregateKind::kSumFloat4: return Datum(static_cast<float>(FRESHET_TRY(float_sum<float>(view))));
    case AggregateKind::kSumFloat8: return Datum(FRESHET_TRY(float_sum<double>(view)));
    case AggregateKind::kAvgFloat4:
    case AggregateKind::kAvgFloat8: {
      const double total = FRESHET_TRY(float_sum<double>(view));
      return Datum(total / static_cast<double>(count));
    }
    case AggregateKind::kSumInterval: return Datum(FRESHET_TRY(interval_sum(view)));
    case AggregateKind::kAvgInterval: {
      const repr::Interval total = FRESHET_TRY(interval_sum(view));
      return Datum(FRESHET_TRY(repr::divide(total, static_cast<double>(count))));
    }
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
      if (sum < 0 || sum > count) return impossible();
      return Datum(kind == AggregateKind::kBoolAnd ? sum == count : sum > 0);
    default: break;
  }
  FRESHET_UNREACHABLE(static_cast<int>(kind));
}

}  // namespace

Result<Datum> Accumulators::finish(const AccumulatorSet& set, std::size_t index) const {
  FRESHET_ASSERT(index < calls_.size(), index, calls_.size());
  const Call& call = calls_[index];
  const AggregateKind kind = call.spec->kind;
  if (set.records() < 0) return impossible();
  const View view(set, index, call.argument.nullable);
  if (kind == AggregateKind::kSumNumeric || kind == AggregateKind::kAvgNumeric) {
    return finish_decimal(kind, view);
  }
  const Int128 count = view.count();
  if (count < 0) return impossible();
  if (kind == AggregateKind::kCount || kind == AggregateKind::kCountStar) {
    const auto out = narrow(count);
    if (!out.has_value()) return fail(fault_error(Fault::kInt8Range));
    return Datum(*out);
  }
  if (count == 0) {
    if (leaves_sum(kind, view)) return impossible();
    return Datum();
  }
  return finish_values(kind, view, count);
}

}  // namespace freshet::expr
