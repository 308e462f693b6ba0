// SPDX-License-Identifier: Apache-2.0
/// Between chunks and the bytes of an arrangement: key bytes and a value row, laid out by
/// `expr::ArrangementLayout`.
///
/// Cost: `Arranger` evaluates each key expression once a chunk and encodes column by column; `ArrangedDecoder`
/// decodes only the columns that are wanted.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <freshet/expr/eval.h>
#include <freshet/expr/lir.h>
#include <freshet/repr/row.h>
#include <freshet/repr/sql_types.h>

#include "dataflow/error_flow.h"

namespace freshet::compute {

using repr::sql_types;

/// Key bytes (without forms) of columns.
class KeyEncoder {
 public:
  explicit KeyEncoder(std::span<const repr::ColumnType> types) : codec_(sql_types(types)) {}
  void encode(std::span<const repr::ColumnPtr> columns, std::size_t rows, repr::BytesVector& out) const;
  [[nodiscard]] std::string encode(const repr::DatumRow& key) const;
  /// Of a whole row of these types.
  [[nodiscard]] std::string_view of_row(std::string_view row) const {
    return codec_.has_forms() ? row.substr(0, codec_.key_size(row)) : row;
  }

 private:
  repr::RowCodec codec_;
};

class Arranger {
 public:
  Arranger(ColumnTypes types, expr::ArrangementKey key);
  [[nodiscard]] const expr::ArrangementLayout& layout() const { return layout_; }
  [[nodiscard]] const ColumnTypes& types() const { return types_; }

  /// Bytes of the rows whose key did not fail.
  struct Encoded {
    repr::BytesVector keys{};
    repr::BytesVector values{};
    std::vector<std::uint32_t> rows{};  ///< Which row of the chunk each came from; empty: all in order.
    expr::RowErrors errors{};
    std::vector<std::uint8_t> has_null_key{};  ///< One a row if asked for and there is any NULL.
  };
  [[nodiscard]] Encoded encode(const repr::Chunk& chunk, bool find_null_keys = false) const;
  /// Only the keys, for looking them up.
  [[nodiscard]] const KeyEncoder& keys() const { return key_encoder_; }

 private:
  ColumnTypes types_;
  expr::ArrangementLayout layout_;
  KeyEncoder key_encoder_;
  repr::RowCodec value_codec_;
};

/// Appends rows out of an arrangement to columns of the collection.
class ArrangedDecoder {
 public:
  /// `wanted`: columns of the collection, ascending.
  ArrangedDecoder(const expr::ArrangementLayout& layout, std::span<const std::size_t> wanted);
  /// Of rows that were encoded here.
  void append(std::string_view key, std::string_view value);
  /// Of rows as they were stored: false if they cannot be decoded; the decoder is then unusable.
  [[nodiscard]] bool try_append(std::string_view key, std::string_view value);
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// One column for each of the collection; those not wanted are null. Starts again empty.
  std::vector<repr::ColumnPtr> finish();

 private:
  struct Side {
    Side(std::vector<repr::SqlType> types, std::vector<std::size_t> wanted_columns)
        : codec(std::move(types)), wanted(std::move(wanted_columns)), decoder(codec, wanted) {}
    repr::RowCodec codec;
    std::vector<std::size_t> wanted;
    repr::RowDecoder decoder;
  };
  std::size_t arity_;
  std::vector<std::size_t> key_columns_;    // where the decoded key columns go
  std::vector<std::size_t> value_columns_;
  std::unique_ptr<Side> key_;
  std::unique_ptr<Side> value_;
  std::size_t rows_ = 0;
};

}  // namespace freshet::compute
