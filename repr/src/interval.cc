// SPDX-License-Identifier: Apache-2.0
// Arithmetic on intervals.
#include <cmath>

#include <freshet/repr/datetime.h>

#include "datetime_errors.h"

namespace freshet::repr {
namespace {

constexpr double kSecondsPerDay = 86400;

bool fits_int32(double value) { return value >= INT32_MIN && value <= INT32_MAX; }

bool fits_int64(double value) { return value >= -0x1p63 && value < 0x1p63; }

// To microseconds, as seconds: takes off what binary fractions add.
double rounded_seconds(double value) { return std::rint(value * 1e6) / 1e6; }

// Adds with the overflow check that every field of an interval needs.
template <typename T>
bool add_to(T& field, std::int64_t value) {
  return !__builtin_add_overflow(std::int64_t{field}, value, &value) &&
         (field = static_cast<T>(value), field == value);
}

// What a product or quotient of the parts leaves over cascades down: months to days, days to time.
Result<Interval> from_fractions(double months, double days, double micros) {
  if (!fits_int32(months) || !fits_int32(days)) return interval_out_of_range();
  Interval out{static_cast<std::int32_t>(months), static_cast<std::int32_t>(days), 0};
  const double month_days = rounded_seconds((months - out.months) * 30);
  const double whole_days = std::trunc(month_days);
  double seconds = rounded_seconds((days - out.days + month_days - whole_days) * kSecondsPerDay);
  if (std::abs(seconds) >= kSecondsPerDay) {
    const double extra = std::trunc(seconds / kSecondsPerDay);
    if (!add_to(out.days, static_cast<std::int64_t>(extra))) return interval_out_of_range();
    seconds -= extra * kSecondsPerDay;
  }
  if (!add_to(out.days, static_cast<std::int64_t>(whole_days))) return interval_out_of_range();
  const double time = std::rint(micros + seconds * 1e6);
  if (!fits_int64(time)) return interval_out_of_range();
  out.micros = static_cast<std::int64_t>(time);
  return out;
}

// Gives two neighbouring fields one sign.
template <typename High, typename Low>
void same_sign(High& high, Low& low, std::int64_t unit) {
  if (high > 0 && low < 0) {
    low = static_cast<Low>(low + unit);
    --high;
  } else if (high < 0 && low > 0) {
    low = static_cast<Low>(low - unit);
    ++high;
  }
}

std::int64_t round_half_away(std::int64_t micros, std::int64_t unit) {
  if (micros >= 0) return (micros + unit / 2) / unit * unit;
  return -((-micros + unit / 2) / unit * unit);
}

}  // namespace

Result<Interval> make_interval(const IntervalParts& p) {
  if (!std::isfinite(p.seconds)) return interval_out_of_range();
  Interval out;
  const double micros = std::rint(p.seconds * 1e6);
  if (!fits_int64(micros) || !add_to(out.months, std::int64_t{p.years} * 12 + p.months) ||
      !add_to(out.days, std::int64_t{p.weeks} * 7 + p.days) ||
      !add_to(out.micros, p.hours * kMicrosPerHour) ||
      !add_to(out.micros, p.minutes * kMicrosPerMinute) ||
      !add_to(out.micros, static_cast<std::int64_t>(micros))) {
    return interval_out_of_range();
  }
  return out;
}

Result<Interval> apply_interval_typmod(const Interval& interval, std::int32_t typmod) {
  if (typmod < 0) return interval;
  constexpr std::int32_t kMonth = 1 << 1, kYear = 1 << 2, kDay = 1 << 3, kHour = 1 << 10,
                         kMinute = 1 << 11;
  Interval out = interval;
  switch (const std::int32_t range = (typmod >> 16) & 0x7fff; range) {
    case kYear:
      out = {interval.months / 12 * 12, 0, 0};
      break;
    case kMonth:
    case kYear | kMonth:
      out = {interval.months, 0, 0};
      break;
    case kDay:
      out.micros = 0;
      break;
    case kHour:
    case kDay | kHour:
      out.micros = interval.micros / kMicrosPerHour * kMicrosPerHour;
      break;
    case kMinute:
    case kHour | kMinute:
    case kDay | kHour | kMinute:
      out.micros = interval.micros / kMicrosPerMinute * kMicrosPerMinute;
      break;
    default:
      break;
  }
  const std::int32_t precision = typmod_precision(SqlType(TypeKind::kInterval, typmod));
  if (precision >= 0 && precision < 6) {
    std::int64_t unit = 1;
    for (int i = precision; i < 6; ++i) unit *= 10;
    if (out.micros > INT64_MAX - unit || out.micros < -(INT64_MAX - unit))
      return interval_out_of_range();
    out.micros = round_half_away(out.micros, unit);
  }
  return out;
}

Result<Interval> add(const Interval& a, const Interval& b) {
  Interval sum = a;
  if (!add_to(sum.months, b.months) || !add_to(sum.days, b.days) || !add_to(sum.micros, b.micros)) {
    return interval_out_of_range();
  }
  return sum;
}

Result<Interval> negate(const Interval& interval) {
  if (interval.months == INT32_MIN || interval.days == INT32_MIN || interval.micros == INT64_MIN) {
    return interval_out_of_range();
  }
  return Interval{-interval.months, -interval.days, -interval.micros};
}

Result<Interval> subtract(const Interval& a, const Interval& b) {
  Interval out;
  if (__builtin_sub_overflow(a.months, b.months, &out.months) ||
      __builtin_sub_overflow(a.days, b.days, &out.days) ||
      __builtin_sub_overflow(a.micros, b.micros, &out.micros)) {
    return interval_out_of_range();
  }
  return out;
}

Result<Interval> multiply(const Interval& interval, double factor) {
  return from_fractions(interval.months * factor, interval.days * factor,
                        static_cast<double>(interval.micros) * factor);
}

Result<Interval> divide(const Interval& interval, double divisor) {
  if (divisor == 0) return fail(sqlstate::kDivisionByZero, "division by zero");
  return from_fractions(interval.months / divisor, interval.days / divisor,
                        static_cast<double>(interval.micros) / divisor);
}

Result<Interval> justify_hours(const Interval& interval) {
  Interval out = interval;
  if (!add_to(out.days, interval.micros / kMicrosPerDay)) return interval_out_of_range();
  out.micros %= kMicrosPerDay;
  same_sign(out.days, out.micros, kMicrosPerDay);
  return out;
}

Result<Interval> justify_days(const Interval& interval) {
  Interval out = interval;
  if (!add_to(out.months, interval.days / 30)) return interval_out_of_range();
  out.days %= 30;
  same_sign(out.months, out.days, 30);
  return out;
}

Result<Interval> justify_interval(const Interval& interval) {
  Interval out = interval;
  std::int64_t days = std::int64_t{out.days} + out.micros / kMicrosPerDay;
  out.micros %= kMicrosPerDay;
  if (!add_to(out.months, days / 30)) return interval_out_of_range();
  days %= 30;
  if (out.months > 0 && (days < 0 || (days == 0 && out.micros < 0))) {
    days += 30;
    --out.months;
  } else if (out.months < 0 && (days > 0 || (days == 0 && out.micros > 0))) {
    days -= 30;
    ++out.months;
  }
  out.days = static_cast<std::int32_t>(days);
  same_sign(out.days, out.micros, kMicrosPerDay);
  return out;
}

}  // namespace freshet::repr
