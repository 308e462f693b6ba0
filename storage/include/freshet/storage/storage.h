// SPDX-License-Identifier: Apache-2.0
/// The two implementations of `storage_api::Storage`.
///
/// `durable` writes through persist and survives the process; `memory` keeps every update in memory, without
/// persist, for tests. Both run the same tables, ingestions and readers; they differ in the ledger below.
///
///     make_durable_storage({scheduler, log}, client)
///         .on_ready(strand, [](Result<std::unique_ptr<storage_api::Storage>> storage) { … });
///
/// Lifetime: scheduler, log and client outlive the storage, and the scheduler its last task.
#pragma once

#include <memory>

#include <freshet/base/log.h>
#include <freshet/persist/client.h>
#include <freshet/storage_api/storage.h>

namespace freshet::storage {

struct StorageEnvironment {
  base::Scheduler& scheduler;
  base::Logger& log;
};

/// Opens the group of tables and becomes its writer: an earlier process that still runs is fenced.
base::Future<std::unique_ptr<storage_api::Storage>> make_durable_storage(
    StorageEnvironment environment, persist::PersistClient& client);

base::Future<std::unique_ptr<storage_api::Storage>> make_memory_storage(
    StorageEnvironment environment);

}  // namespace freshet::storage
