// SPDX-License-Identifier: Apache-2.0
#include <differential/bytes_instances.h>

#include <differential/batcher-inl.h>
#include <differential/trace-inl.h>

namespace differential {

DIFFERENTIAL_ROW_INSTANCES(, std::uint64_t)
DIFFERENTIAL_ROW_INSTANCES(, LoopTime)

}  // namespace differential
