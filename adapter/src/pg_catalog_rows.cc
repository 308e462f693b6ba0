// SPDX-License-Identifier: Apache-2.0
#include "pg_catalog_rows.h"

#include <algorithm>

#include <freshet/sql/system_functions.h>

namespace freshet::adapter {
namespace {

using repr::Datum;
using repr::DatumRow;
using repr::PhysicalType;
using repr::TypeKind;
using sql::CatalogItem;
using sql::ItemKind;

constexpr std::uint32_t kOwner = 10;

/// A row under construction: columns are set by name, the rest keep the type's zero (NOT NULL) or NULL.
class RowMaker {
 public:
  RowMaker(const Catalog& catalog, std::string_view schema, std::string_view name)
      : desc_(catalog.find({"", std::string(schema), std::string(name)})->desc) {}

  RowMaker& start() {
    row_.clear();
    for (const repr::ColumnType& column : desc_.type.columns) {
      row_.push_back(column.nullable ? Datum() : zero(column.type));
    }
    return *this;
  }
  RowMaker& set(std::string_view column, Datum value) {
    const auto it = std::ranges::find(desc_.names, column);
    FRESHET_ASSERT(it != desc_.names.end(), column);
    row_[static_cast<std::size_t>(it - desc_.names.begin())] = std::move(value);
    return *this;
  }
  RowMaker& text(std::string_view column, std::string_view value) { return set(column, Datum(std::string(value))); }
  RowMaker& oid(std::string_view column, std::uint32_t value) {
    return set(column, Datum(static_cast<std::int64_t>(value)));
  }
  RowMaker& int2(std::string_view column, std::int16_t value) { return set(column, Datum(value)); }
  RowMaker& int4(std::string_view column, std::int32_t value) { return set(column, Datum(value)); }
  RowMaker& boolean(std::string_view column, bool value) { return set(column, Datum(value)); }
  void add(std::vector<DatumRow>& rows) { rows.push_back(row_); }

