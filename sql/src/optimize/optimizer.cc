// SPDX-License-Identifier: Apache-2.0
#include <freshet/sql/optimizer.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include <freshet/base/sqlstate.h>

#include "passes.h"
#include "rewrite.h"

namespace freshet::sql {

using expr::Relation;
using expr::Scalar;

const std::vector<IndexOracle::Index>& IndexOracle::on(expr::GlobalId id) const {
  static const std::vector<Index> none;
  const auto found = indexes.find(id);
  return found == indexes.end() ? none : found->second;
}

const IndexOracle::Index* IndexOracle::find(expr::GlobalId id, const expr::ArrangementKey& key) const {
  for (const Index& index : on(id)) {
    if (index.key.size() == key.size() && std::is_permutation(key.begin(), key.end(), index.key.begin())) {
      return &index;
    }
  }
  return nullptr;
}

namespace passes {
namespace {

#ifdef FRESHET_DEBUG
constexpr bool kAlwaysTypecheck = true;
#else
constexpr bool kAlwaysTypecheck = false;
#endif

/// Nodes and the nodes of their scalars.
std::size_t measure(const Relation& relation, std::size_t limit) {
  std::size_t size = 0;
  const auto add = [&](const std::vector<Scalar>& scalars) {
    for (const Scalar& scalar : scalars) size += size_of(scalar);
  };
  std::vector<const Relation*> stack{&relation};
  while (!stack.empty() && size <= limit) {
    const Relation& r = *stack.back();
    stack.pop_back();
    size += 1 + r.arity() / 8;
    if (const auto* n = r.as<Relation::Map>()) add(n->expressions);
    if (const auto* n = r.as<Relation::Filter>()) add(n->predicates);
    if (const auto* n = r.as<Relation::Match>()) add(n->on);
    if (const auto* n = r.as<Relation::Reduce>()) add(n->group_key);
    if (const auto* n = r.as<Relation::Join>()) {
      for (const auto& members : n->equivalences) add(members);
    }
    for (const Relation& child : r.children()) stack.push_back(&child);
  }
  return size;
}

class Driver {
 public:
  explicit Driver(const OptimizerOptions& options) : folding_(options), context_{options, folding_} {}

  Result<Relation> run(const Relation& relation) {
    plan_ = relation;
    if (auto fits = check("input"); !fits) return fail(fits.error());
    for (std::size_t round = 0; round < context_.options.max_rounds; ++round) {
      const Relation before = *plan_;
      if (auto done = one_round(); !done) return fail(done.error());
      if (*plan_ == before) break;
    }
    if (auto done = last_round(); !done) return fail(done.error());
    return *plan_;
  }

 private:
  Result<void> one_round() {
    return in_order({
        {"normalize_lets", [&](const Relation& r) { return normalize_lets(r, context_); }},
        {"simplify", [&](const Relation& r) { return simplify(r, context_); }},
        {"simplify_outer_joins", simplify_outer_joins},
        {"push_predicates", [&](const Relation& r) { return push_predicates(r, context_); }},
        {"fuse_joins", fuse_joins},
        {"propagate_equalities", [&](const Relation& r) { return propagate_equalities(r, context_); }},
        {"remove_redundant_joins", remove_redundant_joins},
        {"simplify_reduces", [&](const Relation& r) { return simplify_reduces(r, context_); }},
        {"simplify_unions", [&](const Relation& r) { return simplify_unions(r, context_); }},
        {"prune_columns", prune_columns},
    });
  }

  Result<void> last_round() {
    return in_order({
        {"share_subtrees", [&](const Relation& r) { return share_subtrees(r, context_); }},
        {"normalize_lets", [&](const Relation& r) { return normalize_lets(r, context_); }},
        {"prune_columns", prune_columns},
        {"simplify", [&](const Relation& r) { return simplify(r, context_); }},
    });
  }

  struct Pass {
    std::string_view name;
    std::function<Relation(const Relation&)> run;
  };
  Result<void> in_order(const std::vector<Pass>& passes) {
    for (const Pass& pass : passes) {
      plan_ = pass.run(*plan_);
      if (auto fits = check(pass.name); !fits) return fits;
    }
    return {};
  }

  Result<void> check(std::string_view pass) {
    const OptimizerOptions& options = context_.options;
    if (auto stop = folding_.stop()) return fail(*std::move(stop));
    if (plan_->depth() > options.max_depth) return fail(sqlstate::kStatementTooComplex, "plan is too deep");
    if (measure(*plan_, options.max_size) > options.max_size) {
      return fail(sqlstate::kProgramLimitExceeded, "plan is too large");
    }
    if (!kAlwaysTypecheck && !options.typecheck) return {};
    auto fits = typecheck(*plan_);
    if (fits) return fits;
    Error error = fits.error();
    error.message = "after " + std::string(pass) + ": " + error.message;
    return fail(std::move(error));
  }

  Folding folding_;
  Context context_;
  std::optional<Relation> plan_;
};

}  // namespace
}  // namespace passes

Result<Relation> optimize(const Relation& relation, const OptimizerOptions& options) {
  return passes::Driver(options).run(relation);
}

}  // namespace freshet::sql
