// SPDX-License-Identifier: Apache-2.0
// Casts, arrays, subqueries in expressions, CURRENT_DATE and its like.
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/sql/system_functions.h>

#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {
namespace {

using repr::SqlType;
using repr::TypeKind;

/// Functions behind ARRAY[…] and a[i], in expr's table.
constexpr std::string_view kArrayConstructor = "array";
constexpr std::string_view kArraySubscript = "array_subscript";
constexpr std::string_view kArraySlice = "array_slice";

// A dotted name as text: parts lower case unless quoted.
NameParts parse_name(std::string_view text) {
  NameParts name;
  std::string part;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '.' && !quoted) {
      name.parts.push_back(std::move(part));
      part.clear();
    } else if (quoted) {
      part += c;
    } else if (c != ' ') {
      part += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  name.parts.push_back(std::move(part));
  return name;
}

/// Types that no value has, but that the catalog of functions speaks of.
struct PseudoType {
  std::string_view name;
  std::uint32_t oid;
};
constexpr PseudoType kPseudoTypes[] = {{"trigger", 2279}, {"event_trigger", 3838}, {"void", 2278}, {"any", 2276},
                                       {"anyelement", 2283}, {"anyarray", 2277}, {"anynonarray", 2776},
                                       {"cstring", 2275}, {"internal", 2281}};

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<HirScalarPtr> Binder::type_cast(const PgQuery__TypeCast& cast, const ExprContext& context) {
  const SqlType target = FRESHET_TRY(type(*cast.type_name));
  if (cast.arg->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR && target.kind() == TypeKind::kArray) {
    return array_expr(*cast.arg->a_array_expr, context, target);
  }
  HirScalarPtr argument = FRESHET_TRY(expression(cast.arg, context));
  if (is_reg_type(target.kind())) return reg_cast(argument, target, cast.location);
  const int location = cast.location >= 0 ? cast.location : argument->location;
  HirScalarPtr result = FRESHET_TRY(typing_.coerce(argument, target, CastContext::kExplicit, location));
  return result->location < 0 ? hir::at(result, location) : result;
}

// 'name'::regclass is looked up now; other texts when the statement runs.
Result<HirScalarPtr> Binder::reg_cast(const HirScalarPtr& argument, const SqlType& target, int location) {
  HirScalarPtr scalar = argument;
  if (is_unknown(*scalar) && scalar->kind == HirScalar::Kind::kParameter) scalar = FRESHET_TRY(typing_.settle(scalar));
  const TypeKind from = scalar->type.type.kind();
  const bool text = is_unknown(*scalar) || from == TypeKind::kText || from == TypeKind::kVarchar;
  if (!text) return typing_.coerce(scalar, target, CastContext::kExplicit, location);
  if (scalar->kind != HirScalar::Kind::kLiteral) {
    const HirScalarPtr name = FRESHET_TRY(typing_.coerce(scalar, TypeKind::kText, CastContext::kImplicit, location));
    const HirScalarPtr digits = FRESHET_TRY(typing_.binary("~", name, hir::text("^[0-9]+$"), location));
    HirScalarPtr number = FRESHET_TRY(typing_.coerce(name, TypeKind::kOid, CastContext::kExplicit, location));
    number = FRESHET_TRY(typing_.coerce(number, target, CastContext::kExplicit, location));
    const Error none = target.kind() == TypeKind::kRegclass
                           ? error_at(sqlstate::kUndefinedTable, "there is no relation of that name", location)
                       : target.kind() == TypeKind::kRegtype
                           ? error_at(sqlstate::kUndefinedObject, "there is no type of that name", location)
                           : error_at(sqlstate::kUndefinedFunction, "there is no single function of that name", location);
    HirScalarPtr otherwise = hir::if_then(hir::is_null(name), hir::null(target), hir::failure(none, target));
    otherwise = hir::if_then(digits, std::move(number), std::move(otherwise));
    return hir::coalesce({FRESHET_TRY(reg_of_name(name, target, location)), std::move(otherwise)});
  }
  if (scalar->value.is_null()) return hir::null(target);
  const std::string& value = scalar->value.get<std::string>();
  const auto oid = [&](std::uint32_t number) {
    return hir::at(hir::literal(repr::Datum(static_cast<std::int64_t>(number)), target), scalar->location);
  };
  if (all_digits(value) || value == "-") return typing_.coerce(scalar, target, CastContext::kExplicit, location);
  NameParts name = parse_name(value);
  name.location = location;
  const bool system = name.parts.size() == 1 || (name.parts.size() == 2 && name.parts[0] == "pg_catalog");
  if (target.kind() == TypeKind::kRegclass) {
    const CatalogItem* item = find_item(name);
    if (item == nullptr) return fail(no_such_relation(name));
    named_items_[scalar->location] = {item->name, true};
    return oid(item->oid);
  }
  if (target.kind() == TypeKind::kRegtype) {
    // The grammar's names have blanks: "timestamp with time zone".
    const std::string_view written = value.starts_with("pg_catalog.") ? std::string_view(value).substr(11) : value;
    auto found = repr::type_from_name(written);
    if (!found && system) found = repr::type_from_name(name.parts.back());
    const auto pseudo = std::ranges::find(kPseudoTypes, name.parts.back(), &PseudoType::name);
    if (!found && system && pseudo != std::end(kPseudoTypes)) return oid(pseudo->oid);
    if (!found) {
      return fail(error_at(sqlstate::kUndefinedObject, "type \"" + value + "\" does not exist", location));
    }
    return oid(repr::type_oid(*found));
  }
  std::optional<std::uint32_t> function;
  for (const SystemFunction& one : system_functions()) {
    if (!system || one.name != name.parts.back()) continue;
    if (function) {
      return fail(error_at(sqlstate::kAmbiguousFunction, "more than one function named \"" + value + "\"", location));
    }
    function = one.oid;
  }
  if (function) return oid(*function);
  return fail(error_at(sqlstate::kUndefinedFunction, "function \"" + value + "\" does not exist", location));
}

Result<HirScalarPtr> Binder::array_expr(const PgQuery__AArrayExpr& array, const ExprContext& context,
                                        std::optional<SqlType> target) {
  std::vector<HirScalarPtr> elements;
  for (const PgQuery__Node* node : nodes(array.n_elements, array.elements)) {
    if (node->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR) {
      return fail(unsupported("ARRAY of several dimensions is", array.location));
    }
    elements.push_back(FRESHET_TRY(expression(node, context)));
    if (elements.back()->type.type.kind() == TypeKind::kArray) {
      return fail(unsupported("ARRAY of arrays is", array.location));
    }
  }
  if (elements.empty() && !target) {
    Error error = error_at(sqlstate::kIndeterminateDatatype, "cannot determine type of empty array", array.location);
    error.hint = "Explicitly cast to the desired type, for example ARRAY[]::integer[].";
    return fail(std::move(error));
  }
  SqlType element;
  if (target) {
    element = target->element();
    for (HirScalarPtr& item : elements) {
      item = FRESHET_TRY(typing_.coerce(item, element, CastContext::kExplicit, item->location));
    }
  } else {
    FRESHET_TRY(typing_.make_common(elements, "ARRAY"));
    element = elements.front()->type.type.without_typmod();
  }
  const SqlType type = SqlType::array_of(element);
  if (std::ranges::all_of(elements, [](const HirScalarPtr& e) { return e->kind == HirScalar::Kind::kLiteral; })) {
    repr::ArrayValue value;
    for (const HirScalarPtr& item : elements) value.elements.push_back(item->value);
    if (!elements.empty()) value.dimensions.push_back({1, static_cast<std::int32_t>(elements.size())});
    return hir::at(hir::literal(repr::Datum(std::make_shared<const repr::ArrayValue>(std::move(value))), type),
                   array.location);
  }
  const auto specs = expr::functions_named(kArrayConstructor);
  if (specs.empty()) return fail(unsupported("ARRAY of expressions is", array.location));
  return hir::at(hir::call_typed(specs.front(), std::move(elements), type), array.location);
}

Result<HirScalarPtr> Binder::indirection(const PgQuery__AIndirection& node, const ExprContext& context) {
  HirScalarPtr value = FRESHET_TRY(expression(node.arg, context));
  // Several subscripts reach into the dimensions of one array.
  std::vector<HirScalarPtr> arguments{value};
  std::string_view function = kArraySubscript;
  for (const PgQuery__Node* step : nodes(node.n_indirection, node.indirection)) {
    if (step->node_case != PG_QUERY__NODE__NODE_A_INDICES) {
      return fail(unsupported("selecting a field of a row is", value->location));
    }
    if (value->type.type.kind() != TypeKind::kArray) {
      return fail(error_at(sqlstate::kDatatypeMismatch,
                           "cannot subscript type " + type_name(value->type.type) +
                               " because it does not support subscripting",
                           value->location));
    }
    const PgQuery__AIndices& indices = *step->a_indices;
    if (indices.is_slice) {
      if (indices.lidx == nullptr || indices.uidx == nullptr || node.n_indirection > 1) {
        return fail(unsupported("this kind of array slice is", value->location));
      }
      function = kArraySlice;
      arguments.push_back(FRESHET_TRY(expression(indices.lidx, context)));
    }
    arguments.push_back(FRESHET_TRY(expression(indices.uidx, context)));
  }
  if (expr::functions_named(function).empty()) return fail(unsupported("array subscripting is", value->location));
  return typing_.function(function, std::move(arguments), value->location);
}

// -- subqueries ---------------------------------------------------------------------------------

Result<BoundQuery> Binder::inner_query(const PgQuery__SubLink& link, const ExprContext& context) {
  if (context.chain == nullptr) return query_node(link.subselect, nullptr);
  Chain around = *context.chain;
  around.clause = context.clause;
  around.aggregates = context.aggregates;
  return query_node(link.subselect, &around);
}

Result<HirScalarPtr> Binder::sub_link(const PgQuery__SubLink& link, const ExprContext& context) {
  switch (link.sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK: {
      const BoundQuery query = FRESHET_TRY(inner_query(link, context));
      return hir::at(hir::exists(FRESHET_TRY(finished(query))), link.location);
    }
    case PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK: {
      const BoundQuery query = FRESHET_TRY(inner_query(link, context));
      if (query.visible() != 1) {
        return fail(error_at(sqlstate::kSyntaxError, "subquery must return only one column", link.location));
      }
      return hir::at(hir::scalar_subquery(FRESHET_TRY(finished(query))), link.location);
    }
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK: return quantified_subquery(link, context);
    case PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK: {
      const BoundQuery query = FRESHET_TRY(inner_query(link, context));
      if (query.visible() != 1) {
        return fail(error_at(sqlstate::kSyntaxError, "subquery must return only one column", link.location));
      }
      // ARRAY(q) is array_agg over q in its order, an empty array for no rows.
      HirRelationPtr relation = query.relation;
      if (query.limit || query.offset) {
        relation = hir::top_k(relation, {}, query.order, query.limit, query.offset);
      }
      std::vector<HirScalarPtr> argument{hir::column(0, 0, relation->columns[0])};
      // Of arrays it makes an array of one dimension more, whose type is the same.
      const SqlType element = relation->columns[0].type.without_typmod();
      const bool nested = element.kind() == TypeKind::kArray;
      HirAggregate aggregate{
          .spec = expr::aggregate_by_signature(nested ? "array_agg(anyarray)" : "array_agg(anynonarray)"), .arguments = argument};
      FRESHET_ASSERT(aggregate.spec != nullptr);
      aggregate.type = {nested ? element : SqlType::array_of(element), true};
      for (const expr::ColumnOrder& order : query.order) {
        aggregate.order_by.push_back(
            {hir::column(0, order.column, relation->columns[order.column]), order.descending, order.nulls_last});
      }
      const SqlType type = aggregate.type.type;
      HirRelationPtr reduced = hir::reduce(relation, {}, {std::move(aggregate)});
      HirScalarPtr empty = hir::literal(repr::Datum(std::make_shared<const repr::ArrayValue>()), type);
      reduced = hir::select(reduced, {hir::coalesce({hir::column(0, 0, reduced->columns[0]), empty})});
      return hir::at(hir::scalar_subquery(std::move(reduced)), link.location);
    }
    default: return fail(unsupported("this kind of subquery is", link.location));
  }
}

Result<HirScalarPtr> Binder::quantified_subquery(const PgQuery__SubLink& link, const ExprContext& context) {
  const bool any = link.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK;
  const std::vector<std::string> names = name_list(nodes(link.n_oper_name, link.oper_name));
  const std::string op = names.empty() ? "=" : names.back();
  std::vector<HirScalarPtr> left = FRESHET_TRY(row(link.testexpr, context));
  const BoundQuery query = FRESHET_TRY(inner_query(link, context));
  if (left.size() != query.visible()) {
    return fail(error_at(sqlstate::kSyntaxError,
                         left.size() < query.visible() ? "subquery has too many columns" : "subquery has too few columns",
                         link.location));
  }
  HirRelationPtr relation = FRESHET_TRY(finished(query));
  std::vector<HirScalarPtr> right;
  for (std::size_t i = 0; i < relation->arity(); ++i) {
    left[i] = hir::shift(left[i], 0, 1);
    right.push_back(hir::column(0, i, relation->columns[i]));
  }
  HirScalarPtr comparison = FRESHET_TRY(row_comparison(op, left, right, link.location));
  if (any) return hir::at(hir::any(relation, comparison), link.location);
  return hir::at(hir::negation(hir::any(relation, hir::negation(comparison))), link.location);
}

Result<HirScalarPtr> Binder::value_function(const PgQuery__SQLValueFunction& function) {
  const HirScalarPtr now = hir::session_value("now", {TypeKind::kTimestampTz, false});
  const auto as = [&](TypeKind kind) { return typing_.coerce(now, SqlType(kind, function.typmod), CastContext::kExplicit); };
  switch (function.op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE:
      return hir::session_value("current_date", {TypeKind::kDate, false});
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N: return as(TypeKind::kTimestampTz);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N:
      return typing_.coerce(hir::session_value("localtimestamp", {TypeKind::kTimestamp, false}),
                            SqlType(TypeKind::kTimestamp, function.typmod), CastContext::kExplicit);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME_N:
      return typing_.coerce(hir::session_value("localtime", {TypeKind::kTime, false}),
                            SqlType(TypeKind::kTime, function.typmod), CastContext::kExplicit);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_ROLE:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_USER:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_USER: return hir::session_value("current_user", {TypeKind::kName, false});
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_SESSION_USER:
      return hir::session_value("session_user", {TypeKind::kName, false});
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_CATALOG:
      return hir::session_value("current_database", {TypeKind::kName, false});
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_SCHEMA:
      return hir::session_value("current_schema", {TypeKind::kName, true});
    default: return fail(unsupported("type time with time zone is", function.location));
  }
}

}  // namespace freshet::sql
