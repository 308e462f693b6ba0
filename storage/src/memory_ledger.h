// SPDX-License-Identifier: Apache-2.0
/// A ledger that keeps everything in memory and nothing beyond the process; for tests.
///
/// Space: every update ever written; `allow_compaction` only moves the since.
#pragma once

#include "ledger.h"

namespace freshet::storage {

std::unique_ptr<Ledger> make_memory_ledger(base::Scheduler& scheduler);

}  // namespace freshet::storage
