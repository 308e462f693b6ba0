// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <thread>

namespace freshet::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Future;
using base::Promise;
using base::Unit;

/// A socket, used on the I/O thread only; shared with the operations that are pending on it.
struct Connection : std::enable_shared_from_this<Connection> {
  explicit Connection(tcp::socket s) : socket(std::move(s)) {}

  void read(Promise<std::string> promise) {
    auto self = shared_from_this();
    socket.async_read_some(
        asio::buffer(buffer),
        [self, promise = std::make_shared<Promise<std::string>>(std::move(promise))](
            const boost::system::error_code& error, std::size_t size) {
          promise->resolve(error ? std::string() : std::string(self->buffer.data(), size));
        });
  }

  void write(std::string bytes, Promise<Unit> promise) {
    auto self = shared_from_this();
    outgoing = std::move(bytes);
    asio::async_write(socket, asio::buffer(outgoing),
                      [self, promise = std::make_shared<Promise<Unit>>(std::move(promise))](
                          const boost::system::error_code& error, std::size_t) {
                        if (error) {
                          promise->resolve(fail(ErrorCode::kUnavailable, "the client is gone"));
                        } else {
                          promise->resolve(Unit{});
                        }
                      });
  }

  void close() {
    boost::system::error_code ignored;
    socket.shutdown(tcp::socket::shutdown_both, ignored);
    socket.close(ignored);
  }

  tcp::socket socket;
  std::array<char, 64 << 10> buffer;
  std::string outgoing;
};

class SocketTransport final : public adapter::Transport {
 public:
  SocketTransport(std::shared_ptr<asio::io_context> io, std::shared_ptr<Connection> connection)
      : io_(std::move(io)), connection_(std::move(connection)) {}
  ~SocketTransport() override { close(); }

  Future<std::string> read() override {
    Promise<std::string> promise;
    auto answer = promise.future();
    post([c = connection_, p = std::make_shared<Promise<std::string>>(std::move(promise))] {
      c->read(std::move(*p));
    });
    return answer;
  }

  Future<Unit> write(std::string bytes) override {
    Promise<Unit> promise;
    auto answer = promise.future();
    post([c = connection_, bytes = std::make_shared<std::string>(std::move(bytes)),
          p = std::make_shared<Promise<Unit>>(std::move(promise))] {
      c->write(std::move(*bytes), std::move(*p));
    });
    return answer;
  }

  void close() override {
    post([c = connection_] { c->close(); });
  }

 private:
  template <typename F>
  void post(F f) {
    asio::post(*io_, std::move(f));
  }
  std::shared_ptr<asio::io_context> io_;
  std::shared_ptr<Connection> connection_;
};

class TcpListener final : public Listener {
 public:
  TcpListener(std::shared_ptr<asio::io_context> io, tcp::acceptor acceptor)
      : io_(std::move(io)), acceptor_(std::move(acceptor)), pause_(*io_) {
    const tcp::endpoint endpoint = acceptor_.local_endpoint();
    port_ = endpoint.port();
    address_ = endpoint.address().to_string() + ":" + std::to_string(port_);
  }
  ~TcpListener() override {
    io_->stop();
    if (thread_.joinable()) thread_.join();
  }
  void accept(OnConnection on_connection) override {
    on_connection_ = std::move(on_connection);
    accept_next();
    thread_ = std::thread([io = io_] { io->run(); });
  }
  [[nodiscard]] std::string address() const override { return address_; }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  void accept_next() {
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        boost::system::error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        on_connection_(std::make_unique<SocketTransport>(
            io_, std::make_shared<Connection>(std::move(socket))));
      }
      if (!error) return accept_next();
      // Out of descriptors, most likely: asking again at once would only burn the core.
      pause_.expires_after(std::chrono::milliseconds(100));
      pause_.async_wait([this](const boost::system::error_code& stopped) {
        if (!stopped) accept_next();
      });
    });
  }

  std::shared_ptr<asio::io_context> io_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  OnConnection on_connection_;
  std::string address_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Listener>> listen(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return fail(ErrorCode::kInvalid, "listen address \"" + address + "\" is not HOST:PORT");
  }
  boost::system::error_code error;
  const auto host = asio::ip::make_address(
      address.substr(0, colon) == "localhost" ? "127.0.0.1" : address.substr(0, colon), error);
  char* end = nullptr;
  const unsigned long port = std::strtoul(address.c_str() + colon + 1, &end, 10);
  if (error || *end != '\0' || end == address.c_str() + colon + 1 || port > 65535) {
    return fail(ErrorCode::kInvalid, "listen address \"" + address + "\" is not HOST:PORT");
  }
  auto io = std::make_shared<asio::io_context>(1);
  tcp::acceptor acceptor(*io);
  const tcp::endpoint endpoint(host, static_cast<std::uint16_t>(port));
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(1024, error);
  if (error) {
    return fail(ErrorCode::kConflict, "listen on " + address + ": " + error.message());
  }
  return std::unique_ptr<Listener>(
      std::make_unique<TcpListener>(std::move(io), std::move(acceptor)));
}

}  // namespace freshet::server
