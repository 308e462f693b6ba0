// SPDX-License-Identifier: Apache-2.0
/// EXTRACT, date_part, date_trunc and AT TIME ZONE.
#include <optional>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using repr::Interval;
using repr::Numeric;
using repr::TimeZone;
using View = std::string_view;
using I4 = std::int32_t;
using I8 = std::int64_t;

Result<std::optional<Numeric>> some(Result<Numeric> value) {
  if (!value.has_value()) return fail(std::move(value).error());
  return std::optional<Numeric>(*std::move(value));
}
Result<std::optional<double>> to_double(Result<std::optional<Numeric>> value) {
  if (!value.has_value()) return fail(std::move(value).error());
  if (!value->has_value()) return std::optional<double>();
  return std::optional<double>((*value)->to_double());
}

// Summed in floating point, term by term, as date_part does.
double epoch(const Interval& interval) {
  double out = static_cast<double>(interval.micros) / 1e6;
  out += 365.25 * 86400 * (interval.months / 12);
  out += 30.0 * 86400 * (interval.months % 12);
  out += 86400.0 * interval.days;
  return out;
}

// Year, month and day of a column of dates, the field being constant: the common case, without lookups.
std::optional<int> calendar_part(View name) {
  if (name == "year") return 0;
  if (name == "month") return 1;
  if (name == "day") return 2;
  return std::nullopt;
}
repr::ColumnPtr extract_date_column(KernelCall& call) {
  static constexpr auto kGeneral = [](View name, I4 date) -> Result<std::optional<Numeric>> {
    return repr::extract_date(name, date);
  };
  using General = SignatureOf<decltype(&decltype(kGeneral)::operator())>::Kernel;
  const Reader<View> names(*call.arguments[0], call.rows);
  const Reader<I4> dates(*call.arguments[1], call.rows);
  if (!names.is_constant() || call.arguments[0]->is_null(0)) return General::run(call);
  const auto part = calendar_part(names[0]);
  if (!part.has_value()) return General::run(call);
  std::vector<Numeric> out(call.rows);
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (repr::is_infinite_date(dates[row])) return General::run(call);
    const repr::CivilDate civil = repr::civil_from_days(dates[row]);
    if (civil.year <= 0) return General::run(call);
    out[row] = Numeric(*part == 0 ? civil.year : *part == 1 ? civil.month : civil.day);
  }
  return make_column(std::move(out), strict_validity(call));
}

void add_extracts(FunctionTable& table) {
  table.add("extract", {K::kText, K::kDate}, K::kNumeric,
            whole([](KernelCall& call) { return extract_date_column(call); },
                  {.can_fail = true, .may_be_null = true}));
  table.add("date_part", {K::kText, K::kDate}, K::kFloat8,
            lift([](View name, I4 date) -> Result<std::optional<double>> {
              const I8 timestamp = FRESHET_TRY(repr::timestamp_from_date(date));
              return to_double(repr::extract_timestamp(name, timestamp));
            }));
  table.add("extract", {K::kText, K::kTime}, K::kNumeric,
            lift([](View name, I8 t) -> Result<Numeric> { return repr::extract_time(name, t); }));
  table.add("date_part", {K::kText, K::kTime}, K::kFloat8,
            lift([](View name, I8 t) -> Result<std::optional<double>> {
              return to_double(some(repr::extract_time(name, t)));
            }));
  table.add("extract", {K::kText, K::kTimestamp}, K::kNumeric,
            lift([](View name, I8 t) -> Result<std::optional<Numeric>> {
              return repr::extract_timestamp(name, t);
            }));
  table.add("date_part", {K::kText, K::kTimestamp}, K::kFloat8,
            lift([](View name, I8 t) -> Result<std::optional<double>> {
              return to_double(repr::extract_timestamp(name, t));
            }));
  table.add("extract", {K::kText, K::kTimestampTz}, K::kNumeric,
            lift([](View name, I8 t) -> Result<std::optional<Numeric>> {
              const TimeZone utc;
              return repr::extract_timestamp(name, t, &utc);
            }));
  table.add("date_part", {K::kText, K::kTimestampTz}, K::kFloat8,
            lift([](View name, I8 t) -> Result<std::optional<double>> {
              const TimeZone utc;
              return to_double(repr::extract_timestamp(name, t, &utc));
            }));
  table.add("extract", {K::kText, K::kInterval}, K::kNumeric,
            lift([](View name, const Interval& i) -> Result<Numeric> {
              return repr::extract_interval(name, i);
            }));
  table.add("date_part", {K::kText, K::kInterval}, K::kFloat8,
            lift([](View name, const Interval& i) -> Result<std::optional<double>> {
              if (repr::date_field(name) == repr::DateField::kEpoch) return epoch(i);
              return to_double(some(repr::extract_interval(name, i)));
            }));
}

