// SPDX-License-Identifier: Apache-2.0
#include "hir_build.h"

#include <algorithm>

namespace freshet::sql::hir {
namespace {

using Kind = HirScalar::Kind;
using RKind = HirRelation::Kind;
using repr::ColumnType;
using repr::SqlType;
using repr::TypeKind;

HirScalar scalar_of(Kind kind, ColumnType type) {
  HirScalar scalar;
  scalar.kind = kind;
  scalar.type = std::move(type);
  return scalar;
}

HirScalarPtr share(HirScalar scalar) { return std::make_shared<const HirScalar>(std::move(scalar)); }
HirRelationPtr share(HirRelation relation) { return std::make_shared<const HirRelation>(std::move(relation)); }

bool any_nullable(const std::vector<HirScalarPtr>& arguments) {
  return std::ranges::any_of(arguments, [](const HirScalarPtr& a) { return a->type.nullable; });
}

SqlType common(const SqlType& a, const SqlType& b) { return a == b ? a : a.without_typmod(); }

HirRelation relation_of(RKind kind, std::vector<ColumnType> columns, std::vector<HirRelationPtr> inputs) {
  HirRelation relation;
  relation.kind = kind;
  relation.columns = std::move(columns);
  relation.inputs = std::move(inputs);
  return relation;
}

HirScalarPtr junction(Kind kind, std::vector<HirScalarPtr> arguments) {
  std::vector<HirScalarPtr> flat;
  for (HirScalarPtr& argument : arguments) {
    if (argument->kind == kind) {
      flat.insert(flat.end(), argument->arguments.begin(), argument->arguments.end());
    } else {
      flat.push_back(std::move(argument));
    }
  }
  if (flat.empty()) return boolean(kind == Kind::kAnd);
  if (flat.size() == 1) return flat.front();
  HirScalar scalar = scalar_of(kind, {TypeKind::kBool, any_nullable(flat)});
  scalar.arguments = std::move(flat);
  return share(std::move(scalar));
}

}  // namespace

HirScalarPtr column(std::size_t level, std::size_t index, ColumnType type) {
  HirScalar scalar = scalar_of(Kind::kColumn, std::move(type));
  scalar.level = level;
  scalar.index = index;
  return share(std::move(scalar));
}

HirScalarPtr literal(repr::Datum value, SqlType type) {
  HirScalar scalar = scalar_of(Kind::kLiteral, {std::move(type), value.is_null()});
  scalar.value = std::move(value);
  return share(std::move(scalar));
}

HirScalarPtr null(SqlType type) { return literal(repr::Datum(), std::move(type)); }
HirScalarPtr boolean(bool value) { return literal(repr::Datum(value), TypeKind::kBool); }
HirScalarPtr text(std::string value) { return literal(repr::Datum(std::move(value)), TypeKind::kText); }
HirScalarPtr int4(std::int32_t value) { return literal(repr::Datum(value), TypeKind::kInt4); }
HirScalarPtr int8(std::int64_t value) { return literal(repr::Datum(value), TypeKind::kInt8); }

HirScalarPtr failure(Error error, SqlType type) {
  HirScalar scalar = scalar_of(Kind::kFailure, {std::move(type), false});
  scalar.error = std::move(error);
  return share(std::move(scalar));
}

HirScalarPtr call(const expr::FunctionSpec* function, std::vector<HirScalarPtr> arguments) {
  // The spec's rules for result types are the relational IR's.
  std::vector<expr::Scalar> stand_ins;
  for (std::size_t i = 0; i < arguments.size(); ++i) stand_ins.push_back(expr::Scalar::column(i, arguments[i]->type));
  const ColumnType type = expr::Scalar::call(function, std::move(stand_ins)).type();
  HirScalar scalar = scalar_of(Kind::kCall, type);
  scalar.function = function;
  scalar.arguments = std::move(arguments);
  return share(std::move(scalar));
}

HirScalarPtr call_typed(const expr::FunctionSpec* function, std::vector<HirScalarPtr> arguments, SqlType type) {
  const bool nullable = !function->preserves_not_null || any_nullable(arguments);
  HirScalar scalar = scalar_of(Kind::kCall, {std::move(type), nullable});
  scalar.function = function;
  scalar.arguments = std::move(arguments);
  return share(std::move(scalar));
}

HirScalarPtr call(std::string_view signature, std::vector<HirScalarPtr> arguments) {
  const expr::FunctionSpec* function = expr::function_by_signature(signature);
  FRESHET_ASSERT(function != nullptr, signature);
  return call(function, std::move(arguments));
}

HirScalarPtr conjunction(std::vector<HirScalarPtr> arguments) { return junction(Kind::kAnd, std::move(arguments)); }
HirScalarPtr disjunction(std::vector<HirScalarPtr> arguments) { return junction(Kind::kOr, std::move(arguments)); }
HirScalarPtr negation(HirScalarPtr argument) { return call("not(bool)", {std::move(argument)}); }

HirScalarPtr is_null(HirScalarPtr argument) {
  HirScalar scalar = scalar_of(Kind::kIsNull, {TypeKind::kBool, false});
  scalar.arguments.push_back(std::move(argument));
  return share(std::move(scalar));
}

HirScalarPtr if_then(HirScalarPtr condition, HirScalarPtr then, HirScalarPtr otherwise) {
  HirScalar scalar = scalar_of(Kind::kIf, {common(then->type.type, otherwise->type.type),
                                           then->type.nullable || otherwise->type.nullable});
  scalar.arguments = {std::move(condition), std::move(then), std::move(otherwise)};
  return share(std::move(scalar));
}

HirScalarPtr coalesce(std::vector<HirScalarPtr> arguments) {
  HirScalar scalar = scalar_of(Kind::kCoalesce, arguments.front()->type);
  for (const HirScalarPtr& argument : arguments) {
    scalar.type.type = common(scalar.type.type, argument->type.type);
    scalar.type.nullable = scalar.type.nullable && argument->type.nullable;
  }
  scalar.arguments = std::move(arguments);
  return share(std::move(scalar));
}

HirScalarPtr session_value(std::string name, ColumnType type) {
  HirScalar scalar = scalar_of(Kind::kSessionValue, std::move(type));
  scalar.name = std::move(name);
  return share(std::move(scalar));
}

HirScalarPtr exists(HirRelationPtr query) {
  HirScalar scalar = scalar_of(Kind::kExists, {TypeKind::kBool, false});
  scalar.query = std::move(query);
  return share(std::move(scalar));
}

HirScalarPtr scalar_subquery(HirRelationPtr query) {
  HirScalar scalar = scalar_of(Kind::kScalarSubquery, {query->columns.front().type, true});
  scalar.query = std::move(query);
  return share(std::move(scalar));
}

HirScalarPtr any(HirRelationPtr query, HirScalarPtr comparison) {
  HirScalar scalar = scalar_of(Kind::kAny, {TypeKind::kBool, comparison->type.nullable});
  scalar.query = std::move(query);
  scalar.arguments = {std::move(comparison)};
  return share(std::move(scalar));
}

HirScalarPtr at(HirScalarPtr scalar, int location) {
  if (scalar->location == location || location < 0) return scalar;
  HirScalar moved = *scalar;
  moved.location = location;
  return share(std::move(moved));
}

HirScalarPtr relabel(const HirScalarPtr& scalar, const SqlType& type) {
  if (scalar->type.type == type) return scalar;
  HirScalar changed = *scalar;
  changed.type.type = type;
  if (scalar->kind == Kind::kIf) {
    changed.arguments[1] = relabel(scalar->arguments[1], type);
    changed.arguments[2] = relabel(scalar->arguments[2], type);
  } else if (scalar->kind == Kind::kCoalesce) {
    for (HirScalarPtr& argument : changed.arguments) argument = relabel(argument, type);
  } else if (scalar->kind == Kind::kScalarSubquery) {
    const std::vector<HirScalarPtr> only{relabel(column(0, 0, scalar->query->columns[0]), type)};
    changed.query = select(scalar->query, only);
  }
  return share(std::move(changed));
}

// -- relations ----------------------------------------------------------------------------------

HirRelationPtr unit() {
  HirRelation relation;
  relation.rows.emplace_back();
  return share(std::move(relation));
}

HirRelationPtr constant(std::vector<repr::DatumRow> rows, std::vector<ColumnType> columns) {
  HirRelation relation = relation_of(RKind::kConstant, std::move(columns), {});
  relation.rows = std::move(rows);
  return share(std::move(relation));
}

HirRelationPtr project(HirRelationPtr input, std::vector<std::size_t> columns) {
  bool identity = columns.size() == input->arity();
  std::vector<ColumnType> types;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    types.push_back(input->columns[columns[i]]);
    identity = identity && columns[i] == i;
  }
  if (identity) return input;
  HirRelation relation = relation_of(RKind::kProject, std::move(types), {std::move(input)});
  relation.projection = std::move(columns);
  return share(std::move(relation));
}

