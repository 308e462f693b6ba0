// SPDX-License-Identifier: Apache-2.0
/// A client of the wire protocol over memory, and the messages that it can send.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <freshet/adapter/pgwire.h>

#include "sim_world.h"

namespace testing {

/// Both ends of a connection. The server's reads are answered by tasks of its scheduler.
struct Pipe {
  freshet::base::Scheduler* scheduler = nullptr;
  std::deque<std::string> to_server{};
  std::function<void(std::string)> reader{};
  std::string from_server{};
  std::size_t writes = 0;
  bool client_left = false;
  bool closed = false;  ///< By the server.

  void give() {
    if (!reader || (to_server.empty() && !client_left && !closed)) return;
    std::string bytes;
    if (!to_server.empty()) {
      bytes = std::move(to_server.front());
      to_server.pop_front();
    }
    scheduler->post([done = std::exchange(reader, nullptr), bytes = std::move(bytes)] { done(bytes); });
  }
};

class PipeTransport final : public freshet::adapter::Transport {
 public:
  explicit PipeTransport(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
  ~PipeTransport() override { close(); }
  void read(std::function<void(std::string)> done) override {
    pipe_->reader = std::move(done);
    pipe_->give();
  }
  freshet::base::Future<freshet::base::Unit> write(std::string bytes) override {
    pipe_->from_server += bytes;
    ++pipe_->writes;
    return freshet::base::Future<freshet::base::Unit>::ready(freshet::base::Unit{});
  }
  void close() override {
    pipe_->closed = true;
    pipe_->give();
  }

 private:
  std::shared_ptr<Pipe> pipe_;
};

inline std::string be32(std::uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}
inline std::string be16(std::uint16_t v) { return {static_cast<char>(v >> 8), static_cast<char>(v)}; }
inline std::string zero_ended(std::string_view text) { return std::string(text) + '\0'; }
inline std::string message(char type, const std::string& body) {
  return type + be32(static_cast<std::uint32_t>(body.size() + 4)) + body;
}
inline std::string startup_packet() {
  const std::string body = be32(3 << 16) + zero_ended("user") + zero_ended("ada") + zero_ended("database") +
                           zero_ended("materialize") + '\0';
  return be32(static_cast<std::uint32_t>(body.size() + 4)) + body;
}
inline std::string query(std::string_view sql) { return message('Q', zero_ended(sql)); }
inline std::string parse(std::string_view name, std::string_view sql) {
  return message('P', zero_ended(name) + zero_ended(sql) + be16(0));
}
inline std::string bind(std::string_view statement, const std::vector<std::string>& parameters) {
  std::string body = zero_ended("") + zero_ended(statement) + be16(0) + be16(static_cast<std::uint16_t>(parameters.size()));
  for (const std::string& parameter : parameters) body += be32(static_cast<std::uint32_t>(parameter.size())) + parameter;
  return message('B', body + be16(0));
}
inline std::string describe() { return message('D', "P" + zero_ended("")); }
inline std::string execute(std::uint32_t rows = 0) { return message('E', zero_ended("") + be32(rows)); }
inline std::string sync() { return message('S', ""); }

/// One connection to the world's server.
class SimClient {
 public:
  explicit SimClient(SimWorld& world, freshet::adapter::PgwireOptions options = {})
      : world_(world), pipe_(std::make_shared<Pipe>()) {
    pipe_->scheduler = &world.scheduler();
    freshet::adapter::serve_pgwire(world.adapter(), world.scheduler(), world.log(),
                                   std::make_unique<PipeTransport>(pipe_), options);
  }
  ~SimClient() { leave(); }

  void send(std::string bytes) {
    pipe_->to_server.push_back(std::move(bytes));
    pipe_->give();
  }
  void leave() {
    pipe_->client_left = true;
    pipe_->give();
    settle();
  }
  /// Runs what there is to run.
  void settle() {
    world_.sim().run_until([] { return false; }, std::chrono::seconds(1));
  }
  /// What came since the last call: a letter a message, with the code of an error and the text of rows and tags.
  std::string received() {
    settle();
    std::string out;
    std::string_view in = pipe_->from_server;
    while (in.size() >= 5) {
      std::size_t length = 0;
      for (std::size_t i = 1; i < 5; ++i) length = length << 8 | static_cast<unsigned char>(in[i]);
      const std::string_view body = in.substr(5, length - 4);
      out += out.empty() ? "" : " ";
      out += in[0];
      if (in[0] == 'E') out += code_of(body);
      if (in[0] == 'C') out += ":" + std::string(body.substr(0, body.size() - 1));
      if (in[0] == 'Z') out += std::string(body);
      if (in[0] == 'D') out += cells_of(body);
      in.remove_prefix(length + 1);
    }
    pipe_->from_server.clear();
    return out;
  }
  /// As a listener that ends: who waits for bytes is dropped.
  void drop_reader() { const auto dropped = std::exchange(pipe_->reader, nullptr); }
  /// The server keeps nothing of the connection.
  [[nodiscard]] bool forgotten() const { return pipe_.use_count() == 1; }
  [[nodiscard]] bool closed() const { return pipe_->closed; }
  [[nodiscard]] std::size_t writes() const { return pipe_->writes; }

 private:
  static std::string code_of(std::string_view body) {
    const std::size_t at = body.find(std::string_view("\0C", 2));
    return std::string(body.substr(at + 2, 5));
  }
  static std::string cells_of(std::string_view body) {
    std::string out;
    body.remove_prefix(2);
    while (body.size() >= 4) {
      std::uint32_t size = 0;
      for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
      body.remove_prefix(4);
      if (size == UINT32_MAX) {
        out += "[NULL]";
        continue;
      }
      out += "[" + std::string(body.substr(0, size)) + "]";
      body.remove_prefix(size);
    }
    return out;
  }

  SimWorld& world_;
  std::shared_ptr<Pipe> pipe_;
};

}  // namespace testing
