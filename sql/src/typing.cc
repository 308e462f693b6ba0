// SPDX-License-Identifier: Apache-2.0
#include "typing.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"

namespace freshet::sql {
namespace {

using expr::ArgumentType;
using repr::SqlType;
using repr::TypeKind;
using AKind = ArgumentType::Kind;
using Kind = HirScalar::Kind;

constexpr int kMaxParameters = 65535;

char category(const SqlType& type) { return repr::type_info(type.kind()).category; }

std::vector<SqlType> types_of(std::span<const HirScalarPtr> arguments) {
  std::vector<SqlType> types;
  for (const HirScalarPtr& argument : arguments) types.push_back(argument->type.type);
  return types;
}

int location_of(const HirScalarPtr& scalar, int location) { return scalar->location >= 0 ? scalar->location : location; }

bool is_text(TypeKind kind) {
  return kind == TypeKind::kText || kind == TypeKind::kVarchar || kind == TypeKind::kBpchar || kind == TypeKind::kName;
}

// What stands for itself among the names of a reg type.
bool is_number(std::string_view name) {
  return name == "-" || name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool allows(CastContext allowed, CastContext needed) { return static_cast<int>(needed) <= static_cast<int>(allowed); }

}  // namespace

Error error_at(SqlState state, std::string message, int location) {
  Error error = sql_error(state, std::move(message));
  error.position = location < 0 ? 0 : location + 1;
  return error;
}

std::string type_name(const SqlType& type) {
  return type.kind() == TypeKind::kUnknown ? "unknown" : repr::to_string(type.without_typmod());
}

bool is_unknown(const HirScalar& scalar) { return scalar.type.type.kind() == TypeKind::kUnknown; }

bool is_reg_type(TypeKind kind) {
  return kind == TypeKind::kRegclass || kind == TypeKind::kRegtype || kind == TypeKind::kRegproc;
}

Typing::Typing(std::vector<SqlType> declared, std::string time_zone, RegNames* names)
    : parameters_(std::move(declared)), names_(names) {
  text_options_.time_zone = std::move(time_zone);
}

Result<HirScalarPtr> Typing::parameter(int number, int location) {
  if (number < 1 || number > kMaxParameters) {
    return fail(error_at(sqlstate::kUndefinedParameter, "there is no parameter $" + std::to_string(number), location));
  }
  const auto index = static_cast<std::size_t>(number - 1);
  if (index >= parameters_.size()) parameters_.resize(index + 1);
  HirScalar scalar;
  scalar.kind = Kind::kParameter;
  scalar.type = {parameters_[index], true};
  scalar.index = index;
  scalar.location = location;
  return HirScalarPtr(std::make_shared<const HirScalar>(std::move(scalar)));
}

void Typing::set_open_parameters_to_text() {
  for (SqlType& type : parameters_) {
    if (type.kind() == TypeKind::kUnknown) type = TypeKind::kText;
  }
}

Result<std::vector<SqlType>> Typing::parameter_types() const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].kind() == TypeKind::kUnknown) {
      return fail(sqlstate::kIndeterminateDatatype,
                  "could not determine data type of parameter $" + std::to_string(i + 1));
    }
  }
  return parameters_;
}

Result<HirScalarPtr> Typing::coerce_literal(const HirScalarPtr& scalar, const SqlType& type, CastContext context,
                                            int location) {
  if (scalar->value.is_null()) return hir::at(hir::null(type), scalar->location);
  if (names_ != nullptr && is_reg_type(type.kind()) && !is_number(scalar->value.get<std::string>())) {
    return names_->reg_cast(scalar, type, location_of(scalar, location));
  }
  const bool by_input = type.kind() == TypeKind::kInterval;  // its modifier decides how the text is read
  const SqlType plain = by_input ? type : type.without_typmod();
  Result<repr::Datum> value = repr::from_text(scalar->value.get<std::string>(), plain, text_options_);
  if (!value) {
    Error error = value.error();
    error.position = location_of(scalar, location) < 0 ? 0 : location_of(scalar, location) + 1;
    return fail(std::move(error));
  }
  HirScalarPtr literal = hir::at(hir::literal(std::move(value).value(), plain), scalar->location);
  return by_input ? literal : apply_typmod(literal, type, context);
}

