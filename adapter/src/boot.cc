// SPDX-License-Identifier: Apache-2.0
#include "boot.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/row.h>
#include <freshet/repr/sql_types.h>

#include "catalog_writer.h"
#include "client_error.h"
#include "dataflows.h"
#include "inline_views.h"

namespace freshet::adapter {
namespace {

using base::Future;
using base::Unit;
using storage_api::CollectionReader;
using storage_api::Frontiers;

/// The steps of a start, one after another.
class Boot : public std::enable_shared_from_this<Boot> {
 public:
  Boot(AdapterEnvironment environment, AdapterConfig config)
      : strand_(environment.scheduler),
        services_(new Services{.scheduler = environment.scheduler,
                               .storage = environment.storage,
                               .log = environment.log,
                               .config = std::move(config)}),
        compute_(environment.compute) {}

  Future<std::unique_ptr<Services>> run() {
    connect();
    auto self = shared_from_this();
    return services_->storage
        .send(storage_api::CreateCollection{.id = kCatalogCollection,
                                            .kind = storage_api::TableCollection{},
                                            .desc = catalog_collection_desc(),
                                            .since = services_->started})
        .and_then(strand_, [self](Unit) { return self->open_catalog(); })
        .and_then(strand_, [self](Unit) { return self->create_collections(0); })
        .and_then(strand_, [self](Unit) { return self->begin_time(); })
        .and_then(strand_, [self](SqlTime now) { return self->start_dataflows(now); })
        .and_then(strand_, [self](Unit) { return std::move(self->services_); });
  }

 private:
  // Whatever comes from outside goes through the gate: a start that fails takes the services away while storage
  // and compute still talk.
  void connect() {
    Services* services = services_.get();
    const auto gate = services->gate;
    gate->with([&](Services*& open) { open = services; });
    services->started = services->scheduler.clock().wall_micros();
    services->compute = std::make_unique<ComputeClient>(
        compute_, services->config.seed ^ 0x7065656b73ULL, [gate](GlobalId id, SqlTime upper) {
          gate->with([&](Services* s) {
            if (s == nullptr) return;
            s->holds->on_upper(id, upper);
            if (s->dataflows != nullptr) s->dataflows->on_index_frontier(id);
          });
        });
    services->holds = std::make_unique<Holds>([gate, &scheduler = services->scheduler](GlobalId id, SqlTime since) {
      scheduler.post([gate, id, since] {
        gate->with([&](Services* s) {
          if (s != nullptr) compact(*s, id, since);
        });
      });
    });
    services->dataflows = std::make_unique<Dataflows>(*services);
    services->storage.on_response([gate](storage_api::StorageResponse response) {
      gate->with([&](Services* s) {
        if (s != nullptr) std::visit([s](const auto& r) { take(*s, r); }, response);
      });
    });
  }

  static void take(Services& services, const storage_api::FrontierUpdate& update) {
    services.holds->on_upper(update.id, update.frontiers.upper);
    services.dataflows->on_storage_frontiers(update.id, update.frontiers);
  }

  // What is read from a source that has ended would wait for ever.
  static void take(Services& services, const storage_api::CollectionFailure& failure) {
    if (failure.transient) return;
    const CatalogPtr catalog = services.catalog.get();
    const CatalogEntry* source = catalog == nullptr ? nullptr : catalog->entry(failure.id);
    if (source == nullptr) return;
    const Error error = client_error(failure.error);
    services.compute->mark_failed(failure.id, error);
    for (const GlobalId output : source->outputs) services.compute->mark_failed(output, error);
  }

  static void compact(Services& services, GlobalId id, SqlTime since) {
    const CatalogPtr catalog = services.catalog.get();
    if (catalog == nullptr) return;  // still starting: nobody has asked for history to go
    const CatalogEntry* entry = catalog->entry(id);
    if (entry != nullptr && entry->item.kind == sql::ItemKind::kIndex) {
      services.compute->send(compute_api::AllowCompaction{id, since});
      return;
    }
    services.storage.send(storage_api::AllowCompaction{id, since})
        .on_ready(services.scheduler, [](Result<Unit>) {});  // dropped meanwhile: nothing to do
  }

  // ---- The catalog.

  Future<Unit> open_catalog() {
    auto frontiers = services_->storage.frontiers(kCatalogCollection);
    if (!frontiers) return Future<Unit>::ready(base::Unexpected(frontiers.error()));
    floor_ = frontiers->upper;
    catalog_time_ = frontiers->upper - 1;
    return services_->storage.open_reader(kCatalogCollection, catalog_time_)
        .and_then(strand_, [self = shared_from_this()](std::unique_ptr<CollectionReader> reader) {
          self->reader_ = std::move(reader);
          return self->read_catalog();
        });
  }

