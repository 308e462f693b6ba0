// SPDX-License-Identifier: Apache-2.0
#include "dataflows.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/sql/physical.h>

#include "inline_views.h"
#include "services.h"

namespace freshet::adapter {

using expr::Relation;

// What a plan over `roots` may import: the stored collections behind them, and the live indexes on them and on the
// views between that are readable at `time`. The cost does not depend on what else there is.
sql::DataflowInputs Dataflows::inputs(const Catalog& catalog, const std::set<GlobalId>& roots,
                                      std::optional<repr::SqlTime> time) const {
  sql::DataflowInputs found;
  std::set<GlobalId> seen = roots;
  std::vector<GlobalId> left(roots.begin(), roots.end());
  const std::lock_guard lock(mutex_);
  while (!left.empty()) {
    const GlobalId id = left.back();
    left.pop_back();
    const CatalogEntry* entry = catalog.entry(id);
    if (entry == nullptr) continue;
    if (entry->is_collection()) found.stored[id] = entry->item.desc;
    if (const auto on = live_indexes_.find(id); on != live_indexes_.end()) {
      for (const GlobalId index : on->second) {
        const CatalogEntry* definition = catalog.entry(index);
        if (definition == nullptr || (time && services_.holds->readable_from({index}) > *time)) continue;
        found.indexes.indexes[id].push_back({index, definition->key});
      }
    }
    for (const GlobalId next : entry->depends_on) {
      if (seen.insert(next).second) left.push_back(next);
    }
  }
  return found;
}

InlineOptions Dataflows::keep_indexed(const sql::DataflowInputs& inputs) {
  InlineOptions options;
  options.keep = [&inputs](const CatalogEntry& entry) { return inputs.indexes.indexes.contains(entry.id()); };
  return options;
}

Result<ReadPlan> Dataflows::plan_read(
    const Relation& relation, const Catalog& catalog,
    const std::map<GlobalId, storage_api::CollectionUpdates>* overlay, repr::SqlTime time, Viewer viewer) {
  sql::DataflowInputs found = inputs(catalog, relation.global_ids(), time);
  InlineOptions options = keep_indexed(found);
  options.overlay = overlay;
  options.viewer = std::move(viewer);
  // What views bring in has not been bound with the statement.
  const Relation inlined = sql::bind_relation(FRESHET_TRY(inline_views(relation, catalog, options)),
                                              {.session_value = options.viewer.session_value});
  const Relation optimized = FRESHET_TRY(sql::optimize(inlined, {.interrupt = options.viewer.interrupt}));
  auto stored = [&](GlobalId id) { return found.stored.contains(id); };
  if (auto fast = sql::fast_path(optimized, found.indexes, stored)) {
    ReadPlan plan{.how = ConstantRead{}, .types = std::move(fast->types)};
    if (auto* constant = std::get_if<sql::FastPath::Constant>(&fast->plan)) {
      plan.how = ConstantRead{std::move(constant->rows), std::move(constant->error)};
    } else if (auto* index = std::get_if<sql::FastPath::Index>(&fast->plan)) {
      plan.imports = {index->id};
      plan.how = PeekRead{compute_api::Peek::Index{index->id, std::move(index->seek)}, index->id,
                          std::move(index->mfp)};
    } else {
      auto& collection = std::get<sql::FastPath::Collection>(fast->plan);
      plan.imports = {collection.id};
      plan.how = PeekRead{compute_api::Peek::Collection{collection.id, found.stored.at(collection.id)},
                          collection.id, std::move(collection.mfp)};
    }
    return plan;
  }
  return plan_transient(inlined, std::move(found), options.viewer.interrupt);
}

Result<ReadPlan> Dataflows::plan_transient(const Relation& inlined, sql::DataflowInputs found,
                                           sql::Interrupt interrupt) {
  ReadPlan plan{.how = ConstantRead{}, .types = inlined.type().columns};
  const GlobalId object = services_.transient_id();
  const GlobalId index = services_.transient_id();
  sql::DataflowRequest request{.name = "read " + to_string(object), .id = object, .relation = inlined};
  request.inputs = std::move(found);
  request.optimizer.interrupt = std::move(interrupt);
  request.index_exports[index] = {};
  DataflowRead read{FRESHET_TRY(sql::build_dataflow(request)), index};
  plan.imports = read.dataflow.imports();
  plan.how = std::move(read);
  return plan;
}

Result<expr::DataflowDescription> Dataflows::plan_maintained(std::string name, GlobalId id,
                                                             const Relation& relation,
                                                             const Catalog& catalog,
                                                             std::optional<repr::SqlTime> time) {
  sql::DataflowRequest request{.name = std::move(name), .id = id, .relation = relation};
  request.inputs = inputs(catalog, relation.global_ids(), time);
  // A view must not be read through an index that is computed from it.
  request.inputs.indexes.indexes.erase(id);
  InlineOptions options = keep_indexed(request.inputs);
  options.maintained = true;
  request.relation = FRESHET_TRY(inline_views(relation, catalog, options));
  // A view that it reads may bring them in.
  if (sql::has_session_values(request.relation)) {
    return fail(sqlstate::kFeatureNotSupported,
                "what is kept up to date cannot depend on now() or on the session, not through a view either");
  }
  return sql::build_dataflow(request);
}

Result<void> Dataflows::check_maintained(const Relation& relation, const Catalog& catalog) {
  FRESHET_TRY(plan_maintained("check", services_.transient_id(), relation, catalog, std::nullopt));
  return {};
}

Result<void> Dataflows::start_index(const CatalogEntry& index, const Catalog& catalog,
                                    repr::SqlTime as_of) {
  const GlobalId on = *index.item.index_on;
  const CatalogEntry* entry = catalog.entry(on);
  if (entry == nullptr) return fail(sqlstate::kUndefinedTable, "the indexed object was dropped");
  sql::DataflowRequest request{.name = "index " + index.item.name.item, .id = on,
                               .relation = Relation::get(on, entry->item.desc.type)};
  request.inputs = inputs(catalog, {on}, as_of);
  request.inputs.indexes.indexes.erase(on);
  if (!entry->is_collection()) {
    const InlineOptions options = keep_indexed(request.inputs);
    request.relation = FRESHET_TRY(inline_views(*entry->relation, catalog, options));
  }
  request.index_exports[index.id()] = index.key;
  expr::DataflowDescription dataflow = FRESHET_TRY(sql::build_dataflow(request));
  dataflow.as_of = as_of;
  const auto bases = base_collections(catalog, {on});
  auto hold = services_.holds->acquire({bases.begin(), bases.end()}, as_of);
  if (hold) {
    const std::lock_guard lock(mutex_);
    index_holds_[index.id()] = std::move(*hold);
  }
  create(std::move(dataflow));
  const std::lock_guard lock(mutex_);
  live_indexes_[on].insert(index.id());
  version_.fetch_add(1, std::memory_order_release);
  return {};
}

Result<void> Dataflows::start_view(const CatalogEntry& view, const Catalog& catalog,
                                   repr::SqlTime as_of) {
  const GlobalId object = services_.transient_id();
  expr::DataflowDescription dataflow = FRESHET_TRY(plan_maintained(
      "materialized view " + view.item.name.item, object, *view.relation, catalog, as_of));
  dataflow.sink_exports[view.id()] = {.kind = expr::SinkExport::Kind::kMaterializedView,
                                      .from = object,
                                      .desc = view.item.desc};
  dataflow.as_of = as_of;
  const auto bases = base_collections(catalog, view.depends_on);
  Hold hold = FRESHET_TRY(services_.holds->acquire({bases.begin(), bases.end()}, as_of));
  {
    const std::lock_guard lock(mutex_);
    view_holds_[view.id()] = std::move(hold);
  }
  create(std::move(dataflow));
  services_.compute->send(compute_api::AllowWrites{view.id()});
  return {};
}

void Dataflows::create(expr::DataflowDescription dataflow) {
  const std::vector<GlobalId> exports = dataflow.exports();
  services_.compute->send(compute_api::CreateDataflow{std::move(dataflow)});
  for (const GlobalId id : exports) services_.compute->send(compute_api::Schedule{id});
}

void Dataflows::drop_export(GlobalId id) {
  services_.compute->send(compute_api::AllowCompaction{id, repr::kClosed});
  Hold released;  // after the lock, as the next
  decltype(index_holds_)::node_type released_index;
  const std::lock_guard lock(mutex_);
  const bool named = id.kind != GlobalId::Kind::kTransient;  // not a read that has ended
  for (auto on = live_indexes_.begin(); named && on != live_indexes_.end(); ++on) {
    if (on->second.erase(id) == 0) continue;
    if (on->second.empty()) live_indexes_.erase(on);
    version_.fetch_add(1, std::memory_order_release);
    break;
  }
  released_index = index_holds_.extract(id);
  auto held = view_holds_.find(id);
  if (held == view_holds_.end()) return;
  released = std::move(held->second);
  view_holds_.erase(held);
}

void Dataflows::on_index_frontier(GlobalId id) {
  decltype(index_holds_)::node_type released;  // after the lock
  const std::lock_guard lock(mutex_);
  released = index_holds_.extract(id);
}

void Dataflows::on_storage_frontiers(GlobalId id, const storage_api::Frontiers& frontiers) {
  const std::lock_guard lock(mutex_);
  auto held = view_holds_.find(id);
  // A restart recomputes the view from its last durable time on.
  if (held != view_holds_.end() && frontiers.durable_upper > 0) {
    held->second.downgrade(frontiers.durable_upper - 1);
  }
}

}  // namespace freshet::adapter
