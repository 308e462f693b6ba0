// SPDX-License-Identifier: Apache-2.0
// Long conversations with Blob and Consensus, in steps over base::Future.
//
// Every conversation has an owner: an object with `queue()`, on which all its steps run. Whatever
// waits for an answer holds the owner, so the queue outlives the wait. When an answer will never
// come (the process was killed, the strand closed) the wait is dropped, and with it the
// conversation; its own future answers kCancelled.
//
// `Chain` is for a few steps in a row, `in_order` for the same step on many things, `Flow` for
// conversations that loop, branch, or remember something on the way.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <freshet/base/assert.h>
#include <freshet/base/future.h>

namespace freshet::persist {

using base::Unexpected;

template <typename X>
concept HasQueue = requires(X& x) {
  { x.queue() } -> std::convertible_to<base::TaskQueue&>;
};

/// For a step that has nothing to wait for.
inline base::Future<base::Unit> done() { return base::Future<base::Unit>::ready(base::Unit{}); }

template <typename X, typename T>
class Chain;

namespace detail {

/// What a step's successor takes, by what the step returns.
template <typename R>
struct Settled {
  using type = R;
};
template <>
struct Settled<void> {
  using type = base::Unit;
};
template <>
struct Settled<Result<void>> {
  using type = base::Unit;
};
template <typename U>
struct Settled<Result<U>> {
  using type = U;
};
template <typename U>
struct Settled<base::Future<U>> {
  using type = U;
};
template <typename X, typename U>
struct Settled<Chain<X, U>> {
  using type = U;
};

/// A step after "done" may leave its second parameter out.
template <typename X, typename F, typename A>
decltype(auto) call(const std::shared_ptr<X>& owner, F& step, A argument) {
  if constexpr (std::same_as<A, base::Unit> && std::invocable<F&, const std::shared_ptr<X>&>) {
    return std::invoke(step, owner);
  } else {
    return std::invoke(step, owner, std::move(argument));
  }
}

template <typename X, typename F, typename A>
using SettledBy = typename Settled<decltype(call(std::declval<const std::shared_ptr<X>&>(),
                                                 std::declval<F&>(), std::declval<A>()))>::type;

template <typename X, typename U, typename R>
void settle(const std::shared_ptr<X>& owner, base::Promise<U> promise, R result) {
  if constexpr (std::same_as<R, Result<void>>) {
    if (!result) return promise.resolve(Unexpected(std::move(result).error()));
    promise.resolve(base::Unit{});
  } else if constexpr (std::convertible_to<R, Result<U>>) {
    promise.resolve(std::move(result));
  } else {
    base::Future<U> answer = std::move(result);
    if (auto ready = answer.poll()) return promise.resolve(std::move(*ready));
    std::move(answer).on_ready(owner->queue(),
                               [owner, promise = std::move(promise)](Result<U> r) mutable {
                                 promise.resolve(std::move(r));
                               });
  }
}

/// What the step held is released before anyone goes on.
template <typename X, typename U, typename F, typename A>
void run(const std::shared_ptr<X>& owner, base::Promise<U> promise, F& step, A argument) {
  const auto once = [&] {
    F last = std::move(step);
    return call(owner, last, std::move(argument));
  };
  if constexpr (std::is_void_v<decltype(once())>) {
    once();
    promise.resolve(base::Unit{});
  } else {
    settle(owner, std::move(promise), once());
  }
}

}  // namespace detail

/// An answer that is to come, and who waits for it. A step is called with the owner and the answer
/// and returns a value, a Result, a Future or another chain; a Unit need not be taken.
///
///     return on(self, consensus.head(key))
///         .and_then([](const auto& self, std::optional<Version> head) { return self->read(head);
///         }) .and_then(&Machine::refresh);
template <typename X, typename T>
class [[nodiscard]] Chain {
 public:
  Chain(std::shared_ptr<X> owner, base::Future<T> answer)
      : owner_(std::move(owner)), answer_(std::move(answer)) {}

  /// Runs `step(owner, T)`; an error passes it by.
  template <typename F>
  auto and_then(F step) && {
    using U = detail::SettledBy<X, F, T>;
    base::Promise<U> promise;
    Chain<X, U> next(owner_, promise.future());
    wait([owner = owner_, step = std::move(step),
          promise = std::move(promise)](Result<T> answer) mutable {
      if (!answer) return promise.resolve(Unexpected(std::move(answer).error()));
      detail::run(owner, std::move(promise), step, std::move(answer).value());
    });
    return next;
  }

  /// Runs `step(owner, Result<T>)`.
  template <typename F>
  auto then(F step) && {
    using U = detail::SettledBy<X, F, Result<T>>;
    base::Promise<U> promise;
    Chain<X, U> next(owner_, promise.future());
    wait([owner = owner_, step = std::move(step),
          promise = std::move(promise)](Result<T> answer) mutable {
      detail::run(owner, std::move(promise), step, std::move(answer));
    });
    return next;
  }

  /// Runs `step(owner, Result<T>)`, and that is the end.
  template <typename F>
  void finally(F step) && {
    wait([owner = owner_, step = std::move(step)](Result<T> answer) mutable {
      std::invoke(step, owner, std::move(answer));
    });
  }

