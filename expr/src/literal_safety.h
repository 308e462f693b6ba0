// SPDX-License-Identifier: Apache-2.0
/// Calls of functions that can fail, but not with these literal arguments: a sound pattern, a field that exists, a
/// divisor that is not zero. What cannot fail may be moved, skipped and used as a key.
#pragma once

#include <span>

#include <freshet/expr/functions.h>
#include <freshet/expr/scalar.h>

namespace freshet::expr {

/// Whether no value of the other arguments makes the call fail. False if that is not known.
bool is_safe_call(const FunctionSpec& function, std::span<const Scalar> arguments);

}  // namespace freshet::expr
