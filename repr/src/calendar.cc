// SPDX-License-Identifier: Apache-2.0
// Dates, timestamps and how they convert into each other.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>

#include "datetime_errors.h"

namespace freshet::repr {
namespace {

constexpr std::int64_t kDaysPerEra = 146097;  // 400 years
// From 0000-03-01, where eras begin, to 2000-01-01.
constexpr std::int64_t kEraEpoch = 730425;

template <typename... Args>
std::string print(const char* format, Args... args) {
  char buffer[128];
  const int size = std::snprintf(buffer, sizeof buffer, format, args...);
  return std::string(buffer, static_cast<std::size_t>(size));
}

constexpr std::array<std::int64_t, 7> kPrecisionUnit = {1000000, 100000, 10000, 1000, 100, 10, 1};

std::int64_t round_to_precision(std::int64_t micros, std::int32_t precision) {
  if (precision < 0 || precision >= 6) return micros;
  const std::int64_t unit = kPrecisionUnit[static_cast<std::size_t>(precision)];
  if (micros >= 0) return (micros + unit / 2) / unit * unit;
  return -((-micros + unit / 2) / unit * unit);
}

Result<std::int64_t> date_of_parts(int year, int month, int day) {
  const std::int64_t astronomical = year < 0 ? std::int64_t{year} + 1 : year;
  if (year == 0 || month < 1 || month > 12 || day < 1 || day > days_in_month(astronomical, month)) {
    return field_overflow(print("date field value out of range: %d-%02d-%02d", year, month, day));
  }
  return days_from_civil(astronomical, month, day);
}

bool bad_time(int hour, int minute, double second) {
  if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || std::isnan(second)) return true;
  const double rounded = std::rint(second * 1e6);
  if (rounded < 0 || rounded > 60e6) return true;
  return hour == 24 && (minute > 0 || rounded > 0);
}

std::int64_t time_of_parts(int hour, int minute, double second) {
  return hour * kMicrosPerHour + minute * kMicrosPerMinute +
         static_cast<std::int64_t>(std::rint(second * 1e6));
}

}  // namespace

int days_in_month(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap_year(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  // Years begin in March here, so that the leap day is the last.
  if (month <= 2) --year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysPerEra + day_of_era - kEraEpoch;
}

CivilDate civil_from_days(std::int64_t days) {
  days += kEraEpoch;
  const std::int64_t era = (days >= 0 ? days : days - (kDaysPerEra - 1)) / kDaysPerEra;
  const std::int64_t day_of_era = days - era * kDaysPerEra;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * day_of_year + 2) / 153;
  const auto day = static_cast<std::int32_t>(day_of_year - (153 * shifted + 2) / 5 + 1);
  const auto month = static_cast<std::int32_t>(shifted < 10 ? shifted + 3 : shifted - 9);
  return {static_cast<std::int32_t>(year_of_era + era * 400 + (month <= 2 ? 1 : 0)), month, day};
}

CivilTime civil_from_timestamp(std::int64_t timestamp) {
  std::int64_t rest = timestamp_time_of_day(timestamp);
  CivilTime out;
  out.date = civil_from_days(timestamp_day(timestamp));
  out.hour = static_cast<std::int32_t>(rest / kMicrosPerHour);
  rest %= kMicrosPerHour;
  out.minute = static_cast<std::int32_t>(rest / kMicrosPerMinute);
  rest %= kMicrosPerMinute;
  out.second = static_cast<std::int32_t>(rest / kMicrosPerSecond);
  out.micros = static_cast<std::int32_t>(rest % kMicrosPerSecond);
  return out;
}

int iso_weekday(std::int64_t days) {
  const std::int64_t since_monday = (days + 5) % 7;  // 2000-01-01 was a Saturday
  return static_cast<int>(since_monday < 0 ? since_monday + 7 : since_monday) + 1;
}

std::int64_t days_from_iso_week(IsoWeek week) {
  // January 4th lies in the first week.
  const std::int64_t fourth = days_from_civil(week.year, 1, 4);
  return fourth - (iso_weekday(fourth) - 1) + std::int64_t{week.week - 1} * 7;
}

