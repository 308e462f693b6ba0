// SPDX-License-Identifier: Apache-2.0
/// Declares the progress types at the times that everybody uses, so that they compile once.
#pragma once

#include <cstdint>

#include <timely/antichain.h>
#include <timely/change_batch.h>
#include <timely/mutable_antichain.h>
#include <timely/product.h>

namespace timely {

extern template class Antichain<std::uint64_t>;
extern template class MutableAntichain<std::uint64_t>;
extern template class ChangeBatch<std::uint64_t>;
extern template class Antichain<Product<std::uint64_t, std::uint64_t>>;
extern template class MutableAntichain<Product<std::uint64_t, std::uint64_t>>;
extern template class ChangeBatch<Product<std::uint64_t, std::uint64_t>>;

}  // namespace timely
