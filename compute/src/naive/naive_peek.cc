// SPDX-License-Identifier: Apache-2.0
#include "naive/naive_peek.h"

#include <algorithm>

#include <freshet/expr/eval.h>
#include <freshet/repr/row.h>
#include <freshet/repr/sql_types.h>

#include "naive/naive_dataflow.h"

namespace freshet::compute {
namespace {

using repr::ColumnType;
using repr::DatumRow;

bool equals(const DatumRow& a, const DatumRow& b, const expr::ArrangementKey& key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (repr::compare(a[i], b[i], key[i].type().type) != 0) return false;
  }
  return true;
}

// The key of `row`; nothing if it depends on a column that is unknown, or fails.
std::optional<DatumRow> key_of(const std::vector<std::optional<repr::Datum>>& row,
                               const std::vector<ColumnType>& types, const expr::ArrangementKey& key) {
  DatumRow values;
  DatumRow known;
  for (const auto& datum : row) known.push_back(datum.value_or(repr::Datum()));
  for (const expr::Scalar& scalar : key) {
    for (const std::size_t column : scalar.columns()) {
      if (!row[column]) return std::nullopt;
    }
    Result<repr::Datum> value = expr::evaluate_row(scalar, known, types);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

Result<expr::Multiset> seek(const expr::Multiset& content, const std::vector<ColumnType>& types,
                            const expr::ArrangementKey& key, const std::vector<DatumRow>& wanted) {
  const repr::RowCodec codec(repr::sql_types(types));
  const auto is_wanted = [&](const std::optional<DatumRow>& value) {
    return !value || std::ranges::any_of(wanted, [&](const DatumRow& w) { return equals(*value, w, key); });
  };
  expr::Multiset result;
  for (const auto& [bytes, count] : content.oks) {
    const DatumRow row = FRESHET_TRY(codec.decode_row(bytes));
    const std::vector<std::optional<repr::Datum>> known(row.begin(), row.end());
    if (is_wanted(key_of(known, types, key))) result.oks.emplace(bytes, count);
  }
  for (const auto& [bytes, count] : content.errs) {
    const expr::ErrorRow row = FRESHET_TRY(expr::decode_error_row(bytes, types));
    if (is_wanted(key_of(row.known, types, key))) result.errs.emplace(bytes, count);
  }
  return result;
}

// The peek's step as a relation, so that the interpreter gives it its meaning.
expr::Relation as_relation(const expr::Mfp& mfp, expr::GlobalId id, const std::vector<ColumnType>& types) {
  const expr::Relation input = expr::Relation::get(id, repr::RelationType{types});
  return input.map(mfp.expressions).filter(mfp.predicates).project(mfp.projection);
}

}  // namespace

Result<expr::Multiset> peek_content(const compute_api::Peek& peek, const expr::Multiset& content,
                                    const std::vector<ColumnType>& types, const expr::ArrangementKey* key) {
  FRESHET_ASSERT(!peek.mfp.is_temporal());
  const expr::GlobalId id{};
  std::map<expr::GlobalId, expr::Multiset> inputs;
  const auto* index = std::get_if<compute_api::Peek::Index>(&peek.target);
  if (index != nullptr && index->seek) {
    FRESHET_ASSERT(key != nullptr);
    expr::Multiset found = FRESHET_TRY(seek(content, types, *key, *index->seek));
    inputs.emplace(id, std::move(found));
  } else {
    inputs.emplace(id, content);
  }
  const expr::Relation relation = as_relation(peek.mfp, id, types);
  expr::Multiset result = FRESHET_TRY(expr::evaluate_naive(relation, inputs, {.time = peek.time}));
  FRESHET_TRY(check_content(result, relation.type().columns));
  return result;
}

}  // namespace freshet::compute
