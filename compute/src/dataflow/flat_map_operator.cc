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

FlatMapStep::Expanded FlatMapStep::expand(const repr::Chunk& chunk) const {
  Expanded result;
  std::vector<repr::ColumnPtr> arguments;
  for (const expr::Scalar& argument : arguments_) {
    expr::Evaluated value = expr::evaluate(argument, chunk.columns, chunk.rows);
    arguments.push_back(std::move(value.column));
    result.errors.merge(value.errors);
  }
  std::vector<repr::ColumnBuilder> builders;
  for (std::size_t c = input_types_.size(); c < wide_types_.size(); ++c) {
    builders.emplace_back(wide_types_[c].type.physical());
  }
  std::vector<repr::DatumRow> produced;
  for (std::uint32_t row = 0; row < chunk.rows; ++row) {
    if (result.errors.find(row) != nullptr) continue;
    repr::DatumRow values;
    bool has_null = false;
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      values.push_back(arguments[a]->datum(row, argument_types_[a]));
      has_null = has_null || values.back().is_null();
    }
    if (has_null && function_->strict) continue;
    produced.clear();
    const Result<void> done = function_->apply(values, argument_types_, produced);
    if (!done) {
      result.errors.add(row, done.error());
      continue;
    }
    for (std::size_t i = 0; i < produced.size(); ++i) {
      result.rows.push_back(row);
      for (std::size_t c = 0; c < produced[i].size(); ++c) {
        builders[c].append(produced[i][c], wide_types_[input_types_.size() + c].type);
      }
      if (with_ordinality_) builders.back().values<std::vector<std::int64_t>>().push_back(static_cast<std::int64_t>(i) + 1);
    }
  }
  for (const repr::ColumnPtr& column : chunk.columns) {
    result.columns.push_back(column == nullptr ? nullptr : repr::gather(*column, result.rows));
  }
  for (repr::ColumnBuilder& builder : builders) result.columns.push_back(builder.finish());
  return result;
}

}  // namespace freshet::compute
