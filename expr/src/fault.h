// SPDX-License-Identifier: Apache-2.0
/// The errors that arithmetic kernels raise without building a message in the loop.
#pragma once

#include <cstdint>

#include <freshet/base/result.h>

namespace freshet::expr {

enum class Fault : std::uint8_t {
  kNone = 0,
  kInt2Range,
  kInt4Range,
  kInt8Range,
  kOidRange,
  kFloatOverflow,
  kFloatUnderflow,
  kInputRange,
  kDivisionByZero,
  kDateRange,
  kTimestampRange,
  kIntervalRange,
  kSquareRoot,
  kLogOfZero,
  kLogOfNegative,
  kZeroToNegativePower,
  kComplexPower,
};

/// The error with PostgreSQL's SQLSTATE and message.
Error fault_error(Fault fault);

}  // namespace freshet::expr
