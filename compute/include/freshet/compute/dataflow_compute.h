// SPDX-License-Identifier: Apache-2.0
/// The dataflow engine: a `Compute` that keeps its collections up to date with timely and differential.
///
/// Plans (LIR) become operators; indexes are arrangements that dataflows share; reads take snapshots and never
/// enter a dataflow. Nothing polls: a quiet dataflow costs nothing.
///
/// Lifetime: everything in the options outlives it. Destroying it drops what it still had to do.
///
///     auto compute = make_dataflow_compute({scheduler, executor, storage, log, metrics});
///     compute->on_response(handle);
///     compute->send(compute_api::CreateInstance{{.workers = 2}});
#pragma once

#include <cstddef>
#include <memory>

#include <freshet/base/log.h>
#include <freshet/base/metrics.h>
#include <freshet/base/scheduler.h>
#include <freshet/compute_api/compute.h>
#include <freshet/storage_api/storage.h>

namespace timely {
class Executor;
}

namespace freshet::compute {

struct DataflowComputeOptions {
  base::Scheduler& scheduler;
  timely::Executor& executor;
  storage_api::Storage& storage;
  base::Logger& logger;
  base::Metrics& metrics;
  /// 0: as the first CreateInstance says.
  std::size_t workers = 0;
  /// Bytes of a block of an arrangement; small ones are for tests. 0: the default.
  std::size_t block_bytes = 0;
};

std::unique_ptr<compute_api::Compute> make_dataflow_compute(DataflowComputeOptions options);

}  // namespace freshet::compute
