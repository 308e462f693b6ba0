// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "catalog_writer.h"
#include "inline_views.h"
#include "session_state.h"

namespace freshet::adapter {
namespace {

using sql::ItemKind;

Result<void> check_free(const Catalog& catalog, const sql::ItemName& name) {
  if (!catalog.has_schema(name.database, name.schema)) {
    return fail(sqlstate::kInvalidSchemaName, "schema \"" + name.schema + "\" does not exist");
  }
  if (catalog.find(name) != nullptr) {
    return fail(sqlstate::kDuplicateTable, "relation \"" + name.item + "\" already exists");
  }
  return {};
}

Result<void> check_present(const Catalog& catalog, const std::set<GlobalId>& ids) {
  for (const GlobalId id : ids) {
    if (catalog.item(id) == nullptr) {
      return fail(sqlstate::kUndefinedTable, "an object that the statement uses was dropped");
    }
  }
  return {};
}

/// What an OR REPLACE takes the place of: whatever has the name now, which may no longer be what it was when the
/// statement was planned. Null if nothing has.
Result<EntryPtr> replaceable(const Catalog& catalog, const sql::CreateViewPlan& plan) {
  const sql::CatalogItem* item = catalog.find(plan.name);
  if (item == nullptr) {
    FRESHET_TRY(check_free(catalog, plan.name));
    return EntryPtr();
  }
  const ItemKind wanted = plan.materialized ? ItemKind::kMaterializedView : ItemKind::kView;
  const std::string kind(to_string(wanted));
  if (item->kind != wanted) {
    return fail(sqlstate::kWrongObjectType, "\"" + plan.name.item + "\" is not a " + kind);
  }
  const auto& dependents = catalog.dependents(item->id);
  if (!dependents.empty()) {
    Error error = sql_error(sqlstate::kDependentObjectsStillExist,
                            "cannot replace " + kind + " " + plan.name.item + " because other objects depend on it");
    for (const GlobalId id : dependents) {
      const sql::CatalogItem& other = *catalog.item(id);
      error.detail += (error.detail.empty() ? "" : "\n") + std::string(to_string(other.kind)) + " " + other.name.item +
                      " depends on " + kind + " " + plan.name.item;
    }
    error.hint = "Drop it with DROP " + std::string(plan.materialized ? "MATERIALIZED VIEW" : "VIEW") +
                 " … CASCADE, then create it and them again.";
    return fail(std::move(error));
  }
  return catalog.entries().find(item->id)->second;
}

/// Hands out ids and OIDs of one change.
class Numbers {
 public:
  Numbers(const Catalog& catalog, CatalogChange& change)
      : change_(change), id_(catalog.next_id()), oid_(catalog.next_oid()) {}
  GlobalId id() {
    change_.next_id = id_ + 1;
    return {GlobalId::Kind::kUser, id_++};
  }
  std::uint32_t oid() {
    change_.next_oid = oid_ + 1;
    return oid_++;
  }

 private:
  CatalogChange& change_;
  std::uint64_t id_;
  std::uint32_t oid_;
};

CatalogEntry make_entry(Numbers& numbers, ItemKind kind, sql::ItemName name,
                        repr::RelationDesc desc) {
  CatalogEntry entry;
  entry.item.id = numbers.id();
  entry.item.oid = numbers.oid();
  entry.item.kind = kind;
  entry.item.name = std::move(name);
  entry.item.desc = std::move(desc);
  return entry;
}

/// One DDL statement under way.
class Ddl : public std::enable_shared_from_this<Ddl> {
 public:
  Ddl(SessionPtr session, std::shared_ptr<const sql::Plan> plan, std::string tag)
      : session_(std::move(session)), services_(session_->services), plan_(std::move(plan)),
        tag_(std::move(tag)) {}

  Future<Outcome> run() {
    return std::visit([this](const auto& node) { return apply(node); }, plan_->node);
  }

