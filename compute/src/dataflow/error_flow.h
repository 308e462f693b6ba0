// SPDX-License-Identifier: Apache-2.0
/// Error rows on edges and in arrangements; the rules by which they pass are expr/error_row.h's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <freshet/expr/error_row.h>
#include <freshet/expr/lir.h>
#include <freshet/repr/chunk.h>

namespace freshet::compute {

using ColumnTypes = std::vector<repr::ColumnType>;

/// The datums of one row of a chunk. Columns that are null pointers come out as NULL.
repr::DatumRow datum_row(const repr::Chunk& chunk, std::size_t row, std::span<const repr::ColumnType> types);

/// The value of the key; nothing if it needs a column that is unknown, or fails.
std::optional<repr::DatumRow> known_key(const expr::ArrangementKey& key, const ColumnTypes& types,
                                        const expr::ErrorRow& row);

/// The key under which an index keeps an error row: kKnownKey and the key bytes, or kUnknownKey.
inline constexpr char kUnknownKey = 0;
inline constexpr char kKnownKey = 1;

}  // namespace freshet::compute
