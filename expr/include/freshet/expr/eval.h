// SPDX-License-Identifier: Apache-2.0
/// Vectorised evaluation of scalars and of map-filter-project over chunks.
///
/// Cost: one kernel call per node and chunk; no virtual call, allocation or branch on type per row.
#pragma once

#include <span>
#include <vector>

#include <freshet/expr/mfp.h>
#include <freshet/expr/scalar.h>
#include <freshet/repr/chunk.h>

namespace freshet::expr {

/// Errors of single rows, ascending by row, at most one a row (the least).
struct RowErrors {
  struct Entry {
    std::uint32_t row;
    Error error;
  };
  std::vector<Entry> entries{};
  [[nodiscard]] bool empty() const { return entries.empty(); }
  /// Adds an error, keeping order and the least per row.
  void add(std::uint32_t row, Error error);
  void merge(const RowErrors& other);
  [[nodiscard]] const Error* find(std::uint32_t row) const;
};

struct ScalarKernel;

/// What a kernel is called with. An argument has `rows` values, or a single one that stands for all rows
/// (a constant is never copied out). Rows that are in `errors` beforehand are ignored.
struct KernelCall {
  std::span<const repr::ColumnPtr> arguments;
  std::span<const repr::SqlType> types;
  repr::SqlType result_type;
  std::size_t rows;
  RowErrors& errors;
  const ScalarKernel* kernel = nullptr;
};

/// The implementation of a scalar function over columns. It returns `rows` values. The kernel of a strict
/// function gives NULL (and no error) where an argument is NULL; slots that are NULL hold harmless values.
struct ScalarKernel {
  repr::ColumnPtr (*evaluate)(KernelCall& call);
  /// The operator that a quantified comparison (`any_of`, `all_of`) applies to each element.
  const FunctionSpec* inner = nullptr;
};

struct Evaluated {
  repr::ColumnPtr column;  ///< The value of a failed row means nothing.
  RowErrors errors{};
};

/// The value of `scalar` for each of `rows` rows. Parameters and session values must be gone. Where the rows are too
/// large together (54000) they are evaluated in parts, if `in_parts`.
Evaluated evaluate(const Scalar& scalar, std::span<const repr::ColumnPtr> columns, std::size_t rows,
                   bool in_parts = true);
/// For one row of datums; used by constant folding and edges.
Result<repr::Datum> evaluate_row(const Scalar& scalar, const repr::DatumRow& row,
                                 std::span<const repr::ColumnType> types);

/// Rows that passed, and errors of rows that failed, each with its time and diff.
struct MfpOutput {
  repr::Chunk rows{};
  struct Failed {
    std::uint32_t input_row;  ///< Which row of the input failed.
    Error error;              ///< It stands from the row's time on, with the row's diff, whatever the bounds say.
  };
  std::vector<Failed> errors{};
};

/// An `Mfp` made ready once, applied to many chunks.
class MfpEvaluator {
 public:
  MfpEvaluator(Mfp mfp, std::vector<repr::ColumnType> input_types);
  [[nodiscard]] const Mfp& mfp() const { return mfp_; }
  [[nodiscard]] const std::vector<repr::ColumnType>& output_types() const { return output_types_; }
  /// Columns outside `mfp().demand()` may be null pointers. Temporal bounds turn one update into up to
  /// two, at the times where the row appears and vanishes; those not before `until` are dropped.
  [[nodiscard]] MfpOutput apply(const repr::Chunk& chunk, repr::SqlTime until = repr::kClosed) const;

 private:
  /// Rows that are too large together, but not each, are evaluated in halves.
  [[nodiscard]] MfpOutput apply_in_parts(const repr::Chunk& chunk, repr::SqlTime until, std::size_t halvings) const;

  Mfp mfp_;
  std::vector<repr::ColumnType> input_types_;
  std::vector<repr::ColumnType> output_types_;
  std::vector<std::vector<bool>> needed_{};  // by predicate: the columns wanted from there on
};

}  // namespace freshet::expr
