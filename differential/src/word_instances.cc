// SPDX-License-Identifier: Apache-2.0
#include <differential/batcher-inl.h>
#include <differential/instances.h>
#include <differential/trace-inl.h>

namespace differential {

DIFFERENTIAL_WORD_INSTANCES()

}  // namespace differential
