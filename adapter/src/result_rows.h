// SPDX-License-Identifier: Apache-2.0
/// From encoded rows with multiplicities to the rows that a client sees: order, limit, projection.
#pragma once

#include <freshet/adapter/session.h>

#include "compute_client.h"

namespace freshet::adapter {

/// Encoded rows with counts; the common currency of reads.
struct CountedRows {
  repr::BytesVector rows{};
  std::vector<repr::Diff> counts{};  ///< One a row.
  void push_back(std::string_view row, repr::Diff count) {
    rows.push_back(row);
    counts.push_back(count);
  }
};
CountedRows counted_rows(PeekResult&& result);
CountedRows counted_rows(const std::vector<std::pair<repr::DatumRow, repr::Diff>>& rows,
                         const std::vector<repr::ColumnType>& types);

/// The columns that are shown, in their order and as often as they are named, of which each is decoded once.
class Projection {
 public:
  explicit Projection(std::vector<std::size_t> shown);
  /// What a RowCodec shall decode: ascending, each once.
  [[nodiscard]] const std::vector<std::size_t>& wanted() const { return wanted_; }
  /// `decoded` has the wanted columns.
  [[nodiscard]] RowBatch place(const std::vector<repr::ColumnPtr>& decoded, std::size_t rows) const;

 private:
  std::vector<std::size_t> wanted_;
  std::vector<std::size_t> places_;  // of each shown one in `wanted_`
};

/// Rows [begin, end): the columns themselves if that is all of them.
RowBatch slice(const RowBatch& batch, std::size_t begin, std::size_t end);

/// Applies a finishing; ties in canonical row order. XX000 if a count is negative, 54000 if the rows, copies
/// included, would take more than `most_bytes`.
Result<RowBatch> finish_rows(const CountedRows& rows, const std::vector<repr::ColumnType>& types,
                             const sql::Finishing& finishing, const sql::Limits& limits,
                             std::uint64_t most_bytes);

/// A stream over rows at hand; slices share nothing but are built as they are pulled.
std::unique_ptr<RowStream> make_stream(RowBatch batch);
/// Rows of datums at hand, for SHOW and EXPLAIN.
std::unique_ptr<RowStream> make_stream(const std::vector<repr::DatumRow>& rows,
                                       const std::vector<repr::ColumnType>& types);

}  // namespace freshet::adapter
