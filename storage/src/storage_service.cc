// SPDX-License-Identifier: Apache-2.0
#include "storage_service.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "ingestion.h"
#include "reader.h"
#include "write_group.h"

namespace freshet::storage {
namespace {

using base::Future;
using base::Unit;
using namespace storage_api;  // NOLINT: this file implements that interface

constexpr const char* kTablesGroup = "tables";
constexpr std::string_view kViewGroup = "view-";
constexpr std::string_view kSourceGroup = "source-";

std::string group_name(std::string_view kind, GlobalId id) {
  return std::string(kind) + to_string(id);
}

template <typename T>
Future<T> unknown(GlobalId id) {
  return Future<T>::ready(fail(ErrorCode::kNotFound, "no collection " + to_string(id)));
}

class StagedBatch final : public StagedRows {
 public:
  explicit StagedBatch(LedgerBatchPtr b) : batch(std::move(b)) {}
  LedgerBatchPtr batch;
};

class TableStage final : public RowStage {
 public:
  TableStage(base::Scheduler& scheduler, std::unique_ptr<LedgerBatchBuilder> builder)
      : strand_(scheduler), builder_(std::move(builder)) {}
  Future<Unit> add(CollectionUpdates updates) override {
    return Future<Unit>::ready(Unit{}).and_then(
        strand_, [builder = builder_, updates = std::move(updates)](Unit) mutable {
          updates.oks.times.assign(1, 0);
          updates.errs.times.assign(1, 0);
          return builder->add(std::move(updates));
        });
  }
  Future<StagedRowsPtr> finish() override {
    return Future<Unit>::ready(Unit{})
        .and_then(strand_, [builder = builder_](Unit) { return builder->finish(); })
        .and_then(strand_, [](LedgerBatchPtr batch) {
          return StagedRowsPtr(std::make_shared<StagedBatch>(std::move(batch)));
        });
  }

 private:
  base::Strand strand_;  // the caller is busy enough
  std::shared_ptr<LedgerBatchBuilder> builder_;
};

/// The writer of a view; a newer one makes it useless.
class ViewWriter final : public CollectionWriter {
 public:
  ViewWriter(std::shared_ptr<WriteGroup> group, GlobalId id, std::function<void(SqlTime)> on_demand)
      : group_(std::move(group)), id_(id), writer_(group_->open_writer(std::move(on_demand))) {}

  [[nodiscard]] SqlTime durable_upper() const override {
    const auto frontiers = group_->published(id_);
    return frontiers ? frontiers->durable_upper : 0;
  }
  Future<Unit> append(SqlTime lower, SqlTime upper, CollectionUpdates updates) override {
    return group_->append(writer_, id_, lower, upper, std::move(updates));
  }
  void claim(SqlTime upper) override { group_->claim(writer_, upper); }

 private:
  std::shared_ptr<WriteGroup> group_;
  GlobalId id_;
  std::uint64_t writer_;
};

class StorageService final : public Storage {
 public:
  StorageService(StorageEnvironment environment, std::unique_ptr<Ledger> ledger)
      : environment_(environment), ledger_(std::move(ledger)),
        responses_(std::make_shared<Responses>(environment.scheduler)) {}
  ~StorageService() override { responses_->strand.close(); }

  void adopt_tables(std::shared_ptr<LedgerGroup> group) { tables_ = make_group(std::move(group)); }

  Future<Unit> send(StorageCommand command) override {
    return std::visit([this](auto& c) { return apply(std::move(c)); }, command);
  }

  void on_response(std::function<void(StorageResponse)> handler) override {
    responses_->handler = std::move(handler);
  }

  [[nodiscard]] Result<Frontiers> frontiers(GlobalId id) const override {
    if (auto group = find(id)) {
      if (auto frontiers = group->frontiers(id)) return *frontiers;
    }
    return fail(ErrorCode::kNotFound, "no collection " + to_string(id));
  }

  Future<Unit> wait_for(GlobalId id, SqlTime time) override {
    auto group = find(id);
    if (group == nullptr) return unknown<Unit>(id);
    return group->published_past(id, time).and_then(environment_.scheduler,
                                                    [](Frontiers) { return Unit{}; });
  }

  Future<Unit> commit(TableCommit commit) override {
    std::vector<WriteGroup::Write> writes;
    for (auto& [id, updates] : commit.appends) {
      writes.push_back({.id = id, .updates = std::move(updates)});
      const auto staged = commit.staged.find(id);
      if (staged == commit.staged.end()) continue;
      for (const StagedRowsPtr& rows : staged->second) {
        writes.back().batches.push_back(static_cast<const StagedBatch&>(*rows).batch);
      }
    }
    std::vector<GlobalId> created;
    for (const auto& [id, desc] : commit.create) created.push_back(id);
    auto done = tables_->commit(commit.time, std::move(writes), std::move(commit.create), commit.drop);
    return std::move(done).and_then(
        environment_.scheduler, [this, created, drop = commit.drop](Unit) {
          const std::lock_guard lock(mutex_);
          for (const GlobalId id : created) groups_[id] = tables_;
          for (const GlobalId id : drop) groups_.erase(id);
          return Unit{};
        });
  }

