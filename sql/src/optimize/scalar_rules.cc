// SPDX-License-Identifier: Apache-2.0
#include "scalar_rules.h"

#include <algorithm>

#include <freshet/expr/error_row.h>
#include <freshet/expr/eval.h>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

using expr::FunctionSpec;

const repr::Datum* literal(const Scalar& scalar) {
  const auto* node = scalar.as<Scalar::Literal>();
  return node == nullptr ? nullptr : &node->value;
}
bool is_null(const Scalar& scalar) { return literal(scalar) != nullptr && literal(scalar)->is_null(); }
bool is_bool(const Scalar& scalar, bool value) {
  const repr::Datum* datum = literal(scalar);
  return datum != nullptr && !datum->is_null() && datum->get<bool>() == value;
}
bool is_negation(const Scalar& scalar) {
  const auto* call = scalar.as<Scalar::Call>();
  return call != nullptr && call->function->signature == "not(bool)";
}

std::optional<Scalar> fold_failures(const Scalar::Call& call, const repr::SqlType& type) {
  const Error* least = nullptr;
  for (const Scalar& argument : call.arguments) {
    const auto* failure = argument.as<Scalar::Failure>();
    if (failure == nullptr) continue;
    if (least == nullptr || expr::error_less(failure->error, *least)) least = &failure->error;
  }
  if (least == nullptr) return std::nullopt;
  return Scalar::failure(*least, type);
}

std::optional<Scalar> simplify_negation(const Scalar& inner) {
  if (is_negation(inner)) return inner.children()[0];
  if (const auto* call = inner.as<Scalar::Call>(); call != nullptr && !call->function->negated.empty()) {
    const FunctionSpec* negated = expr::function_by_signature(call->function->negated);
    if (negated != nullptr) return Scalar::call_typed(negated, call->arguments, inner.type().type);
  }
  // De Morgan, where it makes conjuncts.
  if (const auto* disjunction = inner.as<Scalar::Or>()) {
    std::vector<Scalar> parts;
    for (const Scalar& part : disjunction->arguments) {
      const auto simpler = simplify_negation(part);
      parts.push_back(simpler ? *simpler : Scalar::negation(part));
    }
    return Scalar::conjunction(std::move(parts));
  }
  return std::nullopt;
}

std::size_t bytes_of(const repr::Datum& datum) {
  if (const auto* text = std::get_if<std::string>(&datum.value())) return text->size();
  const auto* array = std::get_if<std::shared_ptr<const repr::ArrayValue>>(&datum.value());
  if (array == nullptr) return sizeof(datum);
  std::size_t sum = 0;
  for (const repr::Datum& element : (*array)->elements) sum += bytes_of(element);
  return sum;
}

/// The value of a call over literals. One that turns out too large is not computed again.
Scalar fold_call(const Scalar& scalar, Folding& folding) {
  const bool has_bytes = scalar.type().type.physical() == repr::PhysicalType::kBytes;
  if (has_bytes && !folding.may_try(scalar.hash())) return scalar;
  auto value = expr::evaluate_row(scalar, {}, {});
  if (!value) return Scalar::failure(value.error(), scalar.type().type);
  if (has_bytes && !folding.takes(scalar.hash(), bytes_of(*value))) return scalar;
  return Scalar::literal(*std::move(value), scalar.type().type);
}

Scalar simplify_call(const Scalar& scalar, const Scalar::Call& call, Folding& folding) {
  const auto& arguments = call.arguments;
  if (auto failed = fold_failures(call, scalar.type().type)) return *failed;
  const bool constant = std::all_of(arguments.begin(), arguments.end(),
                                    [](const Scalar& a) { return a.is_literal(); });
  if (constant && call.function->volatility == expr::Volatility::kImmutable) return fold_call(scalar, folding);
  if (call.function->strict && std::any_of(arguments.begin(), arguments.end(), is_null) &&
      std::none_of(arguments.begin(), arguments.end(), [](const Scalar& a) { return a.can_fail(); })) {
    return Scalar::null(scalar.type().type);
  }
  if (is_negation(scalar)) {
    if (auto simpler = simplify_negation(arguments[0])) return *simpler;
  }
  return scalar;
}

/// AND (`deciding` false) and OR (`deciding` true): the deciding literal decides, the other one is dropped.
Scalar simplify_connective(std::span<const Scalar> arguments, bool deciding) {
  std::vector<Scalar> kept;
  for (const Scalar& argument : arguments) {
    if (is_bool(argument, deciding)) return Scalar::boolean(deciding);
    if (is_bool(argument, !deciding)) continue;
    kept.push_back(argument);
  }
  kept = distinct(std::move(kept));
  return deciding ? Scalar::disjunction(std::move(kept)) : Scalar::conjunction(std::move(kept));
}

