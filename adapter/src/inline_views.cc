// SPDX-License-Identifier: Apache-2.0
#include "inline_views.h"

#include <freshet/base/sqlstate.h>
#include <freshet/repr/row.h>
#include <freshet/repr/sql_types.h>

namespace freshet::adapter {
namespace {

using expr::LocalId;
using expr::Relation;

/// A relation with copies of its views has at most this many nodes; beyond it, what is mentioned more than once is
/// computed once. Copies let each mention be planned for itself, and their number may double with each level of views.
constexpr std::uint64_t kMostCopied = 4096;

class Inliner {
 public:
  Inliner(const Catalog& catalog, const InlineOptions& options)
      : catalog_(catalog), options_(options) {}

  Result<Relation> apply(const Relation& relation) {
    std::optional<Error> failure;
    share_ = size_with_copies(relation) > kMostCopied;
    Relation result = rewrite(relation, failure, {});
    // Definitions refer to no local id from outside: all may stand outermost, the first made first.
    for (auto let = shared_.rbegin(); let != shared_.rend(); ++let) {
      result = Relation::let(let->first, std::move(let->second), std::move(result));
    }
    if (failure) return fail(std::move(*failure));
    return result;
  }

 private:
  using Renames = std::map<LocalId, LocalId>;

  /// A view whose definition takes its place, here or at the top.
  struct Use {
    std::uint64_t size = 0;  ///< With copies of all that it mentions.
    std::uint64_t mentions = 0;
    std::optional<LocalId> bound{};
  };

  // Also counts how often each view is mentioned, by the query and by definitions.
  std::uint64_t size_with_copies(const Relation& relation) {
    std::uint64_t size = 1;
    if (const auto* get = relation.as<Relation::Get>()) {
      const auto* id = std::get_if<GlobalId>(&get->id);
      const CatalogEntry* view = id == nullptr ? nullptr : definition(*id);
      if (view == nullptr) return size;
      const auto [use, is_new] = uses_.try_emplace(*id);
      ++use->second.mentions;
      if (is_new) use->second.size = size_with_copies(*view->relation);  // iterators of a map stay
      return use->second.size;
    }
    for (const Relation& child : relation.children()) {
      const std::uint64_t more = size_with_copies(child);
      size = more > UINT64_MAX - size ? UINT64_MAX : size + more;
    }
    return size;
  }

  // The entry if its definition is to be read in its place.
  [[nodiscard]] const CatalogEntry* definition(GlobalId id) const {
    const CatalogEntry* entry = catalog_.entry(id);
    if (entry == nullptr) return nullptr;
    const bool stored = entry->is_collection() && (!entry->relation || options_.overlay == nullptr);
    if (stored || (options_.keep && options_.overlay == nullptr && options_.keep(*entry))) return nullptr;
    return entry;
  }

  // Local ids are renumbered on the way, because a view may be copied.
  Relation rewrite(const Relation& relation, std::optional<Error>& failure, const Renames& renames) {
    if (failure) return relation;
    if (const auto* get = relation.as<Relation::Get>()) {
      if (const auto* local = std::get_if<LocalId>(&get->id)) {
        auto it = renames.find(*local);
        return Relation::get(it == renames.end() ? *local : it->second, relation.type());
      }
      return resolve(std::get<GlobalId>(get->id), relation, failure);
    }
    if (const auto* let = relation.as<Relation::Let>()) {
      const LocalId fresh{next_local_++};
      Renames inner = renames;
      inner[let->id] = fresh;
      Relation value = rewrite(let->parts[0], failure, renames);
      return Relation::let(fresh, std::move(value), rewrite(let->parts[1], failure, inner));
    }
    if (const auto* rec = relation.as<Relation::LetRec>()) {
      Renames inner = renames;
      std::vector<LocalId> ids;
      for (const LocalId id : rec->ids) ids.push_back(inner[id] = LocalId{next_local_++});
      std::vector<Relation> values;
      for (std::size_t i = 0; i + 1 < rec->parts.size(); ++i) {
        values.push_back(rewrite(rec->parts[i], failure, inner));
      }
      Relation body = rewrite(rec->parts.back(), failure, inner);
      return Relation::let_rec(std::move(ids), std::move(values), std::move(body), rec->limit,
                               rec->return_at_limit);
    }
    if (relation.children().empty()) return relation;
    std::vector<Relation> children;
    for (const Relation& child : relation.children()) {
      children.push_back(rewrite(child, failure, renames));
    }
    return relation.with_children(std::move(children));
  }

