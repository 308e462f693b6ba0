// SPDX-License-Identifier: Apache-2.0
// Joins, lateral ones included.
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/match_keys.h>

#include "hir_build.h"
#include "lower.h"
#include "typing.h"

namespace freshet::sql {
namespace {

using expr::MatchKind;
using expr::Relation;
using expr::Scalar;
using RKind = HirRelation::Kind;

bool is_inner(const HirRelation& r) {
  return r.kind == RKind::kJoin && !r.lateral && r.join_kind == HirJoinKind::kInner;
}

/// The inputs of a tree of inner joins side by side, and its predicates over all their columns.
void flatten(const HirRelationPtr& r, std::size_t offset, std::vector<HirRelationPtr>& inputs,
             std::vector<HirScalarPtr>& predicates) {
  if (!is_inner(*r)) {
    inputs.push_back(r);
    return;
  }
  flatten(r->inputs[0], offset, inputs, predicates);
  flatten(r->inputs[1], offset + r->inputs[0]->arity(), inputs, predicates);
  for (const HirScalarPtr& predicate : split_conjuncts(r->scalars)) {
    predicates.push_back(hir::rewrite(predicate, 0, [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
      if (offset == 0 || node->kind != HirScalar::Kind::kColumn || node->level != depth) return nullptr;
      return hir::column(depth, node->index + offset, node->type);
    }));
  }
}

const expr::FunctionSpec* equality(const repr::SqlType& type) {
  if (type.kind() == repr::TypeKind::kArray) return expr::function_by_signature("=(anyarray,anyarray)");
  // As PostgreSQL compares them: by the type that they are a form of.
  const repr::TypeKind kind = type.kind() == repr::TypeKind::kVarchar ? repr::TypeKind::kText
                              : is_reg_type(type.kind())              ? repr::TypeKind::kOid
                                                                      : type.kind();
  const std::string name(repr::type_info(kind).pg_name);
  return expr::function_by_signature("=(" + name + "," + name + ")");
}

/// Some value of the type, to stand for NULL once IS NULL has been compared.
repr::Datum any_value(const repr::SqlType& type) {
  using repr::TypeKind;
  switch (type.kind()) {
    case TypeKind::kBool: return repr::Datum(false);
    case TypeKind::kArray: return repr::Datum(std::make_shared<const repr::ArrayValue>());
    case TypeKind::kInterval: return repr::Datum(repr::Interval{});
    case TypeKind::kUuid: return repr::Datum(repr::Uuid{});
    case TypeKind::kNumeric: return repr::from_text("0", TypeKind::kNumeric).value();
    default: break;
  }
  switch (type.physical()) {
    case repr::PhysicalType::kInt16: return repr::Datum(std::int16_t{0});
    case repr::PhysicalType::kInt32: return repr::Datum(std::int32_t{0});
    case repr::PhysicalType::kInt64: return repr::Datum(std::int64_t{0});
    case repr::PhysicalType::kFloat: return repr::Datum(0.0F);
    case repr::PhysicalType::kDouble: return repr::Datum(0.0);
    default: return repr::Datum(std::string());
  }
}

std::vector<Scalar> null_safe_equal(const Scalar& a, const Scalar& b) {
  const repr::SqlType& type = a.type().type;
  const expr::FunctionSpec* equal = equality(type);
  FRESHET_ASSERT(equal != nullptr, repr::to_string(type));
  if (!a.type().nullable || !b.type().nullable) return {Scalar::call(equal, {a, b})};
  const Scalar zero = Scalar::literal(any_value(type), type.without_typmod());
  const expr::FunctionSpec* same = expr::function_by_signature("=(bool,bool)");
  return {Scalar::call(same, {Scalar::is_null(a), Scalar::is_null(b)}),
          Scalar::call(equal, {Scalar::coalesce({a, zero}), Scalar::coalesce({b, zero})})};
}

/// The equivalences that say the same as `predicate`; none if it is no equality.
std::vector<std::vector<Scalar>> equated(const Scalar& predicate) {
  if (predicate.can_fail() || predicate.contains_mz_now()) return {};
  if (const auto equal = expr::as_equality(predicate)) return {{equal->first, equal->second}};
  const auto* call = predicate.as<Scalar::Call>();
  if (call == nullptr || call->function->name != "is_not_distinct_from") return {};
  const auto same = call->arguments[0].type().type.without_typmod() == call->arguments[1].type().type.without_typmod();
  if (!same || equality(call->arguments[0].type().type) == nullptr) return {};
  std::vector<std::vector<Scalar>> result;
  for (const Scalar& conjunct : null_safe_equal(call->arguments[0], call->arguments[1])) {
    result.push_back(conjunct.as<Scalar::Call>()->arguments);
  }
  return result;
}

}  // namespace

std::vector<Scalar> null_safe_keys(const Relation& left, std::span<const std::size_t> left_columns,
                                   const Relation& right, std::span<const std::size_t> right_columns) {
  std::vector<Scalar> result;
  for (std::size_t i = 0; i < left_columns.size(); ++i) {
    const Scalar a = Scalar::column(left_columns[i], left.type().columns[left_columns[i]]);
    const Scalar b = Scalar::column(left.arity() + right_columns[i], right.type().columns[right_columns[i]]);
    for (Scalar& conjunct : null_safe_equal(a, b)) result.push_back(std::move(conjunct));
  }
  return result;
}

// A tree of inner joins becomes one join; equalities between its inputs become its equivalences.
Result<Relation> Lowering::inner_join(const HirRelationPtr& r, std::vector<HirScalarPtr> predicates,
                                      const Environment& env) {
  std::vector<HirRelationPtr> inputs;
  std::vector<HirScalarPtr> all;
  flatten(r, 0, inputs, all);
  all.insert(all.end(), predicates.begin(), predicates.end());
  const std::size_t p = env.arity();
  std::vector<Relation> parts;
  std::vector<std::vector<Scalar>> equivalences;
  std::vector<std::size_t> columns;  // of the joined rows: the environment's, then those of the inputs
  std::size_t width = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool with_env = env.rows && (i == 0 || is_correlated(*inputs[i]));
    Relation part = FRESHET_TRY(relation(inputs[i], with_env ? env : Environment{}));
    const std::size_t own = with_env ? p : 0;
    if (with_env && i > 0) {
      const std::vector<std::size_t> keys = iota(0, p);
      for (const Scalar& conjunct : null_safe_keys(parts.front(), keys, part, keys)) {
        // The right side's columns stand behind all earlier parts.
        const auto& call = *conjunct.as<Scalar::Call>();
        const std::size_t first = parts.front().arity();
        std::vector<std::size_t> moved = iota(0, first + part.arity());
        for (std::size_t j = first; j < moved.size(); ++j) moved[j] = width + j - first;
        equivalences.push_back({call.arguments[0].with_columns(moved), call.arguments[1].with_columns(moved)});
      }
    }
    for (std::size_t j = i == 0 ? 0 : own; j < part.arity(); ++j) columns.push_back(width + j);
    width += part.arity();
    parts.push_back(std::move(part));
  }
  std::vector<HirScalarPtr> rest;
  std::vector<std::size_t> part_of(width, 0);
  for (std::size_t i = 0, at = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < parts[i].arity(); ++j) part_of[at++] = i;
  }
  for (const HirScalarPtr& predicate : all) {
    if (hir::has_subquery(*predicate)) {
      rest.push_back(predicate);
      continue;
    }
    const Scalar lowered = FRESHET_TRY(scalar(*predicate, env, p));
    const Scalar physical = lowered.with_columns(columns);
    const auto pairs = equated(physical);
    const bool joins = !pairs.empty() && std::ranges::all_of(pairs, [&](const auto& pair) {
      const auto a = pair.front().columns();
      const auto b = pair.back().columns();
      return !a.empty() && !b.empty() && part_of[*a.begin()] == part_of[*a.rbegin()] &&
             part_of[*b.begin()] == part_of[*b.rbegin()] && part_of[*a.begin()] != part_of[*b.begin()];
    });
    if (joins) {
      equivalences.insert(equivalences.end(), pairs.begin(), pairs.end());
    } else {
      rest.push_back(predicate);
    }
  }
  Relation joined = Relation::join(std::move(parts), std::move(equivalences));
  if (columns.size() != width) joined = joined.project(columns);
  return filter_all(std::move(joined), rest, env);
}

