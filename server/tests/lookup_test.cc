// SPDX-License-Identifier: Apache-2.0
/// Prepared reads of one key answer at once where they can, and never wrong: on the real engine, with threads.
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>
#include <freshet/adapter/adapter.h>
#include <freshet/server/server.h>

namespace freshet::server {
namespace {

using adapter::Outcome;
using adapter::RowBatch;
using repr::Datum;

/// One session, driven from a test's thread.
class Client {
 public:
  explicit Client(Server& server) : session_(server.adapter().new_session({}).value()) {}
  ~Client() {
    on_queue<base::Unit>([&] {
      session_.reset();
      return base::Unit{};
    });
  }

  /// Runs a statement of a simple query to its end; rows as text.
  std::string sql(const std::string& text) {
    auto statements = session_->parse(text).value();
    std::string out;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      out += shown(await<Outcome>([&] { return session_->run(statements[i], i + 1 == statements.size()); }));
    }
    await<base::Unit>([&] { return session_->sync(); }).value();
    if (out.starts_with("error")) FAIL(text + ": " + out);
    return out;
  }
  void prepare(const std::string& name, const std::string& text) {
    await<adapter::StatementDescription>([&] { return session_->prepare(name, text, {}); }).value();
  }
  /// Binds and executes, the short way if there is one.
  std::string execute(const std::string& name, repr::DatumRow parameters, bool* at_once = nullptr) {
    auto bound = on_queue<Result<base::Unit>>([&] { return session_->bind("", name, std::move(parameters)); });
    std::string out = bound ? "" : "error " + std::string(bound.error().sqlstate.view());
    if (bound) {
      auto rows = on_queue<std::optional<RowBatch>>([&] { return session_->lookup("", true); });
      if (at_once != nullptr) *at_once = rows.has_value();
      if (rows) {
        const auto description = session_->describe_portal("").value();
        out = shown(*rows, *description->columns);
      } else {
        out = shown(await<Outcome>([&] { return session_->execute("", true); }));
      }
    }
    await<base::Unit>([&] { return session_->sync(); }).value();
    return out;
  }

 private:
  template <typename T, typename F>
  T on_queue(F f) {
    std::mutex mutex;
    std::condition_variable wake;
    std::optional<T> answer;
    session_->queue().post([&] {
      T value = f();
      const std::lock_guard lock(mutex);
      answer.emplace(std::move(value));
      wake.notify_one();
    });
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return answer.has_value(); });
    return std::move(*answer);
  }
  template <typename T, typename F>
  Result<T> await(F f) {
    std::mutex mutex;
    std::condition_variable wake;
    std::optional<Result<T>> answer;
    session_->queue().post([&] {
      f().on_ready(session_->queue(), [&](Result<T> value) {
        const std::lock_guard lock(mutex);
        answer.emplace(std::move(value));
        wake.notify_one();
      });
    });
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return answer.has_value(); });
    return std::move(*answer);
  }
  std::string shown(const RowBatch& batch, const repr::RelationDesc& desc) {
    std::string out;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      for (std::size_t c = 0; c < batch.columns.size(); ++c) {
        const auto& type = desc.type.columns[c].type;
        const auto datum = batch.columns[c]->datum(row, type);
        out += (datum.is_null() ? "NULL" : repr::to_text(datum, type)) + " ";
      }
    }
    return out;
  }
  std::string shown(Result<Outcome> outcome) {
    if (!outcome) return "error " + std::string(outcome.error().sqlstate.view());
    auto* rows = std::get_if<adapter::Rows>(&*outcome);
    std::string out;
    while (rows != nullptr) {
      auto batch = await<RowBatch>([&] { return rows->stream->next(100); });
      if (!batch || batch->rows == 0) break;
      out += shown(*batch, rows->desc);
    }
    return out;
  }

  std::unique_ptr<adapter::Session> session_;
};

std::unique_ptr<Server> start(base::Logger& log) {
  return Server::start({.data_directory = ":memory:", .listen = "", .workers = 2, .threads = 2}, log).value();
}

// The second read after a change is at hand; `expected` for every read.
void check_at_once(Client& client, const std::string& name, const repr::DatumRow& parameters,
                   const std::string& expected) {
  CAPTURE(name);
  CHECK(client.execute(name, parameters) == expected);
  bool at_once = false;
  for (int i = 0; i < 100 && !at_once; ++i) CHECK(client.execute(name, parameters, &at_once) == expected);
  CHECK(at_once);
}

