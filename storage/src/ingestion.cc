// SPDX-License-Identifier: Apache-2.0
#include "ingestion.h"

#include <algorithm>

#include <freshet/repr/row.h>

namespace freshet::storage {

using base::Unit;

namespace {
constexpr std::chrono::seconds kRetryDelay{1};
/// However late we are, one commit takes no more ticks than this.
constexpr std::uint64_t kMostTicks = 1000;
}  // namespace

struct Ingestion::State : std::enable_shared_from_this<State> {
  State(base::Scheduler& s, base::Logger& l, std::shared_ptr<WriteGroup> g, IngestionConfig c,
        OnFailure f)
      : scheduler(s), log(l), group(std::move(g)), config(std::move(c)), on_failure(std::move(f)),
        strand(s), progress_codec({repr::TypeKind::kInt8}) {}

  // ---- Where we are.

  void resume() {
    const auto frontiers = group->published(config.id);
    if (!frontiers) return give_up(Error{.code = ErrorCode::kNotFound, .message = "no progress"});
    if (frontiers->durable_upper <= frontiers->since) return load(frontiers->since);
    progress_sum = 0;
    group->read(config.id, frontiers->durable_upper - 1)
        .on_ready(strand, [self = shared_from_this(), upper = frontiers->durable_upper](
                              Result<std::unique_ptr<LedgerReader>> reader) {
          if (self->stopped) return;
          if (!reader) return self->retry(reader.error(), [self] { self->resume(); });
          self->progress_reader = std::move(*reader);
          self->read_progress(upper);
        });
  }

  void read_progress(SqlTime upper) {
    progress_reader->next().on_ready(
        strand, [self = shared_from_this(), upper](Result<LedgerChunk> chunk) {
          if (self->stopped) return;
          if (!chunk) return self->retry(chunk.error(), [self] { self->resume(); });
          const auto& rows = chunk->updates.oks;
          for (std::size_t i = 0; i < rows.size(); ++i) {
            auto row = self->progress_codec.decode_row(rows.rows[i]);
            if (!row) return self->give_up(row.error());
            // The content is one row, but may come as several that cancel.
            self->progress_sum +=
                static_cast<std::uint64_t>((*row)[0].get<std::int64_t>() * rows.diff(i));
          }
          if (chunk->upper < upper) return self->read_progress(upper);
          self->progress_reader.reset();
          self->replay(self->progress_sum);
        });
  }

  void replay(std::uint64_t done) {
    generator = make_generator(config.generator);
    for (std::uint64_t tick = 1; tick < done; ++tick) generator->skip(tick);
    offset = done;
    begin_ticking();
  }

  // ---- The first load.

  void load(SqlTime start) {
    generator = make_generator(config.generator);
    builders.clear();
    for (const GlobalId id : config.outputs) builders.push_back(group->build(id, BatchTimes::kGiven));
    load_start = start;
    load_next();
  }

  void load_next() {
    auto slice = generator->next_load_slice();
    if (!slice) return finish_builder(0, {});
    slice->updates.times.assign(1, load_start);
    CollectionUpdates updates;
    updates.oks = std::move(slice->updates);
    builders[slice->output]->add(std::move(updates)).on_ready(
        strand, [self = shared_from_this()](Result<Unit> added) {
          if (self->stopped) return;
          if (!added) return self->retry(added.error(), [self] { self->load(self->load_start); });
          self->load_next();
        });
  }

  void finish_builder(std::size_t output, std::vector<WriteGroup::Write> writes) {
    if (output == builders.size()) {
      builders.clear();
      writes.push_back(progress_write(0, 1));
      commit(load_start, std::move(writes), [this] { begin_ticking(); },
             [this] { load(load_start); });
      return;
    }
    builders[output]->finish().on_ready(
        strand, [self = shared_from_this(), output,
                 writes = std::move(writes)](Result<LedgerBatchPtr> batch) mutable {
          if (self->stopped) return;
          if (!batch) return self->retry(batch.error(), [self] { self->load(self->load_start); });
          writes.push_back({.id = self->config.outputs[output], .batches = {std::move(*batch)}});
          self->finish_builder(output + 1, std::move(writes));
        });
  }

  // ---- Ticks.

  void begin_ticking() {
    if (offset == 0) offset = 1;
    log.info("ingestion running", {{"source", to_string(config.id)}, {"offset", offset}});
    if (config.generator.tick_micros == 0) return;
    began = scheduler.clock().now();
    ticks_since = 0;
    wait_for_tick();
  }

  void wait_for_tick() {
    const auto tick = std::chrono::microseconds(config.generator.tick_micros);
    const base::Instant due = began + tick * static_cast<std::int64_t>(ticks_since + 1);
    timer = scheduler.at(due, strand, [self = shared_from_this()] { self->tick(); });
  }

