// SPDX-License-Identifier: Apache-2.0
// Operators, AND/OR/NOT, CASE and the other constructs that look like functions.
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {
namespace {

using repr::SqlType;
using repr::TypeKind;

constexpr std::string_view kSystemOperatorSchema = "pg_catalog";

bool is_row(const PgQuery__Node* node) { return node != nullptr && node->node_case == PG_QUERY__NODE__NODE_ROW_EXPR; }

Result<std::string> operator_name(const PgQuery__AExpr& expr) {
  const std::vector<std::string> names = name_list(nodes(expr.n_name, expr.name));
  if (names.size() > 1 && names.front() != kSystemOperatorSchema) {
    return fail(error_at(sqlstate::kInvalidSchemaName, "schema \"" + names.front() + "\" does not exist", expr.location));
  }
  return names.back();
}

/// A timestamp beside mz_now() is compared as what mz_now() is: a count of milliseconds.
HirScalarPtr as_milliseconds(HirScalarPtr scalar) {
  const TypeKind kind = scalar->type.type.kind();
  if (kind != TypeKind::kTimestamp && kind != TypeKind::kTimestampTz) return scalar;
  const char* signature = kind == TypeKind::kTimestamp ? "extract(text,timestamp)" : "extract(text,timestamptz)";
  HirScalarPtr seconds = hir::call(signature, {hir::text("epoch"), std::move(scalar)});
  return hir::call("*(numeric,numeric)",
                   {std::move(seconds), hir::literal(repr::Datum(repr::Numeric(1000)), TypeKind::kNumeric)});
}

}  // namespace

Result<HirScalarPtr> Binder::operator_expr(const PgQuery__AExpr& expr, const ExprContext& context) {
  switch (expr.kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP: return simple_operator(expr, context);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL: {
      const bool any = expr.kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY;
      HirScalarPtr left = FRESHET_TRY(expression(expr.lexpr, context));
      HirScalarPtr right = FRESHET_TRY(expression(expr.rexpr, context));
      return typing_.quantified(FRESHET_TRY(operator_name(expr)), any, std::move(left), std::move(right), expr.location);
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT: return distinct_from(expr, context);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: return null_if(expr, context);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: return in_list(expr, context);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR: return pattern(expr, context);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM: return between(expr, context);
    default: return fail(unsupported("this operator is", expr.location));
  }
}

Result<HirScalarPtr> Binder::simple_operator(const PgQuery__AExpr& expr, const ExprContext& context) {
  const std::string op = FRESHET_TRY(operator_name(expr));
  if (expr.lexpr == nullptr) {
    HirScalarPtr argument = FRESHET_TRY(expression(expr.rexpr, context));
    // A signed number is a literal; so that -2147483648 and the like keep their types, fold it here.
    if (op == "-" && argument->kind == HirScalar::Kind::kLiteral && !argument->value.is_null() && !is_unknown(*argument)) {
      const SqlType& type = argument->type.type;
      const bool number = type.kind() == TypeKind::kInt4 || type.kind() == TypeKind::kInt8 || type.kind() == TypeKind::kNumeric;
      const std::string text = repr::to_text(argument->value, type);
      if (number && !text.starts_with('-')) {
        if (auto value = repr::from_text("-" + text, type)) {
          return hir::at(hir::literal(std::move(value).value(), type), expr.location);
        }
      }
    }
    return typing_.unary(op, std::move(argument), expr.location);
  }
  const bool comparison = op == "=" || op == "<>" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
  if (comparison && is_row(expr.lexpr)) {
    if (is_row(expr.rexpr)) {
      const auto left = FRESHET_TRY(row(expr.lexpr, context));
      const auto right = FRESHET_TRY(row(expr.rexpr, context));
      return row_comparison(op, left, right, expr.location);
    }
  }
  HirScalarPtr left = FRESHET_TRY(expression(expr.lexpr, context));
  HirScalarPtr right = FRESHET_TRY(expression(expr.rexpr, context));
  if (comparison && left->kind == HirScalar::Kind::kMzNow) right = as_milliseconds(std::move(right));
  if (comparison && right->kind == HirScalar::Kind::kMzNow) left = as_milliseconds(std::move(left));
  return typing_.binary(op, std::move(left), std::move(right), expr.location);
}

Result<std::vector<HirScalarPtr>> Binder::row(const PgQuery__Node* node, const ExprContext& context) {
  if (is_row(node)) return expressions(nodes(node->row_expr->n_args, node->row_expr->args), context);
  std::vector<HirScalarPtr> one;
  one.push_back(FRESHET_TRY(expression(node, context)));
  return one;
}

// = and <> compare all columns; the others the first that differs.
Result<HirScalarPtr> Binder::row_comparison(std::string_view op, const std::vector<HirScalarPtr>& left,
                                            const std::vector<HirScalarPtr>& right, int location) {
  if (left.size() != right.size()) {
    return fail(error_at(sqlstate::kSyntaxError, "unequal number of entries in row expressions", location));
  }
  if (left.empty()) return fail(unsupported("comparing rows of no columns is", location));
  if (left.size() == 1) return typing_.binary(op, left[0], right[0], location);
  if (op == "=" || op == "<>" || op == "!=") {
    std::vector<HirScalarPtr> parts;
    for (std::size_t i = 0; i < left.size(); ++i) {
      parts.push_back(FRESHET_TRY(typing_.binary(op, left[i], right[i], location)));
    }
    return op == "=" ? hir::conjunction(std::move(parts)) : hir::disjunction(std::move(parts));
  }
  if (op != "<" && op != "<=" && op != ">" && op != ">=") {
    return fail(error_at(sqlstate::kFeatureNotSupported,
                         "could not determine interpretation of row comparison operator " + std::string(op), location));
  }
  // From the last column to the first: strict, or equal and what follows.
  const std::string strict(op.substr(0, 1));
  HirScalarPtr result = FRESHET_TRY(typing_.binary(op, left.back(), right.back(), location));
  for (std::size_t i = left.size() - 1; i-- > 0;) {
    HirScalarPtr before = FRESHET_TRY(typing_.binary(strict, left[i], right[i], location));
    HirScalarPtr equal = FRESHET_TRY(typing_.binary("=", left[i], right[i], location));
    // CASE keeps NULL where PostgreSQL does: the first pair that is not equal decides.
    result = hir::if_then(equal, result, before);
  }
  return result;
}

// Items without columns get one common type with the left side, as the elements of an array would, if there is one;
// the others are compared as they are.
Result<std::optional<SqlType>> Binder::unify_items(const HirScalarPtr& left, std::vector<HirScalarPtr>& items) {
  std::vector<HirScalarPtr> all{left};
  std::vector<std::size_t> plain;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool has_column = false;
    hir::visit(*items[i], 0, [&](const HirScalar& part, std::size_t depth) {
      const bool refers = part.kind == HirScalar::Kind::kColumn || part.kind == hir::kAggregateRef;
      has_column = has_column || (refers && part.level == depth);
    });
    if (has_column) continue;
    plain.push_back(i);
    all.push_back(items[i]);
  }
  if (plain.size() < 2) return std::nullopt;
  const Result<SqlType> chosen = typing_.common_type(all, "IN");
  if (!chosen) return std::nullopt;
  const SqlType common = chosen->without_typmod();
  const bool fits = std::ranges::all_of(
      all, [&](const HirScalarPtr& scalar) { return can_coerce_implicitly(scalar->type.type, common); });
  if (!fits) return std::nullopt;
  for (const std::size_t i : plain) {
    items[i] = FRESHET_TRY(typing_.coerce(items[i], common, CastContext::kImplicit));
    if (auto value = fold(items[i])) items[i] = *value;  // what fails does so when it is evaluated
  }
  return common;
}

Result<HirScalarPtr> Binder::in_list(const PgQuery__AExpr& expr, const ExprContext& context) {
  const std::string op = FRESHET_TRY(operator_name(expr));
  const bool negated = op == "<>";
  const auto left = FRESHET_TRY(row(expr.lexpr, context));
  FRESHET_ASSERT(expr.rexpr->node_case == PG_QUERY__NODE__NODE_LIST);
  const auto items = nodes(expr.rexpr->list->n_items, expr.rexpr->list->items);
  if (left.size() == 1 && items.size() > 1) {
    std::vector<HirScalarPtr> values = FRESHET_TRY(expressions(items, context));
    const std::optional<SqlType> common = FRESHET_TRY(unify_items(left[0], values));
    const bool constants = std::ranges::all_of(
        values, [](const HirScalarPtr& v) { return v->kind == HirScalar::Kind::kLiteral; });
    if (common && common->kind() != TypeKind::kArray && constants && items.size() > 4) {
      repr::ArrayValue array;
      for (const HirScalarPtr& value : values) array.elements.push_back(value->value);
      array.dimensions.push_back({1, static_cast<std::int32_t>(array.elements.size())});
      HirScalarPtr literal = hir::literal(repr::Datum(std::make_shared<const repr::ArrayValue>(std::move(array))),
                                          SqlType::array_of(*common));
      return typing_.quantified(op, !negated, left[0], std::move(literal), expr.location);
    }
    std::vector<HirScalarPtr> parts;
    for (HirScalarPtr& value : values) {
      parts.push_back(FRESHET_TRY(typing_.binary(op, left[0], std::move(value), expr.location)));
    }
    return negated ? hir::conjunction(std::move(parts)) : hir::disjunction(std::move(parts));
  }
  std::vector<HirScalarPtr> parts;
  for (const PgQuery__Node* item : items) {
    const auto right = FRESHET_TRY(row(item, context));
    parts.push_back(FRESHET_TRY(row_comparison(op, left, right, expr.location)));
  }
  return negated ? hir::conjunction(std::move(parts)) : hir::disjunction(std::move(parts));
}

Result<HirScalarPtr> Binder::between(const PgQuery__AExpr& expr, const ExprContext& context) {
  const bool negated = expr.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN ||
                       expr.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM;
  const bool symmetric = expr.kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM ||
                         expr.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM;
  HirScalarPtr value = FRESHET_TRY(expression(expr.lexpr, context));
  const auto bounds = FRESHET_TRY(expressions(nodes(expr.rexpr->list->n_items, expr.rexpr->list->items), context));
  FRESHET_ASSERT(bounds.size() == 2);
  const auto within = [&](const HirScalarPtr& low, const HirScalarPtr& high) -> Result<HirScalarPtr> {
    HirScalarPtr a = FRESHET_TRY(typing_.binary(negated ? "<" : ">=", value, low, expr.location));
    HirScalarPtr b = FRESHET_TRY(typing_.binary(negated ? ">" : "<=", value, high, expr.location));
    return negated ? hir::disjunction({a, b}) : hir::conjunction({a, b});
  };
  HirScalarPtr forward = FRESHET_TRY(within(bounds[0], bounds[1]));
  if (!symmetric) return forward;
  HirScalarPtr backward = FRESHET_TRY(within(bounds[1], bounds[0]));
  return negated ? hir::conjunction({forward, backward}) : hir::disjunction({forward, backward});
}

Result<HirScalarPtr> Binder::pattern(const PgQuery__AExpr& expr, const ExprContext& context) {
  HirScalarPtr left = FRESHET_TRY(expression(expr.lexpr, context));
  HirScalarPtr right = FRESHET_TRY(expression(expr.rexpr, context));
  return typing_.binary(FRESHET_TRY(operator_name(expr)), std::move(left), std::move(right), expr.location);
}

Result<HirScalarPtr> Binder::distinct_from(const PgQuery__AExpr& expr, const ExprContext& context) {
  const bool distinct = expr.kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT;
  const auto left = FRESHET_TRY(row(expr.lexpr, context));
  const auto right = FRESHET_TRY(row(expr.rexpr, context));
  if (left.size() != right.size()) {
    return fail(error_at(sqlstate::kSyntaxError, "unequal number of entries in row expressions", expr.location));
  }
  std::vector<HirScalarPtr> parts;
  for (std::size_t i = 0; i < left.size(); ++i) {
    // Types are resolved as those of `=`, then the pair is compared with NULLs as values.
    HirScalarPtr equal = FRESHET_TRY(typing_.binary("=", left[i], right[i], expr.location));
    HirScalarPtr both_null = hir::conjunction({hir::is_null(equal->arguments[0]), hir::is_null(equal->arguments[1])});
    HirScalarPtr same = hir::coalesce({equal, both_null});
    parts.push_back(distinct ? hir::negation(same) : same);
  }
  return distinct ? hir::disjunction(std::move(parts)) : hir::conjunction(std::move(parts));
}

namespace {

/// PostgreSQL compares values of two such types by an operator of their own, which converts neither.
bool compare_as_they_are(const SqlType& a, const SqlType& b) {
  const auto family = [](const SqlType& type) {
    switch (type.kind()) {
      case TypeKind::kInt2:
      case TypeKind::kInt4:
      case TypeKind::kInt8: return 1;
      case TypeKind::kFloat4:
      case TypeKind::kFloat8: return 2;
      case TypeKind::kDate:
      case TypeKind::kTimestamp:
      case TypeKind::kTimestampTz: return 3;
      default: return 0;
    }
  };
  return a.without_typmod() == b.without_typmod() || (family(a) != 0 && family(a) == family(b));
}

}  // namespace

// The value is the left argument as `=` takes it: numeric for NULLIF(7, 2.0).
Result<HirScalarPtr> Binder::null_if(const PgQuery__AExpr& expr, const ExprContext& context) {
  HirScalarPtr left = FRESHET_TRY(expression(expr.lexpr, context));
  HirScalarPtr right = FRESHET_TRY(expression(expr.rexpr, context));
  HirScalarPtr equal = FRESHET_TRY(typing_.binary("=", left, right, expr.location));
  const bool as_it_is = !is_unknown(*left) && compare_as_they_are(left->type.type, right->type.type);
  HirScalarPtr value = as_it_is ? left : equal->arguments[0];
  return hir::if_then(equal, hir::null(value->type.type), value);
}

Result<HirScalarPtr> Binder::bool_expr(const PgQuery__BoolExpr& expr, const ExprContext& context) {
  const bool is_and = expr.boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR;
  const bool is_not = expr.boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR;
  const std::string_view clause = is_and ? "AND" : is_not ? "NOT" : "OR";
  std::vector<HirScalarPtr> arguments = FRESHET_TRY(expressions(nodes(expr.n_args, expr.args), context));
  for (HirScalarPtr& argument : arguments) argument = FRESHET_TRY(typing_.coerce_to_boolean(argument, clause));
  if (is_not) return hir::at(hir::negation(arguments[0]), expr.location);
  return hir::at(is_and ? hir::conjunction(std::move(arguments)) : hir::disjunction(std::move(arguments)),
                 expr.location);
}

Result<HirScalarPtr> Binder::case_expr(const PgQuery__CaseExpr& expr, const ExprContext& context) {
  HirScalarPtr subject;
  if (expr.arg != nullptr) subject = FRESHET_TRY(typing_.settle(expression(expr.arg, context)));
  std::vector<HirScalarPtr> conditions;
  std::vector<HirScalarPtr> results;
  for (const PgQuery__Node* node : nodes(expr.n_args, expr.args)) {
    const PgQuery__CaseWhen& when = *node->case_when;
    HirScalarPtr condition = FRESHET_TRY(expression(when.expr, context));
    if (subject) {
      condition = FRESHET_TRY(typing_.binary("=", subject, std::move(condition), when.location));
    } else {
      condition = FRESHET_TRY(typing_.coerce_to_boolean(condition, "CASE/WHEN"));
    }
    conditions.push_back(std::move(condition));
    results.push_back(FRESHET_TRY(expression(when.result, context)));
  }
  results.push_back(expr.defresult != nullptr ? FRESHET_TRY(expression(expr.defresult, context))
                                              : hir::null(TypeKind::kUnknown));
  // PostgreSQL lets ELSE speak first.
  std::rotate(results.begin(), results.end() - 1, results.end());
  FRESHET_TRY(typing_.make_common(results, "CASE"));
  std::rotate(results.begin(), results.begin() + 1, results.end());
  HirScalarPtr result = results.back();
  for (std::size_t i = conditions.size(); i-- > 0;) result = hir::if_then(conditions[i], results[i], result);
  return hir::at(result, expr.location);
}

Result<HirScalarPtr> Binder::coalesce(const PgQuery__CoalesceExpr& expr, const ExprContext& context) {
  std::vector<HirScalarPtr> arguments = FRESHET_TRY(expressions(nodes(expr.n_args, expr.args), context));
  FRESHET_TRY(typing_.make_common(arguments, "COALESCE"));
  return hir::at(hir::coalesce(std::move(arguments)), expr.location);
}

Result<HirScalarPtr> Binder::min_max(const PgQuery__MinMaxExpr& expr, const ExprContext& context) {
  const bool greatest = expr.op == PG_QUERY__MIN_MAX_OP__IS_GREATEST;
  std::vector<HirScalarPtr> arguments = FRESHET_TRY(expressions(nodes(expr.n_args, expr.args), context));
  FRESHET_TRY(typing_.make_common(arguments, greatest ? "GREATEST" : "LEAST"));
  return typing_.function(greatest ? "greatest" : "least", std::move(arguments), expr.location);
}

Result<HirScalarPtr> Binder::null_test(const PgQuery__NullTest& test, const ExprContext& context) {
  const bool negated = test.nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NOT_NULL;
  std::vector<HirScalarPtr> parts;
  for (HirScalarPtr& argument : FRESHET_TRY(row(test.arg, context))) {
    HirScalarPtr part = hir::is_null(FRESHET_TRY(typing_.settle(argument)));
    parts.push_back(negated ? hir::negation(part) : part);
  }
  return hir::at(hir::conjunction(std::move(parts)), test.location);
}

Result<HirScalarPtr> Binder::boolean_test(const PgQuery__BooleanTest& test, const ExprContext& context) {
  static constexpr std::string_view kClauses[] = {"",          "IS TRUE",      "IS NOT TRUE", "IS FALSE",
                                                  "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN"};
  HirScalarPtr argument = FRESHET_TRY(expression(test.arg, context));
  argument = FRESHET_TRY(typing_.coerce_to_boolean(argument, kClauses[static_cast<std::size_t>(test.booltesttype)]));
  switch (test.booltesttype) {
    case PG_QUERY__BOOL_TEST_TYPE__IS_TRUE: return hir::coalesce({argument, hir::boolean(false)});
    case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE:
      return hir::negation(hir::coalesce({argument, hir::boolean(false)}));
    case PG_QUERY__BOOL_TEST_TYPE__IS_FALSE: return hir::negation(hir::coalesce({argument, hir::boolean(true)}));
    case PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE: return hir::coalesce({argument, hir::boolean(true)});
    case PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN: return hir::is_null(argument);
    default: return hir::negation(hir::is_null(argument));
  }
}

}  // namespace freshet::sql
