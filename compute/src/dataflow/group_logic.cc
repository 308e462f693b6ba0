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

TopKProgram::Limit TopKProgram::limit_of(std::string_view row) const {
  if (fixed_limit_) return {.rows = *fixed_limit_};
  const Result<repr::Datum> value = expr::evaluate_row(*limit_, codec_.decode_row(row).value(), types_);
  if (!value) return {.error = error(row, value.error())};
  if (value->is_null()) return {};
  const auto rows = value->get<std::int64_t>();
  if (rows < 0) return {.error = error(row, sql_error("2201W", "LIMIT must not be negative"))};
  return {.rows = static_cast<std::uint64_t>(rows)};
}

std::string TopKProgram::error(std::string_view row, Error error) const {
  const expr::ErrorRow whole = expr::ErrorRow::of(codec_.decode_row(row).value(), std::move(error));
  return expr::encode_error_row(expr::top_k_error(group_key_, whole), types_);
}

std::string TopKProgram::negative(std::string_view row) const {
  return error(row, expr::negative_multiplicity());
}

}  // namespace freshet::compute
