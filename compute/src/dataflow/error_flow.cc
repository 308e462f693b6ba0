// SPDX-License-Identifier: Apache-2.0
#include "dataflow/error_flow.h"

namespace freshet::compute {

repr::DatumRow datum_row(const repr::Chunk& chunk, std::size_t row, std::span<const repr::ColumnType> types) {
  repr::DatumRow values;
  values.reserve(types.size());
  for (std::size_t c = 0; c < types.size(); ++c) {
    values.push_back(chunk.columns[c] == nullptr ? repr::Datum() : chunk.columns[c]->datum(row, types[c].type));
  }
  return values;
}

std::optional<repr::DatumRow> known_key(const expr::ArrangementKey& key, const ColumnTypes& types,
                                        const expr::ErrorRow& row) {
  repr::DatumRow result;
  for (const expr::Scalar& scalar : key) {
    expr::PartialValue value = expr::evaluate_partial(scalar, row.known, types);
    if (!value.is_value()) return std::nullopt;
    result.push_back(std::move(value.value));
  }
  return result;
}

}  // namespace freshet::compute
