// SPDX-License-Identifier: Apache-2.0
#include "dataflow/collection_peek.h"

#include <algorithm>

#include "read_failure.h"

namespace freshet::compute {

namespace {

const ColumnTypes& types_of(const compute_api::Peek& peek) {
  return std::get<compute_api::Peek::Collection>(peek.target).desc.type.columns;
}

}  // namespace

CollectionPeek::CollectionPeek(base::Scheduler& scheduler, const compute_api::Peek& peek, Done done)
    : strand_(scheduler),
      time_(peek.time),
      types_(types_of(peek)),
      mfp_(peek.mfp, types_, peek.time + 1),
      output_types_(peek.mfp.output_types(types_)),
      output_codec_(sql_types(output_types_)),
      decoder_(sql_types(types_), mfp_.demand(), {.as_of = peek.time, .until = peek.time + 1}),
      done_(std::move(done)) {}

void CollectionPeek::read(std::unique_ptr<storage_api::CollectionReader> reader) {
  reader_ = std::move(reader);
  read_next();
}

void CollectionPeek::read_next() {
  reader_->next().on_ready(strand_, [weak = weak_from_this()](Result<storage_api::ReadEvent> event) {
    const std::shared_ptr<CollectionPeek> self = weak.lock();
    if (self == nullptr) return;
    if (!event) return self->done_(fail(read_failure(event.error())));
    const SqlTime upper = event->upper;
    if (const Result<void> taken = self->take(std::move(event->updates)); !taken) return self->done_(fail(taken.error()));
    if (upper <= self->time_) return self->read_next();
    self->done_(self->finish());
  });
}

Result<void> CollectionPeek::take(storage_api::CollectionUpdates updates) {
  const auto oks = std::make_shared<const storage_api::EncodedUpdates>(std::move(updates.oks));
  for (std::size_t begin = 0; begin < oks->size(); begin += kChunkRows) {
    take_rows(FRESHET_TRY(decoder_.decode({oks, begin, std::min(oks->size(), begin + kChunkRows)})));
  }
  for (std::size_t i = 0; i < updates.errs.size(); ++i) {
    if (updates.errs.time(i) > time_) continue;
    const expr::ErrorRow row = FRESHET_TRY(expr::decode_error_row(updates.errs.rows[i], types_));
    const std::optional<expr::ErrorRow> after = expr::apply_mfp(mfp_.mfp(), row, types_);
    if (after) add_error(expr::encode_error_row(*after, output_types_), updates.errs.diff(i));
  }
  return {};
}

void CollectionPeek::take_rows(const Rows<SqlTime>& rows) {
  if (rows.size() == 0) return;
  ErrorUpdates<SqlTime> errors;
  const Rows<SqlTime> kept = mfp_.apply(rows, errors);
  for (auto& error : errors) add_error(std::move(error.data), error.diff);
  if (kept.size() == 0) return;
  repr::BytesVector encoded;
  output_codec_.encode(kept.chunk.columns, 0, kept.size(), encoded);
  differential::RowUpdates<SqlTime> updates;
  for (std::size_t i = 0; i < encoded.size(); ++i) updates.push({}, encoded[i], time_, kept.chunk.diff(i));
  oks_.push(std::move(updates));
}

void CollectionPeek::add_error(std::string bytes, Diff diff) {
  differential::RowUpdates<SqlTime> update;
  update.push({}, bytes, time_, diff);
  errs_.push(std::move(update));
}

// As an arrangement without a key.
PeekTask::Source CollectionPeek::finish() {
  using Frontier = timely::Antichain<SqlTime>;
  const Frontier upper{time_ + 1};
  const auto snapshot = [&](Batcher& batcher) {
    PeekTask::Snapshot::Batches batches;
    batches.push_back(std::make_shared<differential::RowBatch<SqlTime>>(Frontier{0}, upper, Frontier{0},
                                                                        batcher.seal(upper)));
    return PeekTask::Snapshot(Frontier{0}, upper, std::move(batches));
  };
  return {.layout = expr::arrangement_layout(output_types_, {}),
          .types = output_types_,
          .oks = snapshot(oks_),
          .errs = snapshot(errs_)};
}

}  // namespace freshet::compute
