// SPDX-License-Identifier: Apache-2.0
// Intervals as PostgreSQL reads them: "1 year 2 mons 04:05:06.5", "@ 1 day ago", "1-2",
// "P1Y2M3DT4H".
#include <cmath>

#include "datetime_errors.h"
#include "datetime_text.h"

namespace freshet::repr {
namespace {

using Fault = DateTimeFault;
using Kind = DateToken::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Sums parts with overflow checks. A fraction of a part cascades to the parts below it.
class Sum {
 public:
  bool add(DateField unit, std::int64_t value, double fraction) {
    switch (unit) {
      case DateField::kMicroseconds:
        return add_micros(value, 1, fraction);
      case DateField::kMilliseconds:
        return add_micros(value, 1000, fraction);
      case DateField::kSecond:
        return add_micros(value, kMicrosPerSecond, fraction);
      case DateField::kMinute:
        return add_micros(value, kMicrosPerMinute, fraction);
      case DateField::kHour:
        return add_micros(value, kMicrosPerHour, fraction);
      case DateField::kDay:
        return add_days(value, 1) && add_micros(0, kMicrosPerDay, fraction);
      case DateField::kWeek:
        return add_days(value, 7) && add_fraction_of_days(fraction * 7);
      case DateField::kMonth:
        return add_months(value, 1) && add_fraction_of_days(fraction * 30);
      case DateField::kYear:
        return add_years(value, 1, fraction);
      case DateField::kDecade:
        return add_years(value, 10, fraction);
      case DateField::kCentury:
        return add_years(value, 100, fraction);
      case DateField::kMillennium:
        return add_years(value, 1000, fraction);
      default:
        return false;
    }
  }
  bool add_months(std::int64_t value, std::int64_t factor) {
    return add_to(months_, value, factor);
  }
  bool add_days(std::int64_t value, std::int64_t factor) { return add_to(days_, value, factor); }
  bool add_micros(std::int64_t value, std::int64_t unit, double fraction) {
    const double exact = fraction * static_cast<double>(unit);
    std::int64_t part;
    std::int64_t rounded = static_cast<std::int64_t>(exact);
    const double rest = exact - static_cast<double>(rounded);
    rounded += rest > 0.5 ? 1 : rest < -0.5 ? -1 : 0;
    return !__builtin_mul_overflow(value, unit, &part) &&
           !__builtin_add_overflow(micros_, part, &micros_) &&
           !__builtin_add_overflow(micros_, rounded, &micros_);
  }

  Fault finish(bool negate, Interval& out) const {
    Interval sum{static_cast<std::int32_t>(months_), static_cast<std::int32_t>(days_), micros_};
    if (sum.months != months_ || sum.days != days_) return Fault::kIntervalOverflow;
    if (negate) {
      auto negated = repr::negate(sum);
      if (!negated) return Fault::kIntervalOverflow;
      sum = *negated;
    }
    out = sum;
    return Fault::kNone;
  }

 private:
  // Kept in 64 bits; a sum that leaves 32 bits is an error in PostgreSQL at once.
  static bool add_to(std::int64_t& field, std::int64_t value, std::int64_t factor) {
    std::int64_t part;
    if (__builtin_mul_overflow(value, factor, &part) ||
        __builtin_add_overflow(field, part, &field)) {
      return false;
    }
    return field >= INT32_MIN && field <= INT32_MAX;
  }
  bool add_years(std::int64_t value, std::int64_t factor, double fraction) {
    const double months = std::rint(fraction * static_cast<double>(factor) * 12);
    return add_months(value, factor * 12) && add_months(static_cast<std::int64_t>(months), 1);
  }
  bool add_fraction_of_days(double days) {
    const double whole = std::trunc(days);
    return add_days(static_cast<std::int64_t>(whole), 1) &&
           add_micros(0, kMicrosPerDay, days - whole);
  }

