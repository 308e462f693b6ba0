// SPDX-License-Identifier: Apache-2.0
#include <freshet/repr/datum.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <freshet/repr/datetime.h>

#include "key_codec.h"

namespace freshet::repr {
namespace {

using ArrayPtr = std::shared_ptr<const ArrayValue>;
using Order = std::strong_ordering;

template <typename T>
Order compare_plain(const Datum& a, const Datum& b) {
  return a.get<T>() <=> b.get<T>();
}

// PostgreSQL's total order: NaN equals itself and is the greatest, -0 equals 0.
template <typename T>
Order compare_floats(T a, T b) {
  const bool a_nan = a != a;
  const bool b_nan = b != b;
  if (a_nan || b_nan) return a_nan <=> b_nan;
  return a < b ? Order::less : a > b ? Order::greater : Order::equal;
}

Order compare_bytes(std::string_view a, std::string_view b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (order != 0) return order <=> 0;
  return a.size() <=> b.size();
}

Order compare_arrays(const ArrayValue& a, const ArrayValue& b, const SqlType& element) {
  const std::size_t both = std::min(a.elements.size(), b.elements.size());
  for (std::size_t i = 0; i < both; ++i) {
    const Order order = compare(a.elements[i], b.elements[i], element);
    if (order != 0) return order;
  }
  if (const Order order = a.elements.size() <=> b.elements.size(); order != 0) return order;
  if (const Order order = a.dimensions.size() <=> b.dimensions.size(); order != 0) return order;
  for (std::size_t i = 0; i < a.dimensions.size(); ++i) {
    const Order order = a.dimensions[i].length <=> b.dimensions[i].length;
    if (order != 0) return order;
  }
  for (std::size_t i = 0; i < a.dimensions.size(); ++i) {
    const Order order = a.dimensions[i].lower <=> b.dimensions[i].lower;
    if (order != 0) return order;
  }
  return Order::equal;
}

Order compare_strings(const Datum& a, const Datum& b, TypeKind kind) {
  if (kind != TypeKind::kBpchar) return compare_bytes(a.get<std::string>(), b.get<std::string>());
  return compare_bytes(key::without_trailing_blanks(a.get<std::string>()),
                       key::without_trailing_blanks(b.get<std::string>()));
}

bool same_form(const Datum& a, const Datum& b, const SqlType& type) {
  switch (type.kind()) {
    case TypeKind::kFloat4:
      return std::signbit(a.get<float>()) == std::signbit(b.get<float>());
    case TypeKind::kFloat8:
      return std::signbit(a.get<double>()) == std::signbit(b.get<double>());
    case TypeKind::kNumeric:
      return a.get<Numeric>().scale() == b.get<Numeric>().scale();
    case TypeKind::kInterval:
      return a.get<Interval>() == b.get<Interval>();
    case TypeKind::kBpchar:
      return a.get<std::string>().size() == b.get<std::string>().size();
    case TypeKind::kArray: {
      const ArrayValue& x = *a.get<ArrayPtr>();
      const ArrayValue& y = *b.get<ArrayPtr>();
      for (std::size_t i = 0; i < x.elements.size(); ++i) {
        if (!identical(x.elements[i], y.elements[i], type.element())) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

// The sign of a NaN is not a form.
bool is_nan(const Datum& datum, TypeKind kind) {
  if (kind == TypeKind::kFloat4) return std::isnan(datum.get<float>());
  return kind == TypeKind::kFloat8 && std::isnan(datum.get<double>());
}

}  // namespace

Order compare(const Datum& a, const Datum& b, const SqlType& type) {
  if (a.is_null() || b.is_null()) return a.is_null() <=> b.is_null();
  switch (type.physical()) {
    case PhysicalType::kBool:
      return compare_plain<bool>(a, b);
    case PhysicalType::kInt16:
      return compare_plain<std::int16_t>(a, b);
    case PhysicalType::kInt32:
      return compare_plain<std::int32_t>(a, b);
    case PhysicalType::kInt64:
      return compare_plain<std::int64_t>(a, b);
    case PhysicalType::kFloat:
      return compare_floats(a.get<float>(), b.get<float>());
    case PhysicalType::kDouble:
      return compare_floats(a.get<double>(), b.get<double>());
    case PhysicalType::kNumeric:
      return compare_plain<Numeric>(a, b);
    case PhysicalType::kInterval:
      return interval_span(a.get<Interval>()) <=> interval_span(b.get<Interval>());
    case PhysicalType::kUuid:
      return compare_plain<Uuid>(a, b);
    case PhysicalType::kBytes:
      break;
  }
  if (type.kind() == TypeKind::kArray) {
    return compare_arrays(*a.get<ArrayPtr>(), *b.get<ArrayPtr>(), type.element());
  }
  return compare_strings(a, b, type.kind());
}

bool identical(const Datum& a, const Datum& b, const SqlType& type) {
  if (compare(a, b, type) != 0) return false;
  if (a.is_null() || is_nan(a, type.kind())) return true;
  return same_form(a, b, type);
}

}  // namespace freshet::repr
