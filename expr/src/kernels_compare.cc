// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <freshet/repr/datetime.h>

#include "comparison.h"

namespace freshet::expr {
namespace {

// NaN equals itself and is greater than everything else.
template <typename X, typename Y>
void add_six_floats(FunctionTable& table, K a, K b) {
  add_six<X, Y>(
      table, a, b,
      [](X x, Y y) -> int {
        if (x < y) return -1;
        if (x > y) return 1;
        if (x == y) return 0;
        return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
      },
      [](X x, Y y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// Dates compare with timestamps as their midnight; a date may lie beyond all timestamps.
std::int64_t midnight(std::int32_t date) {
  if (date == repr::kDateInfinity) return repr::kTimestampInfinity;
  if (date == repr::kDateNegativeInfinity) return repr::kTimestampNegativeInfinity;
  std::int64_t out;
  if (__builtin_mul_overflow(std::int64_t{date}, repr::kMicrosPerDay, &out) ||
      out >= repr::kTimestampEnd) {
    return repr::kTimestampEnd;  // after every finite timestamp, before infinity
  }
  return out;
}

void add_six_dates(FunctionTable& table, K timestamp) {
  add_six<std::int32_t, std::int64_t>(
      table, K::kDate, timestamp, [](std::int32_t x, std::int64_t y) { return midnight(x) <=> y; },
      [](std::int32_t x, std::int64_t y) { return midnight(x) == y; });
  add_six<std::int64_t, std::int32_t>(
      table, timestamp, K::kDate, [](std::int64_t x, std::int32_t y) { return x <=> midnight(y); },
      [](std::int64_t x, std::int32_t y) { return x == midnight(y); });
}

void add_integer_comparisons(FunctionTable& table) {
  using I2 = std::int16_t;
  using I4 = std::int32_t;
  using I8 = std::int64_t;
  add_six_plain<I2>(table, K::kInt2, K::kInt2);
  add_six_plain<I4>(table, K::kInt4, K::kInt4);
  add_six_plain<I8>(table, K::kInt8, K::kInt8);
  add_six_plain<I2, I4>(table, K::kInt2, K::kInt4);
  add_six_plain<I4, I2>(table, K::kInt4, K::kInt2);
  add_six_plain<I2, I8>(table, K::kInt2, K::kInt8);
  add_six_plain<I8, I2>(table, K::kInt8, K::kInt2);
  add_six_plain<I4, I8>(table, K::kInt4, K::kInt8);
  add_six_plain<I8, I4>(table, K::kInt8, K::kInt4);
}

}  // namespace

void add_comparisons(FunctionTable& table) {
  add_six_plain<bool>(table, K::kBool, K::kBool);
  add_integer_comparisons(table);
  add_six_plain<std::int32_t>(table, K::kDate, K::kDate);
  for (const K kind : {K::kTime, K::kTimestamp, K::kTimestampTz, K::kOid}) {
    add_six_plain<std::int64_t>(table, kind, kind);
  }
  add_six_plain<std::int64_t>(table, K::kTimestamp, K::kTimestampTz);
  add_six_plain<std::int64_t>(table, K::kTimestampTz, K::kTimestamp);
  add_six_dates(table, K::kTimestamp);
  add_six_dates(table, K::kTimestampTz);
  add_six_floats<float, float>(table, K::kFloat4, K::kFloat4);
  add_six_floats<double, double>(table, K::kFloat8, K::kFloat8);
  add_six_floats<float, double>(table, K::kFloat4, K::kFloat8);
  add_six_floats<double, float>(table, K::kFloat8, K::kFloat4);
}

}  // namespace freshet::expr
