// SPDX-License-Identifier: Apache-2.0
#include "cursor.h"

#include <algorithm>
#include <utility>

#include <freshet/base/sqlstate.h>

#include "session_state.h"

namespace freshet::adapter {

struct CursorStream::State : std::enable_shared_from_this<State> {
  State(base::Scheduler& s, base::TaskQueue& q, std::unique_ptr<RowStream> st)
      : scheduler(s), queue(q), stream(std::move(st)) {}

  Future<RowBatch> next(std::size_t most) {
    if (buffered.rows > start) return Future<RowBatch>::ready(take(most));
    if (failure && !std::exchange(told, true)) return failed<RowBatch>(*failure);
    if (failure) {
      return failed<RowBatch>(sql_error(sqlstate::kObjectNotInPrerequisiteState, "the cursor has ended with an error"));
    }
    if (ended) return Future<RowBatch>::ready(RowBatch{});
    wanted = most;
    waiting.emplace();
    auto answer = waiting->future();
    if (!std::exchange(asked, true)) {
      stream->next(most).on_ready(queue, [self = shared_from_this()](Result<RowBatch> batch) {
        self->arrived(std::move(batch));
      });
    }
    return answer;
  }

  void arrived(Result<RowBatch> batch) {
    asked = false;
    if (!batch) {
      failure = batch.error();
    } else if (batch->rows == 0) {
      ended = true;
    } else {
      buffered = std::move(*batch);
      start = 0;
    }
    if (!waiting) return;
    auto promise = std::move(*waiting);
    waiting.reset();
    if (failure) {
      told = true;
      promise.resolve(fail(*failure));
    } else {
      promise.resolve(take(wanted));
    }
  }

  void give_up() {
    if (!waiting) return;
    auto promise = std::move(*waiting);
    waiting.reset();
    promise.resolve(RowBatch{});
  }

  RowBatch take(std::size_t most) {
    const std::size_t begin = std::exchange(start, start + std::min(most, buffered.rows - start));
    return slice(buffered, begin, start);
  }

  base::Scheduler& scheduler;
  base::TaskQueue& queue;
  std::unique_ptr<RowStream> stream;
  RowBatch buffered;
  std::size_t start = 0;
  std::size_t wanted = 0;
  std::optional<base::Promise<RowBatch>> waiting;
  std::optional<Error> failure;  ///< Of the stream, which has no more rows then.
  bool told = false;             ///< To a FETCH; the next ones learn that it has ended.
  bool asked = false;
  bool ended = false;
};

CursorStream::CursorStream(base::Scheduler& scheduler, base::TaskQueue& queue,
                           std::unique_ptr<RowStream> stream)
    : state_(std::make_shared<State>(scheduler, queue, std::move(stream))) {}

CursorStream::~CursorStream() { state_->stream.reset(); }

Future<RowBatch> CursorStream::next(std::size_t most) { return state_->next(most); }

Future<RowBatch> CursorStream::next_within(std::size_t most, std::chrono::microseconds wait) {
  auto answer = state_->next(most);
  if (!state_->waiting) return answer;
  const base::TimerId timer = state_->scheduler.after(
      wait, state_->queue, [state = state_] { state->give_up(); });
  return std::move(answer).then(state_->queue, [state = state_, timer](Result<RowBatch> batch) {
    state->scheduler.cancel(timer);
    return batch;
  });
}

bool CursorStream::ended() const { return state_->ended; }

void CursorStream::abandon() {
  state_->ended = true;
  const auto waiting = std::exchange(state_->waiting, std::nullopt);
  const auto stream = std::exchange(state_->stream, nullptr);
}

namespace {

/// At most `left` rows of a cursor, for one FETCH.
class FetchStream final : public RowStream {
 public:
  FetchStream(SessionPtr session, std::shared_ptr<CursorStream> cursor, std::uint64_t count,
              std::optional<std::uint64_t> timeout_micros)
      : session_(std::move(session)), cursor_(std::move(cursor)), left_(count) {
    if (timeout_micros) {
      deadline_ = session_->services.scheduler.clock().now() +
                  std::chrono::microseconds(std::min<std::uint64_t>(*timeout_micros, INT64_MAX / 2000));
    }
  }

