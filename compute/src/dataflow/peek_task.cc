// SPDX-License-Identifier: Apache-2.0
#include "dataflow/peek_task.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/compute_api/errors.h>

namespace freshet::compute {
namespace {

constexpr std::size_t kPartBytes = std::size_t{4} << 20;

}  // namespace

PeekTask::PeekTask(compute_api::Peek peek, Source source, std::uint64_t max_bytes, Respond respond)
    : peek_(std::move(peek)),
      source_(std::move(source)),
      max_bytes_(max_bytes),
      respond_(std::move(respond)),
      mfp_(peek_.mfp, source_.types, repr::kClosed),
      output_types_(peek_.mfp.output_types(source_.types)),
      output_codec_(sql_types(output_types_)),
      order_(output_types_, peek_.limit ? peek_.order : std::vector<expr::ColumnOrder>{}),
      decoder_(source_.layout, mfp_.demand()) {
  part_.id = peek_.id;
}

bool PeekTask::run(const base::Clock& clock, std::chrono::nanoseconds slice) {
  if (cancelled_.load(std::memory_order_relaxed)) {
    return answer(compute_api::cancelled());
  }
  if (!started_) {
    started_ = true;
    if (!source_.oks.readable_at(peek_.time) || !source_.errs.readable_at(peek_.time)) {
      return answer(Error{.code = ErrorCode::kInvalid, .message = "the time is not readable any more"});
    }
    if (std::optional<Error> error = find_error()) return answer(std::move(error));
    cursor_ = source_.oks.at(peek_.time);
  }
  const base::Instant end = clock.now() + slice;
  while (true) {
    std::size_t count = 0;
    for (; count < kChunkRows && at_wanted(); ++count, cursor_->step()) {
      if (cursor_->diff() < 0) return answer(expr::negative_multiplicity());
      if (!decoder_.try_append(cursor_->key(), cursor_->val())) {
        return answer(Error{.code = ErrorCode::kCorrupt, .sqlstate = sqlstate::kDataCorrupted,
                            .message = "row bytes do not fit their types"});
      }
      times_.push(peek_.time, cursor_->diff());
    }
    if (count > 0) {
      if (Result<void> done = flush(); !done) return answer(done.error());
    }
    if (count < kChunkRows) {
      finish_ordered();
      return answer(std::nullopt);
    }
    if (clock.now() >= end) return false;
  }
}

bool PeekTask::at_wanted() {
  if (!source_.seek) return cursor_->valid();
  const std::vector<std::string>& wanted = *source_.seek;
  while (next_seek_ < wanted.size()) {
    cursor_->seek_key(wanted[next_seek_]);
    if (!cursor_->valid()) return false;
    if (cursor_->key() == wanted[next_seek_]) return true;
    ++next_seek_;
  }
  return false;
}

std::optional<Error> PeekTask::find_error() const {
  std::optional<Error> least;
  std::optional<Cursor> cursor = source_.errs.at(peek_.time);
  if (!source_.seek) {
    for (; cursor->valid(); cursor->step()) read_errors(*cursor, cursor->key(), least);
    return least;
  }
  const auto scan = [&](const std::string& key) {
    cursor->seek_key(key);
    for (; cursor->valid() && cursor->key() == key; cursor->step()) read_errors(*cursor, key, least);
  };
  scan(std::string(1, kUnknownKey));
  for (const std::string& key : *source_.seek) scan(kKnownKey + key);
  return least;
}

void PeekTask::read_errors(Cursor& cursor, std::string_view, std::optional<Error>& least) const {
  const Result<expr::ErrorRow> row = expr::decode_error_row(cursor.val(), source_.types);
  if (!row) {
    if (!least || expr::error_less(row.error(), *least)) least = row.error();
    return;
  }
  const std::optional<expr::ErrorRow> after = expr::apply_mfp(peek_.mfp, *row, source_.types);
  if (after && (!least || expr::error_less(after->error, *least))) least = after->error;
}

Result<void> PeekTask::flush() {
  ErrorUpdates<SqlTime> errors;
  const Rows<SqlTime> result = mfp_.apply(times_.finish(decoder_.finish()), errors);
  std::optional<Error> least;
  for (const auto& update : errors) {
    const expr::ErrorRow row = expr::decode_error_row(update.data, output_types_).value();
    if (!least || expr::error_less(row.error, *least)) least = row.error;
  }
  if (least) return base::Unexpected(std::move(*least));
  if (result.size() == 0) return {};
  if (peek_.limit) {
    take_candidates(result.chunk);
  } else {
    take(result.chunk);
  }
  if (bytes_ > max_bytes_) {
    return base::Unexpected(compute_api::result_too_large(max_bytes_));
  }
  return {};
}

void PeekTask::take(const repr::Chunk& chunk) {
  const std::size_t before = part_.rows.byte_size();
  output_codec_.encode(chunk.columns, 0, chunk.rows, part_.rows);
  if (chunk.diffs.empty()) {
    part_.diffs.resize(part_.rows.size(), 1);
  } else {
    part_.diffs.insert(part_.diffs.end(), chunk.diffs.begin(), chunk.diffs.end());
  }
  bytes_ += part_.rows.byte_size() - before;
  if (part_.rows.byte_size() >= kPartBytes) send_part();
}

void PeekTask::take_candidates(const repr::Chunk& chunk) {
  repr::BytesVector rows;
  output_codec_.encode(chunk.columns, 0, chunk.rows, rows);
  repr::BytesVector order;
  if (!order_.empty()) order = order_.encode(chunk.columns, chunk.rows);
  bytes_ += rows.byte_size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    candidates_.push_back({order_.empty() ? std::string() : std::string(order[i]), std::string(rows[i]), chunk.diff(i)});
  }
  if (candidates_.size() / 2 > kChunkRows && candidates_.size() / 2 > *peek_.limit) prune();
}

// Keeps the first rows only: in the order asked for, equal ones in the order of their bytes.
void PeekTask::prune() {
  std::ranges::sort(candidates_, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.order, a.row) < std::tie(b.order, b.row);
  });
  std::uint64_t rows = 0;
  std::size_t keep = 0;
  while (keep < candidates_.size() && rows < *peek_.limit) {
    rows += static_cast<std::uint64_t>(candidates_[keep++].count);
  }
  candidates_.resize(keep);
  bytes_ = 0;
  for (const Candidate& candidate : candidates_) bytes_ += candidate.row.size();
}

void PeekTask::finish_ordered() {
  if (!peek_.limit) return;
  prune();
  for (const Candidate& candidate : candidates_) {
    part_.rows.push_back(candidate.row);
    part_.diffs.push_back(candidate.count);
  }
}

void PeekTask::send_part() {
  part_.last = false;
  respond_(std::exchange(part_, compute_api::PeekResponse{.id = peek_.id}));
}

bool PeekTask::answer(std::optional<Error> error) {
  if (error) part_ = compute_api::PeekResponse{.id = peek_.id, .error = std::move(error)};
  part_.last = true;
  respond_(std::move(part_));
  cursor_.reset();
  source_.holds.reset();
  return true;
}

}  // namespace freshet::compute
