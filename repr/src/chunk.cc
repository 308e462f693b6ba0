// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/chunk.h>

#include <algorithm>

namespace freshet::repr {

Times Times::from_values(std::span<const SqlTime> times) {
  if (times.empty()) return {};
  const bool single =
      std::all_of(times.begin(), times.end(), [&](SqlTime time) { return time == times.front(); });
  if (single) return Times(times.front());
  std::vector<SqlTime> dictionary(times.begin(), times.end());
  std::sort(dictionary.begin(), dictionary.end());
  dictionary.erase(std::unique(dictionary.begin(), dictionary.end()), dictionary.end());
  std::vector<std::uint32_t> ids(times.size());
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (dictionary[id] != times[i]) {  // neighbours mostly share their time
      const auto found = std::lower_bound(dictionary.begin(), dictionary.end(), times[i]);
      id = static_cast<std::uint32_t>(found - dictionary.begin());
    }
    ids[i] = id;
  }
  return Times(std::move(dictionary), std::move(ids));
}

Times Times::gather(std::span<const std::uint32_t> rows) const {
  if (is_single()) return *this;
  std::vector<std::uint32_t> ids(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) ids[i] = ids_[rows[i]];
  if (ids.empty()) return Times(dictionary_.front());
  const bool single =
      std::all_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return id == ids.front(); });
  if (single) return Times(dictionary_[ids.front()]);
  return Times(dictionary_, std::move(ids));
}

Chunk Chunk::gather(std::span<const std::uint32_t> wanted) const {
  Chunk out;
  out.rows = wanted.size();
  out.columns.reserve(columns.size());
  for (const ColumnPtr& column : columns) out.columns.push_back(repr::gather(*column, wanted));
  out.times = times.gather(wanted);
  if (!diffs.empty()) {
    out.diffs.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) out.diffs[i] = diffs[wanted[i]];
  }
  return out;
}

Chunk Chunk::negated() const {
  Chunk out = *this;
  if (out.diffs.empty()) {
    out.diffs.assign(rows, -1);
  } else {
    for (Diff& diff : out.diffs) diff = -diff;
  }
  return out;
}

Chunk chunk_from_rows(std::span<const DatumRow> rows, std::span<const ColumnType> types,
                      SqlTime time) {
  Chunk chunk;
  chunk.rows = rows.size();
  chunk.times = Times(time);
  for (std::size_t c = 0; c < types.size(); ++c) {
    ColumnBuilder builder(types[c].type.physical());
    builder.reserve(rows.size());
    for (const DatumRow& row : rows) {
      FRESHET_ASSERT(row.size() == types.size(), row.size(), types.size());
      builder.append(row[c], types[c].type);
    }
    chunk.columns.push_back(builder.finish());
  }
  return chunk;
}

std::vector<DatumRow> rows_from_chunk(const Chunk& chunk, std::span<const ColumnType> types) {
  FRESHET_ASSERT(chunk.columns.size() == types.size(), chunk.columns.size(), types.size());
  std::vector<DatumRow> rows(chunk.rows, DatumRow(types.size()));
  for (std::size_t c = 0; c < types.size(); ++c) {
    FRESHET_ASSERT(chunk.columns[c]->size() == chunk.rows, c, chunk.columns[c]->size(), chunk.rows);
    for (std::size_t r = 0; r < chunk.rows; ++r) {
      rows[r][c] = chunk.columns[c]->datum(r, types[c].type);
    }
  }
  return rows;
}

}  // namespace freshet::repr
