// SPDX-License-Identifier: Apache-2.0
// EXISTS and ANY: as filters semi and anti joins, as values columns.
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

bool is_not(const HirScalar& s) { return s.kind == Kind::kCall && s.function->name == "not"; }

HirRelationPtr where(const HirRelationPtr& query, HirScalarPtr predicate) {
  return hir::filter(query, {std::move(predicate)});
}

}  // namespace

Environment Lowering::beside(const Relation& input, const Environment& env) {
  Environment row;
  std::map<std::size_t, std::size_t> own;
  for (std::size_t i = env.arity(); i < input.arity(); ++i) own[i - env.arity()] = i;
  row.places.push_back(std::move(own));
  row.places.insert(row.places.end(), env.places.begin(), env.places.end());
  return row;
}

Lowering::Inner Lowering::inner_environment(const Relation& input, const HirRelation& query, const Environment& env) {
  const Environment row = beside(input, env);
  std::map<std::size_t, std::size_t> chosen;  // column of `input` → place among the chosen
  std::vector<std::map<std::size_t, std::size_t>> used(row.places.size());
  hir::visit(query, 0, [&](const HirScalar& node, std::size_t depth) {
    if (node.kind != Kind::kColumn || node.level <= depth) return;
    const std::size_t level = node.level - depth;
    FRESHET_ASSERT(level <= row.places.size(), level, row.places.size());
    const auto place = row.places[level - 1].find(node.index);
    FRESHET_ASSERT(place != row.places[level - 1].end(), level, node.index);
    used[level - 1][node.index] = place->second;
    chosen.emplace(place->second, 0);
  });
  Inner inner;
  for (auto& [column, place] : chosen) {
    place = inner.columns.size();
    inner.columns.push_back(column);
  }
  for (auto& level : used) {
    for (auto& [index, column] : level) column = chosen.at(column);
  }
  inner.env.rows = input.project(inner.columns).distinct();
  inner.env.places = std::move(used);
  return inner;
}

Result<Relation> Lowering::filter_one(Relation input, const HirScalarPtr& predicate, const Environment& env) {
  if (predicate->kind == Kind::kExists) return filter_exists(input, predicate->query, false, env);
  if (predicate->kind == Kind::kAny) {
    return filter_exists(input, where(predicate->query, predicate->arguments[0]), false, env);
  }
  if (is_not(*predicate)) {
    const HirScalar& inner = *predicate->arguments[0];
    if (inner.kind == Kind::kExists) return filter_exists(input, inner.query, true, env);
    if (inner.kind == Kind::kAny) return filter_not_any(std::move(input), inner, env);
    if (is_not(inner)) return filter_one(std::move(input), inner.arguments[0], env);
    if (inner.kind == Kind::kOr) {
      std::vector<HirScalarPtr> parts;
      for (const HirScalarPtr& part : inner.arguments) parts.push_back(hir::negation(part));
      return filter_all(std::move(input), parts, env);
    }
  }
  const std::size_t before = input.arity();
  const HirScalarPtr plain = FRESHET_TRY(without_subqueries(predicate, input, env));
  Relation filtered = input.filter({FRESHET_TRY(scalar(*plain, env, env.arity()))});
  return filtered.project(iota(0, before));
}

Result<Relation> Lowering::filter_exists(const Relation& input, const HirRelationPtr& query, bool anti,
                                         const Environment& env) {
  const MatchKind kind = anti ? MatchKind::kAnti : MatchKind::kSemi;
  if (auto pulled = pull_up(query, true)) {
    const Relation right = FRESHET_TRY(relation(pulled->relation, {}));
    std::vector<Scalar> on;
    const Environment row = beside(input, env);
    for (const HirScalarPtr& predicate : pulled->predicates) {
      on.push_back(FRESHET_TRY(scalar(*predicate, row, input.arity())));
    }
    if (on.empty()) return Relation::match(kind, input, right.project({}).distinct(), {});
    return Relation::match(kind, input, right, std::move(on));
  }
  return shared(input, [&](const Relation& rows) -> Result<Relation> {
    const Inner inner = inner_environment(rows, *query, env);
    return shared(*inner.env.rows, [&](const Relation& keys) -> Result<Relation> {
      Environment inside = inner.env;
      inside.rows = keys;
      const std::vector<std::size_t> key_columns = iota(0, keys.arity());
      const Relation lowered = FRESHET_TRY(relation(query, inside));
      const Relation right = lowered.project(key_columns).distinct();
      return Relation::match(kind, rows, right, null_safe_keys(rows, inner.columns, right, key_columns));
    });
  });
}

// NOT (x = ANY q) is true if no row compares as true and none as NULL. The two are tested apart: the first is
// a join by key, and of `a = b` the second says that one side is NULL.
Result<Relation> Lowering::filter_not_any(Relation input, const HirScalar& any, const Environment& env) {
  const HirScalarPtr& comparison = any.arguments[0];
  if (!comparison->type.nullable) return filter_exists(input, where(any.query, comparison), true, env);
  const bool simple = comparison->kind == Kind::kCall && comparison->function->strict &&
                      comparison->function->preserves_not_null && comparison->arguments.size() == 2 &&
                      !comparison->function->can_fail;
  if (!simple) {
    return filter_exists(input, where(any.query, hir::coalesce({comparison, hir::boolean(true)})), true, env);
  }
  input = FRESHET_TRY(filter_exists(input, where(any.query, comparison), true, env));
  for (const HirScalarPtr& side : comparison->arguments) {
    if (!side->type.nullable) continue;
    input = FRESHET_TRY(filter_exists(input, where(any.query, hir::is_null(side)), true, env));
  }
  return input;
}

// -- subqueries as values -----------------------------------------------------------------------

Result<HirScalarPtr> Lowering::without_subqueries(const HirScalarPtr& s, Relation& input, const Environment& env) {
  if (!hir::has_subquery(*s)) return s;
  switch (s->kind) {
    case Kind::kExists: return exists_column(s->query, input, env);
    case Kind::kScalarSubquery: return scalar_column(*s, input, env);
    case Kind::kAny: {
      const HirScalarPtr& comparison = s->arguments[0];
      HirScalarPtr is_true = FRESHET_TRY(exists_column(where(s->query, comparison), input, env));
      if (!comparison->type.nullable) return is_true;
      HirScalarPtr is_null = FRESHET_TRY(exists_column(where(s->query, hir::is_null(comparison)), input, env));
      return hir::if_then(is_true, hir::boolean(true),
                          hir::if_then(is_null, hir::null(repr::TypeKind::kBool), hir::boolean(false)));
    }
    default: break;
  }
  HirScalar copy = *s;
  for (HirScalarPtr& argument : copy.arguments) argument = FRESHET_TRY(without_subqueries(argument, input, env));
  return HirScalarPtr(std::make_shared<const HirScalar>(std::move(copy)));
}

// Rows that have a match with TRUE, and those that have none with FALSE.
Result<HirScalarPtr> Lowering::exists_column(const HirRelationPtr& query, Relation& input, const Environment& env) {
  const std::size_t place = input.arity() - env.arity();
  Result<Relation> extended = shared(input, [&](const Relation& rows) -> Result<Relation> {
    const Relation with = FRESHET_TRY(filter_exists(rows, query, false, env));
    const Relation without = FRESHET_TRY(filter_exists(rows, query, true, env));
    return Relation::union_all({with.map({Scalar::boolean(true)}), without.map({Scalar::boolean(false)})});
  });
  input = FRESHET_TRY(std::move(extended));
  return hir::column(0, place, {repr::TypeKind::kBool, false});
}

}  // namespace freshet::sql
