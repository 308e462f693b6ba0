// SPDX-License-Identifier: Apache-2.0
// Function calls: session functions, aggregates, set-returning and plain functions.
#include <algorithm>
#include <optional>

#include <freshet/base/sqlstate.h>

#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {
namespace {

using repr::SqlType;
using repr::TypeKind;

struct SessionFunction {
  std::string_view function;
  std::string_view value;  ///< The name of the session value.
  TypeKind type;
  bool nullable;
};
constexpr SessionFunction kSessionFunctions[] = {
    {"now", "now", TypeKind::kTimestampTz, false},
    {"transaction_timestamp", "now", TypeKind::kTimestampTz, false},
    {"statement_timestamp", "statement_timestamp", TypeKind::kTimestampTz, false},
    {"clock_timestamp", "clock_timestamp", TypeKind::kTimestampTz, false},
    {"pg_postmaster_start_time", "pg_postmaster_start_time", TypeKind::kTimestampTz, false},
    {"current_database", "current_database", TypeKind::kName, false},
    {"current_schema", "current_schema", TypeKind::kName, true},
    {"current_user", "current_user", TypeKind::kName, false},
    {"session_user", "session_user", TypeKind::kName, false},
    {"version", "version", TypeKind::kText, false},
    {"mz_version", "mz_version", TypeKind::kText, false},
    {"pg_backend_pid", "pg_backend_pid", TypeKind::kInt4, false},
    {"inet_server_port", "inet_server_port", TypeKind::kInt4, true},
    {"txid_current", "txid_current", TypeKind::kInt8, false},
};

bool is_window_only(std::string_view name) {
  for (std::string_view known : {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
                                 "first_value", "last_value", "nth_value"}) {
    if (name == known) return true;
  }
  return false;
}

/// SQL's pattern of SIMILAR TO as a regular expression: % and _ are .* and ., the rest of its signs are those of
/// regular expressions; `escape` (0: none) takes a sign its meaning.
std::string similar_to_regex(std::string_view pattern, char escape) {
  std::string regex = "^(?:";
  bool in_brackets = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (escape != '\0' && c == escape && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      const bool word = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || (next >= '0' && next <= '9') ||
                        (static_cast<unsigned char>(next) & 0x80) != 0;
      if (!word) regex += '\\';
      regex += next;
    } else if (in_brackets) {
      if (c == '\\') regex += '\\';
      regex += c;
      in_brackets = c != ']';
    } else if (c == '%') {
      regex += ".*";
    } else if (c == '_') {
      regex += '.';
    } else if (c == '(') {
      regex += "(?:";
    } else {
      if (c == '\\' || c == '.' || c == '^' || c == '$') regex += '\\';
      regex += c;
      in_brackets = c == '[';
    }
  }
  return regex + ")$";
}

}  // namespace

// The pattern must be known now.
Result<HirScalarPtr> Binder::similar_pattern(const std::vector<HirScalarPtr>& arguments, int location) {
  std::string texts[2] = {"", "\\"};
  for (std::size_t i = 0; i < arguments.size() && i < 2; ++i) {
    const HirScalarPtr text = FRESHET_TRY(typing_.coerce(arguments[i], TypeKind::kText, CastContext::kImplicit));
    if (text->kind != HirScalar::Kind::kLiteral) return fail(unsupported("SIMILAR TO an expression is", location));
    if (text->value.is_null()) return hir::null(TypeKind::kText);
    texts[i] = text->value.get<std::string>();
  }
  if (texts[1].size() > 1) {
    Error error = error_at(sqlstate::kInvalidEscapeSequence, "invalid escape string", location);
    error.hint = "Escape string must be empty or one character.";
    return fail(std::move(error));
  }
  return hir::text(similar_to_regex(texts[0], texts[1].empty() ? '\0' : texts[1][0]));
}

