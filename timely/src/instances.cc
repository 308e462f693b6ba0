// SPDX-License-Identifier: Apache-2.0
// The trackers of the times that everybody uses, compiled once.
#include <timely/instances.h>

#include <timely/detail/tracker-inl.h>
#include <timely/progress_instances.h>

#define FRESHET_TIMELY_INSTANTIATE(...)           \
  template struct detail::GraphSpec<__VA_ARGS__>; \
  template class detail::Tracker<__VA_ARGS__>;

namespace timely {
FRESHET_TIMELY_TIMES(FRESHET_TIMELY_INSTANTIATE)
}  // namespace timely