  Future<Unit> read_catalog() {
    return reader_->next().and_then(
        strand_, [self = shared_from_this()](storage_api::ReadEvent event) -> Future<Unit> {
          const auto& oks = event.updates.oks;
          for (std::size_t i = 0; i < oks.size(); ++i) {
            self->rows_[std::string(oks.rows[i])] += oks.diff(i);
          }
          if (event.upper <= self->catalog_time_) return self->read_catalog();
          self->reader_.reset();
          return Future<Unit>::ready(self->load_catalog());
        });
  }

  Result<Unit> load_catalog() {
    const repr::RowCodec codec(repr::sql_types(catalog_collection_desc().type.columns));
    std::vector<repr::DatumRow> rows;
    std::set<std::pair<std::int32_t, std::string>> keys;
    for (const auto& [bytes, count] : rows_) {
      if (count == 0) continue;
      repr::DatumRow row = FRESHET_TRY(codec.decode_row(bytes));
      const std::string& key = row[1].get<std::string>();
      const auto corrupt = [&](const std::string& what) {
        return fail(sqlstate::kDataCorrupted, "catalog row \"" + key + "\" " + what);
      };
      if (count != 1) return corrupt("has the count " + std::to_string(count));
      if (!keys.emplace(row[0].get<std::int32_t>(), key).second) return corrupt("is there twice");
      rows.push_back(std::move(row));
    }
    auto system = std::make_shared<const std::vector<SystemRelation>>(make_system_relations());
    services_->catalog.set(FRESHET_TRY(Catalog::load(std::move(system), rows)));
    floor_ = std::max(floor_, services_->catalog.get()->reserved());
    for (const auto& [id, entry] : services_->catalog.get()->entries()) {
      if (entry->is_collection()) collections_.push_back(entry);
    }
    sort_for_creation(collections_);
    return Unit{};
  }

  // ---- Collections.

  Future<Unit> create_collections(std::size_t next) {
    if (next == collections_.size()) return Future<Unit>::ready(Unit{});
    return services_->storage.send(services_->catalog.get()->collection_of(*collections_[next], floor_))
        .and_then(strand_, [self = shared_from_this(), next](Unit) { return self->create_collections(next + 1); });
  }

  // ---- Time: above everything promised in earlier lives.

  Future<SqlTime> begin_time() {
    for (const EntryPtr& entry : collections_) {
      const auto frontiers = services_->storage.frontiers(entry->id());
      if (!frontiers) return Future<SqlTime>::ready(base::Unexpected(frontiers.error()));
      if (frontiers->durable_upper != repr::kClosed) floor_ = std::max(floor_, frontiers->durable_upper);
      services_->holds->add(entry->id(), frontiers->since, frontiers->upper, entry->retain_micros());
      // Views go on from where they were: no history goes before each has taken its own hold.
      auto hold = services_->holds->acquire({entry->id()}, frontiers->since);
      if (!hold) return Future<SqlTime>::ready(base::Unexpected(hold.error()));
      history_.push_back(std::move(*hold));
    }
    Services* services = services_.get();
    services->oracle = std::make_unique<Oracle>(services->scheduler, floor_ + 1, [services](SqlTime until) {
      return services->catalog_writer
          ->change([until](const Catalog&) -> Result<PlannedChange> {
            PlannedChange planned;
            planned.catalog.reserved = until;
            return planned;
          })
          .and_then(services->scheduler, [](CommittedChange) { return Unit{}; });
    });
    services->committer =
        std::make_unique<Committer>(services->scheduler, services->storage, *services->oracle);
    services->catalog_writer =
        std::make_unique<CatalogWriter>(services->scheduler, services->catalog, *services->committer);
    auto self = shared_from_this();
    return first_start()
        .and_then(strand_, [self](Unit) {
          return self->services_->storage.send(storage_api::InitializationComplete{self->floor_ + 1});
        })
        .and_then(strand_, [self](Unit) { return self->services_->oracle->read_timestamp(); });
  }

  Future<Unit> first_start() {
    if (!services_->catalog.get()->databases().empty()) return Future<Unit>::ready(Unit{});
    return services_->catalog_writer
        ->change([](const Catalog& newest) -> Result<PlannedChange> {
          PlannedChange planned;
          planned.catalog = newest.initial_change();
          return planned;
        })
        .and_then(strand_, [](CommittedChange) { return Unit{}; });
  }

  // ---- Dataflows.

