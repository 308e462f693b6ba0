// SPDX-License-Identifier: Apache-2.0
/// What is compiled once for a combination of key, value, time and diff: sorting, merging, sealing and
/// keeping. Reading and the operators stay with the closures that they inline.
///
/// Declared `extern` here for keys of integers; for encoded rows in bytes_instances.h. Other types compile
/// with their users.
#pragma once

#include <cstdint>

#include <differential/batcher.h>
#include <differential/cursor.h>
#include <differential/trace.h>
#include <timely/product.h>

/// `prefix` is `extern`, or empty where the bodies are known. The types may hold no commas: use aliases.
#define DIFFERENTIAL_INSTANCES(prefix, K, V, T)                                                       \
  prefix template Run<K, V, T, std::int64_t> sort_into_run(const Updates<K, V, T, std::int64_t>&,     \
                                                           RunBuilder<K, V, T, std::int64_t>&,        \
                                                           detail::SortScratch&);                     \
  prefix template class Batcher<K, V, T, std::int64_t>;                                               \
  prefix template class RunBuilder<K, V, T, std::int64_t>;                                            \
  prefix template class RunMerger<K, V, T, std::int64_t>;                                             \
  prefix template class Spine<K, V, T, std::int64_t>;                                                 \
  prefix template class Trace<K, V, T, std::int64_t>;                                                 \
  prefix template class CursorList<K, V, T, std::int64_t>;

namespace differential {

using LoopTime = timely::Product<std::uint64_t, std::uint64_t>;
using InnerLoopTime = timely::Product<LoopTime, std::uint64_t>;

#define DIFFERENTIAL_WORD_INSTANCES(prefix)                                      \
  DIFFERENTIAL_INSTANCES(prefix, std::uint64_t, std::uint64_t, std::uint64_t)    \
  DIFFERENTIAL_INSTANCES(prefix, std::uint64_t, std::uint64_t, LoopTime)         \
  DIFFERENTIAL_INSTANCES(prefix, std::uint64_t, Unit, std::uint64_t)             \
  DIFFERENTIAL_INSTANCES(prefix, std::uint64_t, Unit, LoopTime)
#define DIFFERENTIAL_HALF_WORD_INSTANCES(prefix)                                 \
  DIFFERENTIAL_INSTANCES(prefix, std::uint32_t, std::uint32_t, std::uint64_t)    \
  DIFFERENTIAL_INSTANCES(prefix, std::uint32_t, std::uint32_t, LoopTime)         \
  DIFFERENTIAL_INSTANCES(prefix, std::uint32_t, std::uint32_t, InnerLoopTime)    \
  DIFFERENTIAL_INSTANCES(prefix, std::uint32_t, Unit, std::uint64_t)

DIFFERENTIAL_WORD_INSTANCES(extern)
DIFFERENTIAL_HALF_WORD_INSTANCES(extern)

}  // namespace differential
