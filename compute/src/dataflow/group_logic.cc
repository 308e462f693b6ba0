// SPDX-License-Identifier: Apache-2.0
#include "dataflow/group_logic.h"

#include <freshet/expr/eval.h>

#include "dataflow/row_layout.h"

namespace freshet::compute {

std::string DistinctLogic::negative(std::string_view key) const {
  // Key bytes alone are a row with all forms default, which is what is known of the group.
  const repr::DatumRow row = repr::RowCodec(sql_types(types)).decode_row(key).value();
  return expr::encode_error_row(expr::ErrorRow::of(row, expr::negative_multiplicity()), types);
}

TopKProgram::TopKProgram(const expr::Lir::TopK& node, const ColumnTypes& types, bool may_be_negative)
    : group_key_(node.group_key),
      limit_(node.limit),
      offset_(node.offset),
      types_(types),
      codec_(sql_types(types)),
      key_codec_([&] {
        std::vector<repr::SqlType> key_types;
        for (const std::size_t column : node.group_key) key_types.push_back(types[column].type);
        return repr::RowCodec(std::move(key_types));
      }()),
      order_(types, node.order),
      may_be_negative_(may_be_negative) {
  if (!limit_) {
    fixed_limit_ = UINT64_MAX;
  } else if (const auto* literal = limit_->as<expr::Scalar::Literal>()) {
    if (literal->value.is_null()) {
      fixed_limit_ = UINT64_MAX;
    } else if (literal->value.get<std::int64_t>() >= 0) {
      fixed_limit_ = static_cast<std::uint64_t>(literal->value.get<std::int64_t>());
    }
  }
}

TopKProgram::Limit TopKProgram::limit_of(std::string_view key, std::string_view row) const {
  if (fixed_limit_) return {.rows = *fixed_limit_};
  const Result<repr::Datum> value = expr::evaluate_row(*limit_, codec_.decode_row(row).value(), types_);
  if (!value) return {.error = error(key, value.error())};
  if (value->is_null()) return {};
  const auto rows = value->get<std::int64_t>();
  if (rows < 0) return {.error = error(key, sql_error("2201W", "LIMIT must not be negative"))};
  return {.rows = static_cast<std::uint64_t>(rows)};
}

// Rows of a group may look different: key bytes alone are the key in its default form.
std::string TopKProgram::error(std::string_view key, Error error) const {
  const repr::DatumRow values = key_codec_.decode_row(key).value();
  expr::ErrorRow row = expr::ErrorRow::unknown(types_.size(), std::move(error));
  for (std::size_t i = 0; i < values.size(); ++i) row.known[group_key_[i]] = values[i];
  return expr::encode_error_row(row, types_);
}

}  // namespace freshet::compute
