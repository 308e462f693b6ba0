// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/sqlstate.h>
#include <freshet/repr/shown_time.h>
#include <freshet/sql/physical.h>

#include "inline_views.h"
#include "session_state.h"

namespace freshet::adapter {
namespace {

Outcome text_outcome(const repr::RelationDesc& desc, const std::string& text) {
  std::vector<repr::DatumRow> rows;
  rows.push_back({repr::Datum(text)});
  return Outcome(Rows{.desc = desc,
                      .stream = make_stream(rows, desc.type.columns),
                      .tag = [](std::uint64_t) { return std::string("EXPLAIN"); }});
}

std::string explain_time(SqlTime time) {
  return repr::shown_time(time).to_string();
}

}  // namespace

// The relation that an EXPLAIN is about.
Result<expr::Relation> SessionState::explained_relation(const sql::ExplainPlan& plan) const {
  const CatalogPtr catalog = services.catalog.get();
  if (plan.item) {
    const CatalogEntry* entry = catalog->entry(*plan.item);
    if (entry == nullptr) return fail(sqlstate::kUndefinedTable, "the object was dropped");
    if (entry->item.index_on) entry = catalog->entry(*entry->item.index_on);
    if (entry->relation) return *entry->relation;
    return expr::Relation::get(entry->id(), entry->item.desc.type);
  }
  if (const auto* select_plan = plan.inner->as<sql::SelectPlan>()) return select_plan->relation;
  if (const auto* view = plan.inner->as<sql::CreateViewPlan>()) return view->relation;
  if (const auto* subscribe_plan = plan.inner->as<sql::SubscribePlan>()) {
    if (const auto* relation = std::get_if<expr::Relation>(&subscribe_plan->from)) return *relation;
    const GlobalId id = std::get<GlobalId>(subscribe_plan->from);
    return expr::Relation::get(id, catalog->item(id)->desc.type);
  }
  return fail(sqlstate::kFeatureNotSupported, "this statement cannot be explained");
}

Future<Outcome> SessionState::explain(const sql::ExplainPlan& plan) {
  auto relation = explained_relation(plan);
  if (!relation) return failed<Outcome>(relation.error());
  const CatalogPtr catalog = services.catalog.get();
  if (plan.stage == sql::ExplainPlan::Stage::kTimestamp) return explain_timestamp(plan, *relation);
  if (plan.stage == sql::ExplainPlan::Stage::kRaw) {
    return Future<Outcome>::ready(text_outcome(plan.desc, sql::explain_raw(*relation)));
  }
  auto text = services.dataflows->explain(*relation, *catalog, plan.stage);
  if (!text) return failed<Outcome>(text.error());
  return Future<Outcome>::ready(text_outcome(plan.desc, *text));
}

Future<Outcome> SessionState::explain_timestamp(const sql::ExplainPlan& plan,
                                                const expr::Relation& relation) {
  const CatalogPtr catalog = services.catalog.get();
  const auto bases = base_collections(*catalog, relation.global_ids());
  std::optional<sql::AsOf> as_of;
  if (plan.inner != nullptr) {
    if (const auto* select_plan = plan.inner->as<sql::SelectPlan>()) as_of = select_plan->as_of;
  }
  return choose_time({bases.begin(), bases.end()}, as_of)
      .and_then(strand, [self = shared_from_this(), catalog, bases, desc = plan.desc](SqlTime time) {
        std::string text = "                query timestamp: " + explain_time(time) + "\n";
        text += "        largest not in advance: " + explain_time(time) + "\n";
        for (const GlobalId id : bases) {
          const CatalogEntry* entry = catalog->entry(id);
          const auto frontiers = self->services.storage.frontiers(id);
          text += "\nsource " + to_string(entry->item.name) + " (" + to_string(id) + ", storage):\n";
          if (!frontiers) continue;
          text += "                  read frontier: [" + explain_time(frontiers->since) + "]\n";
          text += "                 write frontier: [" + explain_time(frontiers->upper) + "]\n";
        }
        return text_outcome(desc, text);
      });
}

Result<std::string> Dataflows::explain(const expr::Relation& relation, const Catalog& catalog,
                                       sql::ExplainPlan::Stage stage) {
  sql::DataflowInputs found = inputs(catalog, relation.global_ids(), std::nullopt);
  InlineOptions options;
  options.keep = [&](const CatalogEntry& entry) { return found.indexes.indexes.contains(entry.id()); };
  const expr::Relation inlined = FRESHET_TRY(inline_views(relation, catalog, options));
  if (stage == sql::ExplainPlan::Stage::kOptimized) return sql::explain_optimized(inlined);
  const expr::Relation optimized = FRESHET_TRY(sql::optimize(inlined));
  auto stored = [&](GlobalId id) { return found.stored.contains(id); };
  if (auto fast = sql::fast_path(optimized, found.indexes, stored)) return sql::explain_fast_path(*fast);
  ReadPlan plan = FRESHET_TRY(plan_transient(inlined, std::move(found)));
  return sql::explain_physical(std::get<DataflowRead>(plan.how).dataflow);
}

}  // namespace freshet::adapter
