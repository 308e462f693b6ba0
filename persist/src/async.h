// SPDX-License-Identifier: Apache-2.0
// Coroutines over base::Future, for the long conversations with Blob and Consensus.
//
// A function that returns Future<T> and takes a shared_ptr to something with `queue()` first may
// co_await futures: it runs on that queue from its first line on, holds the object while it lives,
// and ends with `co_return` of a value, a Result or a failure. A coroutine whose wake-up is dropped
// (its process was killed, its strand closed) is destroyed where it stands; its own future answers
// kCancelled. Name each future before awaiting it: g++ 12 mistreats temporaries in await
// expressions.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <freshet/base/future.h>

namespace freshet::persist {

using base::Unexpected;

/// Owns a suspended coroutine until it is resumed.
class Resumer {
 public:
  explicit Resumer(std::coroutine_handle<> handle) : handle_(handle) {}
  Resumer(Resumer&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Resumer& operator=(Resumer&&) = delete;
  ~Resumer() {
    if (handle_) handle_.destroy();
  }
  void resume() { std::exchange(handle_, nullptr).resume(); }

 private:
  std::coroutine_handle<> handle_;
};

template <typename T>
class FutureAwaiter {
 public:
  FutureAwaiter(base::Future<T> future, base::TaskQueue& queue)
      : future_(std::move(future)), queue_(queue) {}
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    std::move(future_).on_ready(queue_,
                                [this, resumer = Resumer(handle)](base::Result<T> result) mutable {
                                  result_.emplace(std::move(result));
                                  resumer.resume();
                                });
  }
  base::Result<T> await_resume() { return std::move(*result_); }

 private:
  base::Future<T> future_;
  base::TaskQueue& queue_;
  std::optional<base::Result<T>> result_;
};

/// The first step: moves the coroutine onto its queue.
struct StartOnQueue {
  base::TaskQueue& queue;
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) const {
    queue.post([resumer = Resumer(handle)]() mutable { resumer.resume(); });
  }
  void await_resume() const {}
};

template <typename T>
class FuturePromise {
 public:
  template <typename X, typename... Arguments>
  explicit FuturePromise(const std::shared_ptr<X>& self, Arguments&&...) : queue_(self->queue()) {}

  base::Future<T> get_return_object() { return promise_.future(); }
  StartOnQueue initial_suspend() { return {queue_}; }
  // Answers only here: the locals are gone, so what they held is released before anyone goes on.
  std::suspend_never final_suspend() noexcept {
    promise_.resolve(std::move(*result_));
    return {};
  }
  template <typename U>
  void return_value(U&& value) {
    result_.emplace(std::forward<U>(value));
  }
  [[noreturn]] void unhandled_exception() { std::terminate(); }

  template <typename U>
  FutureAwaiter<U> await_transform(base::Future<U>&& future) {
    return {std::move(future), queue_};
  }

 private:
  base::TaskQueue& queue_;
  base::Promise<T> promise_;
  std::optional<base::Result<T>> result_;
};

template <typename X>
concept HasQueue = requires(X& x) {
  { x.queue() } -> std::convertible_to<base::TaskQueue&>;
};

}  // namespace freshet::persist

template <typename T, typename X, typename... Arguments>
  requires freshet::persist::HasQueue<X>
struct std::coroutine_traits<freshet::base::Future<T>, std::shared_ptr<X>, Arguments...> {
  using promise_type = freshet::persist::FuturePromise<T>;
};

/// Leaves the coroutine with the error of a result, if it has one.
#define FRESHET_CO_CHECK(result) \
  if (!(result)) co_return ::freshet::base::Unexpected(std::move(result).error())
