// SPDX-License-Identifier: Apache-2.0
#include "lookup.h"

#include <algorithm>

#include <freshet/expr/eval.h>
#include <freshet/repr/sql_types.h>

#include "dataflows.h"
#include "inline_views.h"
#include "services.h"

namespace freshet::adapter {
namespace {

/// Beyond this the read goes the long way, which has the limit that is set.
constexpr std::uint64_t kMostBytes = 1 << 20;

// True if the relation has session values, or mz_now(), also in a temporal filter.
bool depends_on_more(const expr::Relation& relation) {
  const sql::Bindings any_time{.mz_now = repr::Datum(repr::Numeric())};
  return sql::has_session_values(relation) || !(sql::bind_relation(relation, any_time) == relation);
}

// True if nothing behind `id` changes but by writes to tables.
bool changes_by_writes_only(const Catalog& catalog, GlobalId id, std::set<GlobalId>& seen) {
  if (!seen.insert(id).second) return true;
  const CatalogEntry* entry = catalog.entry(id);
  if (entry == nullptr) return false;
  if (entry->item.kind == sql::ItemKind::kTable) return true;
  if (!entry->relation || depends_on_more(*entry->relation)) return false;
  return std::ranges::all_of(entry->depends_on,
                             [&](GlobalId on) { return changes_by_writes_only(catalog, on, seen); });
}

}  // namespace

LookupPlan::LookupPlan(sql::OpenLookup open, const sql::Finishing& finishing, sql::Limits limits,
                       std::vector<expr::GlobalId> tables, std::unique_ptr<compute_api::Lookup> index)
    : open_(std::move(open)), finishing_(finishing), limits_(limits), tables_(std::move(tables)),
      index_(std::move(index)), codec_(repr::sql_types(open_.types)), projection_(finishing_.project) {}

// False for a key that no row has: rare enough for the long way.
bool LookupPlan::set_key(const repr::DatumRow& parameters) {
  key_.resize(open_.key.size());
  for (std::size_t i = 0; i < key_.size(); ++i) {
    const expr::Scalar& scalar = open_.key[i];
    std::optional<repr::Datum> value;
    if (const auto* parameter = scalar.as<expr::Scalar::Parameter>()) {
      value = parameters[parameter->index];
    } else {
      auto evaluated = expr::evaluate_row(sql::bind_scalar(scalar, {.parameters = parameters}), {}, {});
      if (evaluated) value = std::move(*evaluated);
    }
    if (!value || value->is_null()) return false;
    value = sql::key_value(*value, scalar.type().type, open_.key_types[i]);
    if (!value) return false;
    key_[i] = std::move(*value);
  }
  return true;
}

std::optional<RowBatch> LookupPlan::find(const repr::DatumRow& parameters, repr::SqlTime least,
                                         repr::SqlTime most) {
  if (!set_key(parameters)) return std::nullopt;
  auto found = index_->find(key_, least, most);
  if (!found) return std::nullopt;
  const bool plain = found->diffs.empty() && !limits_.limit && limits_.offset == 0;
  if (plain && found->rows.size() <= 1) {
    auto decoded = codec_.decode(found->rows, projection_.wanted());
    if (!decoded) return std::nullopt;
    return projection_.place(*decoded, found->rows.size());
  }
  CountedRows rows;
  rows.counts = std::move(found->diffs);
  if (rows.counts.empty()) rows.counts.assign(found->rows.size(), 1);
  rows.rows = std::move(found->rows);
  auto finished = finish_rows(rows, open_.types, finishing_, limits_, kMostBytes);
  if (!finished) return std::nullopt;
  return std::move(*finished);
}

std::unique_ptr<LookupPlan> Dataflows::plan_lookup(const sql::SelectPlan& select, const Catalog& catalog, bool& later) {
  later = false;
  if (select.as_of) return nullptr;
  std::set<GlobalId> seen;
  for (const GlobalId id : select.relation.global_ids()) {
    if (!changes_by_writes_only(catalog, id, seen)) return nullptr;
  }
  const auto limits = sql::resolve_limits(select.finishing);
  if (!limits) return nullptr;
  const sql::DataflowInputs found = inputs(catalog, select.relation.global_ids(), std::nullopt);
  const auto inlined = inline_views(select.relation, catalog, keep_indexed(found));
  if (!inlined) return nullptr;
  const auto optimized = sql::optimize(*inlined);
  if (!optimized) return nullptr;
  auto open = sql::open_lookup(*optimized, found.indexes);
  if (!open) return nullptr;
  auto index = services_.compute->make_lookup(open->index, open->mfp);
  // An index that was just created is not there yet.
  later = index == nullptr;
  if (later) return nullptr;
  bool only_tables = true;
  const std::set<GlobalId> tables = base_tables(catalog, select.relation.global_ids(), only_tables);
  return std::make_unique<LookupPlan>(std::move(*open), select.finishing, *limits,
                                      std::vector<GlobalId>(tables.begin(), tables.end()), std::move(index));
}

}  // namespace freshet::adapter
