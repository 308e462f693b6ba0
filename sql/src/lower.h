// SPDX-License-Identifier: Apache-2.0
/// HIR to the relational IR: subqueries are decorrelated into semi, anti and outer joins.
///
/// `Lowering::relation` lowers a relation under an *environment*: a relation of distinct outer rows, whose
/// columns stand before the relation's own. Without outer columns the environment is absent. A subquery is
/// first tried by pulling its correlated predicates up into the join that replaces it (`pull_up`); only
/// if that fails is it lowered under an environment of the outer rows.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <freshet/expr/relation.h>
#include <freshet/sql/hir.h>

namespace freshet::sql {

/// Where outer columns are found: `places[level - 1]` gives, for an index, the column of `rows`.
struct Environment {
  std::optional<expr::Relation> rows{};
  std::vector<std::map<std::size_t, std::size_t>> places{};
  [[nodiscard]] std::size_t arity() const { return rows ? rows->arity() : 0; }
};

/// A query without its correlated predicates. Level 0 in `outputs` and `predicates` is a row of `relation`,
/// which is not correlated; level 1 is the row at hand of whoever holds the query.
struct Pulled {
  HirRelationPtr relation;
  std::vector<HirScalarPtr> outputs{};  ///< One per column of the query.
  std::vector<HirScalarPtr> predicates{};
};

class Lowering {
 public:
  /// Columns: the environment's, then the relation's.
  Result<expr::Relation> relation(const HirRelationPtr& r, const Environment& env);
  /// A scalar without subqueries. Its row's columns stand at `offset`; outer ones are the environment's.
  Result<expr::Scalar> scalar(const HirScalar& s, const Environment& env, std::size_t offset);

 private:
  // lower.cc
  Result<expr::Relation> node(const HirRelationPtr& r, const Environment& env);
  Result<expr::Relation> let(const HirRelation& r, const Environment& env);
  // lower_recursion.cc
  Result<expr::Relation> let_rec(const HirRelation& r, const Environment& env);
  Result<expr::Relation> correlated_let_rec(const HirRelation& r, const Environment& env, const expr::Relation& rows);
  // lower.cc
  Result<expr::Relation> map(const HirRelation& r, const Environment& env);
  Result<expr::Relation> filter(const HirRelation& r, const Environment& env);
  Result<expr::Relation> flat_map(const HirRelation& r, const Environment& env);
  Result<expr::Relation> reduce(const HirRelation& r, const Environment& env);
  Result<expr::Aggregate> aggregate(const HirAggregate& a, expr::Relation& input, const Environment& env);
  Result<expr::Relation> top_k(const HirRelation& r, const Environment& env);
  Result<std::vector<expr::Scalar>> scalars(const std::vector<HirScalarPtr>& list, const Environment& env,
                                            std::size_t offset);

  // lower_join.cc
  Result<expr::Relation> inner_join(const HirRelationPtr& r, std::vector<HirScalarPtr> predicates,
                                    const Environment& env);
  Result<expr::Relation> outer_join(const HirRelation& r, const Environment& env);
  Result<expr::Relation> lateral_join(const HirRelation& r, const Environment& env);
  Result<std::optional<expr::Relation>> lateral_function(const HirRelation& r, const expr::Relation& left,
                                                         const Environment& env);
  Result<expr::Relation> filter_all(expr::Relation input, const std::vector<HirScalarPtr>& predicates,
                                    const Environment& env);

  // lower_subquery.cc
  Result<expr::Relation> filter_one(expr::Relation input, const HirScalarPtr& predicate, const Environment& env);
  Result<expr::Relation> filter_exists(const expr::Relation& input, const HirRelationPtr& query, bool anti,
                                       const Environment& env);
  Result<expr::Relation> filter_not_any(expr::Relation input, const HirScalar& any, const Environment& env);
  /// Replaces the subqueries in `s` by columns appended to `input`.
  Result<HirScalarPtr> without_subqueries(const HirScalarPtr& s, expr::Relation& input, const Environment& env);
  Result<HirScalarPtr> exists_column(const HirRelationPtr& query, expr::Relation& input, const Environment& env);

