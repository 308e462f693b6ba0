// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/log.h>

#include <cstdio>
#include <ctime>

namespace freshet::base {
namespace {

constexpr std::string_view kNames[] = {"DEBUG", "INFO", "WARN", "ERROR"};

class StderrLogger final : public Logger {
 public:
  explicit StderrLogger(LogLevel least) : least_(least) {}

  void write(LogLevel level, std::string_view message, Fields fields) override {
    if (level < least_) return;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    std::tm utc{};
    ::gmtime_r(&now.tv_sec, &utc);
    char stamp[64];
    std::size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    std::string line(stamp, length);
    std::snprintf(stamp, sizeof stamp, ".%03ldZ ", now.tv_nsec / 1'000'000);
    line.append(stamp).append(kNames[static_cast<int>(level)]).append(" ").append(message);
    for (const LogField& field : fields) {
      line.append(" ").append(field.key).append("=").append(quoted(field.value));
    }
    line.push_back('\n');
    std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of threads do not mix
  }

 private:
  static std::string quoted(const std::string& value) {
    if (!value.empty() && value.find_first_of(" \"\n\t=") == std::string::npos) return value;
    std::string out = "\"";
    for (char c : value) {
      if (c == '\n') {
        out += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
    return out + '"';
  }
  LogLevel least_;
};

class NullLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view, Fields) override {}
};

}  // namespace

std::unique_ptr<Logger> make_stderr_logger(LogLevel least) {
  return std::make_unique<StderrLogger>(least);
}
std::unique_ptr<Logger> make_null_logger() { return std::make_unique<NullLogger>(); }

}  // namespace freshet::base
