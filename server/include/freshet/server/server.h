// SPDX-License-Identifier: Apache-2.0
/// `Server`: the whole system in one process, put together from its parts.
///
/// The one place where implementations are chosen: durable or memory storage, dataflow or naive compute,
/// file or memory Blob and Consensus.
///
///     auto server = Server::start({.data_directory = "data", .listen = "127.0.0.1:6875"}, log);
///     (*server)->port();
///
/// Errors: kConflict when another server uses the directory or the port; kCorrupt naming what is broken.
/// Lifetime: the destructor stops listening, lets commits under way finish, and joins all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <freshet/base/log.h>
#include <freshet/base/result.h>

namespace freshet::adapter {
class Adapter;
}

namespace freshet::server {

struct ServerConfig {
  /// ":memory:" keeps nothing.
  std::string data_directory = "freshet-data";
  /// HOST:PORT; port 0 picks a free one. Empty: does not listen (embedded use).
  std::string listen = "127.0.0.1:6875";
  /// Logical workers of the dataflow engine; 0: one per core.
  std::uint32_t workers = 0;
  /// Threads that run sessions and dataflows; 0: one per core, at least two.
  std::uint32_t threads = 0;
  std::uint32_t max_connections = 5000;
  enum class Engine : std::uint8_t { kDataflow, kNaive };
  Engine engine = Engine::kDataflow;
  /// Sends every compute command and response through bytes (tests).
  bool commands_through_bytes = false;
  enum class Storage : std::uint8_t { kDurable, kMemory };
  /// kMemory: without persist; only with the data directory ":memory:".
  Storage storage = Storage::kDurable;
  /// False: nothing is kept up to date in this life, so that a view which ends the server can be dropped.
  bool maintain = true;
};

class Server {
 public:
  virtual ~Server() = default;
  /// Blocks until sessions may come.
  static Result<std::unique_ptr<Server>> start(ServerConfig config, base::Logger& log);
  /// The address it listens on.
  [[nodiscard]] virtual std::string address() const = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[nodiscard]] virtual adapter::Adapter& adapter() = 0;
};

}  // namespace freshet::server