 private:
  static Datum zero(const repr::SqlType& type) {
    switch (type.physical()) {
      case PhysicalType::kBool: return Datum(false);
      case PhysicalType::kInt16: return Datum(std::int16_t{0});
      case PhysicalType::kInt32: return Datum(std::int32_t{0});
      case PhysicalType::kInt64: return Datum(std::int64_t{0});
      case PhysicalType::kFloat: return Datum(0.0f);
      case PhysicalType::kDouble: return Datum(0.0);
      case PhysicalType::kNumeric: return Datum(repr::Numeric());
      case PhysicalType::kInterval: return Datum(repr::Interval{});
      case PhysicalType::kUuid: return Datum(repr::Uuid{});
      case PhysicalType::kBytes: break;
    }
    if (type.kind() == TypeKind::kArray) {
      return Datum(std::shared_ptr<const repr::ArrayValue>(std::make_shared<repr::ArrayValue>()));
    }
    return Datum(std::string());
  }
  const repr::RelationDesc& desc_;
  DatumRow row_;
};

// Vectors of the catalog count from 0.
template <typename T>
Datum vector_of(const std::vector<T>& values) {
  auto array = std::make_shared<repr::ArrayValue>();
  if (!values.empty()) array->dimensions.push_back({0, static_cast<std::int32_t>(values.size())});
  for (const T value : values) array->elements.emplace_back(value);
  return Datum(std::shared_ptr<const repr::ArrayValue>(std::move(array)));
}

// ---- Schemas. System schemas have PostgreSQL's OIDs, ours free ones.

struct Namespace {
  std::string database;
  std::string name;
  std::uint32_t oid;
};
bool is_shown(const SystemScope& scope, std::string_view database) {
  return database.empty() || scope.viewer.database.empty() || database == scope.viewer.database;
}

std::vector<Namespace> namespaces(const SystemScope& scope) {
  std::vector<Namespace> all{{"", "pg_catalog", 11},
                             {"", "information_schema", 13000},
                             {"", "mz_catalog", 15100},
                             {"", "mz_internal", 15101},
                             {"", "mz_introspection", 15102}};
  for (const auto& [name, schema] : scope.catalog.all_schemas()) {
    if (is_shown(scope, name.first)) all.push_back({name.first, name.second, schema.oid});
  }
  return all;
}
std::uint32_t namespace_oid(const std::vector<Namespace>& all, const sql::ItemName& name) {
  const auto it = std::ranges::find_if(
      all, [&](const Namespace& n) { return n.database == name.database && n.name == name.schema; });
  return it == all.end() ? 0 : it->oid;
}

// The user's objects. An output of a source that nobody asked for has no name and is not shown.
std::vector<EntryPtr> shown_entries(const SystemScope& scope) {
  std::vector<EntryPtr> shown;
  for (const auto& [id, entry] : scope.catalog.entries()) {
    if (!entry->item.name.item.empty() && is_shown(scope, entry->item.name.database)) shown.push_back(entry);
  }
  return shown;
}
std::vector<const CatalogItem*> all_items(const SystemScope& scope) {
  std::vector<const CatalogItem*> items;
  for (const SystemRelation& system : scope.catalog.system_relations()) items.push_back(&system.item);
  for (const EntryPtr& entry : shown_entries(scope)) items.push_back(&entry->item);
  return items;
}

char relkind(ItemKind kind) {
  switch (kind) {
    case ItemKind::kTable:
    case ItemKind::kSource: return 'r';
    case ItemKind::kView: return 'v';
    case ItemKind::kMaterializedView: return 'm';
    case ItemKind::kIndex: return 'i';
  }
  return 'r';
}

Datum pg_char(char c) { return Datum(std::string(1, c)); }

std::vector<DatumRow> pg_namespace(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_namespace");
  std::vector<DatumRow> rows;
  for (const Namespace& n : namespaces(scope)) {
    row.start().oid("oid", n.oid).text("nspname", n.name).oid("nspowner", kOwner).add(rows);
  }
  return rows;
}

std::vector<DatumRow> pg_class(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_class");
  std::vector<DatumRow> rows;
  const auto schemas = namespaces(scope);
  for (const CatalogItem* item : all_items(scope)) {
    const bool index = item->kind == ItemKind::kIndex;
    const std::size_t columns = index ? item->index_key.size() : item->desc.arity();
    row.start()
        .oid("oid", item->oid)
        .text("relname", item->name.item)
        .oid("relnamespace", namespace_oid(schemas, item->name))
        .oid("relowner", kOwner)
        .oid("relam", index ? 403 : relkind(item->kind) == 'v' ? 0 : 2)
        .set("reltuples", Datum(-1.0f))
        .boolean("relhasindex", !catalog.indexes_on(item->id).empty())
        .set("relpersistence", pg_char('p'))
        .set("relkind", pg_char(relkind(item->kind)))
        .int2("relnatts", static_cast<std::int16_t>(columns))
        .boolean("relispopulated", true)
        .set("relreplident", pg_char('d'))
        .add(rows);
  }
  return rows;
}

void add_attribute(RowMaker& row, std::vector<DatumRow>& rows, std::uint32_t relation, std::size_t number,
                   std::string_view name, const repr::ColumnType& column, bool has_default) {
  const bool array = column.type.kind() == TypeKind::kArray;
  const repr::TypeInfo* info = array ? nullptr : &repr::type_info(column.type.kind());
  const bool collatable = !array && info->category == 'S';
  row.start()
      .oid("attrelid", relation)
      .text("attname", name)
      .oid("atttypid", repr::type_oid(column.type))
      .int4("attstattarget", -1)
      .int2("attlen", array ? std::int16_t{-1} : info->length)
      .int2("attnum", static_cast<std::int16_t>(number))
      .int4("attndims", array ? 1 : 0)
      .int4("attcacheoff", -1)
      .int4("atttypmod", array ? column.type.element().typmod() : column.type.typmod())
      .set("attalign", pg_char('i'))
      .set("attstorage", pg_char('p'))
      .set("attidentity", Datum(std::string()))
      .set("attgenerated", Datum(std::string()))
      .set("attcompression", Datum(std::string()))
      .boolean("attnotnull", !column.nullable)
      .boolean("atthasdef", has_default)
      .boolean("attislocal", true)
      .oid("attcollation", collatable ? 100 : 0)
      .add(rows);
}

std::vector<DatumRow> pg_attribute(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_attribute");
  std::vector<DatumRow> rows;
  for (const CatalogItem* item : all_items(scope)) {
    const bool index = item->kind == ItemKind::kIndex;
    if (index) {
      const CatalogEntry* entry = catalog.entry(item->id);
      const CatalogItem* on = catalog.item(*item->index_on);
      for (std::size_t i = 0; i < entry->key.size(); ++i) {
        const auto* column = entry->key[i].as<expr::Scalar::Column>();
        add_attribute(row, rows, item->oid, i + 1, column != nullptr ? on->desc.names[column->index] : "expr",
                      entry->key[i].type(), false);
      }
      continue;
    }
    for (std::size_t i = 0; i < item->desc.arity(); ++i) {
      add_attribute(row, rows, item->oid, i + 1, item->desc.names[i], item->desc.type.columns[i],
                    i < item->defaults.size() && item->defaults[i] != nullptr);
    }
  }
  return rows;
}

std::vector<DatumRow> pg_attrdef(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_attrdef");
  std::vector<DatumRow> rows;
  for (const EntryPtr& entry : shown_entries(scope)) {
    for (std::size_t i = 0; i < entry->default_texts.size(); ++i) {
      if (entry->default_texts[i].empty()) continue;
      row.start()
          .oid("oid", entry->item.oid + static_cast<std::uint32_t>(i))
          .oid("adrelid", entry->item.oid)
          .int2("adnum", static_cast<std::int16_t>(i + 1))
          .text("adbin", entry->default_texts[i])
          .add(rows);
    }
  }
  return rows;
}

std::vector<DatumRow> pg_index(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_index");
  std::vector<DatumRow> rows;
  for (const EntryPtr& entry : shown_entries(scope)) {
    if (!entry->item.index_on) continue;
    std::vector<std::int16_t> columns;
    for (const expr::Scalar& key : entry->key) {
      const auto* column = key.as<expr::Scalar::Column>();
      columns.push_back(column == nullptr ? std::int16_t{0} : static_cast<std::int16_t>(column->index + 1));
    }
    const auto count = static_cast<std::int16_t>(columns.size());
    const std::vector<std::int64_t> zeros(columns.size(), 0);
    row.start()
        .oid("indexrelid", entry->item.oid)
        .oid("indrelid", catalog.item(*entry->item.index_on)->oid)
        .int2("indnatts", count)
        .int2("indnkeyatts", count)
        .boolean("indimmediate", true)
        .boolean("indisvalid", true)
        .boolean("indisready", true)
        .boolean("indislive", true)
        .set("indkey", vector_of(columns))
        .set("indcollation", vector_of(zeros))
        .set("indclass", vector_of(zeros))
        .set("indoption", vector_of(std::vector<std::int16_t>(columns.size(), 0)))
        .add(rows);
  }
  return rows;
}

std::vector<DatumRow> pg_type(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_type");
  std::vector<DatumRow> rows;
  for (const TypeKind kind : repr::all_type_kinds()) {
    if (kind == TypeKind::kArray) continue;
    const repr::TypeInfo& info = repr::type_info(kind);
    for (const bool array : {false, true}) {
      if (array && info.array_oid == 0) continue;
      row.start()
          .oid("oid", array ? info.array_oid : info.oid)
          .text("typname", array ? "_" + std::string(info.pg_name) : std::string(info.pg_name))
          .oid("typnamespace", 11)
          .oid("typowner", kOwner)
          .int2("typlen", array ? std::int16_t{-1} : info.length)
          .boolean("typbyval", !array && info.length > 0 && info.length <= 8)
          .set("typtype", pg_char(kind == TypeKind::kRecord || kind == TypeKind::kUnknown ? 'p' : 'b'))
          .set("typcategory", pg_char(array ? 'A' : info.category))
          .boolean("typispreferred", !array && info.preferred)
          .boolean("typisdefined", true)
          .set("typdelim", pg_char(','))
          .oid("typelem", array ? info.oid : 0)
          .oid("typarray", array ? 0 : info.array_oid)
          .set("typalign", pg_char('i'))
          .set("typstorage", pg_char('p'))
          .int4("typtypmod", -1)
          .oid("typcollation", info.category == 'S' ? 100 : 0);
      const auto functions = std::ranges::find(sql::type_functions(), array ? TypeKind::kArray : kind, &sql::TypeFunctions::kind);
      if (functions != sql::type_functions().end()) {
        row.oid("typinput", functions->input).oid("typoutput", functions->output);
        row.oid("typreceive", functions->receive).oid("typsend", functions->send);
      }
      row.add(rows);
    }
  }
  return rows;
}

std::vector<DatumRow> pg_database(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_database");
  std::vector<DatumRow> rows;
  for (const auto& [name, database] : catalog.all_databases()) {
    row.start()
        .oid("oid", database.oid)
        .text("datname", name)
        .oid("datdba", kOwner)
        .int4("encoding", 6)
        .set("datlocprovider", pg_char('c'))
        .boolean("datallowconn", true)
        .int4("datconnlimit", -1)
        .text("datcollate", "C")
        .text("datctype", "C.UTF-8")
        .oid("dattablespace", 1663)
        .add(rows);
  }
  return rows;
}

std::vector<DatumRow> role_rows(const SystemScope& scope, std::string_view relation) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", relation);
  std::vector<DatumRow> rows;
  row.start().oid("oid", kOwner).text("rolname", "materialize");
  for (const char* flag : {"rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin",
                           "rolreplication", "rolbypassrls"}) {
    row.boolean(flag, true);
  }
  row.int4("rolconnlimit", -1).add(rows);
  return rows;
}
std::vector<DatumRow> pg_roles(const SystemScope& scope) { return role_rows(scope, "pg_roles"); }
std::vector<DatumRow> pg_authid(const SystemScope& scope) { return role_rows(scope, "pg_authid"); }

std::vector<DatumRow> pg_user(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_user");
  std::vector<DatumRow> rows;
  row.start().text("usename", "materialize").oid("usesysid", kOwner).boolean("usecreatedb", true);
  row.boolean("usesuper", true).add(rows);
  return rows;
}

std::vector<DatumRow> pg_am(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_am");
  std::vector<DatumRow> rows;
  row.start().oid("oid", 2).text("amname", "heap").set("amtype", pg_char('t')).add(rows);
  row.start().oid("oid", 403).text("amname", "btree").set("amtype", pg_char('i')).add(rows);
  return rows;
}

std::vector<DatumRow> pg_collation(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_collation");
  std::vector<DatumRow> rows;
  const std::pair<std::uint32_t, const char*> all[] = {{100, "default"}, {950, "C"}, {951, "POSIX"}};
  for (const auto& [oid, name] : all) {
    row.start().oid("oid", oid).text("collname", name).oid("collnamespace", 11).oid("collowner", kOwner);
    row.set("collprovider", pg_char(oid == 100 ? 'd' : 'c')).boolean("collisdeterministic", true);
    row.int4("collencoding", -1).add(rows);
  }
  return rows;
}

std::vector<DatumRow> pg_tablespace(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_tablespace");
  std::vector<DatumRow> rows;
  row.start().oid("oid", 1663).text("spcname", "pg_default").oid("spcowner", kOwner).add(rows);
  return rows;
}

std::vector<DatumRow> pg_language(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "pg_catalog", "pg_language");
  std::vector<DatumRow> rows;
  row.start().oid("oid", 12).text("lanname", "internal").oid("lanowner", kOwner).add(rows);
  return rows;
}

