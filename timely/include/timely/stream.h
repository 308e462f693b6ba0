// SPDX-License-Identifier: Apache-2.0
/// A stream: what an output of an operator sends, while a dataflow is described.
///
/// A value that may be copied; each use adds a consumer, and messages are copied for all consumers
/// but the last. Valid until the description ends.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <timely/detail/describe.h>
#include <timely/message.h>
#include <timely/pact.h>

namespace timely {

template <Timestamp T>
class Scope;
template <Timestamp T>
class ProbeHandle;

/// Stands for "find the type of the output in the signature of the operator's step".
struct Deduced {};

template <Timestamp T, Message M>
class Stream {
 public:
  using Time = T;
  using MessageType = M;

  explicit Stream(detail::StreamSpec<T, M>& spec) : spec_(&spec) {}
  [[nodiscard]] detail::StreamSpec<T, M>& spec() const { return *spec_; }
  [[nodiscard]] Scope<T> scope() const;

  // Operators of one's own: <timely/unary.h>. `factory()` or `factory(Setup<T>&)` makes the
  // operator of one worker: an object with `step`, or a lambda. Name the output's message type if
  // it is not in the signature.
  template <typename M2 = Deduced, typename Pact, typename Factory>
  auto unary(std::string name, Pact pact, Factory factory,
             FrontierInterest interest = FrontierInterest::kAlways) const;
  template <typename M3 = Deduced, Message M2, typename Pact1, typename Pact2, typename Factory>
  auto binary(const Stream<T, M2>& other, std::string name, Pact1 pact1, Pact2 pact2,
              Factory factory, FrontierInterest interest = FrontierInterest::kAlways) const;
  template <typename Pact, typename Factory>
  void sink(std::string name, Pact pact, Factory factory,
            FrontierInterest interest = FrontierInterest::kAlways) const;

  // Shipped operators: <timely/operators.h>. Those on records want messages that are containers.
  template <typename F>
  auto map(F f) const;  ///< A record to a record.
  template <typename F>
  Stream filter(F keep) const;
  template <typename F>
  auto flat_map(F f) const;  ///< A record to a range of records.
  template <typename F>
  auto map_messages(F f) const;  ///< A message to a message, at the same time.
  template <typename F>
  Stream inspect(F f) const;  ///< `f(const Record&)`, or `f(const Antichain<T>&, const M&)`.
  Stream concat(const Stream& other) const;
  template <typename F>
  std::vector<Stream> partition(std::size_t parts, F f) const;  ///< By `f(record)` < parts.
  template <typename Route>
  Stream exchange(Route route) const;
  Stream broadcast() const;
  /// Holds records until `f(time, record)`, which must not be before `time`.
  template <typename F>
  Stream delay(F f) const;
  /// A handle that shows which times this stream may still send.
  ProbeHandle<T> probe() const;
  /// Makes `handle` show them (it must not be in use elsewhere).
  Stream probe_with(ProbeHandle<T>& handle) const;

  // Nested scopes: <timely/scope.h>.
  template <Timestamp T2>
    requires Refines<T2, T>
  Stream<T2, M> enter(const Scope<T2>& inner) const;
  template <Timestamp T2>
    requires Refines<T, T2>
  Stream<T2, M> leave(const Scope<T2>& outer) const;

 private:
  detail::StreamSpec<T, M>* spec_;
};

}  // namespace timely
