// SPDX-License-Identifier: Apache-2.0
/// The state of one session and the steps that every statement is made of.
///
/// Lives on its strand: nothing here is touched from elsewhere, except `cancel`. Continuations hold the
/// state by shared pointer, so a session that goes away takes nothing with it that still runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <freshet/adapter/session.h>

#include "catalog.h"
#include "cursor.h"
#include "dataflows.h"
#include "holds.h"
#include "result_rows.h"
#include "services.h"
#include "variables.h"

namespace freshet::adapter {

using base::Future;
using base::Unit;

/// What ROLLBACK TO goes back to.
struct Savepoint {
  std::string name;
  std::map<GlobalId, std::size_t> writes{};  ///< How many updates of each table.
  bool read_only = false;
  Variables::Saved variables{};
  std::uint64_t next_portal = 0;
};

/// What a transaction has read and written so far.
struct Transaction {
  enum class Kind : std::uint8_t { kNone, kImplicit, kExplicit };
  Kind kind = Kind::kNone;
  bool failed = false;
  bool read_only = false;
  /// A statement has looked at data: the modes are settled.
  bool queried = false;
  /// Microseconds since the epoch: now() of every statement.
  std::uint64_t started = 0;
  /// An implicit transaction of one statement, which may be tried again after a conflict.
  bool single = false;
  std::uint32_t statements = 0;
  /// Fixed by the first read of an explicit transaction, and held.
  std::optional<SqlTime> read_at{};
  Hold hold{};
  std::map<GlobalId, storage_api::CollectionUpdates> writes{};
  std::set<GlobalId> read_tables{};
  std::vector<Savepoint> savepoints{};
};

using DescriptionPtr = std::shared_ptr<const StatementDescription>;

/// What planning depends on.
struct PlannedAgainst {
  std::uint64_t catalog = 0;
  std::uint64_t indexes = 0;
  std::uint64_t variables = 0;
  friend bool operator==(const PlannedAgainst&, const PlannedAgainst&) = default;
};

/// A statement and its plan, parameters open. Shared by the portals that run it.
struct PlannedStatement {
  sql::Statement statement;
  sql::Plan plan;
  PlannedAgainst against;
  /// If it is one. Planned again when it is asked for while its index was just created and has no content yet.
  mutable std::unique_ptr<LookupPlan> lookup{};
  mutable bool lookup_later = false;
};

struct PreparedStatement {
  std::optional<sql::Statement> statement{};  ///< Absent: the empty statement.
  std::shared_ptr<const PlannedStatement> planned{};
  std::vector<repr::SqlType> declared{};
  DescriptionPtr description = std::make_shared<StatementDescription>();
};

struct Portal {
  std::shared_ptr<const PlannedStatement> planned{};  ///< Absent: the empty statement, or a cursor.
  repr::DatumRow parameters{};
  DescriptionPtr description = std::make_shared<StatementDescription>();
  std::optional<Rows> rest{};  ///< Suspended: what was not sent yet.
  /// It was executed: a second Execute finds no more rows. Of a statement with rows, its command tag.
  bool executed = false;
  std::function<std::string(std::uint64_t)> tag{};
  std::shared_ptr<CursorStream> cursor{};  ///< Of DECLARE: FETCH and Execute share it.
  bool hold = false;
  std::uint64_t sent = 0;
  std::uint64_t number = 0;  ///< In the order in which they were opened.
};

/// With a count, that many rows in that order are enough; more may come.
struct FirstRows {
  std::vector<expr::ColumnOrder> order{};
  std::optional<std::uint64_t> count{};
};

class SessionState : public std::enable_shared_from_this<SessionState> {
 public:
  SessionState(Services& s, SessionStartup startup, std::uint32_t process, std::uint32_t secret);
  ~SessionState();