std::vector<DatumRow> pg_proc(const SystemScope& scope) {
  RowMaker row(scope.catalog, "pg_catalog", "pg_proc");
  std::vector<DatumRow> rows;
  for (const sql::SystemFunction& function : sql::system_functions()) {
    row.start()
        .oid("oid", function.oid)
        .text("proname", function.name)
        .oid("pronamespace", 11)
        .oid("proowner", kOwner)
        .oid("prolang", 12)
        .set("prokind", pg_char(function.aggregate ? 'a' : 'f'))
        .boolean("proisstrict", function.strict)
        .boolean("proretset", function.returns_set)
        .set("provolatile", pg_char('i'))
        .set("proparallel", pg_char('s'))
        .int2("pronargs", static_cast<std::int16_t>(function.arguments.size()))
        .oid("prorettype", function.result)
        .oid("provariadic", function.variadic ? function.arguments.back() : 0)
        .set("proargtypes", vector_of(std::vector<std::int64_t>(function.arguments.begin(), function.arguments.end())))
        .text("prosrc", function.name)
        .add(rows);
  }
  return rows;
}

// ---- The readable views: pg_tables, pg_views, information_schema.

template <typename Fill>
std::vector<DatumRow> item_rows(const SystemScope& scope, std::string_view schema, std::string_view relation,
                                std::initializer_list<ItemKind> kinds, Fill fill) {
  RowMaker row(scope.catalog, schema, relation);
  std::vector<DatumRow> rows;
  for (const CatalogItem* item : all_items(scope)) {
    if (std::ranges::find(kinds, item->kind) == kinds.end()) continue;
    row.start();
    fill(row, *item);
    row.add(rows);
  }
  return rows;
}