  std::unique_ptr<RowStage> stage(GlobalId table) override {
    auto group = find(table);
    if (group != tables_) return nullptr;
    return std::make_unique<TableStage>(environment_.scheduler, group->build(table, BatchTimes::kOfCommit));
  }

  Future<std::unique_ptr<CollectionReader>> open_reader(GlobalId id, SqlTime as_of) override {
    auto group = find(id);
    if (group == nullptr) return unknown<std::unique_ptr<CollectionReader>>(id);
    return open_collection_reader(environment_.scheduler, group, id, as_of);
  }

  Future<std::unique_ptr<CollectionWriter>> open_writer(
      GlobalId id, std::function<void(SqlTime)> on_demand) override {
    auto group = find(id);
    if (group == nullptr) return unknown<std::unique_ptr<CollectionWriter>>(id);
    std::unique_ptr<CollectionWriter> writer = std::make_unique<ViewWriter>(group, id, std::move(on_demand));
    return Future<std::unique_ptr<CollectionWriter>>::ready(std::move(writer));
  }

 private:
  /// Outlives the service inside callbacks of its groups.
  struct Responses {
    explicit Responses(base::Scheduler& scheduler) : strand(scheduler) {}
    base::Strand strand;
    std::function<void(StorageResponse)> handler;
    static void post(const std::shared_ptr<Responses>& self, StorageResponse response) {
      self->strand.post([self, response = std::move(response)] {
        if (self->handler) self->handler(response);
      });
    }
  };

  std::shared_ptr<WriteGroup> make_group(std::shared_ptr<LedgerGroup> ledger) {
    return std::make_shared<WriteGroup>(
        environment_.scheduler, std::move(ledger),
        [responses = responses_](GlobalId id, Frontiers frontiers) {
          Responses::post(responses, FrontierUpdate{id, frontiers});
        });
  }

  [[nodiscard]] std::shared_ptr<WriteGroup> find(GlobalId id) const {
    const std::lock_guard lock(mutex_);
    auto it = groups_.find(id);
    return it == groups_.end() ? nullptr : it->second;
  }

  void enroll(GlobalId id, const std::shared_ptr<WriteGroup>& group) {
    const std::lock_guard lock(mutex_);
    groups_[id] = group;
  }

  // ---- Commands.

  Future<Unit> apply(CreateCollection command) {
    return std::visit([&](auto& kind) { return create(command, kind); }, command.kind);
  }

  Future<Unit> create(const CreateCollection& command, const TableCollection&) {
    return tables_->create({{command.id, command.desc}}, command.since, true)
        .and_then(environment_.scheduler, [this, id = command.id](Unit) {
          enroll(id, tables_);
          return Unit{};
        });
  }

  Future<Unit> create(const CreateCollection& command, const ViewCollection&) {
    return open_group(group_name(kViewGroup, command.id), {{command.id, command.desc}}, command.since)
        .and_then(environment_.scheduler, [](std::shared_ptr<WriteGroup> group) {
          group->forward_demands([](SqlTime) {});  // kept until a writer comes
          return Unit{};
        });
  }

  Future<Unit> create(const CreateCollection& command, const IngestionCollection& ingestion) {
    auto outputs = generator_outputs(ingestion.generator);
    if (outputs.size() != ingestion.outputs.size()) {
      return Future<Unit>::ready(fail(ErrorCode::kInvalid, "ingestion " + to_string(command.id) + " has " +
                                                               std::to_string(ingestion.outputs.size()) +
                                                               " outputs, its generator makes " +
                                                               std::to_string(outputs.size())));
    }
    std::vector<WriteGroup::Described> members;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      members.emplace_back(ingestion.outputs[i], std::move(outputs[i].second));
    }
    members.emplace_back(command.id, command.desc);
    return open_group(group_name(kSourceGroup, command.id), std::move(members), command.since)
        .and_then(environment_.scheduler, [this, id = command.id,
                                           ingestion](std::shared_ptr<WriteGroup> group) {
          const std::lock_guard lock(mutex_);
          waiting_[id] = {std::move(group),
                          {.id = id, .generator = ingestion.generator, .outputs = ingestion.outputs}};
          if (initialized_) start_ingestions();
          return Unit{};
        });
  }

  Future<Unit> create(const CreateCollection& command, const IngestionOutput& output) {
    const auto group = find(command.id);
    if (group == nullptr) return unknown<Unit>(output.ingestion);
    return group->create({{command.id, command.desc}}, command.since, false);  // it is there: the columns are checked
  }

  Future<std::shared_ptr<WriteGroup>> open_group(std::string name, std::vector<WriteGroup::Described> members,
                                                 SqlTime since) {
    {
      const std::lock_guard lock(mutex_);
      known_groups_.insert(name);
    }
    return ledger_->open(std::move(name))
        .and_then(environment_.scheduler, [this, members = std::move(members),
                                           since](std::shared_ptr<LedgerGroup> ledger) {
          auto group = make_group(std::move(ledger));
          return group->create(members, since, false)
              .and_then(environment_.scheduler, [this, group, members](Unit) {
                for (const auto& [id, desc] : members) enroll(id, group);
                return group;
              });
        });
  }

