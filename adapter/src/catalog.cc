// SPDX-License-Identifier: Apache-2.0
#include "catalog.h"

#include <algorithm>

#include <freshet/base/assert.h>
#include <freshet/base/bytes.h>
#include <freshet/base/sqlstate.h>
#include <freshet/repr/row.h>

namespace freshet::adapter {
namespace {

using repr::Datum;
using repr::DatumRow;
using repr::TypeKind;

// Kinds of catalog rows; stable.
enum class RowKind : std::int32_t { kDatabase = 1, kSchema = 2, kItem = 3, kCounters = 4 };

DatumRow make_row(RowKind kind, std::string key, std::string value) {
  return {Datum(static_cast<std::int32_t>(kind)), Datum(std::move(key)), Datum(std::move(value))};
}

base::Unexpected no_database(const std::string& name) {
  return fail(sqlstate::kInvalidCatalogName, "database \"" + name + "\" does not exist");
}

base::Unexpected no_schema(const std::string& name) {
  return fail(sqlstate::kInvalidSchemaName, "schema \"" + name + "\" does not exist");
}

DatumRow database_row(const DatabaseEntry& database) {
  base::ByteWriter out;
  out.varint(database.oid);
  return make_row(RowKind::kDatabase, database.name, out.take());
}

DatumRow schema_row(const SchemaEntry& schema) {
  base::ByteWriter out;
  out.varint(schema.oid);
  out.bytes(schema.database);
  out.bytes(schema.name);
  // A name may hold any character.
  return make_row(RowKind::kSchema, std::to_string(schema.database.size()) + ":" + schema.database + "." + schema.name,
                  out.take());
}

DatumRow item_row(const CatalogEntry& entry) {
  return make_row(RowKind::kItem, to_string(entry.id()), entry.stored);
}

DatumRow counters_row(std::uint64_t next_id, std::uint32_t next_oid, repr::SqlTime reserved) {
  base::ByteWriter out;
  out.varint(next_id);
  out.varint(next_oid);
  out.varint(reserved);
  return make_row(RowKind::kCounters, "counters", out.take());
}

std::pair<std::int32_t, std::string> row_key(const DatumRow& row) {
  return {row[0].get<std::int32_t>(), row[1].get<std::string>()};
}

repr::RowCodec catalog_codec() {
  std::vector<repr::SqlType> types;
  for (const auto& column : catalog_collection_desc().type.columns) types.push_back(column.type);
  return repr::RowCodec(std::move(types));
}

}  // namespace

repr::RelationDesc catalog_collection_desc() {
  return {.type = {.columns = {{TypeKind::kInt4, false}, {TypeKind::kText, false}, {TypeKind::kBytea, false}}},
          .names = {"kind", "key", "value"}};
}

Catalog::Catalog(std::shared_ptr<const std::vector<SystemRelation>> system)
    : system_(std::move(system)) {
  for (std::size_t i = 0; i < system_->size(); ++i) {
    const sql::ItemName& name = (*system_)[i].item.name;
    system_names_[{name.schema, name.item}] = i;
  }
}

bool Catalog::has_database(std::string_view database) const {
  return databases_.contains(std::string(database));
}

bool Catalog::has_schema(std::string_view database, std::string_view schema) const {
  if (database.empty()) return std::ranges::find(sql::kSystemSchemas, schema) != std::end(sql::kSystemSchemas);
  return schemas_.contains({std::string(database), std::string(schema)});
}

const sql::CatalogItem* Catalog::find(const sql::ItemName& name) const {
  if (name.database.empty()) {
    auto it = system_names_.find({name.schema, name.item});
    return it == system_names_.end() ? nullptr : &(*system_)[it->second].item;
  }
  auto it = names_.find(name);
  return it == names_.end() ? nullptr : item(it->second);
}

const sql::CatalogItem* Catalog::item(GlobalId id) const {
  if (const CatalogEntry* e = entry(id)) return &e->item;
  const SystemRelation* system = system_relation(id);
  return system == nullptr ? nullptr : &system->item;
}

std::vector<std::string> Catalog::databases() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : databases_) names.push_back(name);
  return names;
}

