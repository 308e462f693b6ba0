// SPDX-License-Identifier: Apache-2.0
/// What the edges of a SQL dataflow carry: chunks of rows, and beside them error rows.
///
/// At SQL times a row's time stands in its chunk. Inside recursion the chunk's times are indices into
/// `dictionary`, so that the same kernels work on both.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <differential/bytes_instances.h>
#include <differential/update.h>
#include <freshet/repr/chunk.h>
#include <timely/message.h>

namespace freshet::compute {

using repr::Diff;
using repr::SqlTime;
using differential::LoopTime;

/// Rows that a message holds at most, roughly: kernels work in the cache, and queues stay short.
inline constexpr std::size_t kChunkRows = 4096;

template <typename T>
inline constexpr bool kIsLoop = !std::is_same_v<T, SqlTime>;

template <typename T>
struct Rows {
  repr::Chunk chunk{};
  std::vector<T> dictionary{};  ///< Only inside loops.

  [[nodiscard]] std::size_t size() const { return chunk.rows; }
  [[nodiscard]] T time(std::size_t row) const {
    if constexpr (kIsLoop<T>) {
      return dictionary[chunk.times[row]];
    } else {
      return chunk.times[row];
    }
  }
  /// Other rows with the same times.
  [[nodiscard]] Rows with(repr::Chunk other) const { return Rows{std::move(other), dictionary}; }
};

/// The rows named; columns that are null stay so.
inline repr::Chunk gather_rows(const repr::Chunk& chunk, std::span<const std::uint32_t> wanted) {
  repr::Chunk result;
  result.rows = wanted.size();
  for (const repr::ColumnPtr& column : chunk.columns) {
    result.columns.push_back(column == nullptr ? nullptr : repr::gather(*column, wanted));
  }
  result.times = chunk.times.gather(wanted);
  if (!chunk.diffs.empty()) {
    for (const std::uint32_t row : wanted) result.diffs.push_back(chunk.diffs[row]);
  }
  return result;
}

/// Encoded error rows.
template <typename T>
using ErrorUpdates = std::vector<differential::Update<std::string, T, Diff>>;

/// Collects the times and diffs of rows that become one message.
template <typename T>
class TimesBuilder {
 public:
  void push(const T& time, Diff diff) {
    if (ids_.empty() || !(dictionary_[last_] == time)) last_ = find(time);
    ids_.push_back(last_);
    diffs_.push_back(diff);
    all_one_ = all_one_ && diff == 1;
  }
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  /// Makes a message of `columns`; starts again empty.
  Rows<T> finish(std::vector<repr::ColumnPtr> columns) {
    Rows<T> result;
    result.chunk.columns = std::move(columns);
    result.chunk.rows = ids_.size();
    const bool single = dictionary_.size() <= 1;
    if constexpr (kIsLoop<T>) {
      std::vector<SqlTime> indices(dictionary_.size());
      for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
      result.chunk.times = single ? repr::Times(SqlTime{0}) : repr::Times(std::move(indices), std::move(ids_));
      result.dictionary = std::move(dictionary_);
    } else {
      result.chunk.times = single ? repr::Times(dictionary_.empty() ? SqlTime{0} : dictionary_[0])
                                  : repr::Times(std::move(dictionary_), std::move(ids_));
    }
    if (!all_one_) result.chunk.diffs = std::move(diffs_);
    *this = TimesBuilder();
    return result;
  }

 private:
  // Messages have few times; the search is short.
  std::uint32_t find(const T& time) {
    for (std::size_t i = dictionary_.size(); i > 0; --i) {
      if (dictionary_[i - 1] == time) return static_cast<std::uint32_t>(i - 1);
    }
    dictionary_.push_back(time);
    return static_cast<std::uint32_t>(dictionary_.size() - 1);
  }

  std::vector<T> dictionary_;
  std::vector<std::uint32_t> ids_;
  std::vector<Diff> diffs_;
  std::uint32_t last_ = 0;
  bool all_one_ = true;
};

}  // namespace freshet::compute