  Future<RowBatch> next(std::size_t most) override {
    if (left_ == 0) return Future<RowBatch>::ready(RowBatch{});
    const std::size_t wanted = std::min<std::uint64_t>(most, left_);
    auto answer = deadline_ ? cursor_->next_within(wanted, remaining()) : cursor_->next(wanted);
    return std::move(answer).and_then(session_->strand, [this, session = session_](RowBatch batch) {
      left_ -= batch.rows;
      return batch;
    });
  }

 private:
  [[nodiscard]] std::chrono::microseconds remaining() const {
    const auto now = session_->services.scheduler.clock().now();
    if (now >= *deadline_) return std::chrono::microseconds(0);
    return std::chrono::duration_cast<std::chrono::microseconds>(*deadline_ - now);
  }
  SessionPtr session_;
  std::shared_ptr<CursorStream> cursor_;
  std::uint64_t left_;
  std::optional<base::Instant> deadline_;
};

}  // namespace

Future<Outcome> SessionState::open_cursor(const sql::DeclarePlan& plan) {
  if (transaction.kind != Transaction::Kind::kExplicit && !plan.hold) {
    return failed<Outcome>(sql_error(sqlstate::kNoActiveSqlTransaction,
                                     "DECLARE CURSOR can only be used in transaction blocks"));
  }
  if (portals.contains(plan.name)) {
    return failed<Outcome>(
        sql_error(sqlstate::kDuplicateCursor, "cursor \"" + plan.name + "\" already exists"));
  }
  return execute_plan(plan.query, std::nullopt)
      .and_then(strand, [self = shared_from_this(), name = plan.name, hold = plan.hold](Outcome outcome) {
        Rows rows = std::move(std::get<Rows>(outcome));
        Portal portal;
        portal.description = std::make_shared<const StatementDescription>(StatementDescription{.columns = rows.desc});
        portal.hold = hold;
        portal.number = self->next_portal++;
        portal.cursor = std::make_shared<CursorStream>(self->services.scheduler, self->strand,
                                                       std::move(rows.stream));
        self->portals[name] = std::move(portal);
        return Outcome(CommandDone{"DECLARE CURSOR"});
      });
}

Rows SessionState::fetch(const Portal& portal, std::uint64_t count, std::optional<std::uint64_t> timeout_micros,
                         std::string verb) {
  return {.desc = *portal.description->columns,
          .stream = std::make_unique<FetchStream>(shared_from_this(), portal.cursor, count, timeout_micros),
          .tag = [verb = std::move(verb)](std::uint64_t rows) { return verb + std::to_string(rows); }};
}

Future<Outcome> SessionState::cursor_statement(const sql::Plan& plan) {
  auto done = [](std::string tag) { return Future<Outcome>::ready(Outcome(CommandDone{std::move(tag)})); };
  if (const auto* declare = plan.as<sql::DeclarePlan>()) return open_cursor(*declare);
  if (const auto* fetch = plan.as<sql::FetchPlan>()) {
    auto portal = portals.find(fetch->name);
    if (portal == portals.end() || !portal->second.cursor) {
      return failed<Outcome>(
          sql_error(sqlstate::kInvalidCursorName, "cursor \"" + fetch->name + "\" does not exist"));
    }
    return Future<Outcome>::ready(Outcome(this->fetch(portal->second, fetch->count.value_or(UINT64_MAX),
                                                      fetch->timeout_micros, fetch->move ? "MOVE " : "FETCH ")));
  }
  if (const auto* close_plan = plan.as<sql::ClosePlan>()) {
    if (!close_plan->name) {
      std::erase_if(portals, [](const auto& named) { return named.second.cursor != nullptr; });
      return done("CLOSE CURSOR ALL");
    }
    auto portal = portals.find(*close_plan->name);
    if (portal == portals.end() || !portal->second.cursor) {
      return failed<Outcome>(
          sql_error(sqlstate::kInvalidCursorName, "cursor \"" + *close_plan->name + "\" does not exist"));
    }
    portals.erase(portal);
    return done("CLOSE CURSOR");
  }
  return prepared_statement(plan);
}

}  // namespace freshet::adapter
