// SPDX-License-Identifier: Apache-2.0
#include "value_order.h"

#include <cmath>
#include <cstring>

#include <freshet/repr/datetime.h>

namespace freshet::expr {
namespace {

template <typename T>
std::strong_ordering order(const T& x, const T& y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x < y) return std::strong_ordering::less;
    if (x > y) return std::strong_ordering::greater;
    if (x == y) return std::strong_ordering::equal;
    return std::isnan(x) <=> std::isnan(y);
  } else if constexpr (std::is_same_v<T, repr::Interval>) {
    return repr::interval_span(x) <=> repr::interval_span(y);
  } else {
    return x <=> y;
  }
}

std::strong_ordering order_bytes(std::string_view x, std::string_view y) {
  return x.compare(y) <=> 0;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::strong_ordering order_values(const repr::Column& a, std::size_t i, const repr::Column& b,
                                  std::size_t j, const repr::SqlType& type) {
  if (type.kind() == repr::TypeKind::kArray) {
    return repr::compare(a.datum(i, type), b.datum(j, type), type);
  }
  return std::visit(
      [&](const auto& left) -> std::strong_ordering {
        using Vector = std::decay_t<decltype(left)>;
        const Vector& right = b.values<Vector>();
        if constexpr (std::is_same_v<Vector, repr::BytesVector>) {
          if (type.kind() == repr::TypeKind::kBpchar) {
            return order_bytes(without_blanks(left[i]), without_blanks(right[j]));
          }
          return order_bytes(left[i], right[j]);
        } else {
          return order(left[i], right[j]);
        }
      },
      a.all_values());
}

}  // namespace freshet::expr
