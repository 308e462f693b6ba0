// SPDX-License-Identifier: Apache-2.0
#include "catalog.h"

#include <catch2/catch.hpp>

#include <freshet/base/sqlstate.h>

namespace freshet::adapter {
namespace {

CatalogEntry view(const Catalog& catalog, const std::string& schema, const std::string& name,
                  std::set<GlobalId> depends_on = {}) {
  CatalogEntry entry;
  entry.item.id = {GlobalId::Kind::kUser, catalog.next_id()};
  entry.item.oid = catalog.next_oid();
  entry.item.kind = sql::ItemKind::kView;
  entry.item.name = {"materialize", schema, name};
  entry.depends_on = std::move(depends_on);
  return entry;
}

CatalogPtr after(const CatalogPtr& catalog, CatalogChange change) {
  if (!change.put_items.empty()) change.next_id = catalog->next_id() + 1;
  return catalog->apply(change).value().first;
}

base::SqlState refusal(const CatalogPtr& catalog, const CatalogChange& change) {
  const auto applied = catalog->apply(change);
  return applied ? base::SqlState() : applied.error().sqlstate;
}

// A statement decides by the catalog it was planned with, another may have come first: each of these changes was
// right when it was planned.
TEST_CASE("catalog: a change that would leave something dangling is an error", "[adapter]") {
  namespace state = base::sqlstate;
  const auto system = std::make_shared<const std::vector<SystemRelation>>();
  const auto first = std::make_shared<const Catalog>(system);
  CatalogPtr catalog = after(first, first->initial_change());
  catalog = after(catalog, {.put_schemas = {{"materialize", "s", 1}}});
  const CatalogEntry base_view = view(*catalog, "s", "v");
  catalog = after(catalog, {.put_items = {base_view}});
  catalog = after(catalog, {.put_items = {view(*catalog, "public", "w", {base_view.id()})}});
  const GlobalId unknown{GlobalId::Kind::kUser, 99};

  CHECK(refusal(catalog, {.drop_items = {unknown}}) == state::kUndefinedTable);
  CHECK(refusal(catalog, {.drop_items = {base_view.id()}}) == state::kDependentObjectsStillExist);
  CHECK(refusal(catalog, {.drop_schemas = {{"materialize", "none"}}}) == state::kInvalidSchemaName);
  CHECK(refusal(catalog, {.drop_schemas = {{"materialize", "s"}}}) == state::kDependentObjectsStillExist);
  CHECK(refusal(catalog, {.drop_databases = {"none"}}) == state::kInvalidCatalogName);
  CHECK(refusal(catalog, {.drop_databases = {"materialize"}}) == state::kDependentObjectsStillExist);
  CHECK(refusal(catalog, {.put_schemas = {{"none", "s", 7}}}) == state::kInvalidCatalogName);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "none", "x")}}) == state::kInvalidSchemaName);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "s", "v")}}) == state::kDuplicateTable);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "s", "x", {unknown})}}) == state::kUndefinedTable);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "s", "x", {base_view.id()})}}) == base::SqlState());
}

}  // namespace
}  // namespace freshet::adapter
