// SPDX-License-Identifier: Apache-2.0
// Columns that nobody uses are dropped as early as may be.
#include <algorithm>
#include <map>

#include <freshet/expr/match_keys.h>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

using expr::MatchKind;
using Wanted = std::vector<std::size_t>;  // in the order wanted, may repeat

std::set<std::size_t> as_set(const Wanted& wanted) { return {wanted.begin(), wanted.end()}; }

void add_columns(std::set<std::size_t>& to, const Scalar& scalar) { to.merge(scalar.columns()); }
void add_columns(std::set<std::size_t>& to, const std::vector<Scalar>& scalars) {
  for (const Scalar& scalar : scalars) add_columns(to, scalar);
}

/// The old columns that stay, and where each one is now.
struct Kept {
  Wanted columns;
  std::vector<std::size_t> place;  // SIZE_MAX: gone
  Kept(const std::set<std::size_t>& used, std::size_t arity)
      : columns(used.begin(), used.end()), place(arity, SIZE_MAX) {
    for (std::size_t i = 0; i < columns.size(); ++i) place[columns[i]] = i;
  }
  [[nodiscard]] Wanted places(const Wanted& wanted) const {
    Wanted out;
    for (const std::size_t c : wanted) out.push_back(place[c]);
    return out;
  }
  [[nodiscard]] std::vector<Scalar> moved(const std::vector<Scalar>& scalars) const {
    std::vector<Scalar> out;
    for (const Scalar& scalar : scalars) out.push_back(scalar.with_columns(place));
    return out;
  }
};

class Pruner {
 public:
  /// The wanted columns of the relation.
  Relation narrow(const Relation& relation, const Wanted& wanted) {
    return std::visit([&](const auto& n) { return node(n, relation, wanted); }, relation.node());
  }
  Relation all(const Relation& relation) { return narrow(relation, iota(0, relation.arity())); }

 private:
  Relation node(const Relation::Constant& n, const Relation& relation, const Wanted& wanted) {
    const Relation projected = relation.project(wanted);
    if (projected.as<Relation::Project>() == nullptr) return projected;
    if (n.error) return Relation::failed(*n.error, projected.type());
    std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
    for (const auto& [row, diff] : n.rows) {
      repr::DatumRow narrowed;
      for (const std::size_t c : wanted) narrowed.push_back(row[c]);
      rows.emplace_back(std::move(narrowed), diff);
    }
    return Relation::constant(std::move(rows), projected.type());
  }

  Relation node(const Relation::Get& n, const Relation& relation, const Wanted& wanted) {
    if (const auto* local = std::get_if<LocalId>(&n.id)) {
      auto& used = locals_[*local];
      used.insert(wanted.begin(), wanted.end());
    }
    return relation.project(wanted);
  }

  Relation node(const Relation::Let& n, const Relation&, const Wanted& wanted) {
    locals_.erase(n.id);
    const Relation body = narrow(n.parts[1], wanted);
    const Kept kept(locals_[n.id], n.parts[0].arity());
    if (kept.columns.size() == n.parts[0].arity()) return Relation::let(n.id, all(n.parts[0]), body);
    Relation value = narrow(n.parts[0], kept.columns);
    return Relation::let(n.id, value, with_narrow_local(body, n.id, value, kept));
  }

  /// The Gets of a local stand below projections of what is wanted of them; their columns moved.
  static Relation with_narrow_local(const Relation& body, LocalId id, const Relation& value, const Kept& kept) {
    const Relation get = Relation::get(id, value.type());
    const auto reads = [&](const Relation& r) {
      const auto* n = r.as<Relation::Get>();
      return n != nullptr && n->id == std::variant<expr::GlobalId, LocalId>(id) &&
             r.arity() == kept.place.size();
    };
    // Bottom-up, the Get comes before its projection: both are replaced when the projection comes.
    return body.transform([&](Relation r) {
      const auto* project = r.as<Relation::Project>();
      if (project == nullptr || !reads(project->input[0])) return r;
      return get.project(kept.places(project->columns));
    });
  }

