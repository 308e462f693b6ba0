// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace freshet::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Future;
using base::Promise;
using base::Unit;

/// Its owners are the transports, and what is pending in it owns transports again: whoever ends it breaks the circle.
class Io : public asio::io_context {
 public:
  using io_context::io_context;
  /// Destroys what is pending without calling it. Nobody runs it any more; sockets may still close.
  void drop_pending() { shutdown(); }
};

/// A socket, shared with the operations that are pending on it. A message goes out on the thread that writes it
/// as far as the system takes it, and what comes in is handled by the thread that waited for it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(tcp::socket socket) : socket_(std::move(socket)) {}

  // After `close` the operation fails, which ends the reader.
  void read(std::function<void(std::string)> done) {
    const std::lock_guard lock(mutex_);
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this(), done = std::move(done)](
                                const boost::system::error_code& error, std::size_t size) {
                              done(error ? std::string() : std::string(self->buffer_.data(), size));
                            });
  }

  Future<Unit> write(std::string bytes) {
    const std::lock_guard lock(mutex_);
    outgoing_ = std::move(bytes);
    sent_ = 0;
    if (auto done = send()) return Future<Unit>::ready(std::move(*done));
    rest_written_.emplace();
    auto answer = rest_written_->future();
    wait_for_room();
    return answer;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

 private:
  // Under the lock. Nothing while the system has no room for the rest.
  std::optional<Result<Unit>> send() {
    while (sent_ < outgoing_.size()) {
      if (closed_) return gone();
      const ssize_t size = ::send(socket_.native_handle(), outgoing_.data() + sent_, outgoing_.size() - sent_,
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
      if (size < 0) return gone();
      sent_ += static_cast<std::size_t>(size);
    }
    return Result<Unit>(Unit{});
  }

  void wait_for_room() {
    socket_.async_wait(tcp::socket::wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) { self->go_on(error); });
  }

  void go_on(const boost::system::error_code& error) {
    std::unique_lock lock(mutex_);
    std::optional<Result<Unit>> done = error ? gone() : send();
    if (!done) return wait_for_room();
    Promise<Unit> promise = std::move(*rest_written_);
    rest_written_.reset();
    lock.unlock();
    promise.resolve(std::move(*done));
  }

  static Result<Unit> gone() { return fail(ErrorCode::kUnavailable, "the client is gone"); }

  std::mutex mutex_;
  tcp::socket socket_;
  std::array<char, 64 << 10> buffer_;
  std::string outgoing_;
  std::size_t sent_ = 0;
  std::optional<Promise<Unit>> rest_written_;
  bool closed_ = false;
};

class SocketTransport final : public adapter::Transport {
 public:
  SocketTransport(std::shared_ptr<Io> io, std::shared_ptr<Connection> connection)
      : io_(std::move(io)), connection_(std::move(connection)) {}
  ~SocketTransport() override { connection_->close(); }

  void read(std::function<void(std::string)> done) override { connection_->read(std::move(done)); }
  Future<Unit> write(std::string bytes) override { return connection_->write(std::move(bytes)); }
  void close() override { connection_->close(); }

 private:
  std::shared_ptr<Io> io_;  // outlives the socket
  std::shared_ptr<Connection> connection_;
};

class TcpListener final : public Listener {
 public:
  TcpListener(std::shared_ptr<Io> io, tcp::acceptor acceptor, unsigned threads)
      : io_(std::move(io)), acceptor_(std::move(acceptor)), pause_(*io_), thread_count_(threads) {
    const tcp::endpoint endpoint = acceptor_.local_endpoint();
    port_ = endpoint.port();
    address_ = endpoint.address().to_string() + ":" + std::to_string(port_);
  }
  ~TcpListener() override {
    stop();
    io_->drop_pending();
  }
  void accept(OnConnection on_connection) override {
    on_connection_ = std::move(on_connection);
    accept_next();
    for (unsigned i = 0; i < thread_count_; ++i) {
      threads_.emplace_back([io = io_] { io->run(); });
    }
  }
  void stop() override {
    io_->stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
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

  std::shared_ptr<Io> io_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  OnConnection on_connection_;
  std::string address_;
  std::uint16_t port_ = 0;
  unsigned thread_count_;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<Listener>> listen(const std::string& address, unsigned threads) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return fail(ErrorCode::kInvalid, "listen address \"" + address + "\" is not HOST:PORT");
  }
  boost::system::error_code error;
  const auto host = asio::ip::make_address(
      address.substr(0, colon) == "localhost" ? "127.0.0.1" : address.substr(0, colon), error);
  char* end = nullptr;
  const unsigned long port = std::strtoul(address.c_str() + colon + 1, &end, 10);
  if (error || *end != '\0' || end == address.c_str() + colon + 1) {
    return fail(ErrorCode::kInvalid, "listen address \"" + address + "\" is not HOST:PORT");
  }
  if (port > 65535) {
    return fail(ErrorCode::kInvalid, "port of listen address \"" + address + "\" is not between 0 and 65535");
  }
  auto io = std::make_shared<Io>(static_cast<int>(threads));
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
      std::make_unique<TcpListener>(std::move(io), std::move(acceptor), threads));
}

}  // namespace freshet::server
