// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace freshet::storage {
namespace {

using base::Future;
using base::Promise;
using storage_api::CollectionReader;
using storage_api::ReadEvent;

/// Two things can happen: the ledger has a chunk, or the group shows a greater upper. Both are waited
/// for at once; whichever comes resolves the pending `next`.
///
/// The upper told is the ledger's progress `p`; when p has reached the durable upper `d`, nothing lies
/// between d and the published upper, which is then told instead.
class ReaderState : public std::enable_shared_from_this<ReaderState> {
 public:
  ReaderState(base::Scheduler& scheduler, std::shared_ptr<WriteGroup> group, GlobalId id,
              SqlTime as_of, SqlTime ledger_as_of, std::unique_ptr<LedgerReader> ledger)
      : scheduler_(scheduler), group_(std::move(group)), id_(id), as_of_(as_of),
        ledger_as_of_(ledger_as_of), ledger_(std::move(ledger)), sent_(as_of) {}

  Future<ReadEvent> next() {
    const std::lock_guard lock(mutex_);
    FRESHET_ASSERT(!pending_.has_value());
    if (failure_) return Future<ReadEvent>::ready(fail(*failure_));
    pending_.emplace();
    auto answer = pending_->future();
    pump();
    return answer;
  }

  /// Nobody will call `next` again: lets go of what pending callbacks would keep alive.
  void close() {
    const std::lock_guard lock(mutex_);
    failure_ = Error{.code = ErrorCode::kCancelled, .message = "the reader was closed"};
    pending_.reset();
  }

 private:
  void on_chunk(Result<LedgerChunk> chunk) {
    const std::lock_guard lock(mutex_);
    asked_ledger_ = false;
    if (!chunk) return finish_with(std::move(chunk).error());
    progress_ = std::max(progress_, chunk->upper);
    buffer_ = std::move(chunk->updates);
    // What the ledger holds at its as_of is the content at ours: nothing changed in between.
    for (storage_api::EncodedUpdates* updates : {&buffer_.oks, &buffer_.errs}) {
      for (SqlTime& time : updates->times) time = std::max(time, as_of_);
    }
    pump();
  }

  void on_published(Result<Frontiers> frontiers) {
    const std::lock_guard lock(mutex_);
    asked_group_ = false;
    if (!frontiers) return finish_with(std::move(frontiers).error());
    seen_published_ = frontiers->upper;
    pump();
  }

  // Answers `next` if there is news, else waits for what may bring some.
  void pump() {
    if (!pending_ || failure_) return;
    const SqlTime upper = current_upper();
    if (!buffer_.empty() || upper > sent_) {
      sent_ = std::max(sent_, upper);
      auto promise = std::move(*pending_);
      pending_.reset();
      promise.resolve(ReadEvent{.updates = std::exchange(buffer_, {}), .upper = sent_});
      return;
    }
    if (!std::exchange(asked_ledger_, true)) {
      ledger_->next().on_ready(scheduler_, [weak = weak_from_this()](Result<LedgerChunk> chunk) {
        if (const auto self = weak.lock()) self->on_chunk(std::move(chunk));
      });
    }
    if (!std::exchange(asked_group_, true)) {
      group_->published_past(id_, std::max(sent_, seen_published_))
          .on_ready(scheduler_, [weak = weak_from_this()](Result<Frontiers> frontiers) {
            if (const auto self = weak.lock()) self->on_published(std::move(frontiers));
          });
    }
  }

  [[nodiscard]] SqlTime current_upper() const {
    if (progress_ <= ledger_as_of_) return as_of_;  // the content is not complete yet
    const auto frontiers = group_->published(id_);
    const SqlTime past = std::max(progress_, as_of_ + 1);
    if (!frontiers || progress_ < frontiers->durable_upper) return past;
    return std::max(past, frontiers->upper);
  }

  void finish_with(Error error) {
    if (failure_) return;
    failure_ = error;
    if (!pending_) return;
    pending_->resolve(fail(std::move(error)));
    pending_.reset();
  }

  base::Scheduler& scheduler_;
  std::shared_ptr<WriteGroup> group_;
  GlobalId id_;
  SqlTime as_of_;
  SqlTime ledger_as_of_;
  std::unique_ptr<LedgerReader> ledger_;
  std::mutex mutex_;
  std::optional<Promise<ReadEvent>> pending_;
  CollectionUpdates buffer_;  ///< A chunk not yet handed out.
  std::optional<Error> failure_;
  bool asked_ledger_ = false;
  bool asked_group_ = false;
  SqlTime progress_ = 0;  ///< The ledger's.
  SqlTime seen_published_ = 0;
  SqlTime sent_;  ///< The upper of the last event.
};

class Reader final : public CollectionReader {
 public:
  explicit Reader(std::shared_ptr<ReaderState> state) : state_(std::move(state)) {}
  ~Reader() override { state_->close(); }
  Future<ReadEvent> next() override { return state_->next(); }

 private:
  std::shared_ptr<ReaderState> state_;
};

}  // namespace

Future<std::unique_ptr<CollectionReader>> open_collection_reader(base::Scheduler& scheduler,
                                                                 std::shared_ptr<WriteGroup> group,
                                                                 GlobalId id, SqlTime as_of) {
  group->demand(id, as_of);
  return group->published_past(id, as_of)
      .and_then(scheduler, [&scheduler, group, id, as_of](Frontiers frontiers) {
        const SqlTime ledger_as_of = std::min(as_of, frontiers.durable_upper - 1);
        return group->read(id, ledger_as_of)
            .and_then(scheduler, [=, &scheduler](std::unique_ptr<LedgerReader> ledger) {
              return std::unique_ptr<CollectionReader>(
                  std::make_unique<Reader>(std::make_shared<ReaderState>(
                      scheduler, group, id, as_of, ledger_as_of, std::move(ledger))));
            });
      });
}

}  // namespace freshet::storage
