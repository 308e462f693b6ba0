// SPDX-License-Identifier: Apache-2.0
#include "dataflow/source_operator.h"

#include <algorithm>

namespace freshet::compute {

SourceOperator::SourceOperator(timely::Setup<SqlTime>& setup, std::shared_ptr<SourceQueue> queue, SourceSpan span)
    : queue_(std::move(queue)), span_(span) {
  if (queue_ == nullptr) return;
  oks_at_ = setup.capability(0);
  errs_at_ = setup.capability(1);
  move_to(span_.as_of);
  queue_->set_activator(setup.activator());
}

void SourceOperator::step(timely::Output<SqlTime, SourceSlice>& oks,
                          timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs, timely::Context& context) {
  while (oks_at_) {
    std::optional<storage_api::ReadEvent> event = queue_->take();
    if (!event) return;
    take(std::move(*event), oks, errs);
    if (context.should_yield()) return context.activate();
  }
}

void SourceOperator::take(storage_api::ReadEvent event, timely::Output<SqlTime, SourceSlice>& oks,
                          timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs) {
  const std::size_t rows = event.updates.oks.size();
  if (rows > 0) {
    const auto updates = std::make_shared<const storage_api::EncodedUpdates>(std::move(event.updates.oks));
    for (std::size_t begin = 0; begin < rows; begin += kChunkRows) {
      oks.give(*oks_at_, SourceSlice{updates, begin, std::min(rows, begin + kChunkRows)});
    }
  }
  ErrorUpdates<SqlTime> errors;
  const storage_api::EncodedUpdates& encoded = event.updates.errs;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const SqlTime time = std::max(encoded.time(i), span_.as_of);
    if (time < span_.until) errors.push_back({std::string(encoded.rows[i]), time, encoded.diff(i)});
  }
  if (!errors.empty()) errs.give(*errs_at_, std::move(errors));
  move_to(event.upper);
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

DecodeSlices::DecodeSlices(std::vector<repr::SqlType> types, std::vector<std::size_t> wanted, SourceSpan span)
    : codec_(std::move(types)),
      wanted_(std::move(wanted)),
      arity_(codec_.types().size()),
      span_(span),
      decoder_(codec_, wanted_) {}

void DecodeSlices::step(timely::Input<SqlTime, SourceSlice>& input,
                        timely::Output<SqlTime, Rows<SqlTime>>& output) {
  input.for_each([&](const timely::Capability<SqlTime>& at, SourceSlice slice) {
    const storage_api::EncodedUpdates& updates = *slice.updates;
    TimesBuilder<SqlTime> times;
    std::size_t run = slice.begin;  // rows from here on are wanted and not decoded yet
    const auto decode = [&](std::size_t end) {
      if (run == end) return;
      const Result<void> done = decoder_.append(updates.rows, run, end);
      FRESHET_ASSERT(done.has_value());
    };
    for (std::size_t i = slice.begin; i < slice.end; ++i) {
      const SqlTime time = std::max(updates.time(i), span_.as_of);
      if (time >= span_.until) {
        decode(i);
        run = i + 1;
        continue;
      }
      times.push(time, updates.diff(i));
    }
    decode(slice.end);
    if (times.size() == 0) return;
    std::vector<repr::ColumnPtr> decoded = decoder_.finish();
    std::vector<repr::ColumnPtr> columns(arity_);
    for (std::size_t i = 0; i < wanted_.size(); ++i) columns[wanted_[i]] = std::move(decoded[i]);
    output.give(at, times.finish(std::move(columns)));
  });
}

}  // namespace freshet::compute