std::vector<DatumRow> pg_tables(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  return item_rows(scope, "pg_catalog", "pg_tables", {ItemKind::kTable, ItemKind::kSource},
                   [&](RowMaker& row, const CatalogItem& item) {
                     row.text("schemaname", item.name.schema).text("tablename", item.name.item);
                     row.text("tableowner", "materialize");
                     row.boolean("hasindexes", !catalog.indexes_on(item.id).empty());
                   });
}
std::vector<DatumRow> pg_views(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  return item_rows(scope, "pg_catalog", "pg_views", {ItemKind::kView},
                   [&](RowMaker& row, const CatalogItem& item) {
                     row.text("schemaname", item.name.schema).text("viewname", item.name.item);
                     row.text("viewowner", "materialize");
                     const CatalogEntry* entry = catalog.entry(item.id);
                     row.text("definition", entry == nullptr ? "" : entry->query_sql);
                   });
}
std::vector<DatumRow> pg_matviews(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  return item_rows(scope, "pg_catalog", "pg_matviews", {ItemKind::kMaterializedView},
                   [&](RowMaker& row, const CatalogItem& item) {
                     row.text("schemaname", item.name.schema).text("matviewname", item.name.item);
                     row.text("matviewowner", "materialize").boolean("ispopulated", true);
                     row.boolean("hasindexes", !catalog.indexes_on(item.id).empty());
                     row.text("definition", catalog.entry(item.id)->query_sql);
                   });
}
std::vector<DatumRow> pg_indexes(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  return item_rows(scope, "pg_catalog", "pg_indexes", {ItemKind::kIndex},
                   [&](RowMaker& row, const CatalogItem& item) {
                     row.text("schemaname", item.name.schema).text("indexname", item.name.item);
                     row.text("tablename", catalog.item(*item.index_on)->name.item);
                     row.text("indexdef", item.create_sql);
                   });
}

