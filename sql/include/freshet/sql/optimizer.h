// SPDX-License-Identifier: Apache-2.0
/// The optimizer: relations to relations that mean the same and cost less.
///
/// "The same" is rule (a) of error handling: rows are equal wherever the unoptimised plan has no error in
/// scope; errors of values that nobody uses may vanish; none is ever added. So an expression that may fail
/// is never evaluated for a row that the written order would have dropped before.
///
/// The input must be bound: no parameters, and session values only if they may stay (EXPLAIN). The result is
/// what `lower_physical` takes. Both are deterministic.
/// Errors: 54001 for a plan too deep, 54000 for one that grows too large, and what the interrupt says.
#pragma once

#include <map>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/lir.h>
#include <freshet/expr/relation.h>
#include <freshet/sql/interrupt.h>

namespace freshet::sql {

/// The indexes that exist, for choosing join orders and lookups.
struct IndexOracle {
  struct Index {
    expr::GlobalId id;
    expr::ArrangementKey key;  ///< Over the collection's columns.
  };
  /// By the collection that they are on; in order of preference.
  std::map<expr::GlobalId, std::vector<Index>> indexes{};
  [[nodiscard]] const std::vector<Index>& on(expr::GlobalId id) const;
  /// The index with exactly this key, as a set; null if there is none.
  [[nodiscard]] const Index* find(expr::GlobalId id, const expr::ArrangementKey& key) const;
};

struct OptimizerOptions {
  /// Plans deeper than this are refused.
  std::size_t max_depth = 1500;
  /// Plans with more nodes and expressions than this are refused.
  std::size_t max_size = 200'000;
  /// Constants are folded up to this many rows.
  std::size_t max_constant_rows = 1000;
  /// A value that is larger is not folded, nor are rows of more bytes: execution computes them.
  std::size_t max_constant_bytes = 4 << 20;
  /// Nothing more is folded when so many bytes of text and arrays were computed while folding.
  std::size_t max_folded_bytes = 256 << 20;
  /// Rounds over all passes; a plan that still changes then is right all the same.
  std::size_t max_rounds = 6;
  /// Checks types after every pass (debug builds always do).
  bool typecheck = false;
  Interrupt interrupt{};
};

Result<expr::Relation> optimize(const expr::Relation& relation, const OptimizerOptions& options = {});

/// The typechecker that runs between passes: columns exist and have the types that expressions think, local ids
/// are bound once and before use. (What reads of a local claim of NULLs and keys is what its value had when
/// they were made: it has it still, also if it can no longer be derived.) The error names the node.
Result<void> typecheck(const expr::Relation& relation);

}  // namespace freshet::sql
