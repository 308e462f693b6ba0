// SPDX-License-Identifier: Apache-2.0
/// Arrays of integers in as few bytes as their values need: none if all are equal, else 1, 2, 4 or 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <freshet/base/assert.h>

namespace differential {

namespace detail {
/// Least and greatest; compiled once with vector instructions for the common types.
std::pair<std::int64_t, std::int64_t> range_of(const std::int64_t* values, std::size_t size);
std::pair<std::uint32_t, std::uint32_t> range_of(const std::uint32_t* values, std::size_t size);
template <typename N>
std::pair<N, N> range_of(const N* values, std::size_t size) {
  N least = values[0];
  N most = values[0];
  for (std::size_t i = 1; i < size; ++i) {
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  return {least, most};
}
}  // namespace detail

/// Reads such an array. `N` is the type of the values (signed or not).
template <typename N>
class NarrowView {
 public:
  NarrowView() = default;

  N operator[](std::size_t i) const {
    switch (width_) {
      case 0:
        return constant_;
      case 1:
        return static_cast<N>(at<std::conditional_t<kSigned, std::int8_t, std::uint8_t>>(i));
      case 2:
        return static_cast<N>(at<std::conditional_t<kSigned, std::int16_t, std::uint16_t>>(i));
      case 4:
        return static_cast<N>(at<std::conditional_t<kSigned, std::int32_t, std::uint32_t>>(i));
      default:
        return at<N>(i);
    }
  }
  [[nodiscard]] unsigned width() const { return width_; }
  /// True if all values are equal, to `operator[](0)`.
  [[nodiscard]] bool constant() const { return width_ == 0; }

  /// Copies values [low, high) to `out`, widened.
  template <typename Out>
  void copy(std::size_t low, std::size_t high, Out* out) const {
    switch (width_) {
      case 0:
        for (std::size_t i = low; i < high; ++i) *out++ = static_cast<Out>(constant_);
        return;
      case 1:
        return copy_as<std::conditional_t<kSigned, std::int8_t, std::uint8_t>>(low, high, out);
      case 2:
        return copy_as<std::conditional_t<kSigned, std::int16_t, std::uint16_t>>(low, high, out);
      case 4:
        return copy_as<std::conditional_t<kSigned, std::int32_t, std::uint32_t>>(low, high, out);
      default:
        return copy_as<N>(low, high, out);
    }
  }

  /// The bytes a value needs: 0 if all are equal.
  static unsigned width_of(const N* values, std::size_t size) {
    if (size == 0) return 0;
    const auto [least, most] = detail::range_of(values, size);
    if (least == most) return 0;
    if (fits(least, most, 8)) return 1;
    if (sizeof(N) > 2 && fits(least, most, 16)) return 2;
    if (sizeof(N) > 4 && fits(least, most, 32)) return 4;
    return sizeof(N);
  }
  /// Writes the values at `place` with `width` bytes each; `place` moves on by a multiple of 8.
  static NarrowView freeze(const N* values, std::size_t size, unsigned width, std::byte*& place) {
    NarrowView view;
    view.width_ = width;
    view.constant_ = size == 0 ? N{} : values[0];
    view.data_ = place;
    switch (view.width_) {
      case 0:
        break;
      case 1:
        write<std::conditional_t<kSigned, std::int8_t, std::uint8_t>>(values, size, place);
        break;
      case 2:
        write<std::conditional_t<kSigned, std::int16_t, std::uint16_t>>(values, size, place);
        break;
      case 4:
        write<std::conditional_t<kSigned, std::int32_t, std::uint32_t>>(values, size, place);
        break;
      default:
        write<N>(values, size, place);
    }
    return view;
  }

 private:
  static constexpr bool kSigned = std::is_signed_v<N>;

  template <typename Stored>
  const Stored& at(std::size_t i) const {
    return reinterpret_cast<const Stored*>(data_)[i];
  }
  template <typename Stored, typename Out>
  void copy_as(std::size_t low, std::size_t high, Out* out) const {
    const Stored* from = reinterpret_cast<const Stored*>(data_);
    for (std::size_t i = low; i < high; ++i) *out++ = static_cast<Out>(from[i]);
  }
  template <typename Stored>
  static void write(const N* values, std::size_t size, std::byte*& place) {
    Stored* to = reinterpret_cast<Stored*>(place);
    for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<Stored>(values[i]);
    place += (size * sizeof(Stored) + 7) / 8 * 8;
  }
  static bool fits(N least, N most, unsigned bits) {
    if constexpr (kSigned) {
      const std::int64_t bound = std::int64_t{1} << (bits - 1);
      return -bound <= static_cast<std::int64_t>(least) && static_cast<std::int64_t>(most) < bound;
    } else {
      return static_cast<std::uint64_t>(most) < (std::uint64_t{1} << bits);
    }
  }

  const std::byte* data_ = nullptr;
  N constant_{};
  unsigned width_ = 0;
};

}  // namespace differential
