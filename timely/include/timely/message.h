// SPDX-License-Identifier: Apache-2.0
/// What timely asks of the messages on its edges: a size, and a way to divide one by a hash.
///
/// A message is any type that moves cheaply (a container, a chunk behind a pointer); timely moves
/// it and never looks inside. The defaults suit containers with `value_type` and `push_back`;
/// specialise `MessageTraits` for others:
///
///     template <> struct timely::MessageTraits<Chunk> {
///       static std::size_t size(const Chunk& chunk) { return chunk.rows(); }
///       static Chunk copy(const Chunk& chunk) { return chunk.share(); }
///       template <typename Route>
///       static void partition(Chunk&& chunk, Route& route, std::span<Chunk> parts) { … }
///     };
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace timely {

template <typename M>
struct MessageTraits {
  /// How many records; used for estimates and logs, and parts of size 0 are not sent.
  static std::size_t size(const M& message) {
    if constexpr (requires { message.size(); }) {
      return message.size();
    } else {
      return 1;
    }
  }
  /// For streams with several consumers. Leave it out to forbid them.
  static M copy(const M& message)
    requires std::copy_constructible<M>
  {
    return message;
  }
  /// Moves each record to `parts[route(record) % parts.size()]`; the parts come
  /// default-constructed.
  template <typename Route>
    requires requires(M& m, Route& route) {
      { route(*m.begin()) } -> std::convertible_to<std::uint64_t>;
      m.push_back(std::move(*m.begin()));
    }
  static void partition(M&& message, Route& route, std::span<M> parts) {
    const std::uint64_t count = parts.size();
    if constexpr (requires(M& m) { m.reserve(m.size()); }) {
      for (M& part : parts) part.reserve(message.size() / count + message.size() / count / 4 + 4);
    }
    // A division costs more than moving a small record.
    const bool power_of_two = (count & (count - 1)) == 0;
    for (auto& record : message) {
      const auto hash = static_cast<std::uint64_t>(route(record));
      const std::uint64_t part = power_of_two ? hash & (count - 1) : hash % count;
      parts[static_cast<std::size_t>(part)].push_back(std::move(record));
    }
  }
};

/// What an edge may carry.
template <typename M>
concept Message = std::movable<M> && std::default_initializable<M>;

}  // namespace timely