HirScalarPtr Binder::session_function(std::string_view name, const std::vector<HirScalarPtr>& arguments) {
  if (name == "current_schemas" && arguments.size() == 1 && arguments[0]->kind == HirScalar::Kind::kLiteral &&
      !arguments[0]->value.is_null()) {
    const bool implicit = is_unknown(*arguments[0]) ? arguments[0]->value.get<std::string>() == "true"
                                                    : arguments[0]->value.get<bool>();
    return hir::session_value(implicit ? "current_schemas(true)" : "current_schemas(false)",
                              {SqlType::array_of(TypeKind::kName), false});
  }
  if (!arguments.empty()) return nullptr;
  if (name == "mz_now") {
    HirScalar scalar;
    scalar.kind = HirScalar::Kind::kMzNow;
    scalar.type = {TypeKind::kNumeric, false};
    return std::make_shared<const HirScalar>(std::move(scalar));
  }
  for (const SessionFunction& function : kSessionFunctions) {
    if (function.function == name) {
      return hir::session_value(std::string(function.value), {function.type, function.nullable});
    }
  }
  return nullptr;
}

Result<HirScalarPtr> Binder::func_call(const PgQuery__FuncCall& call, const ExprContext& context) {
  const std::vector<std::string> names = name_list(nodes(call.n_funcname, call.funcname));
  const std::string& name = names.back();
  if (names.size() > 1 && std::ranges::find(kSystemSchemas, names[names.size() - 2]) == std::end(kSystemSchemas)) {
    const std::string& schema = names[names.size() - 2];
    if (!catalog_.has_schema(settings_.database, schema)) {
      return fail(error_at(sqlstate::kInvalidSchemaName, "schema \"" + schema + "\" does not exist", call.location));
    }
    return fail(error_at(sqlstate::kUndefinedFunction, "function " + schema + "." + name + " does not exist", call.location));
  }
  if (call.over != nullptr || is_window_only(name)) return fail(unsupported("window functions are", call.location));
  if (call.agg_within_group) return fail(unsupported("WITHIN GROUP is", call.location));
  if (call.func_variadic) return fail(unsupported("VARIADIC arguments are", call.location));
  if (!expr::aggregates_named(name).empty()) return aggregate(call, name, context);
  const std::string_view misused = call.agg_star ? "(*)" : call.agg_distinct ? "DISTINCT" : call.n_agg_order > 0 ? "ORDER BY"
                                   : call.agg_filter != nullptr ? "FILTER" : "";
  if (!misused.empty()) {
    return fail(error_at(sqlstate::kWrongObjectType,
                         std::string(misused) + " specified, but " + name + " is not an aggregate function",
                         call.location));
  }
  std::vector<HirScalarPtr> arguments = FRESHET_TRY(expressions(nodes(call.n_args, call.args), context));
  if (name == "similar_to_escape" && expr::functions_named(name).empty()) return similar_pattern(arguments, call.location);
  if (HirScalarPtr value = session_function(name, arguments)) return hir::at(value, call.location);
  if (HirScalarPtr value = FRESHET_TRY(catalog_function(name, arguments, call.location))) {
    return hir::at(value, call.location);
  }
  if (!expr::table_functions_named(name).empty()) return set_returning(call, name, std::move(arguments), context);
  return typing_.function(name, std::move(arguments), call.location);
}

Result<std::pair<const expr::TableFunctionSpec*, std::vector<HirScalarPtr>>> Binder::table_function(
    std::string_view name, std::vector<HirScalarPtr> arguments, int location) {
  const auto specs = expr::table_functions_named(name);
  std::vector<SqlType> types;
  std::vector<Candidate> candidates;
  for (const HirScalarPtr& argument : arguments) types.push_back(argument->type.type);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (auto candidate = candidate_for(specs[i]->arguments, false, i, types.size())) {
      candidates.push_back(std::move(*candidate));
    }
  }
  const Choice choice = choose(std::move(candidates), types);
  if (choice.outcome != Choice::Outcome::kFound) {
    std::string text = std::string(name) + "(";
    for (std::size_t i = 0; i < types.size(); ++i) text += (i == 0 ? "" : ", ") + type_name(types[i]);
    const bool ambiguous = choice.outcome == Choice::Outcome::kAmbiguous;
    return fail(error_at(ambiguous ? sqlstate::kAmbiguousFunction : sqlstate::kUndefinedFunction,
                         "function " + text + (ambiguous ? ") is not unique" : ") does not exist"), location));
  }
  FRESHET_TRY(typing_.coerce_arguments(choice.candidate, arguments));
  return std::pair(specs[choice.candidate.index], std::move(arguments));
}