  std::int64_t months_ = 0;
  std::int64_t days_ = 0;
  std::int64_t micros_ = 0;
};

// hh:mm[:ss[.f]], or mm:ss.f; `range` of MINUTE TO SECOND reads hh:mm as that too.
bool parse_clock(std::string_view text, std::int32_t range, std::int64_t (&parts)[3],
                 double& fraction, bool& overflow) {
  constexpr std::int32_t kMinuteToSecond = (1 << 11) | (1 << 12);
  parts[2] = 0;
  fraction = 0;
  if (!take_number(text, parts[0]) || !text.starts_with(':')) return false;
  text.remove_prefix(1);
  if (!take_number(text, parts[1])) return false;
  const auto shift_down = [&parts] {
    parts[2] = parts[1];
    parts[1] = parts[0];
    parts[0] = 0;
  };
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    if (!take_number(text, parts[2])) return false;
  } else if (text.starts_with('.') || range == kMinuteToSecond) {
    shift_down();
  }
  if (!text.empty() && (!take_fraction(text, fraction) || !text.empty())) return false;
  overflow = parts[1] > 59 || parts[2] > 60;
  return true;
}

DateField default_unit(std::int32_t range) {
  constexpr std::int32_t kMonth = 1 << 1, kYear = 1 << 2, kDay = 1 << 3, kHour = 1 << 10,
                         kMinute = 1 << 11;
  switch (range) {
    case kYear:
      return DateField::kYear;
    case kMonth:
    case kYear | kMonth:
      return DateField::kMonth;
    case kDay:
      return DateField::kDay;
    case kHour:
    case kDay | kHour:
      return DateField::kHour;
    case kMinute:
    case kHour | kMinute:
    case kDay | kHour | kMinute:
      return DateField::kMinute;
    default:
      return DateField::kSecond;
  }
}

// Reads the words from right to left, so that a unit is known before its number.
class Parser {
 public:
  explicit Parser(std::int32_t range) : range_(range) {}

  Fault run(std::string_view text, Interval& out) {
    std::vector<DateToken> tokens;
    if (!tokenize_datetime(text, tokens)) return Fault::kSyntax;
    for (std::size_t i = tokens.size(); i > 0; --i) {
      const Fault fault = token(tokens[i - 1]);
      if (fault != Fault::kNone) return fault;
    }
    if (seen_ == 0) return Fault::kSyntax;
    return sum_.finish(ago_, out);
  }

 private:
  static constexpr unsigned kClock = (1U << static_cast<unsigned>(DateField::kHour)) |
                                     (1U << static_cast<unsigned>(DateField::kMinute)) |
                                     (1U << static_cast<unsigned>(DateField::kSecond)) |
                                     (1U << static_cast<unsigned>(DateField::kMilliseconds)) |
                                     (1U << static_cast<unsigned>(DateField::kMicroseconds));

  Fault token(const DateToken& token) {
    switch (token.kind) {
      case Kind::kTime:
        return clock(token.text, false);
      case Kind::kSigned:
        if (token.text.find(':') != std::string::npos) {
          return clock(std::string_view(token.text).substr(1), token.text.front() == '-');
        }
        return number(token.text);
      case Kind::kDate:
      case Kind::kNumber:
        return number(token.text);
      case Kind::kWord:
        return word(token.text);
      case Kind::kSpecial:
        return Fault::kSyntax;
    }
    return Fault::kSyntax;
  }

  Fault clock(std::string_view text, bool negative) {
    std::int64_t parts[3];
    double fraction;
    bool overflow = false;
    if (!parse_clock(text, range_, parts, fraction, overflow)) return Fault::kSyntax;
    if (overflow) return Fault::kFieldOverflow;
    const int sign = negative ? -1 : 1;
    if (!sum_.add_micros(sign * parts[0], kMicrosPerHour, 0) ||
        !sum_.add_micros(sign * parts[1], kMicrosPerMinute, 0) ||
        !sum_.add_micros(sign * parts[2], kMicrosPerSecond, sign * fraction)) {
      return Fault::kFieldOverflow;
    }
    unit_ = DateField::kDay;
    has_unit_ = true;
    return see(kClock);
  }

  Fault see(unsigned fields) {
    if ((seen_ & fields) != 0) return Fault::kSyntax;
    seen_ |= fields;
    return Fault::kNone;
  }

  Fault number(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const DateField unit = has_unit_ ? unit_ : default_unit(range_);
    std::int64_t value = 0;
    double fraction = 0;
    if (!text.starts_with('.') && !take_number(text, value)) {
      return !text.empty() && is_digit(text.front()) ? Fault::kFieldOverflow : Fault::kSyntax;
    }
    if (text.starts_with('-')) return years_months(negative, value, text.substr(1));
    if (!text.empty() && (!take_fraction(text, fraction) || !text.empty())) return Fault::kSyntax;
    if (negative) {
      value = -value;
      fraction = -fraction;
    }
    if (!sum_.add(unit, value, fraction)) return Fault::kFieldOverflow;
    // A number left of one of hours is days.
    unit_ = unit == DateField::kHour ? DateField::kDay : unit;
    has_unit_ = true;
    if (unit == DateField::kSecond && fraction != 0) {
      return see((1U << static_cast<unsigned>(DateField::kSecond)) |
                 (1U << static_cast<unsigned>(DateField::kMilliseconds)) |
                 (1U << static_cast<unsigned>(DateField::kMicroseconds)));
    }
    return see(1U << static_cast<unsigned>(unit));
  }