HirRelationPtr map(HirRelationPtr input, std::vector<HirScalarPtr> scalars) {
  if (scalars.empty()) return input;
  std::vector<ColumnType> types = input->columns;
  for (const HirScalarPtr& scalar : scalars) types.push_back(scalar->type);
  HirRelation relation = relation_of(RKind::kMap, std::move(types), {std::move(input)});
  relation.scalars = std::move(scalars);
  return share(std::move(relation));
}

HirRelationPtr select(HirRelationPtr input, std::vector<HirScalarPtr> scalars) {
  // Plain columns are projected; only the rest is computed.
  std::vector<std::size_t> columns;
  std::vector<HirScalarPtr> computed;
  const std::size_t arity = input->arity();
  for (HirScalarPtr& scalar : scalars) {
    if (scalar->kind == Kind::kColumn && scalar->level == 0 && input->columns[scalar->index] == scalar->type) {
      columns.push_back(scalar->index);
    } else {
      columns.push_back(arity + computed.size());
      computed.push_back(std::move(scalar));
    }
  }
  return project(map(std::move(input), std::move(computed)), std::move(columns));
}

HirRelationPtr filter(HirRelationPtr input, std::vector<HirScalarPtr> predicates) {
  if (predicates.empty()) return input;
  std::vector<ColumnType> columns = input->columns;
  HirRelation relation = relation_of(RKind::kFilter, std::move(columns), {std::move(input)});
  relation.scalars = std::move(predicates);
  return share(std::move(relation));
}

