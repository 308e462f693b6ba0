// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/sqlstate.h>

#include "session_state.h"

namespace freshet::adapter {
namespace {

constexpr SqlState kInvalidSavepoint = "3B001";

std::string isolation_name(sql::IsolationLevel level) {
  static constexpr const char* kNames[] = {"read uncommitted", "read committed", "repeatable read", "serializable",
                                           "strict serializable"};
  return kNames[static_cast<int>(level)];
}

void keep_first(storage_api::EncodedUpdates& updates, std::size_t count) {
  if (count == updates.size()) return;
  repr::BytesVector rows;
  rows.append_all(updates.rows.bytes().substr(0, updates.rows.offsets()[count]),
                  updates.rows.offsets().subspan(1, count));
  updates.rows = std::move(rows);
  if (updates.times.size() > count) updates.times.resize(count);
  if (updates.diffs.size() > count) updates.diffs.resize(count);
}

}  // namespace

TransactionStatus SessionState::status() const {
  if (transaction.failed) return TransactionStatus::kFailed;
  return transaction.kind == Transaction::Kind::kExplicit ? TransactionStatus::kInBlock
                                                          : TransactionStatus::kIdle;
}

void SessionState::begin(Transaction::Kind kind) {
  if (transaction.kind == Transaction::Kind::kNone) {
    transaction = Transaction{};
    transaction.started = services.scheduler.clock().wall_micros();
    variables.begin_transaction();
    transaction.read_only = variables.read_only();
  }
  transaction.kind = kind;
}

Future<Unit> SessionState::commit() {
  if (transaction.kind == Transaction::Kind::kNone) return Future<Unit>::ready(Unit{});
  if (transaction.failed) {
    rollback();
    return Future<Unit>::ready(Unit{});
  }
  if (transaction.writes.empty()) {
    end_transaction(true);
    return Future<Unit>::ready(Unit{});
  }
  return commit_writes().then(strand, [self = shared_from_this()](Result<Unit> done) -> Result<Unit> {
    self->end_transaction(done.has_value());
    return done;
  });
}

void SessionState::end_transaction(bool committed) {
  variables.end_transaction(committed);
  drop_portals(committed);
  transaction = Transaction{};
  report_variables();
}

void SessionState::rollback() {
  if (transaction.kind == Transaction::Kind::kNone) return;
  end_transaction(false);
}

void SessionState::drop_portals(bool committed) {
  std::erase_if(portals, [&](const auto& named) { return !named.second.hold || !committed; });
}

Future<Outcome> SessionState::control(const sql::Plan& plan, std::string_view begin_tag) {
  auto answer = [](const Result<void>& done, std::string_view tag) {
    return done ? Future<Outcome>::ready(Outcome(CommandDone{std::string(tag)})) : failed<Outcome>(done.error());
  };
  if (const auto* begin_plan = plan.as<sql::BeginPlan>()) return answer(begin_block(begin_plan->modes), begin_tag);
  if (const auto* modes = plan.as<sql::SetTransactionPlan>()) return answer(set_modes(*modes), "SET");
  if (const auto* savepoint_plan = plan.as<sql::SavepointPlan>()) {
    auto tag = savepoint(*savepoint_plan);
    if (!tag) return failed<Outcome>(tag.error());
    return Future<Outcome>::ready(Outcome(CommandDone{std::move(*tag)}));
  }
  const auto* commit_plan = plan.as<sql::CommitPlan>();
  return end_block(commit_plan != nullptr,
                   commit_plan != nullptr ? commit_plan->chain : plan.as<sql::RollbackPlan>()->chain);
}

Result<void> SessionState::begin_block(const sql::TransactionModes& modes) {
  if (transaction.kind == Transaction::Kind::kExplicit) {
    notice("WARNING", sqlstate::kActiveSqlTransaction, "there is already a transaction in progress");
  }
  begin(Transaction::Kind::kExplicit);
  transaction.single = false;
  return apply_modes(modes);
}

Result<void> SessionState::apply_modes(const sql::TransactionModes& modes) {
  if (modes.read_only) {
    FRESHET_TRY(set_variable("transaction_read_only", std::vector<std::string>{*modes.read_only ? "on" : "off"}, true));
  }
  if (!modes.isolation) return {};
  return set_variable("transaction_isolation", std::vector<std::string>{isolation_name(*modes.isolation)}, true);
}

Result<void> SessionState::set_modes(const sql::SetTransactionPlan& plan) {
  if (plan.session) {
    if (plan.modes.read_only) {
      FRESHET_TRY(variables.set("default_transaction_read_only",
                                std::vector<std::string>{*plan.modes.read_only ? "on" : "off"}, false));
    }
    if (!plan.modes.isolation) return {};
    return variables.set("default_transaction_isolation",
                         std::vector<std::string>{isolation_name(*plan.modes.isolation)}, false);
  }
  if (transaction.kind != Transaction::Kind::kExplicit) {
    notice("WARNING", sqlstate::kNoActiveSqlTransaction, "SET TRANSACTION can only be used in transaction blocks");
    return {};
  }
  return apply_modes(plan.modes);
}

Result<void> SessionState::set_variable(std::string_view name, const std::optional<std::vector<std::string>>& values,
                                        bool local) {
  const std::string isolation = *variables.get("transaction_isolation");
  const bool was_read_only = variables.read_only();
  FRESHET_TRY(variables.set(name, values, local));
  // An error undoes what was set, with the transaction.
  if (*variables.get("transaction_isolation") != isolation) {
    if (transaction.queried) {
      return fail(sqlstate::kActiveSqlTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query");
    }
    if (!transaction.savepoints.empty()) {
      return fail(sqlstate::kActiveSqlTransaction,
                  "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
    }
  }
  if (was_read_only && !variables.read_only()) {
    if (!transaction.savepoints.empty() && transaction.savepoints.back().read_only) {
      return fail(sqlstate::kActiveSqlTransaction,
                  "cannot set transaction read-write mode inside a read-only transaction");
    }
    if (transaction.queried) {
      return fail(sqlstate::kActiveSqlTransaction, "transaction read-write mode must be set before any query");
    }
  }
  transaction.read_only = variables.read_only();
  return {};
}

Future<Outcome> SessionState::end_block(bool commits, bool chain) {
  if (transaction.kind != Transaction::Kind::kExplicit) {
    if (chain) {
      return failed<Outcome>(sql_error(sqlstate::kNoActiveSqlTransaction, std::string(commits ? "COMMIT" : "ROLLBACK") +
                                                                              " AND CHAIN can only be used in transaction blocks"));
    }
    notice("WARNING", sqlstate::kNoActiveSqlTransaction, "there is no transaction in progress");
  }
  auto begin_next = [self = shared_from_this(), chain, isolation = *variables.get("transaction_isolation"),
                     read_only = *variables.get("transaction_read_only")] {
    if (!chain) return;
    self->begin(Transaction::Kind::kExplicit);
    (void)self->set_variable("transaction_isolation", std::vector<std::string>{isolation}, true);
    (void)self->set_variable("transaction_read_only", std::vector<std::string>{read_only}, true);
  };
  if (!commits || transaction.failed) {
    rollback();
    begin_next();
    return Future<Outcome>::ready(Outcome(CommandDone{"ROLLBACK"}));
  }
  return commit().and_then(strand, [begin_next](Unit) {
    begin_next();
    return Outcome(CommandDone{"COMMIT"});
  });
}

// ---- Savepoints. The transaction's writes are its own until it commits, so going back is forgetting the last of them.
// The time at which it reads stays.

Result<std::string> SessionState::savepoint(const sql::SavepointPlan& plan) {
  using What = sql::SavepointPlan::What;
  const std::string_view verb = plan.what == What::kSet       ? "SAVEPOINT"
                                : plan.what == What::kRelease ? "RELEASE SAVEPOINT"
                                                              : "ROLLBACK TO SAVEPOINT";
  if (transaction.kind != Transaction::Kind::kExplicit) {
    return fail(sqlstate::kNoActiveSqlTransaction, std::string(verb) + " can only be used in transaction blocks");
  }
  std::vector<Savepoint>& all = transaction.savepoints;
  if (plan.what == What::kSet) {
    Savepoint savepoint{.name = plan.name,
                        .writes = {},
                        .read_only = transaction.read_only,
                        .variables = variables.save(),
                        .next_portal = next_portal};
    for (const auto& [table, updates] : transaction.writes) savepoint.writes[table] = updates.oks.size();
    all.push_back(std::move(savepoint));
    return std::string("SAVEPOINT");
  }
  std::size_t at = all.size();
  while (at > 0 && all[at - 1].name != plan.name) --at;
  if (at == 0) return fail(kInvalidSavepoint, "savepoint \"" + plan.name + "\" does not exist");
  if (plan.what == What::kRelease) {
    all.resize(at - 1);
    return std::string("RELEASE");
  }
  all.resize(at);
  roll_back_to(all.back());
  return std::string("ROLLBACK");
}

void SessionState::roll_back_to(const Savepoint& savepoint) {
  transaction.failed = false;
  transaction.read_only = savepoint.read_only;
  std::erase_if(transaction.writes, [&](const auto& write) { return !savepoint.writes.contains(write.first); });
  for (auto& [table, updates] : transaction.writes) keep_first(updates.oks, savepoint.writes.at(table));
  variables.restore(savepoint.variables);
  report_variables();
  std::erase_if(portals, [&](const auto& named) { return named.second.number >= savepoint.next_portal; });
}

}  // namespace freshet::adapter