Result<HirScalarPtr> Typing::apply_typmod(const HirScalarPtr& scalar, const SqlType& type, CastContext context) {
  if (scalar->type.type == type) return scalar;
  const bool is_array = type.kind() == TypeKind::kArray;
  const std::int32_t typmod = is_array ? type.element().typmod() : type.typmod();
  if (typmod == -1) return hir::relabel(scalar, type);
  if (is_array) {
    const auto cast = expr::find_cast(scalar->type.type, type);
    if (!cast || cast->function == nullptr) return hir::relabel(scalar, type);
    return hir::call_typed(cast->function, {scalar}, type);
  }
  const expr::FunctionSpec* function = expr::typmod_coercion(type.kind());
  if (function == nullptr) return hir::relabel(scalar, type);
  return hir::call_typed(function,
                         {scalar, hir::int4(typmod), hir::boolean(context == CastContext::kExplicit)}, type);
}

bool Typing::writes_name(const SqlType& from, const SqlType& to, CastContext context) const {
  return names_ != nullptr && is_reg_type(from.kind()) && is_text(to.kind()) && allows(context, CastContext::kAssignment);
}

bool Typing::can_coerce(const SqlType& from, const SqlType& to, CastContext context) const {
  if (from.kind() == TypeKind::kUnknown || from.without_typmod() == to.without_typmod()) return true;
  if (writes_name(from, to, context)) return true;
  const auto cast = expr::find_cast(from.without_typmod(), to.without_typmod());
  return cast && allows(context, cast->context);
}

Result<HirScalarPtr> Typing::coerce(const HirScalarPtr& scalar, const SqlType& type, CastContext context, int location) {
  const SqlType& from = scalar->type.type;
  if (from == type) return scalar;
  if (from.kind() == TypeKind::kUnknown) {
    if (scalar->kind == Kind::kLiteral) return coerce_literal(scalar, type, context, location);
    if (scalar->kind == Kind::kParameter) {
      SqlType& known = parameters_[scalar->index];
      HirScalar typed = *scalar;
      if (known.kind() == TypeKind::kUnknown) known = type.without_typmod();
      typed.type.type = known;
      return coerce(std::make_shared<const HirScalar>(std::move(typed)), type, context, location);
    }
  }
  if (type.kind() == TypeKind::kUnknown) return scalar;
  const SqlType plain = type.without_typmod();
  HirScalarPtr result = scalar;
  if (writes_name(from, plain, context)) {
    result = FRESHET_TRY(names_->reg_text(scalar));
    return coerce(hir::at(result, scalar->location), type, context, location);
  }
  if (!(from.without_typmod() == plain)) {
    const auto cast = expr::find_cast(from.without_typmod(), plain);
    if (!cast || !allows(context, cast->context)) {
      return fail(error_at(sqlstate::kCannotCoerce,
                           "cannot cast type " + type_name(from) + " to " + type_name(type),
                           location >= 0 ? location : scalar->location));
    }
    result = cast->function == nullptr ? hir::relabel(scalar, plain)
                                       : hir::call_typed(cast->function, {scalar}, plain);
    result = hir::at(result, scalar->location);
  }
  return apply_typmod(result, type, context);
}

Result<HirScalarPtr> Typing::settle(Result<HirScalarPtr> unsettled) {
  const HirScalarPtr scalar = FRESHET_TRY(std::move(unsettled));
  if (!is_unknown(*scalar)) return scalar;
  return coerce(scalar, TypeKind::kText, CastContext::kImplicit);
}

Result<HirScalarPtr> Typing::coerce_to_boolean(Result<HirScalarPtr> any, std::string_view clause) {
  const HirScalarPtr scalar = FRESHET_TRY(std::move(any));
  if (scalar->type.type.kind() != TypeKind::kBool && !is_unknown(*scalar)) {
    return fail(error_at(sqlstate::kDatatypeMismatch,
                         "argument of " + std::string(clause) + " must be type boolean, not type " +
                             type_name(scalar->type.type),
                         scalar->location));
  }
  return coerce(scalar, TypeKind::kBool, CastContext::kAssignment);
}

