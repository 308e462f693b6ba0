// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/sqlstate.h>
#include <freshet/compute_api/errors.h>

#include <freshet/expr/eval.h>

#include "session_state.h"

namespace freshet::adapter {
namespace {

/// Statements that a failed transaction block still takes.
bool ends_transaction(sql::StatementKind kind) {
  return kind == sql::StatementKind::kCommit || kind == sql::StatementKind::kRollback ||
         kind == sql::StatementKind::kRollbackTo;
}

Error aborted() {
  return sql_error(sqlstate::kInFailedSqlTransaction,
                   "current transaction is aborted, commands ignored until end of transaction block");
}

}  // namespace

SessionState::SessionState(Services& s, SessionStartup startup, std::uint32_t process,
                           std::uint32_t secret)
    : services(s), strand(s.scheduler), user(std::move(startup.user)), process_id(process),
      secret_key(secret), variables(s.config.version, user) {
  (void)variables.set_default("database", startup.database);
}

SessionState::~SessionState() {
  if (on_close) on_close();
}

void SessionState::close() {
  on_notice = nullptr;  // whom they told is gone
  on_variable = nullptr;
  cancelled = true;
  cancel_current();
  for (const auto& [name, portal] : portals) {
    if (portal.cursor) portal.cursor->abandon();
  }
  rollback();
  portals.clear();
  statements.clear();
}

void SessionState::cancel_current() {
  if (cancel_step) std::exchange(cancel_step, nullptr)();
}

void SessionState::notice(std::string_view severity, SqlState state, std::string message) {
  if (on_notice) on_notice(Notice{severity, sql_error(state, std::move(message))});
}

void SessionState::report_variables() {
  auto reports = variables.take_reports();
  if (!on_variable) return;
  for (auto& [name, value] : reports) on_variable(std::move(name), std::move(value));
}

// ---- Running one statement, whichever protocol it came by.

void SessionState::start_statement(bool last) {
  cancelled = stop_cause == StopCause::kShutdown;
  if (!cancelled) stop_cause = StopCause::kRequest;
  if (transaction.kind == Transaction::Kind::kNone) begin(Transaction::Kind::kImplicit);
  ++transaction.statements;
  transaction.single =
      transaction.kind == Transaction::Kind::kImplicit && transaction.statements == 1 && last;
  begin_planning();
  if (const auto limit = variables.statement_timeout_ms()) {
    timeout = services.scheduler.after(std::chrono::milliseconds(*limit), strand,
                                       [self = weak_from_this()] {
                                         const auto alive = self.lock();
                                         if (alive == nullptr || alive->timeout == 0) return;
                                         alive->timeout = 0;
                                         if (!alive->cancelled) alive->stop_cause = StopCause::kTimeout;
                                         alive->cancelled = true;
                                         alive->cancel_current();
                                       });
  }
}

// A statement that failed fails its block, or undoes its implicit transaction.
Result<Outcome> SessionState::finish_statement(Result<Outcome> outcome) {
  if (timeout != 0) services.scheduler.cancel(std::exchange(timeout, 0));
  if (!outcome) fail_transaction();
  return outcome;
}

void SessionState::begin_planning() {
  stop_asked->store(false);
  deadline.reset();
  if (const auto limit = variables.statement_timeout_ms()) {
    deadline = services.scheduler.clock().now() + std::chrono::milliseconds(*limit);
  }
}

sql::Interrupt SessionState::interrupt() const {
  return [asked = stop_asked, until = deadline, &clock = services.scheduler.clock()]() -> std::optional<Error> {
    if (asked->load()) return compute_api::cancelled();
    if (!until || clock.now() < *until) return std::nullopt;
    Error error = compute_api::cancelled();
    error.message = "canceling statement due to statement timeout";
    return error;
  };
}

void SessionState::fail_transaction() {
  if (transaction.kind == Transaction::Kind::kExplicit) {
    transaction.failed = true;
    if (transaction.savepoints.empty()) transaction.writes.clear();
  } else {
    rollback();
  }
}

Future<Outcome> SessionState::run(const sql::Statement& statement, bool last) {
  if (transaction.failed && !ends_transaction(statement.kind())) return failed<Outcome>(aborted());
  start_statement(last);
  auto plan = plan_statement(statement, {});
  Future<Outcome> outcome =
      plan ? (plan->parameter_types.empty()
                  ? execute_plan(std::make_shared<const sql::Plan>(bind_constants(*plan, {})), statement)
                  : failed<Outcome>(sql_error(sqlstate::kUndefinedParameter, "there is no parameter $1")))
           : failed<Outcome>(plan.error());
  return std::move(outcome).then(
      strand, [self = shared_from_this(), last](Result<Outcome> result) -> Future<Outcome> {
        result = self->finish_statement(std::move(result));
        if (!result || !last) return Future<Outcome>::ready(std::move(result));
        return self->end_implicit(std::move(*result));
      });
}

// The last statement of a text is answered only when its transaction is durable. COPY FROM ends later, and rows
// that are still being read keep nothing open.
Future<Outcome> SessionState::end_implicit(Outcome outcome) {
  if (transaction.kind != Transaction::Kind::kImplicit) {
    return Future<Outcome>::ready(std::move(outcome));
  }
  if (std::holds_alternative<CopyIn>(outcome)) return Future<Outcome>::ready(std::move(outcome));
  return commit().and_then(strand, [outcome = std::move(outcome)](Unit) mutable { return std::move(outcome); });
}

Future<Unit> SessionState::sync() {
  if (transaction.kind != Transaction::Kind::kImplicit) return Future<Unit>::ready(Unit{});
  return commit();
}

// ---- Extended query.

Future<StatementDescription> SessionState::prepare(std::string name, std::string_view sql,
                                                   std::vector<repr::SqlType> types) {
  auto fail_with = [this](Error error) {
    fail_transaction();
    return failed<StatementDescription>(std::move(error));
  };
  if (!name.empty() && statements.contains(name)) {
    return fail_with(sql_error(sqlstate::kDuplicatePreparedStatement,
                               "prepared statement \"" + name + "\" already exists"));
  }
  auto parsed = sql::parse(sql);
  if (!parsed) return fail_with(parsed.error());
  if (parsed->size() > 1) {
    return fail_with(sql_error(sqlstate::kSyntaxError,
                               "cannot insert multiple commands into a prepared statement"));
  }
  PreparedStatement prepared;
  prepared.declared = std::move(types);
  if (!parsed->empty()) {
    prepared.statement = parsed->front();
    if (transaction.failed && !ends_transaction(prepared.statement->kind())) return fail_with(aborted());
    if (auto planned = replan(prepared); !planned) return fail_with(planned.error());
  }
  StatementDescription description = *prepared.description;
  statements[std::move(name)] = std::move(prepared);
  return Future<StatementDescription>::ready(std::move(description));
}

PlannedAgainst SessionState::planning_state() const {
  return {.catalog = services.catalog.version(),
          .indexes = services.dataflows->version(),
          .variables = variables.version()};
}

Result<Unit> SessionState::replan(PreparedStatement& prepared) {
  const PlannedAgainst against = planning_state();
  if (prepared.planned && prepared.planned->against == against) return Unit{};
  begin_planning();
  // What its parameters are was decided when it was first planned: they are read, and were promised, by that.
  const auto& types = prepared.planned ? prepared.planned->plan.parameter_types : prepared.declared;
  sql::Plan plan = FRESHET_TRY(plan_statement(*prepared.statement, types));
  StatementDescription description{.parameter_types = plan.parameter_types};
  if (const repr::RelationDesc* desc = plan.result_desc()) description.columns = *desc;
  if (const auto* fetch = plan.as<sql::FetchPlan>()) {
    if (auto portal = portals.find(fetch->name); portal != portals.end()) {
      description.columns = portal->second.description->columns;
    }
  }
  if (const auto* execute = plan.as<sql::ExecutePlan>()) {
    if (auto named = statements.find(execute->name); named != statements.end()) {
      description.columns = named->second.description->columns;
    }
  }
  if (prepared.planned && description.columns != prepared.description->columns) {
    return fail(sqlstate::kFeatureNotSupported, "cached plan must not change result type");
  }
  auto planned = std::make_shared<PlannedStatement>(
      PlannedStatement{.statement = *prepared.statement, .plan = std::move(plan), .against = against});
  if (const auto* select = planned->plan.as<sql::SelectPlan>()) {
    planned->lookup = services.dataflows->plan_lookup(*select, *services.catalog.get(), planned->lookup_later);
  }
  prepared.description = std::make_shared<const StatementDescription>(std::move(description));
  prepared.planned = std::move(planned);
  return Unit{};
}

Result<const StatementDescription*> SessionState::describe_statement(const std::string& name) {
  auto it = statements.find(name);
  if (it == statements.end()) {
    fail_transaction();
    return fail(sqlstate::kInvalidSqlStatementName, "prepared statement \"" + name + "\" does not exist");
  }
  return it->second.description.get();
}

Result<Unit> SessionState::bind(std::string portal, const std::string& statement,
                                repr::DatumRow parameters) {
  auto it = statements.find(statement);
  Result<Unit> bound = it == statements.end()
                           ? Result<Unit>(fail(sqlstate::kInvalidSqlStatementName,
                                               "prepared statement \"" + statement + "\" does not exist"))
                           : bind_portal(std::move(portal), it->second, std::move(parameters));
  if (!bound) fail_transaction();
  return bound;
}

Result<Unit> SessionState::bind_portal(std::string name, PreparedStatement& prepared,
                                       repr::DatumRow parameters) {
  if (!name.empty() && portals.contains(name)) {
    return fail(sqlstate::kDuplicateCursor, "cursor \"" + name + "\" already exists");
  }
  Portal portal;
  if (prepared.statement) {
    if (transaction.failed && !ends_transaction(prepared.statement->kind())) return fail(aborted());
    FRESHET_TRY(replan(prepared));
    const std::size_t wanted = prepared.planned->plan.parameter_types.size();
    if (parameters.size() != wanted) {
      return fail(sqlstate::kProtocolViolation,
                  "bind message supplies " + std::to_string(parameters.size()) +
                      " parameters, but prepared statement requires " + std::to_string(wanted));
    }
    if (transaction.kind == Transaction::Kind::kNone) begin(Transaction::Kind::kImplicit);
    portal.planned = prepared.planned;
    portal.parameters = std::move(parameters);
    portal.description = prepared.description;
  }
  portal.number = next_portal++;
  portals[std::move(name)] = std::move(portal);
  return Unit{};
}

Future<Outcome> SessionState::execute(const std::string& name, bool last) {
  auto it = portals.find(name);
  if (it == portals.end()) {
    fail_transaction();
    return failed<Outcome>(
        sql_error(sqlstate::kInvalidCursorName, "portal \"" + name + "\" does not exist"));
  }
  Portal& portal = it->second;
  if (portal.planned == nullptr && !portal.rest && !portal.cursor) return Future<Outcome>::ready(Outcome(Nothing{}));
  const bool ends = portal.planned != nullptr && ends_transaction(portal.planned->statement.kind());
  if (transaction.failed && !ends) return failed<Outcome>(aborted());
  if (portal.rest) {
    Rows rest = std::move(*portal.rest);
    portal.rest.reset();
    return Future<Outcome>::ready(Outcome(std::move(rest)));
  }
  if (portal.cursor) return Future<Outcome>::ready(Outcome(fetch(portal, UINT64_MAX, std::nullopt, "SELECT ")));
  const PlannedStatement& planned = *portal.planned;
  if (std::exchange(portal.executed, true)) {
    if (portal.tag) return Future<Outcome>::ready(Outcome(CommandDone{portal.tag(0)}));
    fail_transaction();
    return failed<Outcome>(
        sql_error(sqlstate::kObjectNotInPrerequisiteState, "portal \"" + name + "\" cannot be run"));
  }
  start_statement(last);
  auto plan = std::make_shared<const sql::Plan>(bind_constants(planned.plan, portal.parameters));
  return execute_plan(std::move(plan), planned.statement)
      .then(strand, [self = shared_from_this(), name](Result<Outcome> result) {
        if (const Rows* rows = result ? std::get_if<Rows>(&*result) : nullptr) {
          if (auto run = self->portals.find(name); run != self->portals.end()) run->second.tag = rows->tag;
        }
        return self->finish_statement(std::move(result));
      });
}

bool SessionState::is_lone_write(const std::string& name) const {
  auto it = portals.find(name);
  if (it == portals.end() || it->second.planned == nullptr || it->second.executed) return false;
  if (transaction.kind != Transaction::Kind::kImplicit || transaction.statements != 0) return false;
  const sql::Plan& plan = it->second.planned->plan;
  return plan.as<sql::InsertPlan>() || plan.as<sql::UpdatePlan>() || plan.as<sql::DeletePlan>();
}

// `alone`: it is a transaction by itself. Only there, or where its block has its time already: then no other step of
// a statement is left out.
std::optional<RowBatch> SessionState::try_lookup(const PlannedStatement& planned, const repr::DatumRow& parameters,
                                              bool alone) {
  if (planned.lookup_later) {
    planned.lookup = services.dataflows->plan_lookup(*planned.plan.as<sql::SelectPlan>(), *services.catalog.get(),
                                                     planned.lookup_later);
  }
  LookupPlan* plan = planned.lookup.get();
  if (plan == nullptr || transaction.failed || !transaction.writes.empty()) return std::nullopt;
  if (transaction.kind == Transaction::Kind::kExplicit && transaction.read_at) {
    auto rows = plan->find(parameters, *transaction.read_at, *transaction.read_at);
    if (rows) transaction.read_tables.insert(plan->tables().begin(), plan->tables().end());
    return rows;
  }
  const auto time = alone ? services.oracle->read_now() : std::nullopt;
  if (!time) return std::nullopt;
  return plan->find(parameters, services.committer->quiet_since(plan->tables()), *time);
}

std::optional<RowBatch> SessionState::lookup(const std::string& name, bool last) {
  auto it = portals.find(name);
  if (it == portals.end() || it->second.planned == nullptr || it->second.executed) return std::nullopt;
  Portal& portal = it->second;
  const bool alone = transaction.kind == Transaction::Kind::kImplicit && transaction.statements == 0 && last;
  auto rows = try_lookup(*portal.planned, portal.parameters, alone);
  if (!rows) return std::nullopt;
  ++transaction.statements;
  transaction.queried = true;
  portal.executed = true;
  portal.tag = [](std::uint64_t count) { return "SELECT " + std::to_string(count); };
  return rows;
}

Future<Outcome> SessionState::prepared_statement(const sql::Plan& plan) {
  auto done = [](std::string tag) { return Future<Outcome>::ready(Outcome(CommandDone{std::move(tag)})); };
  if (const auto* prepare_plan = plan.as<sql::PreparePlan>()) {
    if (statements.contains(prepare_plan->name)) {
      return failed<Outcome>(
          sql_error(sqlstate::kDuplicatePreparedStatement,
                    "prepared statement \"" + prepare_plan->name + "\" already exists"));
    }
    PreparedStatement prepared;
    prepared.statement = prepare_plan->statement;
    prepared.declared = prepare_plan->parameter_types;
    if (auto planned = replan(prepared); !planned) return failed<Outcome>(planned.error());
    statements[prepare_plan->name] = std::move(prepared);
    return done("PREPARE");
  }
  if (const auto* execute_named = plan.as<sql::ExecutePlan>()) return execute_prepared(*execute_named);
  if (const auto* deallocate = plan.as<sql::DeallocatePlan>()) {
    if (!deallocate->name) {
      statements.clear();
      return done("DEALLOCATE ALL");
    }
    if (statements.erase(*deallocate->name) == 0) {
      return failed<Outcome>(
          sql_error(sqlstate::kInvalidSqlStatementName,
                    "prepared statement \"" + *deallocate->name + "\" does not exist"));
    }
    return done("DEALLOCATE");
  }
  if (plan.as<sql::UnlistenPlan>()) return done("UNLISTEN");
  if (const auto* discard = plan.as<sql::DiscardPlan>()) {
    switch (discard->what) {
      case sql::DiscardPlan::What::kAll:
        if (transaction.kind == Transaction::Kind::kExplicit) {
          return failed<Outcome>(sql_error(sqlstate::kActiveSqlTransaction,
                                           "DISCARD ALL cannot run inside a transaction block"));
        }
        statements.clear();
        portals.clear();
        variables.reset_all();
        report_variables();
        return done("DISCARD ALL");
      case sql::DiscardPlan::What::kPlans: return done("DISCARD PLANS");
      case sql::DiscardPlan::What::kSequences: return done("DISCARD SEQUENCES");
      case sql::DiscardPlan::What::kTemp: return done("DISCARD TEMP");
    }
  }
  return failed<Outcome>(sql_error(sqlstate::kFeatureNotSupported, "this statement is not supported"));
}

Future<Outcome> SessionState::execute_prepared(const sql::ExecutePlan& plan) {
  auto it = statements.find(plan.name);
  if (it == statements.end()) {
    return failed<Outcome>(sql_error(sqlstate::kInvalidSqlStatementName,
                                     "prepared statement \"" + plan.name + "\" does not exist"));
  }
  PreparedStatement& prepared = it->second;
  if (auto planned = replan(prepared); !planned) return failed<Outcome>(planned.error());
  const auto& types = prepared.planned->plan.parameter_types;
  if (plan.arguments.size() != types.size()) {
    Error error = sql_error(sqlstate::kSyntaxError,
                            "wrong number of parameters for prepared statement \"" + plan.name + "\"");
    error.detail = "Expected " + std::to_string(types.size()) + " parameters but got " +
                   std::to_string(plan.arguments.size()) + ".";
    return failed<Outcome>(std::move(error));
  }
  repr::DatumRow values;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto cast = sql::assignment_cast(plan.arguments[i], types[i], "$" + std::to_string(i + 1));
    if (!cast) return failed<Outcome>(cast.error());
    auto value = expr::evaluate_row(*cast, {}, {});
    if (!value) return failed<Outcome>(value.error());
    values.push_back(std::move(*value));
  }
  if (auto rows = try_lookup(*prepared.planned, values, transaction.single)) {
    return Future<Outcome>::ready(
        Outcome(Rows{.desc = *prepared.description->columns,
                     .stream = make_stream(std::move(*rows)),
                     .tag = [](std::uint64_t count) { return "SELECT " + std::to_string(count); }}));
  }
  return execute_plan(std::make_shared<const sql::Plan>(bind_constants(prepared.planned->plan, values)),
                      prepared.statement);
}

}  // namespace freshet::adapter