std::string_view table_type(ItemKind kind) {
  switch (kind) {
    case ItemKind::kView: return "VIEW";
    case ItemKind::kMaterializedView: return "MATERIALIZED VIEW";
    case ItemKind::kSource: return "SOURCE";
    default: return "BASE TABLE";
  }
}
std::string database_of(const CatalogItem& item) {
  return item.name.database.empty() ? "materialize" : item.name.database;
}

std::vector<DatumRow> information_tables(const SystemScope& scope) {
  return item_rows(scope, "information_schema", "tables",
                   {ItemKind::kTable, ItemKind::kSource, ItemKind::kView, ItemKind::kMaterializedView},
                   [&](RowMaker& row, const CatalogItem& item) {
                     row.text("table_catalog", database_of(item)).text("table_schema", item.name.schema);
                     row.text("table_name", item.name.item).text("table_type", table_type(item.kind));
                     row.text("is_insertable_into", item.writable ? "YES" : "NO").text("is_typed", "NO");
                   });
}
std::vector<DatumRow> information_views(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  return item_rows(scope, "information_schema", "views", {ItemKind::kView},
                   [&](RowMaker& row, const CatalogItem& item) {
                     row.text("table_catalog", database_of(item)).text("table_schema", item.name.schema);
                     row.text("table_name", item.name.item);
                     const CatalogEntry* entry = catalog.entry(item.id);
                     if (entry != nullptr) row.text("view_definition", entry->query_sql);
                   });
}
std::vector<DatumRow> information_columns(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "information_schema", "columns");
  std::vector<DatumRow> rows;
  for (const CatalogItem* item : all_items(scope)) {
    const CatalogEntry* entry = catalog.entry(item->id);
    for (std::size_t i = 0; i < item->desc.arity(); ++i) {
      const repr::ColumnType& column = item->desc.type.columns[i];
      const bool array = column.type.kind() == TypeKind::kArray;
      row.start()
          .text("table_catalog", database_of(*item))
          .text("table_schema", item->name.schema)
          .text("table_name", item->name.item)
          .text("column_name", item->desc.names[i])
          .int4("ordinal_position", static_cast<std::int32_t>(i + 1))
          .text("is_nullable", column.nullable ? "YES" : "NO")
          .text("data_type", array ? std::string("ARRAY") : repr::to_string(column.type.without_typmod()))
          .text("udt_catalog", database_of(*item))
          .text("udt_schema", "pg_catalog")
          .text("udt_name", array ? "_" + std::string(repr::type_info(column.type.element().kind()).pg_name)
                                  : std::string(repr::type_info(column.type.kind()).pg_name));
      if (entry != nullptr && i < entry->default_texts.size() && !entry->default_texts[i].empty()) {
        row.text("column_default", entry->default_texts[i]);
      }
      row.add(rows);
    }
  }
  return rows;
}
std::vector<DatumRow> information_schemata(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "information_schema", "schemata");
  std::vector<DatumRow> rows;
  for (const Namespace& n : namespaces(scope)) {
    row.start().text("catalog_name", n.database.empty() ? "materialize" : n.database).text("schema_name", n.name);
    row.text("schema_owner", "materialize").add(rows);
  }
  return rows;
}

