// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include <freshet/repr/chunk.h>
#include <freshet/repr/row.h>

namespace freshet::repr {
namespace {

template <PhysicalType type, typename Vector>
constexpr bool kSits =
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(type), ColumnValues>,
                   Vector>;
static_assert(kSits<PhysicalType::kBool, std::vector<std::uint8_t>>);
static_assert(kSits<PhysicalType::kInt64, std::vector<std::int64_t>>);
static_assert(kSits<PhysicalType::kNumeric, std::vector<Numeric>>);
static_assert(kSits<PhysicalType::kUuid, std::vector<Uuid>>);
static_assert(kSits<PhysicalType::kBytes, BytesVector>);

ColumnValues empty_values(PhysicalType type) {
  switch (type) {
    case PhysicalType::kBool:
      return std::vector<std::uint8_t>{};
    case PhysicalType::kInt16:
      return std::vector<std::int16_t>{};
    case PhysicalType::kInt32:
      return std::vector<std::int32_t>{};
    case PhysicalType::kInt64:
      return std::vector<std::int64_t>{};
    case PhysicalType::kFloat:
      return std::vector<float>{};
    case PhysicalType::kDouble:
      return std::vector<double>{};
    case PhysicalType::kNumeric:
      return std::vector<Numeric>{};
    case PhysicalType::kInterval:
      return std::vector<Interval>{};
    case PhysicalType::kUuid:
      return std::vector<Uuid>{};
    case PhysicalType::kBytes:
      return BytesVector{};
  }
  FRESHET_UNREACHABLE(static_cast<int>(type));
}

std::size_t values_size(const ColumnValues& values) {
  return std::visit([](const auto& v) { return v.size(); }, values);
}

void push_zero(ColumnValues& values) {
  std::visit(
      [](auto& v) {
        using Vector = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Vector, BytesVector>) {
          v.close();
        } else {
          v.push_back({});
        }
      },
      values);
}

template <typename T>
std::vector<T> gather_values(const std::vector<T>& from, std::span<const std::uint32_t> rows) {
  std::vector<T> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = from[rows[i]];
  return out;
}

BytesVector gather_values(const BytesVector& from, std::span<const std::uint32_t> rows) {
  std::size_t bytes = 0;
  const auto offsets = from.offsets();
  for (const std::uint32_t row : rows) bytes += offsets[row + 1] - offsets[row];
  BytesVector out;
  out.reserve(rows.size(), bytes);
  for (const std::uint32_t row : rows) out.push_back(from[row]);
  return out;
}

template <typename T>
std::vector<T> repeat(const std::vector<T>& one, std::size_t rows) {
  return std::vector<T>(rows, one.front());
}

BytesVector repeat(const BytesVector& one, std::size_t rows) {
  BytesVector out;
  out.reserve(rows, rows * one.byte_size());
  for (std::size_t i = 0; i < rows; ++i) out.push_back(one[0]);
  return out;
}

// Datums hold a column's element type, except that bool and arrays lie otherwise in memory.
Datum datum_at(const ColumnValues& values, std::size_t row, const SqlType& type) {
  return std::visit(
      [&](const auto& v) -> Datum {
        using Vector = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Vector, std::vector<std::uint8_t>>) {
          return Datum(v[row] != 0);
        } else if constexpr (std::is_same_v<Vector, BytesVector>) {
          if (type.kind() != TypeKind::kArray) return Datum(std::string(v[row]));
          auto array = decode_array(v[row], type);
          return Datum(std::make_shared<const ArrayValue>(std::move(array).value()));
        } else {
          return Datum(v[row]);
        }
      },
      values);
}

void push_datum(ColumnValues& values, const Datum& datum, const SqlType& type) {
  std::visit(
      [&](auto& v) {
        using Vector = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Vector, std::vector<std::uint8_t>>) {
          v.push_back(datum.get<bool>() ? 1 : 0);
        } else if constexpr (std::is_same_v<Vector, BytesVector>) {
          if (type.kind() == TypeKind::kArray) {
            v.push_back(encode_array(*datum.get<std::shared_ptr<const ArrayValue>>(), type));
          } else {
            v.push_back(datum.get<std::string>());
          }
        } else {
          v.push_back(datum.get<typename Vector::value_type>());
        }
      },
      values);
}

