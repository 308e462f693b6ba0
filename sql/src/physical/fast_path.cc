// SPDX-License-Identifier: Apache-2.0
// Reads that need no dataflow.
#include <freshet/expr/text.h>

#include "physical/lowering.h"

namespace freshet::sql {

std::optional<FastPath> fast_path(const expr::Relation& relation, const IndexOracle& indexes,
                                  const std::function<bool(expr::GlobalId)>& is_stored) {
  using expr::Relation;
  const auto peeled = physical::peel(relation);
  if (!peeled || peeled->mfp.is_temporal()) return std::nullopt;
  const passes::Columns& columns = peeled->core.type().columns;
  std::vector<repr::ColumnType> types = peeled->mfp.output_types(columns);
  if (const auto* constant = peeled->core.as<Relation::Constant>()) {
    if (!peeled->mfp.is_identity() && !constant->error) return std::nullopt;
    return FastPath{FastPath::Constant{constant->rows, constant->error}, std::move(types)};
  }
  const auto* get = peeled->core.as<Relation::Get>();
  const auto* id = get == nullptr ? nullptr : std::get_if<expr::GlobalId>(&get->id);
  if (id == nullptr) return std::nullopt;
  for (const auto& index : indexes.on(*id)) {
    auto seek = physical::find_seek(peeled->mfp, columns, index.key);
    if (seek) return FastPath{FastPath::Index{index.id, *id, std::move(seek), peeled->mfp}, std::move(types)};
  }
  if (!indexes.on(*id).empty()) {
    return FastPath{FastPath::Index{indexes.on(*id).front().id, *id, std::nullopt, peeled->mfp},
                    std::move(types)};
  }
  if (!is_stored(*id)) return std::nullopt;
  return FastPath{FastPath::Collection{*id, peeled->mfp}, std::move(types)};
}

std::string explain_fast_path(const FastPath& plan) {
  const auto step = [](const expr::Mfp& mfp) {
    return mfp.is_identity() ? std::string() : " " + to_string(mfp);
  };
  if (const auto* constant = std::get_if<FastPath::Constant>(&plan.plan)) {
    std::string out = "Constant";
    if (constant->error) return out + " error '" + constant->error->message + "'\n";
    out += constant->rows.empty() ? " <empty>\n" : "\n";
    for (const auto& [row, diff] : constant->rows) {
      out += "  - " + (diff == 1 ? "" : std::to_string(diff) + " x ") + expr::row_text(row, plan.types) + "\n";
    }
    return out;
  }
  if (const auto* index = std::get_if<FastPath::Index>(&plan.plan)) {
    std::string out = "Peek " + to_string(index->on) + " through " + to_string(index->id);
    if (index->seek) out += " seek=" + std::to_string(index->seek->size()) + " keys";
    return out + step(index->mfp) + "\n";
  }
  const auto& collection = *std::get_if<FastPath::Collection>(&plan.plan);
  return "Peek " + to_string(collection.id) + step(collection.mfp) + "\n";
}

}  // namespace freshet::sql