// ---- mz_catalog: all databases.

const Viewer kAllDatabases{};

std::string_view object_type(ItemKind kind) {
  switch (kind) {
    case ItemKind::kTable: return "table";
    case ItemKind::kSource: return "source";
    case ItemKind::kView: return "view";
    case ItemKind::kMaterializedView: return "materialized-view";
    case ItemKind::kIndex: return "index";
  }
  return "table";
}

void fill_object(RowMaker& row, const CatalogItem& item, const std::vector<Namespace>& schemas) {
  row.text("id", to_string(item.id)).oid("oid", item.oid).text("name", item.name.item);
  row.text("schema_id", std::to_string(namespace_oid(schemas, item.name)));
}

template <bool kIndexes>
std::vector<DatumRow> mz_objects(const SystemScope& viewed) {
  const Catalog& catalog = viewed.catalog;
  const SystemScope scope{catalog, kAllDatabases};
  const auto schemas = namespaces(scope);
  RowMaker row(catalog, "mz_catalog", kIndexes ? "mz_objects" : "mz_relations");
  std::vector<DatumRow> rows;
  for (const CatalogItem* item : all_items(scope)) {
    if (!kIndexes && item->kind == ItemKind::kIndex) continue;
    row.start();
    fill_object(row, *item, schemas);
    row.text("type", object_type(item->kind)).text("owner_id", "u1").add(rows);
  }
  return rows;
}

