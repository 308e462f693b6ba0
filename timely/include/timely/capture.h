// SPDX-License-Identifier: Apache-2.0
/// Records a stream as a list of events, and plays such lists back into another dataflow.
///
/// Each worker that captures appends to a list of its own; any number of lists can be replayed on
/// any number of workers. A list holds everything a reader needs: the messages with their times,
/// and how the frontier moved.
///
/// Law: the replayed stream has the messages of the captured ones at their times, and its frontier
/// passes a time once it has passed in all lists replayed.
///
///     auto capture = timely::capture(stream);                      // in one dataflow
///     auto again = timely::replay<uint64_t, Numbers>(scope, capture->lists());   // in another
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <freshet/base/guarded.h>
#include <timely/activator.h>
#include <timely/unary.h>

namespace timely {

/// Either messages at times, or changes of the frontier's counts (first of them, +1 at its first
/// elements).
template <Timestamp T, Message M>
struct CaptureEvent {
  struct Sent {
    Antichain<T> times;
    M message;
  };
  struct Progress {
    std::vector<std::pair<T, std::int64_t>> changes;
  };
  std::variant<Sent, Progress> what;
};

/// A growing list of events; readers keep their own place in it.
/// Thread safety: all of it.
template <Timestamp T, Message M>
class EventList {
 public:
  void append(CaptureEvent<T, M> event) {
    std::vector<Activator> wake = state_.with([&](State& state) {
      state.events.push_back(std::make_shared<const CaptureEvent<T, M>>(std::move(event)));
      return state.readers;
    });
    for (const Activator& reader : wake) reader.activate();
  }
  /// The events from `place` on.
  [[nodiscard]] std::vector<std::shared_ptr<const CaptureEvent<T, M>>> read_from(
      std::size_t place) const {
    return state_.with([&](const State& state) {
      using Difference = std::ptrdiff_t;
      return std::vector(
          state.events.begin() + static_cast<Difference>(std::min(place, state.events.size())),
          state.events.end());
    });
  }
  /// Activates `reader` whenever events come.
  void subscribe(Activator reader) {
    state_.with([&](State& state) { state.readers.push_back(std::move(reader)); });
  }

 private:
  struct State {
    std::vector<std::shared_ptr<const CaptureEvent<T, M>>> events;
    std::vector<Activator> readers;
  };
  base::Guarded<State> state_;
};

template <Timestamp T, Message M>
using EventLists = std::vector<std::shared_ptr<EventList<T, M>>>;

/// Captures `stream`, one list per worker.
template <Timestamp T, Message M>
EventLists<T, M> capture(const Stream<T, M>& stream) {
  EventLists<T, M> lists;
  for (std::size_t i = 0; i < stream.scope().width(); ++i)
    lists.push_back(std::make_shared<EventList<T, M>>());
  stream.sink("Capture", Pipeline{}, [lists](Setup<T>& setup) {
    struct Capture {
      std::shared_ptr<EventList<T, M>> list;
      Antichain<T> frontier{};  // as the list tells it
      void step(Input<T, M>& input) {
        input.for_each([&](const Capability<T>& at, M message) {
          list->append({typename CaptureEvent<T, M>::Sent{at.times(), std::move(message)}});
        });
        if (frontier == input.frontier() && !first) return;
        first = false;
        typename CaptureEvent<T, M>::Progress progress;
        for (const T& time : input.frontier().sorted()) progress.changes.emplace_back(time, +1);
        for (const T& time : frontier.sorted()) progress.changes.emplace_back(time, -1);
        frontier = input.frontier();
        list->append({std::move(progress)});
      }
      bool first = true;
    };
    return Capture{lists[setup.worker()]};
  });
  return lists;
}

/// The streams captured in `lists` as one; worker i of n plays the lists i, i + n, … The lists may
/// still grow.
template <Timestamp T, Message M>
Stream<T, M> replay(const Scope<T>& scope, EventLists<T, M> lists) {
  return scope.template source<M>("Replay", [lists](Setup<T>& setup) {
    struct Place {
      std::shared_ptr<EventList<T, M>> list;
      std::size_t read = 0;
      bool told = false;  // its frontier
      MutableAntichain<T> frontier{};
    };
    struct Replay {
      std::vector<Place> places;
      Capability<T> capability;
      void step(Output<T, M>& output) {
        for (Place& place : places) play(place, output);
        Antichain<T> frontier;
        for (const Place& place : places) {
          frontier.extend(place.told ? place.frontier.frontier() : Antichain<T>::minimum());
        }
        if (!capability.valid()) return;
        if (frontier.empty()) {
          capability = Capability<T>();
        } else {
          capability.downgrade(frontier);
        }
      }
      // The messages of an event were sent before its frontier moved, so our capability covers
      // them.
      void play(Place& place, Output<T, M>& output) {
        for (const auto& event : place.list->read_from(place.read)) {
          ++place.read;
          if (const auto* sent = std::get_if<0>(&event->what)) {
            output.give(capability.delayed(sent->times), detail::copy_message(sent->message));
          } else {
            place.frontier.update_all(std::get<1>(event->what).changes);
            place.told = true;
          }
        }
      }
    };
    Replay result{{}, setup.capability()};
    for (std::size_t i = setup.worker(); i < lists.size(); i += setup.width()) {
      result.places.push_back({lists[i]});
      lists[i]->subscribe(setup.activator());
    }
    return result;
  });
}

}  // namespace timely