 private:
  template <typename Node>
  Future<Outcome> apply(const Node&) {
    FRESHET_UNREACHABLE("not a definition");
  }

  Future<Outcome> done() { return Future<Outcome>::ready(Outcome(CommandDone{tag_})); }

  // IF NOT EXISTS: says so instead of failing.
  bool skip_existing(bool if_not_exists, const sql::ItemName& name) {
    if (!if_not_exists || services_.catalog.get()->find(name) == nullptr) return false;
    session_->notice("NOTICE", sqlstate::kDuplicateTable,
                     "relation \"" + name.item + "\" already exists, skipping");
    return true;
  }

  Future<Outcome> apply(const sql::CreateDatabasePlan& plan) {
    if (plan.if_not_exists && services_.catalog.get()->has_database(plan.name)) {
      session_->notice("NOTICE", sqlstate::kDuplicateDatabase,
                       "database \"" + plan.name + "\" already exists, skipping");
      return done();
    }
    return change([name = plan.name](const Catalog& catalog) -> Result<PlannedChange> {
      if (catalog.has_database(name)) {
        return fail(sqlstate::kDuplicateDatabase, "database \"" + name + "\" already exists");
      }
      PlannedChange planned;
      Numbers numbers(catalog, planned.catalog);
      planned.catalog.put_databases.push_back({name, numbers.oid()});
      planned.catalog.put_schemas.push_back({name, "public", numbers.oid()});
      return planned;
    });
  }

  Future<Outcome> apply(const sql::CreateSchemaPlan& plan) {
    if (plan.if_not_exists && services_.catalog.get()->has_schema(plan.database, plan.name)) {
      session_->notice("NOTICE", sqlstate::kDuplicateSchema,
                       "schema \"" + plan.name + "\" already exists, skipping");
      return done();
    }
    return change([plan](const Catalog& catalog) -> Result<PlannedChange> {
      if (!catalog.has_database(plan.database)) {
        return fail(sqlstate::kInvalidCatalogName, "database \"" + plan.database + "\" does not exist");
      }
      if (catalog.has_schema(plan.database, plan.name)) {
        return fail(sqlstate::kDuplicateSchema, "schema \"" + plan.name + "\" already exists");
      }
      PlannedChange planned;
      Numbers numbers(catalog, planned.catalog);
      planned.catalog.put_schemas.push_back({plan.database, plan.name, numbers.oid()});
      return planned;
    });
  }

  Future<Outcome> apply(const sql::CreateTablePlan& plan) {
    if (skip_existing(plan.if_not_exists, plan.name)) return done();
    return change([plan, holds = services_.holds.get()](const Catalog& catalog) -> Result<PlannedChange> {
      FRESHET_TRY(check_free(catalog, plan.name));
      PlannedChange planned;
      Numbers numbers(catalog, planned.catalog);
      CatalogEntry entry = make_entry(numbers, ItemKind::kTable, plan.name, plan.desc);
      entry.item.writable = true;
      entry.item.defaults = plan.defaults;
      entry.item.create_sql = plan.create_sql;
      entry.item.retain_history_micros = plan.retain_history_micros;
      entry.default_texts = plan.default_texts;
      planned.tables.create.emplace_back(entry.id(), plan.desc);
      planned.on_commit = [holds, id = entry.id(), retain = entry.retain_micros()](const CommittedChange& committed) {
        holds->add(id, committed.time, committed.time + 1, retain);
        return Future<Unit>::ready(Unit{});
      };
      planned.catalog.put_items.push_back(std::move(entry));
      return planned;
    });
  }

