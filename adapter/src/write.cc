// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <freshet/base/assert.h>
#include <freshet/base/guarded.h>
#include <freshet/base/sqlstate.h>
#include <freshet/repr/shown_time.h>
#include <freshet/expr/eval.h>
#include <freshet/repr/row.h>
#include <freshet/repr/sql_types.h>

#include "client_error.h"
#include "copy_reader.h"
#include "inline_views.h"
#include "session_state.h"

namespace freshet::adapter {
namespace {

using storage_api::CollectionUpdates;

/// Beyond this many lost races a statement gives up with 40001.
constexpr int kMostAttempts = 200;

/// What a statement does to its table, and the rows it returns.
struct Changes {
  CollectionUpdates updates{};
  std::uint64_t count = 0;
  CountedRows returned{};  ///< Rows of the table, for RETURNING.
};

/// Rows that one statement may write, equal ones counted: far from where counts end, which are 64 bits.
constexpr repr::Diff kMostRows = repr::Diff{1} << 40;

Result<void> check_counts(const CountedRows& rows) {
  repr::Diff total = 0;
  for (const repr::Diff count : rows.counts) {
    if (count < 0) return fail(sqlstate::kInternalError, "negative multiplicity in a write");
    if (count > kMostRows || (total += count) > kMostRows) {
      return fail(sqlstate::kProgramLimitExceeded, "a statement cannot write more than " + std::to_string(kMostRows) + " rows");
    }
  }
  return {};
}

Result<Changes> plain_changes(CountedRows rows, bool returning, repr::Diff sign) {
  FRESHET_TRY(check_counts(rows));
  Changes changes;
  if (rows.counts.empty()) return changes;
  if (returning) changes.returned = rows;
  for (repr::Diff& count : rows.counts) {
    changes.count += static_cast<std::uint64_t>(count);
    count *= sign;
  }
  changes.updates.oks = {.rows = std::move(rows.rows), .times = {0}, .diffs = std::move(rows.counts)};
  return changes;
}

// Rows (old ++ new): each half is a row of the table.
Result<Changes> update_changes(const SessionState::ReadResult& read, bool returning) {
  FRESHET_TRY(check_counts(read.rows));
  Changes changes;
  const std::size_t arity = read.types.size() / 2;
  const auto columns = FRESHET_TRY(repr::RowCodec(repr::sql_types(read.types)).decode(read.rows.rows));
  const std::span<const repr::ColumnPtr> all(columns);
  const std::span<const repr::ColumnType> types(read.types);
  repr::BytesVector before;
  repr::BytesVector after;
  const std::size_t rows = read.rows.rows.size();
  repr::RowCodec(repr::sql_types(types.first(arity))).encode(all.first(arity), 0, rows, before);
  repr::RowCodec(repr::sql_types(types.last(arity))).encode(all.last(arity), 0, rows, after);
  for (std::size_t i = 0; i < rows; ++i) {
    const repr::Diff count = read.rows.counts[i];
    changes.count += static_cast<std::uint64_t>(count);
    if (returning) changes.returned.push_back(after[i], count);
    if (before[i] == after[i]) continue;
    changes.updates.oks.push_back(before[i], 0, -count);
    changes.updates.oks.push_back(after[i], 0, count);
  }
  return changes;
}

Result<Outcome> outcome_of(const Changes& changes, const std::optional<sql::Returning>& returning,
                           const repr::RelationDesc& table, std::string verb, repr::SqlTime time, std::uint64_t most_bytes) {
  const sql::Bindings bindings{.mz_now = repr::Datum(repr::shown_time(time))};
  auto tag = [verb](std::uint64_t rows) { return verb + std::to_string(rows); };
  if (!returning) return Outcome(CommandDone{tag(changes.count)});
  // One row per copy, then the expressions over the table's columns.
  sql::Finishing all;
  for (std::size_t i = 0; i < table.arity(); ++i) all.project.push_back(i);
  RowBatch rows = FRESHET_TRY(finish_rows(changes.returned, table.type.columns, all, {}, most_bytes));
  RowBatch out{.columns = {}, .rows = rows.rows};
  for (const expr::Scalar& scalar : returning->expressions) {
    expr::Evaluated value = expr::evaluate(sql::bind_scalar(scalar, bindings), rows.columns, rows.rows);
    if (!value.errors.empty()) return fail(value.errors.entries.front().error);
    out.columns.push_back(std::move(value.column));
  }
  return Outcome(Rows{.desc = returning->desc, .stream = make_stream(std::move(out)), .tag = tag});
}

/// INSERT, UPDATE and DELETE: read, change, write; again from the start when another write came between and the
/// statement is a transaction by itself.
class ReadThenWrite : public std::enable_shared_from_this<ReadThenWrite> {
 public:
  ReadThenWrite(SessionPtr session, GlobalId table, expr::Relation relation,
                std::optional<sql::Returning> returning, std::string verb,
                Result<Changes> (*compute)(SessionState::ReadResult&&, bool returning))
      : session_(std::move(session)), table_(table), relation_(std::move(relation)),
        returning_(std::move(returning)), verb_(std::move(verb)), compute_(compute) {}