Result<HirScalarPtr> Binder::set_returning(const PgQuery__FuncCall& call, const std::string& name,
                                           std::vector<HirScalarPtr> arguments, const ExprContext& context) {
  if (context.set_returning == nullptr) {
    return fail(error_at(sqlstate::kFeatureNotSupported,
                         "set-returning functions are not allowed in " + std::string(context.clause), call.location));
  }
  for (const HirScalarPtr& argument : arguments) {
    bool nested = false;
    hir::visit(*argument, 0, [&](const HirScalar& part, std::size_t depth) {
      nested = nested || (part.kind == hir::kSetReturningRef && part.level == depth);
    });
    if (nested) return fail(unsupported("a set-returning function of another is", call.location));
  }
  auto [spec, converted] = FRESHET_TRY(table_function(name, std::move(arguments), call.location));
  std::vector<SqlType> types;
  for (const HirScalarPtr& argument : converted) types.push_back(argument->type.type);
  const std::vector<repr::ColumnType> columns = spec->result_types(types);
  if (columns.size() != 1) return fail(unsupported("a set-returning function of several columns is", call.location));
  HirScalar scalar;
  scalar.kind = hir::kSetReturningRef;
  scalar.type = columns[0];
  scalar.index = context.set_returning->size();
  scalar.location = call.location;
  context.set_returning->push_back({spec, std::move(converted), columns[0]});
  return HirScalarPtr(std::make_shared<const HirScalar>(std::move(scalar)));
}

Result<HirScalarPtr> Binder::aggregate(const PgQuery__FuncCall& call, const std::string& name,
                                       const ExprContext& context) {
  ExprContext inside = context;
  inside.set_returning = nullptr;
  inside.clause = "aggregate function calls";
  return place_aggregate(FRESHET_TRY(aggregate_call(call, name, inside)), context, call.location);
}

Result<HirAggregate> Binder::aggregate_call(const PgQuery__FuncCall& call, const std::string& name,
                                            const ExprContext& inside) {
  const auto specs = expr::aggregates_named(name);
  HirAggregate aggregate;
  std::vector<HirScalarPtr> arguments;
  if (call.agg_star) {
    const auto star = std::ranges::find_if(
        specs, [](const expr::AggregateSpec* spec) { return spec->kind == expr::AggregateKind::kCountStar; });
    if (star == specs.end()) {
      return fail(error_at(sqlstate::kWrongObjectType, name + "(*) must be used to call a parameterless aggregate function",
                           call.location));
    }
    aggregate.spec = *star;
    aggregate.type = {TypeKind::kInt8, false};
  } else {
    arguments = FRESHET_TRY(expressions(nodes(call.n_args, call.args), inside));
    FRESHET_TRY(choose_aggregate(specs, name, arguments, call.location, aggregate));
  }
  aggregate.arguments = std::move(arguments);
  aggregate.distinct = call.agg_distinct != 0;
  if (call.agg_filter != nullptr) {
    ExprContext filter = inside;
    filter.clause = "FILTER";
    aggregate.filter = FRESHET_TRY(typing_.coerce_to_boolean(expression(call.agg_filter, filter), "FILTER"));
  }
  for (const PgQuery__Node* node : nodes(call.n_agg_order, call.agg_order)) {
    // A literal of unknown type is not the argument it looks like, which has a type by now.
    HirScalarPtr key = FRESHET_TRY(expression(node->sort_by->node, inside));
    const expr::ColumnOrder order = FRESHET_TRY(order_of(*node->sort_by, 0));
    if (aggregate.distinct && std::ranges::none_of(aggregate.arguments, [&](const HirScalarPtr& argument) {
          return hir::equal(*argument, *key);
        })) {
      return fail(error_at(sqlstate::kInvalidColumnReference,
                           "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
                           key->location));
    }
    aggregate.order_by.push_back({FRESHET_TRY(typing_.settle(key)), order.descending, order.nulls_last});
  }
  return aggregate;
}

