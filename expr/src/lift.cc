// SPDX-License-Identifier: Apache-2.0
#include "lift.h"

#include <freshet/base/sqlstate.h>

namespace freshet::expr {

Error fault_error(Fault fault) {
  using namespace sqlstate;  // NOLINT
  switch (fault) {
    case Fault::kNone: break;
    case Fault::kInt2Range: return sql_error(kNumericValueOutOfRange, "smallint out of range");
    case Fault::kInt4Range: return sql_error(kNumericValueOutOfRange, "integer out of range");
    case Fault::kInt8Range: return sql_error(kNumericValueOutOfRange, "bigint out of range");
    case Fault::kOidRange: return sql_error(kNumericValueOutOfRange, "OID out of range");
    case Fault::kFloatOverflow:
      return sql_error(kNumericValueOutOfRange, "value out of range: overflow");
    case Fault::kFloatUnderflow:
      return sql_error(kNumericValueOutOfRange, "value out of range: underflow");
    case Fault::kInputRange: return sql_error(kNumericValueOutOfRange, "input is out of range");
    case Fault::kDivisionByZero: return sql_error(kDivisionByZero, "division by zero");
    case Fault::kDateRange: return sql_error(kDatetimeFieldOverflow, "date out of range");
    case Fault::kTimestampRange: return sql_error(kDatetimeFieldOverflow, "timestamp out of range");
    case Fault::kIntervalRange: return sql_error(kDatetimeFieldOverflow, "interval out of range");
    case Fault::kSquareRoot:
      return sql_error(kInvalidArgumentForPower, "cannot take square root of a negative number");
    case Fault::kLogOfZero: return sql_error(kInvalidArgumentForLog, "cannot take logarithm of zero");
    case Fault::kLogOfNegative:
      return sql_error(kInvalidArgumentForLog, "cannot take logarithm of a negative number");
    case Fault::kZeroToNegativePower:
      return sql_error(kInvalidArgumentForPower, "zero raised to a negative power is undefined");
    case Fault::kComplexPower:
      return sql_error(kInvalidArgumentForPower,
                       "a negative number raised to a non-integer power yields a complex result");
  }
  FRESHET_UNREACHABLE(static_cast<int>(fault));
}

std::vector<std::uint8_t> strict_validity(const KernelCall& call) {
  std::vector<std::uint8_t> validity;
  for (const repr::ColumnPtr& argument : call.arguments) {
    if (!argument->has_nulls()) continue;
    const auto other = argument->validity();
    if (other.size() != call.rows) {  // one value for all rows, and it is NULL
      validity.assign(call.rows, 0);
      return validity;
    }
    if (validity.empty()) {
      validity.assign(other.begin(), other.end());
    } else {
      for (std::size_t row = 0; row < call.rows; ++row) validity[row] &= other[row];
    }
  }
  return validity;
}

void note_error(const KernelCall& call, std::span<const std::uint8_t> validity, std::size_t row,
                Error error, RowErrors& found) {
  if (!validity.empty() && validity[row] == 0) return;
  if (call.errors.find(static_cast<std::uint32_t>(row)) != nullptr) return;
  found.entries.push_back({static_cast<std::uint32_t>(row), std::move(error)});
}

void finish_errors(KernelCall& call, RowErrors& found) {
  if (found.empty()) return;
  if (call.errors.empty()) {
    call.errors = std::move(found);
  } else {
    call.errors.merge(found);
  }
}

repr::ColumnPtr make_column(repr::ColumnValues values, std::vector<std::uint8_t> validity) {
  return std::make_shared<const repr::Column>(std::move(values), std::move(validity));
}

void set_null(std::vector<std::uint8_t>& validity, std::size_t rows, std::size_t row) {
  if (validity.empty()) validity.assign(rows, 1);
  validity[row] = 0;
}

}  // namespace freshet::expr
