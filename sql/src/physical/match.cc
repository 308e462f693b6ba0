// SPDX-License-Identifier: Apache-2.0
// Semi, anti and outer joins. Conditions that are no key equalities are taken out: the rows with a match are found by
// an inner join, and selected by all their columns (naive.h says the same, and names the errors).
#include <freshet/base/sqlstate.h>
#include <freshet/expr/match_keys.h>

#include "physical/lowering.h"

namespace freshet::sql::physical {

using expr::MatchKind;

namespace {

Mfp padding(const Columns& own, const Columns& nulls, bool behind) {
  std::vector<Scalar> expressions;
  for (const auto& column : nulls) expressions.push_back(Scalar::null(column.type));
  const Mfp mapped = Mfp::identity(own.size()).map(std::move(expressions));
  if (behind) return mapped;
  std::vector<std::size_t> columns = passes::iota(own.size(), own.size() + nulls.size());
  for (std::size_t c = 0; c < own.size(); ++c) columns.push_back(c);
  return mapped.project(std::move(columns));
}

}  // namespace

Result<LirPtr> Lowering::match(const Relation& relation, const Relation::Match& n, const Mfp& after) {
  for (const Scalar& predicate : n.on) {
    if (predicate.contains_mz_now()) {
      return fail(sqlstate::kFeatureNotSupported, "mz_now() may not stand in a join condition: " + to_string(predicate));
    }
  }
  const expr::MatchSplit split =
      expr::split_match(n.kind, n.on, n.inputs[0].arity(), passes::side_by_side(n.inputs));
  const Relation left = n.inputs[0].filter(split.left_filter);
  const Relation right = n.inputs[1].filter(split.right_filter);
  const Sides sides{n.kind, left, right, split};
  return split.residual.empty() ? keyed_match(relation, sides, after) : residual_match(relation, sides, after);
}

Result<LirPtr> Lowering::keyed_match(const Relation& relation, const Sides& n, const Mfp& after) {
  ArrangementKey left_key = n.split.left_key;
  ArrangementKey right_key = n.split.right_key;
  // An index serves in its own order of parts.
  for (const auto& [input, own, other] : {std::tuple(&n.left, &left_key, &right_key),
                                          std::tuple(&n.right, &right_key, &left_key)}) {
    const auto* get = input->as<Relation::Get>();
    const auto* global = get == nullptr ? nullptr : std::get_if<expr::GlobalId>(&get->id);
    const auto* index = global == nullptr || options_.literal ? nullptr : indexes_.find(*global, *own);
    if (index == nullptr) continue;
    ArrangementKey aligned;
    for (const Scalar& part : index->key) {
      const auto place = std::find(own->begin(), own->end(), part);
      aligned.push_back((*other)[static_cast<std::size_t>(place - own->begin())]);
    }
    *own = index->key;
    *other = std::move(aligned);
    break;
  }
  LirPtr left = FRESHET_TRY(arranged(n.left, {left_key}));
  LirPtr right = FRESHET_TRY(arranged(n.right, {right_key}));
  return make_lir(Lir::Match{n.kind, std::move(left), std::move(right), std::move(left_key),
                             std::move(right_key), after},
                  after.output_types(relation.type().columns));
}

Result<LirPtr> Lowering::residual_match(const Relation& relation, const Sides& n, const Mfp& after) {
  const std::size_t split = n.left.arity();
  const LocalId ids[2] = {{next_local_++}, {next_local_++}};
  const LocalId pairs_id{next_local_++};
  for (const LocalId id : ids) requested_[id];
  requested_[pairs_id];
  const Relation sides[2] = {Relation::get(ids[0], n.left.type()), Relation::get(ids[1], n.right.type())};
  Classes classes;
  for (std::size_t k = 0; k < n.split.left_key.size(); ++k) {
    classes.push_back({n.split.left_key[k],
                       passes::shifted(n.split.right_key[k], static_cast<std::ptrdiff_t>(split))});
  }
  const Relation joined = Relation::join({sides[0], sides[1]}, classes).filter(n.split.residual);
  const Relation pairs = Relation::get(pairs_id, joined.type());

  // The rows of one side that have, or have not, a partner.
  const auto select = [&](MatchKind kind, std::size_t side) -> Result<LirPtr> {
    const Columns& types = sides[side].type().columns;
    ArrangementKey whole = side == 0 ? n.split.left_key : n.split.right_key;
    for (Scalar& part : expr::null_safe_key(types)) whole.push_back(std::move(part));
    const std::size_t begin = side == 0 ? 0 : split;
    // Distinct of the columns with the types of the side, which decide the key.
    const Relation partners = pairs.project(passes::iota(begin, begin + types.size())).distinct();
    LirPtr left = FRESHET_TRY(arranged(sides[side], {whole}));
    LirPtr right = FRESHET_TRY(lower(partners));
    right = make_lir(Lir::ArrangeBy{std::move(right), {whole}}, types);
    return make_lir(Lir::Match{kind, std::move(left), std::move(right), whole, whole,
                               Mfp::identity(types.size())},
                    types);
  };

  LirPtr body;
  const bool one_sided = n.kind == MatchKind::kSemi || n.kind == MatchKind::kAnti;
  if (one_sided) {
    body = FRESHET_TRY(select(n.kind, 0));
  } else {
    Lir::Union parts;
    parts.inputs.push_back(FRESHET_TRY(lower(pairs)));
    parts.inputs.push_back(with_mfp(FRESHET_TRY(select(MatchKind::kAnti, 0)),
                                    padding(sides[0].type().columns, sides[1].type().columns, true)));
    if (n.kind == MatchKind::kFull) {
      parts.inputs.push_back(with_mfp(FRESHET_TRY(select(MatchKind::kAnti, 1)),
                                      padding(sides[1].type().columns, sides[0].type().columns, false)));
    }
    body = make_lir(std::move(parts), relation.type().columns);
  }
  body = with_mfp(std::move(body), after);

  const auto bind = [&](LocalId id, LirPtr value, LirPtr rest) {
    std::vector<ArrangementKey> wanted = std::move(requested_[id]);
    requested_.erase(id);
    if (!wanted.empty()) {
      Columns types = value->types;
      value = make_lir(Lir::ArrangeBy{std::move(value), std::move(wanted)}, std::move(types));
    }
    Columns types = rest->types;
    return make_lir(Lir::Let{id, std::move(value), std::move(rest)}, std::move(types));
  };
  LirPtr pairs_value = FRESHET_TRY(lower(joined));
  body = bind(pairs_id, std::move(pairs_value), std::move(body));
  for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
    LirPtr value = FRESHET_TRY(lower(side == 0 ? n.left : n.right));
    body = bind(ids[side], std::move(value), std::move(body));
  }
  return body;
}

}  // namespace freshet::sql::physical
