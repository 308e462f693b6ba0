// SPDX-License-Identifier: Apache-2.0
/// The types of columns, without what else is known of them: `RowCodec codec(sql_types(desc.type.columns))`.
#pragma once

#include <span>
#include <vector>

#include <freshet/repr/types.h>

namespace freshet::repr {

inline std::vector<SqlType> sql_types(std::span<const ColumnType> columns) {
  std::vector<SqlType> types;
  types.reserve(columns.size());
  for (const ColumnType& column : columns) types.push_back(column.type);
  return types;
}

}  // namespace freshet::repr
