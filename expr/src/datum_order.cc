// SPDX-License-Identifier: Apache-2.0
#include "datum_order.h"

#include <bit>
#include <functional>

namespace freshet::expr {
namespace {

using repr::ArrayValue;
using repr::Datum;
using repr::Interval;
using repr::Numeric;

template <typename T>
std::strong_ordering order_values(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::monostate>) {
    return std::strong_ordering::equal;
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::int32_t>(a) <=> std::bit_cast<std::int32_t>(b);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::int64_t>(a) <=> std::bit_cast<std::int64_t>(b);
  } else if constexpr (std::is_same_v<T, Numeric>) {
    const auto by_value = a <=> b;
    return by_value != 0 ? by_value : a.scale() <=> b.scale();
  } else if constexpr (std::is_same_v<T, Interval>) {
    if (const auto order = a.months <=> b.months; order != 0) return order;
    if (const auto order = a.days <=> b.days; order != 0) return order;
    return a.micros <=> b.micros;
  } else if constexpr (std::is_same_v<T, std::shared_ptr<const ArrayValue>>) {
    const auto& da = a->dimensions;
    const auto& db = b->dimensions;
    if (const auto order = da.size() <=> db.size(); order != 0) return order;
    for (std::size_t i = 0; i < da.size(); ++i) {
      if (const auto order = da[i].lower <=> db[i].lower; order != 0) return order;
      if (const auto order = da[i].length <=> db[i].length; order != 0) return order;
    }
    if (const auto order = a->elements.size() <=> b->elements.size(); order != 0) return order;
    for (std::size_t i = 0; i < a->elements.size(); ++i) {
      const auto order = identity_order(a->elements[i], b->elements[i]);
      if (order != 0) return order;
    }
    return std::strong_ordering::equal;
  } else {
    return a <=> b;
  }
}

template <typename T>
std::size_t hash_value(const T& value) {
  if constexpr (std::is_same_v<T, std::monostate>) {
    return 0;
  } else if constexpr (std::is_same_v<T, float>) {
    return std::hash<std::int32_t>()(std::bit_cast<std::int32_t>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::hash<std::int64_t>()(std::bit_cast<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, Numeric>) {
    return std::hash<std::string>()(value.to_string());
  } else if constexpr (std::is_same_v<T, Interval>) {
    const std::size_t days = combine_hash(static_cast<std::size_t>(value.months),
                                          static_cast<std::size_t>(value.days));
    return combine_hash(days, static_cast<std::size_t>(value.micros));
  } else if constexpr (std::is_same_v<T, repr::Uuid>) {
    const std::string_view bytes(reinterpret_cast<const char*>(value.data()), value.size());
    return std::hash<std::string_view>()(bytes);
  } else if constexpr (std::is_same_v<T, std::shared_ptr<const ArrayValue>>) {
    std::size_t hash = value->elements.size();
    for (const Datum& element : value->elements) hash = combine_hash(hash, identity_hash(element));
    return hash;
  } else {
    return std::hash<T>()(value);
  }
}

}  // namespace

std::strong_ordering identity_order(const Datum& a, const Datum& b) {
  if (const auto order = a.value().index() <=> b.value().index(); order != 0) return order;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        return order_values<T>(value, *std::get_if<T>(&b.value()));
      },
      a.value());
}

std::size_t identity_hash(const Datum& datum) {
  const std::size_t hash =
      std::visit([](const auto& value) { return hash_value(value); }, datum.value());
  return combine_hash(datum.value().index(), hash);
}

std::strong_ordering type_order(const repr::SqlType& a, const repr::SqlType& b) {
  if (const auto order = a.kind() <=> b.kind(); order != 0) return order;
  if (const auto order = a.typmod() <=> b.typmod(); order != 0) return order;
  if (a.kind() != repr::TypeKind::kArray) return std::strong_ordering::equal;
  return type_order(a.element(), b.element());
}

}  // namespace freshet::expr
