// SPDX-License-Identifier: Apache-2.0
/// How the messages of an edge reach workers: they stay, they are divided by a hash, or all get
/// all.
#pragma once

#include <cstdint>
#include <utility>

namespace timely {

/// The receiver is on the sender's worker. (Messages from an input handle go to the workers in
/// turn.)
struct Pipeline {};

/// A record goes to worker `route(record) % width`. For messages with their own
/// `MessageTraits::partition`, `route` is whatever that takes. It is copied per sender.
template <typename Route>
struct Exchange {
  Route route;
};
template <typename Route>
Exchange(Route) -> Exchange<Route>;

/// Every worker gets a copy.
struct Broadcast {};

}  // namespace timely
