// SPDX-License-Identifier: Apache-2.0
/// A value that arrives later, delivered by callback on a task queue.
/// `Promise<T>` is the writing end, `Future<T>` the reading end; both move only, one reader. A
/// promise dropped without an answer answers kCancelled, so nobody waits for ever; a continuation whose
/// queue is gone is dropped, and what it promised is answered the same way. A continuation may
/// return a value, a `Result`, or another `Future`; all three flatten to a `Future`.
///
/// Thread safety: the two ends may live on different threads. Continuations run on the given queue.
///
///     blob.get(key)                                        // Future<Bytes>
///         .and_then(strand, [this](Bytes bytes) { return decode(bytes); })   // Future<Batch>
///         .on_ready(strand, [this](Result<Batch> batch) { finish(std::move(batch)); });
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include <freshet/base/result.h>
#include <freshet/base/scheduler.h>

namespace freshet::base {

template <typename T>
class Future;

/// Stands for "done" where there is no value to send.
struct Unit {
  friend bool operator==(const Unit&, const Unit&) = default;
};

namespace detail {

template <typename T>
struct FutureState {
  std::mutex mutex;
  std::optional<Result<T>> result;
  std::shared_ptr<TaskQueue> queue;
  UniqueFunction<void(Result<T>)> callback;
};

template <typename T>
void resolve(const std::shared_ptr<FutureState<T>>& state, Result<T> result) {
  std::unique_lock lock(state->mutex);
  if (!state->callback) {
    state->result.emplace(std::move(result));
    return;
  }
  auto callback = std::move(state->callback);
  state->callback = nullptr;
  const auto queue = std::move(state->queue);
  lock.unlock();
  queue->post([callback = std::move(callback), result = std::move(result)]() mutable {
    callback(std::move(result));
  });
}

template <typename R>
struct Flatten {
  using type = R;
};
template <>
struct Flatten<void> {
  using type = Unit;
};
template <>
struct Flatten<Result<void>> {
  using type = Unit;
};
template <>
struct Flatten<Unexpected> {
  using type = Unit;
};
template <typename U>
struct Flatten<Result<U>> {
  using type = U;
};
template <typename U>
struct Flatten<Future<U>> {
  using type = U;
};

/// What a continuation that returns `R` keeps of its queue: only one that returns a future waits there again.
template <typename R>
struct Home {
  explicit Home(TaskQueue&) {}
};
template <typename U>
struct Home<Future<U>> {
  explicit Home(TaskQueue& q) : queue(q.handle()) {}
  std::shared_ptr<TaskQueue> queue;
};

}  // namespace detail

template <typename T>
class Promise {
 public:
  Promise() : state_(std::make_shared<detail::FutureState<T>>()) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept {
    abandon();
    state_ = std::move(other.state_);
    return *this;
  }
  ~Promise() { abandon(); }

  /// The reading end; call it once, before `resolve` or after.
  Future<T> future() { return Future<T>(state_); }

  /// Delivers the answer. Must be called at most once.
  void resolve(Result<T> result) {
    FRESHET_ASSERT(state_ != nullptr);
    detail::resolve(std::exchange(state_, nullptr), std::move(result));
  }
  /// True until `resolve`.
  [[nodiscard]] bool pending() const { return state_ != nullptr; }

 private:
  void abandon() {
    if (state_ == nullptr) return;
    detail::resolve<T>(std::exchange(state_, nullptr),
                       fail(ErrorCode::kCancelled, "the answer was abandoned"));
  }
  std::shared_ptr<detail::FutureState<T>> state_;
};

template <typename T>
class [[nodiscard]] Future {
 public:
  using value_type = T;

  /// A future that is ready at once.
  static Future ready(Result<T> result) {
    auto state = std::make_shared<detail::FutureState<T>>();
    state->result.emplace(std::move(result));
    return Future(std::move(state));
  }

  [[nodiscard]] bool is_ready() const {
    std::lock_guard lock(state_->mutex);
    return state_->result.has_value();
  }

  /// The answer if it has come, else nothing. Consumes the answer.
  std::optional<Result<T>> poll() {
    std::lock_guard lock(state_->mutex);
    return std::exchange(state_->result, std::nullopt);
  }

  /// Runs `f(Result<T>)` on `queue` when the answer is there; ends the chain.
  void on_ready(TaskQueue& queue, UniqueFunction<void(Result<T>)> f) && {
    auto state = std::move(state_);
    std::unique_lock lock(state->mutex);
    if (!state->result.has_value()) {
      state->queue = queue.handle();
      state->callback = std::move(f);
      return;
    }
    auto result = std::move(*state->result);
    lock.unlock();
    queue.post([f = std::move(f), result = std::move(result)]() mutable { f(std::move(result)); });
  }

  /// Runs `f(Result<T>)` on `queue`; the returned future carries what `f` returns, flattened.
  template <typename F>
  auto then(TaskQueue& queue, F f) && {
    using R = std::invoke_result_t<F&, Result<T>>;
    using U = typename detail::Flatten<R>::type;
    Promise<U> promise;
    Future<U> next = promise.future();
    std::move(*this).on_ready(queue, [f = std::move(f), promise = std::move(promise),
                                      home = detail::Home<R>(queue)](Result<T> result) mutable {
      run(home, f, std::move(promise), std::move(result));
    });
    return next;
  }

  /// Like `then`, but `f` takes the value and runs only on success; an error passes through.
  template <typename F>
  auto and_then(TaskQueue& queue, F f) && {
    using R = std::invoke_result_t<F&, T>;
    using U = typename detail::Flatten<R>::type;
    Promise<U> promise;
    Future<U> next = promise.future();
    std::move(*this).on_ready(queue, [f = std::move(f), promise = std::move(promise),
                                      home = detail::Home<R>(queue)](Result<T> result) mutable {
      if (!result) {
        promise.resolve(Unexpected(std::move(result).error()));
        return;
      }
      run(home, f, std::move(promise), std::move(result).value());
    });
    return next;
  }

 private:
  friend class Promise<T>;
  explicit Future(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}

  template <typename R, typename F, typename U, typename Argument>
  static void run([[maybe_unused]] const detail::Home<R>& home, F& f, Promise<U> promise, Argument argument) {
    if constexpr (std::is_void_v<R>) {
      f(std::move(argument));
      promise.resolve(Unit{});
    } else if constexpr (std::is_same_v<R, Result<void>>) {
      Result<void> result = f(std::move(argument));
      if (result) {
        promise.resolve(Unit{});
      } else {
        promise.resolve(Unexpected(std::move(result).error()));
      }
    } else if constexpr (std::is_same_v<R, Future<U>>) {
      f(std::move(argument)).on_ready(*home.queue, [promise = std::move(promise)](Result<U> r) mutable {
        promise.resolve(std::move(r));
      });
    } else {
      promise.resolve(f(std::move(argument)));
    }
  }

  std::shared_ptr<detail::FutureState<T>> state_;
};

}  // namespace freshet::base
