// SPDX-License-Identifier: Apache-2.0
// DateStyle ISO and IntervalStyle postgres.
#include <cstdlib>

#include "datetime_text.h"

namespace freshet::repr {
namespace {

void append_padded(std::string& out, std::uint64_t number, std::size_t width) {
  char buffer[20];
  std::size_t at = sizeof buffer;
  do {
    buffer[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (sizeof buffer - at < width) buffer[--at] = '0';
  out.append(buffer + at, sizeof buffer - at);
}

void append_two(std::string& out, std::int64_t number) {
  append_padded(out, static_cast<std::uint64_t>(number), 2);
}

void append_fraction(std::string& out, std::uint64_t micros) {
  if (micros == 0) return;
  out.push_back('.');
  append_padded(out, micros, 6);
  while (out.back() == '0') out.pop_back();
}

// hh:mm:ss.ffffff
void append_clock(std::string& out, std::uint64_t micros) {
  constexpr auto kHour = static_cast<std::uint64_t>(kMicrosPerHour);
  constexpr auto kMinute = static_cast<std::uint64_t>(kMicrosPerMinute);
  constexpr auto kSecond = static_cast<std::uint64_t>(kMicrosPerSecond);
  append_padded(out, micros / kHour, 2);
  out.push_back(':');
  append_padded(out, micros / kMinute % 60, 2);
  out.push_back(':');
  append_padded(out, micros / kSecond % 60, 2);
  append_fraction(out, micros % kSecond);
}

// Without the era, which comes last.
void append_day(std::string& out, CivilDate date) {
  const std::int32_t year = date.year > 0 ? date.year : 1 - date.year;
  append_padded(out, static_cast<std::uint64_t>(year), 4);
  out.push_back('-');
  append_two(out, date.month);
  out.push_back('-');
  append_two(out, date.day);
}

void append_offset(std::string& out, std::int32_t seconds) {
  out.push_back(seconds < 0 ? '-' : '+');
  const std::int32_t size = std::abs(seconds);
  append_two(out, size / 3600);
  if (size % 3600 == 0) return;
  out.push_back(':');
  append_two(out, size / 60 % 60);
  if (size % 60 == 0) return;
  out.push_back(':');
  append_two(out, size % 60);
}

bool append_infinite(std::string& out, bool infinite, bool negative) {
  if (infinite) out += negative ? "-infinity" : "infinity";
  return infinite;
}

// One part of an interval in words. A part after a negative one shows its plus sign.
struct IntervalWriter {
  std::string& out;
  bool empty = true;
  bool after_negative = false;

  void part(std::int64_t value, std::string_view unit) {
    if (value == 0) return;
    if (!empty) out.push_back(' ');
    if (after_negative && value > 0) out.push_back('+');
    out += std::to_string(value);
    out.push_back(' ');
    out += unit;
    if (value != 1) out.push_back('s');
    after_negative = value < 0;
    empty = false;
  }
};

}  // namespace

void append_date(std::string& out, std::int32_t date) {
  if (append_infinite(out, is_infinite_date(date), date < 0)) return;
  const CivilDate civil = civil_from_days(date);
  append_day(out, civil);
  if (civil.year <= 0) out += " BC";
}

void append_time(std::string& out, std::int64_t time) {
  append_clock(out, static_cast<std::uint64_t>(time));
}

void append_timestamp(std::string& out, std::int64_t timestamp) {
  if (append_infinite(out, is_infinite_timestamp(timestamp), timestamp < 0)) return;
  const CivilDate date = civil_from_days(timestamp_day(timestamp));
  append_day(out, date);
  out.push_back(' ');
  append_clock(out, static_cast<std::uint64_t>(timestamp_time_of_day(timestamp)));
  if (date.year <= 0) out += " BC";
}

void append_timestamptz(std::string& out, std::int64_t timestamp, const TimeZone& zone) {
  if (append_infinite(out, is_infinite_timestamp(timestamp), timestamp < 0)) return;
  const std::int32_t offset = zone.offset_at(timestamp);
  const std::int64_t local = timestamp + offset * kMicrosPerSecond;
  const CivilDate date = civil_from_days(timestamp_day(local));
  append_day(out, date);
  out.push_back(' ');
  append_clock(out, static_cast<std::uint64_t>(timestamp_time_of_day(local)));
  append_offset(out, offset);
  if (date.year <= 0) out += " BC";
}

void append_interval(std::string& out, const Interval& interval) {
  IntervalWriter writer{out};
  writer.part(interval.months / 12, "year");
  writer.part(interval.months % 12, "mon");
  writer.part(interval.days, "day");
  if (!writer.empty && interval.micros == 0) return;
  if (!writer.empty) out.push_back(' ');
  if (interval.micros < 0) {
    out.push_back('-');
  } else if (writer.after_negative) {
    out.push_back('+');
  }
  const auto bits = static_cast<std::uint64_t>(interval.micros);
  append_clock(out, interval.micros < 0 ? 0 - bits : bits);
}

}  // namespace freshet::repr
