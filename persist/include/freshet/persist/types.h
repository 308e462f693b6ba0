// SPDX-License-Identifier: Apache-2.0
/// The words of persist: times, diffs, and the names of groups and shards.
#pragma once

#include <cstdint>
#include <string>

#include <freshet/base/bytes.h>

namespace freshet::persist {

/// A point of the one timeline; persist gives it no meaning beyond its order.
using Time = std::uint64_t;
/// How many copies of a row a change adds (or, negative, takes away).
using Diff = std::int64_t;

/// As an upper: nothing will ever be added.
inline constexpr Time kClosed = UINT64_MAX;

/// Names a shard within its group. Chosen by whoever creates it, so that a catalog row can carry
/// the id in the very commit that makes the shard; an id is never used twice.
enum class ShardId : std::uint64_t {};

/// Counts the writers that took a group over. A commit under an epoch that is not the newest is
/// refused. 0 is no epoch: the first writer gets 1.
using Epoch = std::uint64_t;

inline std::string to_string(ShardId id) { return std::to_string(static_cast<std::uint64_t>(id)); }

}  // namespace freshet::persist