  Future<Outcome> apply(const sql::CreateViewPlan& plan) {
    if (skip_existing(plan.if_not_exists, plan.name)) return done();
    if (!plan.materialized) return change([plan](const Catalog& catalog) { return decide_view(plan, catalog); });
    return start_at(plan.depends_on).and_then(
        session_->strand, [self = shared_from_this(), plan](SqlTime as_of) {
          auto replaced = std::make_shared<EntryPtr>();
          auto decide = [self, plan, as_of, replaced](const Catalog& catalog) -> Result<PlannedChange> {
            PlannedChange planned = FRESHET_TRY(decide_view(plan, catalog));
            // What cannot be kept up to date is refused before anything is stored.
            FRESHET_TRY(self->services_.dataflows->check_maintained(plan.relation, catalog));
            if (!planned.catalog.drop_items.empty()) {
              *replaced = catalog.entries().at(planned.catalog.drop_items.front());
            }
            planned.on_commit = [self, as_of, id = planned.catalog.put_items.front().id()](
                                    const CommittedChange& committed) { return self->start_view(committed, id, as_of); };
            return planned;
          };
          return self->commit(std::move(decide)).and_then(self->session_->strand, [self, replaced](CommittedChange) {
            if (*replaced != nullptr) self->forget({*replaced});
            self->hold_.release();
            return Outcome(CommandDone{self->tag_});
          });
        });
  }

  static Result<PlannedChange> decide_view(const sql::CreateViewPlan& plan, const Catalog& catalog) {
    FRESHET_TRY(check_present(catalog, plan.depends_on));
    PlannedChange planned;
    if (plan.or_replace) {
      const EntryPtr replaced = FRESHET_TRY(replaceable(catalog, plan));
      if (replaced != nullptr) planned.catalog.drop_items.push_back(replaced->id());
    } else {
      FRESHET_TRY(check_free(catalog, plan.name));
    }
    Numbers numbers(catalog, planned.catalog);
    CatalogEntry entry = make_entry(numbers, plan.materialized ? ItemKind::kMaterializedView : ItemKind::kView,
                                    plan.name, plan.desc);
    entry.item.create_sql = plan.create_sql;
    entry.item.retain_history_micros = plan.retain_history_micros;
    entry.query = plan.query;
    entry.query_sql = plan.query_sql;
    entry.depends_on = plan.depends_on;
    planned.catalog.put_items.push_back(std::move(entry));
    return planned;
  }

  // The steps of a start run wherever a thread is free: the session may end meanwhile, the change is durable.
  Future<Unit> start_view(const CommittedChange& committed, GlobalId id, SqlTime as_of) {
    return services_.storage
        .send(committed.catalog->collection_of(*committed.catalog->entry(id), as_of))
        .and_then(services_.scheduler, [self = shared_from_this(), committed, id, as_of](Unit) -> Result<Unit> {
          const CatalogEntry& entry = *committed.catalog->entry(id);
          self->services_.holds->add(id, as_of, as_of, entry.retain_micros());
          FRESHET_TRY(self->services_.dataflows->start_view(entry, *committed.catalog, as_of));
          return Unit{};
        });
  }

  Future<Outcome> apply(const sql::CreateIndexPlan& plan) {
    if (skip_existing(plan.if_not_exists, plan.name)) return done();
    return start_at({plan.on}).and_then(session_->strand, [self = shared_from_this(), plan](SqlTime as_of) {
      auto decide = [self, plan, as_of](const Catalog& catalog) -> Result<PlannedChange> {
        PlannedChange planned = FRESHET_TRY(self->decide_index(plan, catalog));
        planned.on_commit = [self, as_of, id = planned.catalog.put_items.front().id()](const CommittedChange& committed) {
          return Future<Unit>::ready(self->start_index(*committed.catalog, id, as_of));
        };
        return planned;
      };
      return self->commit(std::move(decide)).and_then(self->session_->strand, [self](CommittedChange) {
        self->hold_.release();
        return Outcome(CommandDone{self->tag_});
      });
    });
  }

