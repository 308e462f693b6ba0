// SPDX-License-Identifier: Apache-2.0
/// Table functions: generate_series and unnest.
#include <algorithm>
#include <memory>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>

#include <freshet/expr/table_rows.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using repr::Datum;
using repr::DatumRow;
using repr::Interval;
using repr::Numeric;
using repr::SqlType;
using I4 = std::int32_t;
using I8 = std::int64_t;
using Types = std::span<const SqlType>;

/// One call makes at most this many rows; more is a mistake, and would not fit memory.
constexpr std::uint64_t kMaxRows = 50'000'000;

base::Unexpected zero_step() {
  return fail(sqlstate::kInvalidParameterValue, "step size cannot equal zero");
}

/// Values from the first argument, or from where it was left, on; `ended(value)` is true beyond the last one, and
/// `advance(value)` goes on to the next, or says that there is none.
template <typename V, typename Ended, typename Advance>
Result<void> series_rows(const V& start, TableRowsCursor& cursor, std::size_t most, std::vector<DatumRow>& out,
                         Ended ended, Advance advance) {
  V value = cursor.next.is_null() ? start : cursor.next.get<V>();
  for (std::size_t rows = 0; rows < most; ++rows) {
    if (ended(value)) {
      cursor.done = true;
      return {};
    }
    out.push_back({Datum(value)});
    const bool more = FRESHET_TRY(advance(value));
    if (!more) {
      cursor.done = true;
      return {};
    }
  }
  cursor.next = Datum(std::move(value));
  return {};
}

template <typename T>
Result<void> integers(const DatumRow& arguments, Types, TableRowsCursor& cursor, std::size_t most,
                      std::vector<DatumRow>& out) {
  const T stop = arguments[1].get<T>();
  const T step = arguments.size() > 2 ? arguments[2].get<T>() : T{1};
  if (step == 0) return zero_step();
  return series_rows(
      arguments[0].get<T>(), cursor, most, out, [&](T value) { return step > 0 ? value > stop : value < stop; },
      [&](T& value) -> Result<bool> { return !__builtin_add_overflow(value, step, &value); });
}

Result<void> check_series(const Numeric& value, const char* what) {
  if (value.is_nan()) return fail(sqlstate::kInvalidParameterValue, std::string(what) + " value cannot be NaN");
  if (value.is_infinite()) {
    return fail(sqlstate::kInvalidParameterValue, std::string(what) + " value cannot be infinity");
  }
  return {};
}

Result<void> numerics(const DatumRow& arguments, Types, TableRowsCursor& cursor, std::size_t most,
                      std::vector<DatumRow>& out) {
  const Numeric& start = arguments[0].get<Numeric>();
  const Numeric& stop = arguments[1].get<Numeric>();
  const Numeric step = arguments.size() > 2 ? arguments[2].get<Numeric>() : Numeric(1);
  FRESHET_TRY(check_series(start, "start"));
  FRESHET_TRY(check_series(stop, "stop"));
  if (step.is_nan()) return fail(sqlstate::kInvalidParameterValue, "step size cannot be NaN");
  if (step.is_infinite()) return fail(sqlstate::kInvalidParameterValue, "step size cannot be infinity");
  if (step.is_zero()) return zero_step();
  return series_rows(
      start, cursor, most, out,
      [&](const Numeric& value) { return step.is_negative() ? value < stop : value > stop; },
      [&](Numeric& value) -> Result<bool> {
        value = FRESHET_TRY(value.add(step));
        return true;
      });
}

Result<void> timestamps(const DatumRow& arguments, Types, TableRowsCursor& cursor, std::size_t most,
                        std::vector<DatumRow>& out) {
  const I8 stop = arguments[1].get<I8>();
  const Interval& step = arguments[2].get<Interval>();
  const repr::Int128 span = repr::interval_span(step);
  if (span == 0) return zero_step();
  return series_rows(
      arguments[0].get<I8>(), cursor, most, out, [&](I8 value) { return span > 0 ? value > stop : value < stop; },
      [&](I8& value) -> Result<bool> {
        value = FRESHET_TRY(repr::add_interval(value, step));
        return true;
      });
}

