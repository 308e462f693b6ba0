// SPDX-License-Identifier: Apache-2.0
#include "result_rows.h"

#include <algorithm>
#include <numeric>

#include <freshet/base/sqlstate.h>
#include <freshet/compute_api/errors.h>
#include <freshet/expr/order_encoder.h>
#include <freshet/repr/row.h>
#include <freshet/repr/slice.h>
#include <freshet/repr/sql_types.h>

namespace freshet::adapter {
namespace {

// Row numbers in the order asked for; equal keys in canonical row order.
Result<std::vector<std::uint32_t>> sorted(const CountedRows& rows,
                                          const std::vector<repr::ColumnType>& types,
                                          const std::vector<expr::ColumnOrder>& order) {
  std::vector<std::uint32_t> ids(rows.rows.size());
  std::iota(ids.begin(), ids.end(), 0u);
  if (order.empty()) {
    // Most come in this order.
    const auto by_row = [&](std::uint32_t a, std::uint32_t b) { return rows.rows[a] < rows.rows[b]; };
    if (!std::ranges::is_sorted(ids, by_row)) std::ranges::sort(ids, by_row);
    return ids;
  }
  std::vector<std::size_t> named;
  for (const expr::ColumnOrder& by : order) named.push_back(by.column);
  const Projection keyed(std::move(named));
  const repr::RowCodec codec(repr::sql_types(types));
  auto decoded = FRESHET_TRY(codec.decode(rows.rows, keyed.wanted()));
  std::vector<repr::ColumnPtr> columns(types.size());
  for (std::size_t i = 0; i < decoded.size(); ++i) columns[keyed.wanted()[i]] = std::move(decoded[i]);
  const repr::BytesVector keys = expr::OrderEncoder(types, order).encode(columns, ids.size());
  std::ranges::sort(ids, [&](std::uint32_t a, std::uint32_t b) {
    const int compared = keys[a].compare(keys[b]);
    return compared != 0 ? compared < 0 : rows.rows[a] < rows.rows[b];
  });
  return ids;
}

Result<RowBatch> project(const repr::BytesVector& rows, const std::vector<repr::ColumnType>& types,
                         const std::vector<std::size_t>& columns) {
  const Projection projection(columns);
  const repr::RowCodec codec(repr::sql_types(types));
  return projection.place(FRESHET_TRY(codec.decode(rows, projection.wanted())), rows.size());
}

// True if what is shown is what is there: in this order, each row once.
bool is_shown(const CountedRows& rows, const std::vector<std::uint32_t>& order, const sql::Limits& limits,
              std::uint64_t most_bytes) {
  if (limits.limit || limits.offset != 0) return false;
  if (rows.rows.byte_size() + order.size() * sizeof(std::uint32_t) > most_bytes) return false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i || rows.counts[i] != 1) return false;
  }
  return true;
}

class BatchStream final : public RowStream {
 public:
  explicit BatchStream(RowBatch batch) : batch_(std::move(batch)) {}

  base::Future<RowBatch> next(std::size_t most) override {
    const std::size_t left = batch_.rows - next_;
    if (next_ == 0 && left <= most) {
      next_ = batch_.rows;
      return base::Future<RowBatch>::ready(std::move(batch_));
    }
    const std::size_t begin = std::exchange(next_, next_ + std::min(most, left));
    return base::Future<RowBatch>::ready(slice(batch_, begin, next_));
  }

 private:
  RowBatch batch_;
  std::size_t next_ = 0;
};

}  // namespace

Projection::Projection(std::vector<std::size_t> shown) : wanted_(shown), places_(std::move(shown)) {
  std::ranges::sort(wanted_);
  const auto repeated = std::ranges::unique(wanted_);
  wanted_.erase(repeated.begin(), repeated.end());
  for (std::size_t& column : places_) {
    column = static_cast<std::size_t>(std::ranges::lower_bound(wanted_, column) - wanted_.begin());
  }
}

RowBatch Projection::place(const std::vector<repr::ColumnPtr>& decoded, std::size_t rows) const {
  RowBatch batch{.columns = {}, .rows = rows};
  for (const std::size_t place : places_) batch.columns.push_back(decoded[place]);
  return batch;
}