  Result<PlannedChange> decide_index(const sql::CreateIndexPlan& plan, const Catalog& catalog) {
    FRESHET_TRY(check_present(catalog, {plan.on}));
    FRESHET_TRY(check_free(catalog, plan.name));
    const CatalogEntry* on = catalog.entry(plan.on);
    if (on->relation && sql::has_session_values(*on->relation)) {
      return fail(sqlstate::kFeatureNotSupported, "cannot index a view that depends on now() or on the session");
    }
    if (on->relation) FRESHET_TRY(services_.dataflows->check_maintained(*on->relation, catalog));
    PlannedChange planned;
    Numbers numbers(catalog, planned.catalog);
    CatalogEntry entry = make_entry(numbers, ItemKind::kIndex, plan.name, {});
    entry.item.index_on = plan.on;
    entry.item.index_key = plan.key_hir;
    entry.item.create_sql = plan.create_sql;
    entry.item.retain_history_micros = plan.retain_history_micros;
    entry.depends_on = {plan.on};
    planned.catalog.put_items.push_back(std::move(entry));
    return planned;
  }

  Result<Unit> start_index(const Catalog& catalog, GlobalId id, SqlTime as_of) {
    const CatalogEntry& entry = *catalog.entry(id);
    services_.holds->add(id, as_of, as_of, entry.retain_micros());
    FRESHET_TRY(services_.dataflows->start_index(entry, catalog, as_of));
    return Unit{};
  }

  Future<Outcome> apply(const sql::CreateSourcePlan& plan) {
    if (skip_existing(plan.if_not_exists, plan.name)) return done();
    return change([self = shared_from_this(), plan](const Catalog& catalog) -> Result<PlannedChange> {
      std::vector<GlobalId> made;
      PlannedChange planned = FRESHET_TRY(decide_source(plan, catalog, made));
      planned.on_commit = [self, made](const CommittedChange& committed) {
        std::vector<EntryPtr> collections;
        for (const GlobalId id : made) collections.push_back(committed.catalog->entries().at(id));
        sort_for_creation(collections);
        return self->start_source(committed, std::move(collections), 0);
      };
      return planned;
    });
  }

  static storage_api::LoadGenerator generator_of(const sql::CreateSourcePlan& plan) {
    storage_api::LoadGenerator generator;
    const bool tpch = plan.generator == sql::CreateSourcePlan::Generator::kTpch;
    generator.kind = tpch ? storage_api::LoadGenerator::Kind::kTpch
                          : storage_api::LoadGenerator::Kind::kCounter;
    generator.scale_factor = plan.scale_factor;
    generator.tick_micros = plan.tick_micros.value_or(1'000'000);
    generator.seed = plan.seed;
    generator.max_cardinality = plan.max_cardinality;
    return generator;
  }

  // TPCH: the source, whose own rows are its progress, and a collection for each table. COUNTER: the source
  // is the counter itself, and its progress stands beside it.
  static Result<PlannedChange> decide_source(const sql::CreateSourcePlan& plan, const Catalog& catalog,
                                             std::vector<GlobalId>& made) {
    FRESHET_TRY(check_free(catalog, plan.name));
    PlannedChange planned;
    Numbers numbers(catalog, planned.catalog);
    const storage_api::LoadGenerator generator = generator_of(plan);
    auto outputs = storage_api::generator_outputs(generator);
    std::vector<CatalogEntry> entries;
    if (generator.kind == storage_api::LoadGenerator::Kind::kCounter) {
      CatalogEntry counter = make_entry(numbers, ItemKind::kSource, plan.name, outputs[0].second);
      sql::ItemName progress_name = plan.name;
      progress_name.item += "_progress";
      FRESHET_TRY(check_free(catalog, progress_name));
      CatalogEntry progress =
          make_entry(numbers, ItemKind::kSource, progress_name, storage_api::progress_desc());
      counter.item.create_sql = plan.create_sql;
      progress.item.part_of = counter.id();
      progress.depends_on = {counter.id()};
      progress.generator = generator;
      progress.outputs = {counter.id()};
      entries = {std::move(counter), std::move(progress)};
    } else {
      CatalogEntry source =
          make_entry(numbers, ItemKind::kSource, plan.name, storage_api::progress_desc());
      source.item.create_sql = plan.create_sql;
      source.generator = generator;
      std::map<std::string, sql::ItemName> chosen(plan.tables.begin(), plan.tables.end());
      std::vector<CatalogEntry> parts;
      for (auto& [name, desc] : outputs) {
        sql::ItemName item{plan.name.database, plan.name.schema, name};
        if (!plan.all_tables) {
          auto it = chosen.find(name);
          // A table that nobody asked for is generated all the same, and nobody can name it.
          item = it == chosen.end() ? sql::ItemName{plan.name.database, plan.name.schema, ""} : it->second;
          chosen.erase(name);
        }
        if (!item.item.empty()) FRESHET_TRY(check_free(catalog, item));
        CatalogEntry part = make_entry(numbers, ItemKind::kSource, item, desc);
        part.item.part_of = source.id();
        part.depends_on = {source.id()};
        source.outputs.push_back(part.id());
        parts.push_back(std::move(part));
      }
      if (!chosen.empty()) {
        return fail(sqlstate::kUndefinedTable,
                    "the generator has no table \"" + chosen.begin()->first + "\"");
      }
      entries.push_back(std::move(source));
      for (CatalogEntry& part : parts) entries.push_back(std::move(part));
    }
    for (CatalogEntry& entry : entries) {
      entry.item.retain_history_micros = plan.retain_history_micros;
      made.push_back(entry.id());
      planned.catalog.put_items.push_back(std::move(entry));
    }
    return planned;
  }

