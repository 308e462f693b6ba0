// SPDX-License-Identifier: Apache-2.0
/// Neighbouring rows of a column.
#pragma once

#include <freshet/repr/chunk.h>

namespace freshet::repr {

/// Rows [begin, end) of `column`: as `gather`, but copied as a block.
ColumnPtr slice(const Column& column, std::size_t begin, std::size_t end);

}  // namespace freshet::repr
