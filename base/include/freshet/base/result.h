// SPDX-License-Identifier: Apache-2.0
/// `Result<T>`: a value or an `Error`, for failures that a caller can act on.
/// The names are those of `std::expected`, so that C++23 is an alias. Nothing in the project throws:
/// third-party exceptions are turned into results in the one file that wraps the library.
///
///     Result<int> parse(std::string_view text);
///     Result<int> twice(std::string_view text) {
///       int value = FRESHET_TRY(parse(text));   // returns the error to our caller
///       return 2 * value;
///     }
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <freshet/base/assert.h>

namespace freshet::base {

/// What a caller may react to. Everything finer stands in the message and the SQLSTATE.
enum class ErrorCode : std::uint8_t {
  kInvalid,        ///< The request is wrong: bad SQL, bad argument, bad bytes from a peer.
  kNotFound,       ///< What was named is not there.
  kConflict,       ///< A comparison failed: somebody else changed it first.
  kUnavailable,    ///< Failed for sure and changed nothing; trying again may help.
  kIndeterminate,  ///< May or may not have happened; only reading back tells.
  kCorrupt,        ///< Durable bytes are not what was written.
  kCancelled,      ///< The caller asked for it to stop, or what was to answer has been closed.
  kFenced,         ///< This process may not write any more (another took over, its log broke): nothing tried here helps.
  kExhausted,      ///< A stated limit (memory, queue, disk, size) was reached.
};

std::string_view to_string(ErrorCode code);

/// The five characters that tell an SQL client the class of an error; "XX000" if nobody chose one.
class SqlState {
 public:
  constexpr SqlState() = default;
  constexpr SqlState(const char (&text)[6]) {  // NOLINT: literals convert
    for (std::size_t i = 0; i < 5; ++i) chars_[i] = text[i];
  }
  /// From five characters read at run time; anything else gives "XX000".
  static SqlState from(std::string_view text);
  [[nodiscard]] std::string_view view() const { return {chars_.data(), chars_.size()}; }
  friend constexpr bool operator==(const SqlState&, const SqlState&) = default;
  friend constexpr auto operator<=>(const SqlState&, const SqlState&) = default;

 private:
  std::array<char, 5> chars_{'X', 'X', '0', '0', '0'};
};

/// A failure as the user or the caller sees it. `message` is lower case, without a full stop, and
/// says what was attempted, values last.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  SqlState sqlstate{};
  std::string message;
  std::string detail{};
  std::string hint{};
  /// 1-based character position in the statement text; 0 if there is none.
  std::int32_t position = 0;

  friend bool operator==(const Error&, const Error&) = default;
};

std::ostream& operator<<(std::ostream& out, const Error& error);

/// An SQL error: `code` is kInvalid unless given.
Error sql_error(SqlState state, std::string message);

/// Wraps an error so that it converts to any `Result<T>`.
struct Unexpected {
  explicit Unexpected(Error e) : error(std::move(e)) {}
  Error error;
};

inline Unexpected fail(Error error) { return Unexpected(std::move(error)); }
inline Unexpected fail(ErrorCode code, std::string message) {
  return Unexpected(Error{.code = code, .message = std::move(message)});
}
inline Unexpected fail(SqlState state, std::string message) {
  return Unexpected(sql_error(state, std::move(message)));
}

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: converts
  Result(Unexpected unexpected)                                          // NOLINT: converts
      : state_(std::in_place_index<1>, std::move(unexpected.error)) {}
  template <typename U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Unexpected>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// The value. Calling these on an error is a bug and aborts with the error's message. Of a temporary it comes by
  /// value, so that `for (auto& x : *f())` is right.
  T& value() & { return check(), *std::get_if<0>(&state_); }
  const T& value() const& { return check(), *std::get_if<0>(&state_); }
  T value() && { return check(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error. Calling these on a value is a bug.
  [[nodiscard]] const Error& error() const& {
    FRESHET_ASSERT(!has_value());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error error() && {
    FRESHET_ASSERT(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  void check() const { FRESHET_ASSERT(has_value(), std::get_if<1>(&state_)->message); }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Unexpected unexpected)  // NOLINT: converts
      : failed_(true), error_(std::move(unexpected.error)) {}
  [[nodiscard]] bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  void value() const { FRESHET_ASSERT(!failed_, error_.message); }
  void operator*() const { value(); }
  [[nodiscard]] const Error& error() const& { return error_; }
  [[nodiscard]] Error error() && { return std::move(error_); }

 private:
  bool failed_ = false;
  Error error_{};
};

}  // namespace freshet::base

namespace freshet {
using base::Error;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::sql_error;
using base::SqlState;
}  // namespace freshet

/// Evaluates to the value of `expression` (a Result), or returns its error from this function. Not behind another element
/// of a list: g++ 12 forgets to destroy that one.
#define FRESHET_TRY(expression)                                                     \
  __extension__({                                                                   \
    auto freshet_try_result = (expression);                                         \
    if (!freshet_try_result) [[unlikely]] {                                         \
      return ::freshet::base::Unexpected(std::move(freshet_try_result).error());    \
    }                                                                               \
    std::move(freshet_try_result).value();                                          \
  })
