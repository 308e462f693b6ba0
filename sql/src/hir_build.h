// SPDX-License-Identifier: Apache-2.0
/// Builders and walkers of HIR.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <freshet/sql/hir.h>

namespace freshet::sql::hir {

// Kinds that exist only while a SELECT is bound.
/// The `index`th aggregate of the query at `level`.
inline constexpr auto kAggregateRef = static_cast<HirScalar::Kind>(200);
/// The first column of the `index`th set-returning call of the select list at `level`.
inline constexpr auto kSetReturningRef = static_cast<HirScalar::Kind>(201);

HirScalarPtr column(std::size_t level, std::size_t index, repr::ColumnType type);
HirScalarPtr literal(repr::Datum value, repr::SqlType type);
HirScalarPtr null(repr::SqlType type);
HirScalarPtr boolean(bool value);
HirScalarPtr text(std::string value);
HirScalarPtr int4(std::int32_t value);
HirScalarPtr int8(std::int64_t value);
HirScalarPtr failure(Error error, repr::SqlType type);
/// The result type is the spec's for those argument types.
HirScalarPtr call(const expr::FunctionSpec* function, std::vector<HirScalarPtr> arguments);
HirScalarPtr call_typed(const expr::FunctionSpec* function, std::vector<HirScalarPtr> arguments, repr::SqlType type);
/// By signature, which must exist.
HirScalarPtr call(std::string_view signature, std::vector<HirScalarPtr> arguments);
HirScalarPtr conjunction(std::vector<HirScalarPtr> arguments);
HirScalarPtr disjunction(std::vector<HirScalarPtr> arguments);
HirScalarPtr negation(HirScalarPtr argument);
HirScalarPtr is_null(HirScalarPtr argument);
HirScalarPtr if_then(HirScalarPtr condition, HirScalarPtr then, HirScalarPtr otherwise);
HirScalarPtr coalesce(std::vector<HirScalarPtr> arguments);
HirScalarPtr session_value(std::string name, repr::ColumnType type);
HirScalarPtr exists(HirRelationPtr query);
HirScalarPtr scalar_subquery(HirRelationPtr query);
HirScalarPtr any(HirRelationPtr query, HirScalarPtr comparison);
/// The same node elsewhere in the text.
HirScalarPtr at(HirScalarPtr scalar, int location);
/// The same value under another type of the same physical form.
HirScalarPtr relabel(const HirScalarPtr& scalar, const repr::SqlType& type);

/// One row without columns.
HirRelationPtr unit();
HirRelationPtr constant(std::vector<repr::DatumRow> rows, std::vector<repr::ColumnType> columns);
HirRelationPtr project(HirRelationPtr input, std::vector<std::size_t> columns);
HirRelationPtr map(HirRelationPtr input, std::vector<HirScalarPtr> scalars);
/// `map`, then only what was mapped.
HirRelationPtr select(HirRelationPtr input, std::vector<HirScalarPtr> scalars);
HirRelationPtr filter(HirRelationPtr input, std::vector<HirScalarPtr> predicates);
HirRelationPtr join(HirJoinKind kind, HirRelationPtr left, HirRelationPtr right, std::vector<HirScalarPtr> on,
                    bool lateral);
HirRelationPtr reduce(HirRelationPtr input, std::vector<HirScalarPtr> keys, std::vector<HirAggregate> aggregates);
HirRelationPtr distinct(HirRelationPtr input);
HirRelationPtr top_k(HirRelationPtr input, std::vector<std::size_t> group, std::vector<expr::ColumnOrder> order,
                     HirScalarPtr limit, HirScalarPtr offset);
HirRelationPtr negate(HirRelationPtr input);
HirRelationPtr threshold(HirRelationPtr input);
HirRelationPtr union_all(std::vector<HirRelationPtr> inputs);
HirRelationPtr get(expr::GlobalId id, std::vector<repr::ColumnType> columns);
HirRelationPtr get_local(std::uint64_t id, std::vector<repr::ColumnType> columns);
HirRelationPtr let(std::uint64_t id, HirRelationPtr value, HirRelationPtr body);
HirRelationPtr flat_map(HirRelationPtr input, const expr::TableFunctionSpec* function,
                        std::vector<HirScalarPtr> arguments, bool with_ordinality);

/// Called before a node's children, with the depth of the row it stands in (0: the row of the scalar that
/// the walk began with); a column belongs to that row if its level equals the depth. A result that is not
/// null replaces the node.
using Rewriter = std::function<HirScalarPtr(const HirScalarPtr& node, std::size_t depth)>;
HirScalarPtr rewrite(const HirScalarPtr& scalar, std::size_t depth, const Rewriter& f);
HirRelationPtr rewrite(const HirRelationPtr& relation, std::size_t depth, const Rewriter& f);
/// Columns of levels that lie outside (level >= depth, as seen where the walk begins) moved out by `by`
/// levels, or in if negative.
HirScalarPtr shift(const HirScalarPtr& scalar, std::size_t depth, std::ptrdiff_t by);
HirRelationPtr shift(const HirRelationPtr& relation, std::size_t depth, std::ptrdiff_t by);

/// Every scalar below, with its depth.
using Visitor = std::function<void(const HirScalar& node, std::size_t depth)>;
void visit(const HirScalar& scalar, std::size_t depth, const Visitor& f);
void visit(const HirRelation& relation, std::size_t depth, const Visitor& f);
void visit_relations(const HirRelation& relation, const std::function<void(const HirRelation&)>& f);
bool has_subquery(const HirScalar& scalar);
bool has_mz_now(const HirScalar& scalar);
/// Structural equality; places do not count.
bool equal(const HirScalar& a, const HirScalar& b);

}  // namespace freshet::sql::hir
