// SPDX-License-Identifier: Apache-2.0
/// Which conjuncts of a join condition are equalities of keys.
///
/// This decides more than speed: the errors of a join are scoped by its key (naive.h), so the naive
/// interpreter, the optimizer and the lowering all ask here.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <freshet/expr/relation.h>
#include <freshet/expr/scalar.h>

namespace freshet::expr {

/// True if equal values of the two types have equal key bytes, so that one may be looked up by the other.
bool same_key_encoding(const repr::SqlType& a, const repr::SqlType& b);

/// The sides of `a = b`, if the predicate is an equality whose meaning is equality of key bytes.
std::optional<std::pair<Scalar, Scalar>> as_equality(const Scalar& predicate);

struct MatchKeys {
  /// Equal expressions: first over the left's columns, second over the right's own (from 0).
  std::vector<std::pair<Scalar, Scalar>> pairs;
  /// The other conjuncts, over left ++ right.
  std::vector<Scalar> residual;
};
/// `columns` are the types of left ++ right. Sides that may fail stay in the residual.
MatchKeys split_on(std::span<const Scalar> on, std::size_t left_arity,
                   std::span<const repr::ColumnType> columns);

/// The condition of a Match taken apart.
struct MatchSplit {
  /// Conjuncts over one side's own columns that filter that side beforehand: of the right for kSemi, kAnti
  /// and kLeft, of the left for kSemi. None may fail.
  std::vector<Scalar> left_filter;
  std::vector<Scalar> right_filter;
  std::vector<Scalar> left_key;
  std::vector<Scalar> right_key;
  std::vector<Scalar> residual;  ///< Over left ++ right.
};
MatchSplit split_match(MatchKind kind, std::span<const Scalar> on, std::size_t left_arity,
                       std::span<const repr::ColumnType> columns);

/// Expressions that are equal, and never NULL, exactly for rows with equal key bytes: a column that cannot be NULL
/// as it is, others as (IS NULL, the value or some value of the type).
std::vector<Scalar> null_safe_key(std::span<const repr::ColumnType> columns);

}  // namespace freshet::expr
