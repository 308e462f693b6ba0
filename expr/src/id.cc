// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/id.h>

namespace freshet::expr {

std::string to_string(GlobalId id) {
  return static_cast<char>(id.kind) + std::to_string(id.number);
}

std::string to_string(LocalId id) { return "l" + std::to_string(id.number); }

}  // namespace freshet::expr
