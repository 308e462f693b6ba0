// SPDX-License-Identifier: Apache-2.0
/// Reading and writing columns of arrays.
#pragma once

#include <memory>
#include <optional>

#include <freshet/repr/row.h>

#include "function_table.h"

namespace freshet::expr {

using repr::ArrayValue;

/// The arrays of an argument, decoded one by one; a constant only once.
class ArrayReader {
 public:
  ArrayReader(const KernelCall& call, std::size_t argument)
      : column_(*call.arguments[argument]), type_(call.types[argument]),
        constant_(column_.size() != call.rows) {}
  [[nodiscard]] bool is_null(std::size_t row) const { return column_.is_null(constant_ ? 0 : row); }
  const ArrayValue& operator[](std::size_t row) {
    if (!constant_ || !decoded_) {
      value_ = repr::decode_array(column_.values<repr::BytesVector>()[constant_ ? 0 : row], type_).value();
      decoded_ = true;
    }
    return value_;
  }

 private:
  const repr::Column& column_;
  repr::SqlType type_;
  bool constant_;
  bool decoded_ = false;
  ArrayValue value_{};
};

/// The value of any argument as a datum.
inline repr::Datum datum_at(const KernelCall& call, std::size_t argument, std::size_t row) {
  const repr::Column& column = *call.arguments[argument];
  return column.datum(column.size() == call.rows ? row : 0, call.types[argument]);
}

/// Calls f(row) for each row, appending the datum it gives: f returns Result<Datum>. If `strict`, rows with
/// a NULL argument are NULL without a call.
template <typename F>
repr::ColumnPtr each_row(KernelCall& call, bool strict, F f) {
  repr::ColumnBuilder out(call.result_type.physical());
  out.reserve(call.rows);
  const auto validity = strict ? strict_validity(call) : std::vector<std::uint8_t>();
  RowErrors found;
  std::size_t used = 0;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!validity.empty() && validity[row] == 0) {
      out.append_null();
      continue;
    }
    Result<repr::Datum> value = f(row);
    if (value.has_value()) {
      const std::size_t bytes = weight(*value);
      if (!fits_value(used, bytes)) value = too_large();
      used += bytes;
    }
    if (value.has_value()) {
      out.append(*value, call.result_type);
    } else {
      out.append_null();
      note_error(call, validity, row, std::move(value).error(), found);
    }
  }
  finish_errors(call, found);
  return out.finish();
}

inline repr::Datum array_datum(ArrayValue array) {
  return repr::Datum(std::make_shared<const ArrayValue>(std::move(array)));
}
inline ArrayValue one_dimension(std::vector<repr::Datum> elements) {
  ArrayValue out;
  if (!elements.empty()) out.dimensions.push_back({1, static_cast<std::int32_t>(elements.size())});
  out.elements = std::move(elements);
  return out;
}

}  // namespace freshet::expr