  // ---- session.cc: the protocol-facing steps.
  Future<Outcome> run(const sql::Statement& statement, bool last);
  Future<StatementDescription> prepare(std::string name, std::string_view sql,
                                       std::vector<repr::SqlType> types);
  Result<const StatementDescription*> describe_statement(const std::string& name);
  Result<Unit> bind(std::string portal, const std::string& statement, repr::DatumRow parameters);
  Future<Outcome> execute(const std::string& portal, bool last);
  [[nodiscard]] bool is_lone_write(const std::string& portal) const;
  std::optional<RowBatch> lookup(const std::string& portal, bool last);
  std::optional<RowBatch> try_lookup(const PlannedStatement& planned, const repr::DatumRow& parameters, bool alone);
  Future<Unit> sync();
  void fail_transaction();
  void cancel_current();
  void close();

  void start_statement(bool last);
  /// From here on requests to cancel and statement_timeout end planning.
  void begin_planning();
  Result<Outcome> finish_statement(Result<Outcome> outcome);
  Future<Outcome> end_implicit(Outcome outcome);
  [[nodiscard]] PlannedAgainst planning_state() const;
  Result<Unit> replan(PreparedStatement& prepared);
  Result<Unit> bind_portal(std::string name, PreparedStatement& prepared, repr::DatumRow parameters);
  Future<Outcome> execute_prepared(const sql::ExecutePlan& plan);

  // ---- statement.cc: one statement from plan to outcome.
  Future<Outcome> execute_plan(std::shared_ptr<const sql::Plan> plan, std::optional<sql::Statement> statement);
  Result<sql::Plan> plan_statement(const sql::Statement& statement,
                                   std::vector<repr::SqlType> parameter_types);
  /// Parameters and session values become constants.
  sql::Plan bind_constants(const sql::Plan& plan, std::span<const repr::Datum> parameters);
  /// now(), current_user, … as they are for the statement under way.
  [[nodiscard]] std::function<std::optional<repr::Datum>(const std::string& name)> session_values() const;

  // ---- read.cc
  struct ReadResult {
    CountedRows rows;
    std::vector<repr::ColumnType> types;
    SqlTime time = 0;
  };
  /// The content of a relation at one time: the transaction's, the one asked for, or now.
  Future<ReadResult> read(expr::Relation relation, std::optional<sql::AsOf> as_of, FirstRows first = {});
  /// The time at which a statement that reads `imports` reads.
  Future<SqlTime> choose_time(std::vector<GlobalId> imports, std::optional<sql::AsOf> as_of);
  /// From now on the transaction reads at `time`, whatever it will read; everything is held there.
  void fix_time(SqlTime time);
  /// The error of a hold at `time`, in the words of who asked for that time.
  [[nodiscard]] Error not_held(Error error, const std::vector<GlobalId>& ids, SqlTime time,
                               const std::optional<sql::AsOf>& as_of) const;
  /// `time`, once reads at it can no longer change; can be cancelled.
  Future<SqlTime> reached(SqlTime time);
  /// The answer of compute. 42P01: something that the plan uses went meanwhile, an index perhaps.
  Future<ReadResult> peek(ReadPlan planned, Hold hold, ReadResult result, FirstRows first);
  Future<Outcome> select(const sql::SelectPlan& plan);

  // ---- write.cc
  Future<Outcome> insert(const sql::InsertPlan& plan);
  Future<Outcome> update(const sql::UpdatePlan& plan);
  Future<Outcome> remove(const sql::DeletePlan& plan);
  Future<Outcome> copy_from(const sql::CopyFromPlan& plan);
  /// Adds to the transaction's writes; an autocommit statement commits them now.
  Future<Unit> write(GlobalId table, storage_api::CollectionUpdates updates);
  /// Rows that are stored already, of a statement that is its own transaction.
  Future<Unit> write_staged(GlobalId table, storage_api::StagedRowsPtr rows);
  Future<Unit> commit_writes();

  // ---- subscribe.cc
  Future<Rows> subscribe(const sql::SubscribePlan& plan);
  void ask_until(GlobalId sink, SqlTime until);

