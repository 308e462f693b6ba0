// SPDX-License-Identifier: Apache-2.0
/// The names, OIDs and columns of PostgreSQL 15's system relations.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace freshet::adapter {

struct SystemShape {
  std::string_view schema;
  std::string_view name;
  std::uint32_t oid;
  /// "name type, name type!, …": `!` is NOT NULL.
  std::string_view columns;
};

const std::vector<SystemShape>& pg_catalog_shapes();

}  // namespace freshet::adapter
