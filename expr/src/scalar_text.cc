// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/scalar.h>

namespace freshet::expr {
namespace {

using repr::TypeKind;

bool prints_bare(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBool:
    case TypeKind::kInt2:
    case TypeKind::kInt4:
    case TypeKind::kInt8:
    case TypeKind::kFloat4:
    case TypeKind::kFloat8:
    case TypeKind::kNumeric:
    case TypeKind::kOid:
      return true;
    default:
      return false;
  }
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += c;
    out += c;
  }
  return out + "'";
}

std::string literal_text(const repr::Datum& value, const repr::SqlType& type) {
  if (value.is_null()) return "null";
  if (type.kind() == TypeKind::kBool) return value.get<bool>() ? "true" : "false";
  if (type.kind() == TypeKind::kUnknown) return quoted(value.get<std::string>());
  if (prints_bare(type.kind())) return to_text(value, type);
  if (type.kind() == TypeKind::kText) return quoted(to_text(value, type));
  return quoted(to_text(value, type)) + "::" + to_string(type);
}

std::string joined(std::span<const Scalar> scalars, std::string_view separator,
                   std::span<const std::string> names) {
  std::string out;
  for (const Scalar& scalar : scalars) {
    if (!out.empty()) out += separator;
    out += to_string(scalar, names);
  }
  return out;
}

std::string call_text(const Scalar& scalar, const Scalar::Call& call,
                      std::span<const std::string> names) {
  const FunctionSpec& function = *call.function;
  const auto& arguments = call.arguments;
  if (function.signature.starts_with("cast(")) {
    return "cast(" + joined(arguments, ", ", names) + " as " + to_string(scalar.type().type) + ")";
  }
  if (function.is_operator && arguments.size() == 2) {
    return "(" + to_string(arguments[0], names) + " " + std::string(function.name) + " " +
           to_string(arguments[1], names) + ")";
  }
  if (function.is_operator && arguments.size() == 1) {
    return "(" + std::string(function.name) + " " + to_string(arguments[0], names) + ")";
  }
  return std::string(function.name) + "(" + joined(arguments, ", ", names) + ")";
}

}  // namespace

std::string to_string(const Scalar& scalar, std::span<const std::string> names) {
  return std::visit(
      [&](const auto& n) -> std::string {
        using T = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<T, Scalar::Column>) {
          const std::string position = "#" + std::to_string(n.index);
          return n.index < names.size() ? position + "{" + names[n.index] + "}" : position;
        } else if constexpr (std::is_same_v<T, Scalar::Literal>) {
          return literal_text(n.value, scalar.type().type);
        } else if constexpr (std::is_same_v<T, Scalar::Failure>) {
          return "error(" + quoted(n.error.message) + ")";
        } else if constexpr (std::is_same_v<T, Scalar::Call>) {
          return call_text(scalar, n, names);
        } else if constexpr (std::is_same_v<T, Scalar::And>) {
          return "(" + joined(n.arguments, " AND ", names) + ")";
        } else if constexpr (std::is_same_v<T, Scalar::Or>) {
          return "(" + joined(n.arguments, " OR ", names) + ")";
        } else if constexpr (std::is_same_v<T, Scalar::If>) {
          return "case when " + to_string(n.arguments[0], names) + " then " +
                 to_string(n.arguments[1], names) + " else " + to_string(n.arguments[2], names) + " end";
        } else if constexpr (std::is_same_v<T, Scalar::Coalesce>) {
          return "coalesce(" + joined(n.arguments, ", ", names) + ")";
        } else if constexpr (std::is_same_v<T, Scalar::IsNull>) {
          return "(" + to_string(n.arguments[0], names) + ") IS NULL";
        } else if constexpr (std::is_same_v<T, Scalar::Parameter>) {
          return "$" + std::to_string(n.index + 1);
        } else if constexpr (std::is_same_v<T, Scalar::MzNow>) {
          return "mz_now()";
        } else {
          return n.name;
        }
      },
      scalar.node());
}

}  // namespace freshet::expr