TEST_CASE("lookup: a prepared read of one key is answered at once, and sees every change", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Client client(*server);
  client.sql("CREATE TABLE t (id int, v text)");
  client.sql("CREATE INDEX t_id ON t (id)");
  client.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (2, 'deux'), (3, NULL)");
  client.prepare("v", "SELECT v FROM t WHERE id = $1");
  client.prepare("all", "SELECT id, v, id + 1 FROM t WHERE id = $1 ORDER BY v DESC LIMIT 1");
  client.prepare("wide", "SELECT v FROM t WHERE id = $1::bigint");
  client.prepare("expression", "SELECT v FROM t WHERE id = $1 + 1");
  client.prepare("filter", "SELECT count(*) FROM t WHERE id = $1 AND v = $2");
  check_at_once(client, "v", {Datum(std::int32_t{1})}, "one ");
  check_at_once(client, "v", {Datum(std::int32_t{2})}, "deux two ");
  check_at_once(client, "v", {Datum(std::int32_t{3})}, "NULL ");
  check_at_once(client, "v", {Datum(std::int32_t{4})}, "");
  check_at_once(client, "all", {Datum(std::int32_t{2})}, "2 two 3 ");
  check_at_once(client, "wide", {Datum(std::int64_t{1})}, "one ");
  check_at_once(client, "expression", {Datum(std::int32_t{0})}, "one ");
  CHECK(client.execute("v", {Datum()}) == "");
  CHECK(client.execute("wide", {Datum(std::int64_t{1} << 40)}) == "");
  CHECK(client.execute("expression", {Datum(std::int32_t{INT32_MAX})}) == "error 22003");
  CHECK(client.execute("filter", {Datum(std::int32_t{2}), Datum(std::string("two"))}) == "1 ");
  for (int i = 0; i < 50; ++i) {
    client.sql("UPDATE t SET v = '" + std::to_string(i) + "' WHERE id = 1");
    CHECK(client.execute("v", {Datum(std::int32_t{1})}) == std::to_string(i) + " ");
  }
  client.sql("DELETE FROM t WHERE id = 1");
  CHECK(client.execute("v", {Datum(std::int32_t{1})}) == "");
}

TEST_CASE("lookup: EXECUTE of SQL sees what Execute of the protocol sees", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Client client(*server);
  client.sql("CREATE TABLE t (id int, v text)");
  client.sql("CREATE INDEX t_id ON t (id)");
  client.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (2, 'deux')");
  client.sql("PREPARE v (int) AS SELECT v FROM t WHERE id = $1 ORDER BY v");
  for (int i = 0; i < 20; ++i) CHECK(client.sql("EXECUTE v (1 + 1)") == "deux two ");
  for (int i = 0; i < 20; ++i) {
    client.sql("UPDATE t SET v = '" + std::to_string(i) + "' WHERE id = 1");
    CHECK(client.sql("EXECUTE v (1)") == std::to_string(i) + " ");
  }
  // In a block: at its time, and with what it wrote itself.
  Client other(*server);
  client.sql("BEGIN");
  CHECK(client.sql("EXECUTE v (1)") == "19 ");
  other.sql("DELETE FROM t WHERE id = 1");
  CHECK(client.sql("EXECUTE v (1)") == "19 ");
  client.sql("COMMIT");
  CHECK(client.sql("EXECUTE v (1); EXECUTE v (2)") == "deux two ");
}

TEST_CASE("lookup: a plan is made anew when the objects or the settings change", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Client client(*server);
  Client other(*server);
  client.sql("CREATE TABLE t (id int, v text)");
  client.sql("INSERT INTO t VALUES (1, 'table')");
  client.sql("CREATE INDEX t_id ON t (id)");
  client.prepare("p", "SELECT v FROM t WHERE id = $1");
  check_at_once(client, "p", {Datum(std::int32_t{1})}, "table ");
  other.sql("DROP INDEX t_id");
  bool at_once = true;
  CHECK(client.execute("p", {Datum(std::int32_t{1})}, &at_once) == "table ");
  CHECK_FALSE(at_once);
  other.sql("CREATE INDEX t_id2 ON t (id)");
  check_at_once(client, "p", {Datum(std::int32_t{1})}, "table ");
  other.sql("CREATE SCHEMA s");
  other.sql("CREATE TABLE s.t (id int, v text)");
  other.sql("INSERT INTO s.t VALUES (1, 'other')");
  client.sql("SET search_path = s, public");
  CHECK(client.execute("p", {Datum(std::int32_t{1})}) == "other ");
  client.sql("SET search_path = public");
  CHECK(client.execute("p", {Datum(std::int32_t{1})}) == "table ");
  other.sql("DROP TABLE t");
  other.sql("CREATE TABLE t (id int, v text)");
  other.sql("CREATE INDEX t_id3 ON t (id)");
  CHECK(client.execute("p", {Datum(std::int32_t{1})}) == "");
  other.sql("DROP TABLE t");
  CHECK(client.execute("p", {Datum(std::int32_t{1})}) == "error 42P01");
}

