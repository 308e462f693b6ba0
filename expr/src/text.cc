// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/text.h>

namespace freshet::expr {

std::string columns_text(std::span<const std::size_t> columns) {
  std::string out = "(";
  for (const std::size_t column : columns) {
    if (out.size() > 1) out += ", ";
    out += "#" + std::to_string(column);
  }
  return out + ")";
}

std::string scalars_text(std::span<const Scalar> scalars, std::string_view separator, bool enclosed) {
  std::string out;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (i > 0) out += separator;
    out += to_string(scalars[i]);
  }
  return enclosed ? "(" + out + ")" : out;
}

std::string equivalences_text(std::span<const std::vector<Scalar>> equivalences) {
  std::string out = "[";
  for (std::size_t i = 0; i < equivalences.size(); ++i) {
    if (i > 0) out += ", ";
    out += scalars_text(equivalences[i], " = ", false);
  }
  return out + "]";
}

std::string aggregates_text(std::span<const Aggregate> aggregates) {
  std::string out = "[";
  for (std::size_t i = 0; i < aggregates.size(); ++i) {
    if (i > 0) out += ", ";
    out += to_string(aggregates[i]);
  }
  return out + "]";
}

std::string top_k_text(std::span<const std::size_t> group_key, std::span<const ColumnOrder> order,
                       const std::optional<Scalar>& limit, std::uint64_t offset) {
  std::string out;
  if (!group_key.empty()) out += " group_by=" + columns_text(group_key);
  for (std::size_t i = 0; i < order.size(); ++i) {
    out += (i == 0 ? " order_by=[#" : ", #") + std::to_string(order[i].column);
    if (order[i].descending) out += " desc";
    if (order[i].nulls_last == order[i].descending) out += order[i].nulls_last ? " nulls last" : " nulls first";
  }
  if (!order.empty()) out += "]";
  if (limit) out += " limit=" + to_string(*limit);
  if (offset != 0) out += " offset=" + std::to_string(offset);
  return out;
}

std::string row_text(const repr::DatumRow& row, std::span<const repr::ColumnType> types) {
  std::string out = "(";
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ", ";
    out += to_string(Scalar::literal(row[i], types[i].type));
  }
  return out + ")";
}

}  // namespace freshet::expr
