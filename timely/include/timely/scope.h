// SPDX-License-Identifier: Apache-2.0
/// A scope: where streams of one time live, while a dataflow is described.
///
/// Nested scopes have finer times (`Refines`); streams go in by `enter` and out by `leave`, which
/// cost no operator. A loop is a `Feedback`: a stream made before what feeds it, with a summary by
/// which every trip advances time. A cycle that does not advance time is refused when the dataflow
/// is built.
///
///     scope.iterative<uint32_t>("Rounds", [&](timely::Scope<Product<uint64_t, uint32_t>>& inner) {
///       auto again = inner.feedback<Numbers>({.inner = {1}});
///       auto next = start.enter(inner).concat(again.stream()).map(collatz);
///       again.connect(next.filter(unfinished));
///       return next.leave(scope);
///     });
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <timely/detail/describe.h>
#include <timely/product.h>
#include <timely/stream.h>

namespace timely {

template <Timestamp T, Message M>
class InputHandle;

namespace detail {

template <Timestamp T>
struct FollowSummary {
  SummaryOf<T> summary;
  std::optional<T> operator()(const T& time) const { return summary.results_in(time); }
};
template <Timestamp From, Timestamp To>
struct EnterTime {
  std::optional<To> operator()(const From& time) const {
    return Refinement<To, From>::to_inner(time);
  }
};
template <Timestamp From, Timestamp To>
struct LeaveTime {
  std::optional<To> operator()(const From& time) const {
    return Refinement<From, To>::to_outer(time);
  }
};

/// Passes messages on to another stream with converted times.
template <Timestamp From, Timestamp To, Message M, typename Convert>
class PassOn final : public ConsumerSpec<From, M> {
 public:
  PassOn(StreamSpec<To, M>& target, Convert convert)
      : target_(target), convert_(std::move(convert)) {}
  std::shared_ptr<Pusher<From, M>> make(SenderContext& context) override {
    return std::make_shared<ConvertPusher<From, To, M, Convert>>(target_.pusher(context), convert_);
  }

 private:
  StreamSpec<To, M>& target_;
  Convert convert_;
};

/// Passes messages on as they are.
template <Timestamp T, Message M>
class Join final : public ConsumerSpec<T, M> {
 public:
  explicit Join(StreamSpec<T, M>& target) : target_(target) {}
  std::shared_ptr<Pusher<T, M>> make(SenderContext& context) override {
    return std::shared_ptr<Pusher<T, M>>(std::shared_ptr<void>(), &target_.pusher(context));
  }

 private:
  StreamSpec<T, M>& target_;
};

}  // namespace detail

/// A stream that is fed later, by `connect`; each message arrives at its time led through the
/// summary.
template <Timestamp T, Message M>
class Feedback {
 public:
  Feedback(detail::StreamSpec<T, M>& spec, SummaryOf<T> summary)
      : spec_(&spec), summary_(summary) {}
  [[nodiscard]] Stream<T, M> stream() const { return Stream<T, M>(*spec_); }
  /// Once. Messages whose next time does not exist are dropped.
  void connect(const Stream<T, M>& source) {
    FRESHET_ASSERT(!connected_, "a feedback was connected twice");
    connected_ = true;
    source.spec().connect_to(spec_->port, summary_);
    source.spec().consumers.push_back(
        std::make_unique<detail::PassOn<T, T, M, detail::FollowSummary<T>>>(
            *spec_, detail::FollowSummary<T>{summary_}));
  }

 private:
  detail::StreamSpec<T, M>* spec_;
  SummaryOf<T> summary_;
  bool connected_ = false;
};

template <Timestamp T>
class Scope {
 public:
  using Time = T;

  explicit Scope(detail::ScopeSpec<T>& spec) : spec_(&spec) {}
  [[nodiscard]] detail::ScopeSpec<T>& spec() const { return *spec_; }
  /// On how many workers the dataflow runs.
  [[nodiscard]] std::size_t width() const { return spec_->builder.state().width(); }

  /// A handle that sends from outside, and the stream of what it sends. See <timely/input.h>.
  template <Message M>
  std::pair<InputHandle<T, M>, Stream<T, M>> input(std::string name = "Input") const;

  /// An operator without inputs, activated from outside or by itself. See <timely/unary.h>.
  template <typename M = Deduced, typename Factory>
  auto source(std::string name, Factory factory) const;

  /// The start of a loop in this scope.
  template <Message M>
  [[nodiscard]] Feedback<T, M> feedback(SummaryOf<T> summary) const {
    return Feedback<T, M>(place<M>("Feedback"), summary);
  }

