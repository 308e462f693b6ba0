// SPDX-License-Identifier: Apache-2.0
/// The catalog: an immutable snapshot of every object, and the changes that lead from one to the next.
///
/// Durable objects are rows of one collection (`kCatalogCollection`): (kind, key, value), the value in a
/// tagged encoding that skips fields it does not know. Views are stored as HIR; their IR is derived when a
/// snapshot is built. System relations (pg_class, …) are computed from a snapshot when they are read.
///
/// Thread safety: snapshots are immutable; share freely.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <freshet/expr/lir.h>
#include <freshet/sql/catalog_view.h>
#include <freshet/storage_api/storage.h>

namespace freshet::adapter {

using expr::GlobalId;

/// The table that holds the catalog itself.
inline constexpr GlobalId kCatalogCollection{GlobalId::Kind::kSystem, 1};
repr::RelationDesc catalog_collection_desc();

/// How much history an object keeps when nobody said.
inline constexpr std::uint64_t kDefaultRetainMicros = 1'000'000;

/// A user object: what is stored, and what is derived from it.
struct CatalogEntry {
  sql::CatalogItem item;
  std::optional<sql::HirQuery> query{};                      ///< Views.
  std::optional<storage_api::LoadGenerator> generator{};     ///< Sources.
  std::vector<GlobalId> outputs{};                           ///< Sources.
  std::set<GlobalId> depends_on{};
  std::vector<std::string> default_texts{};                  ///< Tables.
  std::string query_sql{};                                   ///< Views.
  /// The bytes in the catalog, which a change retracts: another version may have written them in another way.
  std::string stored{};

  std::optional<expr::Relation> relation{};                  ///< Derived: views.
  expr::ArrangementKey key{};                                ///< Derived: indexes.
  [[nodiscard]] GlobalId id() const { return item.id; }
  /// True if the object's rows are a storage collection.
  [[nodiscard]] bool is_collection() const {
    return item.kind != sql::ItemKind::kView && item.kind != sql::ItemKind::kIndex;
  }
  [[nodiscard]] std::uint64_t retain_micros() const {
    return item.retain_history_micros.value_or(kDefaultRetainMicros);
  }
};
using EntryPtr = std::shared_ptr<const CatalogEntry>;

struct SchemaEntry {
  std::string database;
  std::string name;
  std::uint32_t oid = 0;
};
struct DatabaseEntry {
  std::string name;
  std::uint32_t oid = 0;
};

/// As storage must hear of them: an ingestion before its outputs, whose ids may be smaller.
void sort_for_creation(std::vector<EntryPtr>& collections);

class Catalog;
using CatalogPtr = std::shared_ptr<const Catalog>;

/// Whose eyes the system relations are seen with.
struct Viewer {
  /// pg_catalog and information_schema show this database only; empty: all of them.
  std::string database{};
  struct Setting {
    std::string_view name;
    std::string value;
    std::string_view description;
  };
  std::function<std::vector<Setting>()> settings{};
  /// now(), current_user, … of the statement, for views that use them.
  std::function<std::optional<repr::Datum>(const std::string& name)> session_value{};
  /// Ends planning early.
  sql::Interrupt interrupt{};
};
struct SystemScope {
  const Catalog& catalog;
  const Viewer& viewer;
};

/// A relation of the system schemas.
struct SystemRelation {
  sql::CatalogItem item;
  std::vector<repr::DatumRow> (*rows)(const SystemScope& scope);
};
/// All of them, in a fixed order; made once by the adapter.
std::vector<SystemRelation> make_system_relations();

/// One atomic change. Puts replace what has the same id.
struct CatalogChange {
  std::vector<DatabaseEntry> put_databases{};
  std::vector<std::string> drop_databases{};
  std::vector<SchemaEntry> put_schemas{};
  std::vector<std::pair<std::string, std::string>> drop_schemas{};
  std::vector<CatalogEntry> put_items{};
  std::vector<GlobalId> drop_items{};
  std::optional<std::uint64_t> next_id{};
  std::optional<std::uint32_t> next_oid{};
  std::optional<repr::SqlTime> reserved{};
};

class Catalog final : public sql::CatalogView, public std::enable_shared_from_this<Catalog> {
 public:
  explicit Catalog(std::shared_ptr<const std::vector<SystemRelation>> system);

