// SPDX-License-Identifier: Apache-2.0
/// How large values may become, asked before the memory is taken.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include <freshet/base/result.h>
#include <freshet/base/sqlstate.h>
#include <freshet/repr/datum.h>

namespace freshet::expr {

/// PostgreSQL's: 1 GB less one byte, less the header of a value.
inline constexpr std::size_t kMostValueBytes = (std::size_t{1} << 30) - 1 - 4;
/// Of all values of a chunk's column together. Offsets in a column have 32 bits.
inline constexpr std::size_t kMostColumnBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMostDimensions = 6;
inline constexpr std::size_t kMostElements = (std::size_t{1} << 27) - 1;

inline base::Unexpected too_large() {
  return fail(sqlstate::kProgramLimitExceeded, "requested length too large");
}
/// Perhaps the row is not to blame, but all rows of its chunk together.
inline bool is_too_large(const Error& error) { return error.sqlstate == sqlstate::kProgramLimitExceeded; }
inline base::Unexpected too_many_elements() {
  return fail(sqlstate::kProgramLimitExceeded,
              "array size exceeds the maximum allowed (" + std::to_string(kMostElements) + ")");
}

inline base::Unexpected too_many_dimensions(std::size_t dimensions) {
  return fail(sqlstate::kProgramLimitExceeded, "number of array dimensions (" + std::to_string(dimensions) +
                                                   ") exceeds the maximum allowed (" + std::to_string(kMostDimensions) + ")");
}

/// May `bytes` become a value behind `used` bytes of the same column?
inline bool fits_value(std::size_t used, std::size_t bytes) {
  return bytes <= kMostValueBytes && used + bytes <= kMostColumnBytes;
}
/// For lambdas that append to a column: fails if a value of `bytes` is too large.
inline Result<void> check_room(const std::string& column, std::size_t bytes) {
  if (!fits_value(column.size(), bytes)) return too_large();
  return {};
}

/// The bytes of text and bytea in a value.
inline std::size_t raw_size(const repr::Datum& datum) {
  if (const auto* text = std::get_if<std::string>(&datum.value())) return text->size();
  const auto* array = std::get_if<std::shared_ptr<const repr::ArrayValue>>(&datum.value());
  if (array == nullptr) return 0;
  std::size_t sum = 0;
  for (const repr::Datum& element : (*array)->elements) sum += raw_size(element);
  return sum;
}
/// About what the value takes; an element takes 8 bytes at least.
inline std::size_t weight(const repr::Datum& datum) {
  if (const auto* text = std::get_if<std::string>(&datum.value())) return text->size();
  const auto* array = std::get_if<std::shared_ptr<const repr::ArrayValue>>(&datum.value());
  if (array == nullptr) return 8;
  std::size_t sum = 0;
  for (const repr::Datum& element : (*array)->elements) sum += 8 + weight(element);
  return sum;
}

}  // namespace freshet::expr
