// SPDX-License-Identifier: Apache-2.0
/// `CatalogView`: what the planner asks of the catalog, an immutable snapshot that the adapter implements.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/expr/id.h>
#include <freshet/repr/types.h>
#include <freshet/sql/hir.h>
#include <freshet/sql/interrupt.h>

namespace freshet::sql {

/// A fully qualified name. System schemas (pg_catalog, …) are in every database; theirs is empty.
struct ItemName {
  std::string database;
  std::string schema;
  std::string item;
  friend auto operator<=>(const ItemName&, const ItemName&) = default;
};
/// "database.schema.item"
std::string to_string(const ItemName& name);
inline std::ostream& operator<<(std::ostream& out, const ItemName& name) { return out << to_string(name); }

enum class ItemKind : std::uint8_t { kTable = 1, kSource = 2, kView = 3, kMaterializedView = 4, kIndex = 5 };
/// "table", "materialized view": as error messages say it.
std::string_view to_string(ItemKind kind);

struct CatalogItem {
  expr::GlobalId id;
  std::uint32_t oid = 0;
  ItemKind kind = ItemKind::kTable;
  ItemName name;
  repr::RelationDesc desc{};  ///< Empty for an index.
  /// Tables: one per column, null where there is none.
  std::vector<HirScalarPtr> defaults{};
  /// Only COPY and INSERT into user tables write; system tables and source outputs do not.
  bool writable = false;
  std::optional<expr::GlobalId> index_on{};      ///< Indexes.
  std::vector<HirScalarPtr> index_key{};         ///< Indexes.
  std::optional<expr::GlobalId> part_of{};       ///< A source's output: the source.
  std::string create_sql{};                      ///< What SHOW CREATE shows.
  std::string definition_sql{};                  ///< What pg_get_viewdef, pg_get_indexdef show.
  std::optional<std::uint64_t> retain_history_micros{};
};

class CatalogView {
 public:
  virtual ~CatalogView() = default;
  [[nodiscard]] virtual bool has_database(std::string_view database) const = 0;
  /// With an empty database: system schemas.
  [[nodiscard]] virtual bool has_schema(std::string_view database, std::string_view schema) const = 0;
  /// Null if there is none. Pointers live as long as the view.
  [[nodiscard]] virtual const CatalogItem* find(const ItemName& name) const = 0;
  [[nodiscard]] virtual const CatalogItem* item(expr::GlobalId id) const = 0;
  /// In name order.
  [[nodiscard]] virtual std::vector<std::string> databases() const = 0;
  [[nodiscard]] virtual std::vector<std::string> schemas(std::string_view database) const = 0;
  /// Items of one schema in name order, indexes included.
  [[nodiscard]] virtual std::vector<const CatalogItem*> items(std::string_view database,
                                                              std::string_view schema) const = 0;
  /// Items that read or belong to `id` directly: views, indexes, outputs of a source.
  [[nodiscard]] virtual std::vector<expr::GlobalId> dependents(expr::GlobalId id) const = 0;
  /// The one role that owns all there is: what pg_get_userbyid shows.
  [[nodiscard]] virtual std::string owner() const { return "materialize"; }
  /// The value of a session or server variable (lower case), for current_setting().
  [[nodiscard]] virtual std::optional<std::string> setting(std::string_view) const { return std::nullopt; }
};

/// What of the session matters to planning.
struct SessionSettings {
  std::string database = "materialize";
  /// Before these, pg_catalog is searched, unless it is named here; mz_catalog and mz_internal too.
  std::vector<std::string> search_path{"public"};
  std::string user = "materialize";
  std::string time_zone = "UTC";
  Interrupt interrupt{};
};

/// System schemas in the order in which they are searched.
inline constexpr std::string_view kSystemSchemas[] = {"pg_catalog", "mz_catalog", "mz_internal",
                                                      "mz_introspection", "information_schema"};

/// A catalog in memory, for tests and for tools that plan without a server.
class MemoryCatalog final : public CatalogView {
 public:
  MemoryCatalog();
  void add_database(std::string name);
  void add_schema(std::string database, std::string schema);
  /// Returns the id given to it if `item.id.number` is 0. Replaces an item of that name.
  expr::GlobalId add(CatalogItem item);
  void add_dependency(expr::GlobalId item, expr::GlobalId on);
  void remove(expr::GlobalId id);

  bool has_database(std::string_view database) const override;
  bool has_schema(std::string_view database, std::string_view schema) const override;
  const CatalogItem* find(const ItemName& name) const override;
  const CatalogItem* item(expr::GlobalId id) const override;
  std::vector<std::string> databases() const override;
  std::vector<std::string> schemas(std::string_view database) const override;
  std::vector<const CatalogItem*> items(std::string_view database, std::string_view schema) const override;
  std::vector<expr::GlobalId> dependents(expr::GlobalId id) const override;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> databases_{};
  std::map<ItemName, CatalogItem> items_{};
  std::map<expr::GlobalId, ItemName> names_{};
  std::map<expr::GlobalId, std::vector<expr::GlobalId>> dependents_{};
  std::uint64_t next_ = 1;
};

}  // namespace freshet::sql
