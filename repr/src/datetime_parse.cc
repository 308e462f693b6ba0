// SPDX-License-Identifier: Apache-2.0
// Dates, times and timestamps as PostgreSQL reads them with DateStyle "ISO, MDY".
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "datetime_errors.h"
#include "datetime_text.h"

namespace freshet::repr {
namespace {

using Fault = DateTimeFault;
using Kind = DateToken::Kind;

enum Field : unsigned {
  kYear = 1,
  kMonth = 2,
  kDay = 4,
  kDayOfYear = 8,
  kTimeOfDay = 16,
  kZone = 32,
  kDate = kYear | kMonth | kDay,
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// 1 to 12, or 0.
int month_of(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMonths = {
      "january", "february", "march",     "april",   "may",      "june",
      "july",    "august",   "september", "october", "november", "december"};
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (word == kMonths[i] || word == kMonths[i].substr(0, 3)) return static_cast<int>(i) + 1;
  }
  return word == "sept" ? 9 : 0;
}

bool is_weekday(std::string_view word) {
  constexpr std::string_view kNames =
      " sun sunday mon monday tue tues tuesday wed weds wednesday thu thur thurs thursday fri "
      "friday sat "
      "saturday ";
  return kNames.find(' ' + std::string(word) + ' ') != std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(bool time_only) : time_only_(time_only) {}

  Fault run(std::string_view text) {
    if (!tokenize_datetime(text, tokens_) || tokens_.empty()) return Fault::kSyntax;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Fault fault = token(i);
      if (fault != Fault::kNone) return fault;
    }
    if (prefix_ != 0) return Fault::kSyntax;
    return finish();
  }

  [[nodiscard]] bool is_infinite() const { return infinite_ != 0; }
  [[nodiscard]] bool is_negative() const { return infinite_ < 0; }
  [[nodiscard]] std::int64_t days() const { return days_; }
  [[nodiscard]] std::int64_t time() const {
    return hour_ * kMicrosPerHour + minute_ * kMicrosPerMinute + second_ * kMicrosPerSecond +
           micros_;
  }
  /// Whole timestamps saturate; the caller checks the range.
  [[nodiscard]] std::int64_t timestamp() const {
    std::int64_t out;
    if (__builtin_mul_overflow(days_, kMicrosPerDay, &out) ||
        __builtin_add_overflow(out, time(), &out)) {
      return INT64_MAX - 1;
    }
    return out;
  }
  [[nodiscard]] const std::optional<TimeZone>& zone() const { return zone_; }
  /// The word that was no zone.
  [[nodiscard]] const std::string& bad_zone() const { return bad_zone_; }

 private:
  bool add(unsigned fields) {
    if ((seen_ & fields) != 0) return false;
    seen_ |= fields;
    return true;
  }
  [[nodiscard]] bool has(unsigned fields) const { return (seen_ & fields) == fields; }

  Fault token(std::size_t i) {
    const std::string& text = tokens_[i].text;
    switch (tokens_[i].kind) {
      case Kind::kDate:
        return time_only_ ? date_token_of_time(text, i) : date_token(text);
      case Kind::kTime:
        return prefix_ == 0 || prefix_ == 't' ? (prefix_ = 0, time_token(text)) : Fault::kSyntax;
      case Kind::kSigned:
        return offset(text);
      case Kind::kNumber:
        return number_token(text);
      case Kind::kWord:
      case Kind::kSpecial:
        return word(text, i);
    }
    return Fault::kSyntax;
  }

  // --- Dates ---
  Fault date_token(const std::string& text) {
    if (prefix_ == 'j') {
      // Julian days with their zone attached: J2451187-08.
      const std::size_t mark = text.find_first_of("+-");
      if (mark == std::string::npos) return Fault::kSyntax;
      const Fault fault = julian(text.substr(0, mark));
      return fault != Fault::kNone ? fault : offset(text.substr(mark));
    }
    if (is_whole_) return Fault::kSyntax;
    if (has(kMonth | kDay) || prefix_ != 0) {
      return is_digit(text.front()) || prefix_ != 0 ? time_with_zone(text) : named_zone(text);
    }
    return has(kTimeOfDay) ? Fault::kSyntax : date(text);
  }