HirRelationPtr join(HirJoinKind kind, HirRelationPtr left, HirRelationPtr right, std::vector<HirScalarPtr> on,
                    bool lateral) {
  std::vector<ColumnType> types = left->columns;
  types.insert(types.end(), right->columns.begin(), right->columns.end());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool of_left = i < left->arity();
    if (kind == HirJoinKind::kFull || (kind == HirJoinKind::kLeft && !of_left)) types[i].nullable = true;
  }
  HirRelation relation = relation_of(RKind::kJoin, std::move(types), {std::move(left), std::move(right)});
  relation.scalars = std::move(on);
  relation.join_kind = kind;
  relation.lateral = lateral;
  return share(std::move(relation));
}

HirRelationPtr reduce(HirRelationPtr input, std::vector<HirScalarPtr> keys, std::vector<HirAggregate> aggregates) {
  std::vector<ColumnType> types;
  for (const HirScalarPtr& key : keys) types.push_back(key->type);
  for (const HirAggregate& aggregate : aggregates) types.push_back(aggregate.type);
  HirRelation relation = relation_of(RKind::kReduce, std::move(types), {std::move(input)});
  relation.scalars = std::move(keys);
  relation.aggregates = std::move(aggregates);
  return share(std::move(relation));
}

HirRelationPtr distinct(HirRelationPtr input) {
  return share(relation_of(RKind::kDistinct, input->columns, {input}));
}

HirRelationPtr top_k(HirRelationPtr input, std::vector<std::size_t> group, std::vector<expr::ColumnOrder> order,
                     HirScalarPtr limit, HirScalarPtr offset) {
  HirRelation relation = relation_of(RKind::kTopK, input->columns, {input});
  relation.projection = std::move(group);
  relation.order = std::move(order);
  relation.limit = std::move(limit);
  relation.offset = std::move(offset);
  return share(std::move(relation));
}

HirRelationPtr negate(HirRelationPtr input) { return share(relation_of(RKind::kNegate, input->columns, {input})); }
HirRelationPtr threshold(HirRelationPtr input) {
  return share(relation_of(RKind::kThreshold, input->columns, {input}));
}

HirRelationPtr union_all(std::vector<HirRelationPtr> inputs) {
  if (inputs.size() == 1) return inputs.front();
  std::vector<ColumnType> types = inputs.front()->columns;
  for (const HirRelationPtr& input : inputs) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      types[i].nullable = types[i].nullable || input->columns[i].nullable;
      types[i].type = common(types[i].type, input->columns[i].type);
    }
  }
  return share(relation_of(RKind::kUnion, std::move(types), std::move(inputs)));
}

HirRelationPtr get(expr::GlobalId id, std::vector<ColumnType> columns) {
  HirRelation relation = relation_of(RKind::kGet, std::move(columns), {});
  relation.id = id;
  return share(std::move(relation));
}

HirRelationPtr get_local(std::uint64_t id, std::vector<ColumnType> columns) {
  HirRelation relation = relation_of(RKind::kGetLocal, std::move(columns), {});
  relation.locals.push_back(id);
  return share(std::move(relation));
}

HirRelationPtr let(std::uint64_t id, HirRelationPtr value, HirRelationPtr body) {
  HirRelation relation = relation_of(RKind::kLet, body->columns, {std::move(value), body});
  relation.locals.push_back(id);
  return share(std::move(relation));
}

HirRelationPtr flat_map(HirRelationPtr input, const expr::TableFunctionSpec* function,
                        std::vector<HirScalarPtr> arguments, bool with_ordinality) {
  std::vector<SqlType> argument_types;
  for (const HirScalarPtr& argument : arguments) argument_types.push_back(argument->type.type);
  std::vector<ColumnType> types = input->columns;
  for (const ColumnType& column : function->result_types(argument_types)) types.push_back(column);
  if (with_ordinality) types.push_back({TypeKind::kInt8, false});
  HirRelation relation = relation_of(RKind::kFlatMap, std::move(types), {std::move(input)});
  relation.scalars = std::move(arguments);
  relation.table_function = function;
  relation.with_ordinality = with_ordinality;
  return share(std::move(relation));
}

}  // namespace freshet::sql::hir
