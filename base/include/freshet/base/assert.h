// SPDX-License-Identifier: Apache-2.0
/// Assertions that stay on in every build and print their operands.
/// FRESHET_ASSERT marks a bug in our own code: it prints the condition, the values and the place, then
/// aborts. FRESHET_DASSERT does the same in debug, sanitizer and simulation builds only, for checks that
/// are too dear for production. Expected failures are `Result`s, never assertions.
///
///     FRESHET_ASSERT(lower <= upper, lower, upper);
#pragma once

#include <sstream>
#include <string>

namespace freshet::base::detail {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   const std::string& values);

template <typename... Values>
std::string print_values(const Values&... values) {
  std::ostringstream out;
  const char* separator = "";
  [[maybe_unused]] auto print = [&](const auto& value) {
    out << separator;
    if constexpr (requires { out << value; }) {
      out << value;
    } else {
      out << "?";
    }
    separator = ", ";
  };
  (print(values), ...);
  return out.str();
}

}  // namespace freshet::base::detail

#define FRESHET_ASSERT(condition, ...)                                                      \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::freshet::base::detail::assertion_failed(                                            \
          #condition, __FILE__, __LINE__,                                                   \
          ::freshet::base::detail::print_values(__VA_ARGS__));                              \
    }                                                                                       \
  } while (false)

#ifdef FRESHET_DEBUG
#define FRESHET_DASSERT(condition, ...) FRESHET_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#else
#define FRESHET_DASSERT(condition, ...) \
  do {                                  \
  } while (false)
#endif

/// Marks a place that control flow cannot reach.
#define FRESHET_UNREACHABLE(...) \
  ::freshet::base::detail::assertion_failed("unreachable", __FILE__, __LINE__, \
      ::freshet::base::detail::print_values(__VA_ARGS__))
