// SPDX-License-Identifier: Apache-2.0
/// Writes plans; the counterpart of PlanReader. Node tags are the numbers in plan_tags.h.
#pragma once

#include <freshet/base/bytes.h>
#include <freshet/expr/dataflow.h>

namespace freshet::expr {

class PlanWriter {
 public:
  void scalar(const Scalar& scalar);
  void scalars(const std::vector<Scalar>& all);
  void mfp(const Mfp& mfp);
  void relation(const Relation& relation);
  void lir(const Lir& lir);
  void dataflow(const DataflowDescription& dataflow);
  base::ByteWriter& out() { return out_; }

 private:
  friend struct LirWriter;
  friend struct RelationWriter;

  void type(const repr::SqlType& type);
  void column_type(const repr::ColumnType& type);
  void column_types(const std::vector<repr::ColumnType>& types);
  void relation_type(const repr::RelationType& type);
  void desc(const repr::RelationDesc& desc);
  void datum(const repr::Datum& datum, const repr::SqlType& type);
  void error(const Error& error);
  void positions(const std::vector<std::size_t>& columns);
  void global_id(GlobalId id);
  void any_id(const std::variant<GlobalId, LocalId>& id);
  void optional_scalar(const std::optional<Scalar>& scalar);
  void aggregate(const Aggregate& aggregate);
  void aggregates(const std::vector<Aggregate>& all);
  void equivalences(const std::vector<std::vector<Scalar>>& classes);
  void order(const std::vector<ColumnOrder>& order);
  void rows(const std::vector<std::pair<repr::DatumRow, repr::Diff>>& rows,
            const std::vector<repr::ColumnType>& types);
  void optional_error(const std::optional<Error>& error);
  void limit(const std::optional<std::uint64_t>& limit);
  void stages(const std::vector<JoinStage>& stages);
  void join_plan(const std::variant<LinearJoin, DeltaJoin>& plan);

  base::ByteWriter out_;
};

}  // namespace freshet::expr
