// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/sqlstate.h>

#include "plan_reader.h"

namespace freshet::expr {

Result<std::vector<LirPtr>> PlanReader::lirs(std::size_t count) {
  std::vector<LirPtr> out;
  for (; count > 0; --count) out.push_back(FRESHET_TRY(lir()));
  return out;
}

Result<LirPtr> PlanReader::lir() {
  const DepthGuard guard(*this);
  if (auto shallow = guard.check(); !shallow) return fail(shallow.error());
  Columns types = column_types();
  const auto tag = static_cast<LirTag>(in_.u8());
  LirPtr out = FRESHET_TRY(lir_node(tag, std::move(types)));
  if (auto read = ok(); !read) return fail(read.error());
  return out;
}

Result<LirPtr> PlanReader::lir_node(LirTag tag, Columns types) {
  switch (tag) {
    case LirTag::kConstant: {
      std::optional<Error> error = optional_error();
      auto rows = FRESHET_TRY(this->rows(types));
      return make_lir(Lir::Constant{std::move(rows), std::move(error)}, std::move(types));
    }
    case LirTag::kGet:
      return read_get(std::move(types));
    case LirTag::kLet: {
      const LocalId id = local_id();
      std::vector<LirPtr> parts = FRESHET_TRY(lirs(2));
      return make_lir(Lir::Let{id, parts[0], parts[1]}, std::move(types));
    }
    case LirTag::kLetRec:
      return read_lir_let_rec(std::move(types));
    case LirTag::kMapFilterProject: {
      LirPtr input = FRESHET_TRY(lir());
      Mfp step = FRESHET_TRY(mfp());
      return make_lir(Lir::MapFilterProject{std::move(input), std::move(step)}, std::move(types));
    }
    case LirTag::kFlatMap:
      return read_lir_flat_map(std::move(types));
    case LirTag::kJoin: {
      std::vector<LirPtr> inputs = FRESHET_TRY(lirs(count()));
      auto plan = FRESHET_TRY(join_plan());
      auto classes = FRESHET_TRY(equivalences());
      Mfp closure = FRESHET_TRY(mfp());
      return make_lir(Lir::Join{std::move(inputs), std::move(plan), std::move(classes), std::move(closure)},
                      std::move(types));
    }
    case LirTag::kMatch:
      return read_lir_match(std::move(types));
    case LirTag::kReduce:
      return read_lir_reduce(std::move(types));
    case LirTag::kTopK: {
      LirPtr input = FRESHET_TRY(lir());
      std::vector<std::size_t> group_key = positions();
      std::vector<ColumnOrder> order = this->order();
      std::optional<Scalar> limit = FRESHET_TRY(optional_scalar());
      return make_lir(Lir::TopK{std::move(input), std::move(group_key), std::move(order), std::move(limit),
                                in_.varint()},
                      std::move(types));
    }
    case LirTag::kNegate:
      return make_lir(Lir::Negate{FRESHET_TRY(lir())}, std::move(types));
    case LirTag::kThreshold:
      return make_lir(Lir::Threshold{FRESHET_TRY(lir())}, std::move(types));
    case LirTag::kUnion: {
      std::vector<LirPtr> inputs = FRESHET_TRY(lirs(count()));
      return make_lir(Lir::Union{std::move(inputs), in_.boolean()}, std::move(types));
    }
    case LirTag::kArrangeBy: {
      LirPtr input = FRESHET_TRY(lir());
      auto keys = FRESHET_TRY(equivalences());
      return make_lir(Lir::ArrangeBy{std::move(input), std::move(keys)}, std::move(types));
    }
  }
  return corrupt("unknown physical node");
}

Result<LirPtr> PlanReader::read_get(Columns types) {
  Lir::Get get{any_id(), {}, {}, {}};
  if (in_.boolean()) get.key = FRESHET_TRY(scalars());
  if (in_.boolean()) {
    if (!get.key) return corrupt("a seek needs a key");
    Columns key_types;
    for (const Scalar& key : *get.key) key_types.push_back(key.type());
    auto rows = FRESHET_TRY(this->rows(key_types));
    get.seek.emplace();
    for (auto& [row, diff] : rows) get.seek->push_back(std::move(row));
  }
  get.mfp = FRESHET_TRY(mfp());
  return make_lir(std::move(get), std::move(types));
}

Result<LirPtr> PlanReader::read_lir_let_rec(Columns types) {
  Lir::LetRec rec;
  for (std::size_t n = count(); n > 0; --n) rec.ids.push_back(local_id());
  rec.values = FRESHET_TRY(lirs(rec.ids.size()));
  rec.body = FRESHET_TRY(lir());
  rec.limit = limit();
  rec.return_at_limit = in_.boolean();
  return make_lir(std::move(rec), std::move(types));
}

Result<LirPtr> PlanReader::read_lir_flat_map(Columns types) {
  LirPtr input = FRESHET_TRY(lir());
  const base::BytesView signature = in_.bytes();
  std::vector<Scalar> arguments = FRESHET_TRY(scalars());
  const bool with_ordinality = in_.boolean();
  Mfp after = FRESHET_TRY(mfp());
  const TableFunctionSpec* function = table_function_by_signature(signature);
  if (function == nullptr) {
    return fail(sqlstate::kUndefinedFunction, "decode a plan: unknown function " + std::string(signature));
  }
  return make_lir(
      Lir::FlatMap{std::move(input), function, std::move(arguments), with_ordinality, std::move(after)},
      std::move(types));
}

Result<LirPtr> PlanReader::read_lir_match(Columns types) {
  const std::uint8_t kind = in_.u8();
  if (kind > static_cast<std::uint8_t>(MatchKind::kFull)) return corrupt("unknown kind of match");
  std::vector<LirPtr> inputs = FRESHET_TRY(lirs(2));
  Lir::Match match{static_cast<MatchKind>(kind), inputs[0], inputs[1], {}, {}, {}};
  match.left_key = FRESHET_TRY(scalars());
  match.right_key = FRESHET_TRY(scalars());
  match.after = FRESHET_TRY(mfp());
  if (match.left_key.size() != match.right_key.size()) return corrupt("keys of a match differ");
  return make_lir(std::move(match), std::move(types));
}

Result<LirPtr> PlanReader::read_lir_reduce(Columns types) {
  LirPtr input = FRESHET_TRY(lir());
  Lir::Reduce reduce{std::move(input), {}, 0, {}, {}, {}};
  reduce.key_and_values = FRESHET_TRY(mfp());
  reduce.key_arity = in_.varint();
  reduce.aggregates = FRESHET_TRY(aggregates());
  reduce.plan.accumulable = positions();
  reduce.plan.extrema = positions();
  reduce.plan.ordered = positions();
  reduce.after = FRESHET_TRY(mfp());
  if (reduce.key_arity > reduce.key_and_values.output_arity()) return corrupt("key out of range");
  for (const auto* list : {&reduce.plan.accumulable, &reduce.plan.extrema, &reduce.plan.ordered}) {
    for (const std::size_t i : *list) {
      if (i >= reduce.aggregates.size()) return corrupt("aggregate out of range");
    }
  }
  return make_lir(std::move(reduce), std::move(types));
}

Result<std::vector<JoinStage>> PlanReader::stages() {
  std::vector<JoinStage> out;
  for (std::size_t n = count(); n > 0; --n) {
    JoinStage stage{in_.varint(), {}, {}, {}};
    stage.lookup_key = FRESHET_TRY(scalars());
    stage.stream_key = FRESHET_TRY(scalars());
    stage.after = FRESHET_TRY(mfp());
    out.push_back(std::move(stage));
  }
  return out;
}

Result<std::variant<LinearJoin, DeltaJoin>> PlanReader::join_plan() {
  using Plan = std::variant<LinearJoin, DeltaJoin>;
  if (in_.boolean()) {
    LinearJoin linear{in_.varint(), {}, {}, {}};
    if (in_.boolean()) linear.source_key = FRESHET_TRY(scalars());
    linear.initial = FRESHET_TRY(mfp());
    linear.stages = FRESHET_TRY(stages());
    return Plan(std::move(linear));
  }
  DeltaJoin delta;
  for (std::size_t n = count(); n > 0; --n) {
    DeltaJoin::Path path{in_.varint(), {}, {}, {}};
    path.source_key = FRESHET_TRY(scalars());
    path.initial = FRESHET_TRY(mfp());
    path.stages = FRESHET_TRY(stages());
    delta.paths.push_back(std::move(path));
  }
  return Plan(std::move(delta));
}

Result<DataflowDescription> PlanReader::dataflow() {
  DataflowDescription d;
  d.name = in_.bytes();
  for (std::size_t n = count(); n > 0; --n) {
    const GlobalId id = global_id();
    d.sources[id] = SourceImport{FRESHET_TRY(desc())};
  }
  for (std::size_t n = count(); n > 0; --n) {
    const GlobalId id = global_id();
    const GlobalId on = global_id();
    ArrangementKey key = FRESHET_TRY(scalars());
    repr::RelationType type = FRESHET_TRY(relation_type());
    d.indexes.insert_or_assign(id, IndexImport{on, std::move(key), std::move(type)});
  }
  for (std::size_t n = count(); n > 0; --n) {
    const GlobalId id = global_id();
    Relation raw = FRESHET_TRY(relation());
    Relation optimized = FRESHET_TRY(relation());
    LirPtr plan = FRESHET_TRY(lir());
    d.objects.push_back({id, std::move(raw), std::move(optimized), std::move(plan)});
  }
  for (std::size_t n = count(); n > 0; --n) {
    const GlobalId id = global_id();
    const GlobalId on = global_id();
    ArrangementKey key = FRESHET_TRY(scalars());
    repr::RelationType type = FRESHET_TRY(relation_type());
    d.index_exports.insert_or_assign(id, IndexExport{on, std::move(key), std::move(type)});
  }
  for (std::size_t n = count(); n > 0; --n) {
    const GlobalId id = global_id();
    const std::uint8_t kind = in_.u8();
    if (kind > static_cast<std::uint8_t>(SinkExport::Kind::kSubscribe)) return corrupt("unknown sink");
    const GlobalId from = global_id();
    repr::RelationDesc sink_desc = FRESHET_TRY(desc());
    d.sink_exports.insert_or_assign(
        id, SinkExport{static_cast<SinkExport::Kind>(kind), from, std::move(sink_desc), in_.boolean()});
  }
  d.as_of = in_.u64();
  d.until = in_.u64();
  if (auto read = ok(); !read) return fail(read.error());
  return d;
}

}  // namespace freshet::expr
