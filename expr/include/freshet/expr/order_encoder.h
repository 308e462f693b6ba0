// SPDX-License-Identifier: Apache-2.0
/// Bytes whose memcmp order is that of an ORDER BY: for top-k, for ordered reads, and for the answer that a
/// client sees. They must agree, since a peek with a limit sends only the rows that come first: everybody
/// orders by these bytes, and equal ones by the bytes of the row.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <freshet/expr/relation.h>
#include <freshet/repr/row.h>

namespace freshet::expr {

/// Makes bytes sort the other way round. The bytes must be self-delimiting.
void complement(std::string& bytes, std::size_t from);

class OrderEncoder {
 public:
  OrderEncoder(std::span<const repr::ColumnType> types, std::vector<ColumnOrder> order);
  [[nodiscard]] bool empty() const { return order_.empty(); }
  /// One value for each row; equal rows in this order have equal bytes. Only the columns of the order need be there.
  [[nodiscard]] repr::BytesVector encode(std::span<const repr::ColumnPtr> columns, std::size_t rows) const;
  /// How many of the first bytes of `value` are such bytes, whatever follows. (A length behind them would sort
  /// a row and the same row with a form the wrong way round.)
  [[nodiscard]] std::size_t size(std::string_view value) const;

 private:
  std::vector<ColumnOrder> order_;
  std::vector<repr::RowCodec> codecs_;  // one a sort key
};

}  // namespace freshet::expr
