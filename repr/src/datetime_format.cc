// SPDX-License-Identifier: Apache-2.0
// DateStyle ISO and IntervalStyle postgres.
#include <cstdlib>
#include <cstring>

#include "datetime_text.h"

namespace freshet::repr {
namespace {

// Characters on their way to the output: dates and times are short.
class Scratch {
 public:
  void put(char c) { buffer_[size_++] = c; }
  void two(std::int64_t number) {
    put(static_cast<char>('0' + number / 10));
    put(static_cast<char>('0' + number % 10));
  }
  // At least `width` digits.
  void padded(std::uint64_t number, std::size_t width) {
    char digits[20];
    std::size_t at = sizeof digits;
    for (; number != 0 || sizeof digits - at < width; number /= 10) {
      digits[--at] = static_cast<char>('0' + number % 10);
    }
    std::memcpy(buffer_ + size_, digits + at, sizeof digits - at);
    size_ += sizeof digits - at;
  }
  void drop_zeros() {
    while (buffer_[size_ - 1] == '0') --size_;
  }
  void flush(std::string& out) const { out.append(buffer_, size_); }

 private:
  char buffer_[96];
  std::size_t size_ = 0;
};

// hh:mm:ss.ffffff
void put_clock(Scratch& out, std::uint64_t micros) {
  constexpr auto kHour = static_cast<std::uint64_t>(kMicrosPerHour);
  const std::uint64_t hours = micros / kHour;
  const auto rest = static_cast<std::int64_t>(micros % kHour);
  out.padded(hours, 2);
  out.put(':');
  out.two(rest / kMicrosPerMinute);
  out.put(':');
  out.two(rest / kMicrosPerSecond % 60);
  const std::int64_t fraction = rest % kMicrosPerSecond;
  if (fraction == 0) return;
  out.put('.');
  out.padded(static_cast<std::uint64_t>(fraction), 6);
  out.drop_zeros();
}

// Without the era, which comes last.
void put_day(Scratch& out, CivilDate date) {
  const std::int32_t year = date.year > 0 ? date.year : 1 - date.year;
  out.padded(static_cast<std::uint64_t>(year), 4);
  out.put('-');
  out.two(date.month);
  out.put('-');
  out.two(date.day);
}

void put_offset(Scratch& out, std::int32_t seconds) {
  out.put(seconds < 0 ? '-' : '+');
  const std::int32_t size = std::abs(seconds);
  out.padded(static_cast<std::uint64_t>(size / 3600), 2);
  if (size % 3600 == 0) return;
  out.put(':');
  out.two(size / 60 % 60);
  if (size % 60 == 0) return;
  out.put(':');
  out.two(size % 60);
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
  Scratch text;
  put_day(text, civil);
  text.flush(out);
  if (civil.year <= 0) out += " BC";
}

void append_time(std::string& out, std::int64_t time) {
  Scratch text;
  put_clock(text, static_cast<std::uint64_t>(time));
  text.flush(out);
}

namespace {

void append_local(std::string& out, std::int64_t local, const std::int32_t* offset) {
  const CivilDate date = civil_from_days(timestamp_day(local));
  Scratch text;
  put_day(text, date);
  text.put(' ');
  put_clock(text, static_cast<std::uint64_t>(timestamp_time_of_day(local)));
  if (offset != nullptr) put_offset(text, *offset);
  text.flush(out);
  if (date.year <= 0) out += " BC";
}

}  // namespace

void append_timestamp(std::string& out, std::int64_t timestamp) {
  if (append_infinite(out, is_infinite_timestamp(timestamp), timestamp < 0)) return;
  append_local(out, timestamp, nullptr);
}

void append_timestamptz(std::string& out, std::int64_t timestamp, const TimeZone& zone) {
  if (append_infinite(out, is_infinite_timestamp(timestamp), timestamp < 0)) return;
  const std::int32_t offset = zone.offset_at(timestamp);
  append_local(out, timestamp + offset * kMicrosPerSecond, &offset);
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
  Scratch text;
  put_clock(text, interval.micros < 0 ? 0 - bits : bits);
  text.flush(out);
}

}  // namespace freshet::repr