  Fault years_months(bool negative, std::int64_t years, std::string_view text) {
    std::int64_t months;
    if (!take_number(text, months)) return Fault::kSyntax;
    if (months >= 12) return Fault::kFieldOverflow;
    if (!text.empty()) return Fault::kSyntax;
    const int sign = negative ? -1 : 1;
    if (!sum_.add_months(sign * years, 12) || !sum_.add_months(sign * months, 1))
      return Fault::kFieldOverflow;
    unit_ = DateField::kMonth;
    has_unit_ = true;
    return see(1U << static_cast<unsigned>(DateField::kMonth));
  }

  Fault word(const std::string& text) {
    if (text == "ago") {
      ago_ = true;
      has_unit_ = false;
      return Fault::kNone;
    }
    const auto field = date_field(text);
    if (!field || *field > DateField::kMillennium || *field == DateField::kIsoYear ||
        *field == DateField::kQuarter) {
      return Fault::kSyntax;
    }
    unit_ = *field;
    has_unit_ = true;
    return Fault::kNone;
  }

  std::int32_t range_;
  Sum sum_{};
  DateField unit_ = DateField::kSecond;
  bool has_unit_ = false;
  bool ago_ = false;
  unsigned seen_ = 0;
};

// A number with a sign and a fraction, as ISO 8601 intervals have them.
bool take_signed(std::string_view& text, std::int64_t& value, double& fraction) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  value = 0;
  fraction = 0;
  if (text.empty() || (!is_digit(text.front()) && text.front() != '.')) return false;
  if (text.front() != '.' && !take_number(text, value)) return false;
  if (text.starts_with('.')) take_fraction(text, fraction);
  if (negative) {
    value = -value;
    fraction = -fraction;
  }
  return true;
}

// P[n]Y[n]M[n]W[n]DT[n]H[n]M[n]S, with fractions, or Pyyyy-mm-ddThh:mm:ss.
Fault parse_iso(std::string_view text, Interval& out) {
  Sum sum;
  text.remove_prefix(1);
  bool date_part = true;
  bool any = false;
  while (!text.empty()) {
    if (text.front() == 'T') {
      if (!date_part) return Fault::kSyntax;
      date_part = false;
      text.remove_prefix(1);
      continue;
    }
    std::int64_t value;
    double fraction;
    if (!take_signed(text, value, fraction)) return Fault::kSyntax;
    any = true;
    const char unit = text.empty() ? '\0' : text.front();
    std::optional<DateField> field;
    if (date_part) {
      field = unit == 'Y'   ? std::optional(DateField::kYear)
              : unit == 'M' ? std::optional(DateField::kMonth)
              : unit == 'W' ? std::optional(DateField::kWeek)
              : unit == 'D' ? std::optional(DateField::kDay)
                            : std::nullopt;
    } else {
      field = unit == 'H'   ? std::optional(DateField::kHour)
              : unit == 'M' ? std::optional(DateField::kMinute)
              : unit == 'S' ? std::optional(DateField::kSecond)
                            : std::nullopt;
    }
    if (!field) return Fault::kSyntax;
    text.remove_prefix(1);
    if (!sum.add(*field, value, fraction)) return Fault::kFieldOverflow;
  }
  if (!any) return Fault::kSyntax;
  return sum.finish(false, out);
}

Fault parse_iso_alternative(std::string_view text, Interval& out) {
  Sum sum;
  text.remove_prefix(1);
  const auto part = [&](DateField unit, char mark) {
    std::int64_t value;
    double fraction;
    if (!take_signed(text, value, fraction) || !sum.add(unit, value, fraction)) return false;
    if (text.empty()) return true;
    if (text.front() != mark) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!text.starts_with('T')) {
    if (!part(DateField::kYear, '-')) return Fault::kSyntax;
    if (!text.empty() && !part(DateField::kMonth, '-')) return Fault::kSyntax;
    if (!text.empty() && !part(DateField::kDay, 'T')) return Fault::kSyntax;
  } else {
    text.remove_prefix(1);
  }
  if (!text.empty() && !part(DateField::kHour, ':')) return Fault::kSyntax;
  if (!text.empty() && !part(DateField::kMinute, ':')) return Fault::kSyntax;
  if (!text.empty() && !part(DateField::kSecond, '\0')) return Fault::kSyntax;
  return sum.finish(false, out);
}

}  // namespace

Result<Interval> parse_interval(std::string_view text, std::int32_t range) {
  Interval out;
  Fault fault = Parser(range).run(text, out);
  if (fault != Fault::kNone && text.starts_with('P')) {
    const bool units = text.find_first_of("YMWDHS", 1) != std::string_view::npos;
    fault = units ? parse_iso(text, out) : parse_iso_alternative(text, out);
  }
  if (fault == Fault::kNone) return out;
  if (fault == Fault::kFieldOverflow) fault = Fault::kIntervalOverflow;
  return datetime_error(fault, text, "interval");
}

}  // namespace freshet::repr
