// SPDX-License-Identifier: Apache-2.0
/// The errors that both engines and the adapter give for one condition.
#pragma once

#include <cstdint>
#include <string>

#include <freshet/base/sqlstate.h>

namespace freshet::compute_api {

/// A read whose rows exceed `limit` bytes.
inline base::Error result_too_large(std::uint64_t limit) {
  base::Error error = base::sql_error(base::sqlstate::kProgramLimitExceeded,
                                      "the result exceeds " + std::to_string(limit) + " bytes");
  error.code = base::ErrorCode::kExhausted;
  return error;
}

/// After CancelPeek. Who cancelled, and why, the adapter knows.
inline base::Error cancelled() {
  base::Error error = base::sql_error(base::sqlstate::kQueryCanceled, "canceling statement due to user request");
  error.code = base::ErrorCode::kCancelled;
  return error;
}

}  // namespace freshet::compute_api