template <ItemKind kKind>
std::vector<DatumRow> mz_items(const SystemScope& viewed) {
  const Catalog& catalog = viewed.catalog;
  const SystemScope scope{catalog, kAllDatabases};
  const auto schemas = namespaces(scope);
  const std::string_view name = kKind == ItemKind::kTable    ? "mz_tables"
                                : kKind == ItemKind::kSource ? "mz_sources"
                                : kKind == ItemKind::kView   ? "mz_views"
                                                             : "mz_materialized_views";
  return item_rows(scope, "mz_catalog", name, {kKind}, [&](RowMaker& row, const CatalogItem& item) {
    fill_object(row, item, schemas);
    row.text("create_sql", item.create_sql);
    const CatalogEntry* entry = catalog.entry(item.id);
    if (kKind == ItemKind::kView || kKind == ItemKind::kMaterializedView) {
      row.text("definition", entry == nullptr ? "" : entry->query_sql);
    }
    if (kKind == ItemKind::kSource) row.text("type", item.part_of ? "subsource" : "load-generator");
  });
}

std::vector<DatumRow> mz_indexes(const SystemScope& viewed) {
  const Catalog& catalog = viewed.catalog;
  const SystemScope scope{catalog, kAllDatabases};
  return item_rows(scope, "mz_catalog", "mz_indexes", {ItemKind::kIndex},
                   [&](RowMaker& row, const CatalogItem& item) {
                     row.text("id", to_string(item.id)).oid("oid", item.oid).text("name", item.name.item);
                     row.text("on_id", to_string(*item.index_on)).text("cluster_id", "u1");
                     row.text("create_sql", item.create_sql);
                   });
}

std::vector<DatumRow> mz_columns(const SystemScope& viewed) {
  const Catalog& catalog = viewed.catalog;
  const SystemScope scope{catalog, kAllDatabases};
  RowMaker row(catalog, "mz_catalog", "mz_columns");
  std::vector<DatumRow> rows;
  for (const CatalogItem* item : all_items(scope)) {
    for (std::size_t i = 0; i < item->desc.arity(); ++i) {
      const repr::ColumnType& column = item->desc.type.columns[i];
      row.start()
          .text("id", to_string(item->id))
          .text("name", item->desc.names[i])
          .set("position", Datum(static_cast<std::int64_t>(i + 1)))
          .boolean("nullable", column.nullable)
          .text("type", repr::to_string(column.type.without_typmod()))
          .oid("type_oid", repr::type_oid(column.type))
          .add(rows);
    }
  }
  return rows;
}

std::vector<DatumRow> mz_databases(const SystemScope& scope) {
  const Catalog& catalog = scope.catalog;
  RowMaker row(catalog, "mz_catalog", "mz_databases");
  std::vector<DatumRow> rows;
  for (const auto& [name, database] : catalog.all_databases()) {
    row.start().text("id", std::to_string(database.oid)).oid("oid", database.oid).text("name", name);
    row.text("owner_id", "u1").add(rows);
  }
  return rows;
}

std::vector<DatumRow> mz_schemas(const SystemScope& viewed) {
  const Catalog& catalog = viewed.catalog;
  const SystemScope scope{catalog, kAllDatabases};
  RowMaker row(catalog, "mz_catalog", "mz_schemas");
  std::vector<DatumRow> rows;
  for (const Namespace& n : namespaces(scope)) {
    row.start().text("id", std::to_string(n.oid)).oid("oid", n.oid).text("name", n.name).text("owner_id", "u1");
    if (!n.database.empty()) {
      row.text("database_id", std::to_string(catalog.all_databases().at(n.database).oid));
    }
    row.add(rows);
  }
  return rows;
}

