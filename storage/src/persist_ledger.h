// SPDX-License-Identifier: Apache-2.0
/// The durable ledger: each ledger group is a persist group, each collection a shard.
///
/// A stored row is one tag byte (0: a row, 1: an error row) and the encoded row, so rows keep their order.
#pragma once

#include <freshet/persist/client.h>

#include "ledger.h"

namespace freshet::storage {

std::unique_ptr<Ledger> make_persist_ledger(base::Scheduler& scheduler,
                                            persist::PersistClient& client);

}  // namespace freshet::storage
