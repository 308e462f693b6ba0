// SPDX-License-Identifier: Apache-2.0
#include "dataflow/index_lookup.h"

#include <algorithm>

#include "dataflow/mfp_operator.h"

namespace freshet::compute {
namespace {

/// More rows of one key are read in slices, as a peek.
constexpr std::size_t kMostRows = 256;

class IndexLookup final : public compute_api::Lookup {
 public:
  IndexLookup(const std::shared_ptr<PublishedIndex>& index, const expr::Mfp& mfp)
      : index_(index),
        mfp_(mfp, index->traces->arranger->types(), repr::kClosed),
        codec_(sql_types(mfp.output_types(index->traces->arranger->types()))),
        decoder_(index->traces->arranger->layout(), mfp_.demand()) {}

  std::optional<compute_api::PeekResponse> find(const repr::DatumRow& key, SqlTime least, SqlTime most) override {
    const std::shared_ptr<PublishedIndex> index = index_.lock();
    if (index == nullptr || index->failed.load(std::memory_order_relaxed)) return std::nullopt;
    const SqlTime upper = index->upper.load(std::memory_order_acquire);
    if (upper == 0) return std::nullopt;
    const SqlTime time = std::min(most, upper - 1);
    if (time < least || has_errors(*index)) return std::nullopt;
    const std::string bytes = index->traces->arranger->keys().encode(key);
    const auto part = index->traces->oks.snapshot_of(index->traces->oks.worker_of(bytes));
    // A worker that had nothing to do may not have noticed that time passed; `upper` is what all have passed.
    if (!part.since().covers(time)) return std::nullopt;
    Cursor cursor(part.batches(), time);
    std::size_t count = 0;
    for (cursor.seek_key(bytes); cursor.valid() && cursor.key() == bytes; cursor.step()) {
      if (++count > kMostRows || cursor.diff() < 0) {
        decoder_.finish();
        times_ = {};
        return std::nullopt;
      }
      decoder_.append(cursor.key(), cursor.val());
      times_.push(time, cursor.diff());
    }
    compute_api::PeekResponse response;
    if (count == 0) return response;
    ErrorUpdates<SqlTime> errors;
    const Rows<SqlTime> rows = mfp_.apply(times_.finish(decoder_.finish()), errors);
    if (!errors.empty()) return std::nullopt;
    codec_.encode(rows.chunk.columns, 0, rows.size(), response.rows);
    response.diffs.assign(rows.chunk.diffs.begin(), rows.chunk.diffs.end());
    return response;
  }

 private:
  using Cursor = differential::AsOfCursor<std::string, std::string, SqlTime, Diff>;

  // With any error in the index, whose scope it is in is for a peek to find out.
  static bool has_errors(const PublishedIndex& index) {
    const auto errors = index.traces->errs.snapshot();
    return std::ranges::any_of(errors.batches(), [](const auto& batch) { return batch->updates() > 0; });
  }

  std::weak_ptr<PublishedIndex> index_;
  MfpStep mfp_;
  repr::RowCodec codec_;
  ArrangedDecoder decoder_;
  TimesBuilder<SqlTime> times_;
};

}  // namespace

std::unique_ptr<compute_api::Lookup> make_index_lookup(const std::shared_ptr<PublishedIndex>& index,
                                                       const expr::Mfp& mfp) {
  if (index == nullptr) return nullptr;
  return std::make_unique<IndexLookup>(index, mfp);
}

}  // namespace freshet::compute