Result<HirScalarPtr> Typing::coerce_to_int8(Result<HirScalarPtr> any, std::string_view clause) {
  const HirScalarPtr scalar = FRESHET_TRY(std::move(any));
  if (!is_unknown(*scalar)) {
    const auto cast = expr::find_cast(scalar->type.type, TypeKind::kInt8);
    if (scalar->type.type.kind() != TypeKind::kInt8 &&
        (!cast || !allows(CastContext::kAssignment, cast->context))) {
      return fail(error_at(sqlstate::kDatatypeMismatch,
                           "argument of " + std::string(clause) + " must be type bigint, not type " +
                               type_name(scalar->type.type),
                           scalar->location));
    }
  }
  return coerce(scalar, TypeKind::kInt8, CastContext::kAssignment);
}

Result<SqlType> Typing::common_type(std::span<const HirScalarPtr> scalars, std::string_view construct) {
  std::optional<SqlType> chosen;
  bool same_modifier = true;
  for (const HirScalarPtr& scalar : scalars) {
    const SqlType& type = scalar->type.type;
    if (type.kind() == TypeKind::kUnknown) continue;
    if (!chosen) {
      chosen = type;
      continue;
    }
    same_modifier = same_modifier && *chosen == type;
    const SqlType current = chosen->without_typmod();
    const SqlType next = type.without_typmod();
    if (current == next) continue;
    if (category(current) != category(next)) {
      return fail(error_at(sqlstate::kDatatypeMismatch,
                           std::string(construct) + " types " + type_name(current) + " and " + type_name(next) +
                               " cannot be matched",
                           scalar->location));
    }
    if (!repr::type_info(current.kind()).preferred && can_coerce_implicitly(current, next) &&
        !can_coerce_implicitly(next, current)) {
      chosen = next;
    }
  }
  if (!chosen) return SqlType(TypeKind::kText);
  return same_modifier ? *chosen : chosen->without_typmod();
}

Result<void> Typing::make_common(std::vector<HirScalarPtr>& scalars, std::string_view construct) {
  const SqlType type = FRESHET_TRY(common_type(scalars, construct));
  for (HirScalarPtr& scalar : scalars) {
    if (!is_unknown(*scalar) && !can_coerce_implicitly(scalar->type.type, type)) {
      return fail(error_at(sqlstate::kCannotCoerce,
                           std::string(construct) + " could not convert type " + type_name(scalar->type.type) + " to " +
                               type_name(type),
                           scalar->location));
    }
    scalar = FRESHET_TRY(coerce(scalar, type, CastContext::kImplicit));
  }
  return {};
}

// A value for a function that writes out whatever it gets, and cannot ask the catalog.
Result<HirScalarPtr> Typing::written_out(const HirScalarPtr& scalar) {
  if (names_ == nullptr || !is_reg_type(scalar->type.type.kind())) return scalar;
  return coerce(scalar, TypeKind::kText, CastContext::kAssignment);
}

Result<void> Typing::coerce_arguments(const Candidate& candidate, std::vector<HirScalarPtr>& arguments) {
  std::optional<SqlType> element;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AKind kind = candidate.arguments[i].kind;
    const SqlType& type = arguments[i]->type.type;
    if (kind == AKind::kConcrete || kind == AKind::kAny || type.kind() == TypeKind::kUnknown || element) continue;
    element = (kind == AKind::kAnyArray ? type.element() : type).without_typmod();
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentType& parameter = candidate.arguments[i];
    switch (parameter.kind) {
      case AKind::kConcrete:
        arguments[i] = FRESHET_TRY(coerce(arguments[i], parameter.type, CastContext::kImplicit));
        break;
      case AKind::kAny:
        arguments[i] = FRESHET_TRY(settle(arguments[i]));
        arguments[i] = FRESHET_TRY(written_out(arguments[i]));
        break;
      case AKind::kAnyArray:
        if (!is_unknown(*arguments[i])) break;
        if (!element) {
          return fail(error_at(sqlstate::kDatatypeMismatch,
                               "could not determine polymorphic type because input has type unknown",
                               arguments[i]->location));
        }
        arguments[i] = FRESHET_TRY(coerce(arguments[i], SqlType::array_of(*element), CastContext::kImplicit));
        break;
      default:
        if (!is_unknown(*arguments[i])) break;
        arguments[i] = FRESHET_TRY(coerce(arguments[i], element.value_or(TypeKind::kText), CastContext::kImplicit));
    }
  }
  return {};
}

// -- operators and functions --------------------------------------------------------------------

