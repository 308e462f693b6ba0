// SPDX-License-Identifier: Apache-2.0
/// Calendar arithmetic: dates, times, timestamps, intervals and time zones as PostgreSQL reckons
/// them.
///
/// A date is a count of days and a timestamp a count of microseconds, both from 2000-01-01 00:00
/// (UTC for timestamptz) in the proleptic Gregorian calendar; a time of day is microseconds from
/// midnight, up to and including 24:00. The extreme values of the integers are the infinities.
/// Years are astronomical here: 0 is 1 BC.
///
/// Errors: 22008 out of range, 22023 for a field or zone that does not exist or fits not, with
/// PostgreSQL's messages. Thread safety: all functions are pure; a `TimeZone` is immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <freshet/base/result.h>
#include <freshet/repr/datum.h>
#include <freshet/repr/numeric.h>

namespace freshet::repr {

inline constexpr std::int32_t kDateInfinity = INT32_MAX;
inline constexpr std::int32_t kDateNegativeInfinity = INT32_MIN;
inline constexpr std::int64_t kTimestampInfinity = INT64_MAX;
inline constexpr std::int64_t kTimestampNegativeInfinity = INT64_MIN;

inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;
inline constexpr std::int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
inline constexpr std::int64_t kMicrosPerHour = 60 * kMicrosPerMinute;
inline constexpr std::int64_t kMicrosPerDay = 24 * kMicrosPerHour;
/// 1970-01-01 on our scales: add to microseconds since the Unix epoch to get a timestamp.
inline constexpr std::int32_t kUnixEpochDate = -10957;
inline constexpr std::int64_t kUnixEpochTimestamp = kUnixEpochDate * kMicrosPerDay;
/// 4713-11-24 BC, 5874898-01-01 (excluded), 294277-01-01 (excluded).
inline constexpr std::int32_t kDateMin = -2451545;
inline constexpr std::int32_t kDateEnd = 2145031949;
inline constexpr std::int64_t kTimestampMin = -211813488000000000;
inline constexpr std::int64_t kTimestampEnd = 9223371331200000000;

constexpr bool is_infinite_date(std::int32_t date) {
  return date == kDateInfinity || date == kDateNegativeInfinity;
}
constexpr bool is_infinite_timestamp(std::int64_t timestamp) {
  return timestamp == kTimestampInfinity || timestamp == kTimestampNegativeInfinity;
}
constexpr bool is_valid_date(std::int32_t date) { return date >= kDateMin && date < kDateEnd; }
constexpr bool is_valid_timestamp(std::int64_t timestamp) {
  return timestamp >= kTimestampMin && timestamp < kTimestampEnd;
}

// --- The calendar
// ---------------------------------------------------------------------------------

struct CivilDate {
  std::int32_t year = 0;
  std::int32_t month = 0;  ///< 1 to 12
  std::int32_t day = 0;    ///< 1 to 31
  friend bool operator==(const CivilDate&, const CivilDate&) = default;
};

/// A timestamp taken apart. `micros` is the fraction of the second.
struct CivilTime {
  CivilDate date{};
  std::int32_t hour = 0;
  std::int32_t minute = 0;
  std::int32_t second = 0;
  std::int32_t micros = 0;
};

constexpr bool is_leap_year(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}
/// The last day of a month.
int days_in_month(std::int64_t year, int month);
/// Days from 2000-01-01; the month must be 1 to 12, the day may be any number.
std::int64_t days_from_civil(std::int64_t year, int month, int day);
CivilDate civil_from_days(std::int64_t days);
/// Finite timestamps only.
CivilTime civil_from_timestamp(std::int64_t timestamp);
/// Monday is 1, Sunday is 7.
int iso_weekday(std::int64_t days);
struct IsoWeek {
  std::int32_t year;
  std::int32_t week;
};
IsoWeek iso_week(CivilDate date);
/// The Monday of that week.
std::int64_t days_from_iso_week(IsoWeek week);

/// Floor division and remainder of a finite timestamp: its date and its microseconds of the day.
constexpr std::int64_t timestamp_day(std::int64_t timestamp) {
  const std::int64_t day = timestamp / kMicrosPerDay;
  return timestamp % kMicrosPerDay < 0 ? day - 1 : day;
}
constexpr std::int64_t timestamp_time_of_day(std::int64_t timestamp) {
  const std::int64_t rest = timestamp % kMicrosPerDay;
  return rest < 0 ? rest + kMicrosPerDay : rest;
}

/// make_date: a negative year is BC, year 0 an error.
Result<std::int32_t> make_date(int year, int month, int day);
Result<std::int64_t> make_time(int hour, int minute, double second);
struct TimestampParts {
  int year;
  int month;
  int day;
  int hour;
  int minute;
  double second;
};
Result<std::int64_t> make_timestamp(const TimestampParts& parts);
struct IntervalParts {
  int years = 0;
  int months = 0;
  int weeks = 0;
  int days = 0;
  int hours = 0;
  int minutes = 0;
  double seconds = 0;
};
Result<Interval> make_interval(const IntervalParts& parts);
/// to_timestamp(double precision): seconds since 1970.
Result<std::int64_t> timestamp_from_unix_seconds(double seconds);

// --- Conversions; infinities pass through
// ------------------------------------------------------------

Result<std::int64_t> timestamp_from_date(std::int32_t date);
std::int32_t date_from_timestamp(std::int64_t timestamp);
/// Rounds to `precision` digits of the second (-1: leaves it alone).
std::int64_t round_timestamp(std::int64_t timestamp, std::int32_t precision);
std::int64_t round_time(std::int64_t time, std::int32_t precision);
/// As a cast to interval with that modifier: drops fields and rounds seconds.
Result<Interval> apply_interval_typmod(const Interval& interval, std::int32_t typmod);

// --- Arithmetic
// --------------------------------------------------------------------------------------

/// What intervals are compared by: microseconds with months of 30 days.
constexpr Int128 interval_span(const Interval& interval) {
  const std::int64_t days = std::int64_t{interval.months} * 30 + interval.days;
  return static_cast<Int128>(days) * kMicrosPerDay + interval.micros;
}

Result<std::int32_t> add_days(std::int32_t date, std::int64_t days);
/// date - date. 22008 for infinities.
Result<std::int32_t> subtract_dates(std::int32_t a, std::int32_t b);
/// Adds months (clamped to the last day of the month), then days, then microseconds.
Result<std::int64_t> add_interval(std::int64_t timestamp, const Interval& interval);
/// Interval arithmetic on a time of day wraps at midnight; months and days do not count.
std::int64_t add_interval_to_time(std::int64_t time, const Interval& interval);
/// timestamp - timestamp: days and time. 22008 for infinities.
Result<Interval> subtract_timestamps(std::int64_t a, std::int64_t b);
/// age(a, b): years and months, days, time.
Result<Interval> age(std::int64_t a, std::int64_t b);

Result<Interval> add(const Interval& a, const Interval& b);
Result<Interval> subtract(const Interval& a, const Interval& b);
Result<Interval> negate(const Interval& interval);
Result<Interval> multiply(const Interval& interval, double factor);
Result<Interval> divide(const Interval& interval, double divisor);
Result<Interval> justify_hours(const Interval& interval);     ///< 24 hours become a day.
Result<Interval> justify_days(const Interval& interval);      ///< 30 days become a month.
Result<Interval> justify_interval(const Interval& interval);  ///< Both, all of one sign.

// --- Fields
// ------------------------------------------------------------------------------------------

/// The fields of EXTRACT, date_part and date_trunc.
enum class DateField : std::uint8_t {
  kMicroseconds,
  kMilliseconds,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  kIsoYear,
  kDecade,
  kCentury,
  kMillennium,
  kDayOfWeek,
  kIsoDayOfWeek,
  kDayOfYear,
  kEpoch,
  kJulian,
  kTimezone,
  kTimezoneHour,
  kTimezoneMinute,
};
/// Any spelling PostgreSQL takes ("mon", "months", "msec", …), any case.
std::optional<DateField> date_field(std::string_view name);

class TimeZone;
/// EXTRACT(field FROM …): a numeric with PostgreSQL's scale, or nothing (NULL) for infinities where
/// PostgreSQL gives NULL. `name` is for messages. timestamptz: `zone` set, fields are local.
Result<std::optional<Numeric>> extract_timestamp(std::string_view name, std::int64_t timestamp,
                                                 const TimeZone* zone = nullptr);
Result<std::optional<Numeric>> extract_date(std::string_view name, std::int32_t date);
Result<Numeric> extract_time(std::string_view name, std::int64_t time);
Result<Numeric> extract_interval(std::string_view name, const Interval& interval);
/// date_trunc. timestamptz: `zone` set, truncated in local time.
Result<std::int64_t> truncate_timestamp(std::string_view name, std::int64_t timestamp,
                                        const TimeZone* zone = nullptr);
Result<Interval> truncate_interval(std::string_view name, const Interval& interval);

// --- Time zones
// --------------------------------------------------------------------------------------

/// A fixed offset or a zone of the IANA database. Cheap to copy.
class TimeZone {
 public:
  TimeZone() = default;  ///< UTC
  static TimeZone fixed(std::int32_t seconds_east);
  /// As AT TIME ZONE reads it: "UTC", "Europe/Paris" (any case), "EST", and POSIX "<+03>-3" or
  /// "-05:30", whose sign counts west. 22023 `time zone "x" not recognized`.
  static Result<TimeZone> find(std::string_view name);
  /// As SET TIME ZONE reads it: a bare number is hours east, anything else as `find`.
  static Result<TimeZone> from_setting(std::string_view value);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_fixed() const { return database_ == nullptr; }
  /// Seconds east of Greenwich at that moment (a timestamptz).
  [[nodiscard]] std::int32_t offset_at(std::int64_t utc) const;
  /// The moment of a local timestamp. In a gap the offset before it holds; of two moments the one
  /// in standard time is taken. Infinities pass through.
  [[nodiscard]] Result<std::int64_t> to_utc(std::int64_t local) const;
  /// The local timestamp of a moment.
  [[nodiscard]] Result<std::int64_t> to_local(std::int64_t utc) const;
  /// "CET", or "+02" where the database has no letters.
  [[nodiscard]] std::string abbreviation_at(std::int64_t utc) const;

 private:
  std::string name_ = "UTC";
  std::int32_t fixed_seconds_ = 0;
  const void* database_ =
      nullptr;  // a zone of the loaded IANA database, which lives as long as the process
};

/// Adds in local time of `zone`: a day may have 23 or 25 hours.
Result<std::int64_t> add_interval_in_zone(std::int64_t timestamp, const Interval& interval,
                                          const TimeZone& zone);

}  // namespace freshet::repr