RowBatch slice(const RowBatch& batch, std::size_t begin, std::size_t end) {
  if (begin == 0 && end == batch.rows) return batch;
  RowBatch out{.columns = {}, .rows = end - begin};
  for (const repr::ColumnPtr& column : batch.columns) out.columns.push_back(repr::slice(*column, begin, end));
  return out;
}

CountedRows counted_rows(PeekResult&& result) {
  CountedRows out;
  std::size_t rows = 0;
  std::size_t bytes = 0;
  for (const compute_api::PeekResponse& part : result.parts) {
    rows += part.rows.size();
    bytes += part.rows.byte_size();
  }
  for (compute_api::PeekResponse& part : result.parts) {
    if (part.diffs.empty()) part.diffs.assign(part.rows.size(), 1);
    if (part.rows.size() == rows) {  // a small result, in one part
      out.rows = std::move(part.rows);
      out.counts = std::move(part.diffs);
      return out;
    }
    if (out.counts.empty()) {
      out.rows.reserve(rows, bytes);
      out.counts.reserve(rows);
    }
    out.rows.append_all(part.rows.bytes(), part.rows.offsets().subspan(1));
    out.counts.insert(out.counts.end(), part.diffs.begin(), part.diffs.end());
    part = {};  // frees it
  }
  return out;
}

CountedRows counted_rows(const std::vector<std::pair<repr::DatumRow, repr::Diff>>& rows,
                         const std::vector<repr::ColumnType>& types) {
  const repr::RowCodec codec(repr::sql_types(types));
  std::map<std::string, repr::Diff> sums;
  for (const auto& [row, count] : rows) sums[codec.encode(row)] += count;
  CountedRows out;
  for (const auto& [row, count] : sums) {
    if (count != 0) out.push_back(row, count);
  }
  return out;
}

Result<RowBatch> finish_rows(const CountedRows& rows, const std::vector<repr::ColumnType>& types,
                             const sql::Finishing& finishing, const sql::Limits& limits,
                             std::uint64_t most_bytes) {
  for (const repr::Diff count : rows.counts) {
    if (count < 0) return fail(sqlstate::kInternalError, "negative multiplicity in the result");
  }
  const std::vector<std::uint32_t> order = FRESHET_TRY(sorted(rows, types, finishing.order_by));
  if (is_shown(rows, order, limits, most_bytes)) return project(rows.rows, types, finishing.project);
  std::vector<std::uint32_t> shown;
  std::uint64_t skip = limits.offset;
  const std::uint64_t most = limits.limit.value_or(UINT64_MAX);
  std::uint64_t bytes_left = most_bytes;
  for (const std::uint32_t id : order) {
    auto count = static_cast<std::uint64_t>(rows.counts[id]);
    const std::uint64_t skipped = std::min(skip, count);
    skip -= skipped;
    count = std::min(count - skipped, most - shown.size());
    // A row may stand for any number of copies: they are counted before they are made.
    const std::uint64_t row_bytes = rows.rows[id].size() + sizeof id;
    if (count > bytes_left / row_bytes) {
      return fail(compute_api::result_too_large(most_bytes));
    }
    bytes_left -= count * row_bytes;
    shown.insert(shown.end(), count, id);
    if (shown.size() >= most) break;
  }
  repr::BytesVector bytes;
  for (const std::uint32_t id : shown) bytes.push_back(rows.rows[id]);
  return project(bytes, types, finishing.project);
}

std::unique_ptr<RowStream> make_stream(RowBatch batch) {
  return std::make_unique<BatchStream>(std::move(batch));
}

std::unique_ptr<RowStream> make_stream(const std::vector<repr::DatumRow>& rows,
                                       const std::vector<repr::ColumnType>& types) {
  const repr::Chunk chunk = repr::chunk_from_rows(rows, types, 0);
  return make_stream(RowBatch{.columns = chunk.columns, .rows = rows.size()});
}

}  // namespace freshet::adapter
