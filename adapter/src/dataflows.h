// SPDX-License-Identifier: Apache-2.0
/// `Dataflows`: the lifecycle of dataflows in compute and of the collections they read and write.
///
/// It plans relations into descriptions, creates and drops them with the holds they need, and knows which
/// indexes exist and from when on each is readable.
///
/// Thread safety: all methods.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <variant>

#include <freshet/sql/physical.h>
#include <freshet/sql/plan.h>

#include "catalog.h"
#include "compute_client.h"
#include "holds.h"
#include "inline_views.h"
#include "lookup.h"

namespace freshet::adapter {

struct Services;

/// How a one-off read is carried out.
struct ConstantRead {
  std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
  std::optional<Error> error{};
};
struct PeekRead {
  std::variant<compute_api::Peek::Index, compute_api::Peek::Collection> target;
  GlobalId id;  ///< The index or collection.
  expr::Mfp mfp;
};
struct DataflowRead {
  expr::DataflowDescription dataflow;  ///< as_of and until not yet set.
  GlobalId index;                      ///< The transient index to peek.
};
struct ReadPlan {
  std::variant<ConstantRead, PeekRead, DataflowRead> how;
  std::vector<repr::ColumnType> types;
  /// What must be readable at the time of the read.
  std::vector<GlobalId> imports{};
};

class Dataflows {
 public:
  explicit Dataflows(Services& services) : services_(services) {}

  /// Plans a one-off read at `time`, with mz_now() and session values substituted already.
  Result<ReadPlan> plan_read(const expr::Relation& relation, const Catalog& catalog,
                             const std::map<GlobalId, storage_api::CollectionUpdates>* overlay,
                             repr::SqlTime time, Viewer viewer);

  /// A SELECT with parameters that looks up one key of an index over tables; null for any other, and where compute
  /// has no such lookups. `later`: it will have, once the index that was just created is there.
  std::unique_ptr<LookupPlan> plan_lookup(const sql::SelectPlan& select, const Catalog& catalog, bool& later);

  /// Counts the indexes that came and went: which index a plan can use depends on it.
  [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// A description that maintains `relation` as `id`; exports and times are the caller's.
  Result<expr::DataflowDescription> plan_maintained(std::string name, GlobalId id,
                                                    const expr::Relation& relation,
                                                    const Catalog& catalog,
                                                    std::optional<repr::SqlTime> indexes_readable_at);

  /// The text of EXPLAIN for a one-off read of the relation.
  Result<std::string> explain(const expr::Relation& relation, const Catalog& catalog,
                              sql::ExplainPlan::Stage stage);

  /// The error with which the relation cannot be kept up to date, if it cannot.
  Result<void> check_maintained(const expr::Relation& relation, const Catalog& catalog);

  /// Starts an index, or a materialized view (whose collection exists), reading as of `as_of`.
  Result<void> start_index(const CatalogEntry& index, const Catalog& catalog, repr::SqlTime as_of);
  Result<void> start_view(const CatalogEntry& view, const Catalog& catalog, repr::SqlTime as_of);
  void drop_export(GlobalId id);

  /// An index has read what was there when it began: its inputs may lose that history.
  void on_index_frontier(GlobalId id);
  /// A collection of storage has moved: a view's holds on its inputs follow its durable upper.
  void on_storage_frontiers(GlobalId id, const storage_api::Frontiers& frontiers);

  /// Sends a description with its exports scheduled.
  void create(expr::DataflowDescription dataflow);

 private:
  [[nodiscard]] sql::DataflowInputs inputs(const Catalog& catalog, const std::set<GlobalId>& roots,
                                           std::optional<repr::SqlTime> time) const;
  Result<ReadPlan> plan_transient(const expr::Relation& inlined, sql::DataflowInputs inputs, sql::Interrupt interrupt = {});

  // A view is read through an index of its own if it has one.
  [[nodiscard]] static InlineOptions keep_indexed(const sql::DataflowInputs& inputs);

  Services& services_;
  std::atomic<std::uint64_t> version_{0};
  mutable std::mutex mutex_;
  std::map<GlobalId, std::set<GlobalId>> live_indexes_;  ///< By what they are on.
  std::map<GlobalId, Hold> view_holds_;
  std::map<GlobalId, Hold> index_holds_;  ///< Until the index has read what was there at its as_of.
};

}  // namespace freshet::adapter
