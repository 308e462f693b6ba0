// SPDX-License-Identifier: Apache-2.0
/// The naive interpreter: the meaning of the relational IR, by plain recomputation over multisets.
///
/// It evaluates the *unoptimised* IR with nested loops and hash maps and shares only scalar functions and
/// the row codec with the rest. It is the oracle of every property test and one of the two compute engines.
///
/// Counts. A row's count is the sum of its updates, and rows of count 0 are not there. Counts below zero can come
/// from a Negate or from outside; who meets them is said below. A negative count of the result itself is left
/// as it is, for the reader to report.
///
/// Errors. Every node maps (oks, errs) of its inputs to (oks, errs). Only the presence of an error row counts:
/// after each node error rows are distinct, with count 1. A row of the inputs with any count but 0 may fail.
/// Which of several errors of a row counts: the least (`error_less`).
/// - Get, Constant: as given; a failed Constant is one error row with nothing known.
/// - Project, Map, Filter: as an `Mfp` of that one node, and `apply_mfp` for error rows. A Map fails for a row
///   when any of its expressions fails, used later or not. Conjuncts with mz_now() come after the others: a row
///   that passes those fails if one of them fails, is dropped if one is not true, and never hides an error.
/// - FlatMap: a row fails with its columns known, the new ones not, and keeps what came before; error rows likewise.
/// - Join: error rows by `join_error`. A row of an input for which an expression over that input alone fails, that
///   is a member of a class, takes no part but is an error row (known, whatever else is in the classes) of its
///   input; its failing members are not known. An expression over several inputs that fails makes an error row
///   of the joined row, all of it known.
/// - Match: `on` is split by `split_match` into filters of the sides, which come first, keys and a residual. Without
///   residual: error rows by `match_left_error` and `match_right_error`. A left row matches if the counts of
///   the right rows with its key sum to more than zero (kFull: and the other way round). kLeft is the union of the
///   inner join and of the left rows without a match, padded with NULLs; kFull adds the unmatched right rows.
///   With a residual: let P be the inner join on the keys, filtered by the residual (as Join and Filter above), and D the
///   distinct rows (as Reduce below) of P's left columns. The left rows with a match are those of the semi-match of
///   the left with D on the keys and `null_safe_key` of all columns; those without come from the anti-match. kLeft is
///   P and the left rows without a match, padded with NULLs, which are known in error rows; kFull adds the mirror
///   image.
/// - Reduce: `group_error` over the group key's values. A row whose key, or an argument, filter or order of an
///   aggregate fails is not counted in any aggregate, and its group is in error. Arguments and orders are
///   evaluated only where the filter is true. Per group, n is the sum of its counts: n = 0 and it is not there; n < 0
///   and it is an error (negative_multiplicity, keys known in their default form) instead of a row. Accumulable aggregates weigh each row by
///   its count, whatever its sign. For a distinct, extremum or ordered aggregate, a negative count of one of
///   values that count (argument and order columns together; the filter true, and not NULL but for array_agg) is an
///   error of the group instead of a row. An error of an aggregate's result (overflow) too. The group shows the least canonical bytes of its key columns among the rows
///   with a positive count after the key columns were projected; likewise MIN, MAX and DISTINCT take the
///   least canonical bytes among equal values. Ties and lacking order: canonical order of the argument row.
///   Distinct (no aggregates): n > 0 gives one row, n < 0 an error with the keys known in their default form.
///   Among the values of a LetRec the distinct row shows the form that came first: of the rows with a positive count, the
///   one whose count rose in the earliest iteration, and of several the least.
/// - TopK: a negative count in a group is one error of the group (its columns known in their default form) and the group gives no rows; so
///   does a limit that fails, or is negative (2201W); it is evaluated on the group's first row in canonical order. Error rows by `top_k_error`; the oks of a group in
///   error are computed from the rows that are there.
/// - Threshold: of equal rows, as many as their counts sum to, the least canonical bytes first. Error rows pass. Negate leaves them. Union adds them.
/// - LetRec: all values begin empty. In one iteration each binding, in order, is evaluated with the newest
///   values of all; oks and errs both; iterations go on until one changes nothing. With a limit n, if iteration n + 1 would
///   change something: the values of iteration n (`return_at_limit`), or else 54000 with nothing known in place of
///   the body's errs and oks.
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
  /// Gives up with 54000 when a Map computes more bytes of text than this.
  std::size_t max_bytes = SIZE_MAX;
  /// Gives up with 54000 when a LetRec without limit has not ended after so many iterations.
  std::size_t max_iterations = 100'000;
};

/// The content of `relation` given the content of the collections it reads. Fails only on a limit.
Result<Multiset> evaluate_naive(const Relation& relation, const std::map<GlobalId, Multiset>& inputs,
                                const NaiveOptions& options = {});

}  // namespace freshet::expr
