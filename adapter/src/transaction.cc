// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/sqlstate.h>

#include "session_state.h"

namespace freshet::adapter {

TransactionStatus SessionState::status() const {
  if (transaction.failed) return TransactionStatus::kFailed;
  return transaction.kind == Transaction::Kind::kExplicit ? TransactionStatus::kInBlock
                                                          : TransactionStatus::kIdle;
}

void SessionState::begin(Transaction::Kind kind) {
  if (transaction.kind == Transaction::Kind::kNone) {
    transaction = Transaction{};
    transaction.started = services.scheduler.clock().wall_micros();
    transaction.read_only = variables.default_read_only();
    variables.begin_transaction();
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
  auto done = [](std::string tag) { return Future<Outcome>::ready(Outcome(CommandDone{std::move(tag)})); };
  auto apply_modes = [this](const sql::TransactionModes& modes) -> Result<void> {
    if (modes.read_only) transaction.read_only = *modes.read_only;
    if (!modes.isolation) return {};
    static constexpr const char* kNames[] = {"read uncommitted", "read committed", "repeatable read",
                                             "serializable", "strict serializable"};
    return variables.set("transaction_isolation",
                         std::vector<std::string>{kNames[static_cast<int>(*modes.isolation)]}, true);
  };
  if (const auto* begin_plan = plan.as<sql::BeginPlan>()) {
    if (transaction.kind == Transaction::Kind::kExplicit) {
      notice("WARNING", sqlstate::kActiveSqlTransaction, "there is already a transaction in progress");
    }
    begin(Transaction::Kind::kExplicit);
    transaction.single = false;
    if (auto set = apply_modes(begin_plan->modes); !set) return failed<Outcome>(set.error());
    return done(std::string(begin_tag));
  }
  if (const auto* modes = plan.as<sql::SetTransactionPlan>()) {
    if (modes->session) {
      if (modes->modes.read_only) {
        auto set = variables.set("default_transaction_read_only",
                                 std::vector<std::string>{*modes->modes.read_only ? "on" : "off"}, false);
        if (!set) return failed<Outcome>(set.error());
      }
      return done("SET");
    }
    if (transaction.kind != Transaction::Kind::kExplicit) {
      notice("WARNING", sqlstate::kNoActiveSqlTransaction,
             "SET TRANSACTION can only be used in transaction blocks");
      return done("SET");
    }
    if (auto set = apply_modes(modes->modes); !set) return failed<Outcome>(set.error());
    return done("SET");
  }
  const bool commits = plan.as<sql::CommitPlan>() != nullptr;
  const bool chain = commits ? plan.as<sql::CommitPlan>()->chain : plan.as<sql::RollbackPlan>()->chain;
  if (transaction.kind != Transaction::Kind::kExplicit) {
    notice("WARNING", sqlstate::kNoActiveSqlTransaction, "there is no transaction in progress");
  }
  if (!commits || transaction.failed) {
    rollback();
    if (chain) begin(Transaction::Kind::kExplicit);
    return done("ROLLBACK");
  }
  return commit().and_then(strand, [self = shared_from_this(), chain](Unit) {
    if (chain) self->begin(Transaction::Kind::kExplicit);
    return Outcome(CommandDone{"COMMIT"});
  });
}

}  // namespace freshet::adapter
