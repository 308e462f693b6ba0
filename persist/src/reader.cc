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
    return on(self)
        .and_then(begun)
        .and_then([](const auto& state) {
          return state->merger_ != nullptr ? next_merged(state) : next_stored(state);
        })
        .and_then([](const auto& state, Chunk chunk) { return state->give(std::move(chunk)); });
  }

 private:
  [[nodiscard]] bool in_snapshot() const { return upper_ <= options_.as_of; }
  [[nodiscard]] bool finished() const { return upper_ >= options_.until || upper_ == kClosed; }
  [[nodiscard]] Time awaited() const { return in_snapshot() ? options_.as_of : upper_; }

  // Waits until there is a step to take, unless one is under way.
  static Future<Unit> begun(std::shared_ptr<ReaderState> self) {
    FRESHET_ASSERT(!self->finished());
    if (self->stepping_) return done();
    return on(self, self->machine_->upper_past(self->options_.shard, self->awaited()))
        .and_then([](const auto& state, Time) { return state->begin_step(); });
  }

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

  // Null: the step is complete; else the last chunk says so itself.
  ReadChunk give(Chunk chunk) {
    if (chunk == nullptr || exhausted()) end_step();
    if (chunk == nullptr) chunk = std::make_shared<const Updates>();
    return {std::move(chunk), upper_, finished()};
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
    return on(self, Merger::next(self->io_, self->merger_, self->options_.chunk_bytes))
        .and_then([](const auto&, Updates updates) -> Chunk {
          if (updates.empty()) return nullptr;
          return std::make_shared<const Updates>(std::move(updates));
        });
  }

  class Gathering;
  static Future<Chunk> next_stored(std::shared_ptr<ReaderState> self);

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

/// Block after block of the runs: a large one alone, small ones together.
class ReaderState::Gathering final : public Flow<Gathering, Chunk> {
 public:
  explicit Gathering(std::shared_ptr<ReaderState> reader) : reader_(std::move(reader)) {}
  base::TaskQueue& queue() { return reader_->queue(); }

  void begin() {
    if (reader_->next_run_ == reader_->runs_.size()) return give();
    await(RunReader::next(reader_->io_, run()), &Gathering::take);
  }

 private:
  const std::shared_ptr<RunReader>& run() { return reader_->runs_[reader_->next_run_]; }

  void take(Chunk chunk) {
    if (chunk == nullptr || run()->exhausted()) ++reader_->next_run_;
    if (chunk != nullptr && is_enough(std::move(chunk))) return give();
    begin();
  }

  bool is_enough(Chunk chunk) {
    const auto enough = [&](const Updates& updates) {
      return updates.byte_size() * 2 >= reader_->options_.chunk_bytes;
    };
    if (first_ == nullptr) {
      first_ = std::move(chunk);
      return enough(*first_);
    }
    if (gathered_ == nullptr) gathered_ = std::make_shared<Updates>(*first_);
    gathered_->append(*chunk);
    return enough(*gathered_);
  }

  void give() { finish(gathered_ != nullptr ? Chunk(std::move(gathered_)) : std::move(first_)); }

  std::shared_ptr<ReaderState> reader_;
  Chunk first_;
  std::shared_ptr<Updates> gathered_;
};

Future<Chunk> ReaderState::next_stored(std::shared_ptr<ReaderState> self) {
  return Gathering::start(std::move(self));
}

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