namespace {

/// A left join whose ON has subqueries over one side alone: those of the right side filter it, those of
/// the left become a column of it. nullopt for other forms.
std::optional<HirRelationPtr> move_subqueries(const HirRelation& r, const std::vector<HirScalarPtr>& predicates) {
  if (r.join_kind != HirJoinKind::kLeft) return std::nullopt;
  const std::size_t left_arity = r.inputs[0]->arity();
  std::vector<HirScalarPtr> of_left;
  std::vector<HirScalarPtr> of_right;
  std::vector<HirScalarPtr> plain;
  for (const HirScalarPtr& predicate : predicates) {
    if (!hir::has_subquery(*predicate)) {
      plain.push_back(predicate);
      continue;
    }
    bool left = false;
    bool right = false;
    hir::visit(*predicate, 0, [&](const HirScalar& node, std::size_t depth) {
      if (node.kind != HirScalar::Kind::kColumn || node.level != depth) return;
      (node.index < left_arity ? left : right) = true;
    });
    if (left && right) return std::nullopt;
    (left ? of_left : of_right).push_back(predicate);
  }
  const auto moved = [&](const HirScalarPtr& s, std::size_t from, std::ptrdiff_t by) {
    return hir::rewrite(s, 0, [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
      if (node->kind != HirScalar::Kind::kColumn || node->level != depth || node->index < from) return nullptr;
      return hir::column(depth, static_cast<std::size_t>(static_cast<std::ptrdiff_t>(node->index) + by), node->type);
    });
  };
  for (HirScalarPtr& s : of_right) s = moved(s, left_arity, -static_cast<std::ptrdiff_t>(left_arity));
  const HirRelationPtr right = hir::filter(r.inputs[1], of_right);
  const HirRelationPtr left = hir::map(r.inputs[0], of_left);
  for (HirScalarPtr& s : plain) s = moved(s, left_arity, static_cast<std::ptrdiff_t>(of_left.size()));
  for (std::size_t i = 0; i < of_left.size(); ++i) {
    plain.push_back(hir::column(0, left_arity + i, of_left[i]->type));
  }
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < left->arity() + right->arity(); ++i) {
    if (i < left_arity || i >= left->arity()) columns.push_back(i);
  }
  return hir::project(hir::join(HirJoinKind::kLeft, left, right, std::move(plain), false), std::move(columns));
}

}  // namespace

