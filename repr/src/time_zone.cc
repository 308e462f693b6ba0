// SPDX-License-Identifier: Apache-2.0
// Time zones: the system's IANA database, read by Howard Hinnant's library. The only file that
// includes it and so the only one that catches its exceptions.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

#include <date/tz.h>

#include <freshet/repr/datetime.h>

#include "datetime_errors.h"

namespace freshet::repr {
namespace {

struct Abbreviation {
  std::string_view name;
  std::int32_t minutes;
};
// PostgreSQL's default abbreviations of fixed offset that people write; sorted.
constexpr std::array kAbbreviations = {
    Abbreviation{"acst", 570},  Abbreviation{"adt", -180},  Abbreviation{"aest", 600},
    Abbreviation{"akdt", -480}, Abbreviation{"akst", -540}, Abbreviation{"ast", -240},
    Abbreviation{"awst", 480},  Abbreviation{"bst", 60},    Abbreviation{"cdt", -300},
    Abbreviation{"cest", 120},  Abbreviation{"cet", 60},    Abbreviation{"cst", -360},
    Abbreviation{"edt", -240},  Abbreviation{"eest", 180},  Abbreviation{"eet", 120},
    Abbreviation{"est", -300},  Abbreviation{"gmt", 0},     Abbreviation{"hkt", 480},
    Abbreviation{"hst", -600},  Abbreviation{"jst", 540},   Abbreviation{"kst", 540},
    Abbreviation{"mdt", -360},  Abbreviation{"mest", 120},  Abbreviation{"met", 60},
    Abbreviation{"msk", 180},   Abbreviation{"mst", -420},  Abbreviation{"nzdt", 780},
    Abbreviation{"nzst", 720},  Abbreviation{"pdt", -420},  Abbreviation{"pst", -480},
    Abbreviation{"sgt", 480},   Abbreviation{"ut", 0},      Abbreviation{"utc", 0},
    Abbreviation{"west", 60},   Abbreviation{"wet", 0},     Abbreviation{"z", 0},
    Abbreviation{"zulu", 0},
};
static_assert(std::is_sorted(kAbbreviations.begin(), kAbbreviations.end(),
                             [](const Abbreviation& a, const Abbreviation& b) {
                               return a.name < b.name;
                             }));

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

base::Unexpected not_recognized(std::string_view name) {
  return fail(sqlstate::kInvalidParameterValue,
              "time zone \"" + std::string(name) + "\" not recognized");
}

const date::time_zone* locate(std::string_view name) {
  try {
    const date::tzdb& database = date::get_tzdb();
    const std::string wanted = lower(name);
    for (const date::time_zone& zone : database.zones) {
      if (lower(zone.name()) == wanted) return &zone;
    }
  } catch (const std::exception&) {
    // No database on this machine: only fixed offsets are known.
  }
  return nullptr;
}

// "+03", "-5:30", "11:00:30": seconds, without the sense of the sign.
std::optional<std::int32_t> parse_offset(std::string_view text) {
  std::int32_t sign = 1;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    sign = text.front() == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  std::int32_t seconds = 0;
  std::int32_t unit = 3600;
  while (true) {
    unsigned number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || number > (unit == 3600 ? 167U : 59U)) return std::nullopt;
    seconds += static_cast<std::int32_t>(number) * unit;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return sign * seconds;
    if (text.front() != ':' || unit == 1) return std::nullopt;
    text.remove_prefix(1);
    unit /= 60;
  }
}

// POSIX names without daylight saving time: letters or <...>, then an offset that counts west.
std::optional<std::int32_t> parse_posix(std::string_view name) {
  std::size_t i = 0;
  if (name.starts_with('<')) {
    i = name.find('>');
    if (i == std::string_view::npos) return std::nullopt;
    ++i;
  } else {
    while (i < name.size() &&
           ((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z')))
      ++i;
  }
  if (i == name.size()) return std::nullopt;
  const auto west = parse_offset(name.substr(i));
  if (!west) return std::nullopt;
  return -*west;
}

// The system's files list transitions up to 2037. Later years go by the one before 2038 that has
// the same calendar; zone rules say "the last Sunday of March" and do not look at the year.
std::int64_t within_database(std::int64_t utc) {
  constexpr std::int64_t kLastYear = 2037;
  const CivilDate date = civil_from_days(timestamp_day(utc));
  if (date.year <= kLastYear) return utc;
  const std::int64_t start = days_from_civil(date.year, 1, 1);
  for (std::int64_t year = kLastYear; year > kLastYear - 28; --year) {
    const std::int64_t other = days_from_civil(year, 1, 1);
    if (iso_weekday(other) == iso_weekday(start) && is_leap_year(year) == is_leap_year(date.year)) {
      return utc - (start - other) * kMicrosPerDay;
    }
  }
  return utc;
}

date::sys_info info_at(const void* database, std::int64_t utc) {
  const std::int64_t micros = within_database(utc) - kUnixEpochTimestamp;
  const std::int64_t seconds = micros >= 0 ? micros / kMicrosPerSecond
                                           : -((kMicrosPerSecond - 1 - micros) / kMicrosPerSecond);
  const date::sys_seconds moment{std::chrono::seconds(seconds)};
  return static_cast<const date::time_zone*>(database)->get_info(moment);
}

// "+05:30", "-03"
std::string offset_name(std::int32_t seconds) {
  const int size = seconds < 0 ? -seconds : seconds;
  char buffer[24];
  int length = std::snprintf(buffer, sizeof buffer, "%c%02d", seconds < 0 ? '-' : '+', size / 3600);
  const auto more = [&](int number) {
    length += std::snprintf(buffer + length, sizeof buffer - static_cast<std::size_t>(length),
                            ":%02d", number);
  };
  if (size % 3600 != 0) more(size / 60 % 60);
  if (size % 60 != 0) more(size % 60);
  return std::string(buffer, static_cast<std::size_t>(length));
}

}  // namespace

TimeZone TimeZone::fixed(std::int32_t seconds_east) {
  TimeZone zone;
  zone.fixed_seconds_ = seconds_east;
  // PostgreSQL shows such a zone in POSIX form, whose sign counts west.
  if (seconds_east != 0)
    zone.name_ = "<" + offset_name(seconds_east) + ">" + offset_name(-seconds_east);
  return zone;
}

Result<TimeZone> TimeZone::find(std::string_view name) {
  const std::string key = lower(name);
  const auto* found =
      std::lower_bound(kAbbreviations.begin(), kAbbreviations.end(), key,
                       [](const Abbreviation& a, const std::string& k) { return a.name < k; });
  TimeZone zone;
  zone.name_ = std::string(name);
  if (found != kAbbreviations.end() && found->name == key) {
    zone.fixed_seconds_ = found->minutes * 60;
    if (key == "utc" || key == "gmt") zone.name_ = key == "utc" ? "UTC" : "GMT";
    return zone;
  }
  if (const date::time_zone* database = locate(name)) {
    zone.name_ = database->name();
    zone.database_ = database;
    return zone;
  }
  if (const auto east = parse_posix(name)) {
    zone.fixed_seconds_ = *east;
    return zone;
  }
  return not_recognized(name);
}

Result<TimeZone> TimeZone::from_setting(std::string_view value) {
  double hours = 0;
  std::string_view number = value;
  if (number.starts_with('+')) number.remove_prefix(1);
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), hours);
  if (status == std::errc() && end == number.data() + number.size()) {
    if (std::abs(hours) > 167) return not_recognized(value);
    return fixed(static_cast<std::int32_t>(std::lrint(hours * 3600)));
  }
  return find(value);
}

std::int32_t TimeZone::offset_at(std::int64_t utc) const {
  if (database_ == nullptr || is_infinite_timestamp(utc)) return fixed_seconds_;
  return static_cast<std::int32_t>(info_at(database_, utc).offset.count());
}

Result<std::int64_t> TimeZone::to_utc(std::int64_t local) const {
  if (is_infinite_timestamp(local)) return local;
  const auto minus = [&](std::int32_t seconds) { return local - seconds * kMicrosPerSecond; };
  std::int64_t utc = minus(fixed_seconds_);
  if (database_ != nullptr) {
    const std::int32_t before = offset_at(local - kMicrosPerDay);
    const std::int32_t after = offset_at(local + kMicrosPerDay);
    // Where the clock went back, both hold: the later is standard time. In a gap neither does.
    const bool use_after = before != after && offset_at(minus(after)) == after;
    utc = minus(use_after ? after : before);
  }
  if (!is_valid_timestamp(utc)) return field_overflow("timestamp out of range");
  return utc;
}

Result<std::int64_t> TimeZone::to_local(std::int64_t utc) const {
  if (is_infinite_timestamp(utc)) return utc;
  const std::int64_t local = utc + offset_at(utc) * kMicrosPerSecond;
  if (!is_valid_timestamp(local)) return field_overflow("timestamp out of range");
  return local;
}

std::string TimeZone::abbreviation_at(std::int64_t utc) const {
  if (database_ == nullptr) {
    if (fixed_seconds_ == 0) return name_;
    return offset_name(fixed_seconds_);
  }
  return info_at(database_, utc).abbrev;
}

}  // namespace freshet::repr