  Relation resolve(GlobalId id, const Relation& get, std::optional<Error>& failure) {
    if (const SystemRelation* system = catalog_.system_relation(id)) {
      if (options_.maintained) {
        failure = sql_error(sqlstate::kFeatureNotSupported,
                            "what is kept up to date cannot read the system catalog (" + system->item.name.item + ")");
        failure->hint = "Query it directly, or through a view that is neither materialized nor indexed.";
        return get;
      }
      std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
      for (repr::DatumRow& row : system->rows({catalog_, options_.viewer})) rows.emplace_back(std::move(row), 1);
      return Relation::constant(std::move(rows), get.type());
    }
    if (catalog_.entry(id) == nullptr) {
      failure = sql_error(sqlstate::kUndefinedTable, "an object that the statement uses was dropped");
      return get;
    }
    const CatalogEntry* view = definition(id);
    if (view == nullptr) return with_overlay(id, get, failure);
    Use& use = uses_.at(id);
    if (!share_ || use.mentions == 1) return rewrite(*view->relation, failure, {});
    if (!use.bound) {
      Relation value = rewrite(*view->relation, failure, {});
      use.bound = LocalId{next_local_++};
      shared_.emplace_back(*use.bound, std::move(value));
    }
    return Relation::get(*use.bound, view->relation->type());
  }

  Relation with_overlay(GlobalId id, const Relation& get, std::optional<Error>& failure) {
    if (options_.overlay == nullptr) return get;
    auto written = options_.overlay->find(id);
    if (written == options_.overlay->end()) return get;
    const repr::RowCodec codec(repr::sql_types(get.type().columns));
    std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
    const storage_api::EncodedUpdates& updates = written->second.oks;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      auto row = codec.decode_row(updates.rows[i]);
      if (!row) {
        failure = row.error();
        return get;
      }
      rows.emplace_back(std::move(*row), updates.diff(i));
    }
    repr::RelationType type = get.type();
    type.keys.clear();
    return Relation::union_all({get, Relation::constant(std::move(rows), std::move(type))});
  }

  const Catalog& catalog_;
  const InlineOptions& options_;
  std::uint64_t next_local_ = 1;
  bool share_ = false;
  std::map<GlobalId, Use> uses_{};
  std::vector<std::pair<LocalId, Relation>> shared_{};
};

template <typename Visit>
void walk(const Catalog& catalog, const std::set<GlobalId>& ids, Visit visit) {
  std::vector<GlobalId> todo(ids.begin(), ids.end());
  std::set<GlobalId> seen;
  while (!todo.empty()) {
    const GlobalId id = todo.back();
    todo.pop_back();
    if (!seen.insert(id).second) continue;
    const CatalogEntry* entry = catalog.entry(id);
    if (entry == nullptr) continue;
    if (visit(*entry)) todo.insert(todo.end(), entry->depends_on.begin(), entry->depends_on.end());
  }
}

}  // namespace

Result<Relation> inline_views(const Relation& relation, const Catalog& catalog,
                              const InlineOptions& options) {
  return Inliner(catalog, options).apply(relation);
}

std::set<GlobalId> base_collections(const Catalog& catalog, const std::set<GlobalId>& ids) {
  std::set<GlobalId> found;
  walk(catalog, ids, [&](const CatalogEntry& entry) {
    if (entry.is_collection()) found.insert(entry.id());
    return !entry.is_collection();
  });
  return found;
}

std::set<GlobalId> base_tables(const Catalog& catalog, const std::set<GlobalId>& ids,
                               bool& only_tables) {
  std::set<GlobalId> found;
  only_tables = true;
  walk(catalog, ids, [&](const CatalogEntry& entry) {
    if (entry.item.kind == sql::ItemKind::kTable) found.insert(entry.id());
    if (entry.item.kind == sql::ItemKind::kSource) only_tables = false;
    return entry.query.has_value();
  });
  return found;
}

std::set<GlobalId> all_behind(const Catalog& catalog, const std::set<GlobalId>& ids) {
  std::set<GlobalId> found = ids;
  walk(catalog, ids, [&](const CatalogEntry& entry) {
    found.insert(entry.id());
    return true;
  });
  return found;
}

}  // namespace freshet::adapter