IsoWeek iso_week(CivilDate date) {
  const std::int64_t days = days_from_civil(date.year, date.month, date.day);
  std::int32_t year = date.year;
  if (days < days_from_iso_week({year, 1})) {
    --year;
  } else if (days >= days_from_iso_week({year + 1, 1})) {
    ++year;
  }
  return {year, static_cast<std::int32_t>((days - days_from_iso_week({year, 1})) / 7) + 1};
}

Result<std::int32_t> make_date(int year, int month, int day) {
  const std::int64_t days = FRESHET_TRY(date_of_parts(year, month, day));
  if (days < kDateMin || days >= kDateEnd) {
    return field_overflow(print("date out of range: %d-%02d-%02d", year, month, day));
  }
  return static_cast<std::int32_t>(days);
}

Result<std::int64_t> make_time(int hour, int minute, double second) {
  if (bad_time(hour, minute, second)) {
    return field_overflow(
        print("time field value out of range: %d:%02d:%02g", hour, minute, second));
  }
  return time_of_parts(hour, minute, second);
}

Result<std::int64_t> make_timestamp(const TimestampParts& p) {
  const std::int64_t days = FRESHET_TRY(date_of_parts(p.year, p.month, p.day));
  const std::int64_t time = FRESHET_TRY(make_time(p.hour, p.minute, p.second));
  std::int64_t timestamp;
  if (__builtin_mul_overflow(days, kMicrosPerDay, &timestamp) ||
      __builtin_add_overflow(timestamp, time, &timestamp) || !is_valid_timestamp(timestamp)) {
    return field_overflow(print("timestamp out of range: %d-%02d-%02d %d:%02d:%02g", p.year,
                                p.month, p.day, p.hour, p.minute, p.second));
  }
  return timestamp;
}

Result<std::int64_t> timestamp_from_unix_seconds(double seconds) {
  if (std::isnan(seconds)) return field_overflow("timestamp cannot be NaN");
  if (std::isinf(seconds)) return seconds < 0 ? kTimestampNegativeInfinity : kTimestampInfinity;
  constexpr double kEpochSeconds = 946684800;
  const double micros = std::rint((seconds - kEpochSeconds) * 1e6);
  if (micros < static_cast<double>(kTimestampMin) || micros >= static_cast<double>(kTimestampEnd)) {
    return field_overflow(print("timestamp out of range: \"%g\"", seconds));
  }
  return static_cast<std::int64_t>(micros);
}

Result<std::int64_t> timestamp_from_date(std::int32_t date) {
  if (date == kDateInfinity) return kTimestampInfinity;
  if (date == kDateNegativeInfinity) return kTimestampNegativeInfinity;
  std::int64_t timestamp;
  if (__builtin_mul_overflow(std::int64_t{date}, kMicrosPerDay, &timestamp) ||
      !is_valid_timestamp(timestamp)) {
    return field_overflow("date out of range for timestamp");
  }
  return timestamp;
}

std::int32_t date_from_timestamp(std::int64_t timestamp) {
  if (timestamp == kTimestampInfinity) return kDateInfinity;
  if (timestamp == kTimestampNegativeInfinity) return kDateNegativeInfinity;
  return static_cast<std::int32_t>(timestamp_day(timestamp));
}

std::int64_t round_timestamp(std::int64_t timestamp, std::int32_t precision) {
  return is_infinite_timestamp(timestamp) ? timestamp : round_to_precision(timestamp, precision);
}

std::int64_t round_time(std::int64_t time, std::int32_t precision) {
  return round_to_precision(time, precision);
}

Result<std::int32_t> add_days(std::int32_t date, std::int64_t days) {
  if (is_infinite_date(date)) return date;
  std::int64_t sum;
  if (__builtin_add_overflow(std::int64_t{date}, days, &sum) || sum < kDateMin || sum >= kDateEnd) {
    return field_overflow("date out of range");
  }
  return static_cast<std::int32_t>(sum);
}

Result<std::int32_t> subtract_dates(std::int32_t a, std::int32_t b) {
  if (is_infinite_date(a) || is_infinite_date(b))
    return field_overflow("cannot subtract infinite dates");
  return static_cast<std::int32_t>(std::int64_t{a} - b);
}