  Future<Unit> start_source(CommittedChange committed, std::vector<EntryPtr> collections, std::size_t next) {
    if (next == collections.size()) return Future<Unit>::ready(Unit{});
    const CatalogEntry& entry = *collections[next];
    services_.holds->add(entry.id(), committed.time, committed.time, entry.retain_micros());
    return services_.storage.send(committed.catalog->collection_of(entry, committed.time))
        .and_then(services_.scheduler, [self = shared_from_this(), committed, collections = std::move(collections),
                                        next](Unit) mutable {
          return self->start_source(std::move(committed), std::move(collections), next + 1);
        });
  }

  Future<Outcome> apply(const sql::DropItemsPlan& plan) {
    return drop(plan.ids, [](const Catalog&, CatalogChange&) -> Result<void> { return {}; });
  }
  Future<Outcome> apply(const sql::DropSchemaPlan& plan) {
    return drop(plan.ids, [plan](const Catalog& catalog, CatalogChange& change) -> Result<void> {
      for (const std::string& name : plan.schemas) {
        if (!catalog.has_schema(plan.database, name)) {
          return fail(sqlstate::kInvalidSchemaName, "schema \"" + name + "\" does not exist");
        }
        change.drop_schemas.emplace_back(plan.database, name);
      }
      return {};
    });
  }
  Future<Outcome> apply(const sql::DropDatabasePlan& plan) {
    return drop(plan.ids, [plan](const Catalog& catalog, CatalogChange& change) -> Result<void> {
      if (!plan.database) return {};
      if (!catalog.has_database(*plan.database)) {
        return fail(sqlstate::kInvalidCatalogName, "database \"" + *plan.database + "\" does not exist");
      }
      for (const std::string& schema : catalog.schemas(*plan.database)) {
        change.drop_schemas.emplace_back(*plan.database, schema);
      }
      change.drop_databases.push_back(*plan.database);
      return {};
    });
  }

