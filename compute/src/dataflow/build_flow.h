// SPDX-License-Identifier: Apache-2.0
/// Builds the timely dataflow of a description.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include <differential/arrange.h>
#include <freshet/expr/dataflow.h>
#include <timely/runtime.h>

#include "dataflow/collector.h"
#include "dataflow/future_times.h"
#include "dataflow/rows.h"
#include "dataflow/row_layout.h"
#include "dataflow/source_queue.h"

namespace freshet::compute {

using RowTraceHandle = differential::TraceHandle<differential::RowTrace<SqlTime>>;

/// An index while it exists: one arrangement for rows, one for error rows (see kKnownKey).
/// Thread safety: that of TraceHandle.
struct IndexTraces {
  std::shared_ptr<const Arranger> arranger;
  RowTraceHandle oks;
  RowTraceHandle errs;
};

struct FlowCallbacks {
  /// There is room in the queue of a source. Any thread.
  std::function<void(expr::GlobalId)> on_room;
  /// Everything of an export below the time was computed. On a worker.
  std::function<void(expr::GlobalId, SqlTime)> on_upper;
  /// What was stored cannot be decoded: the dataflow goes no further. On a worker.
  std::function<void(Error)> on_failure;
};

struct BuiltFlow {
  timely::Dataflow dataflow;
  std::map<expr::GlobalId, std::shared_ptr<SourceQueue>> queues{};
  std::map<expr::GlobalId, std::shared_ptr<IndexTraces>> indexes{};
  std::map<expr::GlobalId, std::shared_ptr<Collector>> collectors{};
  std::shared_ptr<FutureTimes> futures = std::make_shared<FutureTimes>();
};

struct FlowOptions {
  std::size_t block_bytes;
};

/// `imported` holds the traces of every index that the description imports, readable at its as_of.
BuiltFlow build_flow(timely::Runtime& runtime, const expr::DataflowDescription& description,
                     const std::map<expr::GlobalId, std::shared_ptr<IndexTraces>>& imported,
                     const FlowCallbacks& callbacks, FlowOptions options);

/// The columns of each source that some node needs, ascending.
std::map<expr::GlobalId, std::vector<std::size_t>> source_demand(const expr::DataflowDescription& description);

}  // namespace freshet::compute
