// SPDX-License-Identifier: Apache-2.0
#include "lower.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"
#include "typing.h"

namespace freshet::sql {
namespace {

using expr::Relation;
using expr::Scalar;
using Kind = HirScalar::Kind;
using RKind = HirRelation::Kind;

/// Lowering may copy parts of a query; beyond this many nodes it gives up.
constexpr std::size_t kMaxNodes = 200'000;
constexpr std::size_t kMaxDepth = 1500;

repr::RelationType relation_type(const HirRelation& r) { return {.columns = r.columns}; }

}  // namespace

std::vector<std::size_t> iota(std::size_t from, std::size_t to) {
  std::vector<std::size_t> result;
  for (std::size_t i = from; i < to; ++i) result.push_back(i);
  return result;
}

bool is_correlated(const HirRelation& relation) {
  bool found = false;
  hir::visit(relation, 0, [&](const HirScalar& node, std::size_t depth) {
    found = found || (node.kind == Kind::kColumn && node.level > depth);
  });
  return found;
}

bool refers_outside(const HirScalar& scalar) {
  bool found = false;
  hir::visit(scalar, 0, [&](const HirScalar& node, std::size_t depth) {
    found = found || (node.kind == Kind::kColumn && node.level > depth);
  });
  return found;
}

bool refers_to_row(const HirScalar& scalar) {
  bool found = false;
  hir::visit(scalar, 0, [&](const HirScalar& node, std::size_t depth) {
    found = found || (node.kind == Kind::kColumn && node.level == depth);
  });
  return found;
}

std::vector<HirScalarPtr> split_conjuncts(const std::vector<HirScalarPtr>& predicates) {
  std::vector<HirScalarPtr> result;
  for (const HirScalarPtr& predicate : predicates) {
    if (predicate->kind == Kind::kAnd) {
      const std::vector<HirScalarPtr> inner = split_conjuncts(predicate->arguments);
      result.insert(result.end(), inner.begin(), inner.end());
    } else {
      result.push_back(predicate);
    }
  }
  return result;
}

HirScalarPtr substitute(const HirScalarPtr& scalar, const std::vector<HirScalarPtr>& outputs) {
  return hir::rewrite(scalar, 0, [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
    if (node->kind != Kind::kColumn || node->level != depth) return nullptr;
    const HirScalarPtr value = hir::shift(outputs[node->index], 0, static_cast<std::ptrdiff_t>(depth));
    return hir::relabel(value, node->type.type);
  });
}

namespace {

HirScalarPtr substitute_local(const HirScalarPtr& s, std::uint64_t id, const HirRelationPtr& value, std::size_t depth) {
  if (!s || !hir::has_subquery(*s)) return s;
  HirScalar copy = *s;
  const std::size_t below = s->query ? depth + 1 : depth;
  for (HirScalarPtr& argument : copy.arguments) argument = substitute_local(argument, id, value, below);
  if (copy.query) copy.query = substitute_local(copy.query, id, value, depth + 1);
  return std::make_shared<const HirScalar>(std::move(copy));
}

}  // namespace

HirRelationPtr substitute_local(const HirRelationPtr& r, std::uint64_t id, const HirRelationPtr& value,
                                std::size_t depth) {
  if (r->kind == RKind::kGetLocal) {
    return r->locals.front() == id ? hir::shift(value, 1, static_cast<std::ptrdiff_t>(depth)) : r;
  }
  HirRelation copy = *r;
  for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
    const bool deeper = r->kind == RKind::kJoin && r->lateral && i == 1;
    copy.inputs[i] = substitute_local(copy.inputs[i], id, value, deeper ? depth + 1 : depth);
  }
  for (HirScalarPtr& s : copy.scalars) s = substitute_local(s, id, value, depth);
  for (HirAggregate& aggregate : copy.aggregates) {
    for (HirScalarPtr& argument : aggregate.arguments) argument = substitute_local(argument, id, value, depth);
    aggregate.filter = substitute_local(aggregate.filter, id, value, depth);
  }
  return std::make_shared<const HirRelation>(std::move(copy));
}

// -- scalars ------------------------------------------------------------------------------------

Result<std::vector<Scalar>> Lowering::scalars(const std::vector<HirScalarPtr>& list, const Environment& env,
                                              std::size_t offset) {
  std::vector<Scalar> result;
  for (const HirScalarPtr& s : list) result.push_back(FRESHET_TRY(scalar(*s, env, offset)));
  return result;
}

