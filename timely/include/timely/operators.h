// SPDX-License-Identifier: Apache-2.0
/// The shipped operators on streams: map, filter, flat_map, inspect, partition, exchange,
/// broadcast, delay.
///
/// `concat`, `enter`, `leave` and feedback are in scope.h; they are edges, not operators. The
/// operators on records read and write messages that are containers with `push_back`; user
/// functions are copied per worker, and what they share by pointer must be thread-safe.
#pragma once

#include <map>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <timely/notificator.h>
#include <timely/unary.h>

namespace timely {

template <Timestamp T, Message M>
template <typename F>
auto Stream<T, M>::map_messages(F f) const {
  using Out = std::remove_cvref_t<std::invoke_result_t<F&, M>>;
  return this->template unary<Out>(
      "MapMessages", Pipeline{},
      [f = std::move(f)] {
        return [f](Input<T, M>& input, Output<T, Out>& output) mutable {
          input.for_each(
              [&](const Capability<T>& at, M message) { output.give(at, f(std::move(message))); });
        };
      },
      FrontierInterest::kNever);
}

template <Timestamp T, Message M>
template <typename F>
auto Stream<T, M>::map(F f) const {
  using Record = typename M::value_type;
  using To = std::remove_cvref_t<std::invoke_result_t<F&, Record>>;
  using Out = std::vector<To>;
  return this->template unary<Out>(
      "Map", Pipeline{},
      [f = std::move(f)] {
        return [f](Input<T, M>& input, Output<T, Out>& output) mutable {
          input.for_each([&](const Capability<T>& at, M message) {
            if constexpr (std::is_same_v<To, Record> && std::is_same_v<Out, M>) {
              for (Record& record : message) record = f(std::move(record));
              output.give(at, std::move(message));
            } else {
              Out result;
              result.reserve(message.size());
              for (Record& record : message) result.push_back(f(std::move(record)));
              output.give(at, std::move(result));
            }
          });
        };
      },
      FrontierInterest::kNever);
}

template <Timestamp T, Message M>
template <typename F>
Stream<T, M> Stream<T, M>::filter(F keep) const {
  return this->template unary<M>(
      "Filter", Pipeline{},
      [keep = std::move(keep)] {
        return [keep](Input<T, M>& input, Output<T, M>& output) mutable {
          input.for_each([&](const Capability<T>& at, M message) {
            std::erase_if(message, [&](const auto& record) { return !keep(record); });
            if (MessageTraits<M>::size(message) != 0) output.give(at, std::move(message));
          });
        };
      },
      FrontierInterest::kNever);
}

template <Timestamp T, Message M>
template <typename F>
auto Stream<T, M>::flat_map(F f) const {
  using Range = std::invoke_result_t<F&, typename M::value_type>;
  using Out = std::vector<std::remove_cvref_t<decltype(*std::declval<Range>().begin())>>;
  return this->template unary<Out>(
      "FlatMap", Pipeline{},
      [f = std::move(f)] {
        return [f](Input<T, M>& input, Output<T, Out>& output) mutable {
          input.for_each([&](const Capability<T>& at, M message) {
            auto session = output.session(at);
            for (auto& record : message) {
              for (auto&& result : f(std::move(record))) {
                session.give(std::forward<decltype(result)>(result));
              }
            }
          });
        };
      },
      FrontierInterest::kNever);
}

template <Timestamp T, Message M>
template <typename F>
Stream<T, M> Stream<T, M>::inspect(F f) const {
  return this->template unary<M>(
      "Inspect", Pipeline{},
      [f = std::move(f)] {
        return [f](Input<T, M>& input, Output<T, M>& output) mutable {
          input.for_each([&](const Capability<T>& at, M message) {
            if constexpr (std::is_invocable_v<F&, const Antichain<T>&, const M&>) {
              f(at.times(), std::as_const(message));
            } else {
              for (const auto& record : message) f(record);
            }
            output.give(at, std::move(message));
          });
        };
      },
      FrontierInterest::kNever);
}

template <Timestamp T, Message M>
template <typename F>
std::vector<Stream<T, M>> Stream<T, M>::partition(std::size_t parts, F f) const {
  OperatorBuilder<T> builder(scope(), "Partition");
  const auto in = builder.input(*this, Pipeline{}, FrontierInterest::kNever);
  std::vector<OutputRef<T, M>> outs;
  std::vector<Stream<T, M>> streams;
  for (std::size_t i = 0; i < parts; ++i) {
    auto [out, stream] = builder.template output<M>();
    outs.push_back(out);
    streams.push_back(stream);
  }
  builder.build([in, outs, f = std::move(f)](Setup<T>&) {
    return [in, outs, f, buffers = std::vector<M>(outs.size())](Ports<T>& ports) mutable {
      ports.input(in).for_each([&](const Capability<T>& at, M message) {
        for (auto& record : message) {
          const auto part = static_cast<std::size_t>(f(std::as_const(record)));
          FRESHET_ASSERT(part < buffers.size(), part);
          buffers[part].push_back(std::move(record));
        }
        for (std::size_t i = 0; i < outs.size(); ++i) {
          if (MessageTraits<M>::size(buffers[i]) == 0) continue;
          ports.output(outs[i]).give(at, std::exchange(buffers[i], M{}));
        }
      });
    };
  });
  return streams;
}

namespace detail {

/// Reads with a pact and sends on.
template <Timestamp T, Message M, typename Pact>
Stream<T, M> pass_through(const Stream<T, M>& stream, std::string name, Pact pact) {
  return stream.template unary<M>(
      std::move(name), std::move(pact),
      [] {
        return [](Input<T, M>& input, Output<T, M>& output) {
          input.for_each(
              [&](const Capability<T>& at, M message) { output.give(at, std::move(message)); });
        };
      },
      FrontierInterest::kNever);
}

}  // namespace detail

template <Timestamp T, Message M>
template <typename Route>
Stream<T, M> Stream<T, M>::exchange(Route route) const {
  return detail::pass_through(*this, "Exchange", Exchange<Route>{std::move(route)});
}

template <Timestamp T, Message M>
Stream<T, M> Stream<T, M>::broadcast() const {
  return detail::pass_through(*this, "Broadcast", Broadcast{});
}

template <Timestamp T, Message M>
template <typename F>
Stream<T, M> Stream<T, M>::delay(F f) const {
  return this->template unary<M>("Delay", Pipeline{}, [f = std::move(f)] {
    struct Delay {
      F f;
      Notificator<T> notificator{};
      std::map<T, M> held{};
      void step(Input<T, M>& input, Output<T, M>& output) {
        input.for_each([&](const Capability<T>& at, M message) {
          for (auto& record : message) {
            const T time = f(at.time(), std::as_const(record));
            auto [place, fresh] = held.try_emplace(time);
            if (fresh) notificator.notify_at(at.delayed(time));
            place->second.push_back(std::move(record));
          }
        });
        notificator.for_each({&input.frontier()}, [&](Capability<T> due) {
          auto place = held.find(due.time());
          output.give(due, std::move(place->second));
          held.erase(place);
        });
      }
    };
    return Delay{f};
  });
}

}  // namespace timely