Result<std::int64_t> add_interval(std::int64_t timestamp, const Interval& interval) {
  if (is_infinite_timestamp(timestamp)) return timestamp;
  const auto out_of_range = [] { return field_overflow("timestamp out of range"); };
  if (interval.months != 0) {
    const CivilDate date = civil_from_days(timestamp_day(timestamp));
    const std::int64_t months = std::int64_t{date.year} * 12 + date.month - 1 + interval.months;
    const std::int64_t year = months >= 0 ? months / 12 : -((11 - months) / 12);
    const int month = static_cast<int>(months - year * 12) + 1;
    const int day = std::min(date.day, days_in_month(year, month));
    std::int64_t moved;
    if (__builtin_mul_overflow(days_from_civil(year, month, day), kMicrosPerDay, &moved))
      return out_of_range();
    if (__builtin_add_overflow(moved, timestamp_time_of_day(timestamp), &timestamp))
      return out_of_range();
    if (!is_valid_timestamp(timestamp)) return out_of_range();
  }
  std::int64_t days;
  if (__builtin_mul_overflow(std::int64_t{interval.days}, kMicrosPerDay, &days) ||
      __builtin_add_overflow(timestamp, days, &timestamp) || !is_valid_timestamp(timestamp)) {
    return out_of_range();
  }
  if (__builtin_add_overflow(timestamp, interval.micros, &timestamp) ||
      !is_valid_timestamp(timestamp)) {
    return out_of_range();
  }
  return timestamp;
}

Result<std::int64_t> add_interval_in_zone(std::int64_t timestamp, const Interval& interval,
                                          const TimeZone& zone) {
  if (is_infinite_timestamp(timestamp)) return timestamp;
  if (interval.months != 0 || interval.days != 0) {
    const std::int64_t local = FRESHET_TRY(zone.to_local(timestamp));
    const Interval dates{interval.months, interval.days, 0};
    const std::int64_t moved = FRESHET_TRY(add_interval(local, dates));
    timestamp = FRESHET_TRY(zone.to_utc(moved));
  }
  return add_interval(timestamp, Interval{0, 0, interval.micros});
}

std::int64_t add_interval_to_time(std::int64_t time, const Interval& interval) {
  // 24:00 and zero come out as the same moment.
  const std::int64_t sum = time % kMicrosPerDay + interval.micros % kMicrosPerDay;
  return ((sum % kMicrosPerDay) + kMicrosPerDay) % kMicrosPerDay;
}

Result<Interval> subtract_timestamps(std::int64_t a, std::int64_t b) {
  if (is_infinite_timestamp(a) || is_infinite_timestamp(b)) {
    return field_overflow("cannot subtract infinite timestamps");
  }
  std::int64_t micros;
  if (__builtin_sub_overflow(a, b, &micros)) return field_overflow("interval out of range");
  return justify_hours(Interval{0, 0, micros});
}

namespace {

struct Difference {
  std::int64_t years, months, days, hours, minutes, seconds, micros;
};

// Makes each field that is below zero whole by one unit of the next. A negative day borrows the
// length of the month in which the earlier timestamp lies.
void borrow(Difference& d, CivilDate earlier) {
  const auto carry = [](std::int64_t& low, std::int64_t& high, std::int64_t unit) {
    for (; low < 0; low += unit) --high;
  };
  carry(d.micros, d.seconds, kMicrosPerSecond);
  carry(d.seconds, d.minutes, 60);
  carry(d.minutes, d.hours, 60);
  carry(d.hours, d.days, 24);
  carry(d.days, d.months, days_in_month(earlier.year, earlier.month));
  carry(d.months, d.years, 12);
}

}  // namespace

Result<Interval> age(std::int64_t a, std::int64_t b) {
  if (is_infinite_timestamp(a) || is_infinite_timestamp(b))
    return field_overflow("timestamp out of range");
  const CivilTime x = civil_from_timestamp(std::max(a, b));
  const CivilTime y = civil_from_timestamp(std::min(a, b));
  Difference d{x.date.year - y.date.year, x.date.month - y.date.month, x.date.day - y.date.day,
               x.hour - y.hour,           x.minute - y.minute,         x.second - y.second,
               x.micros - y.micros};
  borrow(d, y.date);
  const int sign = a < b ? -1 : 1;
  const std::int64_t micros = d.hours * kMicrosPerHour + d.minutes * kMicrosPerMinute +
                              d.seconds * kMicrosPerSecond + d.micros;
  return Interval{static_cast<std::int32_t>(sign * (d.years * 12 + d.months)),
                  static_cast<std::int32_t>(sign * d.days), sign * micros};
}

}  // namespace freshet::repr
