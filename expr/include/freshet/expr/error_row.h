// SPDX-License-Identifier: Apache-2.0
/// `ErrorRow`: an error as data, with the part of the row that is known.
///
/// The errs of a collection are a multiset of error rows beside its oks. A column that is known has the value
/// every row behind this error would have; an unknown one could have any. A read fails unless a known
/// column contradicts its predicate. What is known is the value, not its form (1.0, 1.00): the row of a group looks
/// like any of its rows, and an error may come from another.
///
/// The functions below are the rules by which error rows pass through plan nodes. The naive interpreter and the
/// dataflow engine both call them, row by row (errors are rare), so that their errs agree byte for byte.
/// Only the presence of an error row counts, never its multiplicity.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/mfp.h>
#include <freshet/expr/relation.h>
#include <freshet/repr/datum.h>
#include <freshet/repr/types.h>

namespace freshet::expr {

/// A row of which some columns are unknown (nullopt).
using PartialRow = std::vector<std::optional<repr::Datum>>;

struct ErrorRow {
  PartialRow known;
  Error error;

  static ErrorRow unknown(std::size_t arity, Error error);
  /// The error of a row all of whose columns are there.
  static ErrorRow of(const repr::DatumRow& row, Error error);
};

/// Canonical bytes: equal error rows have equal bytes, so that errors retract exactly.
std::string encode_error_row(const ErrorRow& row, std::span<const repr::ColumnType> types);
Result<ErrorRow> decode_error_row(std::string_view bytes, std::span<const repr::ColumnType> types);

/// "negative multiplicity" (XX000): a count below zero where there can be none.
Error negative_multiplicity();

/// A LetRec with a limit that has not come to rest (54000).
Error recursion_limit_error(std::uint64_t limit);

/// The least of two errors: by SQLSTATE, then message, then the rest.
bool error_less(const Error& a, const Error& b);

/// The value of a scalar over a partial row.
struct PartialValue {
  enum class State : std::uint8_t { kValue, kUnknown, kFailed };
  State state = State::kUnknown;
  repr::Datum value{};
  Error error{};
  [[nodiscard]] bool is_value() const { return state == State::kValue; }
  /// It is false or NULL for certain: no row behind it passes this predicate.
  [[nodiscard]] bool rejects() const;
};
/// A call is unknown if an argument is, or if it sees the form of one (a cast to text); AND, OR, CASE and COALESCE
/// are known as soon as known arguments decide them. mz_now() is unknown.
PartialValue evaluate_partial(const Scalar& scalar, const PartialRow& row,
                              std::span<const repr::ColumnType> types);

/// Through map, filter and project. Nothing if a predicate rejects it; temporal bounds never do. An output
/// column is known if its value is. A row that fails in `mfp` becomes `apply_mfp(mfp, ErrorRow::of(row, error), …)`.
std::optional<ErrorRow> apply_mfp(const Mfp& mfp, const ErrorRow& row,
                                  std::span<const repr::ColumnType> input_types);

/// The error row of an inner join's output (all inputs' columns) for one of input `input`, whatever the other
/// inputs hold. `types` are those of all inputs, side by side; the input's columns begin at `offset`.
/// Nothing if a class has a member that reads the input and is NULL, or two such members that differ. Else what
/// is known of the row stays known, and each bare column of another input that is equal to a known member, literals
/// included, becomes known (if its type has no forms and lies alike in memory); so does a column c when both `c IS NULL`
/// and COALESCE(c, …) are equal to known members. With an unknown key, the scope is what is known of the row itself.
struct JoinErrors {
  std::span<const std::vector<Scalar>> equivalences;
  std::span<const repr::ColumnType> types;
};
std::optional<ErrorRow> join_error(const JoinErrors& join, std::size_t offset, const ErrorRow& row);

/// The error rows of a Match's output for one of its left or right input. kLeft and kFull are the union of the
/// inner join and of the padded rows without a match, and so are their errors. For what one side's error says of the
/// other side's rows, known key parts say which they are; unknown ones leave them unknown.
struct MatchErrors {
  MatchKind kind;
  std::span<const Scalar> left_key;
  std::span<const Scalar> right_key;  ///< Over the right's own columns.
  std::span<const repr::ColumnType> left_types;
  std::span<const repr::ColumnType> right_types;
};
std::vector<ErrorRow> match_left_error(const MatchErrors& match, const ErrorRow& row);
std::vector<ErrorRow> match_right_error(const MatchErrors& match, const ErrorRow& row);

/// A Reduce's error for an error row of (keys ++ values): the keys, if they are all known, else nothing, is known.
ErrorRow group_error(const PartialRow& keys, std::size_t output_arity, Error error);
/// A TopK's: its group columns are known if they all are, else nothing.
ErrorRow top_k_error(std::span<const std::size_t> group_key, const ErrorRow& row);

}  // namespace freshet::expr
