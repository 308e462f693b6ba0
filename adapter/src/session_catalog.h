// SPDX-License-Identifier: Apache-2.0
/// A catalog snapshot as one session sees it: with its settings.
#pragma once

#include "catalog.h"
#include "variables.h"

namespace freshet::adapter {

class SessionCatalog final : public sql::CatalogView {
 public:
  SessionCatalog(const Catalog& catalog, const Variables& variables)
      : catalog_(catalog), variables_(variables) {}

  bool has_database(std::string_view database) const override { return catalog_.has_database(database); }
  bool has_schema(std::string_view database, std::string_view schema) const override {
    return catalog_.has_schema(database, schema);
  }
  const sql::CatalogItem* find(const sql::ItemName& name) const override { return catalog_.find(name); }
  const sql::CatalogItem* item(GlobalId id) const override { return catalog_.item(id); }
  std::vector<std::string> databases() const override { return catalog_.databases(); }
  std::vector<std::string> schemas(std::string_view database) const override { return catalog_.schemas(database); }
  std::vector<const sql::CatalogItem*> items(std::string_view database, std::string_view schema) const override {
    return catalog_.items(database, schema);
  }
  std::vector<GlobalId> dependents(GlobalId id) const override { return catalog_.dependents(id); }
  std::optional<std::string> setting(std::string_view name) const override {
    auto value = variables_.get(name);
    if (!value) return std::nullopt;
    return std::move(*value);
  }

 private:
  const Catalog& catalog_;
  const Variables& variables_;
};

}  // namespace freshet::adapter
