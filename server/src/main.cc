// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include <freshet/server/server.h>

// Read by jemalloc before main: pages that nothing needs any more go back to the system within a second or two, by a
// thread that sleeps while there are none. Without it they go back only when somebody allocates, so that after a
// big index was built an idle server kept twice its size.
extern "C" const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";

namespace {

using freshet::server::Server;
using freshet::server::ServerConfig;

constexpr std::string_view kUsage =
    R"(usage: freshet serve [options]

  --data-dir DIR           where everything is kept (default freshet-data; :memory: keeps nothing)
  --listen HOST:PORT       the PostgreSQL port (default 127.0.0.1:6875; port 0 picks a free one)
  --workers N              workers of the dataflow engine (default: one per core)
  --threads N              threads (default: one per core, at least two)
  --max-connections N      sessions at once (default 5000)
  --engine dataflow|naive  naive recomputes everything and is for tests
  --storage durable|memory memory needs --data-dir :memory: and does without persist (tests)
  --maintain on|off        off starts no view and no index, so that one which cannot be started is dropped
  --compute-through-bytes on|off
                           on sends every command to the engine and every response as bytes (tests)
  --log-level LEVEL        debug, info, warn or error (default info)

  freshet version          prints the version
)";

struct Options {
  ServerConfig server;
  freshet::base::LogLevel log_level = freshet::base::LogLevel::kInfo;
};

freshet::Result<std::uint32_t> number(std::string_view name, const std::string& text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value == 0 || value > 1'000'000) {
    return freshet::fail(freshet::ErrorCode::kInvalid,
                         std::string(name) + " takes a positive number, not \"" + text + "\"");
  }
  return static_cast<std::uint32_t>(value);
}

freshet::Result<bool> one_of(std::string_view name, const std::string& value, std::string_view yes,
                             std::string_view no) {
  if (value == yes || value == no) return value == yes;
  return freshet::fail(freshet::ErrorCode::kInvalid, std::string(name) + " takes " + std::string(yes) + " or " +
                                                         std::string(no) + ", not \"" + value + "\"");
}

freshet::Result<freshet::base::LogLevel> log_level(std::string_view name, const std::string& value) {
  using freshet::base::LogLevel;
  if (value == "debug") return LogLevel::kDebug;
  if (value == "info") return LogLevel::kInfo;
  if (value == "warn") return LogLevel::kWarn;
  if (value == "error") return LogLevel::kError;
  return freshet::fail(freshet::ErrorCode::kInvalid,
                       std::string(name) + " takes debug, info, warn or error, not \"" + value + "\"");
}

constexpr std::string_view kNames[] = {"--data-dir", "--listen",   "--workers",
                                       "--threads",  "--max-connections", "--engine",
                                       "--storage",  "--maintain", "--compute-through-bytes", "--log-level"};

freshet::Result<void> set(Options& options, std::string_view name, std::string value) {
  if (name == "--data-dir") {
    options.server.data_directory = std::move(value);
  } else if (name == "--listen") {
    options.server.listen = std::move(value);
  } else if (name == "--workers") {
    options.server.workers = FRESHET_TRY(number(name, value));
  } else if (name == "--threads") {
    options.server.threads = FRESHET_TRY(number(name, value));
  } else if (name == "--max-connections") {
    options.server.max_connections = FRESHET_TRY(number(name, value));
  } else if (name == "--engine") {
    const bool naive = FRESHET_TRY(one_of(name, value, "naive", "dataflow"));
    options.server.engine = naive ? ServerConfig::Engine::kNaive : ServerConfig::Engine::kDataflow;
  } else if (name == "--storage") {
    const bool memory = FRESHET_TRY(one_of(name, value, "memory", "durable"));
    options.server.storage = memory ? ServerConfig::Storage::kMemory : ServerConfig::Storage::kDurable;
  } else if (name == "--maintain") {
    options.server.maintain = FRESHET_TRY(one_of(name, value, "on", "off"));
  } else if (name == "--compute-through-bytes") {
    options.server.commands_through_bytes = FRESHET_TRY(one_of(name, value, "on", "off"));
  } else {
    options.log_level = FRESHET_TRY(log_level(name, value));
  }
  return {};
}

freshet::Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (std::ranges::find(kNames, name) == std::end(kNames)) {
      return freshet::fail(freshet::ErrorCode::kInvalid, "unknown option " + std::string(name));
    }
    if (equals != std::string_view::npos) {
      FRESHET_TRY(set(options, name, std::string(argument.substr(equals + 1))));
      continue;
    }
    if (i + 1 == argc) {
      return freshet::fail(freshet::ErrorCode::kInvalid, "option " + std::string(name) + " takes a value");
    }
    FRESHET_TRY(set(options, name, argv[++i]));
  }
  return options;
}

int serve(const Options& options) {
  // Blocked before any thread starts, so that only `sigwait` below receives them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const auto log = freshet::base::make_stderr_logger(options.log_level);
  auto server = Server::start(options.server, *log);
  if (!server) {
    log->error("cannot start", {{"error", server.error().message}});
    return 1;
  }
  int received = 0;
  sigwait(&signals, &received);
  server->reset();
  log->info("stopped");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "version" || command == "--version") {
    std::puts("freshet 0.1.0");
    return 0;
  }
  const auto asks_for_help = [](std::string_view word) { return word == "help" || word == "--help" || word == "-h"; };
  if (asks_for_help(command) || (argc > 2 && command == "serve" && asks_for_help(argv[2]))) {
    std::fwrite(kUsage.data(), 1, kUsage.size(), stdout);
    return 0;
  }
  if (command != "serve") {
    std::fwrite(kUsage.data(), 1, kUsage.size(), stderr);
    return 2;
  }
  auto options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "freshet: %s\n%.*s", options.error().message.c_str(),
                 static_cast<int>(kUsage.size()), kUsage.data());
    return 2;
  }
  return serve(*options);
}
