// SPDX-License-Identifier: Apache-2.0
/// to_char of timestamps and intervals.
#include <array>
#include <cstdlib>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>

#include "date_format.h"

namespace freshet::expr {
namespace {

using repr::CivilTime;
using View = std::string_view;

constexpr std::array<View, 12> kMonths{"January", "February", "March",     "April",   "May",      "June",
                                       "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<View, 7> kDays{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array<View, 12> kRoman{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

// What a template can ask for, of a timestamp or an interval.
struct Fields {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  std::int64_t micros = 0;
  std::int64_t day_of_year = 0;
  std::int64_t julian = 0;
  int weekday = 0;  // Sunday is 0
  repr::IsoWeek iso{0, 0};
  bool interval = false;
  bool zone = false;
};

std::string in_case(View word, LetterCase letters) {
  std::string out(word);
  for (std::size_t i = 0; i < out.size(); ++i) {
    char& c = out[i];
    if (letters == LetterCase::kUpper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (letters == LetterCase::kLower && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

// At least `width` digits when filling; the sign does not count.
std::string padded(std::int64_t value, std::size_t width, bool fill) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  if (fill && digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return value < 0 ? "-" + digits : digits;
}

void append_ordinal(std::string& out, char style) {
  if (style == 0 || out.empty()) return;
  const char last = out.back();
  const bool teen = out.size() > 1 && out[out.size() - 2] == '1';
  View suffix = "th";
  if (!teen && last == '1') suffix = "st";
  if (!teen && last == '2') suffix = "nd";
  if (!teen && last == '3') suffix = "rd";
  out += in_case(suffix, style == 'T' ? LetterCase::kUpper : LetterCase::kLower);
}

std::string word(View full, const DateNode& node, std::size_t width) {
  std::string out = in_case(full, node.letters);
  if (node.fill && out.size() < width) out.append(width - out.size(), ' ');
  return out;
}

// Years are counted without a year 0; the era says which.
std::int64_t shown_year(std::int64_t year, const Fields& f) {
  return f.interval || year > 0 ? year : 1 - year;
}

std::string year_digits(std::int64_t year, const DateNode& node) {
  constexpr std::array<std::int64_t, 5> kUnits{1, 10, 100, 1000, 10000};
  const auto digits = static_cast<std::size_t>(node.digits);
  return padded(digits == 4 ? year : year % kUnits[digits], digits, node.fill);
}

std::int64_t century(const Fields& f) {
  if (f.interval) return f.year / 100;
  return f.year > 0 ? (f.year - 1) / 100 + 1 : f.year / 100 - 1;
}

// Words and signs: what takes no ordinal.
std::optional<std::string> print_word(const DateNode& node, const Fields& f) {
  const bool afternoon = ((f.hour % 24) + 24) % 24 >= 12;
  switch (node.pattern) {
    case DatePattern::kLiteral: return node.text;
    case DatePattern::kMeridiem: return in_case(afternoon ? "PM" : "AM", node.letters);
    case DatePattern::kMeridiemDotted: return in_case(afternoon ? "P.M." : "A.M.", node.letters);
    case DatePattern::kEra: return in_case(f.year <= 0 ? "BC" : "AD", node.letters);
    case DatePattern::kEraDotted: return in_case(f.year <= 0 ? "B.C." : "A.D.", node.letters);
    case DatePattern::kDayName: return word(kDays[static_cast<std::size_t>(f.weekday)], node, 9);
    case DatePattern::kDayShort: return word(kDays[static_cast<std::size_t>(f.weekday)].substr(0, 3), node, 0);
    case DatePattern::kMonthName:
      return word(kMonths[static_cast<std::size_t>(f.month) - 1], node, 9);
    case DatePattern::kMonthShort:
      return word(kMonths[static_cast<std::size_t>(f.month) - 1].substr(0, 3), node, 0);
    case DatePattern::kRomanMonth: {
      if (f.month == 0 && f.year == 0) return "";
      const std::int64_t month = f.month > 0 ? f.month : f.month == 0 ? 12 : 13 + f.month;
      return word(kRoman[static_cast<std::size_t>(month) - 1], node, 4);
    }
    case DatePattern::kZone: return f.zone ? in_case("UTC", node.letters) : "";
    case DatePattern::kZoneHour: return "+00";
    case DatePattern::kZoneMinute: return "00";
    case DatePattern::kZoneOffset: return "+00";
    default: return std::nullopt;
  }
}

std::string print_number(const DateNode& node, const Fields& f) {
  switch (node.pattern) {
    case DatePattern::kHour24: return padded(f.hour, 2, node.fill);
    case DatePattern::kHour12: return padded(f.hour % 12 == 0 ? 12 : f.hour % 12, 2, node.fill);
    case DatePattern::kMinute: return padded(f.minute, 2, node.fill);
    case DatePattern::kSecond: return padded(f.second, 2, node.fill);
    case DatePattern::kMillisecond: return padded(f.micros / 1000, 3, true);
    case DatePattern::kMicrosecond: return padded(f.micros, 6, true);
    case DatePattern::kFraction:
      return padded(f.micros, 6, true).substr(0, static_cast<std::size_t>(node.digits));
    case DatePattern::kSecondOfDay: return std::to_string(f.hour * 3600 + f.minute * 60 + f.second);
    case DatePattern::kMonth: return padded(f.month, 2, node.fill);
    case DatePattern::kDayOfMonth: return padded(f.day, f.day < 0 ? 1 : 2, node.fill);
    case DatePattern::kDayOfYear: return padded(f.day_of_year, f.day_of_year < 0 ? 2 : 3, node.fill);
    case DatePattern::kDayOfWeek: return std::to_string(f.weekday + 1);
    case DatePattern::kIsoDayOfWeek: return std::to_string(f.weekday == 0 ? 7 : f.weekday);
    case DatePattern::kIsoDayOfYear:
      return padded((f.iso.week - 1) * 7 + (f.weekday == 0 ? 7 : f.weekday), 3, node.fill);
    case DatePattern::kWeekOfYear: return padded((f.day_of_year - 1) / 7 + 1, 2, node.fill);
    case DatePattern::kWeekOfMonth: return std::to_string((f.day - 1) / 7 + 1);
    case DatePattern::kIsoWeek: return padded(f.iso.week, 2, node.fill);
    case DatePattern::kQuarter: return f.month == 0 ? "" : std::to_string((f.month - 1) / 3 + 1);
    case DatePattern::kCentury: return padded(century(f), 2, node.fill);
    case DatePattern::kJulian: return std::to_string(f.julian);
    case DatePattern::kYearComma: {
      const std::int64_t year = shown_year(f.year, f);
      return std::to_string(year / 1000) + "," + padded(std::abs(year % 1000), 3, true);
    }
    case DatePattern::kYear: return year_digits(shown_year(f.year, f), node);
    case DatePattern::kIsoYear: return year_digits(shown_year(f.iso.year, f), node);
    default: return "";
  }
}

std::string print(const std::vector<DateNode>& nodes, const Fields& fields) {
  std::string out;
  for (const DateNode& node : nodes) {
    if (const auto text = print_word(node, fields)) {
      out += *text;
      continue;
    }
    std::string number = print_number(node, fields);
    append_ordinal(number, node.ordinal);
    out += number;
  }
  return out;
}

bool needs_date(DatePattern pattern) {
  switch (pattern) {
    case DatePattern::kEra:
    case DatePattern::kEraDotted:
    case DatePattern::kDayName:
    case DatePattern::kDayShort:
    case DatePattern::kMonthName:
    case DatePattern::kMonthShort:
    case DatePattern::kDayOfWeek:
    case DatePattern::kIsoDayOfWeek:
    case DatePattern::kZone:
    case DatePattern::kZoneHour:
    case DatePattern::kZoneMinute:
    case DatePattern::kZoneOffset: return true;
    default: return false;
  }
}

}  // namespace

std::string format_timestamp(const std::vector<DateNode>& nodes, std::int64_t timestamp, bool with_zone) {
  const CivilTime civil = repr::civil_from_timestamp(timestamp);
  const std::int64_t day = repr::timestamp_day(timestamp);
  Fields f;
  f.year = civil.date.year;
  f.month = civil.date.month;
  f.day = civil.date.day;
  f.hour = civil.hour;
  f.minute = civil.minute;
  f.second = civil.second;
  f.micros = civil.micros;
  f.day_of_year = day - repr::days_from_civil(civil.date.year, 1, 1) + 1;
  f.julian = day - repr::kDateMin;  // day 0 of the Julian count is the first date
  f.weekday = repr::iso_weekday(day) % 7;
  f.iso = repr::iso_week(civil.date);
  f.zone = with_zone;
  return print(nodes, f);
}

Result<std::string> format_interval(const std::vector<DateNode>& nodes, const repr::Interval& interval) {
  for (const DateNode& node : nodes) {
    if (!needs_date(node.pattern)) continue;
    Error error = sql_error(sqlstate::kInvalidDatetimeFormat, "invalid format specification for an interval value");
    error.hint = "Intervals are not tied to specific calendar dates.";
    return fail(std::move(error));
  }
  Fields f;
  f.interval = true;
  f.year = interval.months / 12;
  f.month = interval.months % 12;
  f.day = interval.days;
  f.hour = interval.micros / repr::kMicrosPerHour;
  f.minute = interval.micros / repr::kMicrosPerMinute % 60;
  f.second = interval.micros / repr::kMicrosPerSecond % 60;
  f.micros = interval.micros % repr::kMicrosPerSecond;
  f.day_of_year = std::int64_t{interval.months} * 30 + interval.days;
  f.julian = f.day_of_year;
  return print(nodes, f);
}

}  // namespace freshet::expr
