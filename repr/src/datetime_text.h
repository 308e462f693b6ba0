// SPDX-License-Identifier: Apache-2.0
// Text of dates, times and intervals: the pieces that text_in.cc and text_out.cc put together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <freshet/repr/datetime.h>

namespace freshet::repr {

// The words of a date, time or interval, in lower case.
struct DateToken {
  enum class Kind : std::uint8_t {
    kNumber,   // digits, perhaps with a point
    kWord,     // letters
    kDate,     // parts joined by - / or .
    kTime,     // parts joined by :
    kSigned,   // a sign and digits: a zone offset, or a number of an interval
    kSpecial,  // a sign and letters
  };
  Kind kind;
  std::string text;
};
// False if a character fits nowhere.
bool tokenize_datetime(std::string_view text, std::vector<DateToken>& tokens);

// Why a text was refused; the caller knows the text and the type.
enum class DateTimeFault : std::uint8_t {
  kNone,
  kSyntax,
  kFieldOverflow,
  kMonthDayOverflow,
  kIntervalOverflow,
  kZoneOverflow,
  kUnknownZone,
  kClock,
};
base::Unexpected datetime_error(DateTimeFault fault, std::string_view text, std::string_view type);

Result<std::int32_t> parse_date(std::string_view text);
Result<std::int64_t> parse_time(std::string_view text);
Result<std::int64_t> parse_timestamp(std::string_view text);
/// Without a zone of its own the text is local to `zone`.
Result<std::int64_t> parse_timestamptz(std::string_view text, const TimeZone& zone);
/// `range` is the field mask of the type modifier (0: none), which gives bare numbers their unit.
Result<Interval> parse_interval(std::string_view text, std::int32_t range);

// Digits from the front of `text`: false if there are none or the number does not fit.
bool take_number(std::string_view& text, std::int64_t& number);
// ".25" as microseconds, rounded; `text` is moved behind it.
bool take_fraction(std::string_view& text, double& fraction);

void append_date(std::string& out, std::int32_t date);
void append_time(std::string& out, std::int64_t time);
void append_timestamp(std::string& out, std::int64_t timestamp);
void append_timestamptz(std::string& out, std::int64_t timestamp, const TimeZone& zone);
void append_interval(std::string& out, const Interval& interval);

}  // namespace freshet::repr
