// SPDX-License-Identifier: Apache-2.0
/// The one implementation of `storage_api::Storage`, over whichever ledger.
#pragma once

#include <freshet/storage/storage.h>

#include "ledger.h"

namespace freshet::storage {

base::Future<std::unique_ptr<storage_api::Storage>> make_storage(StorageEnvironment environment,
                                                                 std::unique_ptr<Ledger> ledger);

}  // namespace freshet::storage
