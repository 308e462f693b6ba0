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
  virtual ~Listener() = default;  ///< Closes the port and every connection, and joins its threads.
  /// Connections are taken from now on; `on_connection` is called on a thread of the listener. Until then
  /// they wait in the system's queue. A session's tasks may run on them too.
  virtual void accept(OnConnection on_connection) = 0;
  [[nodiscard]] virtual std::string address() const = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

/// Binds HOST:PORT; `threads` of them wait for the network.
/// kInvalid for an address that cannot be read, kConflict if the port is taken.
Result<std::unique_ptr<Listener>> listen(const std::string& address, unsigned threads);

}  // namespace freshet::server
