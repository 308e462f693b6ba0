// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/lir.h>

#include <algorithm>

namespace freshet::expr {

ArrangementLayout arrangement_layout(const std::vector<repr::ColumnType>& types, const ArrangementKey& key) {
  ArrangementLayout layout;
  layout.key = key;
  std::vector<std::size_t> in_key(types.size(), SIZE_MAX);
  for (std::size_t k = 0; k < key.size(); ++k) {
    layout.key_types.push_back(key[k].type());
    const auto* column = key[k].as<Scalar::Column>();
    if (column == nullptr) continue;
    FRESHET_ASSERT(column->index < types.size(), column->index, types.size());
    if (has_forms(types[column->index].type) || in_key[column->index] != SIZE_MAX) continue;
    in_key[column->index] = k;
  }
  for (std::size_t c = 0; c < types.size(); ++c) {
    if (in_key[c] != SIZE_MAX) {
      layout.columns.push_back({true, in_key[c]});
      continue;
    }
    layout.columns.push_back({false, layout.value_columns.size()});
    layout.value_columns.push_back(c);
    layout.value_types.push_back(types[c]);
  }
  return layout;
}

}  // namespace freshet::expr