namespace {

std::string operator_text(std::string_view op, std::span<const HirScalarPtr> arguments) {
  std::string text;
  if (arguments.size() == 2) text = type_name(arguments[0]->type.type) + " ";
  text += op;
  return text + " " + type_name(arguments.back()->type.type);
}

std::string call_text(std::string_view name, std::span<const HirScalarPtr> arguments) {
  std::string text = std::string(name) + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + type_name(arguments[i]->type.type);
  }
  return text + ")";
}

// `f(x)` and `x op y` share their choice.
Choice choose_spec(std::span<const expr::FunctionSpec* const> specs, std::span<const SqlType> types) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (auto candidate = candidate_for(specs[i]->arguments, specs[i]->variadic, i, types.size())) {
      candidates.push_back(std::move(*candidate));
    }
  }
  return choose(std::move(candidates), types);
}

/// Functions that make their arrays and elements of one type first (PostgreSQL's anycompatible).
bool makes_compatible(std::string_view name) {
  for (const std::string_view known : {"||", "array_append", "array_prepend", "array_cat", "array_position",
                                       "array_positions", "array_remove", "array_replace"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

// False if nothing changes, or the types have nothing in common.
Result<bool> Typing::make_compatible(std::string_view name, std::vector<HirScalarPtr>& arguments) {
  if (!makes_compatible(name)) return false;
  std::vector<HirScalarPtr> elements;
  bool array = false;
  bool equal = true;
  std::optional<SqlType> first;
  for (const HirScalarPtr& argument : arguments) {
    const SqlType type = argument->type.type.without_typmod();
    array = array || type.kind() == TypeKind::kArray;
    const SqlType element = type.kind() == TypeKind::kArray ? type.element().without_typmod() : type;
    elements.push_back(type.kind() == TypeKind::kArray ? hir::column(0, 0, {element, true}) : argument);
    if (is_unknown(*argument)) continue;
    if (!first) first = element;
    equal = equal && element == *first;
  }
  if (!array || equal) return false;
  const Result<SqlType> common = common_type(elements, "array");
  if (!common) return false;
  for (const HirScalarPtr& element : elements) {
    if (!is_unknown(*element) && !can_coerce_implicitly(element->type.type, *common)) return false;
  }
  for (HirScalarPtr& argument : arguments) {
    if (is_unknown(*argument)) continue;
    const SqlType element = common->without_typmod();
    const bool is_array = argument->type.type.kind() == TypeKind::kArray;
    argument = FRESHET_TRY(coerce(argument, is_array ? SqlType::array_of(element) : element, CastContext::kImplicit));
  }
  return true;
}

Result<const expr::FunctionSpec*> Typing::resolve_operator(std::string_view op, std::vector<HirScalarPtr>& arguments,
                                                           int location) {
  const auto specs = expr::operators_named(op);
  const std::vector<SqlType> types = types_of(arguments);
  Choice choice;
  if (types.size() == 2 && (types[0].kind() == TypeKind::kUnknown) != (types[1].kind() == TypeKind::kUnknown)) {
    const SqlType known = types[0].kind() == TypeKind::kUnknown ? types[1] : types[0];
    const std::vector<SqlType> assumed{known, known};
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto& parameters = specs[i]->arguments;
      if (parameters.size() == 2 && std::ranges::all_of(parameters, [&](const ArgumentType& p) {
            return p.kind == AKind::kConcrete && p.type.without_typmod() == known.without_typmod();
          })) {
        choice = {Choice::Outcome::kFound, {parameters, i}};
        break;
      }
    }
  }
  if (choice.outcome == Choice::Outcome::kNone) choice = choose_spec(specs, types);
  if (choice.outcome == Choice::Outcome::kAmbiguous) {
    Error error = error_at(sqlstate::kAmbiguousFunction, "operator is not unique: " + operator_text(op, arguments),
                           location);
    error.hint = "Could not choose a best candidate operator. You might need to add explicit type casts.";
    return fail(std::move(error));
  }
  if (choice.outcome == Choice::Outcome::kNone && FRESHET_TRY(make_compatible(op, arguments))) {
    return resolve_operator(op, arguments, location);
  }
  if (choice.outcome == Choice::Outcome::kNone) {
    Error error = error_at(sqlstate::kUndefinedFunction, "operator does not exist: " + operator_text(op, arguments),
                           location);
    error.hint = "No operator matches the given name and argument types. You might need to add explicit type casts.";
    return fail(std::move(error));
  }
  FRESHET_TRY(coerce_arguments(choice.candidate, arguments));
  for (std::size_t i = 0; op == "||" && i < arguments.size(); ++i) {
    if (choice.candidate.arguments[i].kind == AKind::kAnyNonArray) arguments[i] = FRESHET_TRY(written_out(arguments[i]));
  }
  return specs[choice.candidate.index];
}

Result<HirScalarPtr> Typing::unary(std::string_view op, HirScalarPtr argument, int location) {
  std::vector<HirScalarPtr> arguments{std::move(argument)};
  const expr::FunctionSpec* spec = FRESHET_TRY(resolve_operator(op, arguments, location));
  return hir::at(hir::call(spec, std::move(arguments)), location);
}

Result<HirScalarPtr> Typing::binary(std::string_view op, HirScalarPtr left, HirScalarPtr right, int location) {
  if (op == "!=") op = "<>";
  std::vector<HirScalarPtr> arguments{std::move(left), std::move(right)};
  const expr::FunctionSpec* spec = FRESHET_TRY(resolve_operator(op, arguments, location));
  return hir::at(hir::call(spec, std::move(arguments)), location);
}

Result<HirScalarPtr> Typing::quantified(std::string_view op, bool any, HirScalarPtr left, HirScalarPtr array,
                                        int location) {
  if (op == "!=") op = "<>";
  if (is_unknown(*array)) {
    // '{…}' takes the type of arrays of the left side.
    const SqlType element = is_unknown(*left) ? SqlType(TypeKind::kText) : left->type.type.without_typmod();
    array = FRESHET_TRY(coerce(array, SqlType::array_of(element), CastContext::kImplicit));
  }
  if (array->type.type.kind() != TypeKind::kArray) {
    return fail(error_at(sqlstate::kWrongObjectType, "op ANY/ALL (array) requires array on right side", location));
  }
  // The operator between the left side and an element, stood in for by a column.
  std::vector<HirScalarPtr> operands{left, hir::column(0, 0, {array->type.type.element(), true})};
  const expr::FunctionSpec* spec = FRESHET_TRY(resolve_operator(op, operands, location));
  const expr::FunctionSpec* lifted =
      expr::function_by_signature((any ? "any(" : "all(") + std::string(spec->signature) + ")");
  if (lifted == nullptr) {
    return fail(error_at(sqlstate::kWrongObjectType, "op ANY/ALL (array) requires operator to yield boolean", location));
  }
  const SqlType element = operands[1]->type.type.without_typmod();
  array = FRESHET_TRY(coerce(array, SqlType::array_of(element), CastContext::kImplicit));
  return hir::at(hir::call(lifted, {operands[0], array}), location);
}

Result<HirScalarPtr> Typing::function(std::string_view name, std::vector<HirScalarPtr> arguments, int location) {
  const auto specs = expr::functions_named(name);
  const Choice choice = choose_spec(specs, types_of(arguments));
  if (choice.outcome == Choice::Outcome::kFound) {
    FRESHET_TRY(coerce_arguments(choice.candidate, arguments));
    return hir::at(hir::call(specs[choice.candidate.index], std::move(arguments)), location);
  }
  if (choice.outcome == Choice::Outcome::kAmbiguous) {
    Error error = error_at(sqlstate::kAmbiguousFunction, "function " + call_text(name, arguments) + " is not unique",
                           location);
    error.hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
    return fail(std::move(error));
  }
  if (FRESHET_TRY(make_compatible(name, arguments))) return function(name, std::move(arguments), location);
  // A type's name applied to one value is a cast.
  if (arguments.size() == 1) {
    if (const auto type = repr::type_from_name(name)) {
      const SqlType& from = arguments[0]->type.type;
      if (from.kind() == TypeKind::kUnknown || expr::find_cast(from, *type)) {
        return coerce(arguments[0], *type, CastContext::kExplicit, location);
      }
    }
  }
  Error error = error_at(sqlstate::kUndefinedFunction, "function " + call_text(name, arguments) + " does not exist",
                         location);
  error.hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
  return fail(std::move(error));
}

}  // namespace freshet::sql
