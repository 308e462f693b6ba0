// SPDX-License-Identifier: Apache-2.0
/// Arithmetic of dates, times, timestamps and intervals. timestamptz reckons days in UTC.
#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using repr::Interval;
using I4 = std::int32_t;
using I8 = std::int64_t;

// A date and a time of day.
Result<I8> combine(I4 date, I8 time) {
  const I8 midnight = FRESHET_TRY(repr::timestamp_from_date(date));
  if (repr::is_infinite_timestamp(midnight)) return midnight;
  if (!repr::is_valid_timestamp(midnight + time)) return fail(fault_error(Fault::kTimestampRange));
  return midnight + time;
}

Result<I8> plus(I8 timestamp, const Interval& interval) {
  return repr::add_interval(timestamp, interval);
}
Result<I8> minus(I8 timestamp, const Interval& interval) {
  const Interval negative = FRESHET_TRY(repr::negate(interval));
  return repr::add_interval(timestamp, negative);
}

void add_date_arithmetic(FunctionTable& table) {
  table.add_operator("+", {K::kDate, K::kInt4}, K::kDate, lift([](I4 date, I4 days) -> Result<I4> {
    return repr::add_days(date, days);
  }));
  table.add_operator("+", {K::kInt4, K::kDate}, K::kDate, lift([](I4 days, I4 date) -> Result<I4> {
    return repr::add_days(date, days);
  }));
  table.add_operator("-", {K::kDate, K::kInt4}, K::kDate, lift([](I4 date, I4 days) -> Result<I4> {
    return repr::add_days(date, -I8{days});
  }));
  table.add_operator("-", {K::kDate, K::kDate}, K::kInt4, lift([](I4 a, I4 b) -> Result<I4> {
    return repr::subtract_dates(a, b);
  }));
  table.add_operator("+", {K::kDate, K::kInterval}, K::kTimestamp,
                     lift([](I4 date, const Interval& interval) -> Result<I8> {
    return plus(FRESHET_TRY(repr::timestamp_from_date(date)), interval);
  }));
  table.add_operator("+", {K::kInterval, K::kDate}, K::kTimestamp,
                     lift([](const Interval& interval, I4 date) -> Result<I8> {
    return plus(FRESHET_TRY(repr::timestamp_from_date(date)), interval);
  }));
  table.add_operator("-", {K::kDate, K::kInterval}, K::kTimestamp,
                     lift([](I4 date, const Interval& interval) -> Result<I8> {
    return minus(FRESHET_TRY(repr::timestamp_from_date(date)), interval);
  }));
  table.add_operator("+", {K::kDate, K::kTime}, K::kTimestamp,
                     lift([](I4 date, I8 time) -> Result<I8> { return combine(date, time); }));
  table.add_operator("+", {K::kTime, K::kDate}, K::kTimestamp,
                     lift([](I8 time, I4 date) -> Result<I8> { return combine(date, time); }));
}

void add_timestamp_arithmetic(FunctionTable& table) {
  for (const K kind : {K::kTimestamp, K::kTimestampTz}) {
    table.add_operator("+", {kind, K::kInterval}, kind,
                       lift([](I8 t, const Interval& i) -> Result<I8> { return plus(t, i); }));
    table.add_operator("+", {K::kInterval, kind}, kind,
                       lift([](const Interval& i, I8 t) -> Result<I8> { return plus(t, i); }));
    table.add_operator("-", {kind, K::kInterval}, kind,
                       lift([](I8 t, const Interval& i) -> Result<I8> { return minus(t, i); }));
    table.add_operator("-", {kind, kind}, K::kInterval, lift([](I8 a, I8 b) -> Result<Interval> {
      return repr::subtract_timestamps(a, b);
    }));
    table.add("age", {kind, kind}, K::kInterval,
              lift([](I8 a, I8 b) -> Result<Interval> { return repr::age(a, b); }));
  }
  table.add_operator("+", {K::kTime, K::kInterval}, K::kTime, lift([](I8 t, const Interval& i) -> I8 {
    return repr::add_interval_to_time(t, i);
  }));
  table.add_operator("+", {K::kInterval, K::kTime}, K::kTime, lift([](const Interval& i, I8 t) -> I8 {
    return repr::add_interval_to_time(t, i);
  }));
  table.add_operator("-", {K::kTime, K::kInterval}, K::kTime, lift([](I8 t, const Interval& i) -> I8 {
    return repr::add_interval_to_time(t, {.micros = -(i.micros % repr::kMicrosPerDay)});
  }));
  table.add_operator("-", {K::kTime, K::kTime}, K::kInterval,
                     lift([](I8 a, I8 b) -> Interval { return {.micros = a - b}; }));
}

