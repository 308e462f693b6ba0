// SPDX-License-Identifier: Apache-2.0
/// The time and the multiplicity of SQL collections.
#pragma once

#include <cstdint>

namespace freshet::repr {

/// Microseconds since the Unix epoch. Users see it as milliseconds with up to three decimals.
using SqlTime = std::uint64_t;

/// How many copies of a row an update adds (negative: removes).
using Diff = std::int64_t;

/// The upper of a collection that will never change again; no update has this time.
inline constexpr SqlTime kClosed = UINT64_MAX;

}  // namespace freshet::repr