  Future<Outcome> attempt(int number) {
    if (auto allowed = check(); !allowed) return failed<Outcome>(allowed.error());
    return session_->read(relation_, std::nullopt)
        .and_then(session_->strand, [self = shared_from_this(), number](SessionState::ReadResult read) {
          return self->write(std::move(read), number);
        });
  }

 private:
  Result<void> check() {
    const CatalogPtr catalog = session_->services.catalog.get();
    const CatalogEntry* entry = catalog->entry(table_);
    if (entry == nullptr) return fail(sqlstate::kUndefinedTable, "the table was dropped");
    desc_ = entry->item.desc;
    if (session_->transaction.read_only) {
      return fail(sqlstate::kReadOnlySqlTransaction,
                  "cannot execute " + verb_.substr(0, verb_.find(' ')) + " in a read-only transaction");
    }
    bool only_tables = true;
    base_tables(*catalog, relation_.global_ids(), only_tables);
    if (!only_tables) {
      return fail(sqlstate::kFeatureNotSupported,
                  "a write cannot read from sources, only from tables and views over tables");
    }
    return {};
  }

  Future<Outcome> write(SessionState::ReadResult read, int number) {
    if (session_->cancelled) return failed<Outcome>(session_->stopped_error());
    const repr::SqlTime time = read.time;
    auto changes = compute_(std::move(read), returning_.has_value());
    if (!changes) return failed<Outcome>(changes.error());
    auto outcome = outcome_of(*changes, returning_, desc_, verb_, time, session_->max_result_bytes());
    if (!outcome) return failed<Outcome>(outcome.error());
    if (!relation_.global_ids().empty() && !session_->transaction.read_at) {
      if (session_->transaction.single) {
        session_->transaction.read_at = time;
      } else {
        session_->fix_time(time);
      }
    }
    return session_->write(table_, std::move(changes->updates))
        .then(session_->strand, [self = shared_from_this(), number,
                                 outcome = std::move(*outcome)](Result<Unit> done) mutable -> Future<Outcome> {
          if (done) return Future<Outcome>::ready(std::move(outcome));
          const bool again = done.error().sqlstate == sqlstate::kSerializationFailure &&
                             self->session_->transaction.single && number < kMostAttempts &&
                             !self->session_->cancelled;
          if (!again) return failed<Outcome>(done.error());
          self->session_->transaction.writes.clear();
          self->session_->transaction.read_tables.clear();
          self->session_->transaction.read_at.reset();
          return self->attempt(number + 1);
        });
  }

