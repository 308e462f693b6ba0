// SPDX-License-Identifier: Apache-2.0
/// Compares single values of columns without making datums.
#pragma once

#include <compare>

#include <freshet/repr/chunk.h>

namespace freshet::expr {

/// SQL order of two values that are not NULL, of one type.
std::strong_ordering order_values(const repr::Column& a, std::size_t i, const repr::Column& b,
                                  std::size_t j, const repr::SqlType& type);

}  // namespace freshet::expr
