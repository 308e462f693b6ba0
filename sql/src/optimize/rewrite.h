// SPDX-License-Identifier: Apache-2.0
/// Small questions and rewrites that several passes share.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "passes.h"

namespace freshet::sql::passes {

using Columns = std::vector<repr::ColumnType>;

/// [begin, end)
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] bool contains(std::size_t c) const { return c >= begin && c < end; }
};

/// Where the columns of each input of a join lie.
std::vector<Span> input_spans(std::span<const Relation> inputs);
Columns side_by_side(std::span<const Relation> inputs);
std::vector<std::size_t> iota(std::size_t begin, std::size_t end);

/// Every column of the scalar is in the span (also if it has none).
bool within(const Scalar& scalar, Span span);
Scalar shifted(const Scalar& scalar, std::ptrdiff_t by);
/// With the columns' types as they are now.
Scalar retyped(const Scalar& scalar, const Columns& columns);

struct ScalarHash {
  std::size_t operator()(const Scalar& scalar) const { return scalar.hash(); }
};
/// For membership only: its order means nothing.
using ScalarSet = std::unordered_set<Scalar, ScalarHash>;
/// Each of them once, in the order of their first places.
std::vector<Scalar> distinct(std::vector<Scalar> scalars);

/// The conjuncts of all predicates, flattened.
std::vector<Scalar> conjuncts(std::span<const Scalar> predicates);
/// `a = b`, if the types have an operator for it that means equality of key bytes.
std::optional<Scalar> make_equality(const Scalar& a, const Scalar& b);
Scalar is_not_null(const Scalar& scalar);

/// The same value over the columns of `span` alone, by equalities that hold; nothing if there is none. Only
/// between columns that lie alike and have no forms, so that nothing can tell the difference.
std::optional<Scalar> expressed_over(const Scalar& scalar, Span span,
                                     std::span<const std::vector<Scalar>> classes);

/// The scalar is NULL, or false, in every row in which all of `columns` are NULL.
bool rejects_nulls(const Scalar& predicate, Span columns);
/// Some column in `span` whose type has forms is used other than in a comparison or IS NULL.
bool sees_form(const Scalar& scalar, Span span);
/// The literal that filters of the relation make the scalar equal to.
std::optional<Scalar> literal_of(const Relation& relation, const Scalar& scalar);
/// How many nodes.
std::size_t size_of(const Scalar& scalar);

/// No count can be below zero, given that those of global collections are not.
bool non_negative(const Relation& relation, const Context& context);

bool is_empty(const Relation& relation);
/// A constant that is no error.
const Relation::Constant* as_rows(const Relation& relation);
Relation empty_like(const Relation& relation);

}  // namespace freshet::sql::passes
