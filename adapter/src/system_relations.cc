// SPDX-License-Identifier: Apache-2.0
// The relations of the system schemas: PostgreSQL's shapes, filled from a catalog snapshot. A relation for
// something that Freshet does not have is empty.
#include <algorithm>
#include <map>

#include "pg_catalog_rows.h"
#include "pg_catalog_shapes.h"

namespace freshet::adapter {
namespace {

repr::SqlType type_named(std::string_view name) {
  if (name == "char") return repr::TypeKind::kPgChar;
  if (name == "_char") return repr::SqlType::array_of(repr::TypeKind::kPgChar);
  const auto type = repr::type_from_name(name);
  FRESHET_ASSERT(type.has_value(), name);
  return *type;
}

repr::RelationDesc parse_shape(std::string_view columns) {
  repr::RelationDesc desc;
  while (!columns.empty()) {
    const std::size_t comma = columns.find(", ");
    std::string_view column = columns.substr(0, comma);
    columns = comma == std::string_view::npos ? std::string_view() : columns.substr(comma + 2);
    const std::size_t space = column.find(' ');
    std::string_view type = column.substr(space + 1);
    const bool not_null = type.ends_with('!');
    if (not_null) type.remove_suffix(1);
    desc.names.emplace_back(column.substr(0, space));
    desc.type.columns.push_back({type_named(type), !not_null});
  }
  return desc;
}

// Our own relations; OIDs from 15000 on are free in PostgreSQL.
constexpr SystemShape kOwnShapes[] = {
    {"mz_catalog", "mz_databases", 15001, "id text!, oid oid!, name text!, owner_id text!"},
    {"mz_catalog", "mz_schemas", 15002, "id text!, oid oid!, database_id text, name text!, owner_id text!"},
    {"mz_catalog", "mz_objects", 15003,
     "id text!, oid oid!, schema_id text!, name text!, type text!, owner_id text!"},
    {"mz_catalog", "mz_relations", 15004,
     "id text!, oid oid!, schema_id text!, name text!, type text!, owner_id text!"},
    {"mz_catalog", "mz_tables", 15005, "id text!, oid oid!, schema_id text!, name text!, create_sql text"},
    {"mz_catalog", "mz_views", 15006,
     "id text!, oid oid!, schema_id text!, name text!, definition text!, create_sql text!"},
    {"mz_catalog", "mz_materialized_views", 15007,
     "id text!, oid oid!, schema_id text!, name text!, definition text!, create_sql text!"},
    {"mz_catalog", "mz_sources", 15008,
     "id text!, oid oid!, schema_id text!, name text!, type text!, create_sql text"},
    {"mz_catalog", "mz_indexes", 15009,
     "id text!, oid oid!, name text!, on_id text!, cluster_id text!, create_sql text"},
    {"mz_catalog", "mz_columns", 15010,
     "id text!, name text!, position int8!, nullable bool!, type text!, default text, type_oid oid!"},
    {"mz_internal", "mz_object_dependencies", 15011, "object_id text!, referenced_object_id text!"},
};

SystemRelation make_relation(const SystemShape& shape, std::uint64_t number) {
  SystemRelation relation{.item = {}, .rows = system_rows(shape.schema, shape.name)};
  relation.item.id = {GlobalId::Kind::kSystem, number};
  relation.item.oid = shape.oid;
  relation.item.kind = shape.schema == "pg_catalog" ? sql::ItemKind::kTable : sql::ItemKind::kView;
  relation.item.name = {"", std::string(shape.schema), std::string(shape.name)};
  relation.item.desc = parse_shape(shape.columns);
  return relation;
}

}  // namespace

std::vector<SystemRelation> make_system_relations() {
  std::vector<SystemRelation> relations;
  std::uint64_t number = 1000;
  for (const SystemShape& shape : pg_catalog_shapes()) relations.push_back(make_relation(shape, number++));
  for (const SystemShape& shape : kOwnShapes) relations.push_back(make_relation(shape, number++));
  return relations;
}

}  // namespace freshet::adapter
