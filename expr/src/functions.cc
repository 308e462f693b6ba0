// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/functions.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

const FunctionTable& table() {
  static const FunctionTable all;
  return all;
}

const FunctionSpec* quantified(const FunctionSpec& op, const char* prefix) {
  return table().by_signature(prefix + std::string(op.signature) + ")");
}

}  // namespace

std::span<const FunctionSpec* const> functions_named(std::string_view name) {
  return table().functions().named(name);
}
std::span<const FunctionSpec* const> operators_named(std::string_view name) {
  return table().operators().named(name);
}
const FunctionSpec* function_by_signature(std::string_view signature) {
  return table().by_signature(signature);
}
std::span<const FunctionSpec* const> all_functions() { return table().all(); }

const FunctionSpec* any_of(const FunctionSpec& binary_operator) {
  return quantified(binary_operator, "any(");
}
const FunctionSpec* all_of(const FunctionSpec& binary_operator) {
  return quantified(binary_operator, "all(");
}

std::optional<CastSpec> find_cast(const repr::SqlType& from, const repr::SqlType& to) {
  if (from.kind() == K::kArray && to.kind() == K::kArray) {
    if (from.element().kind() == to.element().kind()) {
      if (to.element().typmod() == -1 || to.element().typmod() == from.element().typmod()) {
        return CastSpec{CastContext::kImplicit, nullptr};
      }
      return CastSpec{CastContext::kImplicit, table().array_cast()};
    }
    const auto element = find_cast(from.element(), to.element());
    if (!element.has_value()) return std::nullopt;
    if (element->function == nullptr && to.element().typmod() == -1) return element;
    return CastSpec{element->context, table().array_cast()};
  }
  if (from.kind() == to.kind()) {
    if (to.typmod() == -1 || to.typmod() == from.typmod()) {
      return CastSpec{CastContext::kImplicit, nullptr};
    }
    return CastSpec{CastContext::kImplicit, typmod_coercion(to.kind())};
  }
  const bool to_text = to.kind() == K::kText || to.kind() == K::kVarchar || to.kind() == K::kBpchar;
  if (from.kind() == K::kArray && to_text) {
    return CastSpec{CastContext::kAssignment, table().by_signature("cast(anyarray,text)")};
  }
  const bool from_text =
      from.kind() == K::kText || from.kind() == K::kVarchar || from.kind() == K::kBpchar;
  if (to.kind() == K::kArray && from_text) {
    return CastSpec{CastContext::kExplicit, table().by_signature("cast(text,anyarray)")};
  }
  const CastSpec* found = table().cast(from.kind(), to.kind());
  if (found == nullptr) return std::nullopt;
  return *found;
}

const FunctionSpec* typmod_coercion(repr::TypeKind kind) { return table().typmod(kind); }
std::span<const CastEntry> all_casts() { return table().casts(); }

std::span<const AggregateSpec* const> aggregates_named(std::string_view name) {
  return table().aggregates().named(name);
}
const AggregateSpec* aggregate_by_signature(std::string_view signature) {
  return table().aggregates().find(signature);
}
std::span<const AggregateSpec* const> all_aggregates() { return table().aggregates().all; }

std::span<const TableFunctionSpec* const> table_functions_named(std::string_view name) {
  return table().table_functions().named(name);
}
const TableFunctionSpec* table_function_by_signature(std::string_view signature) {
  return table().table_functions().find(signature);
}
std::span<const TableFunctionSpec* const> all_table_functions() {
  return table().table_functions().all;
}

}  // namespace freshet::expr
