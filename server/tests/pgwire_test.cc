// SPDX-License-Identifier: Apache-2.0
/// The PostgreSQL protocol, byte by byte, on the real server: what drivers depend on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <freshet/server/server.h>

namespace freshet::server {
namespace {

std::string int32(std::size_t value) {
  std::string out(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> (24 - 8 * i));
  return out;
}

std::string message(char type, const std::string& body) { return type + int32(body.size() + 4) + body; }

struct Message {
  char type = 0;
  std::string body{};
};

/// One connection; reads and writes block.
class Wire {
 public:
  explicit Wire(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const std::string body = int32(196608) + std::string("user\0materialize\0database\0materialize\0\0", 39);
    send(int32(body.size() + 4) + body);
    answer();
  }
  ~Wire() { ::close(socket_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void send(const std::string& bytes) {
    REQUIRE(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  Message receive() {
    const std::string header = exactly(5);
    std::size_t length = 0;
    for (std::size_t i = 1; i < 5; ++i) length = length << 8 | static_cast<unsigned char>(header[i]);
    return {header[0], exactly(length - 4)};
  }
  /// Up to ReadyForQuery.
  std::vector<Message> answer() {
    std::vector<Message> all;
    do all.push_back(receive());
    while (all.back().type != 'Z');
    return all;
  }
  /// Types of the answer's messages, and each value, tag or error.
  std::string query(const std::string& sql) {
    send(message('Q', sql + '\0'));
    return shown(answer());
  }
  static std::string shown(const std::vector<Message>& messages) {
    std::string out;
    for (const Message& m : messages) {
      out += m.type;
      if (m.type == 'D') out += "(" + m.body.substr(6) + ")";  // of one column
      if (m.type == 'C') out += "(" + m.body.substr(0, m.body.size() - 1) + ")";
      if (m.type == 'E') out += "(" + field(m, 'C') + " " + field(m, 'M') + ")";
      if (m.type == 'Z') out += m.body;
    }
    return out;
  }
  static std::string field(const Message& error, char wanted) {
    for (std::size_t at = 0; at < error.body.size() && error.body[at] != '\0';) {
      const std::size_t end = error.body.find('\0', at);
      if (error.body[at] == wanted) return error.body.substr(at + 1, end - at - 1);
      at = end + 1;
    }
    return "";
  }

 private:
  std::string exactly(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t have = 0; have < size;) {
      const ssize_t got = ::recv(socket_, bytes.data() + have, size - have, 0);
      REQUIRE(got > 0);
      have += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  int socket_;
};

std::unique_ptr<Server> start(base::Logger& log) {
  return Server::start({.data_directory = ":memory:", .listen = "127.0.0.1:0", .workers = 1, .threads = 2}, log).value();
}

std::string parse(const std::string& sql) { return message('P', '\0' + sql + '\0' + std::string(2, '\0')); }
const std::string kBind = message('B', std::string(8, '\0'));
const std::string kExecute = message('E', std::string(5, '\0'));
const std::string kSync = message('S', "");

TEST_CASE("pgwire: a write before its Sync is tried again after a conflict, however the bytes are cut", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Wire wire(server->port());
  Wire other(server->port());
  CHECK(wire.query("CREATE TABLE t (a int)") == "C(CREATE TABLE)ZI");
  CHECK(wire.query("INSERT INTO t VALUES (1)") == "C(INSERT 0 1)ZI");
  for (const std::size_t together : {std::size_t{0}, std::size_t{1}, std::size_t{4}, kSync.size()}) {
    CAPTURE(together);
    wire.send(parse("UPDATE t SET a = a + 1"));
    wire.send(kBind + kExecute + kSync.substr(0, together));
    // Time for the server to see what there is; another write comes before the rest.
    for (int i = 0; i < 20; ++i) CHECK(other.query("UPDATE t SET a = a + 1") == "C(UPDATE 1)ZI");
    wire.send(kSync.substr(together));
    CHECK(Wire::shown(wire.answer()) == "12C(UPDATE 1)ZI");
  }
  CHECK(wire.query("SELECT a FROM t") == "TD(85)C(SELECT 1)ZI");
}

TEST_CASE("pgwire: a write waits for what follows it, and Flush and Close are that, too", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Wire wire(server->port());
  CHECK(wire.query("CREATE TABLE t (a int)") == "C(CREATE TABLE)ZI");
  wire.send(parse("INSERT INTO t VALUES (1)"));
  wire.send(kBind + kExecute);
  wire.send(message('H', ""));
  CHECK(Wire::shown({wire.receive(), wire.receive(), wire.receive()}) == "12C(INSERT 0 1)");
  wire.send(kBind + kExecute);
  wire.send(kBind);
  wire.send(kExecute);
  wire.send(kSync);
  CHECK(Wire::shown(wire.answer()) == "2C(INSERT 0 1)2C(INSERT 0 1)ZI");
  CHECK(wire.query("SELECT count(*) FROM t") == "TD(3)C(SELECT 1)ZI");
  // A client that leaves instead has written nothing.
  {
    Wire leaver(server->port());
    leaver.send(parse("INSERT INTO t VALUES (1)"));
    leaver.send(kBind + kExecute);
  }
  CHECK(wire.query("SELECT count(*) FROM t") == "TD(3)C(SELECT 1)ZI");
}

TEST_CASE("pgwire: binary COPY begins in the message of its first row", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Wire wire(server->port());
  const auto sizes = [&](const std::string& sql) {
    wire.send(message('Q', sql + '\0'));
    std::string out;
    for (const Message& m : wire.answer()) out += m.type == 'd' ? std::to_string(m.body.size()) + " " : "";
    return out;
  };
  CHECK(sizes("COPY (SELECT 1, 'x'::text UNION ALL SELECT 2, 'y') TO STDOUT (FORMAT binary)") == "34 15 2 ");
  CHECK(sizes("COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)") == "21 ");
}

TEST_CASE("pgwire: the texts of drivers' pools, and what SHOW says of the isolation level", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Wire wire(server->port());
  CHECK(wire.query("SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;").ends_with("C(UNLISTEN)C(RESET)ZI"));
  CHECK(wire.query("SHOW TRANSACTION ISOLATION LEVEL") == "TD(serializable)C(SHOW)ZI");
  CHECK(wire.query("SHOW default_transaction_isolation") == "TD(strict serializable)C(SHOW)ZI");
  CHECK(wire.query("SHOW session_authorization") == "TD(materialize)C(SHOW)ZI");
  CHECK(wire.query("SET default_transaction_isolation = 'strict serializable'") == "C(SET)ZI");
  CHECK(wire.query("SHOW transaction_isolation") == "TD(strict serializable)C(SHOW)ZI");
}

TEST_CASE("pgwire: a time that is not readable is told as it was asked, with the object's name", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Wire wire(server->port());
  CHECK(wire.query("CREATE TABLE kept (a int)") == "C(CREATE TABLE)ZI");
  for (const char* read : {"SELECT * FROM kept AS OF '2020-01-01'", "COPY (SUBSCRIBE kept AS OF '2020-01-01') TO STDOUT"}) {
    wire.send(message('Q', std::string(read) + '\0'));
    const Message error = wire.answer().front();
    REQUIRE(error.type == 'E');
    CHECK_THAT(Wire::field(error, 'M'),
               Catch::StartsWith("timestamp 2020-01-01 00:00:00+00 is not readable: table \"kept\" keeps history from 20"));
    CHECK_THAT(Wire::field(error, 'H'), Catch::Contains("RETAIN HISTORY FOR"));
  }
  CHECK_THAT(wire.query("SELECT * FROM kept AS OF 1577836800000.5"),
             Catch::StartsWith("E(22023 timestamp 1577836800000.5 is not readable: table \"kept\" keeps history from 1"));
}

}  // namespace
}  // namespace freshet::server
