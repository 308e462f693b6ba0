// SPDX-License-Identifier: Apache-2.0
#include "dataflow/row_layout.h"

#include <algorithm>
#include <numeric>

namespace freshet::compute {

using repr::BytesVector;
using repr::ColumnPtr;

void KeyEncoder::encode(std::span<const ColumnPtr> columns, std::size_t rows, BytesVector& out) const {
  if (!codec_.has_forms()) return codec_.encode(columns, 0, rows, out);
  BytesVector whole;
  codec_.encode(columns, 0, rows, whole);
  for (std::size_t i = 0; i < rows; ++i) out.push_back(of_row(whole[i]));
}

std::string KeyEncoder::encode(const repr::DatumRow& key) const {
  std::string row = codec_.encode(key);
  row.resize(of_row(row).size());
  return row;
}

Arranger::Arranger(ColumnTypes types, expr::ArrangementKey key)
    : types_(std::move(types)),
      layout_(expr::arrangement_layout(types_, key)),
      key_encoder_(layout_.key_types),
      value_codec_(sql_types(layout_.value_types)) {}

Arranger::Encoded Arranger::encode(const repr::Chunk& chunk, bool find_null_keys) const {
  Encoded result;
  std::vector<ColumnPtr> keys;
  for (const expr::Scalar& scalar : layout_.key) {
    if (const auto* column = scalar.as<expr::Scalar::Column>()) {
      keys.push_back(chunk.columns[column->index]);
      continue;
    }
    expr::Evaluated value = expr::evaluate(scalar, chunk.columns, chunk.rows);
    keys.push_back(std::move(value.column));
    result.errors.merge(value.errors);
  }
  std::vector<ColumnPtr> values;
  for (const std::size_t column : layout_.value_columns) values.push_back(chunk.columns[column]);
  std::size_t rows = chunk.rows;
  if (!result.errors.empty()) {
    auto failed = result.errors.entries.begin();
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (failed != result.errors.entries.end() && failed->row == row) {
        ++failed;
      } else {
        result.rows.push_back(row);
      }
    }
    for (ColumnPtr& column : keys) column = repr::gather(*column, result.rows);
    for (ColumnPtr& column : values) column = repr::gather(*column, result.rows);
    rows = result.rows.size();
  }
  key_encoder_.encode(keys, rows, result.keys);
  value_codec_.encode(values, 0, rows, result.values);
  if (!find_null_keys) return result;
  for (const ColumnPtr& column : keys) {
    if (!column->has_nulls()) continue;
    result.has_null_key.resize(rows, 0);
    for (std::size_t i = 0; i < rows; ++i) {
      if (column->is_null(i)) result.has_null_key[i] = 1;
    }
  }
  return result;
}

ArrangedDecoder::ArrangedDecoder(const expr::ArrangementLayout& layout, std::span<const std::size_t> wanted)
    : arity_(layout.columns.size()) {
  // A decoder wants its columns in ascending order of position.
  std::vector<std::pair<std::size_t, std::size_t>> from_key, from_value;
  for (const std::size_t column : wanted) {
    const expr::ArrangementLayout::Source& source = layout.columns[column];
    (source.in_key ? from_key : from_value).emplace_back(source.position, column);
  }
  const auto make = [](std::vector<std::pair<std::size_t, std::size_t>>& from,
                       const ColumnTypes& types, std::vector<std::size_t>& columns) {
    std::ranges::sort(from);
    std::vector<std::size_t> positions;
    for (const auto& [position, column] : from) {
      positions.push_back(position);
      columns.push_back(column);
    }
    return positions.empty() ? nullptr : std::make_unique<Side>(sql_types(types), std::move(positions));
  };
  key_ = make(from_key, layout.key_types, key_columns_);
  value_ = make(from_value, layout.value_types, value_columns_);
}

void ArrangedDecoder::append(std::string_view key, std::string_view value) {
  const bool decoded = try_append(key, value);
  FRESHET_ASSERT(decoded);
}

bool ArrangedDecoder::try_append(std::string_view key, std::string_view value) {
  if (key_ != nullptr && !key_->decoder.try_append(key)) return false;
  if (value_ != nullptr && !value_->decoder.try_append(value)) return false;
  ++rows_;
  return true;
}

std::vector<ColumnPtr> ArrangedDecoder::finish() {
  std::vector<ColumnPtr> result(arity_);
  const auto take = [&](Side* side, const std::vector<std::size_t>& columns) {
    if (side == nullptr) return;
    std::vector<ColumnPtr> decoded = side->decoder.finish();
    for (std::size_t i = 0; i < columns.size(); ++i) result[columns[i]] = std::move(decoded[i]);
  };
  take(key_.get(), key_columns_);
  take(value_.get(), value_columns_);
  rows_ = 0;
  return result;
}

}  // namespace freshet::compute
