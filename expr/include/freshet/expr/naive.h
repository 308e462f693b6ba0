// SPDX-License-Identifier: Apache-2.0
/// The naive interpreter: the meaning of the relational IR, by plain recomputation over multisets.
///
/// It evaluates the *unoptimised* IR with nested loops and hash maps and shares only scalar functions and
/// the row codec with the rest. It is the oracle of every property test and one of the two compute engines.
///
/// Errors. Every node maps (oks, errs) of its inputs to (oks, errs):
/// - Get, Constant: as given. Project drops columns of an error row; Map keeps known columns and adds unknown
///   ones; a failing row becomes an error row with the row's columns known. Filter keeps an error row unless its
///   predicates, evaluated on known columns, are false or NULL for certain; a failing predicate makes
///   an error row of the row.
/// - Join: an error row of one input yields an error row of the output: its known columns (and what the
///   equivalences make of them) known, all else unknown, whether or not the other inputs have a match; if a column of
///   its join key is unknown, every column is unknown. An erring equivalence expression makes an error row too.
/// - Match: the left's errors as in Join. An error of the right, its key known, makes unknown all left rows of
///   that key (known: the key's columns on the left); else everything.
/// - Reduce: an error row scopes to its group (known: the group key's columns), to everything if a
///   column of the group key is unknown. A failing argument of an aggregate scopes to its group. The oks of a group in
///   error are still computed from the rows that are there.
/// - TopK as Reduce. Threshold: errors pass with their known columns. Negate leaves errors. Union adds.
/// - A count below zero that reaches an aggregate, TopK or an output is an error of that row's scope
///   (XX000 "negative multiplicity"); it never aborts.
/// Error rows have multiplicities, but only their presence counts: after each node they are distinct with count 1.
#pragma once

#include <map>
#include <string>

#include <freshet/expr/error_row.h>
#include <freshet/expr/relation.h>

namespace freshet::expr {

/// Encoded rows (RowCodec of the relation's types) and encoded error rows, each with its count, never 0.
struct Multiset {
  std::map<std::string, repr::Diff> oks{};
  std::map<std::string, repr::Diff> errs{};
  friend bool operator==(const Multiset&, const Multiset&) = default;
};

struct NaiveOptions {
  /// The time for mz_now().
  repr::SqlTime time = 0;
  /// Gives up with 54000 when an intermediate result has more rows than this.
  std::size_t max_rows = 50'000'000;
};

/// The content of `relation` given the content of the collections it reads. Fails only on a limit.
Result<Multiset> evaluate_naive(const Relation& relation, const std::map<GlobalId, Multiset>& inputs,
                                const NaiveOptions& options = {});

}  // namespace freshet::expr
