// SPDX-License-Identifier: Apache-2.0
/// The arrangement of encoded rows, compiled once: keys and values are bytes in memcmp order.
///
/// SQL uses these types and no others: `RowTrace<uint64_t>` and, inside recursion, the same over
/// `Product<uint64_t, uint64_t>`.
#pragma once

#include <cstdint>
#include <string>

#include <differential/instances.h>

namespace differential {

template <typename T>
using RowUpdates = Updates<std::string, std::string, T, std::int64_t>;
template <typename T>
using RowBatch = Batch<std::string, std::string, T, std::int64_t>;
template <typename T>
using RowTrace = Trace<std::string, std::string, T, std::int64_t>;
template <typename T>
using RowCursor = CursorList<std::string, std::string, T, std::int64_t>;
template <typename T>
using RowSnapshot = TraceSnapshot<std::string, std::string, T, std::int64_t>;

#define DIFFERENTIAL_ROW_INSTANCES(prefix, T) DIFFERENTIAL_INSTANCES(prefix, std::string, std::string, T)

DIFFERENTIAL_ROW_INSTANCES(extern, std::uint64_t)
DIFFERENTIAL_ROW_INSTANCES(extern, LoopTime)

}  // namespace differential