std::vector<Scalar> conjuncts_of(const Scalar& scalar) {
  const auto* conjunction = scalar.as<Scalar::And>();
  return conjunction == nullptr ? std::vector<Scalar>{scalar} : conjunction->arguments;
}

/// (a AND b) OR (a AND c) is a AND (b OR c), so that a can be pushed and joined on.
Scalar factor_disjunction(const Scalar& scalar) {
  const auto* disjunction = scalar.as<Scalar::Or>();
  if (disjunction == nullptr) return scalar;
  std::vector<Scalar> shared = conjuncts_of(disjunction->arguments[0]);
  for (const Scalar& arm : disjunction->arguments) {
    if (shared.empty()) return scalar;
    const std::vector<Scalar> list = conjuncts_of(arm);
    const ScalarSet parts(list.begin(), list.end());
    std::erase_if(shared, [&](const Scalar& s) { return !parts.contains(s); });
  }
  if (shared.empty()) return scalar;
  const ScalarSet factored(shared.begin(), shared.end());
  std::vector<Scalar> arms;
  for (const Scalar& arm : disjunction->arguments) {
    std::vector<Scalar> rest = conjuncts_of(arm);
    std::erase_if(rest, [&](const Scalar& s) { return factored.contains(s); });
    arms.push_back(Scalar::conjunction(std::move(rest)));
  }
  shared.push_back(simplify_connective(arms, true));
  return Scalar::conjunction(std::move(shared));
}

Scalar simplify_if(const Scalar& scalar, const Scalar::If& n) {
  const Scalar& condition = n.arguments[0];
  if (const auto* failure = condition.as<Scalar::Failure>()) {
    return Scalar::failure(failure->error, scalar.type().type);
  }
  if (condition.is_literal()) return n.arguments[is_bool(condition, true) ? 1 : 2];
  if (n.arguments[1] == n.arguments[2] && !condition.can_fail()) return n.arguments[1];
  return scalar;
}

Scalar simplify_coalesce(const Scalar::Coalesce& n) {
  std::vector<Scalar> kept;
  for (const Scalar& argument : n.arguments) {
    if (is_null(argument)) continue;
    kept.push_back(argument);
    if (!argument.type().nullable) break;  // nothing behind it is ever evaluated
  }
  if (kept.empty()) return n.arguments[0];
  return kept.size() == 1 ? kept[0] : Scalar::coalesce(std::move(kept));
}

Scalar simplify_is_null(const Scalar& scalar, const Scalar& argument) {
  if (const auto* failure = argument.as<Scalar::Failure>()) {
    return Scalar::failure(failure->error, scalar.type().type);
  }
  if (argument.is_literal()) return Scalar::boolean(is_null(argument));
  if (argument.can_fail()) return scalar;
  if (!argument.type().nullable) return Scalar::boolean(false);
  const auto* call = argument.as<Scalar::Call>();
  if (call == nullptr || !call->function->strict || !call->function->preserves_not_null) return scalar;
  std::vector<Scalar> any;
  for (const Scalar& part : call->arguments) any.push_back(simplify_is_null(Scalar::is_null(part), part));
  return simplify_connective(any, true);
}

Scalar simplify_node(const Scalar& scalar, Folding& folding) {
  if (const auto* call = scalar.as<Scalar::Call>()) return simplify_call(scalar, *call, folding);
  if (scalar.as<Scalar::And>() != nullptr) return simplify_connective(scalar.children(), false);
  if (scalar.as<Scalar::Or>() != nullptr) return factor_disjunction(simplify_connective(scalar.children(), true));
  if (const auto* n = scalar.as<Scalar::If>()) return simplify_if(scalar, *n);
  if (const auto* n = scalar.as<Scalar::Coalesce>()) return simplify_coalesce(*n);
  if (const auto* n = scalar.as<Scalar::IsNull>()) return simplify_is_null(scalar, n->arguments[0]);
  return scalar;
}

}  // namespace

bool Folding::takes(std::size_t hash, std::size_t bytes) {
  left_ -= std::min(left_, bytes);
  const bool fits = bytes <= most_;
  if (!fits) give_up(hash);
  return fits;
}

Scalar simplify_scalar(const Scalar& scalar, Folding& folding) {
  return scalar.transform([&](Scalar s) { return simplify_node(s, folding); });
}

}  // namespace freshet::sql::passes