Result<Scalar> Lowering::scalar(const HirScalar& s, const Environment& env, std::size_t offset) {
  if (++nodes_ > kMaxNodes) return fail(sqlstate::kStatementTooComplex, "the statement is too complex");
  switch (s.kind) {
    case Kind::kColumn: {
      if (s.level == 0) return Scalar::column(offset + s.index, s.type);
      FRESHET_ASSERT(s.level <= env.places.size(), s.level, env.places.size());
      const auto place = env.places[s.level - 1].find(s.index);
      FRESHET_ASSERT(place != env.places[s.level - 1].end(), s.level, s.index);
      return Scalar::column(place->second, s.type);
    }
    case Kind::kLiteral: return Scalar::literal(s.value, s.type.type);
    case Kind::kFailure: return Scalar::failure(s.error, s.type.type);
    case Kind::kParameter: return Scalar::parameter(s.index, s.type.type);
    case Kind::kMzNow: return Scalar::mz_now();
    case Kind::kSessionValue: return Scalar::session_value(s.name, s.type);
    default: break;
  }
  if (s.query) return fail(sqlstate::kFeatureNotSupported, "a subquery in this place is not supported");
  std::vector<Scalar> arguments = FRESHET_TRY(scalars(s.arguments, env, offset));
  switch (s.kind) {
    case Kind::kCall: return Scalar::call_typed(s.function, std::move(arguments), s.type.type);
    case Kind::kAnd: return Scalar::conjunction(std::move(arguments));
    case Kind::kOr: return Scalar::disjunction(std::move(arguments));
    case Kind::kIf:
      return Scalar::if_then(std::move(arguments[0]), std::move(arguments[1]), std::move(arguments[2]));
    case Kind::kCoalesce: return Scalar::coalesce(std::move(arguments));
    case Kind::kIsNull: return Scalar::is_null(std::move(arguments[0]));
    default: return fail(sqlstate::kInternalError, "unknown kind of scalar in a stored plan");
  }
}

// -- relations ----------------------------------------------------------------------------------

Result<Relation> Lowering::relation(const HirRelationPtr& r, const Environment& env) {
  if (++nodes_ > kMaxNodes) return fail(sqlstate::kStatementTooComplex, "the statement is too complex");
  if (depth_ > kMaxDepth) return fail(sqlstate::kStatementTooComplex, "stack depth limit exceeded");
  ++depth_;
  Result<Relation> result = [&]() -> Result<Relation> {
    if (env.rows && !is_correlated(*r)) {
      // One row without columns: the environment itself.
      if (r->kind == RKind::kConstant && r->columns.empty() && r->rows.size() == 1) return *env.rows;
      Relation once = FRESHET_TRY(node(r, {}));
      return Relation::join({*env.rows, std::move(once)}, {});
    }
    return node(r, env);
  }();
  --depth_;
  return result;
}

Result<Relation> Lowering::node(const HirRelationPtr& pointer, const Environment& env) {
  const HirRelation& r = *pointer;
  const std::size_t p = env.arity();
  switch (r.kind) {
    case RKind::kConstant: {
      std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
      for (const repr::DatumRow& row : r.rows) rows.emplace_back(row, 1);
      return Relation::constant(std::move(rows), relation_type(r));
    }
    case RKind::kGet: return Relation::get(r.id, relation_type(r));
    case RKind::kGetLocal: {
      const auto binding = bindings_.find(r.locals.front());
      if (binding == bindings_.end()) return fail(sqlstate::kInternalError, "a binding is used outside its scope");
      return Relation::get(binding->second.first, binding->second.second);
    }
    case RKind::kLet: return let(r, env);
    case RKind::kLetRec: return let_rec(r, env);
    case RKind::kProject: {
      std::vector<std::size_t> columns = iota(0, p);
      for (std::size_t column : r.projection) columns.push_back(p + column);
      const Relation input = FRESHET_TRY(relation(r.inputs[0], env));
      return input.project(std::move(columns));
    }
    case RKind::kMap: return map(r, env);
    case RKind::kFilter: return filter(r, env);
    case RKind::kFlatMap: return flat_map(r, env);
    case RKind::kJoin:
      if (r.lateral) return lateral_join(r, env);
      if (r.join_kind == HirJoinKind::kInner) return inner_join(pointer, {}, env);
      return outer_join(r, env);
    case RKind::kReduce: return reduce(r, env);
    case RKind::kDistinct: {
      const Relation input = FRESHET_TRY(relation(r.inputs[0], env));
      return input.distinct();
    }
    case RKind::kTopK: return top_k(r, env);
    case RKind::kNegate: {
      const Relation input = FRESHET_TRY(relation(r.inputs[0], env));
      return input.negate();
    }
    case RKind::kThreshold: {
      const Relation input = FRESHET_TRY(relation(r.inputs[0], env));
      return input.threshold();
    }
    case RKind::kUnion: {
      std::vector<Relation> inputs;
      for (const HirRelationPtr& input : r.inputs) inputs.push_back(FRESHET_TRY(relation(input, env)));
      return Relation::union_all(std::move(inputs));
    }
  }
  return fail(sqlstate::kInternalError, "unknown kind of relation in a stored plan");
}