  SessionPtr session_;
  GlobalId table_;
  expr::Relation relation_;
  std::optional<sql::Returning> returning_;
  std::string verb_;
  Result<Changes> (*compute_)(SessionState::ReadResult&&, bool returning);
  repr::RelationDesc desc_;
};

}  // namespace

Future<Outcome> SessionState::insert(const sql::InsertPlan& plan) {
  return std::make_shared<ReadThenWrite>(
             shared_from_this(), plan.table, plan.rows, plan.returning, "INSERT 0 ",
             [](ReadResult&& read, bool returning) { return plain_changes(std::move(read.rows), returning, 1); })
      ->attempt(0);
}

Future<Outcome> SessionState::update(const sql::UpdatePlan& plan) {
  return std::make_shared<ReadThenWrite>(shared_from_this(), plan.table, plan.changes,
                                         plan.returning, "UPDATE ",
                                         [](ReadResult&& read, bool returning) { return update_changes(read, returning); })
      ->attempt(0);
}

Future<Outcome> SessionState::remove(const sql::DeletePlan& plan) {
  return std::make_shared<ReadThenWrite>(
             shared_from_this(), plan.table, plan.rows, plan.returning, "DELETE ",
             [](ReadResult&& read, bool returning) { return plain_changes(std::move(read.rows), returning, -1); })
      ->attempt(0);
}

Future<Unit> SessionState::write(GlobalId table, CollectionUpdates updates) {
  if (updates.oks.size() > 0) {
    CollectionUpdates& pending = transaction.writes[table];
    if (pending.oks.rows.byte_size() + updates.oks.rows.byte_size() > kMostCommitBytes) {
      return failed<Unit>(sql_error(sqlstate::kProgramLimitExceeded,
                                    "a transaction may write at most " + std::to_string(kMostCommitBytes) +
                                        " bytes of rows to a table"));
    }
    if (pending.oks.size() == 0) {
      pending = std::move(updates);
    } else {
      append_updates(pending.oks, updates.oks);
    }
  }
  // A statement that is its own transaction answers only when it is durable.
  if (transaction.single) return commit_writes();
  return Future<Unit>::ready(Unit{});
}

Future<Unit> SessionState::write_staged(GlobalId table, storage_api::StagedRowsPtr rows) {
  FRESHET_ASSERT(transaction.single && transaction.writes.empty());
  TableWrite write;
  write.appends[table];
  write.staged[table].push_back(std::move(rows));
  return services.committer->commit(std::move(write)).and_then(strand, [](SqlTime) { return Unit{}; });
}

Future<Unit> SessionState::commit_writes() {
  if (transaction.writes.empty()) return Future<Unit>::ready(Unit{});
  TableWrite write{.appends = std::move(transaction.writes)};
  transaction.writes.clear();
  if (!transaction.read_tables.empty()) {
    write.read_at = transaction.read_at;
    write.read_tables = transaction.read_tables;
  }
  return services.committer->commit(std::move(write)).and_then(strand, [](SqlTime) { return Unit{}; });
}

namespace {

/// Collects the rows of a COPY; nothing is to be seen before `finish`. Of a COPY that is its own transaction, and not
/// small, the rows are stored while they come, so that little is left to do at the end.
class TableCopy final : public CopyInput {
 public:
  TableCopy(SessionPtr session, sql::CopyFromPlan plan, repr::RelationDesc table)
      : session_(std::move(session)), plan_(std::move(plan)), table_(std::move(table)),
        codec_(repr::sql_types(table_.type.columns)),
        reader_(plan_.options, plan_.desc, {.time_zone = session_->variables.settings(session_->user).time_zone}) {}

  Result<void> feed(std::string_view bytes) override {
    if (session_->cancelled) return base::Unexpected(session_->stopped_error());
    while (!bytes.empty()) {
      bytes = FRESHET_TRY(reader_.read(bytes, kBatchRows));
      if (reader_.buffered() >= kBatchRows) FRESHET_TRY(take());
    }
    return {};
  }

  // A client that is faster than the disk waits.
  std::optional<Future<Unit>> room() override {
    return backlog_->with([](Backlog& backlog) -> std::optional<Future<Unit>> {
      if (backlog.bytes <= kMostBacklog) return std::nullopt;
      return backlog.waiter.emplace().future();
    });
  }

  Future<std::string> finish() override {
    if (auto ended = reader_.finish(); !ended) return failed<std::string>(ended.error());
    if (auto taken = take(); !taken) return failed<std::string>(taken.error());
    return store().and_then(session_->strand,
                            [rows = reader_.rows()](Unit) { return "COPY " + std::to_string(rows); });
  }

 private:
  static constexpr std::size_t kBatchRows = 8192;
  static constexpr std::size_t kStageBytes = 1 << 20;
  static constexpr std::size_t kMostBacklog = 64 << 20;

