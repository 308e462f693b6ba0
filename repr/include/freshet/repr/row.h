// SPDX-License-Identifier: Apache-2.0
/// The canonical row encoding: one row as bytes, whose `memcmp` order is SQL order.
///
/// A row is all key bytes of its columns in order, then all forms in order. Equal values have equal
/// key bytes; a form says how the value looks where equal values can look different (numeric scale,
/// float -0, interval parts, char(n) blanks) and takes no bytes when it is the type's default and
/// no later column has one. NULL sorts last. Integers of every width share one encoding, so int4
/// and int8 keys join. The encoding is self-delimiting per value and versioned by `kRowFormat`;
/// order and equality rules of every type stand in docs/row-format.md.
///
///     RowCodec codec({TypeKind::kInt8, TypeKind::kText});
///     BytesVector rows;
///     codec.encode(chunk.columns, 0, chunk.rows, rows);        // appends one row each
///     std::vector<ColumnPtr> columns = codec.decode(rows);     // all, or only the wanted columns
///
/// Cost: encode 50-100 M values/s of fixed width, decode about twice that; a column that is not
/// wanted is skipped without being built. Errors: decode of bytes that this codec did not write is
/// kCorrupt, never undefined behaviour.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/repr/chunk.h>

namespace freshet::repr {

inline constexpr std::uint8_t kRowFormat = 1;

class RowCodec {
 public:
  explicit RowCodec(std::vector<SqlType> types);

  [[nodiscard]] std::span<const SqlType> types() const { return types_; }
  /// True if some column has forms, so that key bytes can be a proper prefix of the row.
  [[nodiscard]] bool has_forms() const { return has_forms_; }

  /// Appends rows [begin, end) of `columns` (one column per type, in order) to `out`.
  void encode(std::span<const ColumnPtr> columns, std::size_t begin, std::size_t end,
              BytesVector& out) const;
  /// The same for rows `selected`.
  void encode(std::span<const ColumnPtr> columns, std::span<const std::uint32_t> selected,
              BytesVector& out) const;
  [[nodiscard]] std::string encode(const DatumRow& row) const;

  /// Decodes rows into columns. `wanted` names the columns to build, in ascending order; others are
  /// skipped. The result has one column per wanted one.
  [[nodiscard]] Result<std::vector<ColumnPtr>> decode(const BytesVector& rows,
                                                      std::span<const std::size_t> wanted) const;
  [[nodiscard]] Result<std::vector<ColumnPtr>> decode(const BytesVector& rows) const;
  [[nodiscard]] Result<DatumRow> decode_row(std::string_view row) const;
  /// How many bytes of `row` are key bytes (the rest are forms).
  [[nodiscard]] std::size_t key_size(std::string_view row) const;

 private:
  std::vector<SqlType> types_;
  bool has_forms_ = false;
};

/// Decodes row after row straight out of arrangement cursors into growing columns: the same as
/// `RowCodec::decode`, without a BytesVector in between. Independent of the codec once made.
class RowDecoder {
 public:
  RowDecoder(const RowCodec& codec, std::span<const std::size_t> wanted);
  RowDecoder(RowDecoder&&) = default;
  RowDecoder& operator=(RowDecoder&&) = default;
  /// Appends one row. kCorrupt as above (the decoder is then unusable).
  Result<void> append(std::string_view row);
  /// The same for hot loops: false if the row is corrupt.
  [[nodiscard]] bool try_append(std::string_view row) {
    return append_row(row, row.data() + row.size());
  }
  /// Appends rows [begin, end), a little faster than one by one.
  Result<void> append(const BytesVector& rows, std::size_t begin, std::size_t end);
  void reserve(std::size_t rows);
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Takes the columns and starts again empty.
  std::vector<ColumnPtr> finish();

  /// What becomes of one column of the row; for the implementation only.
  struct Step {
    ColumnBuilder* builder;  // null: skipped
    void* values;            // the vector inside the builder
    const SqlType* type;
    PhysicalType physical;
    bool has_forms;
  };

 private:
  void point_at_values();
  bool append_row(std::string_view row, const char* readable);
  bool append_forms(std::string_view forms);

  std::shared_ptr<const std::vector<SqlType>> types_{};
  std::vector<ColumnBuilder> builders_{};  // never resized: steps point into it
  std::vector<Step> steps_{};
  std::size_t form_steps_ = 0;  // steps up to the last wanted column with forms
  std::size_t rows_ = 0;
};

/// Arrays as they lie in a column of bytes: key bytes, then forms, like a row of one column.
std::string encode_array(const ArrayValue& array, const SqlType& type);
Result<ArrayValue> decode_array(std::string_view bytes, const SqlType& type);

/// The key bytes of one value, as they stand in a row; for index seeks and ranges.
std::string encode_key(const Datum& datum, const SqlType& type);

/// A 64-bit hash of key bytes, the same on every machine and in every version.
std::uint64_t hash_key(std::string_view key_bytes);

}  // namespace freshet::repr