std::vector<DatumRow> mz_object_dependencies(const SystemScope& viewed) {
  const Catalog& catalog = viewed.catalog;
  const SystemScope scope{catalog, kAllDatabases};
  RowMaker row(catalog, "mz_internal", "mz_object_dependencies");
  std::vector<DatumRow> rows;
  for (const EntryPtr& entry : shown_entries(scope)) {
    for (const GlobalId on : entry->depends_on) {
      row.start().text("object_id", to_string(entry->id())).text("referenced_object_id", to_string(on)).add(rows);
    }
  }
  return rows;
}

std::vector<DatumRow> pg_settings(const SystemScope& scope) {
  RowMaker row(scope.catalog, "pg_catalog", "pg_settings");
  std::vector<DatumRow> rows;
  if (!scope.viewer.settings) return rows;
  for (const Viewer::Setting& setting : scope.viewer.settings()) {
    row.start().text("name", setting.name).text("setting", setting.value).text("short_desc", setting.description);
    row.text("category", "Freshet").text("context", "user").text("vartype", "string").text("source", "default");
    row.boolean("pending_restart", false).add(rows);
  }
  return rows;
}

std::vector<DatumRow> nothing(const SystemScope&) { return {}; }

struct Filled {
  std::string_view schema;
  std::string_view name;
  SystemRows rows;
};
constexpr Filled kFilled[] = {
    {"pg_catalog", "pg_namespace", pg_namespace},
    {"pg_catalog", "pg_class", pg_class},
    {"pg_catalog", "pg_attribute", pg_attribute},
    {"pg_catalog", "pg_attrdef", pg_attrdef},
    {"pg_catalog", "pg_index", pg_index},
    {"pg_catalog", "pg_type", pg_type},
    {"pg_catalog", "pg_database", pg_database},
    {"pg_catalog", "pg_roles", pg_roles},
    {"pg_catalog", "pg_authid", pg_authid},
    {"pg_catalog", "pg_user", pg_user},
    {"pg_catalog", "pg_am", pg_am},
    {"pg_catalog", "pg_collation", pg_collation},
    {"pg_catalog", "pg_tablespace", pg_tablespace},
    {"pg_catalog", "pg_language", pg_language},
    {"pg_catalog", "pg_proc", pg_proc},
    {"pg_catalog", "pg_settings", pg_settings},
    {"pg_catalog", "pg_tables", pg_tables},
    {"pg_catalog", "pg_views", pg_views},
    {"pg_catalog", "pg_matviews", pg_matviews},
    {"pg_catalog", "pg_indexes", pg_indexes},
    {"information_schema", "tables", information_tables},
    {"information_schema", "views", information_views},
    {"information_schema", "columns", information_columns},
    {"information_schema", "schemata", information_schemata},
    {"mz_catalog", "mz_databases", mz_databases},
    {"mz_catalog", "mz_schemas", mz_schemas},
    {"mz_catalog", "mz_objects", mz_objects<true>},
    {"mz_catalog", "mz_relations", mz_objects<false>},
    {"mz_catalog", "mz_tables", mz_items<ItemKind::kTable>},
    {"mz_catalog", "mz_sources", mz_items<ItemKind::kSource>},
    {"mz_catalog", "mz_views", mz_items<ItemKind::kView>},
    {"mz_catalog", "mz_materialized_views", mz_items<ItemKind::kMaterializedView>},
    {"mz_catalog", "mz_indexes", mz_indexes},
    {"mz_catalog", "mz_columns", mz_columns},
    {"mz_internal", "mz_object_dependencies", mz_object_dependencies},
};

}  // namespace

SystemRows system_rows(std::string_view schema, std::string_view name) {
  for (const Filled& filled : kFilled) {
    if (filled.schema == schema && filled.name == name) return filled.rows;
  }
  return nothing;
}

}  // namespace freshet::adapter
