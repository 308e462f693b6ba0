// SPDX-License-Identifier: Apache-2.0
/// Physical planning: relations to LIR, dataflow descriptions, and reads that need no dataflow.
///
///     Relation optimized = FRESHET_TRY(optimize(raw));
///     if (auto fast = fast_path(optimized, oracle)) …  // a peek
///     DataflowDescription flow = FRESHET_TRY(build_dataflow({.name = "v", …}));
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/dataflow.h>
#include <freshet/sql/optimizer.h>

namespace freshet::sql {

struct PhysicalOptions {
  /// Use delta joins even where an input must be arranged for it.
  bool eager_delta_joins = false;
  /// One operator for each node, no fusion and no choice: the LIR of an unoptimised plan then gives
  /// exactly the naive engine's oks and errs.
  bool literal = false;
};

/// LIR of a relation. Works for unoptimised relations too (with `literal`: errs equal as well).
/// Errors: 0A000 for mz_now() where no temporal filter can be made of it; 54001.
Result<expr::LirPtr> lower_physical(const expr::Relation& relation, const IndexOracle& indexes,
                                    const PhysicalOptions& options = {});

/// A one-off read that needs no dataflow.
struct FastPath {
  struct Constant {
    std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
    std::optional<Error> error{};
  };
  /// Through an index; `seek`: only these key values, which have the types of the index's key.
  struct Index {
    expr::GlobalId id;
    expr::GlobalId on;
    std::optional<std::vector<repr::DatumRow>> seek{};
    expr::Mfp mfp;
  };
  /// A collection as it is stored.
  struct Collection {
    expr::GlobalId id;
    expr::Mfp mfp;
  };
  std::variant<Constant, Index, Collection> plan;
  std::vector<repr::ColumnType> types;
};
/// If the (optimised, bound, mz_now() substituted) relation is a constant, or a map-filter-project of one
/// collection that has an index, or is in storage (`is_stored`). Prefers an index that can seek, then
/// any index, then storage.
std::optional<FastPath> fast_path(const expr::Relation& relation, const IndexOracle& indexes,
                                  const std::function<bool(expr::GlobalId)>& is_stored);

/// A read of one key of an index with parameters left open, planned once for all their values.
struct OpenLookup {
  expr::GlobalId index;
  /// One for each part of the index's key, over parameters alone. `key_value` makes the part of its value.
  std::vector<expr::Scalar> key;
  std::vector<repr::SqlType> key_types;
  expr::Mfp mfp;  ///< What remains to be done with the rows of the key; free of parameters.
  std::vector<repr::ColumnType> types;
};
/// If the relation (optimised, with parameters) is a map-filter-project of one collection whose filter gives every
/// part of the key of an index on it one value. No row has a key with a NULL part.
std::optional<OpenLookup> open_lookup(const expr::Relation& relation, const IndexOracle& indexes);
/// `value` as one of type `to`, equal types up to the width of integers; nothing if no value of `to` equals it.
std::optional<repr::Datum> key_value(const repr::Datum& value, const repr::SqlType& from, const repr::SqlType& to);

/// What `build_dataflow` must know of the collections that a plan reads.
struct DataflowInputs {
  /// Collections in storage that may be imported, with their columns.
  std::map<expr::GlobalId, repr::RelationDesc> stored{};
  /// Indexes of running dataflows that may be imported. A collection read with an index on it is imported
  /// through the index, and then needs not be in `stored`.
  IndexOracle indexes{};
  /// Views without an index of their own: their (unoptimised) definitions are inlined.
  std::map<expr::GlobalId, expr::Relation> views{};
};

struct DataflowRequest {
  std::string name;
  /// The id of the collection that is computed: the object itself, or a transient one.
  expr::GlobalId id;
  expr::Relation relation;  ///< Unoptimised, bound.
  DataflowInputs inputs{};
  /// What to export: indexes on `id`, a sink of it.
  std::map<expr::GlobalId, expr::ArrangementKey> index_exports{};
  std::map<expr::GlobalId, expr::SinkExport> sink_exports{};
  OptimizerOptions optimizer{};
  PhysicalOptions physical{};
};

/// Optimises, lowers and puts together; `as_of` and `until` are the caller's to set. An index on a stored
/// collection: `relation` is a Get of it, and `id` may be that collection's own id.
Result<expr::DataflowDescription> build_dataflow(const DataflowRequest& request);

/// `relation` with the Gets of views replaced by their definitions, all the way down.
Result<expr::Relation> inline_views(const expr::Relation& relation,
                                    const std::map<expr::GlobalId, expr::Relation>& views);

/// EXPLAIN texts.
std::string explain_raw(const expr::Relation& relation);
Result<std::string> explain_optimized(const expr::Relation& relation);
std::string explain_physical(const expr::DataflowDescription& dataflow);
std::string explain_fast_path(const FastPath& plan);

}  // namespace freshet::sql
