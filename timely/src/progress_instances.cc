// SPDX-License-Identifier: Apache-2.0
#include <timely/progress_instances.h>

namespace timely {

template class Antichain<std::uint64_t>;
template class MutableAntichain<std::uint64_t>;
template class ChangeBatch<std::uint64_t>;
template class Antichain<Product<std::uint64_t, std::uint64_t>>;
template class MutableAntichain<Product<std::uint64_t, std::uint64_t>>;
template class ChangeBatch<Product<std::uint64_t, std::uint64_t>>;

}  // namespace timely