  // A view goes on from its last durable time; an index early enough for the views that may use it.
  Result<Unit> start_dataflows(SqlTime now) {
    Services& s = *services_;
    s.compute->send(compute_api::Hello{s.compute->new_peek_id()});
    s.compute->send(compute_api::CreateInstance{
        {.workers = s.config.workers, .max_result_bytes = s.config.max_result_bytes}});
    const CatalogPtr catalog = s.catalog.get();
    if (!s.config.maintain) return leave_dataflows(*catalog);
    std::map<GlobalId, SqlTime> view_times;
    for (const auto& [id, entry] : catalog->entries()) {
      if (entry->item.kind != sql::ItemKind::kMaterializedView) continue;
      view_times[id] = view_as_of(*entry, *catalog);
    }
    for (const auto& [id, entry] : catalog->entries()) {
      if (entry->item.kind == sql::ItemKind::kMaterializedView) {
        tolerate(*entry, s.dataflows->start_view(*entry, *catalog, view_times.at(id)));
      } else if (entry->item.kind == sql::ItemKind::kIndex) {
        const SqlTime as_of = index_as_of(*entry, *catalog, now, view_times);
        s.holds->add(id, as_of, as_of, entry->retain_micros());
        tolerate(*entry, s.dataflows->start_index(*entry, *catalog, as_of));
      }
    }
    s.compute->send(compute_api::InitializationComplete{});
    history_.clear();
    s.log.info("catalog is open", {{"objects", catalog->entries().size()}});
    return Unit{};
  }

  // What could not be read up to date is not read at all. The next start goes on from where everything was.
  Result<Unit> leave_dataflows(const Catalog& catalog) {
    Services& s = *services_;
    for (const auto& [id, entry] : catalog.entries()) {
      if (entry->item.kind != sql::ItemKind::kMaterializedView) continue;  // and what has an index is read without
      Error error = sql_error(sqlstate::kObjectNotInPrerequisiteState, "\"" + entry->item.name.item + "\" is not kept up to date");
      error.hint = "The server was started with --maintain off. Drop what must not start, and start it without.";
      s.compute->mark_failed(id, std::move(error));
    }
    s.compute->send(compute_api::InitializationComplete{});
    s.kept_history = std::move(history_);
    s.log.warn("views and indexes are not kept up to date", {{"objects", catalog.entries().size()}});
    return Unit{};
  }

  // One object that cannot be planned any more must not keep the others from their users: whoever reads it gets
  // the error, and it can be dropped.
  void tolerate(const CatalogEntry& entry, Result<void> started) {
    if (started) return;
    services_->log.error("cannot be kept up to date", {{"object", entry.item.name.item}, {"error", started.error().message}});
    services_->compute->mark_failed(entry.id(), started.error());
  }

  SqlTime view_as_of(const CatalogEntry& view, const Catalog& catalog) {
    const auto frontiers = services_->storage.frontiers(view.id());
    const auto bases = base_collections(catalog, view.depends_on);
    const SqlTime written = frontiers->durable_upper > frontiers->since ? frontiers->durable_upper - 1
                                                                        : frontiers->since;
    return std::max(written, services_->holds->readable_from({bases.begin(), bases.end()}));
  }

  SqlTime index_as_of(const CatalogEntry& index, const Catalog& catalog, SqlTime now,
                      const std::map<GlobalId, SqlTime>& view_times) {
    const auto bases = base_collections(catalog, {*index.item.index_on});
    const SqlTime first = services_->holds->readable_from({bases.begin(), bases.end()});
    SqlTime as_of = now - std::min(now, index.retain_micros());
    for (const auto& [id, time] : view_times) {
      const std::set<GlobalId> behind = all_behind(catalog, catalog.entry(id)->depends_on);
      if (behind.contains(*index.item.index_on)) as_of = std::min(as_of, time);
    }
    return std::clamp(as_of, first, std::max(first, now));
  }

  base::Strand strand_;
  std::unique_ptr<Services> services_;
  compute_api::Compute& compute_;
  std::unique_ptr<CollectionReader> reader_;
  std::map<std::string, repr::Diff> rows_;
  SqlTime catalog_time_ = 0;
  SqlTime floor_ = 0;
  std::vector<EntryPtr> collections_;
  std::vector<Hold> history_;  ///< Of every collection, until the dataflows have started.
};

}  // namespace

Services::~Services() {
  gate->with([](Services*& services) { services = nullptr; });
}

Future<std::unique_ptr<Services>> boot(AdapterEnvironment environment, AdapterConfig config) {
  return std::make_shared<Boot>(environment, std::move(config))->run();
}

}  // namespace freshet::adapter
