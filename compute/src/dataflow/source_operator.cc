// SPDX-License-Identifier: Apache-2.0
#include "dataflow/source_operator.h"

#include <algorithm>

#include <freshet/expr/error_row.h>

namespace freshet::compute {

SourceOperator::SourceOperator(timely::Setup<SqlTime>& setup, std::shared_ptr<SourceQueue> queue, SourceSpan span,
                               std::vector<repr::ColumnType> types, OnFailure on_failure)
    : queue_(std::move(queue)), span_(span), types_(std::move(types)), on_failure_(std::move(on_failure)) {
  if (queue_ == nullptr) return;
  oks_at_ = setup.capability(0);
  errs_at_ = setup.capability(1);
  move_to(span_.as_of);
  queue_->set_activator(setup.activator());
}

void SourceOperator::step(timely::Output<SqlTime, SourceSlice>& oks,
                          timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs, timely::Context& context) {
  while (oks_at_ && !failed_) {
    std::optional<storage_api::ReadEvent> event = queue_->take();
    if (!event) return;
    if (!take(std::move(*event), oks, errs)) return;
    if (context.should_yield()) return context.activate();
  }
}

// False if what was stored cannot be decoded.
bool SourceOperator::take(storage_api::ReadEvent event, timely::Output<SqlTime, SourceSlice>& oks,
                          timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs) {
  const storage_api::EncodedUpdates& encoded = event.updates.errs;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const Result<expr::ErrorRow> row = expr::decode_error_row(encoded.rows[i], types_);
    if (row) continue;
    failed_ = true;
    on_failure_(row.error());
    return false;
  }
  const std::size_t rows = event.updates.oks.size();
  if (rows > 0) {
    const auto updates = std::make_shared<const storage_api::EncodedUpdates>(std::move(event.updates.oks));
    for (std::size_t begin = 0; begin < rows; begin += kChunkRows) {
      oks.give(*oks_at_, SourceSlice{updates, begin, std::min(rows, begin + kChunkRows)});
    }
  }
  ErrorUpdates<SqlTime> errors;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const SqlTime time = std::max(encoded.time(i), span_.as_of);
    if (time < span_.until) errors.push_back({std::string(encoded.rows[i]), time, encoded.diff(i)});
  }
  if (!errors.empty()) errs.give(*errs_at_, std::move(errors));
  move_to(event.upper);
  return true;
}

void SourceOperator::move_to(SqlTime upper) {
  if (upper == repr::kClosed || upper >= span_.until) {
    oks_at_.reset();
    errs_at_.reset();
    return;
  }
  // Before as_of nothing is shown, so that the whole snapshot arrives as one batch.
  upper = std::max(upper, span_.as_of);
  if (upper <= oks_at_->time()) return;
  oks_at_->downgrade(upper);
  errs_at_->downgrade(upper);
}

SliceDecoder::SliceDecoder(std::vector<repr::SqlType> types, std::vector<std::size_t> wanted, SourceSpan span)
    : codec_(std::move(types)),
      wanted_(std::move(wanted)),
      arity_(codec_.types().size()),
      span_(span),
      decoder_(codec_, wanted_) {}

Result<Rows<SqlTime>> SliceDecoder::decode(const SourceSlice& slice) {
  const storage_api::EncodedUpdates& updates = *slice.updates;
  TimesBuilder<SqlTime> times;
  std::size_t run = slice.begin;  // rows from here on are wanted and not decoded yet
  for (std::size_t i = slice.begin; i < slice.end; ++i) {
    const SqlTime time = std::max(updates.time(i), span_.as_of);
    if (time >= span_.until) {
      if (run < i) FRESHET_TRY(decoder_.append(updates.rows, run, i));
      run = i + 1;
      continue;
    }
    times.push(time, updates.diff(i));
  }
  if (run < slice.end) FRESHET_TRY(decoder_.append(updates.rows, run, slice.end));
  std::vector<repr::ColumnPtr> decoded = decoder_.finish();
  std::vector<repr::ColumnPtr> columns(arity_);
  for (std::size_t i = 0; i < wanted_.size(); ++i) columns[wanted_[i]] = std::move(decoded[i]);
  return times.finish(std::move(columns));
}

DecodeSlices::DecodeSlices(std::vector<repr::SqlType> types, std::vector<std::size_t> wanted, SourceSpan span,
                           OnFailure on_failure)
    : decoder_(std::move(types), std::move(wanted), span), on_failure_(std::move(on_failure)) {}

void DecodeSlices::step(timely::Input<SqlTime, SourceSlice>& input,
                        timely::Output<SqlTime, Rows<SqlTime>>& output) {
  input.for_each([&](const timely::Capability<SqlTime>& at, SourceSlice slice) {
    if (failed_at_) return;
    Result<Rows<SqlTime>> rows = decoder_.decode(slice);
    if (!rows) {
      failed_at_ = at.retain();
      return on_failure_(rows.error());
    }
    if (rows->size() > 0) output.give(at, std::move(*rows));
  });
}

}  // namespace freshet::compute
