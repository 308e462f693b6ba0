// SPDX-License-Identifier: Apache-2.0
/// Rows on their way into an arrangement and out of one.
#pragma once

#include <memory>

#include <differential/bytes_instances.h>
#include <timely/operator.h>

#include "dataflow/mfp_operator.h"
#include "dataflow/row_layout.h"

namespace freshet::compute {

/// Copies encoded rows into what an arrangement takes.
template <typename T>
differential::RowUpdates<T> to_updates(const repr::BytesVector& keys, const repr::BytesVector& values,
                                       const Rows<T>& rows, std::span<const std::uint32_t> selected) {
  differential::RowUpdates<T> result;
  const std::size_t count = keys.size();
  result.keys.reserve(count);
  result.keys.reserve_bytes(keys.byte_size());
  result.vals.reserve(count);
  result.vals.reserve_bytes(values.byte_size());
  result.diffs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = selected.empty() ? i : selected[i];
    result.keys.push(keys[i]);
    result.vals.push(values[i]);
    result.times.push(rows.time(row));
    result.diffs.push_back(rows.chunk.diff(row));
  }
  return result;
}

/// Rows to the keys and values of an arrangement; rows whose key fails become errors.
template <typename T>
class ArrangeRows {
 public:
  explicit ArrangeRows(std::shared_ptr<const Arranger> arranger) : arranger_(std::move(arranger)) {}
  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, differential::RowUpdates<T>>& output,
            timely::Output<T, ErrorUpdates<T>>& errs) {
    input.for_each([&](const timely::Capability<T>& at, Rows<T> rows) {
      const Arranger::Encoded encoded = arranger_->encode(rows.chunk);
      if (encoded.keys.size() > 0) {
        output.give(at, to_updates(encoded.keys, encoded.values, rows, encoded.rows));
      }
      ErrorUpdates<T> errors;
      for (const expr::RowErrors::Entry& entry : encoded.errors.entries) {
        const expr::ErrorRow row =
            expr::ErrorRow::of(datum_row(rows.chunk, entry.row, arranger_->types()), entry.error);
        errors.push_back({expr::encode_error_row(row, arranger_->types()), rows.time(entry.row),
                          rows.chunk.diff(entry.row)});
      }
      if (!errors.empty()) errs.give(at, std::move(errors));
    });
  }

 private:
  std::shared_ptr<const Arranger> arranger_;
};

/// Rows out of an arrangement, through an mfp, in messages of about `kChunkRows`.
template <typename T>
class RowsBuilder {
 public:
  RowsBuilder(const expr::ArrangementLayout& layout, MfpStepPtr mfp)
      : mfp_(std::move(mfp)), decoder_(layout, mfp_->is_identity() ? all(layout) : mfp_->demand()) {}

  void push(std::string_view key, std::string_view value, const T& time, Diff diff) {
    decoder_.append(key, value);
    times_.push(time, diff);
  }
  [[nodiscard]] bool full() const { return times_.size() >= kChunkRows; }
  [[nodiscard]] bool empty() const { return times_.size() == 0; }
  template <typename Oks, typename Errs, typename Capability>
  void flush(const Capability& at, Oks& oks, Errs&& errs) {
    if (empty()) return;
    ErrorUpdates<T> errors;
    Rows<T> rows = mfp_->apply(times_.finish(decoder_.finish()), errors);
    if (rows.size() > 0) oks.give(at, std::move(rows));
    if (!errors.empty()) errs.give(at, std::move(errors));
  }

 private:
  static std::vector<std::size_t> all(const expr::ArrangementLayout& layout) {
    std::vector<std::size_t> columns(layout.columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = i;
    return columns;
  }
  MfpStepPtr mfp_;
  ArrangedDecoder decoder_;
  TimesBuilder<T> times_;
};

}  // namespace freshet::compute
