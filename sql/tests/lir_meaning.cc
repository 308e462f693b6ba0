// SPDX-License-Identifier: Apache-2.0
#include "lir_meaning.h"

#include <algorithm>

#include "optimize/rewrite.h"

namespace freshet::sql {

using expr::ArrangementKey;
using expr::GlobalId;
using expr::Lir;
using expr::LocalId;
using expr::Mfp;
using expr::Relation;
using expr::Scalar;

namespace {

bool contains(const std::vector<ArrangementKey>& keys, const ArrangementKey& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Reads of a column are only told apart by their place.
repr::RelationType unkeyed(const std::vector<repr::ColumnType>& types) { return {types, {}}; }

}  // namespace

Relation LirMeaning::with_mfp(const Relation& input, const Mfp& mfp) {
  if (mfp.input_arity != input.arity()) complain("a step has another arity than its input");
  std::vector<Scalar> predicates = mfp.predicates;
  if (mfp.is_temporal()) complain("temporal bounds in a plan without mz_now()");
  return input.map(mfp.expressions).filter(std::move(predicates)).project(mfp.projection);
}

Relation LirMeaning::of(const Lir& lir, std::size_t path) {
  path_ = path;
  Relation out = std::visit([&](const auto& n) { return node(n, lir); }, lir.node);
  if (out.arity() != lir.types.size()) {
    complain("types of a node have another arity: " + to_string(lir));
    return out;
  }
  for (std::size_t c = 0; c < out.arity(); ++c) {
    if (out.type().columns[c].type.physical() != lir.types[c].type.physical()) complain("types of a node differ");
  }
  return out;
}

Relation LirMeaning::node(const Lir::Constant& n, const Lir& lir) {
  repr::RelationType type = unkeyed(lir.types);
  if (n.error) return Relation::failed(*n.error, std::move(type));
  return Relation::constant(n.rows, std::move(type));
}

Relation LirMeaning::node(const Lir::Get& n, const Lir&) {
  if (const auto* local = std::get_if<LocalId>(&n.id)) {
    if (n.key && !contains(local_keys_[*local], *n.key)) complain("a local lacks the arrangement it is read by");
    return with_mfp(Relation::get(*local, locals_.at(*local)), n.mfp);
  }
  const GlobalId id = *std::get_if<GlobalId>(&n.id);
  const auto& indexes = indexes_.on(id);
  if (n.key && std::none_of(indexes.begin(), indexes.end(), [&](const auto& i) { return i.key == *n.key; })) {
    complain("no index has the key a collection is read by");
  }
  Relation rows = Relation::get(id, globals_.at(id));
  if (n.seek) {
    ++forms_["seek"];
    std::vector<Scalar> any;
    for (const repr::DatumRow& row : *n.seek) {
      std::vector<Scalar> all;
      for (std::size_t k = 0; k < row.size(); ++k) {
        all.push_back(*passes::make_equality((*n.key)[k], Scalar::literal(row[k], (*n.key)[k].type().type)));
      }
      any.push_back(Scalar::conjunction(std::move(all)));
    }
    rows = rows.filter({Scalar::disjunction(std::move(any))});
  }
  return with_mfp(rows, n.mfp);
}

Relation LirMeaning::node(const Lir::Let& n, const Lir&) {
  const Relation value = of(*n.value, path_);
  locals_[n.id] = value.type();
  if (const auto* arranged = std::get_if<Lir::ArrangeBy>(&n.value->node)) local_keys_[n.id] = arranged->keys;
  return Relation::let(n.id, value, of(*n.body, path_));
}

Relation LirMeaning::node(const Lir::LetRec& n, const Lir&) {
  std::vector<Relation> values;
  for (std::size_t i = 0; i < n.ids.size(); ++i) {
    // As declared: what is known of NULLs and keys must hold of every iteration.
    repr::RelationType type = unkeyed(n.values[i]->types);
    for (auto& column : type.columns) column.nullable = true;
    locals_[n.ids[i]] = std::move(type);
  }
  for (const auto& value : n.values) values.push_back(of(*value, path_));
  ++forms_["recursion"];
  return Relation::let_rec(n.ids, std::move(values), of(*n.body, path_), n.limit, n.return_at_limit);
}

Relation LirMeaning::node(const Lir::MapFilterProject& n, const Lir&) {
  return with_mfp(of(*n.input, path_), n.mfp);
}

Relation LirMeaning::node(const Lir::FlatMap& n, const Lir&) {
  return with_mfp(of(*n.input, path_).flat_map(n.function, n.arguments, n.with_ordinality), n.after);
}

void LirMeaning::require_arrangement(const Lir& input, const ArrangementKey& key) {
  if (const auto* arranged = std::get_if<Lir::ArrangeBy>(&input.node)) {
    if (!contains(arranged->keys, key)) complain("an input is not arranged by the key it is looked up by");
    return;
  }
  const auto* get = std::get_if<Lir::Get>(&input.node);
  if (get == nullptr || !get->key || *get->key != key || !get->mfp.is_identity() || get->seek) {
    complain("an input has no arrangement");
  }
}

Relation LirMeaning::stages(Relation joined, const std::vector<expr::JoinStage>& all,
                            const std::vector<expr::LirPtr>& inputs) {
  for (const expr::JoinStage& stage : all) {
    require_arrangement(*inputs[stage.input], stage.lookup_key);
    const Relation input = of(*inputs[stage.input], path_);
    std::vector<std::vector<Scalar>> classes;
    for (std::size_t k = 0; k < stage.lookup_key.size(); ++k) {
      classes.push_back({stage.stream_key[k],
                         passes::shifted(stage.lookup_key[k], static_cast<std::ptrdiff_t>(joined.arity()))});
    }
    joined = with_mfp(Relation::join({joined, input}, std::move(classes)), stage.after);
  }
  return joined;
}

Relation LirMeaning::node(const Lir::Join& n, const Lir&) {
  if (const auto* linear = std::get_if<expr::LinearJoin>(&n.plan)) {
    ++forms_["linear join"];
    if (linear->source_key) {
      ++forms_["linear join from an arrangement"];
      require_arrangement(*n.inputs[linear->source], *linear->source_key);
    }
    return stages(with_mfp(of(*n.inputs[linear->source], path_), linear->initial), linear->stages, n.inputs);
  }
  const auto& paths = std::get_if<expr::DeltaJoin>(&n.plan)->paths;
  ++forms_["delta join"];
  if (paths.size() != n.inputs.size()) complain("a delta join lacks a path");
  const expr::DeltaJoin::Path& path = paths[path_ % paths.size()];
  require_arrangement(*n.inputs[path.source], path.source_key);
  return stages(with_mfp(of(*n.inputs[path.source], path_), path.initial), path.stages, n.inputs);
}

Relation LirMeaning::node(const Lir::Match& n, const Lir&) {
  require_arrangement(*n.left, n.left_key);
  require_arrangement(*n.right, n.right_key);
  ++forms_[n.left_key == n.right_key ? "match by whole rows" : "match"];
  const Relation left = of(*n.left, path_);
  const Relation right = of(*n.right, path_);
  std::vector<Scalar> on;
  for (std::size_t k = 0; k < n.left_key.size(); ++k) {
    on.push_back(*passes::make_equality(
        n.left_key[k], passes::shifted(n.right_key[k], static_cast<std::ptrdiff_t>(left.arity()))));
  }
  return with_mfp(Relation::match(n.kind, left, right, std::move(on)), n.after);
}

Relation LirMeaning::node(const Lir::Reduce& n, const Lir&) {
  const Relation input = with_mfp(of(*n.input, path_), n.key_and_values);
  std::vector<Scalar> keys;
  for (std::size_t k = 0; k < n.key_arity; ++k) keys.push_back(Scalar::column(k, input.type().columns[k]));
  const std::size_t planned = n.plan.accumulable.size() + n.plan.extrema.size() + n.plan.ordered.size();
  if (planned != n.aggregates.size()) complain("an aggregate is planned twice or never");
  if (!n.plan.accumulable.empty()) ++forms_["accumulable"];
  if (!n.plan.extrema.empty()) ++forms_["extrema"];
  if (!n.plan.ordered.empty()) ++forms_["ordered"];
  if (n.plan.is_distinct()) ++forms_["distinct"];
  return with_mfp(input.reduce(std::move(keys), n.aggregates), n.after);
}

Relation LirMeaning::node(const Lir::TopK& n, const Lir&) {
  return of(*n.input, path_).top_k(n.group_key, n.order, n.limit, n.offset);
}
Relation LirMeaning::node(const Lir::Negate& n, const Lir&) { return of(*n.input, path_).negate(); }
Relation LirMeaning::node(const Lir::Threshold& n, const Lir&) { return of(*n.input, path_).threshold(); }
Relation LirMeaning::node(const Lir::Union& n, const Lir&) {
  std::vector<Relation> inputs;
  for (const auto& input : n.inputs) inputs.push_back(of(*input, path_));
  return Relation::union_all(std::move(inputs));
}
Relation LirMeaning::node(const Lir::ArrangeBy& n, const Lir&) { return of(*n.input, path_); }

}  // namespace freshet::sql
