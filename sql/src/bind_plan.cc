// SPDX-License-Identifier: Apache-2.0
// What is known only at execution, substituted in plans.
#include <freshet/base/sqlstate.h>
#include <freshet/expr/eval.h>
#include <freshet/sql/plan.h>

#include "hir_build.h"
#include "typing.h"

namespace freshet::sql {

using expr::Relation;
using expr::Scalar;

Scalar bind_scalar(const Scalar& scalar, const Bindings& bindings) {
  return scalar.transform([&](Scalar s) -> Scalar {
    if (const auto* parameter = s.as<Scalar::Parameter>()) {
      if (parameter->index >= bindings.parameters.size()) return s;
      return Scalar::literal(bindings.parameters[parameter->index], s.type().type);
    }
    if (const auto* value = s.as<Scalar::SessionValue>()) {
      if (!bindings.session_value) return s;
      auto found = bindings.session_value(value->name);
      return found ? Scalar::literal(std::move(*found), s.type().type) : s;
    }
    if (s.as<Scalar::MzNow>() != nullptr && bindings.mz_now) return Scalar::literal(*bindings.mz_now, s.type().type);
    return s;
  });
}

namespace {

void bind_all(std::vector<Scalar>& scalars, const Bindings& bindings) {
  for (Scalar& scalar : scalars) scalar = bind_scalar(scalar, bindings);
}

void bind_optional(std::optional<Scalar>& scalar, const Bindings& bindings) {
  if (scalar) scalar = bind_scalar(*scalar, bindings);
}

// The node again, with its scalars bound.
Relation bind_node(const Relation& r, const Bindings& b) {
  if (const auto* map = r.as<Relation::Map>()) {
    std::vector<Scalar> expressions = map->expressions;
    bind_all(expressions, b);
    return map->input[0].map(std::move(expressions));
  }
  if (const auto* filter = r.as<Relation::Filter>()) {
    std::vector<Scalar> predicates = filter->predicates;
    bind_all(predicates, b);
    return filter->input[0].filter(std::move(predicates));
  }
  if (const auto* flat_map = r.as<Relation::FlatMap>()) {
    std::vector<Scalar> arguments = flat_map->arguments;
    bind_all(arguments, b);
    return flat_map->input[0].flat_map(flat_map->function, std::move(arguments), flat_map->with_ordinality);
  }
  if (const auto* join = r.as<Relation::Join>()) {
    std::vector<std::vector<Scalar>> equivalences = join->equivalences;
    for (auto& equal : equivalences) bind_all(equal, b);
    return Relation::join(join->inputs, std::move(equivalences));
  }
  if (const auto* match = r.as<Relation::Match>()) {
    std::vector<Scalar> on = match->on;
    bind_all(on, b);
    return Relation::match(match->kind, match->inputs[0], match->inputs[1], std::move(on));
  }
  if (const auto* reduce = r.as<Relation::Reduce>()) {
    std::vector<Scalar> keys = reduce->group_key;
    bind_all(keys, b);
    std::vector<expr::Aggregate> aggregates = reduce->aggregates;
    for (expr::Aggregate& aggregate : aggregates) {
      bind_all(aggregate.arguments, b);
      bind_optional(aggregate.filter, b);
      for (auto& order : aggregate.order_by) order.expression = bind_scalar(order.expression, b);
    }
    return reduce->input[0].reduce(std::move(keys), std::move(aggregates));
  }
  if (const auto* top = r.as<Relation::TopK>()) {
    std::optional<Scalar> limit = top->limit;
    bind_optional(limit, b);
    return top->input[0].top_k(top->group_key, top->order, std::move(limit), top->offset);
  }
  return r;
}

bool needs_binding(const Scalar& scalar) {
  bool found = false;
  scalar.visit([&](const Scalar& s) {
    found = found || s.as<Scalar::Parameter>() != nullptr || s.as<Scalar::SessionValue>() != nullptr ||
            s.as<Scalar::MzNow>() != nullptr;
  });
  return found;
}

void visit_scalars(const Relation& r, const std::function<void(const Scalar&)>& f) {
  const auto all = [&](const std::vector<Scalar>& scalars) {
    for (const Scalar& scalar : scalars) f(scalar);
  };
  if (const auto* map = r.as<Relation::Map>()) all(map->expressions);
  if (const auto* filter = r.as<Relation::Filter>()) all(filter->predicates);
  if (const auto* flat_map = r.as<Relation::FlatMap>()) all(flat_map->arguments);
  if (const auto* match = r.as<Relation::Match>()) all(match->on);
  if (const auto* join = r.as<Relation::Join>()) {
    for (const auto& equal : join->equivalences) all(equal);
  }
  if (const auto* top = r.as<Relation::TopK>()) {
    if (top->limit) f(*top->limit);
  }
  if (const auto* reduce = r.as<Relation::Reduce>()) {
    all(reduce->group_key);
    for (const expr::Aggregate& aggregate : reduce->aggregates) {
      all(aggregate.arguments);
      if (aggregate.filter) f(*aggregate.filter);
      for (const auto& order : aggregate.order_by) f(order.expression);
    }
  }
}

}  // namespace

Relation bind_relation(const Relation& relation, const Bindings& bindings) {
  bool needed = false;
  relation.visit([&](const Relation& node) {
    if (!needed) visit_scalars(node, [&](const Scalar& s) { needed = needed || needs_binding(s); });
  });
  if (!needed) return relation;
  return relation.transform([&](Relation node) { return bind_node(node, bindings); });
}

bool has_session_values(const Relation& relation) {
  bool found = false;
  relation.visit([&](const Relation& node) {
    visit_scalars(node, [&](const Scalar& scalar) {
      scalar.visit([&](const Scalar& s) { found = found || s.as<Scalar::SessionValue>() != nullptr; });
    });
  });
  return found;
}

namespace {

void bind_into(SelectPlan& plan, const Bindings& b) {
  plan.relation = bind_relation(plan.relation, b);
  bind_optional(plan.finishing.limit, b);
  bind_optional(plan.finishing.offset, b);
  if (plan.as_of) plan.as_of->time = bind_scalar(plan.as_of->time, b);
}

void bind_into(SubscribePlan& plan, const Bindings& b) {
  if (auto* relation = std::get_if<Relation>(&plan.from)) *relation = bind_relation(*relation, b);
  if (plan.as_of) plan.as_of->time = bind_scalar(plan.as_of->time, b);
  bind_optional(plan.up_to, b);
}

void bind_into(std::optional<Returning>& returning, const Bindings& b) {
  if (returning) bind_all(returning->expressions, b);
}

}  // namespace

Plan bind_plan(const Plan& plan, const Bindings& bindings) {
  Plan bound = plan;
  if (auto* select = std::get_if<SelectPlan>(&bound.node)) bind_into(*select, bindings);
  if (auto* subscribe = std::get_if<SubscribePlan>(&bound.node)) bind_into(*subscribe, bindings);
  if (auto* insert = std::get_if<InsertPlan>(&bound.node)) {
    insert->rows = bind_relation(insert->rows, bindings);
    bind_into(insert->returning, bindings);
  }
  if (auto* update = std::get_if<UpdatePlan>(&bound.node)) {
    update->changes = bind_relation(update->changes, bindings);
    bind_into(update->returning, bindings);
  }
  if (auto* remove = std::get_if<DeletePlan>(&bound.node)) {
    remove->rows = bind_relation(remove->rows, bindings);
    bind_into(remove->returning, bindings);
  }
  if (auto* copy = std::get_if<CopyFromPlan>(&bound.node)) bind_all(copy->row, bindings);
  if (auto* copy = std::get_if<CopyToPlan>(&bound.node)) {
    std::visit([&](auto& source) { bind_into(source, bindings); }, copy->source);
  }
  if (auto* execute = std::get_if<ExecutePlan>(&bound.node)) bind_all(execute->arguments, bindings);
  if (auto* explain = std::get_if<ExplainPlan>(&bound.node)) {
    if (explain->inner) explain->inner = std::make_shared<const Plan>(bind_plan(*explain->inner, bindings));
  }
  if (auto* declare = std::get_if<DeclarePlan>(&bound.node)) {
    declare->query = std::make_shared<const Plan>(bind_plan(*declare->query, bindings));
  }
  return bound;
}

namespace {

Result<std::optional<std::int64_t>> count_of(const std::optional<Scalar>& scalar) {
  if (!scalar) return std::optional<std::int64_t>();
  const repr::Datum value = FRESHET_TRY(expr::evaluate_row(*scalar, {}, {}));
  if (value.is_null()) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(value.get<std::int64_t>());
}

}  // namespace

Result<Limits> resolve_limits(const Finishing& finishing) {
  Limits limits;
  const auto limit = FRESHET_TRY(count_of(finishing.limit));
  const auto offset = FRESHET_TRY(count_of(finishing.offset));
  if (limit && *limit < 0) return fail(sqlstate::kInvalidRowCountInLimit, "LIMIT must not be negative");
  if (offset && *offset < 0) return fail(sqlstate::kInvalidRowCountInOffset, "OFFSET must not be negative");
  if (limit) limits.limit = static_cast<std::uint64_t>(*limit);
  if (offset) limits.offset = static_cast<std::uint64_t>(*offset);
  return limits;
}

Result<Scalar> assignment_cast(const Scalar& scalar, const repr::SqlType& type, std::string_view column) {
  const auto* literal = scalar.as<Scalar::Literal>();
  Typing typing({}, "UTC");
  HirScalarPtr hir_scalar;
  if (literal != nullptr) {
    hir_scalar = hir::literal(literal->value, scalar.type().type);
    const HirScalarPtr cast = FRESHET_TRY(typing.coerce(hir_scalar, type, CastContext::kAssignment));
    return lower_scalar(cast);
  }
  if (scalar.type().type == type) return scalar;
  // The cast of a stand-in column, the scalar put in its place.
  const HirScalarPtr column_stand_in = hir::column(0, 0, scalar.type());
  auto cast = typing.coerce(column_stand_in, type, CastContext::kAssignment);
  if (!cast) {
    return fail(sqlstate::kDatatypeMismatch, "column \"" + std::string(column) + "\" is of type " + type_name(type) +
                                                 " but expression is of type " + type_name(scalar.type().type));
  }
  const Scalar lowered = FRESHET_TRY(lower_scalar(*cast));
  const std::vector<Scalar> columns{scalar};
  return lowered.substitute(columns);
}

}  // namespace freshet::sql
