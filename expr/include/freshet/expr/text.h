// SPDX-License-Identifier: Apache-2.0
/// Pieces of EXPLAIN text that the logical and the physical plan share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/expr/relation.h>

namespace freshet::expr {

/// `(#0, #2)`
std::string columns_text(std::span<const std::size_t> columns);
/// `(a, b)`; without parentheses if not `enclosed`.
std::string scalars_text(std::span<const Scalar> scalars, std::string_view separator = ", ",
                         bool enclosed = true);
/// `[#0 = #3, #1 = #4 = #7]`
std::string equivalences_text(std::span<const std::vector<Scalar>> equivalences);
/// `[sum(#1), count(*)]`
std::string aggregates_text(std::span<const Aggregate> aggregates);
std::string top_k_text(std::span<const std::size_t> group_key, std::span<const ColumnOrder> order,
                       const std::optional<Scalar>& limit, std::uint64_t offset);
/// `(1, 'a', null)`
std::string row_text(const repr::DatumRow& row, std::span<const repr::ColumnType> types);

}  // namespace freshet::expr
