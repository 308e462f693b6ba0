// SPDX-License-Identifier: Apache-2.0
/// Functions of any type: NOT, IS DISTINCT FROM, GREATEST, LEAST, counts of NULLs.
#include "function_table.h"
#include "value_order.h"

namespace freshet::expr {
namespace {

std::size_t at(const repr::Column& column, std::size_t row) { return column.size() == 1 ? 0 : row; }

bool is_null(const repr::Column& column, std::size_t row) {
  return column.is_null(at(column, row));
}

repr::ColumnPtr distinct(KernelCall& call, bool when_distinct) {
  const repr::Column& a = *call.arguments[0];
  const repr::Column& b = *call.arguments[1];
  std::vector<std::uint8_t> out(call.rows);
  for (std::size_t row = 0; row < call.rows; ++row) {
    const bool left = is_null(a, row);
    const bool right = is_null(b, row);
    bool differ = left != right;
    if (!left && !right) differ = order_values(a, at(a, row), b, at(b, row), call.types[0]) != 0;
    out[row] = differ == when_distinct ? 1 : 0;
  }
  return make_column(std::move(out), {});
}

// The greatest (sign 1) or least (sign -1) argument that is not NULL; the first of equal ones.
repr::ColumnPtr extreme(KernelCall& call, int sign) {
  repr::ColumnBuilder out(call.result_type.physical());
  out.reserve(call.rows);
  for (std::size_t row = 0; row < call.rows; ++row) {
    const repr::Column* best = nullptr;
    for (const repr::ColumnPtr& argument : call.arguments) {
      if (is_null(*argument, row)) continue;
      if (best == nullptr) {
        best = argument.get();
        continue;
      }
      const auto order =
          order_values(*argument, at(*argument, row), *best, at(*best, row), call.result_type);
      if (sign > 0 ? order > 0 : order < 0) best = argument.get();
    }
    if (best == nullptr) {
      out.append_null();
    } else {
      out.append_from(*best, at(*best, row));
    }
  }
  return out.finish();
}

repr::ColumnPtr count_nulls(KernelCall& call, bool nulls) {
  std::vector<std::int32_t> out(call.rows);
  for (std::size_t row = 0; row < call.rows; ++row) {
    for (const repr::ColumnPtr& argument : call.arguments) {
      if (is_null(*argument, row) == nulls) ++out[row];
    }
  }
  return make_column(std::move(out), {});
}

void not_strict(FunctionSpec& spec) { spec.strict = false; }

}  // namespace

void add_generic(FunctionTable& table) {
  table.add("not", {K::kBool}, K::kBool, lift([](bool x) -> bool { return !x; }));
  FunctionSpec& different =
      table.add("is_distinct_from", {A::kAnyElement, A::kAnyElement}, K::kBool,
                whole([](KernelCall& call) { return distinct(call, true); }));
  FunctionSpec& same =
      table.add("is_not_distinct_from", {A::kAnyElement, A::kAnyElement}, K::kBool,
                whole([](KernelCall& call) { return distinct(call, false); }));
  not_strict(different);
  not_strict(same);
  different.negated = same.signature;
  different.commuted = different.signature;
  same.negated = different.signature;
  same.commuted = same.signature;
  FunctionSpec& greatest = table.add("greatest", {A::kAnyElement}, A::kAnyElement,
                                     whole([](KernelCall& call) { return extreme(call, 1); }));
  FunctionSpec& least = table.add("least", {A::kAnyElement}, A::kAnyElement,
                                  whole([](KernelCall& call) { return extreme(call, -1); }));
  FunctionSpec& nulls = table.add("num_nulls", {A::kAny}, K::kInt4,
                                  whole([](KernelCall& call) { return count_nulls(call, true); }));
  FunctionSpec& values = table.add("num_nonnulls", {A::kAny}, K::kInt4,
                                   whole([](KernelCall& call) { return count_nulls(call, false); }));
  for (FunctionSpec* spec : {&greatest, &least, &nulls, &values}) {
    spec->variadic = true;
    not_strict(*spec);
  }
}

}  // namespace freshet::expr
