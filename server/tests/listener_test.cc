// SPDX-License-Identifier: Apache-2.0
#include "../src/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include <catch2/catch.hpp>

namespace freshet::server {
namespace {

/// A client that connects and says nothing.
class Silent {
 public:
  explicit Silent(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval most{.tv_sec = 10, .tv_usec = 0};
    REQUIRE(::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0);
    REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  ~Silent() { ::close(socket_); }
  /// What the server sends until it hangs up.
  [[nodiscard]] std::string rest() const {
    std::string got;
    char bytes[256];
    for (;;) {
      const ssize_t size = ::recv(socket_, bytes, sizeof bytes, 0);
      if (size <= 0) return size == 0 ? got : got + " and no end";
      got.append(bytes, static_cast<std::size_t>(size));
    }
  }

 private:
  int socket_;
};

}  // namespace

// A session keeps its transport, the pending read keeps the session: whoever serves clients does it so.
TEST_CASE("listener: what waits for clients that stay goes with the listener", "[server]") {
  auto listener = listen("127.0.0.1:0", 2);
  REQUIRE(listener);
  const auto session = std::make_shared<int>(0);
  std::promise<void> served;
  (*listener)->accept([&](std::unique_ptr<adapter::Transport> transport) {
    const std::shared_ptr<adapter::Transport> shared = std::move(transport);
    shared->read([shared, session](const std::string&) { ++*session; });
    served.set_value();
  });
  const Silent client((*listener)->port());
  served.get_future().wait();
  CHECK(session.use_count() == 2);
  (*listener)->stop();
  (*listener)->stop();
  listener->reset();
  CHECK(session.use_count() == 1);
  CHECK(*session == 0);
  CHECK(client.rest().empty());
}

TEST_CASE("listener: a transport may outlive it", "[server]") {
  auto listener = listen("127.0.0.1:0", 1);
  REQUIRE(listener);
  std::promise<std::shared_ptr<adapter::Transport>> served;
  (*listener)->accept([&](std::unique_ptr<adapter::Transport> transport) { served.set_value(std::move(transport)); });
  const Silent client((*listener)->port());
  auto transport = served.get_future().get();
  listener->reset();
  CHECK(transport->write("bye").is_ready());
  transport->close();
  transport.reset();
  CHECK(client.rest() == "bye");
}

}  // namespace freshet::server