void add_truncation(FunctionTable& table) {
  table.add("date_trunc", {K::kText, K::kTimestamp}, K::kTimestamp,
            lift([](View name, I8 t) -> Result<I8> {
              if (repr::is_infinite_timestamp(t)) return t;
              return repr::truncate_timestamp(name, t);
            }));
  table.add("date_trunc", {K::kText, K::kTimestampTz}, K::kTimestampTz,
            lift([](View name, I8 t) -> Result<I8> {
              if (repr::is_infinite_timestamp(t)) return t;
              const TimeZone utc;
              return repr::truncate_timestamp(name, t, &utc);
            }));
  table.add("date_trunc", {K::kText, K::kTimestampTz, K::kText}, K::kTimestampTz,
            lift([](View name, I8 t, View zone_name) -> Result<I8> {
              if (repr::is_infinite_timestamp(t)) return t;
              const TimeZone zone = FRESHET_TRY(TimeZone::find(zone_name));
              return repr::truncate_timestamp(name, t, &zone);
            }));
  table.add("date_trunc", {K::kText, K::kInterval}, K::kInterval,
            lift([](View name, const Interval& i) -> Result<Interval> {
              return repr::truncate_interval(name, i);
            }));
}

// The zone is looked up once for a run of equal names.
template <bool to_utc>
repr::ColumnPtr at_time_zone(KernelCall& call) {
  const Reader<View> names(*call.arguments[0], call.rows);
  const Reader<I8> times(*call.arguments[1], call.rows);
  auto validity = strict_validity(call);
  std::vector<I8> out(call.rows);
  RowErrors found;
  std::optional<Result<TimeZone>> zone;
  View name;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!validity.empty() && validity[row] == 0) continue;
    if (repr::is_infinite_timestamp(times[row])) {
      out[row] = times[row];
      continue;
    }
    if (!zone.has_value() || names[row] != name) {
      name = names[row];
      zone.emplace(TimeZone::find(name));
    }
    if (!zone->has_value()) {
      note_error(call, validity, row, zone->error(), found);
      continue;
    }
    const Result<I8> time = to_utc ? (**zone).to_utc(times[row]) : (**zone).to_local(times[row]);
    if (time.has_value()) {
      out[row] = *time;
    } else {
      note_error(call, validity, row, time.error(), found);
    }
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

Result<TimeZone> zone_of(const Interval& interval) {
  if (interval.months != 0 || interval.days != 0) {
    return fail(sqlstate::kInvalidParameterValue,
                "interval time zone \"" + repr::to_text(repr::Datum(interval), K::kInterval) +
                    "\" must not include months or days");
  }
  return TimeZone::fixed(static_cast<I4>(interval.micros / repr::kMicrosPerSecond));
}

void add_zones(FunctionTable& table) {
  table.add("timezone", {K::kText, K::kTimestamp}, K::kTimestampTz,
            whole([](KernelCall& call) { return at_time_zone<true>(call); }, {.can_fail = true}));
  table.add("timezone", {K::kText, K::kTimestampTz}, K::kTimestamp,
            whole([](KernelCall& call) { return at_time_zone<false>(call); }, {.can_fail = true}));
  table.add("timezone", {K::kInterval, K::kTimestamp}, K::kTimestampTz,
            lift([](const Interval& interval, I8 t) -> Result<I8> {
              if (repr::is_infinite_timestamp(t)) return t;
              const TimeZone zone = FRESHET_TRY(zone_of(interval));
              return zone.to_utc(t);
            }));
  table.add("timezone", {K::kInterval, K::kTimestampTz}, K::kTimestamp,
            lift([](const Interval& interval, I8 t) -> Result<I8> {
              if (repr::is_infinite_timestamp(t)) return t;
              const TimeZone zone = FRESHET_TRY(zone_of(interval));
              return zone.to_local(t);
            }));
}

}  // namespace

void add_date_fields(FunctionTable& table) {
  add_extracts(table);
  add_truncation(table);
  add_zones(table);
}

}  // namespace freshet::expr
