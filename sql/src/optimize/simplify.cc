// SPDX-License-Identifier: Apache-2.0
// Simplifies scalars in place, fuses neighbours, folds constants and carries emptiness upward.
#include <algorithm>

#include <freshet/expr/naive.h>
#include <freshet/repr/row.h>

#include "rewrite.h"
#include "scalar_rules.h"

namespace freshet::sql::passes {
namespace {

using expr::MatchKind;

std::vector<Scalar> simplify_all(const std::vector<Scalar>& scalars, Folding& folding) {
  std::vector<Scalar> out;
  out.reserve(scalars.size());
  for (const Scalar& scalar : scalars) out.push_back(simplify_scalar(scalar, folding));
  return out;
}

bool varies(const Scalar& scalar) {
  bool found = scalar.contains_mz_now();
  scalar.visit([&](const Scalar& s) {
    found = found || s.as<Scalar::Parameter>() != nullptr || s.as<Scalar::SessionValue>() != nullptr;
  });
  return found;
}

bool varies(const std::vector<Scalar>& scalars) {
  return std::any_of(scalars.begin(), scalars.end(), [](const Scalar& s) { return varies(s); });
}

bool node_varies(const Relation& relation) {
  if (const auto* n = relation.as<Relation::Map>()) return varies(n->expressions);
  if (const auto* n = relation.as<Relation::Filter>()) return varies(n->predicates);
  if (const auto* n = relation.as<Relation::FlatMap>()) return varies(n->arguments);
  if (const auto* n = relation.as<Relation::Match>()) return varies(n->on);
  if (const auto* n = relation.as<Relation::TopK>()) return n->limit && varies(*n->limit);
  if (const auto* n = relation.as<Relation::Join>()) {
    return std::any_of(n->equivalences.begin(), n->equivalences.end(),
                       [](const auto& members) { return varies(members); });
  }
  if (const auto* n = relation.as<Relation::Reduce>()) {
    if (varies(n->group_key)) return true;
    for (const expr::Aggregate& aggregate : n->aggregates) {
      if (varies(aggregate.arguments) || (aggregate.filter && varies(*aggregate.filter))) return true;
      for (const auto& by : aggregate.order_by) {
        if (varies(by.expression)) return true;
      }
    }
  }
  return relation.as<Relation::Let>() != nullptr || relation.as<Relation::LetRec>() != nullptr;
}

/// The rows of a node over constants, if it has no errors and they are few.
Relation fold_constants(const Relation& relation, const Context& context) {
  const auto children = relation.children();
  if (children.empty() || node_varies(relation)) return relation;
  std::size_t total = 0;
  for (const Relation& child : children) {
    const auto* rows = as_rows(child);
    if (rows == nullptr) return relation;
    total += rows->rows.size();
  }
  const std::size_t most = context.options.max_constant_rows;
  Folding& folding = context.folding;
  if (total > most || !folding.may_try(relation.hash())) return relation;
  const auto result = expr::evaluate_naive(relation, {}, {.max_rows = 4 * most, .max_bytes = folding.most()});
  if (!result || !result->errs.empty() || result->oks.size() > most) {
    folding.give_up(relation.hash());
    return relation;
  }
  std::size_t size = 0;
  for (const auto& [bytes, diff] : result->oks) size += bytes.size();
  if (!folding.takes(relation.hash(), size)) return relation;
  std::vector<repr::SqlType> types;
  for (const auto& column : relation.type().columns) types.push_back(column.type);
  const repr::RowCodec codec(std::move(types));
  std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
  for (const auto& [bytes, diff] : result->oks) {
    auto row = codec.decode_row(bytes);
    FRESHET_ASSERT(row.has_value());
    rows.emplace_back(*std::move(row), diff);
  }
  return Relation::constant(std::move(rows), relation.type());
}

Relation simplify_filter(const Relation& relation, const Relation::Filter& n, Folding& folding) {
  std::vector<Scalar> kept;
  for (Scalar& predicate : conjuncts(simplify_all(n.predicates, folding))) {
    if (const auto* literal = predicate.as<Scalar::Literal>()) {
      if (literal->value.is_null() || !literal->value.get<bool>()) return empty_like(relation);
      continue;
    }
    kept.push_back(std::move(predicate));
  }
  kept = distinct(std::move(kept));
  const Relation& input = n.input[0];
  const auto* inner = input.as<Relation::Filter>();
  if (inner == nullptr || kept.empty()) return input.filter(std::move(kept));
  std::vector<Scalar> both = inner->predicates;
  both.insert(both.end(), kept.begin(), kept.end());
  return inner->input[0].filter(distinct(std::move(both)));
}

Relation simplify_map(const Relation::Map& n, Folding& folding) {
  std::vector<Scalar> expressions = simplify_all(n.expressions, folding);
  const Relation& input = n.input[0];
  const std::size_t before = input.arity();
  // Bare columns only: a projection.
  std::vector<std::size_t> columns = iota(0, before);
  for (const Scalar& expression : expressions) {
    const auto* column = expression.as<Scalar::Column>();
    if (column == nullptr) break;
    columns.push_back(columns[column->index]);
  }
  if (columns.size() == before + expressions.size()) return input.project(std::move(columns));
  if (const auto* inner = input.as<Relation::Map>()) {
    std::vector<Scalar> all = inner->expressions;
    all.insert(all.end(), expressions.begin(), expressions.end());
    return inner->input[0].map(std::move(all));
  }
  return input.map(std::move(expressions));
}

Relation simplify_project(const Relation::Project& n) {
  const Relation& input = n.input[0];
  if (is_empty(input)) return Relation::empty(repr::RelationType{input.project(n.columns).type().columns, {}});
  const auto* inner = input.as<Relation::Project>();
  if (inner == nullptr) return input.project(n.columns);
  std::vector<std::size_t> columns;
  for (const std::size_t column : n.columns) columns.push_back(inner->columns[column]);
  return inner->input[0].project(std::move(columns));
}

Relation simplify_union(const Relation& relation, const Relation::Union& n) {
  std::vector<Relation> kept;
  for (const Relation& input : n.inputs) {
    if (is_empty(input)) continue;
    if (const auto* nested = input.as<Relation::Union>()) {
      kept.insert(kept.end(), nested->inputs.begin(), nested->inputs.end());
    } else {
      kept.push_back(input);
    }
  }
  if (kept.empty()) return empty_like(relation);
  return Relation::union_all(std::move(kept));
}

Relation padded(const Relation& input, const Columns& nulls, bool behind) {
  std::vector<Scalar> expressions;
  for (const auto& column : nulls) expressions.push_back(Scalar::null(column.type));
  const std::size_t arity = input.arity();
  const Relation mapped = input.map(std::move(expressions));
  if (behind) return mapped;
  std::vector<std::size_t> columns = iota(arity, arity + nulls.size());
  for (std::size_t c = 0; c < arity; ++c) columns.push_back(c);
  return mapped.project(std::move(columns));
}

Relation simplify_match(const Relation& relation, const Relation::Match& n, Folding& folding) {
  const Relation& left = n.inputs[0];
  const Relation& right = n.inputs[1];
  const auto on = conjuncts(simplify_all(n.on, folding));
  std::vector<Scalar> kept;
  bool never = is_empty(right);
  for (const Scalar& predicate : on) {
    if (const auto* literal = predicate.as<Scalar::Literal>()) {
      never = never || literal->value.is_null() || !literal->value.get<bool>();
    } else {
      kept.push_back(predicate);
    }
  }
  if (is_empty(left)) {
    if (n.kind != MatchKind::kFull) return empty_like(relation);
    return padded(right, left.type().columns, false);
  }
  if (never) {
    switch (n.kind) {
      case MatchKind::kSemi:
        return empty_like(relation);
      case MatchKind::kAnti:
        return left;
      case MatchKind::kLeft:
        return padded(left, right.type().columns, true);
      case MatchKind::kFull:
        if (is_empty(right)) return padded(left, right.type().columns, true);
        return Relation::union_all({padded(left, right.type().columns, true),
                                    padded(right, left.type().columns, false)});
    }
  }
  return Relation::match(n.kind, left, right, std::move(kept));
}

Relation simplify_reduce(const Relation& relation, const Relation::Reduce& n, Folding& folding) {
  if (is_empty(n.input[0])) return empty_like(relation);
  std::vector<expr::Aggregate> aggregates = n.aggregates;
  for (expr::Aggregate& aggregate : aggregates) {
    aggregate.arguments = simplify_all(aggregate.arguments, folding);
    if (aggregate.filter) aggregate.filter = simplify_scalar(*aggregate.filter, folding);
    if (aggregate.filter && *aggregate.filter == Scalar::boolean(true)) aggregate.filter.reset();
    for (auto& by : aggregate.order_by) by.expression = simplify_scalar(by.expression, folding);
  }
  return n.input[0].reduce(simplify_all(n.group_key, folding), std::move(aggregates));
}

Relation simplify_top_k(const Relation& relation, const Relation::TopK& n, Folding& folding) {
  if (is_empty(n.input[0])) return empty_like(relation);
  std::optional<Scalar> limit = n.limit ? std::optional(simplify_scalar(*n.limit, folding)) : std::nullopt;
  if (limit) {
    if (const auto* literal = limit->as<Scalar::Literal>()) {
      if (literal->value.is_null()) limit.reset();
      else if (literal->value.get<std::int64_t>() == 0) return empty_like(relation);
    }
  }
  // Without a limit it is the identity for non-negative inputs, and an error otherwise: left to simplify_unions.
  return n.input[0].top_k(n.group_key, n.order, std::move(limit), n.offset);
}

Relation simplify_join(const Relation& relation, const Relation::Join& n, Folding& folding) {
  if (std::any_of(n.inputs.begin(), n.inputs.end(), is_empty)) return empty_like(relation);
  std::vector<std::vector<Scalar>> classes;
  for (const auto& members : n.equivalences) {
    std::vector<Scalar> kept = distinct(simplify_all(members, folding));
    if (std::any_of(kept.begin(), kept.end(), [](const Scalar& s) {
          const auto* literal = s.as<Scalar::Literal>();
          return literal != nullptr && literal->value.is_null();
        })) {
      return empty_like(relation);
    }
    // Alone, a member only has to have a value.
    if (kept.size() == 1 && !kept[0].type().nullable && !kept[0].can_fail()) continue;
    if (!kept.empty()) classes.push_back(std::move(kept));
  }
  return Relation::join(n.inputs, std::move(classes));
}

Relation simplify_node(const Relation& relation, Folding& folding) {
  if (const auto* n = relation.as<Relation::Filter>()) {
    return is_empty(n->input[0]) ? n->input[0] : simplify_filter(relation, *n, folding);
  }
  if (const auto* n = relation.as<Relation::Map>()) {
    return is_empty(n->input[0]) ? empty_like(relation) : simplify_map(*n, folding);
  }
  if (const auto* n = relation.as<Relation::Project>()) return simplify_project(*n);
  if (const auto* n = relation.as<Relation::FlatMap>()) {
    if (is_empty(n->input[0])) return empty_like(relation);
    return n->input[0].flat_map(n->function, simplify_all(n->arguments, folding), n->with_ordinality);
  }
  if (const auto* n = relation.as<Relation::Union>()) return simplify_union(relation, *n);
  if (const auto* n = relation.as<Relation::Match>()) return simplify_match(relation, *n, folding);
  if (const auto* n = relation.as<Relation::Reduce>()) return simplify_reduce(relation, *n, folding);
  if (const auto* n = relation.as<Relation::TopK>()) return simplify_top_k(relation, *n, folding);
  if (const auto* n = relation.as<Relation::Join>()) return simplify_join(relation, *n, folding);
  if (const auto* n = relation.as<Relation::Negate>()) {
    if (is_empty(n->input[0])) return n->input[0];
    if (const auto* inner = n->input[0].as<Relation::Negate>()) return inner->input[0];
  }
  if (const auto* n = relation.as<Relation::Threshold>()) {
    if (is_empty(n->input[0]) || n->input[0].as<Relation::Threshold>() != nullptr) return n->input[0];
  }
  return relation;
}

}  // namespace

Relation simplify(const Relation& relation, const Context& context) {
  return relation.transform([&](Relation r) { return fold_constants(simplify_node(r, context.folding), context); });
}

}  // namespace freshet::sql::passes
