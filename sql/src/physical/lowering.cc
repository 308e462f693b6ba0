// SPDX-License-Identifier: Apache-2.0
#include "physical/lowering.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>

namespace freshet::sql::physical {

using expr::Aggregate;
using expr::AggregateClass;
using expr::GlobalId;

namespace {

Result<void> refuse_mz_now(const std::vector<Scalar>& scalars) {
  for (const Scalar& scalar : scalars) {
    if (!scalar.contains_mz_now()) continue;
    return fail(sqlstate::kFeatureNotSupported,
                "mz_now() may only stand in a WHERE clause of what is kept up to date: " + to_string(scalar));
  }
  return {};
}

/// One step of a map, filter or projection.
Result<Mfp> step_of(const Relation& relation) {
  const Relation& input = relation.children()[0];
  const Mfp start = Mfp::identity(input.arity());
  if (const auto* n = relation.as<Relation::Project>()) return start.project(n->columns);
  if (const auto* n = relation.as<Relation::Map>()) {
    if (auto plain = refuse_mz_now(n->expressions); !plain) return fail(plain.error());
    return start.map(n->expressions);
  }
  return start.filter(relation.as<Relation::Filter>()->predicates);
}

bool is_step(const Relation& relation) {
  return relation.as<Relation::Project>() || relation.as<Relation::Map>() || relation.as<Relation::Filter>();
}

}  // namespace

Result<Peeled> peel(const Relation& relation) {
  std::vector<const Relation*> steps;
  const Relation* core = &relation;
  for (; is_step(*core); core = &core->children()[0]) steps.push_back(core);
  Mfp mfp = Mfp::identity(core->arity());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    mfp = mfp.then(FRESHET_TRY(step_of(**step)));
  }
  return Peeled{*core, mfp.simplified()};
}

LirPtr Lowering::with_mfp(LirPtr input, const Mfp& mfp) {
  if (mfp.is_identity()) return input;
  Columns types = mfp.output_types(input->types);
  return make_lir(Lir::MapFilterProject{std::move(input), mfp}, std::move(types));
}

Result<LirPtr> Lowering::lower(const Relation& relation) {
  if (options_.literal) return literal(relation);
  return lower_with(relation, Mfp::identity(relation.arity()));
}

Result<LirPtr> Lowering::lower_with(const Relation& relation, const Mfp& after) {
  if (options_.literal) return with_mfp(FRESHET_TRY(literal(relation)), after);
  Peeled peeled = FRESHET_TRY(peel(relation));
  return core(peeled.core, peeled.mfp.then(after).simplified());
}

Result<LirPtr> Lowering::literal(const Relation& relation) {
  if (is_step(relation)) {
    const Mfp step = FRESHET_TRY(step_of(relation));
    return with_mfp(FRESHET_TRY(literal(relation.children()[0])), step);
  }
  return core(relation, Mfp::identity(relation.arity()));
}

Result<LirPtr> Lowering::core(const Relation& relation, const Mfp& after) {
  const bool fuses = may_fuse(after);
  const Mfp inner = fuses ? after : Mfp::identity(relation.arity());
  const auto finish = [&](Result<LirPtr> lowered) -> Result<LirPtr> {
    if (!lowered || fuses) return lowered;
    return with_mfp(*std::move(lowered), after);
  };
  const Columns& types = relation.type().columns;
  if (const auto* n = relation.as<Relation::Constant>()) {
    return with_mfp(make_lir(Lir::Constant{n->rows, n->error}, types), after);
  }
  if (const auto* n = relation.as<Relation::Get>()) return get(relation, *n, after);
  if (const auto* n = relation.as<Relation::Let>()) return let(*n, after);
  if (const auto* n = relation.as<Relation::LetRec>()) return let_rec(*n, after);
  if (const auto* n = relation.as<Relation::FlatMap>()) return finish(flat_map(relation, *n, inner));
  if (const auto* n = relation.as<Relation::Join>()) return finish(join(*n, inner));
  if (const auto* n = relation.as<Relation::Match>()) return finish(match(relation, *n, inner));
  if (const auto* n = relation.as<Relation::Reduce>()) return finish(reduce(relation, *n, inner));
  if (const auto* n = relation.as<Relation::Union>()) return union_all(relation, *n, after);
  if (const auto* n = relation.as<Relation::TopK>()) {
    if (n->limit) {
      if (auto plain = refuse_mz_now({*n->limit}); !plain) return fail(plain.error());
    }
    LirPtr input = FRESHET_TRY(lower(n->input[0]));
    return with_mfp(make_lir(Lir::TopK{std::move(input), n->group_key, n->order, n->limit, n->offset}, types),
                    after);
  }
  if (const auto* n = relation.as<Relation::Negate>()) {
    // A step is the same before and after a negation, and there it may reach further down.
    return make_lir(Lir::Negate{FRESHET_TRY(lower_with(n->input[0], after))}, after.output_types(types));
  }
  const auto* n = relation.as<Relation::Threshold>();
  FRESHET_ASSERT(n != nullptr);
  return with_mfp(make_lir(Lir::Threshold{FRESHET_TRY(lower(n->input[0]))}, types), after);
}

