// SPDX-License-Identifier: Apache-2.0
/// The PostgreSQL wire protocol (version 3) over any transport.
///
/// Simple and extended query, text and binary formats, COPY in and out, cancel requests. TLS and GSS are answered
/// with 'N'; no password is asked for, so the server listens on loopback only unless told otherwise.
///
/// Limits: a message of more than `max_message_bytes` ends the connection with 08P01; a client that sends
/// while a statement runs is not read further once 1 MiB waits.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <freshet/adapter/adapter.h>

namespace freshet::adapter {

/// One client's bytes, both ways. One read and one write at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Calls `done` once with some bytes; with none when the client will send no more. Never from inside `read` nor
  /// under a lock: the client's next statement may run before `done` returns.
  virtual void read(std::function<void(std::string)> done) = 0;
  /// Resolves when the bytes were handed on and there is room for more. An error: the client is gone.
  virtual base::Future<base::Unit> write(std::string bytes) = 0;
  virtual void close() = 0;
};

struct PgwireOptions {
  std::size_t max_message_bytes = 256u << 20;
};

/// Serves one client until it leaves. Keeps itself alive; `adapter` and `scheduler` outlive it.
void serve_pgwire(Adapter& adapter, base::Scheduler& scheduler, base::Logger& log,
                  std::unique_ptr<Transport> transport, PgwireOptions options = {});

}  // namespace freshet::adapter
