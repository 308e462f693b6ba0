// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>

#include <freshet/expr/aggregate.h>

#include "accumulator_layout.h"

namespace freshet::expr {
namespace {

using repr::Diff;
using repr::Int128;
using repr::Numeric;

// The rows of one aggregate's input that count.
class Rows {
 public:
  Rows(const Accumulators::Input& input, std::span<const std::uint32_t> groups,
       std::span<const Diff> diffs)
      : column_(input.argument.get()), groups_(groups), diffs_(diffs) {
    if (input.filter != nullptr) {
      filter_ = input.filter->values<std::vector<std::uint8_t>>();
      filter_validity_ = input.filter->validity();
    }
    if (column_ != nullptr && column_->has_nulls()) validity_ = column_->validity();
  }

  // f(row, group, diff)
  template <typename F>
  void each(F f) const {
    if (filter_.empty() && validity_.empty() && diffs_.empty()) {
      for (std::size_t row = 0; row < groups_.size(); ++row) f(row, groups_[row], Diff{1});
      return;
    }
    for (std::size_t row = 0; row < groups_.size(); ++row) {
      if (!validity_.empty() && validity_[row] == 0) continue;
      if (!filter_.empty() &&
          (filter_[row] == 0 || (!filter_validity_.empty() && filter_validity_[row] == 0))) {
        continue;
      }
      f(row, groups_[row], diffs_.empty() ? 1 : diffs_[row]);
    }
  }
  template <typename T>
  [[nodiscard]] const std::vector<T>& values() const {
    return column_->values<std::vector<T>>();
  }

 private:
  const repr::Column* column_;
  std::span<const std::uint32_t> groups_;
  std::span<const Diff> diffs_;
  std::span<const std::uint8_t> filter_{};
  std::span<const std::uint8_t> filter_validity_{};
  std::span<const std::uint8_t> validity_{};
};

// Per-group totals of one coordinate, kept flat until all rows are in.
class Totals {
 public:
  explicit Totals(std::size_t groups) : amounts_(groups) {}
  void add(std::uint32_t group, Int128 amount) { amounts_[group] += static_cast<repr::UInt128>(amount); }
  void flush(std::uint64_t coordinate, std::span<AccumulatorSet> into) {
    for (std::size_t group = 0; group < into.size(); ++group) {
      into[group].add(coordinate, static_cast<Int128>(amounts_[group]));
    }
  }

