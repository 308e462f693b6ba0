// SPDX-License-Identifier: Apache-2.0
/// Casts among dates, times and intervals. The session's time zone is UTC, so that timestamp and
/// timestamptz are the same number.
#include <freshet/repr/datetime.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using repr::Interval;
using I4 = std::int32_t;
using I8 = std::int64_t;

I8 time_of(const Interval& x) {
  const I8 rest = x.micros % repr::kMicrosPerDay;
  return rest < 0 ? rest + repr::kMicrosPerDay : rest;
}

}  // namespace

void add_date_casts(FunctionTable& table) {
  constexpr CastContext kImplicit = CastContext::kImplicit;
  constexpr CastContext kAssignment = CastContext::kAssignment;
  const auto from_date = lift([](I4 date) -> Result<I8> { return repr::timestamp_from_date(date); });
  const auto to_date = lift([](I8 timestamp) -> I4 { return repr::date_from_timestamp(timestamp); });
  const auto to_time = lift([](I8 timestamp) -> std::optional<I8> {
    if (repr::is_infinite_timestamp(timestamp)) return std::nullopt;
    return repr::timestamp_time_of_day(timestamp);
  });
  for (const K timestamp : {K::kTimestamp, K::kTimestampTz}) {
    table.add_cast(K::kDate, timestamp, kImplicit, from_date);
    table.add_cast(timestamp, K::kDate, kAssignment, to_date);
    table.add_cast(timestamp, K::kTime, kAssignment, to_time);
  }
  table.add_relabel(K::kTimestamp, K::kTimestampTz, kImplicit);
  table.add_relabel(K::kTimestampTz, K::kTimestamp, kAssignment);
  table.add_cast(K::kTime, K::kInterval, kImplicit,
                 lift([](I8 time) -> Interval { return {.micros = time}; }));
  table.add_cast(K::kInterval, K::kTime, kAssignment,
                 lift([](const Interval& x) -> I8 { return time_of(x); }));
}

}  // namespace freshet::expr
