// SPDX-License-Identifier: Apache-2.0
/// Times as users see and write them: milliseconds with up to three decimals, or a timestamp.
#pragma once

#include <optional>

#include <freshet/repr/numeric.h>
#include <freshet/repr/time.h>

namespace freshet::repr {

/// Microseconds from 1970 to 2000, where PostgreSQL's timestamps begin.
inline constexpr std::int64_t kPostgresEpoch = 946'684'800'000'000;

/// Milliseconds, without trailing zeros.
Numeric shown_time(SqlTime time);

/// The time that users write so. Nothing for what lies before 1970, and for milliseconds also where no number of
/// microseconds in 63 bits is meant. A numeric is rounded to three decimals; infinity is kClosed.
std::optional<SqlTime> time_of_timestamp(std::int64_t micros_since_2000);
std::optional<SqlTime> time_of_millis(const Numeric& millis);
std::optional<SqlTime> time_of_millis(std::int64_t millis);

}  // namespace freshet::repr