  Future<Unit> apply(DropCollection command) {
    std::shared_ptr<WriteGroup> group;
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      auto it = groups_.find(command.id);
      if (it != groups_.end()) group = it->second;
      groups_.erase(command.id);
      ingestions_.erase(command.id);
      waiting_.erase(command.id);
      last = group != tables_ && std::ranges::none_of(groups_, [&](const auto& other) {
               return other.second == group;
             });
    }
    if (group == nullptr) return unknown<Unit>(command.id);
    auto dropped = group->drop(command.id);
    if (!last) return dropped;
    // The drop was the last of what the group had to do: nothing writes to it any more.
    return std::move(dropped).and_then(environment_.scheduler, [ledger = ledger_, group](Unit) {
      return ledger->erase(group->name());
    });
  }

  Future<Unit> apply(AllowCompaction command) {
    auto group = find(command.id);
    if (group == nullptr) return unknown<Unit>(command.id);
    group->allow_compaction(command.id, command.since);
    return Future<Unit>::ready(Unit{});
  }

  Future<Unit> apply(InitializationComplete command) {
    std::vector<GlobalId> forgotten;
    {
      const std::lock_guard lock(mutex_);
      initialized_ = true;
      floor_ = command.floor;
      start_ingestions();
      for (const GlobalId id : tables_->members()) {
        if (!groups_.contains(id)) forgotten.push_back(id);
      }
    }
    erase_unknown_groups();
    if (forgotten.empty()) return Future<Unit>::ready(Unit{});
    // A crash between the commit that dropped a table and the drop of its data left these behind.
    return tables_->commit(std::max(command.floor, tables_->logical()), {}, {}, forgotten);
  }

  // What a crash between the commit that dropped a view or a source and the end of `erase` left
  // behind. Nobody waits for it.
  void erase_unknown_groups() {
    ledger_->groups().on_ready(environment_.scheduler, [this](Result<std::vector<std::string>> names) {
      if (!names) return warn_of_leftovers("all", names.error());
      for (const std::string& name : *names) {
        if (!name.starts_with(kViewGroup) && !name.starts_with(kSourceGroup)) continue;
        if (is_known(name)) continue;
        ledger_->erase(name).on_ready(environment_.scheduler, [this, name](Result<Unit> erased) {
          if (!erased) warn_of_leftovers(name, erased.error());
        });
      }
    });
  }

  [[nodiscard]] bool is_known(const std::string& group) const {
    const std::lock_guard lock(mutex_);
    return known_groups_.contains(group);
  }

  void warn_of_leftovers(const std::string& group, const Error& error) {
    environment_.log.warn("dropped collections stay on disk",
                          {{"group", group}, {"error", error.message}});
  }

  Future<Unit> apply(storage_api::Advance command) {
    auto group = find(command.id);
    if (group == nullptr) return unknown<Unit>(command.id);
    group->demand(command.id, command.time);
    return Future<Unit>::ready(Unit{});
  }

  // Called under the lock.
  void start_ingestions() {
    for (auto& [id, waiting] : waiting_) {
      auto& [group, config] = waiting;
      config.floor = floor_;
      ingestions_[id] = std::make_unique<Ingestion>(
          environment_.scheduler, environment_.log, group, config,
          [responses = responses_](GlobalId source, Error error, bool transient) {
            Responses::post(responses, CollectionFailure{source, std::move(error), transient});
          });
    }
    waiting_.clear();
  }

  StorageEnvironment environment_;
  std::shared_ptr<Ledger> ledger_;
  std::shared_ptr<Responses> responses_;
  std::shared_ptr<WriteGroup> tables_;
  mutable std::mutex mutex_;
  std::map<GlobalId, std::shared_ptr<WriteGroup>> groups_;
  std::map<GlobalId, std::pair<std::shared_ptr<WriteGroup>, IngestionConfig>> waiting_;
  std::map<GlobalId, std::unique_ptr<Ingestion>> ingestions_;
  std::set<std::string> known_groups_;  ///< Of views and sources that were there in this life.
  bool initialized_ = false;
  SqlTime floor_ = 0;
};

}  // namespace

Future<std::unique_ptr<Storage>> make_storage(StorageEnvironment environment,
                                              std::unique_ptr<Ledger> ledger) {
  Ledger& opened = *ledger;
  auto service = std::make_unique<StorageService>(environment, std::move(ledger));
  return opened.open(kTablesGroup)
      .and_then(environment.scheduler,
                [service = std::move(service)](std::shared_ptr<LedgerGroup> group) mutable {
                  service->adopt_tables(std::move(group));
                  return std::unique_ptr<Storage>(std::move(service));
                });
}

}  // namespace freshet::storage
