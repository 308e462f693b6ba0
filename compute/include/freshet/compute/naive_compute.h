// SPDX-License-Identifier: Apache-2.0
/// The naive engine: a `Compute` that recomputes every collection from its accumulated inputs.
///
/// For tests: it evaluates the unoptimised plans with expr's interpreter and shares no code with the dataflow
/// engine, so the two can judge each other. It keeps every update of its inputs at or after the time that
/// AllowCompaction left readable.
///
/// Cost: each answer and each step of a sink evaluates the whole plan.
/// Limit: rows that mz_now() makes visible and takes away again between two looks of a sink can be missed
/// when nothing else tells the two looks apart.
#pragma once

#include <memory>

#include <freshet/base/log.h>
#include <freshet/base/scheduler.h>
#include <freshet/compute_api/compute.h>
#include <freshet/storage_api/storage.h>

namespace freshet::compute {

struct NaiveComputeOptions {
  base::Scheduler& scheduler;
  storage_api::Storage& storage;
  base::Logger& logger;
};

/// Destroying it drops what it still had to do; scheduler, storage and logger must outlive it.
std::unique_ptr<compute_api::Compute> make_naive_compute(NaiveComputeOptions options);

}  // namespace freshet::compute
