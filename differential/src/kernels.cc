// SPDX-License-Identifier: Apache-2.0
// Small loops worth vector instructions; built with -O3 in release builds.
#include <differential/narrow.h>

namespace differential::detail {

std::pair<std::int64_t, std::int64_t> range_of(const std::int64_t* values, std::size_t size) {
  std::int64_t least = values[0];
  std::int64_t most = values[0];
  for (std::size_t i = 1; i < size; ++i) {
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  return {least, most};
}

std::pair<std::uint32_t, std::uint32_t> range_of(const std::uint32_t* values, std::size_t size) {
  std::uint32_t least = values[0];
  std::uint32_t most = values[0];
  for (std::size_t i = 1; i < size; ++i) {
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  return {least, most};
}

}  // namespace differential::detail