Result<LirPtr> Lowering::get(const Relation& relation, const Relation::Get& n, const Mfp& after) {
  const Columns& types = relation.type().columns;
  Columns out = after.output_types(types);
  const auto* global = std::get_if<GlobalId>(&n.id);
  const auto& indexes = indexes_.on(global == nullptr ? GlobalId{} : *global);
  if (global == nullptr || indexes.empty()) {
    return make_lir(Lir::Get{n.id, std::nullopt, std::nullopt, after}, std::move(out));
  }
  for (const auto& index : indexes) {
    auto seek = options_.literal ? std::nullopt : find_seek(after, types, index.key);
    if (seek) return make_lir(Lir::Get{n.id, index.key, std::move(seek), after}, std::move(out));
  }
  return make_lir(Lir::Get{n.id, indexes.front().key, std::nullopt, after}, std::move(out));
}

Result<LirPtr> Lowering::let(const Relation::Let& n, const Mfp& after) {
  requested_[n.id];
  LirPtr body = options_.literal ? FRESHET_TRY(literal(n.parts[1])) : FRESHET_TRY(lower_with(n.parts[1], after));
  std::vector<ArrangementKey> keys = std::move(requested_[n.id]);
  requested_.erase(n.id);
  LirPtr value = FRESHET_TRY(lower(n.parts[0]));
  if (!keys.empty()) {
    Columns types = value->types;
    value = make_lir(Lir::ArrangeBy{std::move(value), std::move(keys)}, std::move(types));
  }
  Columns types = body->types;
  return make_lir(Lir::Let{n.id, std::move(value), std::move(body)}, std::move(types));
}

Result<LirPtr> Lowering::let_rec(const Relation::LetRec& n, const Mfp& after) {
  Lir::LetRec out{n.ids, {}, nullptr, n.limit, n.return_at_limit};
  for (std::size_t i = 0; i < n.ids.size(); ++i) out.values.push_back(FRESHET_TRY(lower(n.parts[i])));
  const Relation& body = n.parts.back();
  // The error of a recursion that does not end knows no column of the body, but those that are made of it later.
  const bool fails = n.limit && !n.return_at_limit;
  out.body = options_.literal ? FRESHET_TRY(literal(body))
                              : FRESHET_TRY(lower_with(body, fails ? Mfp::identity(body.arity()) : after));
  Columns types = out.body->types;
  LirPtr lir = make_lir(std::move(out), std::move(types));
  return fails ? with_mfp(std::move(lir), after) : lir;
}

Result<LirPtr> Lowering::flat_map(const Relation& relation, const Relation::FlatMap& n, const Mfp& after) {
  if (auto plain = refuse_mz_now(n.arguments); !plain) return fail(plain.error());
  LirPtr input = FRESHET_TRY(lower(n.input[0]));
  return make_lir(Lir::FlatMap{std::move(input), n.function, n.arguments, n.with_ordinality, after},
                  after.output_types(relation.type().columns));
}

namespace {

/// Collects the columns that a Reduce needs, and says where they are.
class ReduceColumns {
 public:
  explicit ReduceColumns(const Relation::Reduce& n) {
    mfp_.input_arity = n.input[0].arity();
    for (const Scalar& key : n.group_key) add(key);
    for (const Aggregate& aggregate : n.aggregates) {
      Aggregate placed = aggregate;
      for (Scalar& argument : placed.arguments) argument = add(guarded(aggregate, argument));
      if (placed.filter) placed.filter = add(*placed.filter);
      for (auto& by : placed.order_by) by.expression = add(guarded(aggregate, by.expression));
      aggregates_.push_back(std::move(placed));
    }
  }
  Mfp take_mfp() { return mfp_.simplified(); }
  std::vector<Aggregate> take_aggregates() { return std::move(aggregates_); }