Result<void> unnest(const DatumRow& arguments, Types, TableRowsCursor& cursor, std::size_t most,
                    std::vector<DatumRow>& out) {
  const auto& elements = arguments[0].get<std::shared_ptr<const repr::ArrayValue>>()->elements;
  const std::size_t begin = static_cast<std::size_t>(cursor.rows);
  const std::size_t end = begin + std::min(most, elements.size() - begin);
  for (std::size_t i = begin; i < end; ++i) out.push_back({elements[i]});
  cursor.done = end == elements.size();
  return {};
}

// The row numbers of a dimension of an array.
Result<void> subscripts(const DatumRow& arguments, Types, TableRowsCursor& cursor, std::size_t most,
                        std::vector<DatumRow>& out) {
  const auto& array = *arguments[0].get<std::shared_ptr<const repr::ArrayValue>>();
  const I4 number = arguments[1].get<I4>();
  if (number < 1 || static_cast<std::size_t>(number) > array.dimensions.size()) {
    cursor.done = true;
    return {};
  }
  const auto& dimension = array.dimensions[static_cast<std::size_t>(number) - 1];
  I4 i = static_cast<I4>(cursor.rows);
  for (std::size_t rows = 0; rows < most && i < dimension.length; ++rows, ++i) {
    out.push_back({Datum(dimension.lower + i)});
  }
  cursor.done = i == dimension.length;
  return {};
}

std::vector<repr::ColumnType> of_first(Types types) { return {{types[0].without_typmod(), false}}; }
std::vector<repr::ColumnType> of_element(Types types) { return {{types[0].element(), true}}; }
std::vector<repr::ColumnType> of_int4(Types) { return {{SqlType(K::kInt4), false}}; }

TableFunctionSpec series(std::initializer_list<K> arguments, decltype(TableFunctionSpec::next) next) {
  TableFunctionSpec spec{};
  spec.name = "generate_series";
  for (const K kind : arguments) spec.arguments.push_back(Arg(kind).type);
  spec.can_fail = true;
  spec.next = next;
  spec.result_types = &of_first;
  spec.result_names = {"generate_series"};
  return spec;
}

}  // namespace

Result<void> next_rows(const TableFunctionSpec& function, const DatumRow& arguments, Types types, TableRowsCursor& at,
                       std::size_t most, std::vector<DatumRow>& out) {
  const std::size_t before = out.size();
  const Result<void> done = function.next(arguments, types, at, most, out);
  at.rows += out.size() - before;
  if (done && at.rows > kMaxRows) {
    return fail(sqlstate::kProgramLimitExceeded, "table function returns too many rows");
  }
  return done;
}

void add_table_functions(FunctionTable& table) {
  table.add_table_function(series({K::kInt4, K::kInt4}, &integers<I4>));
  table.add_table_function(series({K::kInt4, K::kInt4, K::kInt4}, &integers<I4>));
  table.add_table_function(series({K::kInt8, K::kInt8}, &integers<I8>));
  table.add_table_function(series({K::kInt8, K::kInt8, K::kInt8}, &integers<I8>));
  table.add_table_function(series({K::kNumeric, K::kNumeric}, &numerics));
  table.add_table_function(series({K::kNumeric, K::kNumeric, K::kNumeric}, &numerics));
  table.add_table_function(series({K::kTimestamp, K::kTimestamp, K::kInterval}, &timestamps));
  table.add_table_function(series({K::kTimestampTz, K::kTimestampTz, K::kInterval}, &timestamps));
  TableFunctionSpec rows{};
  rows.name = "unnest";
  rows.arguments.push_back(Arg(A::kAnyArray).type);
  rows.next = &unnest;
  rows.result_types = &of_element;
  rows.result_names = {"unnest"};
  table.add_table_function(rows);
  TableFunctionSpec places{};
  places.name = "generate_subscripts";
  places.arguments = {Arg(A::kAnyArray).type, Arg(K::kInt4).type};
  places.next = &subscripts;
  places.result_types = &of_int4;
  places.result_names = {"generate_subscripts"};
  table.add_table_function(places);
}

}  // namespace freshet::expr
