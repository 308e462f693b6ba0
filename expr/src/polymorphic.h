// SPDX-License-Identifier: Apache-2.0
/// Result types of calls: what a polymorphic result is, given the types of the arguments.
#pragma once

#include <span>

#include <freshet/expr/functions.h>

namespace freshet::expr {

/// The last of `parameters` stands for every argument behind it. A result that no argument fixes is unknown.
repr::SqlType resolve_result(std::span<const ArgumentType> parameters, const ArgumentType& result,
                             std::span<const repr::SqlType> arguments);

}  // namespace freshet::expr
