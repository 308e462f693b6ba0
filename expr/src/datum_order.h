// SPDX-License-Identifier: Apache-2.0
/// Identity of literals: a total order and a hash in which datums are equal only if nothing can tell them
/// apart (1.0 and 1.00 differ). It needs no type and is not SQL order.
#pragma once

#include <compare>
#include <cstddef>

#include <freshet/repr/datum.h>

namespace freshet::expr {

std::strong_ordering identity_order(const repr::Datum& a, const repr::Datum& b);
std::size_t identity_hash(const repr::Datum& datum);
/// For types: by kind, modifier and element.
std::strong_ordering type_order(const repr::SqlType& a, const repr::SqlType& b);

inline std::size_t combine_hash(std::size_t seed, std::size_t value) {
  return (seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2))) * 0xff51afd7ed558ccdULL;
}

}  // namespace freshet::expr
