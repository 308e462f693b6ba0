// SPDX-License-Identifier: Apache-2.0
#include "dataflow/constant_operator.h"

namespace freshet::compute {

ConstantParts constant_parts(const expr::Lir::Constant& node, const ColumnTypes& types, SqlTime time) {
  ConstantParts parts;
  if (node.error) {
    const expr::ErrorRow row = expr::ErrorRow::unknown(types.size(), *node.error);
    parts.errors.push_back({expr::encode_error_row(row, types), time, 1});
    return parts;
  }
  std::vector<repr::DatumRow> rows;
  for (const auto& [row, diff] : node.rows) {
    rows.push_back(row);
    parts.rows.chunk.diffs.push_back(diff);
  }
  std::vector<Diff> diffs = std::move(parts.rows.chunk.diffs);
  parts.rows.chunk = repr::chunk_from_rows(rows, types, time);
  parts.rows.chunk.diffs = std::move(diffs);
  return parts;
}

}  // namespace freshet::compute
