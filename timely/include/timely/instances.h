// SPDX-License-Identifier: Apache-2.0
/// The times whose trackers are compiled in the library. For another time, include
/// <timely/detail/tracker-inl.h> in the file that describes dataflows over it.
#pragma once

#include <cstdint>

#include <timely/detail/tracker.h>
#include <timely/product.h>

#define FRESHET_TIMELY_TIMES(X)                                    \
  X(std::uint64_t)                                                 \
  X(std::uint32_t)                                                 \
  X(Product<std::uint64_t, std::uint64_t>)                         \
  X(Product<std::uint64_t, std::uint32_t>)                         \
  X(Product<Product<std::uint64_t, std::uint64_t>, std::uint64_t>) \
  X(Product<Product<std::uint64_t, std::uint32_t>, std::uint32_t>)

namespace timely {
#define FRESHET_TIMELY_DECLARE(...)                      \
  extern template struct detail::GraphSpec<__VA_ARGS__>; \
  extern template class detail::Tracker<__VA_ARGS__>;
FRESHET_TIMELY_TIMES(FRESHET_TIMELY_DECLARE)
#undef FRESHET_TIMELY_DECLARE
}  // namespace timely
