// SPDX-License-Identifier: Apache-2.0
/// What stands in the system relations that are not empty.
#pragma once

#include "catalog.h"

namespace freshet::adapter {

using SystemRows = std::vector<repr::DatumRow> (*)(const SystemScope& scope);

/// The function that fills a relation; one that gives nothing for relations without content.
SystemRows system_rows(std::string_view schema, std::string_view name);

}  // namespace freshet::adapter
