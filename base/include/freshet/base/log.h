// SPDX-License-Identifier: Apache-2.0
/// Structured logs: a lower-case sentence and named values, through a `Logger&` that is passed in.
/// ERROR means corruption, loss or a broken invariant, and fails any test or simulation that emits it.
///
///     log.info("compacted batch", {{"shard", shard_id}, {"rows", 17}});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::base {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
  template <typename N>
    requires(std::is_arithmetic_v<N> && !std::is_same_v<N, bool>)
  LogField(std::string_view k, N v) : key(k), value(std::to_string(v)) {}
  std::string_view key;
  std::string value;
};

/// Thread safety: any thread may log; lines never mix.
class Logger {
 public:
  virtual ~Logger() = default;
  using Fields = std::initializer_list<LogField>;
  virtual void write(LogLevel level, std::string_view message, Fields fields) = 0;

  void debug(std::string_view m, Fields f = {}) { write(LogLevel::kDebug, m, f); }
  void info(std::string_view m, Fields f = {}) { write(LogLevel::kInfo, m, f); }
  void warn(std::string_view m, Fields f = {}) { write(LogLevel::kWarn, m, f); }
  void error(std::string_view m, Fields f = {}) { write(LogLevel::kError, m, f); }
};

/// Lines of `time level message key=value …` on standard error, from `least` on.
std::unique_ptr<Logger> make_stderr_logger(LogLevel least);
/// Drops everything.
std::unique_ptr<Logger> make_null_logger();

}  // namespace freshet::base
