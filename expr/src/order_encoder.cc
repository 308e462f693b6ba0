// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/order_encoder.h>

namespace freshet::expr {

void complement(std::string& bytes, std::size_t from) {
  for (std::size_t i = from; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(~static_cast<unsigned char>(bytes[i]));
  }
}

OrderEncoder::OrderEncoder(std::span<const repr::ColumnType> types, std::vector<ColumnOrder> order)
    : order_(std::move(order)) {
  for (const ColumnOrder& key : order_) {
    codecs_.emplace_back(std::vector<repr::SqlType>{types[key.column].type});
  }
}

repr::BytesVector OrderEncoder::encode(std::span<const repr::ColumnPtr> columns, std::size_t rows) const {
  std::vector<repr::BytesVector> keys(order_.size());
  for (std::size_t k = 0; k < order_.size(); ++k) {
    codecs_[k].encode(columns.subspan(order_[k].column, 1), 0, rows, keys[k]);
  }
  repr::BytesVector result;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string& out = result.buffer();
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const bool is_null = columns[order_[k].column]->is_null(row);
      // NULLs stand apart from the values, on the side that was asked for.
      out.push_back(is_null == order_[k].nulls_last ? '\1' : '\0');
      if (is_null) continue;
      const std::string_view value = keys[k][row];
      const std::size_t from = out.size();
      out.append(codecs_[k].has_forms() ? value.substr(0, codecs_[k].key_size(value)) : value);
      if (order_[k].descending) complement(out, from);
    }
    result.close();
  }
  return result;
}

std::size_t OrderEncoder::size(std::string_view value) const {
  std::size_t at = 0;
  std::string plain;
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const bool is_null = (value[at++] == '\1') == order_[k].nulls_last;
    if (is_null) continue;
    std::string_view rest = value.substr(at);
    if (order_[k].descending) {
      plain.assign(rest);
      complement(plain, 0);
      rest = plain;
    }
    at += codecs_[k].key_size(rest);
  }
  return at;
}

}  // namespace freshet::expr
