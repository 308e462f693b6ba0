// SPDX-License-Identifier: Apache-2.0
/// A move-only `std::function`: holds any callable once, including ones that own move-only state.
///     UniqueFunction<int(int)> add = [p = std::make_unique<int>(2)](int x) { return *p + x; };
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace freshet::base {

template <typename Signature>
class UniqueFunction;

template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) {}  // NOLINT: converts
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
  UniqueFunction(F&& f)  // NOLINT: converts
      : callable_(std::make_unique<Model<std::remove_cvref_t<F>>>(std::forward<F>(f))) {}

  R operator()(Args... args) { return callable_->call(std::forward<Args>(args)...); }
  explicit operator bool() const { return callable_ != nullptr; }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual R call(Args... args) = 0;
  };
  template <typename F>
  struct Model final : Callable {
    explicit Model(F f) : function(std::move(f)) {}
    R call(Args... args) override { return function(std::forward<Args>(args)...); }
    F function;
  };
  std::unique_ptr<Callable> callable_;
};

}  // namespace freshet::base