namespace {

/// What an aggregate refers to, by levels.
struct References {
  std::optional<std::size_t> columns{};     ///< The innermost level of a column.
  std::optional<std::size_t> aggregates{};  ///< The innermost level of an aggregate,
  int location = -1;                        ///< which stands here.
};

void note_references(const HirScalarPtr& scalar, References& references) {
  if (!scalar) return;
  hir::visit(*scalar, 0, [&](const HirScalar& part, std::size_t depth) {
    if (part.level < depth) return;  // of a subquery within
    const std::size_t level = part.level - depth;
    if (part.kind == HirScalar::Kind::kColumn) {
      references.columns = std::min(level, references.columns.value_or(level));
    } else if (part.kind == hir::kAggregateRef && level < references.aggregates.value_or(level + 1)) {
      references.aggregates = level;
      references.location = part.location;
    }
  });
}

/// Every scalar of `aggregate` replaced by f of it.
template <typename F>
void for_each_scalar(HirAggregate& aggregate, F f) {
  for (HirScalarPtr& argument : aggregate.arguments) f(argument);
  if (aggregate.filter) f(aggregate.filter);
  for (HirAggregate::OrderBy& order : aggregate.order_by) f(order.expression);
}

}  // namespace

// An aggregate belongs to the innermost query that it uses columns or aggregates of; without any, to its own.
Result<HirScalarPtr> Binder::place_aggregate(HirAggregate aggregate, const ExprContext& context, int location) {
  References references;
  for_each_scalar(aggregate, [&](HirScalarPtr& scalar) { note_references(scalar, references); });
  std::size_t level = references.columns.value_or(references.aggregates.value_or(0));
  if (references.aggregates && *references.aggregates <= level) {
    return fail(error_at(sqlstate::kGroupingError, "aggregate function calls cannot be nested", references.location));
  }
  std::string_view clause = context.clause;
  std::vector<HirAggregate>* owner = context.aggregates;
  if (level > 0) {
    const Chain* link = context.chain;
    for (std::size_t i = 0; i < level; ++i) link = link->outer;
    clause = link->clause;
    owner = link->aggregates;
  }
  if (owner == nullptr) {
    return fail(error_at(sqlstate::kGroupingError, "aggregate functions are not allowed in " + std::string(clause), location));
  }
  const auto outwards = -static_cast<std::ptrdiff_t>(level);
  for_each_scalar(aggregate, [&](HirScalarPtr& scalar) { scalar = hir::shift(scalar, 0, outwards); });
  HirScalar scalar;
  scalar.kind = hir::kAggregateRef;
  scalar.type = aggregate.type;
  scalar.level = level;
  scalar.index = owner->size();
  scalar.location = location;
  owner->push_back(std::move(aggregate));
  return HirScalarPtr(std::make_shared<const HirScalar>(std::move(scalar)));
}

Result<void> Binder::choose_aggregate(std::span<const expr::AggregateSpec* const> specs, const std::string& name,
                                      std::vector<HirScalarPtr>& arguments, int location, HirAggregate& aggregate) {
  std::vector<SqlType> types;
  std::vector<Candidate> candidates;
  for (const HirScalarPtr& argument : arguments) types.push_back(argument->type.type);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i]->kind == expr::AggregateKind::kCountStar) continue;
    if (auto candidate = candidate_for(specs[i]->arguments, false, i, types.size())) {
      candidates.push_back(std::move(*candidate));
    }
  }
  const Choice choice = choose(std::move(candidates), types);
  if (choice.outcome != Choice::Outcome::kFound) {
    std::string text = name + "(";
    for (std::size_t i = 0; i < types.size(); ++i) text += (i == 0 ? "" : ", ") + type_name(types[i]);
    const bool ambiguous = choice.outcome == Choice::Outcome::kAmbiguous;
    Error error = error_at(ambiguous ? sqlstate::kAmbiguousFunction : sqlstate::kUndefinedFunction,
                           "function " + text + (ambiguous ? ") is not unique" : ") does not exist"), location);
    error.hint = ambiguous ? "Could not choose a best candidate function. You might need to add explicit type casts."
                           : "No function matches the given name and argument types. You might need to add explicit "
                             "type casts.";
    return fail(std::move(error));
  }
  FRESHET_TRY(typing_.coerce_arguments(choice.candidate, arguments));
  aggregate.spec = specs[choice.candidate.index];
  // The result type follows from the arguments as the relational IR reckons it.
  expr::Aggregate stand_in{.spec = aggregate.spec, .arguments = {}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    stand_in.arguments.push_back(expr::Scalar::column(i, arguments[i]->type));
  }
  aggregate.type = stand_in.type();
  aggregate.type.nullable = aggregate.spec->empty_is_null;
  return {};
}

}  // namespace freshet::sql
