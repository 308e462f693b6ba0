// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/slice.h>

namespace freshet::repr {
namespace {

template <typename T>
std::vector<T> slice_values(const std::vector<T>& values, std::size_t begin, std::size_t end) {
  return std::vector<T>(values.data() + begin, values.data() + end);
}

BytesVector slice_values(const BytesVector& values, std::size_t begin, std::size_t end) {
  const std::uint32_t from = values.offsets()[begin];
  std::vector<std::uint32_t> ends(end - begin);
  for (std::size_t i = begin; i < end; ++i) ends[i - begin] = values.offsets()[i + 1] - from;
  const std::string_view bytes = values.bytes().substr(from, values.offsets()[end] - from);
  BytesVector result;
  result.reserve(ends.size(), bytes.size());
  result.append_all(bytes, ends);
  return result;
}

}  // namespace

ColumnPtr slice(const Column& column, std::size_t begin, std::size_t end) {
  FRESHET_ASSERT(begin <= end && end <= column.size(), begin, end, column.size());
  ColumnValues values = std::visit([&](const auto& v) { return ColumnValues(slice_values(v, begin, end)); },
                                   column.all_values());
  std::vector<std::uint8_t> validity;
  if (column.has_nulls()) {
    validity.assign(column.validity().data() + begin, column.validity().data() + end);
  }
  return std::make_shared<const Column>(std::move(values), std::move(validity));
}

}  // namespace freshet::repr
