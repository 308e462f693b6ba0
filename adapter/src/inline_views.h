// SPDX-License-Identifier: Apache-2.0
/// Replaces what a query names by what can be read: views by their definitions, system relations by rows.
#pragma once

#include <functional>
#include <map>

#include "catalog.h"

namespace freshet::adapter {

struct InlineOptions {
  /// True for an object whose own rows or index should be read, not its definition.
  std::function<bool(const CatalogEntry&)> keep{};
  /// Rows (of the object's columns) a transaction has written and not committed; added to what is read.
  const std::map<GlobalId, storage_api::CollectionUpdates>* overlay = nullptr;
  Viewer viewer{};
  bool maintained = false;  ///< What is kept up to date cannot read the system's relations: 0A000.
};

/// A relation over importable ids only: storage collections, and views that `keep` says to read by index.
Result<expr::Relation> inline_views(const expr::Relation& relation, const Catalog& catalog,
                                    const InlineOptions& options);

/// The storage collections that an object's content is computed from, itself if it is one.
std::set<GlobalId> base_collections(const Catalog& catalog, const std::set<GlobalId>& ids);
/// The user tables behind `ids`, also behind materialized views; `only_tables` is set to false if there is
/// something else behind them (a source).
std::set<GlobalId> base_tables(const Catalog& catalog, const std::set<GlobalId>& ids, bool& only_tables);

/// `ids` and all that their content is computed from, directly or not.
std::set<GlobalId> all_behind(const Catalog& catalog, const std::set<GlobalId>& ids);

}  // namespace freshet::adapter
