// SPDX-License-Identifier: Apache-2.0
/// Appends the columns of a table function, once for each row it returns.
#pragma once

#include <memory>

#include <timely/operator.h>

#include "dataflow/mfp_operator.h"

namespace freshet::compute {

/// The table function of a FlatMap, applied to one chunk; shared by all workers.
class FlatMapStep {
 public:
  FlatMapStep(const expr::Lir::FlatMap& node, ColumnTypes input_types);

  struct Expanded {
    std::vector<std::uint32_t> rows{};      ///< Which input row each output row comes from.
    std::vector<repr::ColumnPtr> columns{}; ///< All columns of the result.
    expr::RowErrors errors{};
  };
  [[nodiscard]] Expanded expand(const repr::Chunk& chunk) const;
  [[nodiscard]] const ColumnTypes& input_types() const { return input_types_; }
  [[nodiscard]] const ColumnTypes& wide_types() const { return wide_types_; }

 private:
  const expr::TableFunctionSpec* function_;
  std::vector<expr::Scalar> arguments_;
  bool with_ordinality_;
  std::vector<repr::SqlType> argument_types_;
  ColumnTypes input_types_;
  ColumnTypes wide_types_;
};

template <typename T>
class FlatMapOperator {
 public:
  FlatMapOperator(std::shared_ptr<const FlatMapStep> flat_map, MfpStepPtr after)
      : flat_map_(std::move(flat_map)), after_(std::move(after)) {}

  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, Rows<T>>& oks,
            timely::Output<T, ErrorUpdates<T>>& errs) {
    input.for_each([&](const timely::Capability<T>& at, Rows<T> rows) {
      FlatMapStep::Expanded expanded = flat_map_->expand(rows.chunk);
      ErrorUpdates<T> errors;
      for (const auto& entry : expanded.errors.entries) add_error(rows, entry, errors);
      TimesBuilder<T> times;
      for (const std::uint32_t row : expanded.rows) times.push(rows.time(row), rows.chunk.diff(row));
      if (!expanded.rows.empty()) {
        Rows<T> result = after_->apply(times.finish(std::move(expanded.columns)), errors);
        if (result.size() > 0) oks.give(at, std::move(result));
      }
      if (!errors.empty()) errs.give(at, std::move(errors));
    });
  }

 private:
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
};

}  // namespace freshet::compute
