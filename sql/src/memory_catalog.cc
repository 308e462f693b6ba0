// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/sql/catalog_view.h>

namespace freshet::sql {

std::string to_string(const ItemName& name) {
  return (name.database.empty() ? "" : name.database + ".") + name.schema + "." + name.item;
}

std::string_view to_string(ItemKind kind) {
  switch (kind) {
    case ItemKind::kTable: return "table";
    case ItemKind::kSource: return "source";
    case ItemKind::kView: return "view";
    case ItemKind::kMaterializedView: return "materialized view";
    case ItemKind::kIndex: return "index";
  }
  return "object";
}

MemoryCatalog::MemoryCatalog() { add_schema("materialize", "public"); }

void MemoryCatalog::add_database(std::string name) { databases_.try_emplace(std::move(name)); }

void MemoryCatalog::add_schema(std::string database, std::string schema) {
  std::vector<std::string>& schemas = databases_[std::move(database)];
  if (std::ranges::find(schemas, schema) == schemas.end()) schemas.push_back(std::move(schema));
  std::ranges::sort(schemas);
}

expr::GlobalId MemoryCatalog::add(CatalogItem item) {
  if (item.id.number == 0) item.id.number = next_++;
  if (item.oid == 0) item.oid = static_cast<std::uint32_t>(20000 + item.id.number);
  const expr::GlobalId id = item.id;
  names_[id] = item.name;
  if (item.index_on) add_dependency(id, *item.index_on);
  if (item.part_of) add_dependency(id, *item.part_of);
  items_.insert_or_assign(item.name, std::move(item));
  return id;
}

void MemoryCatalog::add_dependency(expr::GlobalId item, expr::GlobalId on) { dependents_[on].push_back(item); }

void MemoryCatalog::remove(expr::GlobalId id) {
  const auto name = names_.find(id);
  if (name == names_.end()) return;
  items_.erase(name->second);
  names_.erase(name);
  dependents_.erase(id);
  for (auto& [on, list] : dependents_) std::erase(list, id);
}

bool MemoryCatalog::has_database(std::string_view database) const { return databases_.contains(database); }

bool MemoryCatalog::has_schema(std::string_view database, std::string_view schema) const {
  if (database.empty()) return std::ranges::find(kSystemSchemas, schema) != std::end(kSystemSchemas);
  const auto found = databases_.find(database);
  return found != databases_.end() && std::ranges::find(found->second, schema) != found->second.end();
}

const CatalogItem* MemoryCatalog::find(const ItemName& name) const {
  const auto found = items_.find(name);
  return found == items_.end() ? nullptr : &found->second;
}

const CatalogItem* MemoryCatalog::item(expr::GlobalId id) const {
  const auto name = names_.find(id);
  return name == names_.end() ? nullptr : find(name->second);
}

std::vector<std::string> MemoryCatalog::databases() const {
  std::vector<std::string> result;
  for (const auto& [name, schemas] : databases_) result.push_back(name);
  return result;
}

std::vector<std::string> MemoryCatalog::schemas(std::string_view database) const {
  const auto found = databases_.find(database);
  return found == databases_.end() ? std::vector<std::string>() : found->second;
}

std::vector<const CatalogItem*> MemoryCatalog::items(std::string_view database, std::string_view schema) const {
  std::vector<const CatalogItem*> result;
  for (const auto& [name, item] : items_) {
    if (name.database == database && name.schema == schema) result.push_back(&item);
  }
  return result;
}

std::vector<expr::GlobalId> MemoryCatalog::dependents(expr::GlobalId id) const {
  const auto found = dependents_.find(id);
  return found == dependents_.end() ? std::vector<expr::GlobalId>() : found->second;
}

}  // namespace freshet::sql
