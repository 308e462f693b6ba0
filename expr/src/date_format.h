// SPDX-License-Identifier: Apache-2.0
/// The templates of to_char, to_date and to_timestamp: "YYYY-MM-DD HH24:MI:SS".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/repr/datum.h>

namespace freshet::expr {

enum class DatePattern : std::uint8_t {
  kLiteral, kMeridiem, kMeridiemDotted, kEra, kEraDotted, kCentury, kDayName, kDayShort, kDayOfYear,
  kDayOfMonth, kDayOfWeek, kFraction, kHour24, kHour12, kIsoDayOfYear, kIsoDayOfWeek, kIsoWeek, kIsoYear,
  kJulian, kMinute, kMonth, kMonthName, kMonthShort, kMillisecond, kZoneOffset, kQuarter, kRomanMonth,
  kSecondOfDay, kSecond, kZoneHour, kZoneMinute, kZone, kMicrosecond, kWeekOfYear, kWeekOfMonth,
  kYearComma, kYear,
};
enum class LetterCase : std::uint8_t { kUpper, kLower, kTitle };

struct DateNode {
  DatePattern pattern = DatePattern::kLiteral;
  LetterCase letters = LetterCase::kUpper;
  int digits = 0;       ///< Of years and fractions.
  bool fill = true;     ///< Without FM: padded.
  char ordinal = 0;     ///< 't' or 'T': a suffix th, st… follows.
  bool quoted = false;  ///< Literals: stood in quotes.
  std::string text{};   ///< Of literals; the pattern's own spelling else.
};

/// A template taken apart. Anything that is no pattern stands for itself.
std::vector<DateNode> parse_date_template(std::string_view text);

/// A timestamp as the template says.
std::string format_timestamp(const std::vector<DateNode>& nodes, std::int64_t timestamp, bool with_zone);
/// 22007 if the template wants what an interval has not.
Result<std::string> format_interval(const std::vector<DateNode>& nodes, const repr::Interval& interval);
/// to_timestamp: 22007 and 22008 with PostgreSQL's messages. UTC.
Result<std::int64_t> parse_timestamp(const std::vector<DateNode>& nodes, std::string_view text);
/// to_date: the same, as days.
Result<std::int32_t> parse_date(const std::vector<DateNode>& nodes, std::string_view text);

}  // namespace freshet::expr
