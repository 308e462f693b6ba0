// SPDX-License-Identifier: Apache-2.0
/// What a difference (the weight of an update) must offer: sums, zero, and for some operators more.
///
/// Integers serve as they are; sums wrap. A type of a user has `operator+=`, `is_zero() const` and,
/// where an operator needs them, unary minus and `operator*`.
///
///     static_assert(differential::Semigroup<int64_t>);
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace differential {

template <std::integral R>
constexpr bool is_zero(R diff) {
  return diff == 0;
}
template <typename R>
  requires requires(const R& r) {
    { r.is_zero() } -> std::same_as<bool>;
  }
constexpr bool is_zero(const R& diff) {
  return diff.is_zero();
}

/// Adds `other` to `sum`; for integers without undefined overflow.
template <typename R>
constexpr void add_to(R& sum, const R& other) {
  if constexpr (std::signed_integral<R>) {
    using U = std::make_unsigned_t<R>;
    sum = static_cast<R>(static_cast<U>(static_cast<U>(sum) + static_cast<U>(other)));
  } else {
    sum += other;
  }
}

template <typename R>
constexpr R negated(const R& diff) {
  if constexpr (std::signed_integral<R>) {
    using U = std::make_unsigned_t<R>;
    return static_cast<R>(static_cast<U>(U{0} - static_cast<U>(diff)));
  } else {
    return -diff;
  }
}

template <typename R>
constexpr R multiplied(const R& a, const R& b) {
  if constexpr (std::signed_integral<R>) {
    using U = std::make_unsigned_t<R>;
    return static_cast<R>(static_cast<U>(static_cast<U>(a) * static_cast<U>(b)));
  } else {
    return a * b;
  }
}

template <typename R>
concept Semigroup = std::copyable<R> && std::equality_comparable<R> && requires(const R& r) {
  { differential::is_zero(r) } -> std::same_as<bool>;
};

}  // namespace differential
