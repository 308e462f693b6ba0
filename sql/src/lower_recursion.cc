// SPDX-License-Identifier: Apache-2.0
// Recursive queries: correlated ones carry the outer row's columns through the recursion; what a recursion does
// not change is taken out of it, with any recursion of its own.
#include <algorithm>
#include <functional>
#include <set>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"
#include "lower.h"

namespace freshet::sql {
namespace {

using expr::LocalId;
using expr::Relation;
using Kind = HirScalar::Kind;
using RKind = HirRelation::Kind;

bool has_recursion(const Relation& relation) {
  bool found = false;
  relation.visit([&](const Relation& r) { found = found || r.as<Relation::LetRec>() != nullptr; });
  return found;
}

/// Takes recursions that do not use `open` out of a part of a recursion over `open`, with the Lets they use.
class Hoister {
 public:
  Hoister(std::set<LocalId> open, std::function<LocalId()> fresh) : open_(std::move(open)), fresh_(std::move(fresh)) {}

  Relation run(const Relation& relation) {
    if (!has_recursion(relation)) return relation;
    if (const auto* let = relation.as<Relation::Let>()) {
      Relation value = run(let->parts[0]);
      if (is_fixed(value)) {
        taken_.emplace_back(let->id, std::move(value));
        return run(let->parts[1]);
      }
      open_.insert(let->id);
      return Relation::let(let->id, std::move(value), run(let->parts[1]));
    }
    if (relation.as<Relation::LetRec>() != nullptr) {
      if (!is_fixed(relation)) return relation;
      const LocalId id = fresh_();
      taken_.emplace_back(id, relation);
      return Relation::get(id, relation.type());
    }
    std::vector<Relation> children;
    for (const Relation& child : relation.children()) children.push_back(run(child));
    return relation.with_children(std::move(children));
  }

  Relation around(Relation body) const {
    for (auto taken = taken_.rbegin(); taken != taken_.rend(); ++taken) {
      body = Relation::let(taken->first, taken->second, std::move(body));
    }
    return body;
  }

 private:
  bool is_fixed(const Relation& relation) const {
    bool fixed = true;
    relation.visit([&](const Relation& r) {
      const auto* get = r.as<Relation::Get>();
      const auto* id = get == nullptr ? nullptr : std::get_if<LocalId>(&get->id);
      fixed = fixed && (id == nullptr || !open_.contains(*id));
    });
    return fixed;
  }

  std::set<LocalId> open_;
  std::function<LocalId()> fresh_;
  std::vector<std::pair<LocalId, Relation>> taken_;
};

/// The two are equal or both NULL; `b` says whether it can be.
HirScalarPtr same_value(HirScalarPtr a, HirScalarPtr b) {
  const repr::SqlType type = a->type.type.without_typmod();
  if (!b->type.nullable) {
    for (const expr::FunctionSpec* spec : expr::operators_named("=")) {
      const bool fits = std::ranges::all_of(spec->arguments, [&](const expr::ArgumentType& argument) {
        return argument.kind == expr::ArgumentType::Kind::kConcrete && argument.type.without_typmod() == type;
      });
      if (fits && spec->arguments.size() == 2) return hir::call(spec, {std::move(a), std::move(b)});
    }
  }
  return hir::call(expr::functions_named("is_not_distinct_from").front(), {std::move(a), std::move(b)});
}

}  // namespace

Result<Relation> Lowering::let_rec(const HirRelation& r, const Environment& env) {
  const auto values_end = r.inputs.begin() + static_cast<std::ptrdiff_t>(r.locals.size());
  if (std::any_of(r.inputs.begin(), values_end, [](const HirRelationPtr& value) { return is_correlated(*value); })) {
    return shared(*env.rows, [&](const Relation& rows) { return correlated_let_rec(r, env, rows); });
  }
  std::vector<LocalId> ids;
  for (std::size_t i = 0; i < r.locals.size(); ++i) {
    ids.push_back(fresh());
    repr::RelationType type{.columns = r.inputs[i]->columns};
    // While it grows nothing is known of it.
    for (repr::ColumnType& column : type.columns) column.nullable = true;
    bindings_[r.locals[i]] = {ids.back(), std::move(type)};
  }
  Hoister hoister({ids.begin(), ids.end()}, [this] { return fresh(); });
  std::vector<Relation> values;
  for (std::size_t i = 0; i < r.locals.size(); ++i) {
    values.push_back(hoister.run(FRESHET_TRY(relation(r.inputs[i], {}))));
  }
  Relation body = FRESHET_TRY(relation(r.inputs.back(), env));
  return hoister.around(
      Relation::let_rec(std::move(ids), std::move(values), std::move(body), r.recursion_limit, r.return_at_limit));
}

// The recursion runs for all outer rows at once: each binding gets the columns of the environment in front, its value
// is that of each row of the environment, and a use of it keeps the rows of the outer row at hand.
Result<Relation> Lowering::correlated_let_rec(const HirRelation& r, const Environment& env, const Relation& rows) {
  const std::vector<repr::ColumnType>& outer = rows.type().columns;
  HirRelationPtr environment;
  const auto& get = *rows.as<Relation::Get>();
  if (const auto* global = std::get_if<expr::GlobalId>(&get.id)) {
    environment = hir::get(*global, outer);
  } else {
    // Locals of HIR count up from 1; these come from the other end.
    const std::uint64_t id = ~std::uint64_t{0} - fresh().number;
    bindings_[id] = {std::get<LocalId>(get.id), rows.type()};
    environment = hir::get_local(id, outer);
  }
  HirRelation recursion = r;
  std::vector<HirRelationPtr> uses;  // of each binding, for the outer row one level out
  for (std::size_t i = 0; i < r.locals.size(); ++i) {
    std::vector<repr::ColumnType> columns;
    for (const repr::ColumnType& column : outer) columns.push_back({column.type, true});
    for (const repr::ColumnType& column : r.inputs[i]->columns) columns.push_back({column.type, true});
    std::vector<HirScalarPtr> same;
    for (std::size_t c = 0; c < outer.size(); ++c) {
      same.push_back(same_value(hir::column(0, c, {outer[c].type, true}), hir::column(1, c, outer[c])));
    }
    HirRelationPtr all = hir::get_local(r.locals[i], columns);
    uses.push_back(hir::project(hir::filter(std::move(all), std::move(same)), iota(outer.size(), columns.size())));
  }
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    HirRelationPtr part = hir::rewrite(r.inputs[i], 0, [&](const HirScalarPtr& node, std::size_t depth) -> HirScalarPtr {
      if (node->kind != Kind::kColumn || node->level <= depth) return nullptr;
      return hir::column(depth + 1, env.places[node->level - depth - 1].at(node->index), node->type);
    });
    for (std::size_t u = 0; u < uses.size(); ++u) part = substitute_local(part, r.locals[u], uses[u], 0);
    const bool is_body = i == r.locals.size();
    recursion.inputs[i] = hir::join(HirJoinKind::kInner, environment, std::move(part), {}, true);
    if (is_body) recursion.columns = recursion.inputs[i]->columns;
  }
  return let_rec(recursion, {});
}

}  // namespace freshet::sql