  /// Rows that the stage has not taken in yet.
  struct Backlog {
    std::size_t bytes = 0;
    std::optional<base::Promise<Unit>> waiter{};
  };

  Future<Unit> store() {
    if (stage_ == nullptr) return session_->write(plan_.table, std::move(updates_));
    if (!updates_.empty()) stage_rows();
    return stage_->finish().then(
        session_->strand, [session = session_, table = plan_.table](Result<storage_api::StagedRowsPtr> rows) {
          if (!rows) return failed<Unit>(client_error(rows.error()));
          return session->write_staged(table, std::move(*rows));
        });
  }

  void stage_rows() {
    const std::size_t size = updates_.oks.rows.byte_size();
    backlog_->with([&](Backlog& backlog) { backlog.bytes += size; });
    stage_->add(std::exchange(updates_, {}))
        .on_ready(session_->services.scheduler, [shared = backlog_, size](const Result<Unit>&) {
          // A failure shows in `finish`.
          auto waiter = shared->with([&](Backlog& backlog) -> std::optional<base::Promise<Unit>> {
            backlog.bytes -= size;
            if (backlog.bytes > kMostBacklog) return std::nullopt;
            return std::exchange(backlog.waiter, std::nullopt);
          });
          if (waiter) waiter->resolve(Unit{});
        });
  }

  // Turns the rows read so far into rows of the table.
  Result<void> take() {
    const std::size_t rows = reader_.buffered();
    const std::uint64_t first_line = reader_.first_buffered_line();
    std::vector<repr::ColumnPtr> data = reader_.take();
    if (rows == 0) return {};
    if (!plan_.row_is_identity) {
      std::vector<repr::ColumnPtr> converted;
      for (const expr::Scalar& scalar : plan_.row) {
        expr::Evaluated value = expr::evaluate(scalar, data, rows);
        if (!value.errors.empty()) {
          const auto& entry = value.errors.entries.front();
          Error error = entry.error;
          if (error.detail.empty()) {
            error.detail = "COPY line " + std::to_string(first_line + entry.row);
          }
          return fail(std::move(error));
        }
        converted.push_back(std::move(value.column));
      }
      data = std::move(converted);
    }
    if (updates_.oks.rows.byte_size() > kMostCommitBytes) {
      return fail(sqlstate::kProgramLimitExceeded,
                  "a transaction may write at most " + std::to_string(kMostCommitBytes) + " bytes of rows to a table");
    }
    codec_.encode(data, 0, rows, updates_.oks.rows);
    updates_.oks.times.assign(1, 0);
    if (updates_.oks.rows.byte_size() < kStageBytes || !session_->transaction.single) return {};
    if (stage_ == nullptr) stage_ = session_->services.storage.stage(plan_.table);
    if (stage_ != nullptr) stage_rows();
    return {};
  }

  SessionPtr session_;
  sql::CopyFromPlan plan_;
  repr::RelationDesc table_;
  repr::RowCodec codec_;
  CopyReader reader_;
  CollectionUpdates updates_;
  std::unique_ptr<storage_api::RowStage> stage_;
  std::shared_ptr<base::Guarded<Backlog>> backlog_ = std::make_shared<base::Guarded<Backlog>>();
};

}  // namespace

Future<Outcome> SessionState::copy_from(const sql::CopyFromPlan& plan) {
  const CatalogPtr catalog = services.catalog.get();
  const CatalogEntry* entry = catalog->entry(plan.table);
  if (entry == nullptr) {
    return failed<Outcome>(sql_error(sqlstate::kUndefinedTable, "the table was dropped"));
  }
  if (transaction.read_only) {
    return failed<Outcome>(sql_error(sqlstate::kReadOnlySqlTransaction,
                                     "cannot execute COPY FROM in a read-only transaction"));
  }
  if (plan.options.format == sql::CopyOptions::Format::kBinary) {
    return failed<Outcome>(sql_error(sqlstate::kFeatureNotSupported,
                                     "COPY FROM in binary format is not supported"));
  }
  return Future<Outcome>::ready(Outcome(
      CopyIn{.options = plan.options,
             .columns = plan.columns.size(),
             .input = std::make_unique<TableCopy>(shared_from_this(), plan, entry->item.desc)}));
}

}  // namespace freshet::adapter