  bool has_database(std::string_view database) const override;
  bool has_schema(std::string_view database, std::string_view schema) const override;
  const sql::CatalogItem* find(const sql::ItemName& name) const override;
  const sql::CatalogItem* item(GlobalId id) const override;
  std::vector<std::string> databases() const override;
  std::vector<std::string> schemas(std::string_view database) const override;
  std::vector<const sql::CatalogItem*> items(std::string_view database,
                                             std::string_view schema) const override;
  std::vector<GlobalId> dependents(GlobalId id) const override;

  [[nodiscard]] const CatalogEntry* entry(GlobalId id) const;
  [[nodiscard]] const SystemRelation* system_relation(GlobalId id) const;
  [[nodiscard]] const std::map<GlobalId, EntryPtr>& entries() const { return entries_; }
  [[nodiscard]] const std::vector<SystemRelation>& system_relations() const { return *system_; }
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, SchemaEntry>& all_schemas() const {
    return schemas_;
  }
  [[nodiscard]] const std::map<std::string, DatabaseEntry>& all_databases() const { return databases_; }
  /// Of `on` itself, in id order.
  [[nodiscard]] std::vector<const CatalogEntry*> indexes_on(GlobalId on) const;
  /// What storage is told of the entry, readable from `since` on. Requires is_collection().
  [[nodiscard]] storage_api::CreateCollection collection_of(const CatalogEntry& entry, repr::SqlTime since) const;
  [[nodiscard]] std::uint64_t next_id() const { return next_id_; }
  [[nodiscard]] std::uint32_t next_oid() const { return next_oid_; }
  [[nodiscard]] repr::SqlTime reserved() const { return reserved_; }
  /// Counts the changes of objects: plans made against the same version are still right.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// The snapshot after the change, and the rows that make it durable. An SQL error if the change drops what is
  /// not there, takes a name twice, or leaves something without its schema, its database or what it depends on.
  [[nodiscard]] Result<std::pair<CatalogPtr, storage_api::CollectionUpdates>> apply(
      const CatalogChange& change) const;
  /// From all rows of the collection. XX001 if one cannot be read.
  static Result<CatalogPtr> load(std::shared_ptr<const std::vector<SystemRelation>> system,
                                 const std::vector<repr::DatumRow>& rows);
  /// What the first start writes: database "materialize" with schema "public".
  [[nodiscard]] CatalogChange initial_change() const;

 private:
  Result<void> put(CatalogEntry entry);
  Result<void> check(const CatalogChange& change) const;  // that the change left everything whole
  void remove(GlobalId id);
  Result<void> derive(CatalogEntry& entry) const;
  [[nodiscard]] GlobalId ingestion_of(const CatalogEntry& output) const;
  /// Of a database, a schema or the counters: what is stored from now on.
  const repr::DatumRow& keep_row(repr::DatumRow row);
  /// What is stored under the key of `row`, and is to be retracted.
  repr::DatumRow take_row(const repr::DatumRow& row);

  std::shared_ptr<const std::vector<SystemRelation>> system_;
  std::map<std::pair<std::string, std::string>, std::size_t> system_names_;  // (schema, name)
  std::map<std::string, DatabaseEntry> databases_;
  std::map<std::pair<std::string, std::string>, SchemaEntry> schemas_;
  std::map<GlobalId, EntryPtr> entries_;
  std::map<sql::ItemName, GlobalId> names_;
  std::map<GlobalId, std::set<GlobalId>> dependents_;
  std::map<std::pair<std::int32_t, std::string>, repr::DatumRow> rows_;  ///< As stored, but for items.
  std::uint64_t next_id_ = 1;
  std::uint32_t next_oid_ = 16384;
  repr::SqlTime reserved_ = 0;
  std::uint64_t version_ = 0;
};

// catalog_codec.cc
std::string encode_entry(const CatalogEntry& entry);
Result<CatalogEntry> decode_entry(std::string_view bytes);

}  // namespace freshet::adapter
