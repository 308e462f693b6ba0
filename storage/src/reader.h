// SPDX-License-Identifier: Apache-2.0
/// Joins what a ledger reader delivers (durable) with what the write group promises (logical).
#pragma once

#include <memory>

#include "write_group.h"

namespace freshet::storage {

/// Opens a reader once the published upper of `id` exceeds `as_of`, asking for it.
base::Future<std::unique_ptr<storage_api::CollectionReader>> open_collection_reader(
    base::Scheduler& scheduler, std::shared_ptr<WriteGroup> group, GlobalId id, SqlTime as_of);

}  // namespace freshet::storage
