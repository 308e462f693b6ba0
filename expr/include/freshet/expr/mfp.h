// SPDX-License-Identifier: Apache-2.0
/// `Mfp`: map, filter and project fused into one step over a row.
///
/// Expressions see the input's columns and the expressions before them; predicates are evaluated as soon as
/// their columns are there, in order; the projection picks the output. Temporal predicates (on mz_now()) are
/// kept apart as bounds: a row is visible from its lower to before its upper bound.
///
/// Error rule: a row whose predicates are all true and which has a failing expression *that is used* yields
/// that error instead of the row; a row with a false or NULL predicate yields nothing, whatever fails in it; a
/// failing predicate yields its error unless another predicate is false or NULL.
#pragma once

#include <optional>
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

  friend bool operator==(const Mfp&, const Mfp&) = default;
};

std::string to_string(const Mfp& mfp);

}  // namespace freshet::expr
