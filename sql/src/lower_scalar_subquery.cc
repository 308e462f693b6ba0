// SPDX-License-Identifier: Apache-2.0
// Scalar subqueries: an outer join that gives each row one value, NULL, or the error 21000.
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"
#include "lower.h"

namespace freshet::sql {
namespace {

using expr::MatchKind;
using expr::Relation;
using expr::Scalar;
using Kind = HirScalar::Kind;
using RKind = HirRelation::Kind;

/// Surely no more than one row.
bool at_most_one(const HirRelation& r) {
  switch (r.kind) {
    case RKind::kConstant: return r.rows.size() <= 1;
    case RKind::kProject:
    case RKind::kMap:
    case RKind::kFilter:
    case RKind::kDistinct: return at_most_one(*r.inputs[0]);
    case RKind::kLet: return at_most_one(*r.inputs[1]);
    case RKind::kReduce: return r.scalars.empty() || at_most_one(*r.inputs[0]);
    case RKind::kTopK:
      return (r.projection.empty() && r.limit && r.limit->kind == Kind::kLiteral && !r.limit->value.is_null() &&
              r.limit->value.get<std::int64_t>() <= 1) ||
             at_most_one(*r.inputs[0]);
    case RKind::kJoin: return at_most_one(*r.inputs[0]) && at_most_one(*r.inputs[1]);
    default: return false;
  }
}

Scalar too_many_rows(const repr::SqlType& type) {
  return Scalar::failure(sql_error(sqlstate::kCardinalityViolation,
                                   "more than one row returned by a subquery used as an expression"),
                         type);
}

/// Each key (the first `keys` columns) of `rows` that has more than one row.
Relation duplicates(const Relation& rows, std::size_t keys) {
  const expr::AggregateSpec* count = expr::aggregate_by_signature("count(*)");
  FRESHET_ASSERT(count != nullptr);
  std::vector<Scalar> key;
  for (std::size_t i = 0; i < keys; ++i) key.push_back(Scalar::column(i, rows.type().columns[i]));
  const Relation counted = rows.reduce(std::move(key), {expr::Aggregate{.spec = count, .arguments = {}}});
  const Scalar many = Scalar::call(expr::function_by_signature(">(int8,int8)"),
                                   {Scalar::column(keys, counted.type().columns[keys]),
                                    Scalar::literal(repr::Datum(std::int64_t{1}), repr::TypeKind::kInt8)});
  return counted.filter({many}).project(iota(0, keys));
}

/// Each key with the error in place of a value.
Relation refused(const Relation& keys, const repr::SqlType& type) { return keys.map({too_many_rows(type)}); }

}  // namespace

Result<HirScalarPtr> Lowering::scalar_column(const HirScalar& subquery, Relation& input, const Environment& env) {
  const std::size_t place = input.arity() - env.arity();
  if (auto value = FRESHET_TRY(scalar_aggregate(subquery, input, env))) return std::move(*value);
  if (!is_correlated(*subquery.query)) {
    FRESHET_TRY(scalar_independent(subquery.query, input, env));
  } else if (!FRESHET_TRY(scalar_by_keys(subquery.query, input, env))) {
    FRESHET_TRY(scalar_general(subquery.query, input, env));
  }
  return hir::column(0, place, {subquery.type.type, true});
}

// (SELECT f(agg(…)) FROM … WHERE key = outer): group by the key, join, and reckon f on what was found or on what
// an empty group gives.
Result<std::optional<HirScalarPtr>> Lowering::scalar_aggregate(const HirScalar& subquery, Relation& input,
                                                               const Environment& env) {
  const std::optional<HirScalarPtr> no;
  // Peel what stands between the subquery's column and its Reduce.
  std::vector<const HirRelation*> above;
  const HirRelation* r = subquery.query.get();
  while (r->kind == RKind::kProject || r->kind == RKind::kMap || r->kind == RKind::kFilter) {
    if (std::ranges::any_of(r->scalars, [](const HirScalarPtr& s) { return hir::has_subquery(*s); })) return no;
    above.push_back(r);
    r = r->inputs[0].get();
  }
  if (r->kind != RKind::kReduce || !r->scalars.empty()) return no;
  auto pulled = pull_up(r->inputs[0], false);
  if (!pulled) return no;
  std::vector<HirScalarPtr> outer;
  std::vector<HirScalarPtr> keys;
  for (const HirScalarPtr& predicate : pulled->predicates) {
    auto equal = correlated_equality(*predicate);
    if (!equal) return no;
    outer.push_back(std::move(equal->first));
    keys.push_back(std::move(equal->second));
  }
  HirRelation grouped = *r;
  grouped.scalars = keys;
  grouped.inputs[0] = pulled->relation;
  for (HirAggregate& aggregate : grouped.aggregates) {
    bool outside = false;
    const auto move = [&](HirScalarPtr& s) {
      if (!s) return;
      s = substitute(s, pulled->outputs);
      outside = outside || refers_outside(*s) || hir::has_subquery(*s);
    };
    for (HirScalarPtr& argument : aggregate.arguments) move(argument);
    move(aggregate.filter);
    for (HirAggregate::OrderBy& order : aggregate.order_by) move(order.expression);
    if (outside) return no;
  }
  Relation source = FRESHET_TRY(relation(pulled->relation, {}));
  std::vector<expr::Aggregate> aggregates;
  for (const HirAggregate& a : grouped.aggregates) aggregates.push_back(FRESHET_TRY(aggregate(a, source, {})));
  const Relation right = source.reduce(FRESHET_TRY(scalars(keys, {}, 0)), std::move(aggregates));
  const Environment row = beside(input, env);
  std::vector<Scalar> on;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // The predicate itself, its inner side now a key of the groups.
    const HirScalarPtr key = hir::column(0, i, keys[i]->type);
    const HirScalar& call = *pulled->predicates[i];
    const bool outer_first = call.arguments[0] == outer[i];
    const HirScalarPtr equal = hir::call(call.function, outer_first ? std::vector{outer[i], key}
                                                                    : std::vector{key, outer[i]});
    on.push_back(FRESHET_TRY(scalar(*equal, row, input.arity())));
  }
  const std::size_t base = input.arity() - env.arity() + keys.size();
  input = Relation::match(MatchKind::kLeft, input, right, std::move(on));
  // Symbolically: the value of the subquery's column over the row at hand, which now has the aggregates.
  std::vector<HirScalarPtr> columns;
  for (std::size_t i = 0; i < grouped.aggregates.size(); ++i) {
    repr::ColumnType type = grouped.aggregates[i].type;
    type.nullable = true;
    HirScalarPtr column = hir::column(0, base + i, type);
    if (!grouped.aggregates[i].spec->empty_is_null) column = hir::coalesce({column, hir::int8(0)});
    columns.push_back(std::move(column));
  }
  HirScalarPtr condition;
  for (auto step = above.rbegin(); step != above.rend(); ++step) {
    // Inside the subquery the row at hand was one level out.
    const auto inside_out = [&](const HirScalarPtr& s) {
      return hir::rewrite(s, 0, [&](const HirScalarPtr& node, std::size_t) -> HirScalarPtr {
        if (node->kind != Kind::kColumn) return nullptr;
        return node->level == 0 ? hir::relabel(columns[node->index], node->type.type)
                                : hir::column(node->level - 1, node->index, node->type);
      });
    };
    std::vector<HirScalarPtr> next;
    if ((*step)->kind == RKind::kProject) {
      for (std::size_t column : (*step)->projection) next.push_back(columns[column]);
      columns = std::move(next);
      continue;
    }
    for (const HirScalarPtr& s : (*step)->scalars) next.push_back(inside_out(s));
    if ((*step)->kind == RKind::kMap) {
      columns.insert(columns.end(), next.begin(), next.end());
    } else {
      if (condition) next.push_back(condition);
      condition = hir::conjunction(std::move(next));
    }
  }
  HirScalarPtr value = columns.front();
  if (condition) value = hir::if_then(condition, value, hir::null(value->type.type));
  return std::optional<HirScalarPtr>(std::move(value));
}

