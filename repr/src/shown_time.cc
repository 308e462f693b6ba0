// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/shown_time.h>

namespace freshet::repr {

Numeric shown_time(SqlTime time) { return Numeric::from_parts(static_cast<Int128>(time), 3).trim_scale(); }

std::optional<SqlTime> time_of_timestamp(std::int64_t micros_since_2000) {
  if (micros_since_2000 > INT64_MAX - kPostgresEpoch) return kClosed;  // infinity, and what no clock reaches
  if (micros_since_2000 < -kPostgresEpoch) return std::nullopt;
  return static_cast<SqlTime>(micros_since_2000 + kPostgresEpoch);
}

std::optional<SqlTime> time_of_millis(const Numeric& millis) {
  Int128 coefficient = 0;
  int scale = 0;
  if (!millis.round(3).as_parts(coefficient, scale) || coefficient < 0) return std::nullopt;
  for (; scale < 3; ++scale) {
    if (coefficient > INT64_MAX) return std::nullopt;
    coefficient *= 10;
  }
  if (coefficient > INT64_MAX) return std::nullopt;
  return static_cast<SqlTime>(coefficient);
}

std::optional<SqlTime> time_of_millis(std::int64_t millis) {
  if (millis < 0 || millis > INT64_MAX / 1000) return std::nullopt;
  return static_cast<SqlTime>(millis) * 1000;
}

}  // namespace freshet::repr
