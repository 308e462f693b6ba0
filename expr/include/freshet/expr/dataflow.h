// SPDX-License-Identifier: Apache-2.0
/// `DataflowDescription`: everything an engine needs to keep some collections up to date.
///
/// It carries each plan three times: unoptimised IR (what the naive engine runs), optimised IR (EXPLAIN) and
/// LIR (what the dataflow engine renders).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <freshet/expr/lir.h>

namespace freshet::expr {

/// A durable collection read by the dataflow.
struct SourceImport {
  repr::RelationDesc desc;
};

/// An index of another dataflow, used in place of its collection.
struct IndexImport {
  GlobalId on;  ///< The collection it indexes.
  ArrangementKey key;
  repr::RelationType type;
};

struct ObjectPlan {
  GlobalId id;
  Relation raw;
  Relation optimized;
  LirPtr lir;
};

struct IndexExport {
  GlobalId on;
  ArrangementKey key;
  repr::RelationType type;
};

struct SinkExport {
  enum class Kind : std::uint8_t { kMaterializedView, kSubscribe };
  Kind kind;
  GlobalId from;
  repr::RelationDesc desc;
  /// Subscribe: false leaves out the state at as_of and sends changes only.
  bool with_snapshot = true;
};

struct DataflowDescription {
  std::string name;
  std::map<GlobalId, SourceImport> sources{};
  std::map<GlobalId, IndexImport> indexes{};
  std::vector<ObjectPlan> objects{};  ///< Each may read imports and the objects before it.
  std::map<GlobalId, IndexExport> index_exports{};
  std::map<GlobalId, SinkExport> sink_exports{};
  /// Inputs are read as of this time; outputs are right from it on.
  repr::SqlTime as_of = 0;
  /// Changes at or after this time are not wanted (a one-off read ends here).
  repr::SqlTime until = repr::kClosed;

  /// Every id it imports.
  [[nodiscard]] std::vector<GlobalId> imports() const;
  [[nodiscard]] std::vector<GlobalId> exports() const;
};

}  // namespace freshet::expr
