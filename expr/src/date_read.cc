// SPDX-License-Identifier: Apache-2.0
/// to_timestamp and to_date: reads text by a template.
#include <array>
#include <optional>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>
#include <freshet/repr/utf8.h>

#include "date_format.h"

namespace freshet::expr {
namespace {

using View = std::string_view;

constexpr std::array<View, 12> kMonths{"JANUARY", "FEBRUARY", "MARCH",     "APRIL",   "MAY",      "JUNE",
                                       "JULY",    "AUGUST",   "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER"};
constexpr std::array<View, 7> kDays{"SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_separator(char c) { return c > ' ' && c < 127 && !is_digit(c) && !is_letter(c); }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

struct Parts {
  std::optional<int> year, month, day, day_of_year, julian;
  std::optional<int> iso_year, iso_week, iso_day;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int micros = 0;
  bool twelve_hours = false;
  std::optional<bool> afternoon{};
  bool bc = false;
};

class Reader {
 public:
  Reader(const std::vector<DateNode>& nodes, View text) : nodes_(nodes), whole_(text), text_(text) {}

  Result<void> run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].pattern == DatePattern::kLiteral) {
        skip_literal(nodes_[i]);
        continue;
      }
      skip_spaces();
      if (text_.empty()) break;
      FRESHET_TRY(read(nodes_[i], next_is_digits(i)));
      skip_spaces();
      if (nodes_[i].ordinal != 0) text_.remove_prefix(std::min<std::size_t>(2, text_.size()));
    }
    return settle_hour();
  }

  // The timestamp of what was read.
  [[nodiscard]] Result<std::int64_t> timestamp() const {
    const std::int64_t days = FRESHET_TRY(date());
    if (parts_.hour < 0 || parts_.hour > 23 || parts_.minute < 0 || parts_.minute > 59 || parts_.second < 0 ||
        parts_.second > 59) {
      return out_of_range();
    }
    const std::int64_t time = parts_.hour * repr::kMicrosPerHour + parts_.minute * repr::kMicrosPerMinute +
                              parts_.second * repr::kMicrosPerSecond + parts_.micros;
    std::int64_t out = 0;
    if (__builtin_mul_overflow(days, repr::kMicrosPerDay, &out) || __builtin_add_overflow(out, time, &out) ||
        !repr::is_valid_timestamp(out)) {
      return fail(sqlstate::kDatetimeFieldOverflow, "timestamp out of range");
    }
    return out;
  }
  [[nodiscard]] Result<std::int32_t> day() const {
    const std::int64_t days = FRESHET_TRY(date());
    if (days < repr::kDateMin || days >= repr::kDateEnd) {
      return fail(sqlstate::kDatetimeFieldOverflow, "date out of range: \"" + std::string(whole_) + "\"");
    }
    return static_cast<std::int32_t>(days);
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && is_space(text_[0])) text_.remove_prefix(1);
  }

  // A separator of the template may stand for any one separator, or for none; other text must be passed over.
  void skip_literal(const DateNode& node) {
    if (!node.quoted && node.text.size() == 1 && (is_space(node.text[0]) || is_separator(node.text[0]))) {
      skip_spaces();
      // A minus before digits after a blank in the template would be a sign; dates have none here.
      if (!text_.empty() && is_separator(text_[0])) text_.remove_prefix(1);
      return;
    }
    const std::size_t characters = repr::utf8::length(node.text);
    text_.remove_prefix(repr::utf8::offset_of(text_, characters));
  }

  // Whether the next thing in the template is a number without a separator: then this one has a fixed width.
  [[nodiscard]] bool next_is_digits(std::size_t i) const {
    if (i + 1 >= nodes_.size() || nodes_[i].ordinal != 0) return false;
    switch (nodes_[i + 1].pattern) {
      case DatePattern::kLiteral: return is_digit(nodes_[i + 1].text[0]);
      case DatePattern::kMeridiem:
      case DatePattern::kMeridiemDotted:
      case DatePattern::kEra:
      case DatePattern::kEraDotted:
      case DatePattern::kDayName:
      case DatePattern::kDayShort:
      case DatePattern::kMonthName:
      case DatePattern::kMonthShort:
      case DatePattern::kRomanMonth:
      case DatePattern::kZone:
      case DatePattern::kZoneOffset: return false;
      default: return true;
    }
  }

  base::Unexpected invalid(View value, const DateNode& node, std::string detail) const {
    Error error = sql_error(sqlstate::kInvalidDatetimeFormat,
                            "invalid value \"" + std::string(value) + "\" for \"" + node.text + "\"");
    error.detail = std::move(detail);
    return fail(std::move(error));
  }

  // A number of `width` digits, or of as many as there are; `used` tells how many.
  Result<int> number(const DateNode& node, std::size_t width, bool fixed, std::size_t& used) {
    std::size_t end = 0;
    if (text_[0] == '-' || text_[0] == '+') end = 1;
    const std::size_t sign = end;
    while (end < text_.size() && is_digit(text_[end]) && (!fixed || end < width) && end < 12) ++end;
    if (end == sign) {
      return invalid(repr::utf8::prefix(text_, width), node, "Value must be an integer.");
    }
    if (fixed && end < width && node.fill) {
      Error error = sql_error(sqlstate::kInvalidDatetimeFormat,
                              "source string too short for \"" + node.text + "\" formatting field");
      if (end == text_.size()) {
        error.detail = "Field requires " + std::to_string(width) + " characters, but only " +
                       std::to_string(end) + " remain.";
        error.hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        return fail(std::move(error));
      }
      return invalid(text_.substr(0, std::min(width, text_.size())), node,
                     "Field requires " + std::to_string(width) + " characters, but only " + std::to_string(end) +
                         " could be parsed.");
    }
    std::int64_t value = 0;
    for (std::size_t i = sign; i < end; ++i) value = 10 * value + (text_[i] - '0');
    if (text_[0] == '-') value = -value;
    if (value > INT32_MAX || value < INT32_MIN) {
      return fail(sqlstate::kDatetimeFieldOverflow,
                  "value for \"" + node.text + "\" in source string is out of range");
    }
    used = end - sign;
    text_.remove_prefix(end);
    return static_cast<int>(value);
  }

  // One of the words, whole or its first letters.
  template <std::size_t n>
  Result<int> name(const DateNode& node, const std::array<View, n>& words, bool brief) {
    for (std::size_t i = 0; i < n; ++i) {
      const View full = brief ? words[i].substr(0, 3) : words[i];
      bool same = text_.size() >= full.size();
      for (std::size_t j = 0; same && j < full.size(); ++j) same = upper(text_[j]) == full[j];
      if (!same) continue;
      text_.remove_prefix(full.size());
      return static_cast<int>(i);
    }
    std::size_t end = 0;
    while (end < text_.size() && !is_space(text_[end])) ++end;
    return invalid(text_.substr(0, end), node,
                   "The given value did not match any of the allowed values for this field.");
  }

  Result<void> read_word(const DateNode& node) {
    switch (node.pattern) {
      case DatePattern::kMonthName: parts_.month = FRESHET_TRY(name(node, kMonths, false)) + 1; return {};
      case DatePattern::kMonthShort: parts_.month = FRESHET_TRY(name(node, kMonths, true)) + 1; return {};
      case DatePattern::kDayName: FRESHET_TRY(name(node, kDays, false)); return {};
      case DatePattern::kDayShort: FRESHET_TRY(name(node, kDays, true)); return {};
      case DatePattern::kMeridiem: {
        constexpr std::array<View, 2> kWords{"AM", "PM"};
        parts_.afternoon = FRESHET_TRY(name(node, kWords, false)) == 1;
        parts_.twelve_hours = true;
        return {};
      }
      case DatePattern::kMeridiemDotted: {
        constexpr std::array<View, 2> kWords{"A.M.", "P.M."};
        parts_.afternoon = FRESHET_TRY(name(node, kWords, false)) == 1;
        parts_.twelve_hours = true;
        return {};
      }
      case DatePattern::kEra: {
        constexpr std::array<View, 2> kWords{"AD", "BC"};
        parts_.bc = FRESHET_TRY(name(node, kWords, false)) == 1;
        return {};
      }
      case DatePattern::kEraDotted: {
        constexpr std::array<View, 2> kWords{"A.D.", "B.C."};
        parts_.bc = FRESHET_TRY(name(node, kWords, false)) == 1;
        return {};
      }
      case DatePattern::kRomanMonth: {
        constexpr std::array<View, 12> kRoman{"VIII", "VII", "III", "XII", "IV", "VI", "IX", "II", "XI", "V", "X", "I"};
        constexpr std::array<int, 12> kNumbers{8, 7, 3, 12, 4, 6, 9, 2, 11, 5, 10, 1};
        parts_.month = kNumbers[static_cast<std::size_t>(FRESHET_TRY(name(node, kRoman, false)))];
        return {};
      }
      default: break;
    }
    return fail(sqlstate::kFeatureNotSupported,
                "formatting field \"" + node.text + "\" is only supported in to_char");
  }

  // A fraction of a second read as digits behind the point.
  Result<void> fraction(const DateNode& node, int unit_digits, bool fixed) {
    std::size_t used = 0;
    int value = FRESHET_TRY(number(node, static_cast<std::size_t>(unit_digits), fixed, used));
    for (std::size_t i = used; i < 6; ++i) value *= 10;
    for (std::size_t i = 6; i < used; ++i) value /= 10;
    parts_.micros += value;
    return {};
  }

  static int complete_year(int year, std::size_t digits) {
    if (digits >= 4) return year;
    if (year < 70) return year + 2000;
    if (year < 100) return year + 1900;
    return digits == 3 ? (year >= 520 ? year + 1000 : year + 2000) : year;
  }

  Result<void> read(const DateNode& node, bool fixed) {
    std::size_t used = 0;
    const auto digits = [&](std::size_t width) { return number(node, width, fixed, used); };
    switch (node.pattern) {
      case DatePattern::kHour24: parts_.hour = FRESHET_TRY(digits(2)); return {};
      case DatePattern::kHour12:
        parts_.hour = FRESHET_TRY(digits(2));
        parts_.twelve_hours = true;
        return {};
      case DatePattern::kMinute: parts_.minute = FRESHET_TRY(digits(2)); return {};
      case DatePattern::kSecond: parts_.second = FRESHET_TRY(digits(2)); return {};
      case DatePattern::kMillisecond: return fraction(node, 3, fixed);
      case DatePattern::kMicrosecond: return fraction(node, 6, fixed);
      case DatePattern::kFraction: return fraction(node, node.digits, fixed);
      case DatePattern::kSecondOfDay: {
        const int seconds = FRESHET_TRY(digits(5));
        parts_.hour = seconds / 3600;
        parts_.minute = seconds / 60 % 60;
        parts_.second = seconds % 60;
        return {};
      }
      case DatePattern::kMonth: parts_.month = FRESHET_TRY(digits(2)); return {};
      case DatePattern::kDayOfMonth: parts_.day = FRESHET_TRY(digits(2)); return {};
      case DatePattern::kDayOfYear: parts_.day_of_year = FRESHET_TRY(digits(3)); return {};
      case DatePattern::kJulian: parts_.julian = FRESHET_TRY(digits(7)); return {};
      case DatePattern::kIsoWeek: parts_.iso_week = FRESHET_TRY(digits(2)); return {};
      case DatePattern::kIsoDayOfWeek: parts_.iso_day = FRESHET_TRY(digits(1)); return {};
      case DatePattern::kDayOfWeek:
      case DatePattern::kQuarter: FRESHET_TRY(digits(1)); return {};
      case DatePattern::kWeekOfYear:
      case DatePattern::kCentury: FRESHET_TRY(digits(2)); return {};
      case DatePattern::kWeekOfMonth: FRESHET_TRY(digits(1)); return {};
      case DatePattern::kYear:
      case DatePattern::kIsoYear: {
        const auto width = static_cast<std::size_t>(node.digits);
        const int year = FRESHET_TRY(digits(width));
        const int full = used < 4 && width < 4 ? complete_year(year, used) : year;
        (node.pattern == DatePattern::kYear ? parts_.year : parts_.iso_year) = full;
        return {};
      }
      default: return read_word(node);
    }
  }

  base::Unexpected out_of_range() const {
    return fail(sqlstate::kDatetimeFieldOverflow,
                "date/time field value out of range: \"" + std::string(whole_) + "\"");
  }

  Result<std::int64_t> date() const {
    if (parts_.julian.has_value()) return std::int64_t{*parts_.julian} + repr::kDateMin;
    if (parts_.iso_year.has_value() && parts_.iso_week.has_value()) {
      if (*parts_.iso_week < 1 || *parts_.iso_week > 53) return out_of_range();
      return repr::days_from_iso_week({*parts_.iso_year, *parts_.iso_week}) + parts_.iso_day.value_or(1) - 1;
    }
    int year = parts_.year.value_or(0);
    if (parts_.bc && year > 0) year = 1 - year;
    if (!parts_.year.has_value()) year = 0;  // 1 BC, PostgreSQL's blank date
    if (parts_.day_of_year.has_value() && parts_.year.has_value()) {
      const int last = repr::is_leap_year(year) ? 366 : 365;
      if (*parts_.day_of_year < 1 || *parts_.day_of_year > last) return out_of_range();
      return repr::days_from_civil(year, 1, *parts_.day_of_year);
    }
    // Zero counts as not given.
    const int month = parts_.month.value_or(0) == 0 ? 1 : *parts_.month;
    const int day = parts_.day.value_or(0) == 0 ? 1 : *parts_.day;
    if (month < 1 || month > 12 || day < 1 || day > repr::days_in_month(year, month)) return out_of_range();
    return repr::days_from_civil(year, month, day);
  }

  Result<void> settle_hour() {
    if (parts_.twelve_hours) {
      if (parts_.hour < 1 || parts_.hour > 12) {
        Error error = sql_error(sqlstate::kInvalidDatetimeFormat,
                                "hour \"" + std::to_string(parts_.hour) + "\" is invalid for the 12-hour clock");
        error.hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
        return fail(std::move(error));
      }
      if (parts_.afternoon.value_or(false) && parts_.hour < 12) parts_.hour += 12;
      if (!parts_.afternoon.value_or(false) && parts_.hour == 12) parts_.hour = 0;
    }
    return {};
  }

  const std::vector<DateNode>& nodes_;
  View whole_;
  View text_;
  Parts parts_{};
};

}  // namespace

Result<std::int64_t> parse_timestamp(const std::vector<DateNode>& nodes, std::string_view text) {
  Reader reader(nodes, text);
  FRESHET_TRY(reader.run());
  return reader.timestamp();
}

Result<std::int32_t> parse_date(const std::vector<DateNode>& nodes, std::string_view text) {
  Reader reader(nodes, text);
  FRESHET_TRY(reader.run());
  return reader.day();
}

}  // namespace freshet::expr
