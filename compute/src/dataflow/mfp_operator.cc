// SPDX-License-Identifier: Apache-2.0
#include "dataflow/mfp_operator.h"

#include <algorithm>

namespace freshet::compute {

MfpStep::MfpStep(expr::Mfp mfp, ColumnTypes types, SqlTime until, std::shared_ptr<FutureTimes> futures)
    : types_(std::move(types)),
      evaluator_(std::move(mfp), types_),
      demand_(evaluator_.mfp().demand()),
      until_(until),
      futures_(evaluator_.mfp().is_temporal() ? std::move(futures) : nullptr),
      identity_(evaluator_.mfp().is_identity()) {
  output_types_ = evaluator_.output_types();
}

template <typename T>
void MfpStep::add_errors(const expr::MfpOutput& output, const Rows<T>& rows, ErrorUpdates<T>& errors) const {
  for (const expr::MfpOutput::Failed& failed : output.errors) {
    const expr::ErrorRow row =
        expr::ErrorRow::of(datum_row(rows.chunk, failed.input_row, types_), failed.error);
    // A row that only the size of its chunk made fail passes here: of its error nothing more is known.
    std::optional<expr::ErrorRow> after = expr::apply_mfp(evaluator_.mfp(), row, types_);
    if (!after) after = expr::ErrorRow::unknown(output_types_.size(), failed.error);
    errors.push_back({expr::encode_error_row(*after, output_types_), rows.time(failed.input_row),
                      rows.chunk.diff(failed.input_row)});
  }
}

template <typename T>
Rows<T> MfpStep::apply(const Rows<T>& rows, ErrorUpdates<T>& errors) const {
  if (identity_) return rows;
  if (kIsLoop<T> && evaluator_.mfp().is_temporal()) return apply_temporal(rows, errors);
  expr::MfpOutput output = evaluator_.apply(rows.chunk, kIsLoop<T> ? repr::kClosed : until_);
  for (std::size_t c = 0; c < output_types_.size(); ++c) {
    FRESHET_DASSERT(output.rows.columns[c]->physical() == output_types_[c].type.physical(), c,
                    expr::to_string(evaluator_.mfp()));
  }
  add_errors(output, rows, errors);
  if (futures_ != nullptr) futures_->add(output.rows.times.dictionary());
  return rows.with(std::move(output.rows));
}

// Inside a loop each iteration's rows go through on their own, with the outer time as theirs.
template <typename T>
Rows<T> MfpStep::apply_temporal(const Rows<T>& rows, ErrorUpdates<T>& errors) const {
  if constexpr (kIsLoop<T>) {
    std::vector<repr::ColumnBuilder> builders;
    for (const repr::ColumnType& type : output_types_) builders.emplace_back(type.type.physical());
    TimesBuilder<T> times;
    for (std::size_t id = 0; id < rows.dictionary.size(); ++id) {
      std::vector<std::uint32_t> selected;
      for (std::uint32_t row = 0; row < rows.size(); ++row) {
        if (rows.chunk.times[row] == id) selected.push_back(row);
      }
      if (selected.empty()) continue;
      const T& time = rows.dictionary[id];
      repr::Chunk chunk = gather_rows(rows.chunk, selected);
      chunk.times = repr::Times(time.outer);
      expr::MfpOutput output = evaluator_.apply(chunk, until_);
      if (futures_ != nullptr) futures_->add(output.rows.times.dictionary());
      for (expr::MfpOutput::Failed& failed : output.errors) failed.input_row = selected[failed.input_row];
      add_errors(output, rows, errors);
      for (std::size_t row = 0; row < output.rows.rows; ++row) {
        for (std::size_t c = 0; c < builders.size(); ++c) builders[c].append_from(*output.rows.columns[c], row);
        times.push(T{output.rows.times[row], time.inner}, output.rows.diff(row));
      }
    }
    std::vector<repr::ColumnPtr> columns;
    for (repr::ColumnBuilder& builder : builders) columns.push_back(builder.finish());
    return times.finish(std::move(columns));
  } else {
    return apply(rows, errors);
  }
}

template Rows<SqlTime> MfpStep::apply(const Rows<SqlTime>&, ErrorUpdates<SqlTime>&) const;
template Rows<LoopTime> MfpStep::apply(const Rows<LoopTime>&, ErrorUpdates<LoopTime>&) const;

}  // namespace freshet::compute
