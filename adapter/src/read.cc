// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/compute_api/errors.h>
#include <freshet/expr/eval.h>
#include <freshet/repr/shown_time.h>

#include "inline_views.h"
#include "session_state.h"

namespace freshet::adapter {
namespace {

using expr::Relation;

/// A read on its way: owns the hold and the transient dataflow until the answer is there.
struct ActiveRead {
  Services& services;
  Hold hold{};
  std::optional<GlobalId> transient{};
  explicit ActiveRead(Services& s) : services(s) {}
  ~ActiveRead() {
    if (transient) services.dataflows->drop_export(*transient);
  }
};

}  // namespace

Error SessionState::stopped_error() const {
  Error error = compute_api::cancelled();
  if (stop_cause == StopCause::kTimeout) error.message = "canceling statement due to statement timeout";
  if (stop_cause == StopCause::kShutdown) {
    error.sqlstate = sqlstate::kAdminShutdown;
    error.message = "terminating connection due to administrator command";
  }
  return error;
}

Result<SqlTime> SessionState::resolve_time(const expr::Scalar& scalar) const {
  const repr::Datum value = FRESHET_TRY(expr::evaluate_row(scalar, {}, {}));
  if (value.is_null()) return fail(sqlstate::kInvalidParameterValue, "timestamp must not be null");
  const auto checked = [](std::optional<SqlTime> time, const std::string& written) -> Result<SqlTime> {
    if (!time) return fail(sqlstate::kInvalidParameterValue, "invalid timestamp " + written);
    return *time;
  };
  const auto millis = [&checked](std::int64_t ms) { return checked(repr::time_of_millis(ms), std::to_string(ms)); };
  switch (scalar.type().type.kind()) {
    case repr::TypeKind::kTimestampTz:
    case repr::TypeKind::kTimestamp: {
      const std::optional<SqlTime> time = repr::time_of_timestamp(value.get<std::int64_t>());
      if (!time) return fail(sqlstate::kInvalidParameterValue, "timestamp is before 1970");
      return *time;
    }
    case repr::TypeKind::kNumeric: {
      const auto& number = value.get<repr::Numeric>();
      return checked(repr::time_of_millis(number), number.to_string());
    }
    case repr::TypeKind::kInt2: return millis(value.get<std::int16_t>());
    case repr::TypeKind::kInt4: return millis(value.get<std::int32_t>());
    case repr::TypeKind::kInt8: return millis(value.get<std::int64_t>());
    default:
      return fail(sqlstate::kDatatypeMismatch,
                  "a timestamp must be a number of milliseconds or a timestamp, not " +
                      repr::to_string(scalar.type().type));
  }
}

Future<SqlTime> SessionState::choose_time(std::vector<GlobalId> imports,
                                          std::optional<sql::AsOf> as_of) {
  if (as_of) {
    auto time = resolve_time(as_of->time);
    if (!time) return failed<SqlTime>(time.error());
    const SqlTime first = services.holds->readable_from(imports);
    return reached(as_of->at_least ? std::max(*time, first) : *time);
  }
  if (transaction.read_at) return Future<SqlTime>::ready(*transaction.read_at);
  return services.oracle->read_timestamp().and_then(
      strand, [self = shared_from_this()](SqlTime time) {
        if (self->transaction.kind == Transaction::Kind::kExplicit) self->fix_time(time);
        return time;
      });
}

void SessionState::fix_time(SqlTime time) {
  transaction.hold = services.holds->acquire_all(time);
  transaction.read_at = time;
}

namespace {

/// A statement that waits for its time: ended by the timer or by cancel, whichever is first. Lives on the strand.
struct TimeWait {
  base::Promise<Unit> promise;
  bool over = false;
  void end(Result<Unit> how) {
    if (!std::exchange(over, true)) promise.resolve(std::move(how));
  }
};

}  // namespace

Future<SqlTime> SessionState::reached(SqlTime time) {
  if (time == repr::kClosed) {
    return failed<SqlTime>(sql_error(sqlstate::kInvalidParameterValue, "AS OF infinity can never be read"));
  }
  return services.oracle->read_timestamp().and_then(
      strand, [self = shared_from_this(), time](SqlTime now) -> Future<SqlTime> {
        if (time <= now) return Future<SqlTime>::ready(time);
        auto wait = std::make_shared<TimeWait>();
        auto over = wait->promise.future();
        const SqlTime longest = 86'400'000'000;  // a day; then the clock is asked again
        const base::TimerId timer = self->services.scheduler.after(
            std::chrono::microseconds(std::min(time - now, longest)), self->strand,
            [self, wait] { wait->end(Unit{}); });
        self->cancel_step = [self = self.get(), wait, timer] {
          self->services.scheduler.cancel(timer);
          wait->end(base::Unexpected(self->stopped_error()));
        };
        if (self->cancelled) self->cancel_current();
        return std::move(over).and_then(self->strand, [self, time](Unit) {
          self->cancel_step = nullptr;
          return self->reached(time);
        });
      });
}

Error SessionState::not_held(Error error, const std::vector<GlobalId>& ids, SqlTime time,
                             const std::optional<sql::AsOf>& as_of) const {
  if (error.sqlstate != sqlstate::kInvalidParameterValue) return error;
  const repr::TypeKind kind = as_of ? as_of->time.type().type.kind() : repr::TypeKind::kNumeric;
  const bool as_date = kind == repr::TypeKind::kTimestampTz || kind == repr::TypeKind::kTimestamp;
  const auto shown = [&](SqlTime t) {
    if (!as_date) return repr::shown_time(t).to_string();
    return repr::to_text(repr::Datum(static_cast<std::int64_t>(t) - repr::kPostgresEpoch), repr::TypeKind::kTimestampTz,
                         {.time_zone = variables.settings(user).time_zone});
  };
  const CatalogPtr catalog = services.catalog.get();
  for (const GlobalId id : ids) {
    const SqlTime since = services.holds->readable_from({id});
    const CatalogEntry* entry = catalog->entry(id);
    if (since <= time || entry == nullptr) continue;
    error.message = "timestamp " + shown(time) + " is not readable: " + std::string(to_string(entry->item.kind)) +
                    " \"" + entry->item.name.item + "\" keeps history from " + shown(since) + " on";
    error.hint = "Create it WITH (RETAIN HISTORY FOR '1 day') to keep more of its history.";
    break;
  }
  return error;
}

Future<SessionState::ReadResult> SessionState::read(Relation relation, std::optional<sql::AsOf> as_of,
                                                    FirstRows first) {
  const CatalogPtr catalog = services.catalog.get();
  const std::set<GlobalId> named = relation.global_ids();
  bool only_tables = true;
  for (const GlobalId id : base_tables(*catalog, named, only_tables)) {
    transaction.read_tables.insert(id);
  }
  std::vector<GlobalId> imports;
  for (const GlobalId id : base_collections(*catalog, named)) imports.push_back(id);
  // A constant needs no time, unless the transaction gives it one.
  const bool timeless = imports.empty() && !as_of;
  Future<SqlTime> chosen = timeless ? Future<SqlTime>::ready(services.scheduler.clock().wall_micros())
                                    : choose_time(std::move(imports), as_of);
  return std::move(chosen).and_then(
      strand, [self = shared_from_this(), relation = std::move(relation), catalog, as_of = std::move(as_of),
               first = std::move(first)](SqlTime time) mutable -> Future<ReadResult> {
        sql::Bindings bindings{.mz_now = repr::Datum(repr::shown_time(time))};
        const Relation bound = sql::bind_relation(relation, bindings);
        const auto* overlay =
            self->transaction.writes.empty() ? nullptr : &self->transaction.writes;
        auto planned = self->services.dataflows->plan_read(bound, *catalog, overlay, time, self->viewer());
        if (!planned) return failed<ReadResult>(planned.error());
        ReadResult result{.rows = {}, .types = planned->types, .time = time};
        if (const auto* constant = std::get_if<ConstantRead>(&planned->how)) {
          if (constant->error) return failed<ReadResult>(*constant->error);
          result.rows = counted_rows(constant->rows, planned->types);
          return Future<ReadResult>::ready(std::move(result));
        }
        auto hold = self->services.holds->acquire(planned->imports, time);
        // An index may go at any time after the plan was made: then it is made anew, without it.
        if (!hold && self->services.catalog.get() != catalog) {
          return self->read(std::move(relation), std::move(as_of), std::move(first));
        }
        if (!hold) return failed<ReadResult>(self->not_held(hold.error(), planned->imports, time, as_of));
        return self->peek(std::move(*planned), std::move(*hold), std::move(result), first)
            .then(self->strand, [self, catalog, relation = std::move(relation), as_of = std::move(as_of),
                                 first](Result<ReadResult> read) mutable -> Future<ReadResult> {
              const bool gone = !read && read.error().sqlstate == sqlstate::kUndefinedTable;
              if (!gone || self->services.catalog.get() == catalog) return Future<ReadResult>::ready(std::move(read));
              return self->read(std::move(relation), std::move(as_of), std::move(first));
            });
      });
}

Future<SessionState::ReadResult> SessionState::peek(ReadPlan planned, Hold hold, ReadResult result,
                                                    FirstRows first) {
  // Asked to stop while the time was chosen or the plan was made: compute knows no such peek yet.
  if (cancelled) return failed<ReadResult>(stopped_error());
  auto active = std::make_shared<ActiveRead>(services);
  active->hold = std::move(hold);
  compute_api::Peek request{.id = services.compute->new_peek_id(), .target = compute_api::Peek::Index{},
                            .time = result.time, .mfp = expr::Mfp::identity(planned.types.size()),
                            .order = std::move(first.order), .limit = first.count};
  if (auto* direct = std::get_if<PeekRead>(&planned.how)) {
    request.target = std::move(direct->target);
    request.mfp = std::move(direct->mfp);
    if (std::holds_alternative<compute_api::Peek::Index>(request.target)) {
      services.compute->send(compute_api::Advance{direct->id, result.time});
    }
  } else {
    auto& transient = std::get<DataflowRead>(planned.how);
    transient.dataflow.as_of = result.time;
    transient.dataflow.until = result.time + 1;
    active->transient = transient.index;
    request.target = compute_api::Peek::Index{.id = transient.index};
    services.dataflows->create(std::move(transient.dataflow));
    services.compute->send(compute_api::Advance{transient.index, result.time});
  }
  const PeekId id = request.id;
  cancel_step = [&compute = *services.compute, id] { compute.cancel_peek(id); };
  return services.compute
      ->peek(std::move(request), max_result_bytes(),
             all_behind(*services.catalog.get(), {planned.imports.begin(), planned.imports.end()}))
      .then(strand, [self = shared_from_this(), active,
                     result = std::move(result)](Result<PeekResult> peeked) mutable -> Result<ReadResult> {
        self->cancel_step = nullptr;
        if (!peeked) {
          const bool stopped = peeked.error().sqlstate == sqlstate::kQueryCanceled;
          return fail(stopped ? self->stopped_error() : peeked.error());
        }
        result.rows = counted_rows(std::move(*peeked));
        return std::move(result);
      });
}

Future<Outcome> SessionState::select(const sql::SelectPlan& plan) {
  auto limits = sql::resolve_limits(plan.finishing);
  if (!limits) return failed<Outcome>(limits.error());
  FirstRows first;
  if (limits->limit) {
    first.order = plan.finishing.order_by;
    const bool all = *limits->limit > UINT64_MAX - limits->offset;
    first.count = all ? UINT64_MAX : *limits->limit + limits->offset;
  }
  return read(plan.relation, plan.as_of, std::move(first))
      .and_then(strand, [finishing = plan.finishing, desc = plan.desc, limits = *limits,
                         most_bytes = max_result_bytes()](ReadResult result) -> Result<Outcome> {
        RowBatch batch = FRESHET_TRY(finish_rows(result.rows, result.types, finishing, limits, most_bytes));
        return Outcome(Rows{.desc = desc,
                            .stream = make_stream(std::move(batch)),
                            .tag = [](std::uint64_t rows) { return "SELECT " + std::to_string(rows); }});
      });
}

}  // namespace freshet::adapter
