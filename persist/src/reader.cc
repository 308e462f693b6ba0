// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/assert.h>

#include "group.h"
#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

using Chunk = std::shared_ptr<const Updates>;

/// Steps from one upper to the next; each step reads a plan of batches to its end.
class ReaderState {
 public:
  ReaderState(std::shared_ptr<Machine> machine, ReadOptions options, Hold hold)
      : machine_(std::move(machine)),
        options_(std::move(options)),
        io_(machine_->new_io()),
        hold_(std::move(hold)),
        upper_(options_.snapshot ? options_.as_of : options_.as_of + 1) {}

  base::TaskQueue& queue() { return io_->queue(); }

  static Future<ReadChunk> next(std::shared_ptr<ReaderState> self) {
    FRESHET_ASSERT(!self->finished());
    while (!self->stepping_) {
      Future<Time> waiting = self->machine_->upper_past(self->options_.shard, self->awaited());
      Result<Time> upper = co_await std::move(waiting);
      FRESHET_CO_CHECK(upper);
      Result<void> begun = self->begin_step();
      FRESHET_CO_CHECK(begun);
    }
    Future<Chunk> reading = self->merger_ != nullptr ? next_merged(self) : next_stored(self);
    Result<Chunk> chunk = co_await std::move(reading);
    FRESHET_CO_CHECK(chunk);
    if (*chunk == nullptr) {
      self->end_step();
      chunk = std::make_shared<const Updates>();
    } else if (self->exhausted()) {
      self->end_step();  // the last chunk says itself that the step is complete
    }
    co_return ReadChunk{std::move(chunk).value(), self->upper_, self->finished()};
  }

 private:
  [[nodiscard]] bool in_snapshot() const { return upper_ <= options_.as_of; }
  [[nodiscard]] bool finished() const { return upper_ >= options_.until || upper_ == kClosed; }
  [[nodiscard]] Time awaited() const { return in_snapshot() ? options_.as_of : upper_; }

  Result<void> begin_step() {
    ShardPlan plan = FRESHET_TRY(machine_->plan(options_.shard));
    ReadWindow window{.filter = options_.filter};
    if (in_snapshot()) {
      step_upper_ = options_.as_of + 1;
      window.advance_to = options_.as_of;
    } else {
      step_upper_ = std::min(plan.upper, options_.until);
      window.from = upper_;
    }
    window.to = step_upper_;
    std::erase_if(plan.batches, [&](const BatchEntry& batch) {
      return batch->lower >= window.to || batch->upper <= window.from;
    });
    runs_ = open_runs(options_.shard, plan.batches, window);
    next_run_ = 0;
    merger_ = options_.order == ReadOrder::kConsolidated
                  ? std::make_shared<Merger>(std::exchange(runs_, {}))
                  : nullptr;
    pin_ = std::move(plan.pin);
    stepping_ = true;
    return {};
  }

  [[nodiscard]] bool exhausted() const {
    return merger_ != nullptr ? merger_->exhausted() : next_run_ == runs_.size();
  }

  void end_step() {
    stepping_ = false;
    upper_ = step_upper_;
    hold_.downgrade(upper_ - 1);
    runs_.clear();
    merger_ = nullptr;
    pin_ = nullptr;
  }

  static Future<Chunk> next_merged(std::shared_ptr<ReaderState> self) {
    Future<Updates> merging = Merger::next(self->io_, self->merger_, self->options_.chunk_bytes);
    Result<Updates> updates = co_await std::move(merging);
    FRESHET_CO_CHECK(updates);
    if (updates->empty()) co_return Chunk();
    co_return Chunk(std::make_shared<const Updates>(std::move(updates).value()));
  }

  static Future<Chunk> next_stored(std::shared_ptr<ReaderState> self) {
    Chunk first;
    std::shared_ptr<Updates> gathered;
    while (self->next_run_ < self->runs_.size()) {
      Future<Chunk> reading = RunReader::next(self->io_, self->runs_[self->next_run_]);
      Result<Chunk> chunk = co_await std::move(reading);
      FRESHET_CO_CHECK(chunk);
      if (*chunk == nullptr) {
        ++self->next_run_;
        continue;
      }
      if (self->runs_[self->next_run_]->exhausted()) ++self->next_run_;
      const std::size_t bytes = (*chunk)->byte_size();
      if (first == nullptr) {
        first = std::move(chunk).value();
        if (bytes * 2 >= self->options_.chunk_bytes) break;
        continue;
      }
      if (gathered == nullptr) gathered = std::make_shared<Updates>(*first);
      gathered->append(**chunk);
      if (gathered->byte_size() * 2 >= self->options_.chunk_bytes) break;
    }
    co_return gathered != nullptr ? Chunk(gathered) : first;
  }

  std::shared_ptr<Machine> machine_;
  ReadOptions options_;
  IoRef io_;
  Hold hold_;
  Time upper_;
  // The step under way.
  bool stepping_ = false;
  Time step_upper_ = 0;
  std::shared_ptr<void> pin_;
  std::vector<std::shared_ptr<RunReader>> runs_;
  std::size_t next_run_ = 0;
  std::shared_ptr<Merger> merger_;
};

class ReaderHandle final : public Reader {
 public:
  explicit ReaderHandle(std::shared_ptr<ReaderState> state) : state_(std::move(state)) {}
  Future<ReadChunk> next() override { return ReaderState::next(state_); }

 private:
  std::shared_ptr<ReaderState> state_;
};

}  // namespace

std::unique_ptr<Reader> make_reader(std::shared_ptr<Machine> machine, ReadOptions options,
                                    Hold hold) {
  return std::make_unique<ReaderHandle>(
      std::make_shared<ReaderState>(std::move(machine), std::move(options), std::move(hold)));
}

}  // namespace freshet::persist
