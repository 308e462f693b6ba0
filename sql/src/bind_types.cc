// SPDX-License-Identifier: Apache-2.0
// Type names with their modifiers.
#include <freshet/base/sqlstate.h>

#include "binder.h"

namespace freshet::sql {
namespace {

using repr::SqlType;
using repr::TypeKind;

constexpr std::int32_t kMaxNumericPrecision = 1000;
constexpr std::int32_t kMaxTimePrecision = 6;
constexpr std::int32_t kMaxCharLength = 10485760;

Result<std::vector<std::int32_t>> modifiers(const PgQuery__TypeName& name) {
  std::vector<std::int32_t> values;
  for (const PgQuery__Node* node : nodes(name.n_typmods, name.typmods)) {
    const bool integer = node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
                         node->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL;
    bool negative = false;
    const PgQuery__Node* operand = node;
    if (node->node_case == PG_QUERY__NODE__NODE_A_EXPR && node->a_expr->lexpr == nullptr) {
      negative = true;
      operand = node->a_expr->rexpr;
    }
    if (!integer && !(negative && operand != nullptr && operand->node_case == PG_QUERY__NODE__NODE_A_CONST &&
                      operand->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL)) {
      return fail(error_at(sqlstate::kSyntaxError, "type modifiers must be simple constants or identifiers", name.location));
    }
    const std::int32_t value = operand->a_const->ival->ival;
    values.push_back(negative ? -value : value);
  }
  return values;
}

Result<SqlType> numeric_type(const std::vector<std::int32_t>& values, int location) {
  if (values.size() > 2) return fail(error_at(sqlstate::kInvalidParameterValue, "invalid NUMERIC type modifier", location));
  if (values[0] < 1 || values[0] > kMaxNumericPrecision) {
    return fail(error_at(sqlstate::kInvalidParameterValue,
                         "NUMERIC precision " + std::to_string(values[0]) + " must be between 1 and 1000", location));
  }
  const std::int32_t scale = values.size() == 2 ? values[1] : 0;
  if (scale < -kMaxNumericPrecision || scale > kMaxNumericPrecision) {
    return fail(error_at(sqlstate::kInvalidParameterValue,
                         "NUMERIC scale " + std::to_string(scale) + " must be between -1000 and 1000", location));
  }
  return SqlType(TypeKind::kNumeric, repr::make_numeric_typmod({values[0], scale}));
}

Result<SqlType> char_type(TypeKind kind, std::int32_t length, int location) {
  const std::string name = kind == TypeKind::kVarchar ? "varchar" : "char";
  if (length < 1) {
    return fail(error_at(sqlstate::kInvalidParameterValue, "length for type " + name + " must be at least 1", location));
  }
  if (length > kMaxCharLength) {
    return fail(error_at(sqlstate::kInvalidParameterValue,
                         "length for type " + name + " cannot exceed " + std::to_string(kMaxCharLength), location));
  }
  return SqlType(kind, length + 4);
}

// interval fields come as (mask) or (mask, precision), as PostgreSQL packs them.
SqlType interval_type(const std::vector<std::int32_t>& values) {
  const std::int32_t precision = values.size() == 2 ? values[1] : 0xFFFF;
  return SqlType(TypeKind::kInterval, ((values[0] & 0x7FFF) << 16) | (precision & 0xFFFF));
}

Result<SqlType> with_modifiers(TypeKind kind, const std::vector<std::int32_t>& values, int location) {
  if (values.empty()) {
    // char is char(1).
    return SqlType(kind);
  }
  switch (kind) {
    case TypeKind::kNumeric: return numeric_type(values, location);
    case TypeKind::kVarchar:
    case TypeKind::kBpchar:
      if (values.size() == 1) return char_type(kind, values[0], location);
      break;
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
      if (values.size() != 1) break;
      if (values[0] < 0) {
        return fail(error_at(sqlstate::kInvalidParameterValue,
                             repr::to_string(SqlType(kind)) + "(" + std::to_string(values[0]) +
                                 ") precision must not be negative",
                             location));
      }
      return SqlType(kind, std::min(values[0], kMaxTimePrecision));
    case TypeKind::kInterval: return interval_type(values);
    default: break;
  }
  return fail(error_at(sqlstate::kSyntaxError,
                       "type modifier is not allowed for type \"" + std::string(repr::type_info(kind).pg_name) + "\"",
                       location));
}

// Types that PostgreSQL has and we refuse by name, so that the message says so.
bool known_elsewhere(std::string_view name) {
  for (std::string_view known :
       {"serial", "serial2", "serial4", "serial8", "bigserial", "smallserial", "json", "jsonb", "xml", "money", "bit",
        "varbit", "inet", "cidr", "macaddr", "macaddr8", "point", "line", "lseg", "box", "path", "polygon", "circle",
        "tsvector", "tsquery", "timetz", "int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange",
        "pg_lsn", "regnamespace", "regoper", "regoperator", "regprocedure", "regrole", "regcollation", "regconfig",
        "regdictionary", "xid", "cid", "tid", "jsonpath", "record", "int2vector", "oidvector"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

Result<SqlType> Binder::type(const PgQuery__TypeName& name) {
  const std::vector<std::string> parts = name_list(nodes(name.n_names, name.names));
  if (parts.empty()) return fail(error_at(sqlstate::kSyntaxError, "a type name is missing", name.location));
  const std::string& last = parts.back();
  if (name.setof || name.pct_type) return fail(unsupported("SETOF and %TYPE are", name.location));
  // Names behind these are not looked up: they show as the OIDs that they are.
  const bool shown_as_oid = last == "regnamespace" || last == "regrole" || last == "regprocedure" || last == "regoper" ||
                            last == "regoperator";
  const auto plain = repr::type_from_name(shown_as_oid ? std::string_view("oid") : std::string_view(last));
  if (!plain || plain->kind() == TypeKind::kUnknown || plain->kind() == TypeKind::kRecord) {
    if (known_elsewhere(last)) {
      Error error = unsupported("type " + last + " is", name.location);
      if (last.find("serial") != std::string::npos) error.hint = "Use an integer type; the client makes the numbers.";
      if (last.starts_with("json")) error.hint = "Use text.";
      return fail(std::move(error));
    }
    std::string shown;
    for (const std::string& part : parts) shown += (shown.empty() ? "" : ".") + part;
    return fail(error_at(sqlstate::kUndefinedObject, "type \"" + shown + "\" does not exist", name.location));
  }
  SqlType result = *plain;
  if (plain->kind() != TypeKind::kArray) {
    const std::vector<std::int32_t> values = FRESHET_TRY(modifiers(name));
    result = FRESHET_TRY(with_modifiers(plain->kind(), values, name.location));
  }
  if (name.n_array_bounds > 0 && result.kind() != TypeKind::kArray) result = SqlType::array_of(result);
  return result;
}

Result<std::vector<SqlType>> Binder::types_of_tree(const PgTree& tree) {
  std::vector<SqlType> types;
  const PgQuery__SelectStmt& select = *tree.root().select_stmt;  // casts of NULL
  for (const PgQuery__Node* target : nodes(select.n_target_list, select.target_list)) {
    PgQuery__TypeName name = *target->res_target->val->type_cast->type_name;
    name.location = -1;  // the types were parsed apart from the statement
    types.push_back(FRESHET_TRY(type(name)));
  }
  return types;
}

}  // namespace freshet::sql
