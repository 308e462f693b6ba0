// SPDX-License-Identifier: Apache-2.0
/// The types and unique keys of relational nodes.
///
/// Keys are sets of columns in which no two rows are equal (NULLs count as equal, forms do not count); the
/// empty set says that there is at most one row. They hold for collections without negative counts.
#pragma once

#include <freshet/expr/relation.h>

namespace freshet::expr {

repr::RelationType project_type(const repr::RelationType& input, std::span<const std::size_t> columns);
repr::RelationType map_type(const repr::RelationType& input, std::span<const Scalar> expressions);
repr::RelationType filter_type(const repr::RelationType& input, std::span<const Scalar> predicates);
repr::RelationType flat_map_type(const repr::RelationType& input, const Relation::FlatMap& node);
repr::RelationType join_type(std::span<const Relation> inputs,
                             std::span<const std::vector<Scalar>> equivalences);
repr::RelationType match_type(MatchKind kind, const repr::RelationType& left,
                              const repr::RelationType& right, std::span<const Scalar> on);
repr::RelationType reduce_type(const repr::RelationType& input, std::span<const Scalar> group_key,
                               std::span<const Aggregate> aggregates);
repr::RelationType top_k_type(const repr::RelationType& input, const Relation::TopK& node);
repr::RelationType union_type(std::span<const Relation> inputs);

/// `scalar` with the types that `columns` has now (nullability changes when plans are rewritten).
Scalar retyped(const Scalar& scalar, std::span<const repr::ColumnType> columns);

}  // namespace freshet::expr
