// SPDX-License-Identifier: Apache-2.0
/// The rows of a table function in pieces: `generate_series(1, 10000000)` need never be in memory at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/functions.h>
#include <freshet/repr/datum.h>

namespace freshet::expr {

/// How far a table function has come for one row of arguments.
struct TableRowsCursor {
  repr::Datum next{};      ///< Where it goes on; the function's own business. NULL before the first row.
  std::uint64_t rows = 0;  ///< Given so far.
  bool done = false;
};

/// Appends the next rows of `function`, at most `most`. Of a failure, the rows before it were appended.
Result<void> next_rows(const TableFunctionSpec& function, const repr::DatumRow& arguments,
                       std::span<const repr::SqlType> types, TableRowsCursor& at, std::size_t most,
                       std::vector<repr::DatumRow>& out);

}  // namespace freshet::expr
