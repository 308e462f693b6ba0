// SPDX-License-Identifier: Apache-2.0
/// Columnar updates: what the edges of SQL dataflows carry.
///
/// A `Column` is an immutable vector of values of one physical type with an optional validity map;
/// columns are shared, so projecting and appending columns copies nothing. A `Chunk` is a list of
/// columns of one length with a time and a diff for each row. Times are a dictionary (most chunks
/// have one time), and `diffs` is absent while every diff is +1.
///
/// Space: a fixed-width value costs its width; bytes cost 4 for the offset plus themselves;
/// validity one byte a row, only where there is a NULL. Thread safety: immutable once built; share
/// freely.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <freshet/repr/datum.h>
#include <freshet/repr/time.h>
#include <freshet/repr/types.h>

namespace freshet::repr {

/// Strings end to end: value i is bytes[offsets[i], offsets[i + 1]). At most 4 GiB.
class BytesVector {
 public:
  BytesVector() : offsets_{0} {}
  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  void push_back(std::string_view value) {
    bytes_.append(value);
    close();
  }
  /// Building in place: append to `buffer()`, then `close()` ends the value.
  std::string& buffer() { return bytes_; }
  void close() {
    FRESHET_ASSERT(bytes_.size() <= UINT32_MAX, bytes_.size());
    offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  /// Lengthens the last value; there must be one.
  void append_to_last(std::string_view more) {
    bytes_.append(more);
    offsets_.pop_back();
    close();
  }
  /// Appends many values at once: value i of `bytes` ends at ends[i].
  void append_all(std::string_view bytes, std::span<const std::uint32_t> ends);
  void reserve(std::size_t values, std::size_t bytes) {
    offsets_.reserve(values + 1);
    bytes_.reserve(bytes);
  }
  void clear() {
    bytes_.clear();
    offsets_.assign(1, 0);
  }
  [[nodiscard]] std::size_t byte_size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> offsets() const { return offsets_; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> offsets_;
};

/// The values of a column. NULL slots hold a value too (zero, empty), which means nothing.
using ColumnValues =
    std::variant<std::vector<std::uint8_t>,  // kBool
                 std::vector<std::int16_t>, std::vector<std::int32_t>, std::vector<std::int64_t>,
                 std::vector<float>, std::vector<double>, std::vector<Numeric>,
                 std::vector<Interval>, std::vector<Uuid>, BytesVector>;

class Column {
 public:
  Column(ColumnValues values, std::vector<std::uint8_t> validity = {});
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] PhysicalType physical() const { return static_cast<PhysicalType>(values_.index()); }
  /// T is the vector type: `column.values<std::vector<std::int64_t>>()`.
  template <typename Vector>
  [[nodiscard]] const Vector& values() const {
    const Vector* v = std::get_if<Vector>(&values_);
    FRESHET_ASSERT(v != nullptr, values_.index());
    return *v;
  }
  [[nodiscard]] const ColumnValues& all_values() const { return values_; }
  [[nodiscard]] bool has_nulls() const { return !validity_.empty(); }
  [[nodiscard]] bool is_null(std::size_t row) const { return has_nulls() && validity_[row] == 0; }
  /// One byte a row, 1 = has a value; empty if there is no NULL.
  [[nodiscard]] std::span<const std::uint8_t> validity() const { return validity_; }
  [[nodiscard]] Datum datum(std::size_t row, const SqlType& type) const;
  [[nodiscard]] std::size_t byte_size() const;

 private:
  ColumnValues values_;
  std::vector<std::uint8_t> validity_;
  std::size_t size_;
};

using ColumnPtr = std::shared_ptr<const Column>;

/// Collects values into a column.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(PhysicalType type);
  void append_null();
  /// The datum must be NULL or of the column's physical type.
  void append(const Datum& datum, const SqlType& type);
  /// Direct access for typed loops. What is pushed is valid; it may be mixed with `append_null`.
  template <typename Vector>
  Vector& values() {
    return std::get<Vector>(values_);
  }
  void append_from(const Column& column, std::size_t row);
  /// The vector of values, whose type `physical()` tells; it stays at its place while the builder
  /// lives.
  void* address();
  [[nodiscard]] bool last_is_null() const {
    return !validity_.empty() && validity_.back() == 0 && validity_.size() == size();
  }
  [[nodiscard]] PhysicalType physical() const { return static_cast<PhysicalType>(values_.index()); }
  [[nodiscard]] std::size_t size() const;
  void reserve(std::size_t rows);
  /// Takes the column and starts again empty.
  ColumnPtr finish();

 private:
  ColumnValues values_;
  std::vector<std::uint8_t> validity_;  // reaches to the last NULL; what lies behind is valid
};

/// The rows of `column` named by `rows`, in that order (a filter or a sort, applied).
ColumnPtr gather(const Column& column, std::span<const std::uint32_t> rows);
/// `rows` copies of one value.
ColumnPtr constant_column(const Datum& datum, const SqlType& type, std::size_t rows);

/// The times of the rows of a chunk.
class Times {
 public:
  Times() = default;
  explicit Times(SqlTime all) : dictionary_{all} {}
  Times(std::vector<SqlTime> dictionary, std::vector<std::uint32_t> ids)
      : dictionary_(std::move(dictionary)), ids_(std::move(ids)) {}
  static Times from_values(std::span<const SqlTime> times);
  [[nodiscard]] bool is_single() const { return ids_.empty(); }
  [[nodiscard]] SqlTime operator[](std::size_t row) const {
    return dictionary_[ids_.empty() ? 0 : ids_[row]];
  }
  [[nodiscard]] std::span<const SqlTime> dictionary() const { return dictionary_; }
  [[nodiscard]] std::span<const std::uint32_t> ids() const { return ids_; }
  [[nodiscard]] Times gather(std::span<const std::uint32_t> rows) const;

 private:
  std::vector<SqlTime> dictionary_;
  std::vector<std::uint32_t> ids_;  // empty: every row has dictionary_[0]
};

/// Rows with times and diffs. Copying shares the columns.
struct Chunk {
  std::vector<ColumnPtr> columns{};
  std::size_t rows = 0;  ///< Also right when there are no columns.
  Times times{};
  std::vector<Diff> diffs{};  ///< Empty: every diff is +1.

  [[nodiscard]] Diff diff(std::size_t row) const { return diffs.empty() ? 1 : diffs[row]; }
  /// The named rows only.
  [[nodiscard]] Chunk gather(std::span<const std::uint32_t> wanted) const;
  [[nodiscard]] Chunk negated() const;
};

/// Rows of datums as a chunk at one time with diff +1; for tests, constants and edges.
Chunk chunk_from_rows(std::span<const DatumRow> rows, std::span<const ColumnType> types,
                      SqlTime time);
std::vector<DatumRow> rows_from_chunk(const Chunk& chunk, std::span<const ColumnType> types);

}  // namespace freshet::repr