  operator base::Future<T>() && { return std::move(answer_); }  // NOLINT: the end of a chain

 private:
  template <typename F>
  void wait(F f) {
    base::TaskQueue& queue = owner_->queue();
    std::move(answer_).on_ready(queue, std::move(f));
  }

  std::shared_ptr<X> owner_;
  base::Future<T> answer_;
};

template <HasQueue X, typename T>
Chain<X, T> on(std::shared_ptr<X> owner, base::Future<T> answer) {
  return {std::move(owner), std::move(answer)};
}

/// For callers on any thread: the first step is the first that runs on the owner's queue.
template <HasQueue X>
Chain<X, base::Unit> on(std::shared_ptr<X> owner) {
  return {std::move(owner), done()};
}

/// A conversation as an object: its members are what it remembers, its methods the steps. It
/// begins with `begin()` on `queue()`, both of `Derived`, lives while a step is awaited, and
/// answers when it is gone: what it held is released before anyone goes on.
///
///     class Sweep : public Flow<Sweep, Unit> {
///      public:
///       explicit Sweep(std::shared_ptr<Session> session) : session_(std::move(session)) {}
///       base::TaskQueue& queue() { return session_->queue(); }
///       void begin() { await(session_->keys(), &Sweep::listed); }
///      private:
///       void listed(std::vector<std::string> keys) { …; finish(Unit{}); }
///     };
///     return Sweep::start(session);
template <typename Derived, typename T>
class Flow : public std::enable_shared_from_this<Derived> {
 public:
  template <typename... Arguments>
  static base::Future<T> start(Arguments&&... arguments) {
    auto flow = std::make_shared<Derived>(std::forward<Arguments>(arguments)...);
    base::Future<T> answer = flow->promise_.future();
    base::TaskQueue& queue = flow->queue();
    queue.post([flow = std::move(flow)] { flow->begin(); });
    return answer;
  }
  /// For those whose answer nobody needs.
  template <typename... Arguments>
  static void launch(Arguments&&... arguments) {
    (void)start(std::forward<Arguments>(arguments)...);
  }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

 protected:
  Flow() = default;
  ~Flow() {
    if (result_) promise_.resolve(std::move(*result_));
  }

  /// Goes on with `step` once the answer is there; an error is the answer to this conversation.
  template <typename U>
  void await(base::Future<U> answer, void (Derived::*step)(U)) {
    wait(std::move(answer), [step](Derived& flow, Result<U> result) {
      if (!result) return flow.finish(Unexpected(std::move(result).error()));
      (flow.*step)(std::move(result).value());
    });
  }
  void await(base::Future<base::Unit> answer, void (Derived::*step)()) {
    wait(std::move(answer), [step](Derived& flow, Result<base::Unit> result) {
      if (!result) return flow.finish(Unexpected(std::move(result).error()));
      (flow.*step)();
    });
  }
  /// Goes on with `step` whatever the answer is.
  template <typename U>
  void await(base::Future<U> answer, void (Derived::*step)(Result<U>)) {
    wait(std::move(answer),
         [step](Derived& flow, Result<U> result) { (flow.*step)(std::move(result)); });
  }

  /// The last thing a step does.
  void finish(Result<T> result) {
    FRESHET_ASSERT(!result_.has_value());
    result_.emplace(std::move(result));
  }
  void finish_with(base::Future<T> answer) {
    wait(std::move(answer),
         [](Derived& flow, Result<T> result) { flow.finish(std::move(result)); });
  }

 private:
  template <typename U, typename F>
  void wait(base::Future<U> answer, F go_on) {
    auto flow = this->shared_from_this();
    base::TaskQueue& queue = flow->queue();
    std::move(answer).on_ready(queue, [flow = std::move(flow), go_on](Result<U> result) {
      go_on(*flow, std::move(result));
    });
  }

  base::Promise<T> promise_;
  std::optional<Result<T>> result_;
};

namespace detail {

template <typename X, typename Item, typename F>
class InOrder : public Flow<InOrder<X, Item, F>, base::Unit> {
 public:
  InOrder(std::shared_ptr<X> owner, std::vector<Item> items, F step)
      : owner_(std::move(owner)), items_(std::move(items)), step_(std::move(step)) {}
  base::TaskQueue& queue() { return owner_->queue(); }
  void begin() {
    if (next_ == items_.size()) return this->finish(base::Unit{});
    this->await(base::Future<base::Unit>(step_(owner_, items_[next_++])), &InOrder::begin);
  }

 private:
  std::shared_ptr<X> owner_;
  std::vector<Item> items_;
  std::size_t next_ = 0;
  F step_;
};

}  // namespace detail

/// `step(owner, item)` for one item after the other, up to the first error. It returns a
/// Future<Unit>, or a chain that ends in one.
template <HasQueue X, typename Item, typename F>
base::Future<base::Unit> in_order(std::shared_ptr<X> owner, std::vector<Item> items, F step) {
  return detail::InOrder<X, Item, F>::start(std::move(owner), std::move(items), std::move(step));
}

}  // namespace freshet::persist
