// SPDX-License-Identifier: Apache-2.0
/// Appends the columns of a table function, once for each row it returns.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <freshet/expr/table_rows.h>
#include <timely/operator.h>

#include "dataflow/mfp_operator.h"

namespace freshet::compute {

/// The table function of a FlatMap, applied to one chunk; shared by all workers.
class FlatMapStep {
 public:
  FlatMapStep(const expr::Lir::FlatMap& node, ColumnTypes input_types);

  /// How far a chunk has been expanded.
  struct Progress {
    std::vector<repr::ColumnPtr> arguments{};
    expr::RowErrors failed{};  ///< Rows whose arguments fail.
    std::uint32_t row = 0;
    bool open = false;  ///< The function has more for `row`.
    repr::DatumRow values{};
    expr::TableRowsCursor at{};
    [[nodiscard]] bool ended(const repr::Chunk& chunk) const { return row >= chunk.rows; }
  };
  struct Expanded {
    std::vector<std::uint32_t> rows{};      ///< Which input row each output row comes from.
    std::vector<repr::ColumnPtr> columns{}; ///< All columns of the result.
    expr::RowErrors errors{};
  };
  [[nodiscard]] Progress begin(const repr::Chunk& chunk) const;
  /// The next rows, at most kChunkRows.
  [[nodiscard]] Expanded expand(const repr::Chunk& chunk, Progress& progress) const;
  [[nodiscard]] const ColumnTypes& input_types() const { return input_types_; }
  [[nodiscard]] const ColumnTypes& wide_types() const { return wide_types_; }

 private:
  [[nodiscard]] bool open_row(const repr::Chunk& chunk, Progress& progress) const;

  const expr::TableFunctionSpec* function_;
  std::vector<expr::Scalar> arguments_;
  bool with_ordinality_;
  std::vector<repr::SqlType> argument_types_;
  ColumnTypes input_types_;
  ColumnTypes wide_types_;
};

/// Gives what a row expands to in pieces, and yields between them.
template <typename T>
class FlatMapOperator {
 public:
  FlatMapOperator(std::shared_ptr<const FlatMapStep> flat_map, MfpStepPtr after)
      : flat_map_(std::move(flat_map)), after_(std::move(after)) {}

  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, Rows<T>>& oks,
            timely::Output<T, ErrorUpdates<T>>& errs, timely::Context& context) {
    while (work_ || take(input)) {
      give_piece(oks, errs);
      if (work_ && context.should_yield()) return context.activate();
      if (!work_ && !input.empty() && context.should_yield()) return context.activate();
    }
  }

 private:
  /// A message that is being expanded.
  struct Work {
    timely::Capability<T> oks_at;
    timely::Capability<T> errs_at;
    Rows<T> rows;
    FlatMapStep::Progress progress;
    bool begun = false;
  };

  bool take(timely::Input<T, Rows<T>>& input) {
    return input.next([&](const timely::Capability<T>& at, Rows<T> rows) {
      FlatMapStep::Progress progress = flat_map_->begin(rows.chunk);
      work_.emplace(Work{at.retain(0), at.retain(1), std::move(rows), std::move(progress)});
    });
  }

  void give_piece(timely::Output<T, Rows<T>>& oks, timely::Output<T, ErrorUpdates<T>>& errs) {
    const Rows<T>& rows = work_->rows;
    ErrorUpdates<T> errors;
    if (!std::exchange(work_->begun, true)) {
      for (const auto& entry : work_->progress.failed.entries) add_error(rows, entry, errors);
    }
    FlatMapStep::Expanded expanded = flat_map_->expand(rows.chunk, work_->progress);
    for (const auto& entry : expanded.errors.entries) add_error(rows, entry, errors);
    TimesBuilder<T> times;
    for (const std::uint32_t row : expanded.rows) times.push(rows.time(row), rows.chunk.diff(row));
    if (!expanded.rows.empty()) {
      Rows<T> result = after_->apply(times.finish(std::move(expanded.columns)), errors);
      if (result.size() > 0) oks.give(work_->oks_at, std::move(result));
    }
    if (!errors.empty()) errs.give(work_->errs_at, std::move(errors));
    if (work_->progress.ended(rows.chunk)) work_.reset();
  }

  // The row's columns are known, the new ones are not.
  void add_error(const Rows<T>& rows, const expr::RowErrors::Entry& entry, ErrorUpdates<T>& errors) const {
    const ColumnTypes& types = flat_map_->input_types();
    expr::ErrorRow row = expr::ErrorRow::of(datum_row(rows.chunk, entry.row, types), entry.error);
    row.known.resize(flat_map_->wide_types().size());
    const auto after = expr::apply_mfp(after_->mfp(), row, flat_map_->wide_types());
    if (!after) return;
    errors.push_back({expr::encode_error_row(*after, after_->mfp().output_types(flat_map_->wide_types())),
                      rows.time(entry.row), rows.chunk.diff(entry.row)});
  }

  std::shared_ptr<const FlatMapStep> flat_map_;
  MfpStepPtr after_;
  std::optional<Work> work_{};
};

}  // namespace freshet::compute
