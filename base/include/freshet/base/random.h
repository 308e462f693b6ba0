// SPDX-License-Identifier: Apache-2.0
/// A small, fast, seeded generator (xoshiro256**): the only source of randomness that code may use.
/// The sequence for a seed is part of the contract: it never changes between versions or platforms.
#pragma once

#include <bit>
#include <cstdint>

#include <freshet/base/assert.h>

namespace freshet::base {

/// One step of splitmix64: a good 64-bit mixer, also for hashing small integers.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

namespace detail {
__extension__ using Wide = unsigned __int128;
}  // namespace detail

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (auto& word : state_) word = seed = mix64(seed);
  }
  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// Uniform in [0, bound); `bound` must be positive.
  std::uint64_t below(std::uint64_t bound) {
    FRESHET_ASSERT(bound > 0);
    return static_cast<std::uint64_t>((static_cast<detail::Wide>(next()) * bound) >> 64);
  }
  /// Uniform in [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = width == UINT64_MAX ? next() : below(width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }
  bool coin() { return (next() >> 63) != 0; }
  /// True once in `n` draws on average.
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_[4];
};

}  // namespace freshet::base