Result<void> Lowering::scalar_independent(const HirRelationPtr& query, Relation& input, const Environment& env) {
  static_cast<void>(env);
  const Relation lowered = FRESHET_TRY(relation(query, {}));
  if (at_most_one(*query)) {
    input = Relation::match(MatchKind::kLeft, input, lowered, {});
    return {};
  }
  Result<Relation> extended = shared(input, [&](const Relation& rows) {
    return shared(lowered, [&](const Relation& values) -> Result<Relation> {
      // The error is raised only if there is a row to raise it for.
      const Relation many = refused(
          Relation::match(MatchKind::kSemi, duplicates(values, 0), rows.project({}).distinct(), {}),
          values.type().columns[0].type);
      return Relation::match(MatchKind::kLeft, rows, Relation::union_all({values, many}), {});
    });
  });
  input = FRESHET_TRY(std::move(extended));
  return {};
}

// (SELECT v FROM … WHERE key = outer): join by the key. False if it has another form.
Result<bool> Lowering::scalar_by_keys(const HirRelationPtr& query, Relation& input, const Environment& env) {
  auto pulled = pull_up(query, false);
  if (!pulled || pulled->predicates.empty() || refers_outside(*pulled->outputs[0]) ||
      hir::has_subquery(*pulled->outputs[0])) {
    return false;
  }
  std::vector<HirScalarPtr> outer;
  std::vector<HirScalarPtr> columns;
  for (const HirScalarPtr& predicate : pulled->predicates) {
    auto equal = correlated_equality(*predicate);
    if (!equal) return false;
    outer.push_back(std::move(equal->first));
    columns.push_back(std::move(equal->second));
  }
  const std::size_t keys = columns.size();
  columns.push_back(pulled->outputs[0]);
  std::vector<HirScalarPtr> tests;
  for (std::size_t i = 0; i < keys; ++i) {
    const HirScalar& call = *pulled->predicates[i];
    const HirScalarPtr key = hir::column(0, i, columns[i]->type);
    tests.push_back(hir::call(call.function, call.arguments[0] == outer[i] ? std::vector{outer[i], key}
                                                                           : std::vector{key, outer[i]}));
  }
  const Relation lowered = FRESHET_TRY(relation(hir::select(pulled->relation, columns), {}));
  const std::size_t place = input.arity();
  Result<Relation> extended = shared(input, [&](const Relation& rows) {
    return shared(lowered, [&](const Relation& values) -> Result<Relation> {
      const Environment row = beside(rows, env);
      std::vector<Scalar> on;
      for (const HirScalarPtr& test : tests) on.push_back(FRESHET_TRY(scalar(*test, row, rows.arity())));
      // Duplicates count only for keys that some row asks for: a semi join the other way round.
      std::vector<std::size_t> swapped;
      for (std::size_t i = 0; i < rows.arity(); ++i) swapped.push_back(keys + i);
      for (std::size_t i = 0; i < values.arity(); ++i) swapped.push_back(i);
      std::vector<Scalar> asked;
      for (const Scalar& conjunct : on) asked.push_back(conjunct.with_columns(swapped));
      const Relation many = refused(Relation::match(MatchKind::kSemi, duplicates(values, keys), rows, std::move(asked)),
                                    values.type().columns[keys].type);
      return Relation::match(MatchKind::kLeft, rows, Relation::union_all({values, many}), std::move(on));
    });
  });
  input = FRESHET_TRY(std::move(extended));
  std::vector<std::size_t> kept = iota(0, place);
  kept.push_back(place + keys);
  input = input.project(std::move(kept));
  return true;
}