bool all_valid(const std::vector<std::uint8_t>& validity) {
  return std::find(validity.begin(), validity.end(), 0) == validity.end();
}

}  // namespace

void BytesVector::append_all(std::string_view bytes, std::span<const std::uint32_t> ends) {
  const std::size_t base = bytes_.size();
  FRESHET_ASSERT(base + bytes.size() <= UINT32_MAX, base, bytes.size());
  bytes_.append(bytes);
  const std::size_t first = offsets_.size();
  offsets_.resize(first + ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    offsets_[first + i] = static_cast<std::uint32_t>(base) + ends[i];
  }
}

Column::Column(ColumnValues values, std::vector<std::uint8_t> validity)
    : values_(std::move(values)), validity_(std::move(validity)), size_(values_size(values_)) {
  FRESHET_ASSERT(validity_.empty() || validity_.size() == size_, validity_.size(), size_);
  if (all_valid(validity_)) validity_.clear();
}

Datum Column::datum(std::size_t row, const SqlType& type) const {
  FRESHET_ASSERT(row < size_, row, size_);
  FRESHET_ASSERT(type.physical() == physical(), to_string(type), values_.index());
  return is_null(row) ? Datum() : datum_at(values_, row, type);
}

std::size_t Column::byte_size() const {
  const std::size_t values = std::visit(
      [](const auto& v) -> std::size_t {
        using Vector = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Vector, BytesVector>) {
          return v.byte_size() + v.offsets().size_bytes();
        } else {
          return v.size() * sizeof(typename Vector::value_type);
        }
      },
      values_);
  return values + validity_.size();
}

ColumnBuilder::ColumnBuilder(PhysicalType type) : values_(empty_values(type)) {}

void ColumnBuilder::append_null() {
  validity_.resize(size(), 1);
  validity_.push_back(0);
  push_zero(values_);
}

void ColumnBuilder::append(const Datum& datum, const SqlType& type) {
  if (datum.is_null()) return append_null();
  FRESHET_ASSERT(type.physical() == physical(), to_string(type), values_.index());
  push_datum(values_, datum, type);
}

void ColumnBuilder::append_from(const Column& column, std::size_t row) {
  if (column.is_null(row)) return append_null();
  std::visit(
      [&](auto& v) {
        using Vector = std::decay_t<decltype(v)>;
        v.push_back(column.values<Vector>()[row]);
      },
      values_);
}

void* ColumnBuilder::address() {
  return std::visit([](auto& v) -> void* { return &v; }, values_);
}

std::size_t ColumnBuilder::size() const { return values_size(values_); }

void ColumnBuilder::reserve(std::size_t rows) {
  std::visit(
      [rows](auto& v) {
        using Vector = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Vector, BytesVector>) {
          v.reserve(rows, 0);
        } else {
          v.reserve(rows);
        }
      },
      values_);
}

ColumnPtr ColumnBuilder::finish() {
  if (!validity_.empty()) validity_.resize(size(), 1);
  const PhysicalType type = physical();
  auto column = std::make_shared<const Column>(std::move(values_), std::move(validity_));
  values_ = empty_values(type);  // assigned in place: `address()` stays
  validity_.clear();
  return column;
}

ColumnPtr gather(const Column& column, std::span<const std::uint32_t> rows) {
  ColumnValues values = std::visit(
      [rows](const auto& v) { return ColumnValues(gather_values(v, rows)); }, column.all_values());
  std::vector<std::uint8_t> validity;
  if (column.has_nulls()) {
    validity.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) validity[i] = column.validity()[rows[i]];
  }
  return std::make_shared<const Column>(std::move(values), std::move(validity));
}

ColumnPtr constant_column(const Datum& datum, const SqlType& type, std::size_t rows) {
  ColumnValues one = empty_values(type.physical());
  if (datum.is_null()) {
    push_zero(one);
  } else {
    push_datum(one, datum, type);
  }
  ColumnValues values =
      std::visit([rows](const auto& v) { return ColumnValues(repeat(v, rows)); }, one);
  std::vector<std::uint8_t> validity;
  if (datum.is_null()) validity.assign(rows, 0);
  return std::make_shared<const Column>(std::move(values), std::move(validity));
}

}  // namespace freshet::repr