  /// A nested scope of times `T2`; gives what `describe(Scope<T2>&)` returns.
  template <Timestamp T2, typename F>
    requires Refines<T2, T>
  auto nested(std::string name, F describe) const {
    Scope<T2> inner(spec_->builder.template add_scope<T2>(std::move(name), spec_));
    return describe(inner);
  }
  /// A nested scope with one more coordinate, for loops.
  template <Timestamp I, typename F>
  auto iterative(std::string name, F describe) const {
    return nested<Product<T, I>>(std::move(name), std::move(describe));
  }

  /// A place where streams of `M` come together; for operators that cost nothing.
  template <Message M>
  [[nodiscard]] detail::StreamSpec<T, M>& place(std::string name) const {
    const std::uint32_t port = spec_->graph.add_port(std::move(name));
    return spec_->builder.template add_stream<T, M>(*spec_, port);
  }

 private:
  detail::ScopeSpec<T>* spec_;
};

template <Timestamp T, Message M>
Scope<T> Stream<T, M>::scope() const {
  return Scope<T>(spec_->scope);
}

template <Timestamp T, Message M>
Stream<T, M> Stream<T, M>::concat(const Stream& other) const {
  FRESHET_ASSERT(&spec_->scope == &other.spec_->scope, "streams of different scopes");
  auto& both = scope().template place<M>("Concat");
  for (const Stream* each : {this, &other}) {
    each->spec_->connect_to(both.port);
    each->spec_->consumers.push_back(std::make_unique<detail::Join<T, M>>(both));
  }
  return Stream(both);
}

/// All of `streams` as one; there must be at least one.
template <Timestamp T, Message M>
Stream<T, M> concatenate(const std::vector<Stream<T, M>>& streams) {
  FRESHET_ASSERT(!streams.empty());
  auto& all = streams.front().scope().template place<M>("Concatenate");
  for (const Stream<T, M>& each : streams) {
    each.spec().connect_to(all.port);
    each.spec().consumers.push_back(std::make_unique<detail::Join<T, M>>(all));
  }
  return Stream<T, M>(all);
}

template <Timestamp T, Message M>
template <Timestamp T2>
  requires Refines<T2, T>
Stream<T2, M> Stream<T, M>::enter(const Scope<T2>& inner) const {
  auto& outside = spec_->scope;
  auto& inside = inner.spec();
  FRESHET_ASSERT(inside.parent == &outside, "enter goes one scope in", inside.name);
  auto& stream = inner.template place<M>("Enter");
  const std::uint32_t from = outside.graph.add_port("Into " + inside.name);
  const std::uint32_t to = stream.port;
  spec_->connect_to(from);
  outside.graph.ports[from].into.push_back(
      [later = inside.tracker_later, to](const Antichain<T>& f) {
        Antichain<T2> entry;
        for (const T& time : f.elements()) entry.insert(Refinement<T2, T>::to_inner(time));
        (*later)->set_entry(to, entry);
      });
  inside.through.push_back(
      {to, [&outside, &inside, from](const auto& paths) {
         for (const auto& [exit, port] : inside.exits) {
           for (const auto& path : paths[exit].elements()) {
             outside.graph.edges.push_back({from, port, Refinement<T2, T>::summarize(path)});
           }
         }
       }});
  using Convert = detail::EnterTime<T, T2>;
  spec_->consumers.push_back(
      std::make_unique<detail::PassOn<T, T2, M, Convert>>(stream, Convert{}));
  return Stream<T2, M>(stream);
}

template <Timestamp T, Message M>
template <Timestamp T2>
  requires Refines<T, T2>
Stream<T2, M> Stream<T, M>::leave(const Scope<T2>& outer) const {
  auto& inside = spec_->scope;
  FRESHET_ASSERT(inside.parent == &outer.spec(), "leave goes one scope out", inside.name);
  auto& stream = outer.template place<M>("Out of " + inside.name);
  const std::uint32_t from = inside.graph.add_port("Leave");
  const std::uint32_t to = stream.port;
  spec_->connect_to(from);
  inside.exits.emplace_back(from, to);
  inside.graph.ports[from].out_of = [later = outer.spec().tracker_later, to,
                                     held = Antichain<T2>()](const Antichain<T>& f) mutable {
    Antichain<T2> next;
    for (const T& time : f.elements()) next.insert(Refinement<T, T2>::to_outer(time));
    (*later)->contribute(to, held, next);
  };
  using Convert = detail::LeaveTime<T, T2>;
  spec_->consumers.push_back(
      std::make_unique<detail::PassOn<T, T2, M, Convert>>(stream, Convert{}));
  return Stream<T2, M>(stream);
}

}  // namespace timely
