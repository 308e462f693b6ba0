// SPDX-License-Identifier: Apache-2.0
/// Reads what PlanWriter wrote, checking everything a builder would assert.
#pragma once

#include <freshet/base/bytes.h>
#include <freshet/expr/codec.h>

#include "plan_tags.h"

namespace freshet::expr {

class PlanReader {
 public:
  explicit PlanReader(base::BytesView bytes) : in_(bytes) {}

  Result<Scalar> scalar();
  Result<std::vector<Scalar>> scalars();
  Result<Mfp> mfp();
  Result<Relation> relation();
  Result<LirPtr> lir();
  Result<DataflowDescription> dataflow();
  /// The version byte in front; the end behind.
  Result<void> begin();
  Result<void> end();

 private:
  friend struct DepthGuard;
  using Columns = std::vector<repr::ColumnType>;

  /// kCorrupt if a read went past the end.
  Result<void> ok() const;
  static base::Unexpected corrupt(std::string_view what);
  /// A count of things that take at least a byte each.
  std::size_t count();

  repr::SqlType type();
  /// As it is; the reader turns bad if its values have no bytes.
  repr::SqlType with_bytes(repr::SqlType type);
  repr::ColumnType column_type();
  Columns column_types();
  Result<repr::RelationType> relation_type();
  Result<repr::RelationDesc> desc();
  Result<repr::Datum> datum(const repr::SqlType& type);
  Error error();
  std::optional<Error> optional_error();
  std::vector<std::size_t> positions();
  GlobalId global_id();
  LocalId local_id() { return {in_.varint()}; }
  std::variant<GlobalId, LocalId> any_id();
  std::optional<std::uint64_t> limit();
  Result<Scalar> call();
  Result<Scalar> node(ScalarTag tag);
  Result<std::optional<Scalar>> optional_scalar();
  Result<Aggregate> aggregate();
  Result<std::vector<Aggregate>> aggregates();
  Result<std::vector<std::vector<Scalar>>> equivalences();
  std::vector<ColumnOrder> order();
  Result<std::vector<std::pair<repr::DatumRow, repr::Diff>>> rows(const Columns& types);

  Result<std::vector<Relation>> relations(std::size_t count);
  Result<Relation> relation_node(RelationTag tag);
  Result<Relation> read_constant();
  Result<Relation> read_let_rec();
  Result<Relation> read_flat_map();
  Result<Relation> read_join();
  Result<Relation> read_match();
  Result<Relation> read_reduce();
  Result<Relation> read_top_k();

  Result<std::vector<LirPtr>> lirs(std::size_t count);
  Result<LirPtr> lir_node(LirTag tag, Columns types);
  Result<std::vector<JoinStage>> stages();
  Result<std::variant<LinearJoin, DeltaJoin>> join_plan();
  Result<LirPtr> read_get(Columns types);
  Result<LirPtr> read_lir_let_rec(Columns types);
  Result<LirPtr> read_lir_match(Columns types);
  Result<LirPtr> read_lir_reduce(Columns types);
  Result<LirPtr> read_lir_flat_map(Columns types);

  base::ByteReader in_;
  std::size_t depth_ = 0;
};

/// Every column exists and lies in memory as the scalar thinks.
Result<void> check_columns(const Scalar& scalar, const std::vector<repr::ColumnType>& columns);
Result<void> check_columns(const std::vector<Scalar>& all, const std::vector<repr::ColumnType>& columns);

struct DepthGuard {
  explicit DepthGuard(PlanReader& r) : reader(r) { ++reader.depth_; }
  ~DepthGuard() { --reader.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  [[nodiscard]] Result<void> check() const;
  PlanReader& reader;
};

}  // namespace freshet::expr
