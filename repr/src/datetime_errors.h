// SPDX-License-Identifier: Apache-2.0
// The errors of dates and times.
#pragma once

#include <string>

#include <freshet/base/result.h>
#include <freshet/base/sqlstate.h>

namespace freshet::repr {

inline base::Unexpected field_overflow(std::string message) {
  return fail(sqlstate::kDatetimeFieldOverflow, std::move(message));
}

inline base::Unexpected interval_out_of_range() { return field_overflow("interval out of range"); }

}  // namespace freshet::repr
