// SPDX-License-Identifier: Apache-2.0
/// Bytes whose memcmp order is that of an ORDER BY, for top-k and for ordered reads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <freshet/expr/relation.h>
#include <freshet/repr/row.h>

#include "dataflow/error_flow.h"

namespace freshet::compute {

/// Makes bytes sort the other way round. The bytes must be self-delimiting.
void complement(std::string& bytes, std::size_t from);

class OrderEncoder {
 public:
  OrderEncoder(std::span<const repr::ColumnType> types, std::vector<expr::ColumnOrder> order);
  [[nodiscard]] bool empty() const { return order_.empty(); }
  /// One value for each row; equal rows in this order have equal bytes.
  [[nodiscard]] repr::BytesVector encode(std::span<const repr::ColumnPtr> columns, std::size_t rows) const;
  /// How many of the first bytes of `value` are such bytes, whatever follows. (A length behind them would sort
  /// a row and the same row with a form the wrong way round.)
  [[nodiscard]] std::size_t size(std::string_view value) const;

 private:
  std::vector<expr::ColumnOrder> order_;
  std::vector<repr::RowCodec> codecs_;  // one a sort key
};

}  // namespace freshet::compute
