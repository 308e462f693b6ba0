// SPDX-License-Identifier: Apache-2.0
/// What lies between a storage reader and the operator that brings its updates into a dataflow.
///
/// The control side reads and pushes; the operator takes. At most `kEvents` events wait; the reader is asked for
/// the next one only when there is room, so a slow dataflow holds back its reader and nobody blocks.
///
/// Thread safety: all methods, from any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <freshet/base/guarded.h>
#include <freshet/storage_api/storage.h>
#include <timely/activator.h>

namespace freshet::compute {

class SourceQueue {
 public:
  static constexpr std::size_t kEvents = 2;

  /// `on_room` is called whenever an event was taken.
  explicit SourceQueue(std::function<void()> on_room) : on_room_(std::move(on_room)) {}

  void push(storage_api::ReadEvent event) {
    const timely::Activator activator = state_.with([&](State& state) {
      state.events.push_back(std::move(event));
      return state.activator;
    });
    activator.activate();
  }
  [[nodiscard]] bool has_room() const {
    return state_.with([](const State& state) { return state.events.size() < kEvents; });
  }
  std::optional<storage_api::ReadEvent> take() {
    std::optional<storage_api::ReadEvent> event;
    state_.with([&](State& state) {
      if (state.events.empty()) return;
      event = std::move(state.events.front());
      state.events.pop_front();
    });
    if (event) on_room_();
    return event;
  }
  void set_activator(timely::Activator activator) {
    state_.with([&](State& state) { state.activator = std::move(activator); });
  }

 private:
  struct State {
    std::deque<storage_api::ReadEvent> events;
    timely::Activator activator;
  };
  base::Guarded<State> state_;
  std::function<void()> on_room_;
};

}  // namespace freshet::compute
