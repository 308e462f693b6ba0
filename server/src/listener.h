// SPDX-License-Identifier: Apache-2.0
/// Accepts TCP connections and moves their bytes; all of Asio lives behind it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <freshet/adapter/pgwire.h>

namespace freshet::server {

using OnConnection = std::function<void(std::unique_ptr<adapter::Transport>)>;

class Listener {
 public:
  /// As `stop`. What still waits for the network is dropped uncalled, with all that it keeps alive: a client's
  /// session, if nothing else does. A transport may outlive the listener.
  virtual ~Listener() = default;
  /// Connections are taken from now on; `on_connection` is called on a thread of the listener. Until then
  /// they wait in the system's queue. A session's tasks may run on them too.
  virtual void accept(OnConnection on_connection) = 0;
  /// Takes no more connections, waits for the network no more, and joins its threads.
  virtual void stop() = 0;
  [[nodiscard]] virtual std::string address() const = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

/// Binds HOST:PORT; `threads` of them wait for the network.
/// kInvalid for an address that cannot be read, kConflict if the port is taken.
Result<std::unique_ptr<Listener>> listen(const std::string& address, unsigned threads);

}  // namespace freshet::server
