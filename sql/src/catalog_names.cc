// SPDX-License-Identifier: Apache-2.0
// Names and numbers of catalog objects: regclass, regtype, regproc to text and back, for values that are only known
// when the statement runs. Both ways are look-ups in constant tables made from the snapshot.
#include <algorithm>
#include <map>
#include <set>

#include <freshet/base/sqlstate.h>
#include <freshet/sql/system_functions.h>

#include "binder.h"
#include "hir_build.h"
#include "lexer.h"

namespace freshet::sql {
namespace {

using repr::Datum;
using repr::SqlType;
using repr::TypeKind;

Datum oid_datum(std::uint32_t oid) { return Datum(static_cast<std::int64_t>(oid)); }

bool is_system(std::string_view schema) { return std::ranges::find(kSystemSchemas, schema) != std::end(kSystemSchemas); }

/// Every item of the database and the system schemas, and whether its bare name finds it.
template <typename F>
void for_each_item(const CatalogView& catalog, const SessionSettings& settings, F f) {
  std::set<std::string> seen;
  std::set<std::string> done;
  const auto add = [&](std::string_view schema, bool searched) {
    if (!done.emplace(schema).second) return;
    for (const CatalogItem* item : catalog.items(is_system(schema) ? "" : settings.database, schema)) {
      f(*item, searched && seen.insert(item->name.item).second);
    }
  };
  for (const std::string_view schema : {"pg_catalog", "mz_catalog", "mz_internal"}) {
    if (std::ranges::find(settings.search_path, schema) == settings.search_path.end()) add(schema, true);
  }
  for (const std::string& schema : settings.search_path) add(schema == "$user" ? settings.user : schema, true);
  for (const std::string& schema : catalog.schemas(settings.database)) add(schema, false);
  for (const std::string_view schema : kSystemSchemas) add(schema, false);
}

std::string always_quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

/// The ways to write each name, and the number.
using Spellings = std::map<std::string, std::uint32_t>;

Spellings relation_spellings(const CatalogView& catalog, const SessionSettings& settings) {
  Spellings spellings;
  for_each_item(catalog, settings, [&](const CatalogItem& item, bool plain) {
    for (std::string (*quoted)(std::string_view) : {&quote_identifier, &always_quoted}) {
      const std::string name = quoted(item.name.item);
      const std::string with_schema = quoted(item.name.schema) + "." + name;
      if (plain) spellings.emplace(name, item.oid);
      spellings.emplace(with_schema, item.oid);
      spellings.emplace(quoted(settings.database) + "." + with_schema, item.oid);
    }
  });
  return spellings;
}

Spellings type_spellings() {
  Spellings spellings;
  std::vector<std::string> names{"int", "decimal", "dec", "float", "char", "timestamp", "time", "boolean", "bool"};
  for (const TypeKind kind : repr::all_type_kinds()) {
    if (kind == TypeKind::kArray) continue;
    names.emplace_back(repr::type_info(kind).pg_name);
    names.push_back(repr::to_string(SqlType(kind)));
  }
  for (const std::string& name : names) {
    for (const std::string& form : {name, name + "[]", "_" + name}) {
      const auto type = repr::type_from_name(form);
      if (!type) continue;
      for (const std::string& prefix : {std::string(), std::string("pg_catalog.")}) {
        spellings.emplace(prefix + form, repr::type_oid(*type));
      }
    }
  }
  return spellings;
}

Spellings function_spellings() {
  std::map<std::string_view, std::vector<std::uint32_t>> by_name;
  for (const SystemFunction& function : system_functions()) by_name[function.name].push_back(function.oid);
  Spellings spellings;
  for (const auto& [name, oids] : by_name) {
    if (oids.size() > 1) continue;
    spellings.emplace(quote_identifier(name), oids.front());
    spellings.emplace("pg_catalog." + quote_identifier(name), oids.front());
  }
  return spellings;
}

/// The columns of an index's key as they are written in its CREATE INDEX … (a, (b + 1)).
std::vector<std::string> key_texts(const CatalogItem& index) {
  const std::string& sql = index.create_sql;
  std::vector<std::string> texts;
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (const Token& token : tokenize(sql)) {
    if (token.is("(") && ++depth == 1) begin = token.end;
    if ((token.is(",") && depth == 1) || (token.is(")") && depth == 1)) {
      const std::size_t first = sql.find_first_not_of(' ', begin);
      texts.push_back(sql.substr(first, token.begin - first));
      begin = token.end;
    }
    if (token.is(")") && depth > 0 && --depth == 0) break;
  }
  return texts;
}

}  // namespace

HirScalarPtr Binder::look_up(HirRelationPtr table, const HirScalarPtr& key, std::size_t column) {
  const bool text = table->columns[0].type.kind() == TypeKind::kText;
  HirScalarPtr equal = hir::call(text ? "=(text,text)" : "=(oid,oid)",
                                 {hir::column(0, 0, table->columns[0]), hir::shift(key, 0, 1)});
  return hir::scalar_subquery(hir::project(hir::filter(std::move(table), {std::move(equal)}), {column}));
}

Result<HirScalarPtr> Binder::reg_text(const HirScalarPtr& scalar) {
  const HirScalarPtr oid = FRESHET_TRY(typing_.coerce(scalar, TypeKind::kOid, CastContext::kExplicit));
  const HirScalarPtr integer = FRESHET_TRY(typing_.coerce(oid, TypeKind::kInt8, CastContext::kExplicit));
  const HirScalarPtr number = FRESHET_TRY(typing_.coerce(integer, TypeKind::kText, CastContext::kExplicit));
  const HirScalarPtr none = hir::call("=(oid,oid)", {oid, hir::literal(oid_datum(0), TypeKind::kOid)});
  const TypeKind kind = scalar->type.type.kind();
  if (kind == TypeKind::kRegtype) {
    return hir::if_then(none, hir::text("-"), type_text(oid, hir::null(TypeKind::kInt4)));
  }
  std::vector<repr::DatumRow> rows;
  if (kind == TypeKind::kRegclass) {
    for_each_item(catalog_, settings_, [&](const CatalogItem& item, bool plain) {
      std::string shown = quote_identifier(item.name.item);
      if (!plain) shown = quote_identifier(item.name.schema) + "." + shown;
      rows.push_back({oid_datum(item.oid), Datum(std::move(shown))});
    });
  } else {
    // A name that several functions share is written with its schema.
    std::map<std::string_view, std::size_t> count;
    for (const SystemFunction& function : system_functions()) ++count[function.name];
    for (const SystemFunction& function : system_functions()) {
      std::string shown = quote_identifier(function.name);
      if (count[function.name] > 1) shown = "pg_catalog." + shown;
      rows.push_back({oid_datum(function.oid), Datum(std::move(shown))});
    }
  }
  HirRelationPtr table = hir::constant(std::move(rows), {{TypeKind::kOid, false}, {TypeKind::kText, false}});
  return hir::if_then(none, hir::text("-"), hir::coalesce({look_up(std::move(table), oid, 1), number}));
}

Result<HirScalarPtr> Binder::reg_of_name(const HirScalarPtr& text, const SqlType& type, int location) {
  const TypeKind kind = type.kind();
  const Spellings spellings = kind == TypeKind::kRegclass  ? relation_spellings(catalog_, settings_)
                              : kind == TypeKind::kRegtype ? type_spellings()
                                                           : function_spellings();
  std::vector<repr::DatumRow> rows;
  for (const auto& [name, oid] : spellings) rows.push_back({Datum(name), oid_datum(oid)});
  // Without quotes a name is in lower case, whatever is written.
  const HirScalarPtr quote = FRESHET_TRY(typing_.function("strpos", {text, hir::text("\"")}, location));
  const HirScalarPtr quoted = FRESHET_TRY(typing_.binary(">", quote, hir::int4(0), location));
  const HirScalarPtr lower = FRESHET_TRY(typing_.function("lower", {text}, location));
  HirRelationPtr table = hir::constant(std::move(rows), {{TypeKind::kText, false}, {type, false}});
  return look_up(std::move(table), hir::if_then(quoted, text, lower), 1);
}

std::optional<TypeKind> Binder::reg_function(std::string_view name) {
  if (name == "to_regclass") return TypeKind::kRegclass;
  if (name == "to_regtype") return TypeKind::kRegtype;
  if (name == "to_regproc") return TypeKind::kRegproc;
  return std::nullopt;
}

Result<HirScalarPtr> Binder::to_reg(const HirScalarPtr& text, const SqlType& type, int location) {
  const HirScalarPtr name = FRESHET_TRY(typing_.coerce(text, TypeKind::kText, CastContext::kImplicit, location));
  if (name->kind != HirScalar::Kind::kLiteral) return reg_of_name(name, type, location);
  Result<HirScalarPtr> found = reg_cast(hir::at(name, text->location), type, location);
  return found ? std::move(found).value() : hir::null(type);
}

HirScalarPtr Binder::function_text(const HirScalarPtr& oid, bool result) {
  std::vector<repr::DatumRow> rows;
  for (const SystemFunction& function : system_functions()) {
    rows.push_back({oid_datum(function.oid), Datum(result ? function.result_text : function.argument_text)});
  }
  return look_up(hir::constant(std::move(rows), {{TypeKind::kOid, false}, {TypeKind::kText, false}}), oid, 1);
}

// What pg_get_indexdef shows of one column of an index's key.
HirScalarPtr Binder::index_column(const HirScalarPtr& index, const HirScalarPtr& number) {
  std::vector<repr::DatumRow> rows;
  for_each_item(catalog_, settings_, [&](const CatalogItem& item, bool) {
    if (!item.index_on) return;
    std::int32_t position = 0;
    for (std::string& text : key_texts(item)) {
      rows.push_back({oid_datum(item.oid), Datum(++position), Datum(std::move(text))});
    }
  });
  HirRelationPtr table = hir::constant(
      std::move(rows), {{TypeKind::kOid, false}, {TypeKind::kInt4, false}, {TypeKind::kText, false}});
  HirScalarPtr same = hir::call("=(int4,int4)", {hir::column(0, 1, table->columns[1]), hir::shift(number, 0, 1)});
  return look_up(hir::filter(std::move(table), {std::move(same)}), index, 2);
}

}  // namespace freshet::sql