  Relation node(const Relation::LetRec& n, const Relation&, const Wanted& wanted) {
    std::vector<Relation> values;
    for (std::size_t i = 0; i < n.ids.size(); ++i) values.push_back(all(n.parts[i]));
    Relation body = narrow(n.parts.back(), wanted);
    return Relation::let_rec(n.ids, std::move(values), std::move(body), n.limit, n.return_at_limit);
  }

  Relation node(const Relation::Project& n, const Relation&, const Wanted& wanted) {
    Wanted below;
    for (const std::size_t c : wanted) below.push_back(n.columns[c]);
    const Kept kept(as_set(below), n.input[0].arity());
    return narrow(n.input[0], kept.columns).project(kept.places(below));
  }

  Relation node(const Relation::Map& n, const Relation& relation, const Wanted& wanted) {
    const std::size_t before = n.input[0].arity();
    std::set<std::size_t> used = as_set(wanted);
    for (std::size_t e = n.expressions.size(); e-- > 0;) {
      if (used.contains(before + e)) add_columns(used, n.expressions[e]);
    }
    const Kept kept(used, relation.arity());
    Wanted inputs;
    std::vector<Scalar> expressions;
    for (const std::size_t c : kept.columns) {
      if (c < before) inputs.push_back(c);
      else expressions.push_back(n.expressions[c - before].with_columns(kept.place));
    }
    return narrow(n.input[0], inputs).map(std::move(expressions)).project(kept.places(wanted));
  }

  Relation node(const Relation::Filter& n, const Relation& relation, const Wanted& wanted) {
    std::set<std::size_t> used = as_set(wanted);
    add_columns(used, n.predicates);
    const Kept kept(used, relation.arity());
    return narrow(n.input[0], kept.columns).filter(kept.moved(n.predicates)).project(kept.places(wanted));
  }

  Relation node(const Relation::FlatMap& n, const Relation& relation, const Wanted& wanted) {
    const std::size_t before = n.input[0].arity();
    std::set<std::size_t> used = as_set(wanted);
    add_columns(used, n.arguments);
    for (std::size_t c = before; c < relation.arity(); ++c) used.insert(c);
    const Kept kept(used, relation.arity());
    Wanted inputs;
    for (const std::size_t c : kept.columns) {
      if (c < before) inputs.push_back(c);
    }
    return narrow(n.input[0], inputs)
        .flat_map(n.function, kept.moved(n.arguments), n.with_ordinality)
        .project(kept.places(wanted));
  }

  Relation node(const Relation::Join& n, const Relation& relation, const Wanted& wanted) {
    std::set<std::size_t> used = as_set(wanted);
    for (const auto& members : n.equivalences) add_columns(used, members);
    const Kept kept(used, relation.arity());
    std::vector<Relation> inputs;
    for (const Span span : input_spans(n.inputs)) {
      Wanted own;
      for (const std::size_t c : kept.columns) {
        if (span.contains(c)) own.push_back(c - span.begin);
      }
      inputs.push_back(narrow(n.inputs[inputs.size()], own));
    }
    std::vector<std::vector<Scalar>> classes;
    for (const auto& members : n.equivalences) classes.push_back(kept.moved(members));
    return Relation::join(std::move(inputs), std::move(classes)).project(kept.places(wanted));
  }

  /// A left join whose right side shows nothing and matches at most once.
  static bool right_is_idle(const Relation::Match& n, const std::set<std::size_t>& wanted) {
    const std::size_t split = n.inputs[0].arity();
    if (n.kind != MatchKind::kLeft || (!wanted.empty() && *wanted.rbegin() >= split)) return false;
    const expr::MatchKeys keys = expr::split_on(n.on, split, side_by_side(n.inputs));
    if (!keys.residual.empty()) return false;
    std::set<std::size_t> fixed;
    for (const auto& [l, r] : keys.pairs) {
      if (const auto* column = r.as<Scalar::Column>()) fixed.insert(column->index);
    }
    const auto& unique = n.inputs[1].type().keys;
    return std::any_of(unique.begin(), unique.end(), [&](const auto& key) {
      return std::all_of(key.begin(), key.end(), [&](std::size_t c) { return fixed.contains(c); });
    });
  }