  // A time may have a date before it, which a zone with daylight saving time even needs.
  Fault date_token_of_time(const std::string& text, std::size_t i) {
    const bool first = i == 0 && tokens_.size() > 1 &&
                       (tokens_.back().kind == Kind::kDate || tokens_[1].kind == Kind::kTime);
    if (first) return date(text);
    if (is_digit(text.front()) || prefix_ != 0) return time_with_zone(text);
    return named_zone(text);
  }

  // Run together: 040506-08.
  Fault time_with_zone(const std::string& text) {
    const std::size_t mark = text.find_first_of("+-");
    if (mark == std::string::npos || has(kTimeOfDay) || (prefix_ != 0 && prefix_ != 't'))
      return Fault::kSyntax;
    prefix_ = 0;
    const Fault fault = offset(text.substr(mark));
    return fault != Fault::kNone ? fault : concatenated(text.substr(0, mark));
  }

  // Parts joined by punctuation, with or without the name of the month.
  Fault date(const std::string& text) {
    std::vector<std::string_view> parts;
    std::string_view rest = text;
    while (!rest.empty()) {
      const auto same = is_digit(rest.front()) ? is_digit : is_letter;
      if (!is_digit(rest.front()) && !is_letter(rest.front())) {
        rest.remove_prefix(1);
        continue;
      }
      std::size_t size = 1;
      while (size < rest.size() && same(rest[size])) ++size;
      parts.push_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    bool text_month = false;
    for (std::string_view& part : parts) {
      if (!is_letter(part.front())) continue;
      const int month = month_of(part);
      if (part == "z" && text_month) {
        part = {};
        continue;
      }
      if (month == 0) return Fault::kSyntax;
      if (!add(kMonth)) return Fault::kSyntax;
      month_ = month;
      text_month = true;
      part = {};
    }
    for (const std::string_view part : parts) {
      if (part.empty()) continue;
      const Fault fault = number(part, text_month);
      if (fault != Fault::kNone) return fault;
      if ((seen_ & kDayOfYear) != 0 && parts.size() > 2) return Fault::kSyntax;
      // A fourth number would be taken for a time.
      if (has(kTimeOfDay)) return Fault::kSyntax;
    }
    return has(kDate) || has(kYear | kDayOfYear) ? Fault::kNone : Fault::kSyntax;
  }

  Fault julian(std::string_view text) {
    prefix_ = 0;
    std::int64_t day;
    double fraction = 0;
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (!take_number(text, day)) return Fault::kFieldOverflow;
    if (day > INT32_MAX) return Fault::kFieldOverflow;
    if (!text.empty() && !take_fraction(text, fraction)) return Fault::kSyntax;
    if (!text.empty() || negative) return Fault::kSyntax;
    if (!add(kDate)) return Fault::kSyntax;
    const CivilDate date = civil_from_days(day - 2451545);
    year_ = date.year;
    month_ = date.month;
    day_ = date.day;
    is_julian_ = true;
    if (fraction > 0) {
      if (!add(kTimeOfDay)) return Fault::kSyntax;
      set_time(static_cast<std::int64_t>(std::rint(fraction * static_cast<double>(kMicrosPerDay))));
    }
    return Fault::kNone;
  }

  void set_time(std::int64_t micros) {
    hour_ = micros / kMicrosPerHour;
    minute_ = micros / kMicrosPerMinute % 60;
    second_ = micros / kMicrosPerSecond % 60;
    micros_ = micros % kMicrosPerSecond;
  }

  // --- Numbers ---
  Fault number_token(const std::string& text) {
    if (prefix_ == 'j') return julian(text);
    if (prefix_ == 't') {
      prefix_ = 0;
      return concatenated(text);
    }
    const std::size_t point = text.find('.');
    if (time_only_ && !has(kTimeOfDay) && !has(kDate)) return concatenated(text);
    if (point != std::string::npos && (seen_ & kDate) == 0) {
      return has(kTimeOfDay) ? Fault::kSyntax : date(text);
    }
    if (point != std::string::npos && point > 2) return concatenated(text);
    if (text.size() >= 6 && (!has(kDate) || !has(kTimeOfDay))) return concatenated(text);
    return number(text, has_text_month_);
  }

  // One number of a date, whose place follows from what is known already.
  Fault number(std::string_view text, bool text_month) {
    const std::size_t size = text.size();
    std::string_view rest = text;
    std::int64_t value;
    if (!take_number(rest, value)) return Fault::kFieldOverflow;
    if (value > INT32_MAX) return Fault::kFieldOverflow;
    if (!rest.empty()) {
      if (text.size() - rest.size() > 2) return concatenated(text);
      return Fault::kSyntax;
    }
    const unsigned known = seen_ & kDate;
    if (size == 3 && known == kYear && value >= 1 && value <= 366) {
      if (!add(kDayOfYear | kMonth | kDay)) return Fault::kSyntax;
      day_of_year_ = value;
      return Fault::kNone;
    }
    switch (known) {
      case 0:
        return size >= 3 ? set_year(value, size) : set_month(value);
      case kYear:
        return set_month(value);
      case kMonth:
        return text_month && size >= 3 ? set_year(value, size) : set_day(value);
      case kYear | kMonth:
        if (text_month && size >= 3 && two_digits_) {
          // What was taken for the year was the day.
          day_ = year_;
          seen_ |= kDay;
          year_ = value;
          two_digits_ = false;
          return Fault::kNone;
        }
        return set_day(value);
      case kDay:
        return set_month(value);
      case kMonth | kDay:
        return set_year(value, size);
      case kDate:
        return concatenated(text);
      default:
        return Fault::kSyntax;
    }
  }

  Fault set_year(std::int64_t value, std::size_t digits) {
    if (!add(kYear)) return Fault::kSyntax;
    year_ = value;
    two_digits_ = digits <= 2;
    return Fault::kNone;
  }
  Fault set_month(std::int64_t value) {
    if (!add(kMonth)) return Fault::kSyntax;
    month_ = value;
    return Fault::kNone;
  }
  Fault set_day(std::int64_t value) {
    if (!add(kDay)) return Fault::kSyntax;
    day_ = value;
    return Fault::kNone;
  }

  // yyyymmdd, yymmdd, hhmmss or hhmm.
  Fault concatenated(std::string_view text) {
    double fraction = 0;
    const std::size_t point = text.find('.');
    std::string_view digits = text.substr(0, point);
    if (point != std::string_view::npos) {
      std::string_view rest = text.substr(point);
      if (!take_fraction(rest, fraction) || !rest.empty()) return Fault::kSyntax;
    }
    if (!std::all_of(digits.begin(), digits.end(), is_digit) || digits.empty())
      return Fault::kSyntax;
    const auto two = [&](std::size_t at) {
      return (digits[at] - '0') * 10 + (digits[at + 1] - '0');
    };
    const std::size_t size = digits.size();
    if (point == std::string_view::npos && !has(kDate) && size >= 6 && !time_only_) {
      std::string_view year = digits.substr(0, size - 4);
      if (!take_number(year, year_) || year_ > INT32_MAX || !add(kDate)) return Fault::kSyntax;
      month_ = two(size - 4);
      day_ = two(size - 2);
      two_digits_ = size == 6;
      return Fault::kNone;
    }
    if ((size != 6 && size != 4) || !add(kTimeOfDay)) return Fault::kSyntax;
    hour_ = two(0);
    minute_ = two(2);
    second_ = size == 6 ? two(4) : 0;
    micros_ = static_cast<std::int64_t>(std::rint(fraction * 1e6));
    return Fault::kNone;
  }

  // --- Times ---
  Fault time_token(std::string_view text) {
    if (!add(kTimeOfDay)) return Fault::kSyntax;
    double fraction = 0;
    second_ = 0;
    if (!take_number(text, hour_) || !text.starts_with(':')) return Fault::kSyntax;
    text.remove_prefix(1);
    if (!take_number(text, minute_)) return Fault::kSyntax;
    if (text.starts_with(':')) {
      text.remove_prefix(1);
      if (!take_number(text, second_)) return Fault::kSyntax;
    } else if (text.starts_with('.')) {
      // mm:ss.fff
      second_ = minute_;
      minute_ = hour_;
      hour_ = 0;
    }
    if (!text.empty() && (!take_fraction(text, fraction) || !text.empty())) return Fault::kSyntax;
    micros_ = static_cast<std::int64_t>(std::rint(fraction * 1e6));
    if (minute_ > 59 || second_ > 60 || hour_ > INT32_MAX) return Fault::kFieldOverflow;
    // Where a date may stand the hour is checked at once, which decides between two errors.
    return !time_only_ && is_late() ? Fault::kFieldOverflow : Fault::kNone;
  }

  [[nodiscard]] bool is_late() const { return hour_ > 24 || time() > kMicrosPerDay; }

  Fault offset(std::string_view text) {
    if (prefix_ != 0) return prefix_ == 'j' ? julian(text) : Fault::kSyntax;
    const bool negative = text.front() == '-';
    text.remove_prefix(1);
    std::int64_t hours;
    std::int64_t minutes = 0;
    std::int64_t seconds = 0;
    const std::size_t colon = text.find(':');
    if (!take_number(text, hours)) return Fault::kSyntax;
    if (colon == std::string_view::npos && hours >= 100) {
      minutes = hours % 100;
      hours /= 100;
    }
    if (text.starts_with(':')) {
      text.remove_prefix(1);
      if (!take_number(text, minutes)) return Fault::kSyntax;
      if (text.starts_with(':')) {
        text.remove_prefix(1);
        if (!take_number(text, seconds)) return Fault::kSyntax;
      }
    }
    if (!text.empty()) return Fault::kSyntax;
    if (hours > 15 || minutes > 59 || seconds > 59) return Fault::kZoneOverflow;
    const auto total = static_cast<std::int32_t>(hours * 3600 + minutes * 60 + seconds);
    return set_zone(TimeZone::fixed(negative ? -total : total));
  }

  Fault set_zone(TimeZone zone) {
    if (!add(kZone)) return Fault::kSyntax;
    zone_ = std::move(zone);
    return Fault::kNone;
  }

  Fault named_zone(const std::string& text) {
    auto zone = TimeZone::find(text);
    if (!zone) {
      bad_zone_ = text;
      return Fault::kUnknownZone;
    }
    return set_zone(*std::move(zone));
  }

  // --- Words ---
  Fault word(const std::string& text, std::size_t i) {
    if (prefix_ != 0) return Fault::kSyntax;
    if (text == "infinity") return infinity(1);
    if (text == "-infinity") return infinity(-1);
    if (text == "epoch") return epoch();
    if (text == "now" || text == "today" || text == "tomorrow" || text == "yesterday")
      return Fault::kClock;
    if (text == "allballs")
      return !is_whole_ && add(kTimeOfDay | kZone) ? Fault::kNone : Fault::kSyntax;
    if (text == "am" || text == "pm")
      return half_day_ == 0 ? (half_day_ = text[0], Fault::kNone) : Fault::kSyntax;
    if (text == "bc" || text == "ad") return is_bc_ = text == "bc", Fault::kNone;
    if (text == "at" || text == "on" || is_weekday(text)) return Fault::kNone;
    if (const int month = month_of(text); month != 0) return text_month(month);
    if (text == "t") {
      // Only between a date and a time.
      if (i + 1 == tokens_.size() || (!has(kDate) && !time_only_)) return Fault::kSyntax;
      prefix_ = 't';
      return Fault::kNone;
    }
    if (text == "j" || text == "jd" || text == "julian") return prefix_ = 'j', Fault::kNone;
    return named_zone(text) == Fault::kNone ? Fault::kNone : Fault::kSyntax;
  }

  Fault text_month(int month) {
    // "15 March 2020": what was taken for the month was the day.
    const bool was_day =
        !has_text_month_ && has(kMonth) && !has(kDay) && month_ >= 1 && month_ <= 31;
    has_text_month_ = true;
    if (was_day) {
      day_ = month_;
      seen_ |= kDay;
      month_ = month;
      return Fault::kNone;
    }
    return set_month(month);
  }

  Fault infinity(int sign) {
    if (time_only_) return Fault::kSyntax;
    infinite_ = sign;
    is_whole_ = true;
    return Fault::kNone;
  }

  Fault epoch() {
    if (time_only_) return Fault::kSyntax;
    infinite_ = 0;
    is_whole_ = true;
    return Fault::kNone;
  }

  // --- The whole ---
  Fault finish() {
    if (const Fault fault = check_date(); fault != Fault::kNone) return fault;
    if (half_day_ != 0 && hour_ > 12) return Fault::kFieldOverflow;
    if (is_whole_) {
      // Other fields were read but do not count.
      days_ = kUnixEpochDate;
      set_time(0);
      zone_ = TimeZone();
      return Fault::kNone;
    }
    if (half_day_ == 'a' && hour_ == 12) hour_ = 0;
    if (half_day_ == 'p' && hour_ != 12) hour_ += 12;
    if (!time_only_ && !has(kDate)) return Fault::kSyntax;
    if (minute_ > 59 || second_ > 60 || is_late()) return Fault::kFieldOverflow;
    if (time_only_ && !has(kTimeOfDay)) return Fault::kSyntax;
    // A zone with daylight saving time says nothing without a date.
    if (time_only_ && zone_ && !zone_->is_fixed() && !has(kDate)) return Fault::kSyntax;
    if (has(kDate))
      days_ = days_from_civil(year_, static_cast<int>(month_), static_cast<int>(day_));
    return Fault::kNone;
  }

  // Whatever parts of a date there are must be possible.
  Fault check_date() {
    if (is_julian_) return Fault::kNone;
    if (has(kYear)) {
      if (is_bc_) {
        if (year_ <= 0) return Fault::kFieldOverflow;
        year_ = 1 - year_;
      } else if (two_digits_) {
        year_ += year_ < 70 ? 2000 : 1900;
      } else if (year_ <= 0) {
        return Fault::kFieldOverflow;
      }
    }
    if (has(kYear | kDayOfYear)) {
      const CivilDate date = civil_from_days(days_from_civil(year_, 1, 1) + day_of_year_ - 1);
      year_ = date.year;
      month_ = date.month;
      day_ = date.day;
      seen_ |= kDate;
    }
    if (has(kMonth) && (month_ < 1 || month_ > 12)) return Fault::kMonthDayOverflow;
    if (has(kDay) && (day_ < 1 || day_ > 31)) return Fault::kMonthDayOverflow;
    if (has(kDate) && day_ > days_in_month(year_, static_cast<int>(month_)))
      return Fault::kFieldOverflow;
    return Fault::kNone;
  }

  bool time_only_;
  std::vector<DateToken> tokens_{};
  unsigned seen_ = 0;
  char prefix_ = 0;  // t or j: what the next token is
  bool two_digits_ = false;
  bool has_text_month_ = false;
  bool is_bc_ = false;
  bool is_julian_ = false;
  char half_day_ = 0;  // a or p
  int infinite_ = 0;
  bool is_whole_ = false;  // infinity or epoch
  std::int64_t year_ = 0, month_ = 0, day_ = 0, day_of_year_ = 0;
  std::int64_t hour_ = 0, minute_ = 0, second_ = 0, micros_ = 0;
  std::int64_t days_ = 0;
  std::optional<TimeZone> zone_{};
  std::string bad_zone_{};
};

// --- The form that nearly all input has: yyyy-mm-dd, and hh:mm:ss with a fraction ---

bool two_digits(std::string_view text, std::size_t at, int& out) {
  if (!is_digit(text[at]) || !is_digit(text[at + 1])) return false;
  out = (text[at] - '0') * 10 + (text[at + 1] - '0');
  return true;
}

bool simple_date(std::string_view text, std::int64_t& days) {
  int century, year, month, day;
  if (text.size() < 10 || text[4] != '-' || text[7] != '-' || !two_digits(text, 0, century) ||
      !two_digits(text, 2, year) || !two_digits(text, 5, month) || !two_digits(text, 8, day)) {
    return false;
  }
  year += century * 100;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
    return false;
  days = days_from_civil(year, month, day);
  return true;
}

bool simple_time(std::string_view text, std::int64_t& time) {
  int hour, minute, second;
  if (text.size() < 8 || text[2] != ':' || text[5] != ':' || !two_digits(text, 0, hour) ||
      !two_digits(text, 3, minute) || !two_digits(text, 6, second)) {
    return false;
  }
  if (hour > 23 || minute > 59 || second > 59 || text.size() > 15 || text.size() == 9) return false;
  std::int64_t micros = 0;
  std::int64_t unit = 100000;
  for (std::size_t i = 9; i < text.size(); ++i, unit /= 10) {
    if (!is_digit(text[i])) return false;
    micros += (text[i] - '0') * unit;
  }
  if (text.size() > 8 && text[8] != '.') return false;
  time = hour * kMicrosPerHour + minute * kMicrosPerMinute + second * kMicrosPerSecond + micros;
  return true;
}

bool simple_timestamp(std::string_view text, std::int64_t& timestamp) {
  std::int64_t days;
  std::int64_t time = 0;
  if (!simple_date(text, days)) return false;
  if (text.size() > 10 &&
      ((text[10] != ' ' && text[10] != 'T') || !simple_time(text.substr(11), time))) {
    return false;
  }
  timestamp = days * kMicrosPerDay + time;
  return true;
}

base::Unexpected refuse(const Parser& parser, Fault fault, std::string_view text,
                        std::string_view type) {
  return datetime_error(fault, fault == Fault::kUnknownZone ? parser.bad_zone() : text, type);
}

base::Unexpected out_of_range(std::string_view type, std::string_view text) {
  return field_overflow(std::string(type) + " out of range: \"" + std::string(text) + "\"");
}

}  // namespace

Result<std::int32_t> parse_date(std::string_view text) {
  std::int64_t days;
  if (text.size() == 10 && simple_date(text, days)) return static_cast<std::int32_t>(days);
  Parser parser(false);
  const Fault fault = parser.run(text);
  if (fault != Fault::kNone) return refuse(parser, fault, text, "date");
  if (parser.is_infinite()) return parser.is_negative() ? kDateNegativeInfinity : kDateInfinity;
  if (parser.days() < kDateMin || parser.days() >= kDateEnd) return out_of_range("date", text);
  return static_cast<std::int32_t>(parser.days());
}

Result<std::int64_t> parse_time(std::string_view text) {
  std::int64_t time;
  if (simple_time(text, time)) return time;
  Parser parser(true);
  const Fault fault = parser.run(text);
  if (fault != Fault::kNone) return refuse(parser, fault, text, "time");
  return parser.time();
}

Result<std::int64_t> parse_timestamp(std::string_view text) {
  std::int64_t timestamp;
  if (simple_timestamp(text, timestamp)) return timestamp;
  Parser parser(false);
  const Fault fault = parser.run(text);
  if (fault != Fault::kNone) return refuse(parser, fault, text, "timestamp");
  if (parser.is_infinite())
    return parser.is_negative() ? kTimestampNegativeInfinity : kTimestampInfinity;
  timestamp = parser.timestamp();
  if (!is_valid_timestamp(timestamp)) return out_of_range("timestamp", text);
  return timestamp;
}

Result<std::int64_t> parse_timestamptz(std::string_view text, const TimeZone& zone) {
  Parser parser(false);
  std::int64_t local;
  if (!simple_timestamp(text, local)) {
    const Fault fault = parser.run(text);
    if (fault != Fault::kNone) return refuse(parser, fault, text, "timestamp with time zone");
    if (parser.is_infinite())
      return parser.is_negative() ? kTimestampNegativeInfinity : kTimestampInfinity;
    local = parser.timestamp();
  }
  auto utc = (parser.zone() ? *parser.zone() : zone).to_utc(local);
  if (!utc) return out_of_range("timestamp", text);
  return *utc;
}

}  // namespace freshet::repr