 private:
  std::vector<repr::UInt128> amounts_;
};

struct Target {
  std::size_t aggregate;
  bool count_values;  // false: the group's records are the count
  std::span<AccumulatorSet> into;
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const {
    return layout::coordinate(aggregate, place);
  }
};

void count_rows(const Rows& rows, const Target& target) {
  Totals counts(target.into.size());
  rows.each([&](std::size_t, std::uint32_t group, Diff diff) { counts.add(group, diff); });
  counts.flush(target.at(layout::kCount), target.into);
}

template <typename T>
void sum_integers(const Rows& rows, const Target& target) {
  const auto& values = rows.values<T>();
  Totals sums(target.into.size());
  rows.each([&](std::size_t row, std::uint32_t group, Diff diff) {
    sums.add(group, static_cast<Int128>(values[row]) * diff);
  });
  sums.flush(target.at(layout::kSum), target.into);
}

void sum_intervals(const Rows& rows, const Target& target) {
  const auto& values = rows.values<repr::Interval>();
  Totals months(target.into.size());
  Totals days(target.into.size());
  Totals micros(target.into.size());
  rows.each([&](std::size_t row, std::uint32_t group, Diff diff) {
    const repr::Interval& value = values[row];
    months.add(group, static_cast<Int128>(value.months) * diff);
    days.add(group, static_cast<Int128>(value.days) * diff);
    micros.add(group, static_cast<Int128>(value.micros) * diff);
  });
  months.flush(target.at(layout::kMonths), target.into);
  days.flush(target.at(layout::kDays), target.into);
  micros.flush(target.at(layout::kMicros), target.into);
}

// --- Floating sums ----------------------------------------------------------------------------------------

constexpr std::size_t kDenseGroups = 256;

std::uint64_t special_place(double value) {
  if (std::isnan(value)) return layout::kNaN;
  return value > 0 ? layout::kInfinity : layout::kNegativeInfinity;
}

// Splits a finite value into its two places: low first.
struct FloatParts {
  unsigned place;
  Int128 low;
  Int128 high;
};
FloatParts split(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<unsigned>(bits >> 52 & 0x7FF);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const unsigned position = exponent == 0 ? 0 : exponent - 1;
  const repr::UInt128 wide = static_cast<repr::UInt128>(mantissa) << (position % 64);
  const auto low = static_cast<Int128>(static_cast<std::uint64_t>(wide));
  const auto high = static_cast<Int128>(wide >> 64);
  const bool negative = bits >> 63 != 0;
  return {position / 64, negative ? -low : low, negative ? -high : high};
}

template <typename T>
void sum_floats(const Rows& rows, const Target& target) {
  const auto& values = rows.values<T>();
  const auto special = [&](std::uint32_t group, double value, Diff diff) {
    target.into[group].add(target.at(special_place(value)), diff);
  };
  if (target.into.size() > kDenseGroups) {
    rows.each([&](std::size_t row, std::uint32_t group, Diff diff) {
      const double value = values[row];
      if (!std::isfinite(value)) return special(group, value, diff);
      const FloatParts parts = split(value);
      const std::uint64_t place = target.at(layout::kFloatPlaces + parts.place);
      target.into[group].add(place, parts.low * diff);
      target.into[group].add(place + 1, parts.high * diff);
    });
    return;
  }
  std::vector<repr::UInt128> places(target.into.size() * layout::kFloatPlaceCount);
  rows.each([&](std::size_t row, std::uint32_t group, Diff diff) {
    const double value = values[row];
    if (!std::isfinite(value)) return special(group, value, diff);
    const FloatParts parts = split(value);
    repr::UInt128* at = places.data() + group * layout::kFloatPlaceCount + parts.place;
    at[0] += static_cast<repr::UInt128>(parts.low * diff);
    at[1] += static_cast<repr::UInt128>(parts.high * diff);
  });
  for (std::size_t i = 0; i < places.size(); ++i) {
    target.into[i / layout::kFloatPlaceCount].add(
        target.at(layout::kFloatPlaces + i % layout::kFloatPlaceCount), static_cast<Int128>(places[i]));
  }
}

// --- Decimal sums -------------------------------------------------------------------------------------------

// Any decimal that does not fit 64 bits, through its digits.
void add_wide(const Numeric& value, Diff diff, const Target& target, std::uint32_t group) {
  AccumulatorSet& set = target.into[group];
  if (!value.is_finite()) {
    const std::uint64_t place = value.is_nan()        ? layout::kNaN
                                : value.is_negative() ? layout::kNegativeInfinity
                                                      : layout::kInfinity;
    set.add(target.at(place), diff);
    return;
  }
  std::string digits;
  const std::string text = value.to_string();
  for (const char c : text) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const Diff sign = value.is_negative() ? -1 : 1;
  for (std::size_t piece = 0, end = digits.size(); end > 0; ++piece) {
    const std::size_t begin = end < 18 ? 0 : end - 18;
    std::int64_t part = 0;
    for (std::size_t i = begin; i < end; ++i) part = 10 * part + (digits[i] - '0');
    set.add(target.at(layout::scale_sum(value.scale(), piece)), static_cast<Int128>(part) * sign * diff);
    end = begin;
  }
  set.add(target.at(layout::scale_count(value.scale())), diff);
}

void sum_decimals(const Rows& rows, const Target& target) {
  const auto& values = rows.values<Numeric>();
  Totals counts(target.into.size());
  Totals sums(target.into.size());
  int common = -1;  // the scale of the flat totals: that of the first value
  rows.each([&](std::size_t row, std::uint32_t group, Diff diff) {
    Int128 coefficient = 0;
    int scale = 0;
    if (!values[row].as_parts(coefficient, scale) ||
        coefficient != static_cast<std::int64_t>(coefficient)) {
      return add_wide(values[row], diff, target, group);
    }
    if (common < 0) common = scale;
    if (scale == common) {
      counts.add(group, diff);
      sums.add(group, coefficient * diff);
    } else {
      target.into[group].add(target.at(layout::scale_count(scale)), diff);
      target.into[group].add(target.at(layout::scale_sum(scale, 0)), coefficient * diff);
    }
  });
  if (common < 0) return;
  counts.flush(target.at(layout::scale_count(common)), target.into);
  sums.flush(target.at(layout::scale_sum(common, 0)), target.into);
}

void accumulate_one(AggregateKind kind, const Rows& rows, const Target& target) {
  const bool decimal = kind == AggregateKind::kSumNumeric || kind == AggregateKind::kAvgNumeric;
  if (target.count_values && !decimal) count_rows(rows, target);
  switch (kind) {
    case AggregateKind::kCount:
    case AggregateKind::kCountStar: return;
    case AggregateKind::kSumInt2:
    case AggregateKind::kAvgInt2: return sum_integers<std::int16_t>(rows, target);
    case AggregateKind::kSumInt4:
    case AggregateKind::kAvgInt4: return sum_integers<std::int32_t>(rows, target);
    case AggregateKind::kSumInt8:
    case AggregateKind::kAvgInt8: return sum_integers<std::int64_t>(rows, target);
    case AggregateKind::kSumFloat4:
    case AggregateKind::kAvgFloat4: return sum_floats<float>(rows, target);
    case AggregateKind::kSumFloat8:
    case AggregateKind::kAvgFloat8: return sum_floats<double>(rows, target);
    case AggregateKind::kSumNumeric:
    case AggregateKind::kAvgNumeric: return sum_decimals(rows, target);
    case AggregateKind::kSumInterval:
    case AggregateKind::kAvgInterval: return sum_intervals(rows, target);
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr: return sum_integers<std::uint8_t>(rows, target);
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kStringAgg:
    case AggregateKind::kByteaAgg:
    case AggregateKind::kArrayAgg: break;
  }
  FRESHET_UNREACHABLE(static_cast<int>(kind));
}

}  // namespace

Accumulators::Accumulators(std::vector<Call> calls) : calls_(std::move(calls)) {
  for (const Call& call : calls_) {
    FRESHET_ASSERT(call.spec->aggregate_class == AggregateClass::kAccumulable, call.spec->signature);
  }
  FRESHET_ASSERT(calls_.size() < (std::size_t{1} << 16), calls_.size());
}

void Accumulators::accumulate(std::span<const Input> inputs, std::span<const std::uint32_t> groups,
                              std::span<const Diff> diffs, std::span<AccumulatorSet> into,
                              bool count_records) const {
  FRESHET_ASSERT(inputs.size() == calls_.size(), inputs.size(), calls_.size());
  FRESHET_ASSERT(diffs.empty() || diffs.size() == groups.size(), diffs.size(), groups.size());
  if (count_records) {
    for (std::size_t row = 0; row < groups.size(); ++row) {
      into[groups[row]].add_records(diffs.empty() ? 1 : diffs[row]);
    }
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (inputs[i].skip) continue;
    Input input = inputs[i];
    if (calls_[i].spec->kind == AggregateKind::kCountStar) input.argument = nullptr;
    accumulate_one(calls_[i].spec->kind, Rows(input, groups, diffs),
                   {.aggregate = i, .count_values = calls_[i].argument.nullable, .into = into});
  }
}

}  // namespace freshet::expr