  Relation node(const Relation::Match& n, const Relation&, const Wanted& wanted) {
    const std::vector<Span> spans = input_spans(n.inputs);
    std::set<std::size_t> used = as_set(wanted);
    if (right_is_idle(n, used)) return narrow(n.inputs[0], wanted);
    add_columns(used, n.on);
    const Kept kept(used, spans[1].end);
    Wanted own[2];
    for (const std::size_t c : kept.columns) {
      const std::size_t side = spans[0].contains(c) ? 0 : 1;
      own[side].push_back(c - spans[side].begin);
    }
    return Relation::match(n.kind, narrow(n.inputs[0], own[0]), narrow(n.inputs[1], own[1]),
                           kept.moved(n.on))
        .project(kept.places(wanted));
  }

  Relation node(const Relation::Reduce& n, const Relation& relation, const Wanted& wanted) {
    const std::set<std::size_t> outputs = as_set(wanted);
    const std::size_t keys = n.group_key.size();
    std::set<std::size_t> used;
    std::set<std::size_t> stays;
    for (std::size_t k = 0; k < keys; ++k) stays.insert(k);
    add_columns(used, n.group_key);
    for (std::size_t a = 0; a < n.aggregates.size(); ++a) {
      if (!outputs.contains(keys + a)) continue;
      stays.insert(keys + a);
      add_columns(used, n.aggregates[a].arguments);
      if (n.aggregates[a].filter) add_columns(used, *n.aggregates[a].filter);
      for (const auto& by : n.aggregates[a].order_by) add_columns(used, by.expression);
    }
    const Kept input(used, n.input[0].arity());
    std::vector<expr::Aggregate> aggregates;
    for (std::size_t a = 0; a < n.aggregates.size(); ++a) {
      if (!stays.contains(keys + a)) continue;
      expr::Aggregate aggregate = n.aggregates[a];
      aggregate.arguments = input.moved(aggregate.arguments);
      if (aggregate.filter) aggregate.filter = aggregate.filter->with_columns(input.place);
      for (auto& by : aggregate.order_by) by.expression = by.expression.with_columns(input.place);
      aggregates.push_back(std::move(aggregate));
    }
    const Kept kept(stays, relation.arity());
    return narrow(n.input[0], input.columns)
        .reduce(input.moved(n.group_key), std::move(aggregates))
        .project(kept.places(wanted));
  }

  // Ties are broken by all columns, unless the order and the group leave none.
  Relation node(const Relation::TopK& n, const Relation& relation, const Wanted& wanted) {
    std::set<std::size_t> decides(n.group_key.begin(), n.group_key.end());
    for (const expr::ColumnOrder& by : n.order) decides.insert(by.column);
    const auto& unique = n.input[0].type().keys;
    const bool no_ties = std::any_of(unique.begin(), unique.end(), [&](const auto& key) {
      return std::all_of(key.begin(), key.end(), [&](std::size_t c) { return decides.contains(c); });
    });
    if (!no_ties) return all(n.input[0]).top_k(n.group_key, n.order, n.limit, n.offset).project(wanted);
    std::set<std::size_t> used = as_set(wanted);
    used.insert(decides.begin(), decides.end());
    const Kept kept(used, relation.arity());
    std::vector<expr::ColumnOrder> order = n.order;
    for (expr::ColumnOrder& by : order) by.column = kept.place[by.column];
    const std::optional<Scalar> limit =
        n.limit ? std::optional(n.limit->with_columns(kept.place)) : std::nullopt;
    return narrow(n.input[0], kept.columns)
        .top_k(kept.places(n.group_key), std::move(order), limit, n.offset)
        .project(kept.places(wanted));
  }

  Relation node(const Relation::Negate& n, const Relation&, const Wanted& wanted) {
    return narrow(n.input[0], wanted).negate();
  }
  Relation node(const Relation::Threshold& n, const Relation&, const Wanted& wanted) {
    return all(n.input[0]).threshold().project(wanted);
  }
  Relation node(const Relation::Union& n, const Relation&, const Wanted& wanted) {
    std::vector<Relation> inputs;
    for (const Relation& input : n.inputs) inputs.push_back(narrow(input, wanted));
    return Relation::union_all(std::move(inputs));
  }

  std::map<LocalId, std::set<std::size_t>> locals_;
};

}  // namespace

Relation prune_columns(const Relation& relation) { return Pruner().all(relation); }

}  // namespace freshet::sql::passes
