// SPDX-License-Identifier: Apache-2.0
/// `Mfp`: map, filter and project fused into one step over a row.
///
/// Expressions see the input's columns and the expressions before them; predicates are evaluated as soon as
/// their columns are there, in order; the projection picks the output. Temporal predicates (on mz_now()) are
/// kept apart as bounds: a row is visible from its lower to before its upper bound.
///
/// Error rule: a failing expression does no harm until its value is used; it then fails what uses it, as if it
/// were written out there in full. A row with a false or NULL predicate yields nothing, whatever fails in it.
/// Else the row yields the least error of its failing predicates, if one fails; else the least of its failing
/// output columns and bounds; else itself. Bounds do not hide errors: a failed row is an error at all times.
/// What is known of a failed row: `apply_mfp` in error_row.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <freshet/expr/scalar.h>

namespace freshet::expr {

struct Mfp {
  std::size_t input_arity = 0;
  std::vector<Scalar> expressions{};
  std::vector<Scalar> predicates{};
  std::vector<std::size_t> projection{};
  /// `mz_now() >= bound` and `mz_now() < bound` as numeric milliseconds over the row's columns.
  std::vector<Scalar> lower_bounds{};
  std::vector<Scalar> upper_bounds{};

  static Mfp identity(std::size_t arity);
  [[nodiscard]] bool is_identity() const;
  [[nodiscard]] bool is_projection() const;  ///< No expression, predicate or bound.
  [[nodiscard]] bool is_temporal() const { return !lower_bounds.empty() || !upper_bounds.empty(); }
  [[nodiscard]] std::size_t output_arity() const { return projection.size(); }
  /// The input columns that the output or a predicate needs, ascending.
  [[nodiscard]] std::vector<std::size_t> demand() const;
  /// This one, then `next` over its output.
  [[nodiscard]] Mfp then(const Mfp& next) const;
  /// Builders that work on the current output.
  [[nodiscard]] Mfp map(std::vector<Scalar> expressions) const;
  /// Predicates with mz_now() become bounds. 0A000 if one has a shape that cannot.
  [[nodiscard]] Result<Mfp> filter(std::vector<Scalar> predicates) const;
  [[nodiscard]] Mfp project(std::vector<std::size_t> columns) const;
  /// The same step over an input whose columns moved: column i is found at `map[i]`.
  [[nodiscard]] Mfp with_input(std::span<const std::size_t> map, std::size_t new_arity) const;

  /// The same step without expressions that nothing uses, repeated ones and repeated predicates.
  [[nodiscard]] Mfp simplified() const;
  /// The expressions over the input's columns alone.
  [[nodiscard]] std::vector<Scalar> written_out() const;
  [[nodiscard]] std::vector<repr::ColumnType> output_types(std::span<const repr::ColumnType> input) const;

  friend bool operator==(const Mfp&, const Mfp&) = default;
};

std::string to_string(const Mfp& mfp);

}  // namespace freshet::expr