Result<Relation> Lowering::let(const HirRelation& r, const Environment& env) {
  const std::uint64_t id = r.locals.front();
  if (is_correlated(*r.inputs[0])) return relation(substitute_local(r.inputs[1], id, r.inputs[0], 0), env);
  bool used = false;
  hir::visit_relations(*r.inputs[1], [&](const HirRelation& node) {
    used = used || (node.kind == RKind::kGetLocal && node.locals.front() == id);
  });
  if (!used) return relation(r.inputs[1], env);
  Relation value = FRESHET_TRY(relation(r.inputs[0], {}));
  const expr::LocalId local = fresh();
  bindings_[id] = {local, value.type()};
  Relation body = FRESHET_TRY(relation(r.inputs[1], env));
  return Relation::let(local, std::move(value), std::move(body));
}

Result<Relation> Lowering::map(const HirRelation& r, const Environment& env) {
  Relation input = FRESHET_TRY(relation(r.inputs[0], env));
  const std::size_t p = env.arity();
  const std::size_t before = input.arity();
  std::vector<HirScalarPtr> list;
  for (const HirScalarPtr& s : r.scalars) list.push_back(FRESHET_TRY(without_subqueries(s, input, env)));
  const std::size_t after = input.arity();
  Relation mapped = input.map(FRESHET_TRY(scalars(list, env, p)));
  if (after == before) return mapped;
  std::vector<std::size_t> columns = iota(0, before);
  for (std::size_t i = 0; i < list.size(); ++i) columns.push_back(after + i);
  return mapped.project(std::move(columns));
}

Result<Relation> Lowering::filter(const HirRelation& r, const Environment& env) {
  const std::vector<HirScalarPtr> conjuncts = split_conjuncts(r.scalars);
  const HirRelation& below = *r.inputs[0];
  if (below.kind == RKind::kJoin && !below.lateral && below.join_kind == HirJoinKind::kInner &&
      (!env.rows || is_correlated(below))) {
    return inner_join(r.inputs[0], conjuncts, env);
  }
  Relation input = FRESHET_TRY(relation(r.inputs[0], env));
  return filter_all(std::move(input), conjuncts, env);
}

// Plain predicates first, so that subqueries see fewer rows.
Result<Relation> Lowering::filter_all(Relation input, const std::vector<HirScalarPtr>& predicates,
                                      const Environment& env) {
  std::vector<Scalar> plain;
  for (const HirScalarPtr& predicate : predicates) {
    if (hir::has_subquery(*predicate)) continue;
    plain.push_back(FRESHET_TRY(scalar(*predicate, env, env.arity())));
  }
  if (!plain.empty()) input = input.filter(std::move(plain));
  for (const HirScalarPtr& predicate : predicates) {
    if (hir::has_subquery(*predicate)) input = FRESHET_TRY(filter_one(std::move(input), predicate, env));
  }
  return input;
}

Result<Relation> Lowering::flat_map(const HirRelation& r, const Environment& env) {
  Relation input = FRESHET_TRY(relation(r.inputs[0], env));
  const std::size_t before = input.arity();
  std::vector<HirScalarPtr> list;
  for (const HirScalarPtr& s : r.scalars) list.push_back(FRESHET_TRY(without_subqueries(s, input, env)));
  const std::size_t after = input.arity();
  auto arguments = FRESHET_TRY(scalars(list, env, env.arity()));
  Relation mapped = input.flat_map(r.table_function, std::move(arguments), r.with_ordinality);
  if (after == before) return mapped;
  std::vector<std::size_t> columns = iota(0, before);
  for (std::size_t i = after; i < mapped.arity(); ++i) columns.push_back(i);
  return mapped.project(std::move(columns));
}

