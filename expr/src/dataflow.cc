// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/dataflow.h>

namespace freshet::expr {

std::vector<GlobalId> DataflowDescription::imports() const {
  std::vector<GlobalId> ids;
  for (const auto& [id, source] : sources) ids.push_back(id);
  for (const auto& [id, index] : indexes) ids.push_back(id);
  return ids;
}

std::vector<GlobalId> DataflowDescription::exports() const {
  std::vector<GlobalId> ids;
  for (const auto& [id, index] : index_exports) ids.push_back(id);
  for (const auto& [id, sink] : sink_exports) ids.push_back(id);
  return ids;
}

}  // namespace freshet::expr
