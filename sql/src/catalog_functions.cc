// SPDX-License-Identifier: Apache-2.0
// Functions of pg_catalog that depend on the catalog: expanded at planning into literals, CASEs and look-ups
// in constant tables made from the snapshot (so a plan that uses them is of that snapshot).
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "binder.h"
#include "hir_build.h"

namespace freshet::sql {
namespace {

using repr::Datum;
using repr::SqlType;
using repr::TypeKind;

repr::Datum oid_datum(std::uint32_t oid) { return Datum(static_cast<std::int64_t>(oid)); }

/// Functions whose answer is the same whatever they are asked.
struct Fixed {
  std::string_view name;
  enum class Answer : std::uint8_t { kNullText, kTrue, kFalse, kUtf8, kUtf8Number, kZeroOid, kZeroInt8 } answer;
};
constexpr Fixed kFixed[] = {
    {"obj_description", Fixed::Answer::kNullText},
    {"col_description", Fixed::Answer::kNullText},
    {"shobj_description", Fixed::Answer::kNullText},
    {"pg_get_constraintdef", Fixed::Answer::kNullText},
    {"pg_get_triggerdef", Fixed::Answer::kNullText},
    {"pg_get_ruledef", Fixed::Answer::kNullText},
    {"pg_get_partkeydef", Fixed::Answer::kNullText},
    {"pg_get_statisticsobjdef", Fixed::Answer::kNullText},
    {"pg_get_statisticsobjdef_columns", Fixed::Answer::kNullText},
    {"pg_get_functiondef", Fixed::Answer::kNullText},
    {"pg_get_function_sqlbody", Fixed::Answer::kNullText},
    {"pg_get_function_arg_default", Fixed::Answer::kNullText},
    {"pg_get_partition_constraintdef", Fixed::Answer::kNullText},
    {"pg_get_serial_sequence", Fixed::Answer::kNullText},
    {"pg_tablespace_location", Fixed::Answer::kNullText},
    {"pg_advisory_unlock_all", Fixed::Answer::kNullText},
    {"pg_relation_filepath", Fixed::Answer::kNullText},
    {"pg_encoding_to_char", Fixed::Answer::kUtf8},
    {"getdatabaseencoding", Fixed::Answer::kUtf8},
    {"pg_client_encoding", Fixed::Answer::kUtf8},
    {"pg_char_to_encoding", Fixed::Answer::kUtf8Number},
    {"pg_type_is_visible", Fixed::Answer::kTrue},
    {"pg_function_is_visible", Fixed::Answer::kTrue},
    {"pg_operator_is_visible", Fixed::Answer::kTrue},
    {"pg_collation_is_visible", Fixed::Answer::kTrue},
    {"pg_opclass_is_visible", Fixed::Answer::kTrue},
    {"pg_opfamily_is_visible", Fixed::Answer::kTrue},
    {"pg_conversion_is_visible", Fixed::Answer::kTrue},
    {"pg_statistics_obj_is_visible", Fixed::Answer::kTrue},
    {"pg_ts_config_is_visible", Fixed::Answer::kTrue},
    {"pg_ts_dict_is_visible", Fixed::Answer::kTrue},
    {"pg_ts_parser_is_visible", Fixed::Answer::kTrue},
    {"pg_ts_template_is_visible", Fixed::Answer::kTrue},
    {"has_table_privilege", Fixed::Answer::kTrue},
    {"has_schema_privilege", Fixed::Answer::kTrue},
    {"has_database_privilege", Fixed::Answer::kTrue},
    {"has_any_column_privilege", Fixed::Answer::kTrue},
    {"has_column_privilege", Fixed::Answer::kTrue},
    {"has_sequence_privilege", Fixed::Answer::kTrue},
    {"has_function_privilege", Fixed::Answer::kTrue},
    {"pg_has_role", Fixed::Answer::kTrue},
    {"pg_relation_is_publishable", Fixed::Answer::kFalse},
    {"pg_is_in_recovery", Fixed::Answer::kFalse},
    {"pg_is_other_temp_schema", Fixed::Answer::kFalse},
    {"row_security_active", Fixed::Answer::kFalse},
    {"pg_my_temp_schema", Fixed::Answer::kZeroOid},
    {"pg_table_size", Fixed::Answer::kZeroInt8},
    {"pg_relation_size", Fixed::Answer::kZeroInt8},
    {"pg_total_relation_size", Fixed::Answer::kZeroInt8},
    {"pg_indexes_size", Fixed::Answer::kZeroInt8},
    {"pg_database_size", Fixed::Answer::kZeroInt8},
    {"pg_tablespace_size", Fixed::Answer::kZeroInt8},
};

HirScalarPtr answer(Fixed::Answer kind) {
  switch (kind) {
    case Fixed::Answer::kNullText: return hir::null(TypeKind::kText);
    case Fixed::Answer::kTrue: return hir::boolean(true);
    case Fixed::Answer::kFalse: return hir::boolean(false);
    case Fixed::Answer::kUtf8: return hir::literal(Datum(std::string("UTF8")), TypeKind::kName);
    case Fixed::Answer::kUtf8Number: return hir::int4(6);
    case Fixed::Answer::kZeroOid: return hir::literal(oid_datum(0), TypeKind::kOid);
    case Fixed::Answer::kZeroInt8: return hir::int8(0);
  }
  return nullptr;
}

std::optional<std::string> text_literal(const HirScalarPtr& scalar) {
  if (scalar->kind != HirScalar::Kind::kLiteral || scalar->value.is_null()) return std::nullopt;
  const TypeKind kind = scalar->type.type.kind();
  if (kind != TypeKind::kUnknown && kind != TypeKind::kText && kind != TypeKind::kName) return std::nullopt;
  return scalar->value.get<std::string>();
}

/// (oid, text) of every item of the current database and the system schemas.
std::vector<repr::DatumRow> definitions(const CatalogView& catalog, std::string_view database, bool indexes) {
  std::vector<repr::DatumRow> rows;
  const auto add = [&](std::string_view db, std::string_view schema) {
    for (const CatalogItem* item : catalog.items(db, schema)) {
      const bool view = item->kind == ItemKind::kView || item->kind == ItemKind::kMaterializedView;
      if (indexes ? item->kind != ItemKind::kIndex : !view) continue;
      rows.push_back({oid_datum(item->oid), Datum(item->definition_sql)});
    }
  };
  for (const std::string& schema : catalog.schemas(database)) add(database, schema);
  for (std::string_view schema : kSystemSchemas) add("", schema);
  return rows;
}

std::vector<repr::DatumRow> visible_oids(const CatalogView& catalog, const SessionSettings& settings) {
  std::vector<repr::DatumRow> rows;
  std::vector<std::string> seen;
  const auto add = [&](std::string_view database, std::string_view schema) {
    for (const CatalogItem* item : catalog.items(database, schema)) {
      if (std::ranges::find(seen, item->name.item) != seen.end()) continue;
      seen.push_back(item->name.item);
      rows.push_back({oid_datum(item->oid)});
    }
  };
  // mz_catalog and mz_internal are searched too, but do not clutter \d.
  add("", "pg_catalog");
  for (const std::string& schema : settings.search_path) {
    const bool system = std::ranges::find(kSystemSchemas, schema) != std::end(kSystemSchemas);
    add(system ? "" : settings.database, schema);
  }
  return rows;
}

/// Every type with and without modifier is a case. char(n), varchar(n) and numeric(p,s) show theirs.
HirScalarPtr with_modifier(const SqlType& type, const HirScalarPtr& modifier) {
  HirScalarPtr plain = hir::text(repr::to_string(type));
  const TypeKind kind = type.kind();
  if (modifier->kind == HirScalar::Kind::kLiteral && modifier->value.is_null()) return plain;
  if (modifier->type.type.kind() != TypeKind::kInt4) return plain;
  const auto part = [&](std::string_view op, std::int32_t by, HirScalarPtr of) {
    return hir::call(op, {std::move(of), hir::int4(by)});
  };
  const auto text = [](HirScalarPtr number) { return hir::call("cast(int4,text)", {std::move(number)}); };
  const auto join = [](HirScalarPtr a, HirScalarPtr b) { return hir::call("||(text,text)", {std::move(a), std::move(b)}); };
  const HirScalarPtr less_four = part("-(int4,int4)", 4, modifier);
  HirScalarPtr shown;
  if (kind == TypeKind::kVarchar || kind == TypeKind::kBpchar) {
    shown = text(less_four);
  } else if (kind == TypeKind::kNumeric) {
    shown = join(text(part("/(int4,int4)", 65536, less_four)),
                 join(hir::text(","), text(part("%(int4,int4)", 65536, less_four))));
  } else {
    return plain;
  }
  shown = join(join(join(plain, hir::text("(")), std::move(shown)), hir::text(")"));
  return hir::if_then(hir::call(">(int4,int4)", {modifier, hir::int4(3)}), std::move(shown), plain);
}

}  // namespace

// The name of the type with that OID; "???" if there is none.
HirScalarPtr Binder::type_text(const HirScalarPtr& oid, const HirScalarPtr& modifier) {
  HirScalarPtr result = hir::text("???");
  for (TypeKind kind : repr::all_type_kinds()) {
    if (kind == TypeKind::kArray || kind == TypeKind::kUnknown || kind == TypeKind::kRecord) continue;
    for (const SqlType& type : {SqlType(kind), SqlType::array_of(SqlType(kind))}) {
      HirScalarPtr key = hir::literal(oid_datum(repr::type_oid(type)), TypeKind::kOid);
      result = hir::if_then(hir::call("=(oid,oid)", {oid, key}), with_modifier(type, modifier), result);
    }
  }
  return hir::if_then(hir::is_null(oid), hir::null(TypeKind::kText), result);
}

Result<HirScalarPtr> Binder::current_setting(const std::vector<HirScalarPtr>& arguments, int location) {
  const HirScalarPtr& asked = arguments[0];
  if (const auto text = text_literal(asked)) {
    std::string variable = *text;
    for (char& c : variable) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto value = catalog_.setting(variable);
    if (value) return hir::text(*value);
    if (arguments.size() == 2) return hir::null(TypeKind::kText);
    return fail(error_at(sqlstate::kUndefinedObject, "unrecognized configuration parameter \"" + *text + "\"", location));
  }
  // A name that is only known when the statement runs is looked up among pg_settings.
  const HirScalarPtr name = FRESHET_TRY(typing_.coerce(asked, TypeKind::kText, CastContext::kImplicit, location));
  const CatalogItem* settings = catalog_.find({"", "pg_catalog", "pg_settings"});
  if (settings == nullptr) return fail(unsupported("current_setting of an expression is", location));
  std::vector<HirScalarPtr> columns;
  for (const std::string_view column : {"name", "setting"}) {
    const auto at = static_cast<std::size_t>(std::ranges::find(settings->desc.names, column) - settings->desc.names.begin());
    columns.push_back(hir::column(0, at, settings->desc.type.columns.at(at)));
  }
  columns[0] = FRESHET_TRY(typing_.function("lower", {columns[0]}, location));
  const HirScalarPtr wanted = FRESHET_TRY(typing_.function("lower", {hir::shift(name, 0, 1)}, location));
  HirScalarPtr equal = FRESHET_TRY(typing_.binary("=", columns[0], wanted, location));
  HirRelationPtr found = hir::filter(hir::get(settings->id, settings->desc.type.columns), {std::move(equal)});
  HirScalarPtr value = hir::scalar_subquery(hir::select(std::move(found), {columns[1]}));
  if (arguments.size() == 2) return value;
  const Error unknown = error_at(sqlstate::kUndefinedObject, "unrecognized configuration parameter", location);
  return hir::coalesce({std::move(value), hir::if_then(hir::is_null(name), hir::null(TypeKind::kText),
                                                       hir::failure(unknown, TypeKind::kText))});
}

Result<HirScalarPtr> Binder::catalog_function(std::string_view name, const std::vector<HirScalarPtr>& arguments,
                                              int location) {
  for (const Fixed& fixed : kFixed) {
    if (fixed.name == name) return answer(fixed.answer);
  }
  const auto as_oid = [&](const HirScalarPtr& scalar) -> Result<HirScalarPtr> {
    return typing_.coerce(scalar, TypeKind::kOid, CastContext::kExplicit, location);
  };
  if (name == "pg_get_userbyid" && arguments.size() == 1) {
    return hir::literal(Datum(catalog_.owner()), TypeKind::kName);
  }
  if (name == "pg_get_expr" && (arguments.size() == 2 || arguments.size() == 3)) {
    return typing_.coerce(arguments[0], TypeKind::kText, CastContext::kExplicit, location);
  }
  if ((name == "pg_get_viewdef" || name == "pg_get_indexdef") && !arguments.empty()) {
    // Of a text: the view of that name.
    const bool named = text_literal(arguments[0]).has_value() && name == "pg_get_viewdef";
    HirScalarPtr item = arguments[0];
    if (named) item = FRESHET_TRY(reg_cast(item, TypeKind::kRegclass, location));
    const HirScalarPtr oid = FRESHET_TRY(as_oid(item));
    HirRelationPtr table = hir::constant(definitions(catalog_, settings_.database, name == "pg_get_indexdef"),
                                         {{TypeKind::kOid, false}, {TypeKind::kText, false}});
    HirScalarPtr whole = look_up(std::move(table), oid, 1);
    if (name == "pg_get_viewdef" || arguments.size() < 3) return whole;
    // pg_get_indexdef(index, column, pretty): the whole for column 0, else that column of the key.
    const HirScalarPtr number = FRESHET_TRY(typing_.coerce(arguments[1], TypeKind::kInt4, CastContext::kImplicit, location));
    return hir::if_then(hir::call("=(int4,int4)", {number, hir::int4(0)}), std::move(whole), index_column(oid, number));
  }
  if (name == "pg_table_is_visible" && arguments.size() == 1) {
    const HirScalarPtr oid = FRESHET_TRY(as_oid(arguments[0]));
    HirRelationPtr table = hir::constant(visible_oids(catalog_, settings_), {{TypeKind::kOid, false}});
    HirScalarPtr equal = hir::call("=(oid,oid)", {hir::column(0, 0, table->columns[0]), hir::shift(oid, 0, 1)});
    return hir::any(std::move(table), std::move(equal));
  }
  if (name == "format_type" && arguments.size() == 2 && expr::functions_named(name).empty()) {
    return type_text(FRESHET_TRY(as_oid(arguments[0])), arguments[1]);
  }
  if (name == "pg_size_pretty" && arguments.size() == 1 && expr::functions_named(name).empty()) {
    const HirScalarPtr size = FRESHET_TRY(typing_.coerce(arguments[0], TypeKind::kInt8, CastContext::kExplicit, location));
    HirScalarPtr kilobytes = FRESHET_TRY(typing_.binary("/", size, hir::int8(1024), location));
    HirScalarPtr few = FRESHET_TRY(typing_.binary("<", size, hir::int8(10240), location));
    HirScalarPtr bytes = FRESHET_TRY(typing_.binary("||", size, hir::text(" bytes"), location));
    kilobytes = FRESHET_TRY(typing_.binary("||", kilobytes, hir::text(" kB"), location));
    return hir::if_then(few, bytes, kilobytes);
  }
  if (const auto kind = reg_function(name); kind && arguments.size() == 1) return to_reg(arguments[0], *kind, location);
  if (name == "current_setting" && (arguments.size() == 1 || arguments.size() == 2)) {
    return current_setting(arguments, location);
  }
  if ((name == "pg_get_function_arguments" || name == "pg_get_function_identity_arguments" ||
       name == "pg_get_function_result") && arguments.size() == 1) {
    return function_text(FRESHET_TRY(as_oid(arguments[0])), name == "pg_get_function_result");
  }
  return HirScalarPtr();
}

}  // namespace freshet::sql
