// SPDX-License-Identifier: Apache-2.0
#include <timely/event_log.h>

#include <algorithm>
#include <iterator>

namespace timely {

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::kDataflowInstalled:
      return "dataflow_installed";
    case EventKind::kDataflowGone:
      return "dataflow_gone";
    case EventKind::kOperatorStart:
      return "operator_start";
    case EventKind::kOperatorStop:
      return "operator_stop";
    case EventKind::kMessageSent:
      return "message_sent";
    case EventKind::kMessageReceived:
      return "message_received";
    case EventKind::kProgressPosted:
      return "progress_posted";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, const Event& event) {
  return out << to_string(event.kind) << " worker=" << event.worker
             << " dataflow=" << event.dataflow << " op=" << event.op << " port=" << event.port
             << " value=" << event.value;
}

void EventLog::append(std::vector<Event>& buffer) {
  state_.with([&](State& state) {
    const std::size_t room = capacity_ - std::min(capacity_, state.events.size());
    const std::size_t kept = std::min(room, buffer.size());
    state.events.insert(state.events.end(), buffer.begin(),
                        buffer.begin() + static_cast<std::ptrdiff_t>(kept));
    state.dropped += buffer.size() - kept;
  });
  buffer.clear();
}

std::vector<Event> EventLog::drain() {
  return state_.with([](State& state) { return std::exchange(state.events, {}); });
}

std::uint64_t EventLog::dropped() const {
  return state_.with([](const State& state) { return state.dropped; });
}

}  // namespace timely
