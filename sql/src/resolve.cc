// SPDX-License-Identifier: Apache-2.0
// Names of catalog items.
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "binder.h"

namespace freshet::sql {
namespace {

bool is_system_schema(std::string_view schema) { return std::ranges::find(kSystemSchemas, schema) != std::end(kSystemSchemas); }

std::string dotted(const NameParts& name) {
  std::string text;
  for (const std::string& part : name.parts) text += (text.empty() ? "" : ".") + part;
  return text;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

const CatalogItem* Binder::find_item(const NameParts& name) const {
  const std::string& item = name.parts.back();
  if (name.parts.size() == 3) {
    const std::string& schema = name.parts[1];
    return catalog_.find({is_system_schema(schema) ? "" : name.parts[0], schema, item});
  }
  if (name.parts.size() == 2) {
    const std::string& schema = name.parts[0];
    return catalog_.find({is_system_schema(schema) ? "" : settings_.database, schema, item});
  }
  const auto& path = settings_.search_path;
  for (std::string_view schema : {"pg_catalog", "mz_catalog", "mz_internal"}) {
    if (std::ranges::find(path, schema) != path.end()) continue;
    if (const CatalogItem* found = catalog_.find({"", std::string(schema), item})) return found;
  }
  for (const std::string& schema : path) {
    const bool system = is_system_schema(schema);
    const std::string& actual = schema == "$user" ? settings_.user : schema;
    if (const CatalogItem* found = catalog_.find({system ? "" : settings_.database, actual, item})) return found;
  }
  return nullptr;
}

Error Binder::no_such_relation(const NameParts& name) const {
  if (name.parts.size() == 3 && !catalog_.has_database(name.parts[0])) {
    return error_at(sqlstate::kInvalidCatalogName, "database \"" + name.parts[0] + "\" does not exist", name.location);
  }
  Error error = error_at(sqlstate::kUndefinedTable, "relation \"" + dotted(name) + "\" does not exist", name.location);
  const std::string& wanted = name.parts.back();
  std::size_t best = std::min<std::size_t>(4, wanted.size() / 2 + 1);
  for (const std::string& schema : settings_.search_path) {
    for (const CatalogItem* item : catalog_.items(settings_.database, schema)) {
      if (item->kind == ItemKind::kIndex) continue;
      const std::size_t distance = edit_distance(wanted, item->name.item);
      if (distance >= best) continue;
      best = distance;
      error.hint = "Perhaps you meant \"" + item->name.item + "\".";
    }
  }
  return error;
}

Result<const CatalogItem*> Binder::relation_item(const NameParts& name) {
  const CatalogItem* item = find_item(name);
  if (item == nullptr) return fail(no_such_relation(name));
  if (item->kind == ItemKind::kIndex) {
    return fail(error_at(sqlstate::kWrongObjectType, "cannot open relation \"" + item->name.item + "\"", name.location));
  }
  return item;
}

Result<const CatalogItem*> Binder::relation_item(const PgQuery__RangeVar& range) {
  NameParts name;
  name.location = range.location;
  if (range.catalogname != nullptr && *range.catalogname != '\0') name.parts.emplace_back(range.catalogname);
  if (range.schemaname != nullptr && *range.schemaname != '\0') name.parts.emplace_back(range.schemaname);
  name.parts.emplace_back(range.relname);
  return relation_item(name);
}

Result<ItemName> Binder::new_item_name(const NameParts& name) const {
  const std::size_t parts = name.parts.size();
  std::string database = parts == 3 ? name.parts[0] : settings_.database;
  if (!catalog_.has_database(database)) {
    return fail(error_at(sqlstate::kInvalidCatalogName, "database \"" + database + "\" does not exist", name.location));
  }
  if (parts == 1) {
    for (const std::string& schema : settings_.search_path) {
      if (is_system_schema(schema) || !catalog_.has_schema(database, schema)) continue;
      return ItemName{database, schema, name.parts.back()};
    }
    return fail(error_at(sqlstate::kInvalidSchemaName, "no schema has been selected to create in", name.location));
  }
  const std::string& schema = name.parts[parts - 2];
  if (is_system_schema(schema)) {
    Error error = error_at("42501", "permission denied to create \"" + schema + "." + name.parts.back() + "\"",
                           name.location);
    error.detail = "System catalog modifications are currently disallowed.";
    return fail(std::move(error));
  }
  if (!catalog_.has_schema(database, schema)) {
    return fail(error_at(sqlstate::kInvalidSchemaName, "schema \"" + schema + "\" does not exist", name.location));
  }
  return ItemName{database, schema, name.parts.back()};
}

}  // namespace freshet::sql