Result<Relation> Lowering::outer_join(const HirRelation& r, const Environment& env) {
  const std::size_t p = env.arity();
  const bool full = r.join_kind == HirJoinKind::kFull;
  const std::vector<HirScalarPtr> predicates = split_conjuncts(r.scalars);
  const bool subqueries = std::ranges::any_of(predicates, [](const auto& s) { return hir::has_subquery(*s); });
  if (subqueries) {
    auto moved = move_subqueries(r, predicates);
    if (!moved) return fail(sqlstate::kFeatureNotSupported, "this subquery in ON of an outer join is not supported");
    return node(*moved, env);
  }
  const Relation left = FRESHET_TRY(relation(r.inputs[0], env));
  // Of an independent right side a left join needs no copy per outer row.
  const bool with_env = env.rows && (full || is_correlated(*r.inputs[1]));
  const Relation right = FRESHET_TRY(relation(r.inputs[1], with_env ? env : Environment{}));
  const std::size_t own = with_env ? p : 0;
  std::vector<std::size_t> columns = iota(0, left.arity());
  for (std::size_t i = own; i < right.arity(); ++i) columns.push_back(left.arity() + i);
  std::vector<Scalar> on;
  if (with_env) {
    const std::vector<std::size_t> keys = iota(0, p);
    on = null_safe_keys(left, keys, right, keys);
  }
  for (const HirScalarPtr& predicate : predicates) {
    const Scalar lowered = FRESHET_TRY(scalar(*predicate, env, p));
    on.push_back(lowered.with_columns(columns));
  }
  Relation joined = Relation::match(full ? MatchKind::kFull : MatchKind::kLeft, left, right, std::move(on));
  if (columns.size() == joined.arity()) return joined;
  if (full) {
    // An unmatched right row has its outer row on the right only.
    std::vector<Scalar> outer;
    const std::size_t width = joined.arity();
    for (std::size_t i = 0; i < p; ++i) {
      outer.push_back(Scalar::coalesce({Scalar::column(i, joined.type().columns[i]),
                                        Scalar::column(left.arity() + i, joined.type().columns[left.arity() + i])}));
      columns[i] = width + i;
    }
    joined = joined.map(std::move(outer));
  }
  return joined.project(std::move(columns));
}

