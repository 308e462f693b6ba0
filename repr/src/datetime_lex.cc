// SPDX-License-Identifier: Apache-2.0
// Splits date, time and interval text into words the way PostgreSQL does.
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "datetime_errors.h"
#include "datetime_text.h"

namespace freshet::repr {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_punctuation(char c) { return c > ' ' && c < 0x7f && !is_digit(c) && !is_letter(c); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr std::size_t kMaxTokens = 25;

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<DateToken>& tokens) : text_(text), tokens_(tokens) {}

  bool run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_space(c)) {
        ++at_;
        continue;
      }
      tokens_.push_back({DateToken::Kind::kNumber, {}});
      if (tokens_.size() > kMaxTokens) return false;
      if (is_digit(c)) {
        number();
      } else if (c == '.') {
        take();
        digits();
      } else if (is_letter(c)) {
        word();
      } else if (c == '+' || c == '-') {
        if (!sign()) return false;
      } else if (is_punctuation(c)) {
        tokens_.pop_back();  // other punctuation only separates
        ++at_;
      } else {
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void take() { tokens_.back().text.push_back(lower(text_[at_++])); }
  void digits() {
    while (is_digit(peek())) take();
  }
  template <typename Predicate>
  void take_while(Predicate wanted) {
    while (at_ < text_.size() && wanted(text_[at_])) take();
  }
  void set(DateToken::Kind kind) { tokens_.back().kind = kind; }

  // A number, a time, or a date with or without the name of its month.
  void number() {
    digits();
    const char mark = peek();
    if (mark == ':') {
      set(DateToken::Kind::kTime);
      take_while([](char c) { return is_digit(c) || c == ':' || c == '.'; });
      return;
    }
    if (mark != '-' && mark != '/' && mark != '.') return;
    take();
    if (!is_digit(peek())) {
      set(DateToken::Kind::kDate);
      take_while([mark](char c) { return is_digit(c) || is_letter(c) || c == mark; });
      // "12." is a number.
      if (mark == '.' && tokens_.back().text.back() == '.') set(DateToken::Kind::kNumber);
      return;
    }
    if (mark != '.') set(DateToken::Kind::kDate);
    digits();
    if (peek() != mark) return;
    set(DateToken::Kind::kDate);
    take_while([mark](char c) { return is_digit(c) || c == mark; });
  }

  // A word, a date that begins with a month, or the name of a zone.
  void word() {
    set(DateToken::Kind::kWord);
    take_while(is_letter);
    const char next = peek();
    const bool joined = next == '-' || next == '/' || next == '.';
    // "t0405" and "j2451187" are prefixes with numbers; other words with digits are names.
    const std::string& text = tokens_.back().text;
    const bool prefix = text == "t" || text == "j" || text == "jd" || text == "julian";
    const bool name = (next == '+' || is_digit(next)) && !prefix && !is_calendar_word(text);
    if (!joined && !name) return;
    set(DateToken::Kind::kDate);
    take_while([](char c) {
      return is_digit(c) || is_letter(c) || c == '+' || c == '-' || c == '/' || c == '_' ||
             c == '.' || c == ':';
    });
  }

  static bool is_calendar_word(std::string_view word) {
    constexpr std::string_view kWords =
        " ad am at bc pm on dow doy d h m s y jan feb mar apr may jun jul aug sep sept oct nov dec "
        "january february "
        "march april june july august september october november december sun mon tue tues wed "
        "weds thu "
        "thur thurs fri sat sunday monday tuesday wednesday thursday friday saturday infinity "
        "epoch now "
        "today tomorrow yesterday allballs z utc gmt ";
    const std::string key = ' ' + std::string(word) + ' ';
    return kWords.find(key) != std::string_view::npos;
  }

  bool sign() {
    take();
    while (is_space(peek())) ++at_;
    if (is_digit(peek())) {
      set(DateToken::Kind::kSigned);
      take_while([](char c) { return is_digit(c) || c == ':' || c == '.' || c == '-'; });
      return true;
    }
    if (!is_letter(peek())) return false;
    set(DateToken::Kind::kSpecial);
    take_while(is_letter);
    return true;
  }

  std::string_view text_;
  std::vector<DateToken>& tokens_;
  std::size_t at_ = 0;
};

}  // namespace

bool tokenize_datetime(std::string_view text, std::vector<DateToken>& tokens) {
  return Lexer(text, tokens).run();
}

bool take_number(std::string_view& text, std::int64_t& number) {
  if (text.empty() || !is_digit(text.front())) return false;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_fraction(std::string_view& text, double& fraction) {
  if (!text.starts_with('.')) return false;
  std::size_t size = 1;
  while (size < text.size() && is_digit(text[size])) ++size;
  fraction = size == 1 ? 0 : std::strtod(std::string(text.substr(0, size)).c_str(), nullptr);
  text.remove_prefix(size);
  return true;
}

base::Unexpected datetime_error(DateTimeFault fault, std::string_view text, std::string_view type) {
  const std::string quoted = '"' + std::string(text) + '"';
  switch (fault) {
    case DateTimeFault::kFieldOverflow:
      return field_overflow("date/time field value out of range: " + quoted);
    case DateTimeFault::kMonthDayOverflow: {
      Error error = sql_error(sqlstate::kDatetimeFieldOverflow,
                              "date/time field value out of range: " + quoted);
      error.hint = "Perhaps you need a different \"datestyle\" setting.";
      return fail(std::move(error));
    }
    case DateTimeFault::kIntervalOverflow:
      return fail(sqlstate::kIntervalFieldOverflow, "interval field value out of range: " + quoted);
    case DateTimeFault::kZoneOverflow:
      return fail(SqlState("22009"), "time zone displacement out of range: " + quoted);
    case DateTimeFault::kUnknownZone:
      return fail(sqlstate::kInvalidParameterValue, "time zone " + quoted + " not recognized");
    case DateTimeFault::kClock:
      return fail(sqlstate::kFeatureNotSupported,
                  "date/time value " + quoted + " depends on the clock; use now() instead");
    default:
      return fail(sqlstate::kInvalidDatetimeFormat,
                  "invalid input syntax for type " + std::string(type) + ": " + quoted);
  }
}

}  // namespace freshet::repr
