// SPDX-License-Identifier: Apache-2.0
#include "client_error.h"

#include <utility>

#include <freshet/base/sqlstate.h>

namespace freshet::adapter {

namespace sqlstate = base::sqlstate;
using base::ErrorCode;

base::Error client_error(base::Error error) {
  if (error.sqlstate != base::SqlState{}) return error;
  switch (error.code) {
    case ErrorCode::kNotFound:
      return base::sql_error(sqlstate::kUndefinedTable, "an object that the statement uses was dropped");
    case ErrorCode::kConflict: error.sqlstate = sqlstate::kSerializationFailure; break;
    case ErrorCode::kExhausted: error.sqlstate = sqlstate::kDiskFull; break;
    case ErrorCode::kCorrupt: error.sqlstate = sqlstate::kDataCorrupted; break;
    case ErrorCode::kFenced:
    case ErrorCode::kCancelled: error.sqlstate = sqlstate::kAdminShutdown; break;
    case ErrorCode::kUnavailable:
    case ErrorCode::kIndeterminate: error.sqlstate = sqlstate::kIoError; break;
    case ErrorCode::kInvalid: break;  // a bug of ours: XX000
  }
  return error;
}

}  // namespace freshet::adapter