// `FROM t, f(t.x)`: the function is applied to the rows of t themselves.
Result<std::optional<Relation>> Lowering::lateral_function(const HirRelation& r, const Relation& left,
                                                           const Environment& env) {
  const HirRelation& right = *r.inputs[1];
  const bool fits = r.join_kind == HirJoinKind::kInner && right.kind == RKind::kFlatMap &&
                    right.inputs[0]->kind == RKind::kConstant && right.inputs[0]->columns.empty() &&
                    right.inputs[0]->rows.size() == 1 &&
                    std::ranges::none_of(right.scalars, [](const HirScalarPtr& s) { return hir::has_subquery(*s); });
  if (!fits) return std::optional<Relation>();
  const Environment row = beside(left, env);
  auto arguments = FRESHET_TRY(scalars(right.scalars, row, 0));
  Relation mapped = left.flat_map(right.table_function, std::move(arguments), right.with_ordinality);
  return std::optional<Relation>(FRESHET_TRY(filter_all(std::move(mapped), split_conjuncts(r.scalars), env)));
}

Result<Relation> Lowering::lateral_join(const HirRelation& r, const Environment& env) {
  const std::size_t p = env.arity();
  // Nothing of the left is used: a plain join, the right side one level less deep.
  bool uses_left = false;
  hir::visit(*r.inputs[1], 0, [&](const HirScalar& node, std::size_t depth) {
    uses_left = uses_left || (node.kind == HirScalar::Kind::kColumn && node.level == depth + 1);
  });
  if (!uses_left) {
    HirRelation plain = r;
    plain.lateral = false;
    plain.inputs[1] = hir::shift(r.inputs[1], 2, -1);
    return node(std::make_shared<const HirRelation>(std::move(plain)), env);
  }
  const Relation left = FRESHET_TRY(relation(r.inputs[0], env));
  if (auto mapped = FRESHET_TRY(lateral_function(r, left, env))) return std::move(*mapped);
  for (const HirScalarPtr& predicate : r.scalars) {
    if (r.join_kind != HirJoinKind::kInner && hir::has_subquery(*predicate)) {
      return fail(sqlstate::kFeatureNotSupported, "a subquery in ON of an outer join is not supported");
    }
  }
  return shared(left, [&](const Relation& rows) -> Result<Relation> {
    const Inner inner = inner_environment(rows, *r.inputs[1], env);
    return shared(*inner.env.rows, [&](const Relation& keys) -> Result<Relation> {
      Environment inside = inner.env;
      inside.rows = keys;
      const Relation right = FRESHET_TRY(relation(r.inputs[1], inside));
      std::vector<Scalar> on = null_safe_keys(rows, inner.columns, right, iota(0, keys.arity()));
      std::vector<std::size_t> columns = iota(0, rows.arity());
      for (std::size_t i = keys.arity(); i < right.arity(); ++i) columns.push_back(rows.arity() + i);
      if (r.join_kind == HirJoinKind::kInner) {
        std::vector<std::vector<Scalar>> equivalences;
        for (const Scalar& conjunct : on) equivalences.push_back(conjunct.as<Scalar::Call>()->arguments);
        Relation joined = Relation::join({rows, right}, std::move(equivalences)).project(std::move(columns));
        return filter_all(std::move(joined), split_conjuncts(r.scalars), env);
      }
      for (const HirScalarPtr& predicate : split_conjuncts(r.scalars)) {
        const Scalar lowered = FRESHET_TRY(scalar(*predicate, env, p));
        on.push_back(lowered.with_columns(columns));
      }
      return Relation::match(MatchKind::kLeft, rows, right, std::move(on)).project(std::move(columns));
    });
  });
}

}  // namespace freshet::sql
