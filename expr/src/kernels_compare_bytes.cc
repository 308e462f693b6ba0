// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <freshet/repr/datetime.h>
#include <freshet/repr/row.h>

#include "comparison.h"

namespace freshet::expr {
namespace {

int order_bytes(std::string_view x, std::string_view y) {
  const int prefix = std::memcmp(x.data(), y.data(), std::min(x.size(), y.size()));
  if (prefix != 0) return prefix;
  return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

void add_six_bytes(FunctionTable& table, K a, K b) {
  add_six<std::string_view, std::string_view>(
      table, a, b, [](std::string_view x, std::string_view y) { return order_bytes(x, y); },
      [](std::string_view x, std::string_view y) { return x == y; });
}

// Arrays compare element by element, then by length: the order of their key bytes.
repr::ColumnPtr compare_arrays(KernelCall& call, bool (*accept)(std::strong_ordering)) {
  std::vector<std::uint8_t> out(call.rows);
  const Reader<std::string_view> a(*call.arguments[0], call.rows);
  const Reader<std::string_view> b(*call.arguments[1], call.rows);
  auto validity = strict_validity(call);
  const repr::SqlType& type = call.types[0];
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!validity.empty() && validity[row] == 0) continue;
    const auto decode = [&](std::string_view bytes) {
      return repr::Datum(
          std::make_shared<const repr::ArrayValue>(repr::decode_array(bytes, type).value()));
    };
    out[row] = accept(repr::compare(decode(a[row]), decode(b[row]), type)) ? 1 : 0;
  }
  return make_column(std::move(out), std::move(validity));
}

template <typename Accept>
void add_array_comparison(FunctionTable& table, std::string_view name, Accept) {
  table.add_operator(name, {A::kAnyArray, A::kAnyArray}, K::kBool, whole([](KernelCall& call) {
    return compare_arrays(call, [](std::strong_ordering order) { return Accept{}(order); });
  }));
}

}  // namespace

void add_byte_comparisons(FunctionTable& table) {
  using repr::Interval;
  using repr::Numeric;
  using repr::Uuid;
  add_six_bytes(table, K::kText, K::kText);
  add_six_bytes(table, K::kName, K::kName);
  add_six_bytes(table, K::kName, K::kText);
  add_six_bytes(table, K::kText, K::kName);
  add_six_bytes(table, K::kBytea, K::kBytea);
  add_six_bytes(table, K::kPgChar, K::kPgChar);
  add_six<std::string_view, std::string_view>(
      table, K::kBpchar, K::kBpchar,
      [](std::string_view x, std::string_view y) {
        return order_bytes(without_blanks(x), without_blanks(y));
      },
      [](std::string_view x, std::string_view y) { return without_blanks(x) == without_blanks(y); });
  add_six<Numeric, Numeric>(
      table, K::kNumeric, K::kNumeric,
      [](const Numeric& x, const Numeric& y) {
        repr::Int128 p;
        repr::Int128 q;
        int s;
        int t;
        if (x.as_parts(p, s) && y.as_parts(q, t) && s == t) return p <=> q;
        return x <=> y;
      },
      [](const Numeric& x, const Numeric& y) {
        repr::Int128 p;
        repr::Int128 q;
        int s;
        int t;
        if (x.as_parts(p, s) && y.as_parts(q, t) && s == t) return p == q;
        return x == y;
      });
  add_six<Interval, Interval>(
      table, K::kInterval, K::kInterval,
      [](const Interval& x, const Interval& y) {
        return repr::interval_span(x) <=> repr::interval_span(y);
      },
      [](const Interval& x, const Interval& y) {
        return repr::interval_span(x) == repr::interval_span(y);
      });
  add_six<Uuid, Uuid>(
      table, K::kUuid, K::kUuid,
      [](const Uuid& x, const Uuid& y) { return std::memcmp(x.data(), y.data(), x.size()); },
      [](const Uuid& x, const Uuid& y) { return x == y; });
  add_array_comparison(table, "=", [](std::strong_ordering o) { return o == 0; });
  add_array_comparison(table, "<>", [](std::strong_ordering o) { return o != 0; });
  add_array_comparison(table, "<", [](std::strong_ordering o) { return o < 0; });
  add_array_comparison(table, "<=", [](std::strong_ordering o) { return o <= 0; });
  add_array_comparison(table, ">", [](std::strong_ordering o) { return o > 0; });
  add_array_comparison(table, ">=", [](std::strong_ordering o) { return o >= 0; });
}

}  // namespace freshet::expr