void add_interval_arithmetic(FunctionTable& table) {
  constexpr K i = K::kInterval;
  table.add_operator("+", {i, i}, i, lift([](const Interval& a, const Interval& b) -> Result<Interval> {
    return repr::add(a, b);
  }));
  table.add_operator("-", {i, i}, i, lift([](const Interval& a, const Interval& b) -> Result<Interval> {
    return repr::subtract(a, b);
  }));
  table.add_operator("-", {i}, i,
                     lift([](const Interval& a) -> Result<Interval> { return repr::negate(a); }));
  table.add_operator("*", {i, K::kFloat8}, i, lift([](const Interval& a, double f) -> Result<Interval> {
    return repr::multiply(a, f);
  }));
  table.add_operator("*", {K::kFloat8, i}, i, lift([](double f, const Interval& a) -> Result<Interval> {
    return repr::multiply(a, f);
  }));
  table.add_operator("/", {i, K::kFloat8}, i, lift([](const Interval& a, double f) -> Result<Interval> {
    return repr::divide(a, f);
  }));
  table.add("justify_hours", {i}, i,
            lift([](const Interval& a) -> Result<Interval> { return repr::justify_hours(a); }));
  table.add("justify_days", {i}, i,
            lift([](const Interval& a) -> Result<Interval> { return repr::justify_days(a); }));
  table.add("justify_interval", {i}, i,
            lift([](const Interval& a) -> Result<Interval> { return repr::justify_interval(a); }));
}

Result<I8> bin(const Interval& stride, I8 timestamp, I8 origin) {
  if (repr::is_infinite_timestamp(timestamp)) return timestamp;
  if (repr::is_infinite_timestamp(origin)) {
    return fail(sqlstate::kDatetimeFieldOverflow, "origin out of range");
  }
  if (stride.months != 0) {
    return fail(sqlstate::kFeatureNotSupported,
                "timestamps cannot be binned into intervals containing months or years");
  }
  I8 step = 0;
  if (__builtin_mul_overflow(I8{stride.days}, repr::kMicrosPerDay, &step) ||
      __builtin_add_overflow(step, stride.micros, &step)) {
    return fail(fault_error(Fault::kIntervalRange));
  }
  if (step <= 0) return fail(sqlstate::kDatetimeFieldOverflow, "stride must be greater than zero");
  I8 distance = 0;
  if (__builtin_sub_overflow(timestamp, origin, &distance)) {
    return fail(fault_error(Fault::kIntervalRange));
  }
  const I8 rest = distance % step;
  I8 out = origin + (distance - rest);
  if (rest < 0 && (__builtin_sub_overflow(out, step, &out) || !repr::is_valid_timestamp(out))) {
    return fail(fault_error(Fault::kTimestampRange));
  }
  return out;
}

void add_makers(FunctionTable& table) {
  table.add("make_date", {K::kInt4, K::kInt4, K::kInt4}, K::kDate,
            lift([](I4 y, I4 m, I4 d) -> Result<I4> { return repr::make_date(y, m, d); }));
  table.add("make_time", {K::kInt4, K::kInt4, K::kFloat8}, K::kTime,
            lift([](I4 h, I4 m, double s) -> Result<I8> { return repr::make_time(h, m, s); }));
  const auto make = lift([](I4 y, I4 mon, I4 d, I4 h, I4 min, double s) -> Result<I8> {
    return repr::make_timestamp({y, mon, d, h, min, s});
  });
  const std::initializer_list<Arg> six{K::kInt4, K::kInt4, K::kInt4, K::kInt4, K::kInt4, K::kFloat8};
  table.add("make_timestamp", six, K::kTimestamp, make);
  table.add("make_timestamptz", six, K::kTimestampTz, make);
  table.add("make_interval", {K::kInt4, K::kInt4, K::kInt4, K::kInt4, K::kInt4, K::kInt4, K::kFloat8},
            K::kInterval,
            lift([](I4 y, I4 mon, I4 w, I4 d, I4 h, I4 min, double s) -> Result<Interval> {
              return repr::make_interval({y, mon, w, d, h, min, s});
            }));
  table.add("to_timestamp", {K::kFloat8}, K::kTimestampTz,
            lift([](double seconds) -> Result<I8> { return repr::timestamp_from_unix_seconds(seconds); }));
}

}  // namespace

void add_dates(FunctionTable& table) {
  add_date_arithmetic(table);
  add_timestamp_arithmetic(table);
  add_interval_arithmetic(table);
  for (const K kind : {K::kTimestamp, K::kTimestampTz}) {
    table.add("date_bin", {K::kInterval, kind, kind}, kind,
              lift([](const Interval& stride, I8 timestamp, I8 origin) -> Result<I8> {
                return bin(stride, timestamp, origin);
              }));
    table.add("isfinite", {kind}, K::kBool,
              lift([](I8 t) -> bool { return !repr::is_infinite_timestamp(t); }));
  }
  table.add("isfinite", {K::kDate}, K::kBool, lift([](I4 d) -> bool { return !repr::is_infinite_date(d); }));
  table.add("isfinite", {K::kInterval}, K::kBool, lift([](const Interval&) -> bool { return true; }));
  add_makers(table);
}

}  // namespace freshet::expr