Result<expr::Aggregate> Lowering::aggregate(const HirAggregate& a, Relation& input, const Environment& env) {
  const std::size_t p = env.arity();
  expr::Aggregate result{.spec = a.spec, .arguments = {}, .distinct = a.distinct};
  const auto lowered = [&](const HirScalarPtr& s) -> Result<Scalar> {
    const HirScalarPtr plain = FRESHET_TRY(without_subqueries(s, input, env));
    return scalar(*plain, env, p);
  };
  for (const HirScalarPtr& argument : a.arguments) result.arguments.push_back(FRESHET_TRY(lowered(argument)));
  if (a.filter) result.filter = FRESHET_TRY(lowered(a.filter));
  for (const HirAggregate::OrderBy& order : a.order_by) {
    result.order_by.push_back({FRESHET_TRY(lowered(order.expression)), order.descending, order.nulls_last});
  }
  return result;
}

Result<Relation> Lowering::reduce(const HirRelation& r, const Environment& env) {
  const std::size_t p = env.arity();
  Relation input = FRESHET_TRY(relation(r.inputs[0], env));
  std::vector<Scalar> keys;
  for (std::size_t i = 0; i < p; ++i) keys.push_back(Scalar::column(i, input.type().columns[i]));
  for (const HirScalarPtr& key : r.scalars) {
    const HirScalarPtr plain = FRESHET_TRY(without_subqueries(key, input, env));
    keys.push_back(FRESHET_TRY(scalar(*plain, env, p)));
  }
  std::vector<expr::Aggregate> aggregates;
  for (const HirAggregate& a : r.aggregates) aggregates.push_back(FRESHET_TRY(aggregate(a, input, env)));
  Relation reduced = input.reduce(std::move(keys), std::move(aggregates));
  if (!r.scalars.empty()) return reduced;
  // No keys: one row for each outer row, whatever there is to aggregate.
  const Relation outer =
      env.rows ? *env.rows : Relation::constant({{repr::DatumRow(), 1}}, repr::RelationType());
  const std::vector<std::size_t> key_columns = iota(0, p);
  const Relation matched =
      Relation::match(expr::MatchKind::kLeft, outer, reduced, null_safe_keys(outer, key_columns, reduced, key_columns));
  std::vector<std::size_t> columns = key_columns;
  std::vector<Scalar> counts;
  const std::size_t width = matched.arity();
  for (std::size_t i = 0; i < r.aggregates.size(); ++i) {
    const std::size_t at = 2 * p + i;
    if (r.aggregates[i].spec->empty_is_null) {
      columns.push_back(at);
      continue;
    }
    columns.push_back(width + counts.size());
    counts.push_back(Scalar::coalesce({Scalar::column(at, matched.type().columns[at]),
                                       Scalar::literal(repr::Datum(std::int64_t{0}), repr::TypeKind::kInt8)}));
  }
  return (counts.empty() ? matched : matched.map(std::move(counts))).project(std::move(columns));
}

Result<Relation> Lowering::top_k(const HirRelation& r, const Environment& env) {
  const std::size_t p = env.arity();
  const Relation input = FRESHET_TRY(relation(r.inputs[0], env));
  std::vector<std::size_t> group = iota(0, p);
  for (std::size_t column : r.projection) group.push_back(p + column);
  std::vector<expr::ColumnOrder> order = r.order;
  for (expr::ColumnOrder& key : order) key.column += p;
  std::optional<Scalar> limit;
  if (r.limit) {
    if (r.limit->kind == Kind::kLiteral && !r.limit->value.is_null() && r.limit->value.get<std::int64_t>() < 0) {
      return fail(sqlstate::kInvalidRowCountInLimit, "LIMIT must not be negative");
    }
    limit = FRESHET_TRY(scalar(*r.limit, env, 0));
  }
  std::uint64_t offset = 0;
  if (r.offset) {
    if (r.offset->kind != Kind::kLiteral) {
      return fail(sqlstate::kFeatureNotSupported, "OFFSET in a subquery must be a constant");
    }
    if (!r.offset->value.is_null()) {
      if (r.offset->value.get<std::int64_t>() < 0) {
        return fail(sqlstate::kInvalidRowCountInOffset, "OFFSET must not be negative");
      }
      offset = static_cast<std::uint64_t>(r.offset->value.get<std::int64_t>());
    }
  }
  return input.top_k(std::move(group), std::move(order), std::move(limit), offset);
}

Result<Relation> lower(const HirRelationPtr& relation) {
  Lowering lowering;
  return lowering.relation(relation, {});
}

Result<Scalar> lower_scalar(const HirScalarPtr& scalar) {
  Lowering lowering;
  return lowering.scalar(*scalar, {}, 0);
}

}  // namespace freshet::sql