Result<void> Lowering::scalar_general(const HirRelationPtr& query, Relation& input, const Environment& env) {
  const std::size_t place = input.arity();
  std::size_t keys_arity = 0;
  Result<Relation> extended = shared(input, [&](const Relation& rows) -> Result<Relation> {
    const Inner inner = inner_environment(rows, *query, env);
    return shared(*inner.env.rows, [&](const Relation& keys) -> Result<Relation> {
      Environment inside = inner.env;
      inside.rows = keys;
      keys_arity = keys.arity();
      const std::vector<std::size_t> key_columns = iota(0, keys.arity());
      const Relation lowered = FRESHET_TRY(relation(query, inside));
      if (at_most_one(*query)) {
        return Relation::match(MatchKind::kLeft, rows, lowered,
                               null_safe_keys(rows, inner.columns, lowered, key_columns));
      }
      return shared(lowered, [&](const Relation& values) -> Result<Relation> {
        const Relation many =
            refused(duplicates(values, keys.arity()), values.type().columns[keys.arity()].type);
        const Relation all = Relation::union_all({values, many});
        return Relation::match(MatchKind::kLeft, rows, all, null_safe_keys(rows, inner.columns, all, key_columns));
      });
    });
  });
  input = FRESHET_TRY(std::move(extended));
  std::vector<std::size_t> kept = iota(0, place);
  kept.push_back(place + keys_arity);
  input = input.project(std::move(kept));
  return {};
}

}  // namespace freshet::sql
