// SPDX-License-Identifier: Apache-2.0
/// `Adapter`: catalog, timestamps, transactions and sessions over a storage and a compute.
///
/// There is no central loop: sessions plan as tasks of their own against immutable catalog snapshots, and
/// share small services (oracle, read holds, committer, catalog writer).
///
/// Thread safety: all methods.
#pragma once

#include <memory>

#include <freshet/adapter/session.h>
#include <freshet/base/log.h>
#include <freshet/base/metrics.h>
#include <freshet/compute_api/compute.h>
#include <freshet/storage_api/storage.h>

namespace freshet::adapter {

struct AdapterConfig {
  std::string version = "0.1.0";
  std::uint32_t workers = 1;
  std::uint32_t max_connections = 5000;
  std::uint64_t max_result_bytes = 1ULL << 30;
  /// False: no materialized view (55000 to who reads it) and no index is started; they can be dropped.
  bool maintain = true;
  /// Seeds process ids, secrets and peek ids.
  std::uint64_t seed = 0;
};

struct AdapterEnvironment {
  base::Scheduler& scheduler;
  storage_api::Storage& storage;
  compute_api::Compute& compute;
  base::Logger& log;
  base::Metrics& metrics;
};

class Adapter {
 public:
  virtual ~Adapter() = default;

  /// Reads the catalog (making it at the first start), brings every collection, index and view back to
  /// life, and resolves when sessions may come.
  static base::Future<std::unique_ptr<Adapter>> start(AdapterEnvironment environment,
                                                      AdapterConfig config);

  /// 53300 above the limit, 3D000 for a database that is not there.
  virtual Result<std::unique_ptr<Session>> new_session(SessionStartup startup) = 0;
  /// As a CancelRequest: nothing if the pair is unknown.
  virtual void cancel(std::uint32_t process_id, std::uint32_t secret_key) = 0;
  /// Cancels what runs and waits for commits under way.
  virtual base::Future<base::Unit> shutdown() = 0;
};

}  // namespace freshet::adapter
