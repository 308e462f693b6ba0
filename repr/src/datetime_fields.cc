// SPDX-License-Identifier: Apache-2.0
// EXTRACT and date_trunc.
#include <algorithm>
#include <array>

#include <freshet/repr/datetime.h>

#include "datetime_errors.h"

namespace freshet::repr {
namespace {

struct FieldName {
  std::string_view name;  // PostgreSQL compares ten characters
  DateField field;
};
constexpr std::array kFieldNames = {
    FieldName{"c", DateField::kCentury},
    FieldName{"cent", DateField::kCentury},
    FieldName{"centuries", DateField::kCentury},
    FieldName{"century", DateField::kCentury},
    FieldName{"d", DateField::kDay},
    FieldName{"day", DateField::kDay},
    FieldName{"days", DateField::kDay},
    FieldName{"dec", DateField::kDecade},
    FieldName{"decade", DateField::kDecade},
    FieldName{"decades", DateField::kDecade},
    FieldName{"decs", DateField::kDecade},
    FieldName{"dow", DateField::kDayOfWeek},
    FieldName{"doy", DateField::kDayOfYear},
    FieldName{"epoch", DateField::kEpoch},
    FieldName{"h", DateField::kHour},
    FieldName{"hour", DateField::kHour},
    FieldName{"hours", DateField::kHour},
    FieldName{"hr", DateField::kHour},
    FieldName{"hrs", DateField::kHour},
    FieldName{"isodow", DateField::kIsoDayOfWeek},
    FieldName{"isoyear", DateField::kIsoYear},
    FieldName{"j", DateField::kJulian},
    FieldName{"jd", DateField::kJulian},
    FieldName{"julian", DateField::kJulian},
    FieldName{"m", DateField::kMinute},
    FieldName{"microsecon", DateField::kMicroseconds},
    FieldName{"mil", DateField::kMillennium},
    FieldName{"millennia", DateField::kMillennium},
    FieldName{"millennium", DateField::kMillennium},
    FieldName{"millisecon", DateField::kMilliseconds},
    FieldName{"mils", DateField::kMillennium},
    FieldName{"min", DateField::kMinute},
    FieldName{"mins", DateField::kMinute},
    FieldName{"minute", DateField::kMinute},
    FieldName{"minutes", DateField::kMinute},
    FieldName{"mon", DateField::kMonth},
    FieldName{"mons", DateField::kMonth},
    FieldName{"month", DateField::kMonth},
    FieldName{"months", DateField::kMonth},
    FieldName{"ms", DateField::kMilliseconds},
    FieldName{"msec", DateField::kMilliseconds},
    FieldName{"msecond", DateField::kMilliseconds},
    FieldName{"mseconds", DateField::kMilliseconds},
    FieldName{"msecs", DateField::kMilliseconds},
    FieldName{"qtr", DateField::kQuarter},
    FieldName{"quarter", DateField::kQuarter},
    FieldName{"s", DateField::kSecond},
    FieldName{"sec", DateField::kSecond},
    FieldName{"second", DateField::kSecond},
    FieldName{"seconds", DateField::kSecond},
    FieldName{"secs", DateField::kSecond},
    FieldName{"timezone", DateField::kTimezone},
    FieldName{"timezone_h", DateField::kTimezoneHour},
    FieldName{"timezone_m", DateField::kTimezoneMinute},
    FieldName{"us", DateField::kMicroseconds},
    FieldName{"usec", DateField::kMicroseconds},
    FieldName{"usecond", DateField::kMicroseconds},
    FieldName{"useconds", DateField::kMicroseconds},
    FieldName{"usecs", DateField::kMicroseconds},
    FieldName{"w", DateField::kWeek},
    FieldName{"week", DateField::kWeek},
    FieldName{"weeks", DateField::kWeek},
    FieldName{"y", DateField::kYear},
    FieldName{"year", DateField::kYear},
    FieldName{"years", DateField::kYear},
    FieldName{"yr", DateField::kYear},
    FieldName{"yrs", DateField::kYear},
};
static_assert(std::is_sorted(kFieldNames.begin(), kFieldNames.end(),
                             [](const FieldName& a, const FieldName& b) {
                               return a.name < b.name;
                             }));

// Whose fields are asked for, as messages call it.
constexpr std::string_view kOfTimestamp = "timestamp without time zone";
constexpr std::string_view kOfTimestampTz = "timestamp with time zone";
constexpr std::string_view kOfDate = "date";
constexpr std::string_view kOfTime = "time without time zone";
constexpr std::string_view kOfInterval = "interval";

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

base::Unexpected unknown_unit(std::string_view name, std::string_view type) {
  return fail(sqlstate::kInvalidParameterValue,
              "unit \"" + lower(name) + "\" not recognized for type " + std::string(type));
}
base::Unexpected unsupported_unit(std::string_view name, std::string_view type) {
  return fail(sqlstate::kFeatureNotSupported,
              "unit \"" + lower(name) + "\" not supported for type " + std::string(type));
}

// There is no year 0 outside: 1 BC is -1.
std::int64_t shown_year(std::int64_t year) { return year > 0 ? year : year - 1; }
std::int64_t decade_of(std::int64_t year) {
  return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10);
}
std::int64_t century_of(std::int64_t year) {
  return year > 0 ? (year + 99) / 100 : -((99 - (year - 1)) / 100);
}
std::int64_t millennium_of(std::int64_t year) {
  return year > 0 ? (year + 999) / 1000 : -((999 - (year - 1)) / 1000);
}

constexpr std::int64_t kJulianEpoch = 2451545;

std::optional<Numeric> date_part(DateField field, std::int64_t days) {
  const CivilDate date = civil_from_days(days);
  switch (field) {
    case DateField::kDay:
      return Numeric(date.day);
    case DateField::kMonth:
      return Numeric(date.month);
    case DateField::kQuarter:
      return Numeric((date.month - 1) / 3 + 1);
    case DateField::kWeek:
      return Numeric(iso_week(date).week);
    case DateField::kYear:
      return Numeric(shown_year(date.year));
    case DateField::kDecade:
      return Numeric(decade_of(date.year));
    case DateField::kCentury:
      return Numeric(century_of(date.year));
    case DateField::kMillennium:
      return Numeric(millennium_of(date.year));
    case DateField::kIsoYear:
      return Numeric(shown_year(iso_week(date).year));
    case DateField::kDayOfWeek:
      return Numeric(iso_weekday(days) % 7);
    case DateField::kIsoDayOfWeek:
      return Numeric(iso_weekday(days));
    case DateField::kDayOfYear:
      return Numeric(days - days_from_civil(date.year, 1, 1) + 1);
    default:
      return std::nullopt;
  }
}

std::optional<Numeric> time_part(DateField field, std::int64_t micros) {
  switch (field) {
    case DateField::kMicroseconds:
      return Numeric(micros % kMicrosPerMinute);
    case DateField::kMilliseconds:
      return Numeric::from_parts(micros % kMicrosPerMinute, 3);
    case DateField::kSecond:
      return Numeric::from_parts(micros % kMicrosPerMinute, 6);
    case DateField::kMinute:
      return Numeric(micros / kMicrosPerMinute % 60);
    case DateField::kHour:
      return Numeric(micros / kMicrosPerHour);
    default:
      return std::nullopt;
  }
}

// What EXTRACT gives of an infinity: the infinity if the field only grows, else NULL.
std::optional<Numeric> infinite_part(DateField field, bool negative) {
  switch (field) {
    case DateField::kYear:
    case DateField::kDecade:
    case DateField::kCentury:
    case DateField::kMillennium:
    case DateField::kJulian:
    case DateField::kIsoYear:
    case DateField::kEpoch:
      return Numeric::infinity(negative);
    default:
      return std::nullopt;
  }
}

bool is_zone_field(DateField field) {
  return field == DateField::kTimezone || field == DateField::kTimezoneHour ||
         field == DateField::kTimezoneMinute;
}

bool is_time_field(DateField field) { return field <= DateField::kHour; }

std::int64_t zone_part(DateField field, std::int64_t offset) {
  if (field == DateField::kTimezone) return offset;
  return field == DateField::kTimezoneHour ? offset / 3600 : offset / 60 % 60;
}

Numeric julian(std::int64_t local) {
  const Numeric day(timestamp_day(local) + kJulianEpoch);
  const Numeric fraction =
      Numeric(timestamp_time_of_day(local)).divide(Numeric(kMicrosPerDay)).value();
  return day.add(fraction).value();
}

std::int64_t floor_years(std::int64_t year, std::int64_t span, std::int64_t first) {
  // The first year of the span of years (10 from year 0, or 100 and 1000 from year 1) that holds
  // `year`.
  const std::int64_t shifted = year - first;
  return (shifted >= 0 ? shifted / span : -((span - 1 - shifted) / span)) * span + first;
}

std::optional<std::int64_t> truncated_day(DateField field, std::int64_t days) {
  const CivilDate date = civil_from_days(days);
  const auto year_start = [](std::int64_t year) { return days_from_civil(year, 1, 1); };
  switch (field) {
    case DateField::kDay:
      return days;
    case DateField::kWeek:
      return days - (iso_weekday(days) - 1);
    case DateField::kMonth:
      return days_from_civil(date.year, date.month, 1);
    case DateField::kQuarter:
      return days_from_civil(date.year, (date.month - 1) / 3 * 3 + 1, 1);
    case DateField::kYear:
      return year_start(date.year);
    case DateField::kDecade:
      return year_start(floor_years(date.year, 10, 0));
    case DateField::kCentury:
      return year_start(floor_years(date.year, 100, 1));
    case DateField::kMillennium:
      return year_start(floor_years(date.year, 1000, 1));
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> time_unit(DateField field) {
  switch (field) {
    case DateField::kMicroseconds:
      return 1;
    case DateField::kMilliseconds:
      return 1000;
    case DateField::kSecond:
      return kMicrosPerSecond;
    case DateField::kMinute:
      return kMicrosPerMinute;
    case DateField::kHour:
      return kMicrosPerHour;
    default:
      return std::nullopt;
  }
}

std::optional<std::int32_t> month_unit(DateField field) {
  switch (field) {
    case DateField::kMonth:
      return 1;
    case DateField::kQuarter:
      return 3;
    case DateField::kYear:
      return 12;
    case DateField::kDecade:
      return 120;
    case DateField::kCentury:
      return 1200;
    case DateField::kMillennium:
      return 12000;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<DateField> date_field(std::string_view name) {
  const std::string key = lower(name.substr(0, 10));
  const auto* found =
      std::lower_bound(kFieldNames.begin(), kFieldNames.end(), key,
                       [](const FieldName& f, const std::string& k) { return f.name < k; });
  if (found == kFieldNames.end() || found->name != key) return std::nullopt;
  return found->field;
}

Result<std::optional<Numeric>> extract_timestamp(std::string_view name, std::int64_t timestamp,
                                                 const TimeZone* zone) {
  const std::string_view type = zone == nullptr ? kOfTimestamp : kOfTimestampTz;
  const auto field = date_field(name);
  if (!field) return unknown_unit(name, type);
  if (is_infinite_timestamp(timestamp)) return infinite_part(*field, timestamp < 0);
  if (zone == nullptr && is_zone_field(*field)) return unsupported_unit(name, type);
  if (*field == DateField::kEpoch) {
    return std::optional(Numeric::from_parts(Int128{timestamp} - kUnixEpochTimestamp, 6));
  }
  std::int64_t local = timestamp;
  if (zone != nullptr) {
    if (is_zone_field(*field))
      return std::optional(Numeric(zone_part(*field, zone->offset_at(timestamp))));
    local = FRESHET_TRY(zone->to_local(timestamp));
  }
  if (*field == DateField::kJulian) return std::optional(julian(local));
  if (auto part = date_part(*field, timestamp_day(local))) return part;
  return time_part(*field, timestamp_time_of_day(local));
}

Result<std::optional<Numeric>> extract_date(std::string_view name, std::int32_t date) {
  const auto field = date_field(name);
  if (!field) return unknown_unit(name, kOfDate);
  if (is_zone_field(*field) || is_time_field(*field)) return unsupported_unit(name, kOfDate);
  if (is_infinite_date(date)) return infinite_part(*field, date < 0);
  if (*field == DateField::kJulian) return std::optional(Numeric(date + kJulianEpoch));
  if (*field == DateField::kEpoch) {
    return std::optional(Numeric((std::int64_t{date} - kUnixEpochDate) * 86400));
  }
  return date_part(*field, date);
}

Result<Numeric> extract_time(std::string_view name, std::int64_t time) {
  const auto field = date_field(name);
  if (!field) return unknown_unit(name, kOfTime);
  if (*field == DateField::kEpoch) return Numeric::from_parts(time, 6);
  if (auto part = time_part(*field, time)) return *part;
  return unsupported_unit(name, kOfTime);
}

Result<Numeric> extract_interval(std::string_view name, const Interval& interval) {
  const auto field = date_field(name);
  if (!field) return unknown_unit(name, kOfInterval);
  if (auto part = time_part(*field, interval.micros)) return *part;
  const std::int64_t years = interval.months / 12;
  const std::int64_t months = interval.months % 12;
  switch (*field) {
    case DateField::kDay:
      return Numeric(interval.days);
    case DateField::kMonth:
      return Numeric(months);
    case DateField::kQuarter:
      return Numeric(months / 3 + 1);
    case DateField::kYear:
      return Numeric(years);
    case DateField::kDecade:
      return Numeric(years / 10);
    case DateField::kCentury:
      return Numeric(years / 100);
    case DateField::kMillennium:
      return Numeric(years / 1000);
    case DateField::kEpoch: {
      // A year is 365.25 days here, a month of the rest 30.
      const std::int64_t quarter_days =
          1461 * years + 120 * months + 4 * std::int64_t{interval.days};
      return Numeric::from_parts(Int128{quarter_days} * 21600 * kMicrosPerSecond + interval.micros,
                                 6);
    }
    default:
      return unsupported_unit(name, kOfInterval);
  }
}

Result<std::int64_t> truncate_timestamp(std::string_view name, std::int64_t timestamp,
                                        const TimeZone* zone) {
  const std::string_view type = zone == nullptr ? kOfTimestamp : kOfTimestampTz;
  if (is_infinite_timestamp(timestamp)) return timestamp;
  const auto field = date_field(name);
  const bool truncates = field && (time_unit(*field) || truncated_day(*field, 0));
  if (!truncates) {
    // What only EXTRACT knows is unknown here, but for the zone fields.
    if (field && is_zone_field(*field)) return unsupported_unit(name, type);
    return unknown_unit(name, type);
  }
  const std::int64_t local = zone == nullptr ? timestamp : FRESHET_TRY(zone->to_local(timestamp));
  std::int64_t out;
  if (const auto unit = time_unit(*field)) {
    const std::int64_t time = timestamp_time_of_day(local);
    out = timestamp_day(local) * kMicrosPerDay + time / *unit * *unit;
    // Within the hour the offset stays, also where the clock shows an hour twice.
    if (zone != nullptr) return timestamp - (local - out);
    return out;
  }
  if (__builtin_mul_overflow(*truncated_day(*field, timestamp_day(local)), kMicrosPerDay, &out) ||
      !is_valid_timestamp(out)) {
    return field_overflow("timestamp out of range");
  }
  return zone == nullptr ? Result<std::int64_t>(out) : zone->to_utc(out);
}

Result<Interval> truncate_interval(std::string_view name, const Interval& interval) {
  const auto field = date_field(name);
  if (!field) return unknown_unit(name, kOfInterval);
  if (const auto unit = time_unit(*field)) {
    return Interval{interval.months, interval.days, interval.micros / *unit * *unit};
  }
  if (*field == DateField::kDay) return Interval{interval.months, interval.days, 0};
  if (const auto unit = month_unit(*field)) return Interval{interval.months / *unit * *unit, 0, 0};
  if (*field == DateField::kWeek) {
    Error error =
        sql_error(sqlstate::kFeatureNotSupported, "unit \"week\" not supported for type interval");
    error.detail = "Months usually have fractional weeks.";
    return fail(std::move(error));
  }
  return is_zone_field(*field) ? unsupported_unit(name, kOfInterval)
                               : unknown_unit(name, kOfInterval);
}

}  // namespace freshet::repr
