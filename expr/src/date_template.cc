// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <freshet/repr/utf8.h>

#include "date_format.h"

namespace freshet::expr {
namespace {

struct Keyword {
  std::string_view text;  // upper case
  DatePattern pattern;
  int digits = 0;
  bool titled = false;    // "Month" is a spelling of its own
};

// Longer spellings before their beginnings.
constexpr std::array<Keyword, 53> kKeywords{{
    {"A.D.", DatePattern::kEraDotted},
    {"A.M.", DatePattern::kMeridiemDotted},
    {"AD", DatePattern::kEra},
    {"AM", DatePattern::kMeridiem},
    {"B.C.", DatePattern::kEraDotted},
    {"BC", DatePattern::kEra},
    {"CC", DatePattern::kCentury},
    {"DAY", DatePattern::kDayName, 0, true},
    {"DDD", DatePattern::kDayOfYear},
    {"DD", DatePattern::kDayOfMonth},
    {"DY", DatePattern::kDayShort, 0, true},
    {"D", DatePattern::kDayOfWeek},
    {"FF1", DatePattern::kFraction, 1},
    {"FF2", DatePattern::kFraction, 2},
    {"FF3", DatePattern::kFraction, 3},
    {"FF4", DatePattern::kFraction, 4},
    {"FF5", DatePattern::kFraction, 5},
    {"FF6", DatePattern::kFraction, 6},
    {"HH24", DatePattern::kHour24},
    {"HH12", DatePattern::kHour12},
    {"HH", DatePattern::kHour12},
    {"IDDD", DatePattern::kIsoDayOfYear},
    {"ID", DatePattern::kIsoDayOfWeek},
    {"IW", DatePattern::kIsoWeek},
    {"IYYY", DatePattern::kIsoYear, 4},
    {"IYY", DatePattern::kIsoYear, 3},
    {"IY", DatePattern::kIsoYear, 2},
    {"I", DatePattern::kIsoYear, 1},
    {"J", DatePattern::kJulian},
    {"MI", DatePattern::kMinute},
    {"MM", DatePattern::kMonth},
    {"MONTH", DatePattern::kMonthName, 0, true},
    {"MON", DatePattern::kMonthShort, 0, true},
    {"MS", DatePattern::kMillisecond},
    {"OF", DatePattern::kZoneOffset},
    {"P.M.", DatePattern::kMeridiemDotted},
    {"PM", DatePattern::kMeridiem},
    {"Q", DatePattern::kQuarter},
    {"RM", DatePattern::kRomanMonth},
    {"SSSSS", DatePattern::kSecondOfDay},
    {"SSSS", DatePattern::kSecondOfDay},
    {"SS", DatePattern::kSecond},
    {"TZH", DatePattern::kZoneHour},
    {"TZM", DatePattern::kZoneMinute},
    {"TZ", DatePattern::kZone},
    {"US", DatePattern::kMicrosecond},
    {"WW", DatePattern::kWeekOfYear},
    {"W", DatePattern::kWeekOfMonth},
    {"Y,YYY", DatePattern::kYearComma},
    {"YYYY", DatePattern::kYear, 4},
    {"YYY", DatePattern::kYear, 3},
    {"YY", DatePattern::kYear, 2},
    {"Y", DatePattern::kYear, 1},
}};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// How `text` begins with the keyword, if it does: all upper, all lower, or titled.
std::optional<LetterCase> spelled(std::string_view text, const Keyword& keyword) {
  if (keyword.text.empty() || text.size() < keyword.text.size()) return std::nullopt;
  bool all_upper = true;
  bool all_lower = true;
  bool title = keyword.titled;
  for (std::size_t i = 0; i < keyword.text.size(); ++i) {
    all_upper = all_upper && text[i] == keyword.text[i];
    all_lower = all_lower && text[i] == lower(keyword.text[i]);
    title = title && text[i] == (i == 0 ? keyword.text[i] : lower(keyword.text[i]));
  }
  if (all_upper) return LetterCase::kUpper;
  if (all_lower) return LetterCase::kLower;
  if (title) return LetterCase::kTitle;
  return std::nullopt;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (upper(text[i]) != prefix[i]) return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

bool take_keyword(std::string_view& text, DateNode& node) {
  for (const Keyword& keyword : kKeywords) {
    const auto letters = spelled(text, keyword);
    if (!letters.has_value()) continue;
    node.pattern = keyword.pattern;
    node.letters = *letters;
    node.digits = keyword.digits;
    node.text = std::string(text.substr(0, keyword.text.size()));
    text.remove_prefix(keyword.text.size());
    if (text.starts_with("TH") || text.starts_with("th")) {
      node.ordinal = text[0];
      text.remove_prefix(2);
    }
    return true;
  }
  return false;
}

}  // namespace

std::vector<DateNode> parse_date_template(std::string_view text) {
  std::vector<DateNode> out;
  while (!text.empty()) {
    DateNode node;
    for (;;) {
      if (take(text, "FM")) {
        node.fill = false;
      } else if (!take(text, "FX") && !take(text, "TM")) {
        break;
      }
    }
    if (text.empty()) break;
    if (take_keyword(text, node)) {
      out.push_back(std::move(node));
      continue;
    }
    if (text[0] == '"') {
      text.remove_prefix(1);
      node.quoted = true;
      while (!text.empty() && text[0] != '"') {
        if (text[0] == '\\' && text.size() > 1) text.remove_prefix(1);
        node.text += text[0];
        text.remove_prefix(1);
      }
      if (!text.empty()) text.remove_prefix(1);
    } else {
      if (text[0] == '\\' && text.size() > 1 && text[1] == '"') text.remove_prefix(1);
      const std::size_t size = repr::utf8::sequence_length(text[0]);
      node.text = std::string(text.substr(0, size));
      text.remove_prefix(size);
    }
    out.push_back(std::move(node));
  }
  return out;
}

}  // namespace freshet::expr
