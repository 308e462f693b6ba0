// SPDX-License-Identifier: Apache-2.0
/// What a WITH clause binds, to be put around the query it belongs to.
#pragma once

#include <optional>
#include <vector>

#include "binder.h"

namespace freshet::sql {

struct Binder::WithBindings {
  struct Item {
    std::vector<std::uint64_t> ids{};
    std::vector<HirRelationPtr> values{};
    bool recursive = false;
    std::optional<std::uint64_t> limit{};
    bool return_at_limit = false;
  };
  std::vector<Item> items{};
};

}  // namespace freshet::sql
