// SPDX-License-Identifier: Apache-2.0
// SHOW of objects: rows made from the catalog snapshot, filtered like any others.
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"
#include "planner.h"

namespace freshet::sql {
namespace {

using What = ShowObjectsSyntax::What;
using repr::Datum;
using repr::TypeKind;

Datum text(std::string value) { return Datum(std::move(value)); }

bool shows(What what, const CatalogItem& item) {
  switch (what) {
    case What::kTables: return item.kind == ItemKind::kTable;
    case What::kSources: return item.kind == ItemKind::kSource;
    case What::kViews: return item.kind == ItemKind::kView;
    case What::kMaterializedViews: return item.kind == ItemKind::kMaterializedView;
    case What::kIndexes: return item.kind == ItemKind::kIndex;
    default: return true;
  }
}

std::string index_key(const CatalogItem& index, const CatalogItem* on) {
  std::string result;
  for (const HirScalarPtr& key : index.index_key) {
    const bool column = key->kind == HirScalar::Kind::kColumn && on != nullptr && key->index < on->desc.arity();
    result += (result.empty() ? "" : ",") + (column ? on->desc.names[key->index] : std::string("<expr>"));
  }
  return "{" + result + "}";
}

}  // namespace

Result<Plan::Node> Planner::constant_rows(std::vector<std::string> names, std::vector<repr::DatumRow> rows,
                                          const ShowObjectsSyntax& syntax) {
  BoundQuery query;
  query.names = std::move(names);
  std::vector<repr::ColumnType> types(query.names.size(), {TypeKind::kText, false});
  for (const repr::DatumRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) types[i].nullable = types[i].nullable || row[i].is_null();
  }
  query.relation = hir::constant(std::move(rows), types);
  Scope scope;
  for (std::size_t i = 0; i < types.size(); ++i) scope.columns.push_back({"", query.names[i], types[i], i});
  const Chain chain{.scope = &scope};
  const ExprContext context{.chain = &chain, .clause = "WHERE"};
  if (syntax.like) {
    HirScalarPtr matches = FRESHET_TRY(
        binder_.typing().binary("~~", hir::column(0, 0, types[0]), hir::text(*syntax.like), -1));
    query.relation = hir::filter(query.relation, {std::move(matches)});
  }
  if (syntax.where) {
    const PgQuery__SelectStmt& wrapper = *syntax.where->root().select_stmt;
    if (wrapper.n_target_list != 1 || wrapper.n_from_clause > 0) {
      return fail(error_at(sqlstate::kSyntaxError, "WHERE takes one expression", -1));
    }
    const HirScalarPtr predicate = FRESHET_TRY(binder_.typing().coerce_to_boolean(
        binder_.expression(wrapper.target_list[0]->res_target->val, context), "WHERE"));
    query.relation = hir::filter(query.relation, {predicate});
  }
  for (std::size_t i = 0; i < types.size(); ++i) query.order.push_back({.column = i});
  if (syntax.what == What::kColumns) {
    // In their order in the relation, whose number stands behind what is shown.
    query.order.assign(1, {.column = query.names.size() - 1});
    query.names.pop_back();
  }
  return Plan::Node(FRESHET_TRY(select_plan(query)));
}

Result<Plan::Node> Planner::show_create(const ShowObjectsSyntax& syntax) {
  const CatalogItem* item = binder_.find_item(*syntax.from);
  if (item == nullptr) return fail(binder_.no_such_relation(*syntax.from));
  if (to_string(item->kind) != syntax.create_kind) {
    return fail(error_at(sqlstate::kWrongObjectType, "\"" + item->name.item + "\" is not a " + syntax.create_kind,
                         syntax.from->location));
  }
  std::vector<repr::DatumRow> rows;
  rows.push_back({text(to_string(item->name)), text(item->create_sql)});
  return constant_rows({"name", "create_sql"}, std::move(rows), syntax);
}

Result<Plan::Node> Planner::show_objects() {
  const ShowObjectsSyntax& syntax = *body_.as<ShowObjectsSyntax>();
  std::vector<repr::DatumRow> rows;
  if (syntax.what == What::kCreate) return show_create(syntax);
  if (syntax.what == What::kDatabases) {
    for (const std::string& name : catalog_.databases()) rows.push_back({text(name)});
    return constant_rows({"name"}, std::move(rows), syntax);
  }
  if (syntax.what == What::kColumns) {
    const CatalogItem* item = FRESHET_TRY(binder_.relation_item(*syntax.from));
    for (std::size_t i = 0; i < item->desc.arity(); ++i) {
      const repr::ColumnType& type = item->desc.type.columns[i];
      const std::string number = std::to_string(i);
      rows.push_back({text(item->desc.names[i]), text(type.nullable ? "true" : "false"), text(repr::to_string(type.type)),
                      text(std::string(8 - std::min<std::size_t>(8, number.size()), '0') + number)});
    }
    return constant_rows({"name", "nullable", "type", "position"}, std::move(rows), syntax);
  }
  std::string database = settings_.database;
  if (syntax.what == What::kSchemas) {
    if (syntax.from) database = syntax.from->parts.back();
    if (!catalog_.has_database(database)) {
      return fail(sqlstate::kInvalidCatalogName, "database \"" + database + "\" does not exist");
    }
    for (const std::string& name : catalog_.schemas(database)) rows.push_back({text(name)});
    return constant_rows({"name"}, std::move(rows), syntax);
  }
  std::vector<std::pair<std::string, std::string>> places;  // database, schema
  if (syntax.from) {
    if (syntax.from->parts.size() > 1) database = syntax.from->parts[0];
    const std::string& schema = syntax.from->parts.back();
    const bool system = std::ranges::find(kSystemSchemas, schema) != std::end(kSystemSchemas);
    if (!catalog_.has_schema(system ? "" : database, schema)) {
      return fail(sqlstate::kInvalidSchemaName, "schema \"" + schema + "\" does not exist");
    }
    places.emplace_back(system ? "" : database, schema);
  } else {
    for (const std::string& schema : settings_.search_path) {
      if (catalog_.has_schema(database, schema)) places.emplace_back(database, schema);
    }
  }
  const CatalogItem* on = nullptr;
  if (syntax.on) on = FRESHET_TRY(binder_.relation_item(*syntax.on));
  if (on != nullptr) places.assign(1, {on->name.database, on->name.schema});
  for (const auto& [db, schema] : places) {
    for (const CatalogItem* item : catalog_.items(db, schema)) {
      if (!shows(syntax.what, *item)) continue;
      if (syntax.what == What::kIndexes) {
        if (on != nullptr && item->index_on != on->id) continue;
        const CatalogItem* indexed = item->index_on ? catalog_.item(*item->index_on) : nullptr;
        rows.push_back({text(item->name.item), indexed != nullptr ? text(indexed->name.item) : Datum(),
                        text(index_key(*item, indexed))});
      } else if (syntax.what == What::kObjects) {
        rows.push_back({text(item->name.item), text(std::string(to_string(item->kind)))});
      } else {
        rows.push_back({text(item->name.item)});
      }
    }
  }
  if (syntax.what == What::kIndexes) return constant_rows({"name", "on", "key"}, std::move(rows), syntax);
  if (syntax.what == What::kObjects) return constant_rows({"name", "type"}, std::move(rows), syntax);
  return constant_rows({"name"}, std::move(rows), syntax);
}

}  // namespace freshet::sql
