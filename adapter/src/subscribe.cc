// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/sqlstate.h>
#include <freshet/compute_api/errors.h>
#include <freshet/repr/row.h>
#include <freshet/repr/shown_time.h>

#include "inline_views.h"
#include "session_state.h"

namespace freshet::adapter {
namespace {

using compute_api::SubscribeResponse;

constexpr std::chrono::seconds kProgressInterval{1};

/// Rows (mz_timestamp, [mz_progressed,] mz_diff, columns…) of one subscription.
///
/// Progress: a row says that everything before its timestamp was sent. While a client waits for progress and
/// nothing changes, the subscription asks for time once a second; otherwise it only listens.
class SubscribeStream final : public RowStream, public std::enable_shared_from_this<SubscribeStream> {
 public:
  SubscribeStream(SessionPtr session, sql::SubscribePlan plan, GlobalId sink,
                  std::shared_ptr<SubscriptionQueue> queue, Hold hold)
      : session_(std::move(session)), plan_(std::move(plan)), sink_(sink), queue_(std::move(queue)),
        hold_(std::move(hold)) {
    std::vector<repr::SqlType> types;
    for (const auto& column : plan_.desc.type.columns) types.push_back(column.type);
    codec_.emplace(std::move(types));
  }
  ~SubscribeStream() override { stop(); }

  Future<RowBatch> next(std::size_t most) override {
    if (finished_) return Future<RowBatch>::ready(RowBatch{});
    if (buffered_next_ < buffered_.rows) return Future<RowBatch>::ready(next_rows(most));
    if (session_->cancelled) return failed<RowBatch>(session_->stopped_error());
    session_->cancel_step = [queue = queue_, session = session_.get()] { queue->fail_with(session->stopped_error()); };
    ask_for_progress();
    return wait(most);
  }

 private:
  Future<RowBatch> wait(std::size_t most) {
    auto promise = std::make_shared<base::Promise<RowBatch>>();
    auto answer = promise->future();
    pull(most, std::move(promise));
    return answer;
  }

  // Takes responses until one has rows: a loop with one promise, however long nothing changes.
  void pull(std::size_t most, std::shared_ptr<base::Promise<RowBatch>> promise) {
    queue_->next().on_ready(
        session_->strand, [self = weak_from_this(), session = session_, most,
                           promise = std::move(promise)](Result<SubscribeResponse> response) mutable {
          const auto alive = self.lock();
          if (alive == nullptr) return promise->resolve(base::Unexpected(compute_api::cancelled()));
          auto batch = alive->take(std::move(response));
          if (batch && batch->rows == 0 && !alive->last_) return alive->pull(most, std::move(promise));
          if (!batch) return promise->resolve(base::Unexpected(batch.error()));
          alive->stop_timer();
          session->cancel_step = nullptr;
          alive->buffered_ = std::move(*batch);
          alive->buffered_next_ = 0;
          promise->resolve(alive->next_rows(most));
        });
  }

  Result<RowBatch> take(Result<SubscribeResponse> response) {
    if (!response) {
      stop();
      finished_ = true;
      return base::Unexpected(response.error());
    }
    RowBatch batch = FRESHET_TRY(convert(*response));
    if (response->upper == repr::kClosed) last_ = true;
    hold_.release();
    return batch;
  }

  RowBatch next_rows(std::size_t most) {
    const std::size_t begin = buffered_next_;
    buffered_next_ += std::min(most, buffered_.rows - begin);
    RowBatch out = slice(buffered_, begin, buffered_next_);
    if (last_ && buffered_next_ == buffered_.rows) {
      finished_ = true;
      stop();
    }
    return out;
  }

  // One response as rows; with progress, a progress row after them (and before the first).
  Result<RowBatch> convert(const SubscribeResponse& response) {
    const std::size_t rows = response.rows.size();
    const bool first_progress = plan_.progress && !std::exchange(started_, true);
    const bool progress = plan_.progress && response.upper != repr::kClosed && response.upper > progressed_;
    repr::ColumnBuilder time(repr::PhysicalType::kNumeric);
    repr::ColumnBuilder progressed(repr::PhysicalType::kBool);
    repr::ColumnBuilder diff(repr::PhysicalType::kInt64);
    auto add = [&](SqlTime at, std::optional<repr::Diff> change) {
      time.append(repr::Datum(repr::shown_time(at)), repr::TypeKind::kNumeric);
      progressed.append(repr::Datum(!change.has_value()), repr::TypeKind::kBool);
      if (change) {
        diff.append(repr::Datum(*change), repr::TypeKind::kInt8);
      } else {
        diff.append_null();
      }
    };
    if (first_progress) add(response.lower, std::nullopt);
    for (std::size_t i = 0; i < rows; ++i) add(response.times[i], response.diffs[i]);
    if (progress) add(response.upper, std::nullopt);
    progressed_ = std::max(progressed_, response.upper);
    RowBatch out{.columns = {time.finish()}, .rows = rows + (first_progress ? 1 : 0) + (progress ? 1 : 0)};
    if (plan_.progress) out.columns.push_back(progressed.finish());
    out.columns.push_back(diff.finish());
    const auto data = FRESHET_TRY(codec_->decode(response.rows));
    for (std::size_t c = 0; c < data.size(); ++c) {
      if (!first_progress && !progress) {
        out.columns.push_back(data[c]);
        continue;
      }
      repr::ColumnBuilder padded(plan_.desc.type.columns[c].type.physical());
      if (first_progress) padded.append_null();
      for (std::size_t i = 0; i < rows; ++i) padded.append_from(*data[c], i);
      if (progress) padded.append_null();
      out.columns.push_back(padded.finish());
    }
    return out;
  }