TEST_CASE("lookup: blocks read at their own time, views follow their tables, errors are told", "[server]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  Client client(*server);
  Client other(*server);
  client.sql("CREATE TABLE t (k int, v int)");
  client.sql("INSERT INTO t VALUES (1, 10), (2, 20)");
  client.sql("CREATE VIEW sums AS SELECT k, sum(v) AS s FROM t GROUP BY k");
  client.sql("CREATE INDEX sums_k ON sums (k)");
  client.prepare("p", "SELECT s FROM sums WHERE k = $1");
  check_at_once(client, "p", {Datum(std::int32_t{1})}, "10 ");
  client.sql("BEGIN");
  CHECK(client.execute("p", {Datum(std::int32_t{1})}) == "10 ");
  other.sql("INSERT INTO t VALUES (1, 5)");
  CHECK(other.sql("SELECT s FROM sums WHERE k = 1") == "15 ");
  for (int i = 0; i < 3; ++i) CHECK(client.execute("p", {Datum(std::int32_t{1})}) == "10 ");
  client.sql("COMMIT");
  CHECK(client.execute("p", {Datum(std::int32_t{1})}) == "15 ");
  client.sql("CREATE VIEW parts AS SELECT k, 100 / v AS p FROM t");
  client.sql("CREATE INDEX parts_k ON parts (k)");
  client.prepare("q", "SELECT p FROM parts WHERE k = $1");
  check_at_once(client, "q", {Datum(std::int32_t{2})}, "5 ");
  other.sql("INSERT INTO t VALUES (3, 0)");
  CHECK(client.execute("q", {Datum(std::int32_t{3})}) == "error 22012");
  CHECK(client.execute("q", {Datum(std::int32_t{2})}) == "5 ");
  client.sql("CREATE VIEW recent AS SELECT k FROM t WHERE mz_now() < k * 1000");
  client.sql("CREATE INDEX recent_k ON recent (k)");
  client.prepare("r", "SELECT k FROM recent WHERE k = $1");
  bool at_once = false;
  for (int i = 0; i < 5; ++i) {
    CHECK(client.execute("r", {Datum(std::int32_t{1})}, &at_once) == "");
    CHECK_FALSE(at_once);
  }
}

// Writers count up; no reader sees less than was acknowledged before it began, nor less than any reader saw before.
TEST_CASE("lookup: reads are strictly serialisable beside writers", "[server][threads]") {
  const auto log = base::make_null_logger();
  auto server = start(*log);
  {
    Client client(*server);
    client.sql("CREATE TABLE t (k int, n int)");
    client.sql("INSERT INTO t VALUES (1, 0)");
    client.sql("CREATE INDEX t_k ON t (k)");
    client.sql("CREATE TABLE noise (a int)");
  }
  std::atomic<int> acknowledged{0};
  std::atomic<int> seen{0};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> quick{0};
  std::mutex mutex;
  std::string unexpected;
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&] {
      Client client(*server);
      client.prepare("p", "SELECT n FROM t WHERE k = $1");
      while (!stop.load()) {
        const int least = std::max(acknowledged.load(), seen.load());
        bool at_once = false;
        const std::string text = client.execute("p", {Datum(std::int32_t{1})}, &at_once);
        int n = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), n).ec != std::errc()) {
          const std::lock_guard lock(mutex);
          unexpected = text + (at_once ? " at once" : " the long way");
          ++wrong;
          continue;
        }
        if (n < least) ++wrong;
        if (at_once) ++quick;
        int before = seen.load();
        while (before < n && !seen.compare_exchange_weak(before, n)) {
        }
      }
    });
  }
  {
    Client writer(*server);
    for (int n = 1; n <= 150; ++n) {
      writer.sql("UPDATE t SET n = " + std::to_string(n) + " WHERE k = 1");
      acknowledged = n;
      for (int i = 0; i < 3; ++i) writer.sql("INSERT INTO noise VALUES (1)");
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(unexpected == "");
  CHECK(wrong == 0);
  CHECK(seen == 150);
  CHECK(quick > 0);
}

}  // namespace
}  // namespace freshet::server
