// SPDX-License-Identifier: Apache-2.0
/// The recursion behind `evaluate` and `MfpEvaluator`.
#pragma once

#include <span>
#include <vector>

#include <freshet/expr/eval.h>

namespace freshet::expr {

/// An input of an evaluation: a column, or an earlier expression with the errors of its rows.
struct Source {
  repr::ColumnPtr column{};
  const RowErrors* errors = nullptr;
};

/// A value for each row. A constant has one value, and its error (of row 0) is that of every row.
struct Operand {
  repr::ColumnPtr column;
  RowErrors errors{};
  bool constant = false;

  [[nodiscard]] std::size_t at(std::size_t row) const { return constant ? 0 : row; }
  [[nodiscard]] bool is_null(std::size_t row) const { return column->is_null(at(row)); }
  [[nodiscard]] const Error* error(std::size_t row) const {
    return errors.find(static_cast<std::uint32_t>(at(row)));
  }
};

Operand evaluate_operand(const Scalar& scalar, std::span<const Source> sources, std::size_t rows);
/// With one value for each row.
Operand spread(Operand operand, std::size_t rows);
/// Rows that are too large together may be evaluated in parts, if it is not the results that are large.
bool may_split(const repr::SqlType& result);
/// The two columns one below the other.
repr::ColumnPtr joined(const repr::ColumnPtr& first, const repr::ColumnPtr& second);
/// The errors of the rows in `rows` (ascending), renumbered by their place in it.
RowErrors gather_errors(const RowErrors& errors, std::span<const std::uint32_t> rows);

}  // namespace freshet::expr