  void ask_for_progress() {
    if (!plan_.progress || timer_ != 0) return;
    timer_ = session_->services.scheduler.after(
        kProgressInterval, session_->strand, [self = weak_from_this()] {
          const auto alive = self.lock();
          if (alive == nullptr || alive->finished_ || alive->timer_ == 0) return;
          alive->timer_ = 0;
          // The session stays until the answer is there: it comes on the session's strand.
          alive->session_->services.oracle->read_timestamp().on_ready(
              alive->session_->strand, [self, session = alive->session_](Result<SqlTime> time) {
                const auto again = self.lock();
                if (again == nullptr || again->finished_ || !time) return;
                again->session_->services.compute->send(compute_api::Advance{again->sink_, *time});
                again->ask_for_progress();
              });
        });
  }

  void stop_timer() {
    if (timer_ != 0) session_->services.scheduler.cancel(std::exchange(timer_, 0));
  }
  void stop() {
    if (std::exchange(stopped_, true)) return;
    stop_timer();
    session_->cancel_step = nullptr;
    session_->services.compute->close_subscription(sink_);
    session_->services.dataflows->drop_export(sink_);
  }

  SessionPtr session_;
  sql::SubscribePlan plan_;
  GlobalId sink_;
  std::shared_ptr<SubscriptionQueue> queue_;
  Hold hold_;
  std::optional<repr::RowCodec> codec_;
  RowBatch buffered_;
  std::size_t buffered_next_ = 0;
  base::TimerId timer_ = 0;
  SqlTime progressed_ = 0;
  bool started_ = false;
  bool last_ = false;
  bool finished_ = false;
  bool stopped_ = false;
};

/// Owns the stream for the protocol; the stream itself is shared with its pending continuations.
class StreamHandle final : public RowStream {
 public:
  explicit StreamHandle(std::shared_ptr<SubscribeStream> stream) : stream_(std::move(stream)) {}
  Future<RowBatch> next(std::size_t most) override { return stream_->next(most); }

 private:
  std::shared_ptr<SubscribeStream> stream_;
};

}  // namespace

Future<Rows> SessionState::subscribe(const sql::SubscribePlan& plan) {
  const CatalogPtr catalog = services.catalog.get();
  expr::Relation relation = expr::Relation::empty({});
  if (const auto* id = std::get_if<GlobalId>(&plan.from)) {
    const sql::CatalogItem* item = catalog->item(*id);
    if (item == nullptr) return failed<Rows>(sql_error(sqlstate::kUndefinedTable, "the object was dropped"));
    relation = expr::Relation::get(*id, item->desc.type);
  } else {
    relation = std::get<expr::Relation>(plan.from);
  }
  std::optional<SqlTime> until;
  if (plan.up_to) {
    auto time = resolve_time(*plan.up_to);
    if (!time) return failed<Rows>(time.error());
    until = *time;
  }
  const auto bases = base_collections(*catalog, relation.global_ids());
  return choose_time({bases.begin(), bases.end()}, plan.as_of)
      .and_then(strand, [self = shared_from_this(), plan, relation, catalog, until,
                         bases](SqlTime as_of) -> Result<Rows> {
        Services& shared = self->services;
        if (until && *until < as_of) {
          return fail(sqlstate::kInvalidParameterValue,
                      "subscription ends (UP TO) before it starts (AS OF)");
        }
        const GlobalId object = shared.transient_id();
        const GlobalId sink = shared.transient_id();
        expr::DataflowDescription dataflow = FRESHET_TRY(
            shared.dataflows->plan_maintained("subscribe", object, relation, *catalog, as_of));
        std::vector<GlobalId> imports = dataflow.imports();
        auto held = shared.holds->acquire(imports, as_of);
        if (!held) return fail(self->not_held(held.error(), imports, as_of, plan.as_of));
        Hold hold = std::move(*held);
        dataflow.sink_exports[sink] = {.kind = expr::SinkExport::Kind::kSubscribe,
                                       .from = object,
                                       .desc = plan.desc,
                                       .with_snapshot = plan.snapshot};
        dataflow.as_of = as_of;
        dataflow.until = until.value_or(repr::kClosed);
        auto queue = shared.compute->open_subscription(sink, relation.global_ids());
        auto stream = std::make_shared<SubscribeStream>(self, plan, sink, queue, std::move(hold));
        shared.dataflows->create(std::move(dataflow));
        shared.compute->send(compute_api::Advance{sink, as_of});
        // The end must be reached even if nothing changes until then.
        if (until) self->ask_until(sink, *until);
        return Rows{.desc = plan.output_desc,
                    .stream = std::make_unique<StreamHandle>(std::move(stream)),
                    .tag = [](std::uint64_t rows) { return "SUBSCRIBE " + std::to_string(rows); }};
      });
}

// Asks for time `until` once the clock has passed it; times before it may still change.
void SessionState::ask_until(GlobalId sink, SqlTime until) {
  const SqlTime now = services.scheduler.clock().wall_micros();
  const auto delay = std::chrono::microseconds(until > now ? std::min<SqlTime>(until - now, 86'400'000'000ULL) : 0);
  // Not on the strand: the timer may outlive the session, and with it the strand.
  services.scheduler.after(delay, services.scheduler, [weak = weak_from_this(), sink, until] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    alive->strand.post([self = alive, sink, until] {
      if (self->services.scheduler.clock().wall_micros() < until) return self->ask_until(sink, until);
      self->services.compute->send(compute_api::Advance{sink, until - 1});
    });
  });
}

}  // namespace freshet::adapter
