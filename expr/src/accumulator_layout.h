// SPDX-License-Identifier: Apache-2.0
/// Which coordinates an aggregate uses, and how a value spreads over them.
///
/// A value's spread depends on the value alone, so that a retraction takes away exactly what was added. Only
/// an amount of zero rows is zero for sure: two different values may spread differently and still be equal in
/// sum, which is why a group vanishes when its counts do.
#pragma once

#include <cstdint>

#include <freshet/expr/aggregate.h>

namespace freshet::expr::layout {

constexpr std::uint64_t coordinate(std::size_t aggregate, std::uint64_t place) {
  return static_cast<std::uint64_t>(aggregate) << 48 | place;
}

inline constexpr std::uint64_t kCount = 0;  ///< Values that are not NULL.
inline constexpr std::uint64_t kSum = 1;    ///< Of integers; of trues.
inline constexpr std::uint64_t kMonths = 1;
inline constexpr std::uint64_t kDays = 2;
inline constexpr std::uint64_t kMicros = 3;

// Floating and decimal.
inline constexpr std::uint64_t kNaN = 1;
inline constexpr std::uint64_t kInfinity = 2;
inline constexpr std::uint64_t kNegativeInfinity = 3;

/// Floats: place k counts multiples of 2^(64 k - 1074).
inline constexpr std::uint64_t kFloatPlaces = 16;
inline constexpr int kFloatPlaceCount = 35;
inline constexpr int kFloatLeastExponent = -1074;

/// Decimals: how many values have a scale, and for each scale the sum in pieces of 10^18. Piece 0 of a
/// coefficient that fits 64 bits is all of it.
inline constexpr std::uint64_t kScaleCounts = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kScaleSums = std::uint64_t{2} << 32;
constexpr std::uint64_t scale_count(int scale) {
  return kScaleCounts | static_cast<std::uint64_t>(scale);
}
constexpr std::uint64_t scale_sum(int scale, std::size_t piece) {
  return kScaleSums | static_cast<std::uint64_t>(scale) << 16 | static_cast<std::uint64_t>(piece);
}
inline constexpr std::int64_t kPiece = 1'000'000'000'000'000'000;

}  // namespace freshet::expr::layout
