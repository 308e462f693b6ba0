// SPDX-License-Identifier: Apache-2.0
/// The passes of the optimizer, each in its file; `optimizer.cc` orders them.
#pragma once

#include <optional>
#include <set>
#include <unordered_set>

#include <freshet/sql/optimizer.h>

namespace freshet::sql::passes {

using expr::LocalId;
using expr::Relation;
using expr::Scalar;

/// What folding of constants may still cost, and what it gave up, so that nothing large is computed twice.
class Folding {
 public:
  explicit Folding(const OptimizerOptions& options)
      : interrupt_(options.interrupt), most_(options.max_constant_bytes), left_(options.max_folded_bytes) {}
  /// By hash: one that is taken for another is left to execution, no more.
  [[nodiscard]] bool may_try(std::size_t hash) { return left_ > 0 && !given_up_.contains(hash) && !stop(); }
  /// The error that ends planning, once it shall end.
  std::optional<Error> stop() {
    if (!stop_ && interrupt_) stop_ = interrupt_();
    return stop_;
  }
  void give_up(std::size_t hash) { given_up_.insert(hash); }
  /// Counts a value that was computed; false if it is too large to stay in the plan.
  bool takes(std::size_t hash, std::size_t bytes);
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  const Interrupt& interrupt_;
  std::optional<Error> stop_{};
  std::size_t most_;
  std::size_t left_;
  std::unordered_set<std::size_t> given_up_{};
};

struct Context {
  const OptimizerOptions& options;
  Folding& folding;
  /// Locals whose collections can have no negative counts.
  std::set<LocalId> non_negative{};
  /// Larger than every local id of the plan.
  std::uint64_t next_local = 0;
};

/// Inlines locals used once or cheap to repeat, drops unused ones; fills what Context says of locals.
Relation normalize_lets(const Relation& relation, Context& context);
/// Scalars simplified, constants folded, neighbouring nodes fused, empty inputs carried upward.
Relation simplify(const Relation& relation, const Context& context);
/// Outer joins whose padded rows cannot survive become inner ones.
Relation simplify_outer_joins(const Relation& relation);
/// Predicates move to where their columns come from; equalities become equivalences of joins.
Relation push_predicates(const Relation& relation, const Context& context);
/// Nested inner joins become one; projections, maps, filters between them and constants among them move up.
Relation fuse_joins(const Relation& relation);
/// Classes are merged; what is equal to a literal is so in every input.
Relation propagate_equalities(const Relation& relation, const Context& context);
/// Inputs that repeat another one by its key go.
Relation remove_redundant_joins(const Relation& relation);
/// Columns that nobody uses are dropped as early as may be.
Relation prune_columns(const Relation& relation);
/// Reduces of unique keys become maps; repeated and constant keys and aggregates go.
Relation simplify_reduces(const Relation& relation, const Context& context);
/// A + (-A) cancels; thresholds of what cannot be negative go.
Relation simplify_unions(const Relation& relation, const Context& context);
/// Repeated subtrees are computed once.
Relation share_subtrees(const Relation& relation, Context& context);

}  // namespace freshet::sql::passes
