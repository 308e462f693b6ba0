// SPDX-License-Identifier: Apache-2.0
/// Stable numbers of plan nodes in encoded plans. Never reused.
#pragma once

#include <cstdint>

namespace freshet::expr {

inline constexpr std::uint8_t kPlanFormat = 2;

enum class ScalarTag : std::uint8_t {
  kColumn = 1, kLiteral = 2, kFailure = 3, kCall = 4, kAnd = 5, kOr = 6, kIf = 7, kCoalesce = 8,
  kIsNull = 9, kParameter = 10, kMzNow = 11, kSessionValue = 12,
};

enum class RelationTag : std::uint8_t {
  kConstant = 1, kGet = 2, kLet = 3, kLetRec = 4, kProject = 5, kMap = 6, kFilter = 7, kFlatMap = 8,
  kJoin = 9, kMatch = 10, kReduce = 11, kTopK = 12, kNegate = 13, kThreshold = 14, kUnion = 15,
};

enum class LirTag : std::uint8_t {
  kConstant = 1, kGet = 2, kLet = 3, kLetRec = 4, kMapFilterProject = 5, kFlatMap = 6, kJoin = 7,
  kMatch = 8, kReduce = 9, kTopK = 10, kNegate = 11, kThreshold = 12, kUnion = 13, kArrangeBy = 14,
};

}  // namespace freshet::expr