  // ---- ddl.cc
  Future<Outcome> run_ddl(std::shared_ptr<const sql::Plan> plan, std::string tag);

  // ---- cursor.cc, prepared.cc
  Future<Outcome> show_variable(const sql::ShowVariablePlan& plan);
  Future<Outcome> cursor_statement(const sql::Plan& plan);
  Future<Outcome> open_cursor(const sql::DeclarePlan& plan);
  /// At most `count` rows of a cursor from where it stands.
  Rows fetch(const Portal& portal, std::uint64_t count, std::optional<std::uint64_t> timeout_micros,
             std::string verb);
  Future<Outcome> prepared_statement(const sql::Plan& plan);

  // ---- explain.cc
  Future<Outcome> explain(const sql::ExplainPlan& plan);
  Future<Outcome> explain_timestamp(const sql::ExplainPlan& plan, const expr::Relation& relation);
  [[nodiscard]] Result<expr::Relation> explained_relation(const sql::ExplainPlan& plan) const;

  // ---- transaction.cc
  void begin(Transaction::Kind kind);
  Future<Unit> commit();
  void rollback();
  void end_transaction(bool committed);
  Future<Outcome> control(const sql::Plan& plan, std::string_view begin_tag);
  Result<void> begin_block(const sql::TransactionModes& modes);
  Result<void> set_modes(const sql::SetTransactionPlan& plan);
  Result<void> apply_modes(const sql::TransactionModes& modes);
  Future<Outcome> end_block(bool commits, bool chain);
  Result<std::string> savepoint(const sql::SavepointPlan& plan);
  void roll_back_to(const Savepoint& savepoint);
  /// SET, in which a transaction that has begun to look at data keeps its modes.
  Result<void> set_variable(std::string_view name, const std::optional<std::vector<std::string>>& values, bool local);
  [[nodiscard]] TransactionStatus status() const;
  void drop_portals(bool committed);

  /// The error of this session's statement that was cancelled, by request or by statement_timeout.
  [[nodiscard]] Error stopped_error() const;

  [[nodiscard]] Viewer viewer() const;
  void notice(std::string_view severity, SqlState state, std::string message);
  void report_variables();
  [[nodiscard]] Result<repr::SqlTime> resolve_time(const expr::Scalar& scalar) const;

  Services& services;
  base::WallMicros statement_started = 0;
  base::Strand strand;
  std::string user;
  std::uint32_t process_id;
  std::uint32_t secret_key;
  Variables variables;
  Transaction transaction;
  std::map<std::string, PreparedStatement> statements;
  std::map<std::string, Portal> portals;
  std::uint64_t next_portal = 0;
  std::function<void(Notice)> on_notice;
  std::function<void()> on_end;
  std::function<void(std::string, std::string)> on_variable;
  /// Stops whatever runs now; set by the step that can be stopped.
  base::UniqueFunction<void()> cancel_step;
  bool cancelled = false;
  /// Set from any thread while the strand plans a statement; `interrupt` looks at it.
  std::shared_ptr<std::atomic<bool>> stop_asked = std::make_shared<std::atomic<bool>>(false);
  /// When the statement at hand runs out of time.
  std::optional<base::Instant> deadline{};
  /// Ends planning when a cancel request came, or statement_timeout passed.
  [[nodiscard]] sql::Interrupt interrupt() const;
  /// The server's limit, or the session's if it is less.
  [[nodiscard]] std::uint64_t max_result_bytes() const {
    return std::min(services.config.max_result_bytes, variables.max_result_bytes());
  }
  /// What cancelled the statement; after a shutdown every later one is cancelled, too.
  enum class StopCause : std::uint8_t { kRequest, kTimeout, kShutdown };
  StopCause stop_cause = StopCause::kRequest;
  base::TimerId timeout = 0;
  std::function<void()> on_close;
};
using SessionPtr = std::shared_ptr<SessionState>;

template <typename T>
Future<T> failed(Error error) {
  return Future<T>::ready(fail(std::move(error)));
}

}  // namespace freshet::adapter
