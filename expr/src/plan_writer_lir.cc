// SPDX-License-Identifier: Apache-2.0
#include "plan_tags.h"
#include "plan_writer.h"

namespace freshet::expr {

void PlanWriter::stages(const std::vector<JoinStage>& stages) {
  out_.varint(stages.size());
  for (const JoinStage& stage : stages) {
    out_.varint(stage.input);
    scalars(stage.lookup_key);
    scalars(stage.stream_key);
    mfp(stage.after);
  }
}

void PlanWriter::join_plan(const std::variant<LinearJoin, DeltaJoin>& plan) {
  const auto* linear = std::get_if<LinearJoin>(&plan);
  out_.boolean(linear != nullptr);
  if (linear != nullptr) {
    out_.varint(linear->source);
    out_.boolean(linear->source_key.has_value());
    if (linear->source_key) scalars(*linear->source_key);
    mfp(linear->initial);
    return stages(linear->stages);
  }
  const auto& paths = std::get_if<DeltaJoin>(&plan)->paths;
  out_.varint(paths.size());
  for (const DeltaJoin::Path& path : paths) {
    out_.varint(path.source);
    scalars(path.source_key);
    mfp(path.initial);
    stages(path.stages);
  }
}

struct LirWriter {
  PlanWriter& writer;
  const Lir& lir;
  base::ByteWriter& out = writer.out_;
  void tag(LirTag t) { out.u8(static_cast<std::uint8_t>(t)); }

  void operator()(const Lir::Constant& n) {
    tag(LirTag::kConstant);
    writer.optional_error(n.error);
    writer.rows(n.rows, lir.types);
  }
  void operator()(const Lir::Get& n) {
    tag(LirTag::kGet);
    writer.any_id(n.id);
    out.boolean(n.key.has_value());
    if (n.key) writer.scalars(*n.key);
    out.boolean(n.seek.has_value());
    if (n.seek) {
      std::vector<repr::ColumnType> types;
      for (const Scalar& key : *n.key) types.push_back(key.type());
      std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
      for (const repr::DatumRow& row : *n.seek) rows.emplace_back(row, 1);
      writer.rows(rows, types);
    }
    writer.mfp(n.mfp);
  }
  void operator()(const Lir::Let& n) {
    tag(LirTag::kLet);
    out.varint(n.id.number);
    writer.lir(*n.value);
    writer.lir(*n.body);
  }
  void operator()(const Lir::LetRec& n) {
    tag(LirTag::kLetRec);
    out.varint(n.ids.size());
    for (const LocalId id : n.ids) out.varint(id.number);
    for (const LirPtr& value : n.values) writer.lir(*value);
    writer.lir(*n.body);
    writer.limit(n.limit);
    out.boolean(n.return_at_limit);
  }
  void operator()(const Lir::MapFilterProject& n) {
    tag(LirTag::kMapFilterProject);
    writer.lir(*n.input);
    writer.mfp(n.mfp);
  }
  void operator()(const Lir::FlatMap& n) {
    tag(LirTag::kFlatMap);
    writer.lir(*n.input);
    out.bytes(n.function->signature);
    writer.scalars(n.arguments);
    out.boolean(n.with_ordinality);
    writer.mfp(n.after);
  }
  void operator()(const Lir::Join& n) {
    tag(LirTag::kJoin);
    inputs(n.inputs);
    writer.join_plan(n.plan);
    writer.equivalences(n.equivalences);
    writer.mfp(n.closure);
  }
  void operator()(const Lir::Match& n) {
    tag(LirTag::kMatch);
    out.u8(static_cast<std::uint8_t>(n.kind));
    writer.lir(*n.left);
    writer.lir(*n.right);
    writer.scalars(n.left_key);
    writer.scalars(n.right_key);
    writer.mfp(n.after);
  }
  void operator()(const Lir::Reduce& n) {
    tag(LirTag::kReduce);
    writer.lir(*n.input);
    writer.mfp(n.key_and_values);
    out.varint(n.key_arity);
    writer.aggregates(n.aggregates);
    writer.positions(n.plan.accumulable);
    writer.positions(n.plan.extrema);
    writer.positions(n.plan.ordered);
    writer.mfp(n.after);
  }
  void operator()(const Lir::TopK& n) {
    tag(LirTag::kTopK);
    writer.lir(*n.input);
    writer.positions(n.group_key);
    writer.order(n.order);
    writer.optional_scalar(n.limit);
    out.varint(n.offset);
  }
  void operator()(const Lir::Negate& n) {
    tag(LirTag::kNegate);
    writer.lir(*n.input);
  }
  void operator()(const Lir::Threshold& n) {
    tag(LirTag::kThreshold);
    writer.lir(*n.input);
  }
  void operator()(const Lir::Union& n) {
    tag(LirTag::kUnion);
    inputs(n.inputs);
    out.boolean(n.consolidate);
  }
  void operator()(const Lir::ArrangeBy& n) {
    tag(LirTag::kArrangeBy);
    writer.lir(*n.input);
    writer.equivalences(n.keys);
  }

 private:
  void inputs(const std::vector<LirPtr>& all) {
    out.varint(all.size());
    for (const LirPtr& input : all) writer.lir(*input);
  }
};

void PlanWriter::lir(const Lir& lir) {
  column_types(lir.types);
  std::visit(LirWriter{*this, lir}, lir.node);
}

void PlanWriter::dataflow(const DataflowDescription& d) {
  out_.bytes(d.name);
  out_.varint(d.sources.size());
  for (const auto& [id, source] : d.sources) {
    global_id(id);
    desc(source.desc);
  }
  out_.varint(d.indexes.size());
  for (const auto& [id, index] : d.indexes) {
    global_id(id);
    global_id(index.on);
    scalars(index.key);
    relation_type(index.type);
  }
  out_.varint(d.objects.size());
  for (const ObjectPlan& object : d.objects) {
    global_id(object.id);
    relation(object.raw);
    relation(object.optimized);
    lir(*object.lir);
  }
  out_.varint(d.index_exports.size());
  for (const auto& [id, index] : d.index_exports) {
    global_id(id);
    global_id(index.on);
    scalars(index.key);
    relation_type(index.type);
  }
  out_.varint(d.sink_exports.size());
  for (const auto& [id, sink] : d.sink_exports) {
    global_id(id);
    out_.u8(static_cast<std::uint8_t>(sink.kind));
    global_id(sink.from);
    desc(sink.desc);
    out_.boolean(sink.with_snapshot);
  }
  out_.u64(d.as_of);
  out_.u64(d.until);
}

}  // namespace freshet::expr