  // lower_scalar_subquery.cc
  Result<HirScalarPtr> scalar_column(const HirScalar& subquery, expr::Relation& input, const Environment& env);
  Result<std::optional<HirScalarPtr>> scalar_aggregate(const HirScalar& subquery, expr::Relation& input,
                                                       const Environment& env);
  Result<bool> scalar_by_keys(const HirRelationPtr& query, expr::Relation& input, const Environment& env);
  Result<void> scalar_general(const HirRelationPtr& query, expr::Relation& input, const Environment& env);
  Result<void> scalar_independent(const HirRelationPtr& query, expr::Relation& input, const Environment& env);

  // lower_pull.cc
  std::optional<Pulled> pull_up(const HirRelationPtr& query, bool for_existence);
  std::optional<Pulled> pull_filter(const HirRelation& r, bool for_existence);
  std::optional<Pulled> pull_map(const HirRelation& r, bool for_existence);
  std::optional<Pulled> pull_join(const HirRelation& r);
  std::optional<Pulled> pull_reduce(const HirRelation& r);

  /// The environment of a subquery of a row of `input`, whose first columns are `env`'s.
  struct Inner {
    Environment env;
    std::vector<std::size_t> columns;  ///< Of `input`: those that `env.rows` has.
  };
  Inner inner_environment(const expr::Relation& input, const HirRelation& query, const Environment& env);
  /// How a pulled predicate sees (input, pulled relation): for `scalar`, with the offset input's arity.
  static Environment beside(const expr::Relation& input, const Environment& env);

  expr::LocalId fresh() { return expr::LocalId{next_++}; }
  /// `body` with `value` bound, unless a name would not be shorter.
  template <typename F>
  Result<expr::Relation> shared(const expr::Relation& value, F body);

  std::map<std::uint64_t, std::pair<expr::LocalId, repr::RelationType>> bindings_{};
  std::uint64_t next_ = 1;
  std::size_t nodes_ = 0;
  std::size_t depth_ = 0;
};

template <typename F>
Result<expr::Relation> Lowering::shared(const expr::Relation& value, F body) {
  if (value.as<expr::Relation::Get>() != nullptr) return body(value);
  const expr::LocalId id = fresh();
  expr::Relation inner = FRESHET_TRY(body(expr::Relation::get(id, value.type())));
  return expr::Relation::let(id, value, std::move(inner));
}

/// True if the relation refers to a row outside of it.
bool is_correlated(const HirRelation& relation);
/// Levels of a scalar that lie outside its own row: none, or at least one.
bool refers_outside(const HirScalar& scalar);
bool refers_to_row(const HirScalar& scalar);
std::vector<HirScalarPtr> split_conjuncts(const std::vector<HirScalarPtr>& predicates);
/// Columns of level `depth` (as the walk counts) replaced by `outputs`.
HirScalarPtr substitute(const HirScalarPtr& scalar, const std::vector<HirScalarPtr>& outputs);
/// `value`, which sees what `r` sees, in place of each use of the local, which may stand deeper: a correlated CTE.
HirRelationPtr substitute_local(const HirRelationPtr& r, std::uint64_t id, const HirRelationPtr& value,
                                std::size_t depth);
/// If `predicate` is (outer expression) = (inner expression): those two.
std::optional<std::pair<HirScalarPtr, HirScalarPtr>> correlated_equality(const HirScalar& predicate);

/// The columns agree, NULLs included; over left ++ right. Hashable.
std::vector<expr::Scalar> null_safe_keys(const expr::Relation& left, std::span<const std::size_t> left_columns,
                                         const expr::Relation& right, std::span<const std::size_t> right_columns);
std::vector<std::size_t> iota(std::size_t from, std::size_t to);

}  // namespace freshet::sql
