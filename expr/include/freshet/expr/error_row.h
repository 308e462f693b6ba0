// SPDX-License-Identifier: Apache-2.0
/// `ErrorRow`: an error as data, with the part of the row that is known.
///
/// The errs of a collection are a multiset of error rows beside its oks. A column that is known has the value
/// every row behind this error would have; an unknown one could have any. A read fails unless a known
/// column contradicts its predicate.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/repr/datum.h>
#include <freshet/repr/types.h>

namespace freshet::expr {

struct ErrorRow {
  std::vector<std::optional<repr::Datum>> known;  ///< One a column; nullopt: unknown.
  Error error;

  static ErrorRow unknown(std::size_t arity, Error error);
};

/// Canonical bytes: equal error rows have equal bytes, so that errors retract exactly.
std::string encode_error_row(const ErrorRow& row, std::span<const repr::ColumnType> types);
Result<ErrorRow> decode_error_row(std::string_view bytes, std::span<const repr::ColumnType> types);

}  // namespace freshet::expr
