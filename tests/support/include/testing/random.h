// SPDX-License-Identifier: Apache-2.0
/// Seeds for property tests: fixed by default, FRESHET_SEED overrides, printed when the test fails.
///
///     auto random = testing::seeded_random();       // prints the seed if the enclosing test fails
///     const uint64_t pick = random.below(10);
#pragma once

#include <cstdint>
#include <initializer_list>

#include <freshet/base/random.h>

namespace testing {

/// A generator that prints its seed to standard error when destroyed while the test it was made in
/// has a failing assertion (an uncaught failure unwinds through it).
class Random : public freshet::base::Random {
 public:
  explicit Random(std::uint64_t seed);
  ~Random();
  Random(const Random&) = default;
  Random& operator=(const Random&) = default;

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Uniform in [0, bound).
  int int_below(int bound) {
    return static_cast<int>(below(static_cast<std::uint64_t>(bound)));
  }
  /// One of the values.
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  std::uint64_t seed_;
  int exceptions_;
};

/// The seed to start from: FRESHET_SEED if set, else `fallback`.
std::uint64_t base_seed(std::uint64_t fallback = 1);

/// True if FRESHET_SEED is set: a loop over seeds should then run only that one.
bool seed_is_fixed();

/// A generator on `base_seed() + round`; give each repetition of a property its own round.
Random seeded_random(std::uint64_t round = 0);

}  // namespace testing
