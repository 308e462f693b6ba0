// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "planner.h"

namespace freshet::sql {
namespace {

ItemKind item_kind(DropSyntax::What what) {
  switch (what) {
    case DropSyntax::What::kSource: return ItemKind::kSource;
    case DropSyntax::What::kView: return ItemKind::kView;
    case DropSyntax::What::kMaterializedView: return ItemKind::kMaterializedView;
    case DropSyntax::What::kIndex: return ItemKind::kIndex;
    default: return ItemKind::kTable;
  }
}

std::string shown(const CatalogItem& item) { return std::string(to_string(item.kind)) + " " + item.name.item; }

bool contains(const std::vector<expr::GlobalId>& ids, expr::GlobalId id) { return std::ranges::find(ids, id) != ids.end(); }

}  // namespace

// Adds `id` behind everything that depends on it. Indexes and a source's outputs go with what they belong to.
Result<void> Planner::collect_dependents(expr::GlobalId id, DropWork& work) {
  if (contains(work.ids, id) || contains(work.visiting, id)) return {};
  work.visiting.push_back(id);
  const CatalogItem* item = catalog_.item(id);
  for (expr::GlobalId dependent : catalog_.dependents(id)) {
    const CatalogItem* other = catalog_.item(dependent);
    if (other == nullptr || contains(work.ids, dependent)) continue;
    const bool belongs = other->kind == ItemKind::kIndex || other->part_of == id;
    const bool named = contains(work.named, dependent);
    if (!belongs && !named) {
      work.blockers.push_back(shown(*other) + " depends on " + (item != nullptr ? shown(*item) : to_string(id)));
      work.cascaded.push_back(shown(*other));
    }
    FRESHET_TRY(collect_dependents(dependent, work));
  }
  work.ids.push_back(id);
  return {};
}

Result<void> Planner::settle_drop(DropWork& work, bool cascade, const std::string& what) {
  if (work.blockers.empty()) return {};
  if (!cascade) {
    Error error = sql_error(sqlstate::kDependentObjectsStillExist,
                            "cannot drop " + what + " because other objects depend on it");
    for (const std::string& blocker : work.blockers) error.detail += (error.detail.empty() ? "" : "\n") + blocker;
    error.hint = "Use DROP ... CASCADE to drop the dependent objects too.";
    return fail(std::move(error));
  }
  if (work.cascaded.size() == 1) {
    notices_.push_back("drop cascades to " + work.cascaded.front());
  } else {
    notices_.push_back("drop cascades to " + std::to_string(work.cascaded.size()) + " other objects");
  }
  return {};
}

Result<Plan::Node> Planner::drop() {
  const DropSyntax& syntax = *body_.as<DropSyntax>();
  if (syntax.what == DropSyntax::What::kSchema) return drop_schema(syntax);
  if (syntax.what == DropSyntax::What::kDatabase) return drop_database(syntax);
  DropItemsPlan plan{.kind = item_kind(syntax.what)};
  const std::string kind(to_string(plan.kind));
  DropWork work;
  for (const NameParts& name : syntax.names) {
    const CatalogItem* item = binder_.find_item(name);
    if (item == nullptr) {
      const std::string message = kind + " \"" + name.parts.back() + "\" does not exist";
      if (!syntax.if_exists) {
        const SqlState state = plan.kind == ItemKind::kIndex ? sqlstate::kUndefinedObject : sqlstate::kUndefinedTable;
        Error error = sql_error(state, message);
        error.hint = binder_.no_such_relation(name).hint;
        return fail(std::move(error));
      }
      notices_.push_back(message + ", skipping");
      continue;
    }
    if (item->kind != plan.kind) {
      Error error = sql_error(sqlstate::kWrongObjectType, "\"" + item->name.item + "\" is not a" +
                                                              (plan.kind == ItemKind::kIndex ? "n " : " ") + kind);
      std::string command(to_string(item->kind));
      for (char& c : command) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      error.hint = "Use DROP " + command + " to remove a " + std::string(to_string(item->kind)) + ".";
      return fail(std::move(error));
    }
    if (item->id.kind == expr::GlobalId::Kind::kSystem) {
      return fail(SqlState("42501"), "permission denied: \"" + item->name.item + "\" is a system catalog");
    }
    if (item->part_of) {
      const CatalogItem* source = catalog_.item(*item->part_of);
      Error error = sql_error(sqlstate::kDependentObjectsStillExist,
                              "cannot drop " + kind + " " + item->name.item + " because a source writes it");
      if (source != nullptr) error.hint = "You can drop source " + source->name.item + " instead.";
      return fail(std::move(error));
    }
    work.named.push_back(item->id);
  }
  for (expr::GlobalId id : work.named) FRESHET_TRY(collect_dependents(id, work));
  const std::string what = work.named.size() == 1 ? shown(*catalog_.item(work.named.front())) : "desired object(s)";
  FRESHET_TRY(settle_drop(work, syntax.cascade, what));
  plan.ids = std::move(work.ids);
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::drop_schema(const DropSyntax& syntax) {
  DropSchemaPlan plan;
  DropWork work;
  for (const NameParts& name : syntax.names) {
    const std::string database = name.parts.size() == 2 ? name.parts[0] : settings_.database;
    const std::string& schema = name.parts.back();
    if (!plan.database.empty() && plan.database != database) {
      return fail(unsupported("dropping schemas of several databases at once is", name.location));
    }
    plan.database = database;
    if (std::ranges::find(kSystemSchemas, schema) != std::end(kSystemSchemas)) {
      return fail(sqlstate::kDependentObjectsStillExist,
                  "cannot drop schema " + schema + " because it is required by the database system");
    }
    if (!catalog_.has_schema(database, schema)) {
      const std::string message = "schema \"" + schema + "\" does not exist";
      if (!syntax.if_exists) return fail(sqlstate::kInvalidSchemaName, message);
      notices_.push_back(message + ", skipping");
      continue;
    }
    plan.schemas.push_back(schema);
    for (const CatalogItem* item : catalog_.items(database, schema)) {
      if (item->kind != ItemKind::kIndex && !item->part_of) {
        work.blockers.push_back(shown(*item) + " depends on schema " + schema);
        work.cascaded.push_back(shown(*item));
      }
      work.named.push_back(item->id);
    }
  }
  for (expr::GlobalId id : work.named) FRESHET_TRY(collect_dependents(id, work));
  const std::string what = plan.schemas.size() == 1 ? "schema " + plan.schemas.front() : "desired object(s)";
  FRESHET_TRY(settle_drop(work, syntax.cascade, what));
  plan.ids = std::move(work.ids);
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::drop_database(const DropSyntax& syntax) {
  DropDatabasePlan plan;
  if (syntax.names.size() != 1 || syntax.names[0].parts.size() != 1) {
    return fail(error_at(sqlstate::kSyntaxError, "DROP DATABASE takes one plain name", syntax.names[0].location));
  }
  const std::string& database = syntax.names[0].parts[0];
  if (!catalog_.has_database(database)) {
    const std::string message = "database \"" + database + "\" does not exist";
    if (!syntax.if_exists) return fail(sqlstate::kInvalidCatalogName, message);
    notices_.push_back(message + ", skipping");
    return Plan::Node(std::move(plan));
  }
  if (database == settings_.database) {
    return fail(sqlstate::kObjectInUse, "cannot drop the currently open database");
  }
  DropWork work;
  for (const std::string& schema : catalog_.schemas(database)) {
    for (const CatalogItem* item : catalog_.items(database, schema)) work.named.push_back(item->id);
  }
  for (expr::GlobalId id : work.named) FRESHET_TRY(collect_dependents(id, work));
  // Objects of the database go with it; those of another database that read them stop it.
  if (syntax.restrict && !work.ids.empty()) {
    return fail(sqlstate::kDependentObjectsStillExist, "cannot drop database " + database + " because it is not empty");
  }
  FRESHET_TRY(settle_drop(work, syntax.cascade, "database " + database));
  plan.database = database;
  plan.ids = std::move(work.ids);
  return Plan::Node(std::move(plan));
}

}  // namespace freshet::sql
