// SPDX-License-Identifier: Apache-2.0
/// A typed record of what workers did: operators run, messages moved, progress posted.
///
/// Give one to `Runtime::Options::events`; without one, logging costs a branch. Workers write into
/// buffers of their own and hand them over at the end of a slice; readers take what came since.
///
/// Limit: at most `capacity` events wait for readers; what comes beyond is counted and dropped.
///
///     timely::EventLog events;
///     timely::Runtime runtime(*executor, {.workers = 2, .events = &events});
///     for (const timely::Event& event : events.drain()) print(event);
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/guarded.h>
#include <freshet/base/scheduler.h>

namespace timely {

enum class EventKind : std::uint8_t {
  kDataflowInstalled,  ///< A worker made its instance of a dataflow; `value` operators.
  kDataflowGone,       ///< A worker destroyed its instance.
  kOperatorStart,
  kOperatorStop,     ///< `value` nanoseconds after its start.
  kMessageSent,      ///< `value` records on channel `port`.
  kMessageReceived,  ///< `value` records taken by an operator from its input `port`.
  kProgressPosted,   ///< `value` count changes in one posting.
};

std::string_view to_string(EventKind kind);

struct Event {
  EventKind kind{};
  std::uint32_t worker = 0;
  std::uint64_t dataflow = 0;
  std::uint32_t op = 0;  ///< Index within the dataflow, see `Dataflow::operator_names`.
  std::uint32_t port = 0;
  std::uint64_t value = 0;
  freshet::base::Instant at{};
};

std::ostream& operator<<(std::ostream& out, const Event& event);

/// Thread safety: all of it.
class EventLog {
 public:
  explicit EventLog(std::size_t capacity = std::size_t{1} << 20) : capacity_(capacity) {}

  /// Hands over the events and leaves the buffer empty.
  void append(std::vector<Event>& buffer);
  /// Everything since the last call; events of one worker are in order.
  [[nodiscard]] std::vector<Event> drain();
  /// How many were dropped because nobody read.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct State {
    std::vector<Event> events;
    std::uint64_t dropped = 0;
  };
  std::size_t capacity_;
  freshet::base::Guarded<State> state_;
};

}  // namespace timely