std::vector<std::string> Catalog::schemas(std::string_view database) const {
  std::vector<std::string> names;
  if (database.empty()) {
    for (const std::string_view name : sql::kSystemSchemas) names.emplace_back(name);
    return names;
  }
  for (const auto& [name, entry] : schemas_) {
    if (name.first == database) names.push_back(name.second);
  }
  return names;
}

std::vector<const sql::CatalogItem*> Catalog::items(std::string_view database,
                                                    std::string_view schema) const {
  std::vector<const sql::CatalogItem*> found;
  if (database.empty()) {
    for (const auto& [name, index] : system_names_) {
      if (name.first == schema) found.push_back(&(*system_)[index].item);
    }
    return found;
  }
  const sql::ItemName first{std::string(database), std::string(schema), ""};
  for (auto it = names_.lower_bound(first); it != names_.end(); ++it) {
    if (it->first.database != database || it->first.schema != schema) break;
    found.push_back(item(it->second));
  }
  return found;
}

std::vector<GlobalId> Catalog::dependents(GlobalId id) const {
  auto it = dependents_.find(id);
  if (it == dependents_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

const CatalogEntry* Catalog::entry(GlobalId id) const {
  auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : it->second.get();
}

const SystemRelation* Catalog::system_relation(GlobalId id) const {
  if (id.kind != GlobalId::Kind::kSystem) return nullptr;
  auto it = std::ranges::find_if(*system_, [&](const SystemRelation& r) { return r.item.id == id; });
  return it == system_->end() ? nullptr : &*it;
}

std::vector<const CatalogEntry*> Catalog::indexes_on(GlobalId on) const {
  std::vector<const CatalogEntry*> found;
  for (const GlobalId id : dependents(on)) {
    const CatalogEntry* e = entry(id);
    if (e != nullptr && e->item.index_on == on) found.push_back(e);
  }
  return found;
}

void sort_for_creation(std::vector<EntryPtr>& collections) {
  std::ranges::stable_partition(collections, [](const EntryPtr& e) { return e->generator.has_value(); });
}

storage_api::CreateCollection Catalog::collection_of(const CatalogEntry& entry, repr::SqlTime since) const {
  FRESHET_ASSERT(entry.is_collection(), entry.id());
  storage_api::CreateCollection create{
      .id = entry.id(), .kind = storage_api::TableCollection{}, .desc = entry.item.desc, .since = since};
  if (entry.item.kind == sql::ItemKind::kMaterializedView) {
    create.kind = storage_api::ViewCollection{};
  } else if (entry.generator) {
    create.kind = storage_api::IngestionCollection{*entry.generator, entry.outputs};
  } else if (entry.item.kind == sql::ItemKind::kSource) {
    create.kind = storage_api::IngestionOutput{ingestion_of(entry)};
  }
  return create;
}

// A table of TPCH is a part of its ingestion; the progress of a COUNTER, which ingests, is a part of its output.
GlobalId Catalog::ingestion_of(const CatalogEntry& output) const {
  if (output.item.part_of) return *output.item.part_of;
  for (const GlobalId id : dependents(output.id())) {
    const CatalogEntry* e = entry(id);
    if (e != nullptr && e->generator && std::ranges::find(e->outputs, output.id()) != e->outputs.end()) return id;
  }
  return output.id();  // a damaged catalog: storage refuses it
}

CatalogChange Catalog::initial_change() const {
  CatalogChange change;
  change.put_databases.push_back({"materialize", next_oid_});
  change.put_schemas.push_back({"materialize", "public", 2200});
  change.next_id = 1;
  change.next_oid = next_oid_ + 1;
  return change;
}

Result<std::pair<CatalogPtr, storage_api::CollectionUpdates>> Catalog::apply(
    const CatalogChange& change) const {
  auto next = std::make_shared<Catalog>(*this);
  const repr::RowCodec codec = catalog_codec();
  storage_api::CollectionUpdates updates;
  auto write = [&](const DatumRow& row, repr::Diff diff) {
    updates.oks.push_back(codec.encode(row), 0, diff);
  };
  for (const std::string& name : change.drop_databases) {
    const auto found = next->databases_.find(name);
    if (found == next->databases_.end()) return no_database(name);
    write(next->take_row(database_row(found->second)), -1);
    next->databases_.erase(found);
  }
  for (const auto& name : change.drop_schemas) {
    const auto found = next->schemas_.find(name);
    if (found == next->schemas_.end()) return no_schema(name.second);
    write(next->take_row(schema_row(found->second)), -1);
    next->schemas_.erase(found);
  }
  for (const GlobalId id : change.drop_items) {
    const CatalogEntry* old = next->entry(id);
    if (old == nullptr) return fail(sqlstate::kUndefinedTable, "an object was dropped by somebody else");
    write(item_row(*old), -1);
    next->remove(id);
  }
  for (const DatabaseEntry& database : change.put_databases) {
    write(next->keep_row(database_row(database)), 1);
    next->databases_[database.name] = database;
  }
  for (const SchemaEntry& schema : change.put_schemas) {
    write(next->keep_row(schema_row(schema)), 1);
    next->schemas_[{schema.database, schema.name}] = schema;
  }
  for (CatalogEntry entry : change.put_items) {
    if (const CatalogEntry* old = next->entry(entry.id())) {
      write(item_row(*old), -1);
      next->remove(entry.id());
    }
    entry.stored = encode_entry(entry);
    write(item_row(entry), 1);
    FRESHET_TRY(next->put(std::move(entry)));
  }
  FRESHET_TRY(next->check(change));
  if (!change.put_items.empty() || !change.drop_items.empty() || !change.put_schemas.empty() ||
      !change.drop_schemas.empty() || !change.put_databases.empty() || !change.drop_databases.empty()) {
    ++next->version_;
  }
  if (change.next_id) next->next_id_ = *change.next_id;
  if (change.next_oid) next->next_oid_ = *change.next_oid;
  if (change.reserved) next->reserved_ = *change.reserved;
  const DatumRow counters = counters_row(next->next_id_, next->next_oid_, next->reserved_);
  if (databases_.empty() && schemas_.empty()) {
    write(next->keep_row(counters), 1);
  } else if (next_id_ != next->next_id_ || next_oid_ != next->next_oid_ || reserved_ != next->reserved_) {
    write(next->take_row(counters), -1);
    write(next->keep_row(counters), 1);
  }
  return std::pair<CatalogPtr, storage_api::CollectionUpdates>(std::move(next), std::move(updates));
}

Result<CatalogPtr> Catalog::load(std::shared_ptr<const std::vector<SystemRelation>> system,
                                 const std::vector<DatumRow>& rows) {
  auto catalog = std::make_shared<Catalog>(std::move(system));
  auto corrupt = [](const std::string& key) {
    return fail(Error{.code = ErrorCode::kCorrupt,
                      .sqlstate = sqlstate::kDataCorrupted,
                      .message = "catalog row \"" + key + "\" cannot be read"});
  };
  std::vector<CatalogEntry> items;
  for (const DatumRow& row : rows) {
    const std::string& key = row[1].get<std::string>();
    const std::string& value = row[2].get<std::string>();
    base::ByteReader in(value);
    switch (static_cast<RowKind>(row[0].get<std::int32_t>())) {
      case RowKind::kDatabase:
        catalog->databases_[key] = {key, static_cast<std::uint32_t>(in.varint())};
        catalog->rows_[row_key(row)] = row;
        break;
      case RowKind::kSchema: {
        SchemaEntry schema;
        schema.oid = static_cast<std::uint32_t>(in.varint());
        schema.database = in.bytes();
        schema.name = in.bytes();
        catalog->schemas_[{schema.database, schema.name}] = schema;
        catalog->rows_[row_key(schema_row(schema))] = row;
        break;
      }
      case RowKind::kItem:
        items.push_back(FRESHET_TRY(decode_entry(value)));
        items.back().stored = value;
        break;
      case RowKind::kCounters:
        catalog->next_id_ = in.varint();
        catalog->next_oid_ = static_cast<std::uint32_t>(in.varint());
        catalog->reserved_ = in.varint();
        catalog->rows_[row_key(row)] = row;
        break;
    }
    if (!in.ok()) return corrupt(key);
  }
  // Ids grow, and an object depends on older ones only.
  std::ranges::sort(items, {}, [](const CatalogEntry& e) { return e.id(); });
  for (CatalogEntry& entry : items) FRESHET_TRY(catalog->put(std::move(entry)));
  return CatalogPtr(std::move(catalog));
}

const DatumRow& Catalog::keep_row(DatumRow row) { return rows_.insert_or_assign(row_key(row), std::move(row)).first->second; }

DatumRow Catalog::take_row(const DatumRow& row) {
  const auto node = rows_.extract(row_key(row));
  FRESHET_ASSERT(!node.empty(), row[1].get<std::string>());
  return node.mapped();
}

Result<void> Catalog::put(CatalogEntry entry) {
  FRESHET_TRY(derive(entry));
  const GlobalId id = entry.id();
  if (!entry.item.name.item.empty() && !names_.emplace(entry.item.name, id).second) {
    return fail(sqlstate::kDuplicateTable, "relation \"" + entry.item.name.item + "\" already exists");
  }
  for (const GlobalId on : entry.depends_on) dependents_[on].insert(id);
  entries_[id] = std::make_shared<const CatalogEntry>(std::move(entry));
  return {};
}

// A statement decides by what it read when it was planned; another may have come between. Whatever a change forgot
// to look at again, what stays points to what is there.
Result<void> Catalog::check(const CatalogChange& change) const {
  for (const SchemaEntry& schema : change.put_schemas) {
    if (!databases_.contains(schema.database)) return no_database(schema.database);
  }
  for (const CatalogEntry& entry : change.put_items) {
    const sql::ItemName& name = entry.item.name;
    if (!schemas_.contains({name.database, name.schema})) return no_schema(name.schema);
    for (const GlobalId on : entry.depends_on) {
      if (item(on) == nullptr) {
        return fail(sqlstate::kUndefinedTable, "an object that the statement uses was dropped");
      }
    }
  }
  for (const GlobalId id : change.drop_items) {
    if (!dependents_.contains(id)) continue;
    return fail(sqlstate::kDependentObjectsStillExist,
                "cannot drop an object because other objects depend on it");
  }
  for (const auto& [database, schema] : change.drop_schemas) {
    const auto first = names_.lower_bound(sql::ItemName{database, schema, ""});
    if (first != names_.end() && first->first.database == database && first->first.schema == schema) {
      return fail(sqlstate::kDependentObjectsStillExist,
                  "cannot drop schema " + schema + " because other objects depend on it");
    }
  }
  for (const std::string& database : change.drop_databases) {
    const auto first = schemas_.lower_bound({database, ""});
    if (first != schemas_.end() && first->first.first == database) {
      return fail(sqlstate::kDependentObjectsStillExist,
                  "cannot drop database " + database + " because other objects depend on it");
    }
  }
  return {};
}

void Catalog::remove(GlobalId id) {
  const EntryPtr entry = entries_.at(id);
  if (!entry->item.name.item.empty()) names_.erase(entry->item.name);
  for (const GlobalId on : entry->depends_on) {
    auto it = dependents_.find(on);
    it->second.erase(id);
    if (it->second.empty()) dependents_.erase(it);
  }
  entries_.erase(id);
}

Result<void> Catalog::derive(CatalogEntry& entry) const {
  if (entry.query) entry.relation = FRESHET_TRY(sql::lower(entry.query->relation));
  entry.item.definition_sql = entry.item.index_on ? entry.item.create_sql : entry.query_sql;
  entry.key.clear();
  for (const sql::HirScalarPtr& scalar : entry.item.index_key) {
    entry.key.push_back(FRESHET_TRY(sql::lower_scalar(scalar)));
  }
  return {};
}

}  // namespace freshet::adapter
