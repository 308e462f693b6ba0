// SPDX-License-Identifier: Apache-2.0
/// `Session`: one client's conversation, free of any wire protocol: statements in, outcomes out.
///
/// pgwire, the embedded API and the simulator drive the same class. A session does one thing at a time: the
/// next call comes after the previous outcome was consumed. It never blocks; answers arrive on the
/// session's own queue (`queue()`), where the caller's continuations should run too.
///
/// Errors carry SQLSTATE, detail, hint and position. An error inside a transaction block fails the block:
/// until ROLLBACK, or ROLLBACK TO a savepoint, every statement answers 25P02.
///
///     auto session = adapter.new_session({.user = "ada"});
///     session->prepare("", "SELECT $1::int + 1", {}).and_then(queue, [&](auto description) {
///       return session->bind("", "", {Datum(41)}); …
///     session->execute("", true).on_ready(queue, [](Result<Outcome> outcome) { … });
///
/// Lifetime: destroying it cancels what runs, rolls back and releases every hold.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/repr/chunk.h>
#include <freshet/repr/types.h>
#include <freshet/sql/parse.h>
#include <freshet/sql/plan.h>

namespace freshet::adapter {

/// Rows as columns of `desc`'s types; `rows` counts them also when there are no columns.
struct RowBatch {
  std::vector<repr::ColumnPtr> columns{};
  std::size_t rows = 0;
};

/// Rows of a result, pulled: a slow reader holds the producer back.
class RowStream {
 public:
  virtual ~RowStream() = default;
  /// The next rows, at most `most`; an empty batch ends the stream. A SUBSCRIBE waits here.
  virtual base::Future<RowBatch> next(std::size_t most) = 0;
};

/// COPY … FROM STDIN: the data, as it comes.
class CopyInput {
 public:
  virtual ~CopyInput() = default;
  /// Errors (22P04, 22P02, …) name the line. Nothing is to be seen before `finish`.
  virtual Result<void> feed(std::string_view bytes) = 0;
  /// After `feed`: when the next one may come. Nothing, mostly; a future if rows come faster than they are stored.
  virtual std::optional<base::Future<base::Unit>> room() = 0;
  /// Stores all rows in one commit (or in the transaction); the command tag, "COPY 5".
  virtual base::Future<std::string> finish() = 0;
  // Dropping it without `finish` is CopyFail.
};

/// A statement that returns rows. `tag` makes the command tag of their number.
struct Rows {
  repr::RelationDesc desc;
  std::unique_ptr<RowStream> stream;
  std::function<std::string(std::uint64_t rows)> tag;
};
struct CommandDone {
  std::string tag;
};
struct CopyIn {
  sql::CopyOptions options;
  std::size_t columns = 0;
  std::unique_ptr<CopyInput> input;
};
struct CopyOut {
  sql::CopyOptions options;
  Rows rows;
};
/// An empty statement.
struct Nothing {};
/// A portal that stopped at `max_rows` and may be executed again.
using Outcome = std::variant<Nothing, CommandDone, Rows, CopyIn, CopyOut>;

enum class TransactionStatus : char { kIdle = 'I', kInBlock = 'T', kFailed = 'E' };

struct StatementDescription {
  std::vector<repr::SqlType> parameter_types{};
  std::optional<repr::RelationDesc> columns{};  ///< Absent: no rows.
};

struct Notice {
  std::string_view severity = "NOTICE";
  Error error;
};

struct SessionStartup {
  std::string user = "materialize";
  std::string database = "materialize";
  /// Other startup parameters: application_name, client_encoding, options already split.
  std::vector<std::pair<std::string, std::string>> variables{};
};

class Session {
 public:
  virtual ~Session() = default;
  [[nodiscard]] virtual base::Strand& queue() = 0;
  /// Identify the session to `Adapter::cancel`.
  [[nodiscard]] virtual std::uint32_t process_id() const = 0;
  [[nodiscard]] virtual std::uint32_t secret_key() const = 0;
  [[nodiscard]] virtual TransactionStatus transaction_status() const = 0;

  /// Called with notices and with (name, value) of variables the client must be told of
  /// (ParameterStatus), during a call and before its answer.
  virtual void on_notice(std::function<void(Notice)> handler) = 0;
  virtual void on_variable(std::function<void(std::string, std::string)> handler) = 0;
  /// Called if the adapter ends before the session does: nothing that was asked will be answered any more. Who holds
  /// a promise that answers to itself lets it go.
  virtual void on_end(std::function<void()> handler) = 0;

  // ---- Simple query: parse, then each statement in turn; several in one text are one transaction.

  [[nodiscard]] virtual Result<std::vector<sql::Statement>> parse(std::string_view sql) = 0;
  /// Runs one statement of a simple query. `last` says that no statement of the text follows.
  virtual base::Future<Outcome> run(const sql::Statement& statement, bool last) = 0;

  // ---- Extended query.

  /// "" is the unnamed statement. Exactly one statement (42601 otherwise), or an empty one.
  virtual base::Future<StatementDescription> prepare(std::string name, std::string_view sql,
                                                     std::vector<repr::SqlType> parameter_types) = 0;
  /// Descriptions are valid until the next call.
  virtual Result<const StatementDescription*> describe_statement(const std::string& name) = 0;
  virtual Result<base::Unit> bind(std::string portal, const std::string& statement,
                                  repr::DatumRow parameters) = 0;
  virtual Result<const StatementDescription*> describe_portal(const std::string& portal) = 0;
  /// Rows of a portal are pulled from the stream of the outcome; a portal that the client suspends is
  /// pulled further later: `execute` again gives the rest. `last` says that Sync is known to follow at once,
  /// so that the statement is a transaction by itself and may be tried again after a conflict.
  virtual base::Future<Outcome> execute(const std::string& portal, bool last) = 0;
  /// A write that, so far, is all of its transaction: whether `last` is true matters.
  [[nodiscard]] virtual bool is_lone_write(const std::string& portal) const = 0;
  /// What `execute` would answer, if the portal looks up one key of an index and the answer is at hand: all its
  /// rows. Nothing else: `execute` is the way then, and nothing has happened.
  virtual std::optional<RowBatch> lookup(const std::string& portal, bool last) = 0;
  /// Gives the unread rest of a suspended portal back, for a later `execute`.
  virtual void suspend(const std::string& portal, Rows rest) = 0;
  virtual void close_statement(const std::string& name) = 0;
  virtual void close_portal(const std::string& name) = 0;
  /// Ends an implicit transaction (commits it; rolls back after an error).
  virtual base::Future<base::Unit> sync() = 0;

  /// An outcome's stream failed or was given up by the client: fails an open transaction block.
  virtual void fail_transaction() = 0;
  /// Stops the statement under way with 57014; from any thread.
  virtual void cancel() = 0;
};

}  // namespace freshet::adapter