 private:
  Scalar add(const Scalar& expression) {
    mfp_.projection.push_back(mfp_.input_arity + mfp_.expressions.size());
    mfp_.expressions.push_back(expression);
    return Scalar::column(mfp_.projection.size() - 1, expression.type());
  }
  /// Arguments are evaluated only where the filter is true.
  static Scalar guarded(const Aggregate& aggregate, const Scalar& value) {
    if (!aggregate.filter) return value;
    return Scalar::if_then(*aggregate.filter, value, Scalar::null(value.type().type));
  }

  Mfp mfp_;
  std::vector<Aggregate> aggregates_;
};

expr::ReducePlan plan_of(const std::vector<Aggregate>& aggregates) {
  expr::ReducePlan plan;
  for (std::size_t a = 0; a < aggregates.size(); ++a) {
    switch (aggregates[a].spec->aggregate_class) {
      case AggregateClass::kAccumulable:
        plan.accumulable.push_back(a);
        break;
      case AggregateClass::kExtremum:
        plan.extrema.push_back(a);
        break;
      case AggregateClass::kOrdered:
        plan.ordered.push_back(a);
        break;
    }
  }
  return plan;
}

}  // namespace

Result<LirPtr> Lowering::reduce(const Relation& relation, const Relation::Reduce& n, const Mfp& after) {
  if (auto plain = refuse_mz_now(n.group_key); !plain) return fail(plain.error());
  ReduceColumns columns(n);
  Mfp key_and_values = columns.take_mfp();
  if (auto plain = refuse_mz_now(key_and_values.expressions); !plain) return fail(plain.error());
  std::vector<Aggregate> aggregates = columns.take_aggregates();
  LirPtr input = FRESHET_TRY(lower(n.input[0]));
  const auto* step = std::get_if<Lir::MapFilterProject>(&input->node);
  if (!options_.literal && step != nullptr && may_fuse(step->mfp)) {
    key_and_values = step->mfp.then(key_and_values).simplified();
    input = LirPtr(step->input);
  }
  expr::ReducePlan plan = plan_of(aggregates);
  return make_lir(Lir::Reduce{std::move(input), std::move(key_and_values), n.group_key.size(),
                              std::move(aggregates), std::move(plan), after},
                  after.output_types(relation.type().columns));
}

Result<LirPtr> Lowering::union_all(const Relation& relation, const Relation::Union& n, const Mfp& after) {
  // Into each input, so that it reaches what it filters. What may fail waits until opposite rows cancelled.
  const auto may_fail = [](const std::vector<Scalar>& scalars) {
    return std::any_of(scalars.begin(), scalars.end(), [](const Scalar& s) { return s.can_fail(); });
  };
  const bool inside = !options_.literal && !may_fail(after.expressions) && !may_fail(after.predicates) &&
                      may_fuse(after);
  Lir::Union out;
  for (const Relation& input : n.inputs) {
    out.inputs.push_back(inside ? FRESHET_TRY(lower_with(input, after)) : FRESHET_TRY(lower(input)));
    const Relation* below = &input;
    while (is_step(*below)) below = &below->children()[0];
    out.consolidate = out.consolidate || below->as<Relation::Negate>() != nullptr;
  }
  const Columns& types = relation.type().columns;
  LirPtr lowered = make_lir(std::move(out), inside ? after.output_types(types) : types);
  return inside ? lowered : with_mfp(std::move(lowered), after);
}

}  // namespace freshet::sql::physical

namespace freshet::sql {

namespace {

std::uint64_t first_free_local(const expr::Relation& relation) {
  std::uint64_t next = 0;
  relation.visit([&](const expr::Relation& r) {
    if (const auto* let = r.as<expr::Relation::Let>()) next = std::max(next, let->id.number + 1);
    if (const auto* rec = r.as<expr::Relation::LetRec>()) {
      for (const expr::LocalId id : rec->ids) next = std::max(next, id.number + 1);
    }
  });
  return next;
}

}  // namespace

Result<expr::LirPtr> lower_physical(const expr::Relation& relation, const IndexOracle& indexes,
                                    const PhysicalOptions& options) {
  if (relation.depth() > OptimizerOptions().max_depth) {
    return fail(sqlstate::kStatementTooComplex, "plan is too deep");
  }
  return physical::Lowering(indexes, options, first_free_local(relation)).lower(relation);
}

}  // namespace freshet::sql