  void tick() {
    if (stopped) return;
    const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(
        scheduler.clock().now() - began);
    const std::uint64_t due = static_cast<std::uint64_t>(elapsed.count()) / config.generator.tick_micros;
    if (due <= ticks_since) return wait_for_tick();
    const std::uint64_t count = std::min(due - ticks_since, kMostTicks);
    std::map<std::size_t, CollectionUpdates> changes;
    for (std::uint64_t i = 0; i < count; ++i) {
      for (GeneratedSlice& slice : generator->tick(offset + i)) {
        storage_api::EncodedUpdates& oks = changes[slice.output].oks;
        for (std::size_t row = 0; row < slice.updates.size(); ++row) {
          oks.push_back(slice.updates.rows[row], 0, slice.updates.diff(row));
        }
      }
    }
    ticks_since += count;
    pending.clear();
    for (auto& [output, updates] : changes) {
      pending.push_back({.id = config.outputs[output], .updates = std::move(updates)});
    }
    pending.push_back(progress_write(offset, offset + count));
    offset += count;
    commit_ticks();
  }

  void commit_ticks() {
    const SqlTime now = scheduler.clock().wall_micros();
    const SqlTime time = std::max({now, group->logical(), config.floor});
    commit(time, pending, [this] { wait_for_tick(); }, [this] { commit_ticks(); });
  }

  // ---- Shared.

  WriteGroup::Write progress_write(std::uint64_t from, std::uint64_t to) {
    WriteGroup::Write write{.id = config.id};
    auto encode = [&](std::uint64_t n) {
      return progress_codec.encode({repr::Datum(static_cast<std::int64_t>(n))});
    };
    if (from > 0) write.updates.oks.push_back(encode(from), 0, -1);
    write.updates.oks.push_back(encode(to), 0, 1);
    return write;
  }

  // Commits; a conflict means that readers were promised more meanwhile, so `again` picks a later time.
  void commit(SqlTime time, std::vector<WriteGroup::Write> writes, base::UniqueFunction<void()> then,
              base::UniqueFunction<void()> again) {
    group->commit(time, std::move(writes))
        .on_ready(strand, [weak = weak_from_this(), then = std::move(then),
                           again = std::move(again)](Result<Unit> done) mutable {
          const std::shared_ptr<State> self = weak.lock();  // the group keeps this until it has an answer
          if (self == nullptr || self->stopped) return;
          if (done) return then();
          if (done.error().code == ErrorCode::kConflict) return again();
          self->retry(done.error(), std::move(again));
        });
  }

  void retry(const Error& error, base::UniqueFunction<void()> again) {
    switch (error.code) {
      case ErrorCode::kFenced:
      case ErrorCode::kCorrupt:
      case ErrorCode::kNotFound:
      case ErrorCode::kInvalid: return give_up(error);
      case ErrorCode::kConflict:
      case ErrorCode::kUnavailable:
      case ErrorCode::kIndeterminate:
      case ErrorCode::kCancelled:
      case ErrorCode::kExhausted: failed(error, true);
    }
    timer = scheduler.after(kRetryDelay, strand,
                            [self = shared_from_this(), again = std::move(again)]() mutable {
                              if (!self->stopped) again();
                            });
  }

  // Nothing is written any more. Nor is a new time promised: what stands now would be shown as current for ever.
  void give_up(const Error& error) {
    group->forward_demands([](SqlTime) {});
    failed(error, false);
  }

  void failed(const Error& error, bool transient) {
    log.warn("ingestion failed", {{"source", to_string(config.id)}, {"error", error.message}});
    on_failure(config.id, error, transient);
  }

  base::Scheduler& scheduler;
  base::Logger& log;
  std::shared_ptr<WriteGroup> group;
  IngestionConfig config;
  OnFailure on_failure;
  base::Strand strand;
  repr::RowCodec progress_codec;
  std::unique_ptr<Generator> generator;
  std::unique_ptr<LedgerReader> progress_reader;
  std::uint64_t progress_sum = 0;
  std::vector<std::unique_ptr<LedgerBatchBuilder>> builders;
  SqlTime load_start = 0;
  std::uint64_t offset = 0;  ///< Ticks (and the load) in the outputs, once `pending` is committed.
  std::vector<WriteGroup::Write> pending;
  base::Instant began{};
  std::uint64_t ticks_since = 0;
  base::TimerId timer = 0;
  bool stopped = false;
};

Ingestion::Ingestion(base::Scheduler& scheduler, base::Logger& log,
                     std::shared_ptr<WriteGroup> group, IngestionConfig config,
                     OnFailure on_failure)
    : state_(std::make_shared<State>(scheduler, log, std::move(group), std::move(config),
                                     std::move(on_failure))) {
  state_->strand.post([state = state_] { state->resume(); });
}

Ingestion::~Ingestion() {
  state_->strand.post([state = state_] {
    state->stopped = true;
    if (state->timer != 0) state->scheduler.cancel(state->timer);
  });
}

}  // namespace freshet::storage
