// SPDX-License-Identifier: Apache-2.0
#include "polymorphic.h"

#include <algorithm>
#include <optional>

namespace freshet::expr {
namespace {

using repr::SqlType;
using repr::TypeKind;
using Kind = ArgumentType::Kind;

std::optional<SqlType> element_type(std::span<const ArgumentType> parameters,
                                    std::span<const SqlType> arguments) {
  for (std::size_t i = 0; i < arguments.size() && !parameters.empty(); ++i) {
    const ArgumentType& parameter = parameters[std::min(i, parameters.size() - 1)];
    const SqlType& argument = arguments[i];
    if (argument.kind() == TypeKind::kUnknown) continue;
    if (parameter.kind == Kind::kAnyElement || parameter.kind == Kind::kAnyNonArray) {
      return argument.without_typmod();
    }
    if (parameter.kind == Kind::kAnyArray && argument.kind() == TypeKind::kArray) {
      return argument.element().without_typmod();
    }
  }
  // `any` arguments fix a result only when nothing better does.
  for (std::size_t i = 0; i < arguments.size() && i < parameters.size(); ++i) {
    if (parameters[i].kind == Kind::kAny) return arguments[i].without_typmod();
  }
  return std::nullopt;
}

}  // namespace

SqlType resolve_result(std::span<const ArgumentType> parameters, const ArgumentType& result,
                       std::span<const SqlType> arguments) {
  if (result.kind == Kind::kConcrete) return result.type;
  const std::optional<SqlType> element = element_type(parameters, arguments);
  if (!element) return TypeKind::kUnknown;
  return result.kind == Kind::kAnyArray ? SqlType::array_of(*element) : *element;
}

}  // namespace freshet::expr
