// SPDX-License-Identifier: Apache-2.0
#include <testing/random.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace testing {

Random::Random(std::uint64_t seed)
    : freshet::base::Random(seed), seed_(seed), exceptions_(std::uncaught_exceptions()) {}

Random::~Random() {
  // Catch2 leaves a failed REQUIRE by an exception; a failed assertion of ours aborts and prints
  // itself.
  if (std::uncaught_exceptions() > exceptions_) {
    std::fprintf(stderr, "failing seed: FRESHET_SEED=%llu\n",
                 static_cast<unsigned long long>(seed_));
  }
}

std::uint64_t base_seed(std::uint64_t fallback) {
  const char* text = std::getenv("FRESHET_SEED");
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

bool seed_is_fixed() { return std::getenv("FRESHET_SEED") != nullptr; }

Random seeded_random(std::uint64_t round) { return Random(base_seed() + round); }

}  // namespace testing
