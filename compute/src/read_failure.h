// SPDX-License-Identifier: Apache-2.0
/// Why a reader of storage gave no more.
#pragma once

#include <utility>

#include <freshet/base/result.h>

namespace freshet::compute {

/// While an engine lives nothing but a drop closes the readers under it, whatever was under way below storage then.
inline Error read_failure(Error error) {
  if (error.code != ErrorCode::kCancelled) return error;
  return Error{.code = ErrorCode::kNotFound, .message = "the collection was dropped"};
}

}  // namespace freshet::compute
