// SPDX-License-Identifier: Apache-2.0
#include "dataflow/flat_map_operator.h"

#include <freshet/expr/eval.h>

namespace freshet::compute {

FlatMapStep::FlatMapStep(const expr::Lir::FlatMap& node, ColumnTypes input_types)
    : function_(node.function),
      arguments_(node.arguments),
      with_ordinality_(node.with_ordinality),
      input_types_(std::move(input_types)),
      wide_types_(input_types_) {
  for (const expr::Scalar& argument : arguments_) argument_types_.push_back(argument.type().type);
  for (const repr::ColumnType& type : function_->result_types(argument_types_)) wide_types_.push_back(type);
  if (with_ordinality_) wide_types_.push_back({repr::TypeKind::kInt8, false});
}

FlatMapStep::Progress FlatMapStep::begin(const repr::Chunk& chunk) const {
  Progress progress;
  for (const expr::Scalar& argument : arguments_) {
    expr::Evaluated value = expr::evaluate(argument, chunk.columns, chunk.rows);
    progress.arguments.push_back(std::move(value.column));
    progress.failed.merge(value.errors);
  }
  return progress;
}

// Goes to a row for which the function is to be called; false if there is none.
bool FlatMapStep::open_row(const repr::Chunk& chunk, Progress& progress) const {
  for (; !progress.open && progress.row < chunk.rows; ++progress.row) {
    if (progress.failed.find(progress.row) != nullptr) continue;
    progress.values.clear();
    bool has_null = false;
    for (std::size_t a = 0; a < progress.arguments.size(); ++a) {
      progress.values.push_back(progress.arguments[a]->datum(progress.row, argument_types_[a]));
      has_null = has_null || progress.values.back().is_null();
    }
    if (has_null && function_->strict) continue;
    progress.at = {};
    progress.open = true;
    return true;
  }
  return progress.open;
}

FlatMapStep::Expanded FlatMapStep::expand(const repr::Chunk& chunk, Progress& progress) const {
  Expanded result;
  std::vector<repr::ColumnBuilder> builders;
  for (std::size_t c = input_types_.size(); c < wide_types_.size(); ++c) {
    builders.emplace_back(wide_types_[c].type.physical());
  }
  std::vector<repr::DatumRow> produced;
  while (result.rows.size() < kChunkRows && open_row(chunk, progress)) {
    produced.clear();
    auto ordinal = static_cast<std::int64_t>(progress.at.rows);
    const Result<void> done = expr::next_rows(*function_, progress.values, argument_types_, progress.at,
                                              kChunkRows - result.rows.size(), produced);
    for (const repr::DatumRow& row : produced) {
      result.rows.push_back(progress.row);
      for (std::size_t c = 0; c < row.size(); ++c) {
        builders[c].append(row[c], wide_types_[input_types_.size() + c].type);
      }
      if (with_ordinality_) builders.back().values<std::vector<std::int64_t>>().push_back(++ordinal);
    }
    if (!done) result.errors.add(progress.row, done.error());
    if (done && !progress.at.done) continue;
    progress.open = false;
    ++progress.row;
  }
  for (const repr::ColumnPtr& column : chunk.columns) {
    result.columns.push_back(column == nullptr ? nullptr : repr::gather(*column, result.rows));
  }
  for (repr::ColumnBuilder& builder : builders) result.columns.push_back(builder.finish());
  return result;
}

}  // namespace freshet::compute