  template <typename Extra>
  Future<Outcome> drop(std::vector<GlobalId> ids, Extra extra) {
    auto dropped = std::make_shared<std::vector<EntryPtr>>();
    return commit([ids, extra, dropped](const Catalog& catalog) -> Result<PlannedChange> {
             const std::set<GlobalId> all(ids.begin(), ids.end());
             PlannedChange planned;
             for (const GlobalId id : ids) {
               auto it = catalog.entries().find(id);
               if (it == catalog.entries().end()) {
                 return fail(sqlstate::kUndefinedTable, "an object was dropped by somebody else");
               }
               for (const GlobalId dependent : catalog.dependents(id)) {
                 if (!all.contains(dependent)) {
                   return fail(sqlstate::kDependentObjectsStillExist,
                               "cannot drop " + it->second->item.name.item +
                                   " because other objects depend on it");
                 }
               }
               dropped->push_back(it->second);
               planned.catalog.drop_items.push_back(id);
               if (it->second->item.kind == ItemKind::kTable) planned.tables.drop.push_back(id);
             }
             FRESHET_TRY(extra(catalog, planned.catalog));
             return planned;
           })
        .and_then(session_->strand, [self = shared_from_this(), dropped](CommittedChange) {
          self->forget(*dropped);
          return Outcome(CommandDone{self->tag_});
        });
  }

  void forget(const std::vector<EntryPtr>& dropped) {
    for (const EntryPtr& entry : dropped) {
      const GlobalId id = entry->id();
      if (entry->item.kind == ItemKind::kIndex || entry->item.kind == ItemKind::kMaterializedView) {
        services_.dataflows->drop_export(id);
      }
      services_.holds->remove(id);
      services_.compute->end_subscriptions(
          id, sql_error(sqlstate::kUndefinedTable, "subscription ended: \"" + entry->item.name.item + "\" was dropped"));
      if (entry->item.kind == ItemKind::kSource) services_.compute->forget_failure(id);
      if (entry->item.kind == ItemKind::kMaterializedView || entry->item.kind == ItemKind::kSource) {
        // Nobody waits: the catalog has forgotten it, and a restart sweeps what a crash leaves.
        services_.storage.send(storage_api::DropCollection{id})
            .on_ready(services_.scheduler, [&log = services_.log, id](Result<Unit> result) {
              // Gone already, together with the source that it was a part of.
              if (result || result.error().code == ErrorCode::kNotFound) return;
              log.warn("drop left data behind", {{"collection", to_string(id)}});
            });
      }
    }
  }

  // ---- Shared steps.

  /// The time as of which a new dataflow over `ids` starts; keeps its inputs readable there.
  Future<SqlTime> start_at(const std::set<GlobalId>& ids) {
    const auto inputs = base_collections(*services_.catalog.get(), ids);
    return services_.oracle->read_timestamp().and_then(
        session_->strand, [self = shared_from_this(), inputs](SqlTime time) -> Result<SqlTime> {
          std::vector<GlobalId> all(inputs.begin(), inputs.end());
          const SqlTime as_of = std::max(time, self->services_.holds->readable_from(all));
          self->hold_ = FRESHET_TRY(self->services_.holds->acquire(std::move(all), as_of));
          return as_of;
        });
  }

  Future<CommittedChange> commit(CatalogWriter::Decide decide) {
    return services_.catalog_writer->change(std::move(decide));
  }
  Future<Outcome> change(CatalogWriter::Decide decide) {
    return commit(std::move(decide)).and_then(session_->strand, [self = shared_from_this()](CommittedChange) {
      return Outcome(CommandDone{self->tag_});
    });
  }

  SessionPtr session_;
  Services& services_;
  std::shared_ptr<const sql::Plan> plan_;
  std::string tag_;
  Hold hold_;
};

}  // namespace

Future<Outcome> SessionState::run_ddl(std::shared_ptr<const sql::Plan> plan, std::string tag) {
  if (transaction.kind == Transaction::Kind::kExplicit || !transaction.writes.empty()) {
    Error error = sql_error(sqlstate::kActiveSqlTransaction, tag + " cannot run inside a transaction block");
    error.hint = "Most drivers begin a transaction by themselves: switch them to autocommit.";
    return failed<Outcome>(std::move(error));
  }
  if (transaction.read_only) {
    return failed<Outcome>(
        sql_error(sqlstate::kReadOnlySqlTransaction, "cannot execute " + tag + " in a read-only transaction"));
  }
  return std::make_shared<Ddl>(shared_from_this(), std::move(plan), std::move(tag))->run();
}

}  // namespace freshet::adapter
