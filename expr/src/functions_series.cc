// SPDX-License-Identifier: Apache-2.0
/// Table functions: generate_series and unnest.
#include <memory>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>

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
constexpr std::size_t kMaxRows = 50'000'000;

base::Unexpected too_many() {
  return fail(sqlstate::kProgramLimitExceeded, "table function returns too many rows");
}
base::Unexpected zero_step() {
  return fail(sqlstate::kInvalidParameterValue, "step size cannot equal zero");
}

template <typename T>
Result<void> integers(const DatumRow& arguments, Types, std::vector<DatumRow>& out) {
  T at = arguments[0].get<T>();
  const T stop = arguments[1].get<T>();
  const T step = arguments.size() > 2 ? arguments[2].get<T>() : T{1};
  if (step == 0) return zero_step();
  for (std::size_t rows = 0; step > 0 ? at <= stop : at >= stop; ++rows) {
    if (rows == kMaxRows) return too_many();
    out.push_back({Datum(at)});
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return {};
}

Result<void> check_series(const Numeric& value, const char* what) {
  if (value.is_nan()) return fail(sqlstate::kInvalidParameterValue, std::string(what) + " value cannot be NaN");
  if (value.is_infinite()) {
    return fail(sqlstate::kInvalidParameterValue, std::string(what) + " value cannot be infinity");
  }
  return {};
}

Result<void> numerics(const DatumRow& arguments, Types, std::vector<DatumRow>& out) {
  Numeric at = arguments[0].get<Numeric>();
  const Numeric& stop = arguments[1].get<Numeric>();
  const Numeric step = arguments.size() > 2 ? arguments[2].get<Numeric>() : Numeric(1);
  FRESHET_TRY(check_series(at, "start"));
  FRESHET_TRY(check_series(stop, "stop"));
  if (step.is_nan()) return fail(sqlstate::kInvalidParameterValue, "step size cannot be NaN");
  if (step.is_infinite()) return fail(sqlstate::kInvalidParameterValue, "step size cannot be infinity");
  if (step.is_zero()) return zero_step();
  for (std::size_t rows = 0; step.is_negative() ? at >= stop : at <= stop; ++rows) {
    if (rows == kMaxRows) return too_many();
    out.push_back({Datum(at)});
    at = FRESHET_TRY(at.add(step));
  }
  return {};
}

Result<void> timestamps(const DatumRow& arguments, Types, std::vector<DatumRow>& out) {
  I8 at = arguments[0].get<I8>();
  const I8 stop = arguments[1].get<I8>();
  const Interval& step = arguments[2].get<Interval>();
  const repr::Int128 span = repr::interval_span(step);
  if (span == 0) return zero_step();
  for (std::size_t rows = 0; span > 0 ? at <= stop : at >= stop; ++rows) {
    if (rows == kMaxRows) return too_many();
    out.push_back({Datum(at)});
    at = FRESHET_TRY(repr::add_interval(at, step));
  }
  return {};
}

Result<void> unnest(const DatumRow& arguments, Types, std::vector<DatumRow>& out) {
  for (const Datum& element : arguments[0].get<std::shared_ptr<const repr::ArrayValue>>()->elements) {
    out.push_back({element});
  }
  return {};
}

// The row numbers of a dimension of an array.
Result<void> subscripts(const DatumRow& arguments, Types, std::vector<DatumRow>& out) {
  const auto& array = *arguments[0].get<std::shared_ptr<const repr::ArrayValue>>();
  const I4 number = arguments[1].get<I4>();
  if (number < 1 || static_cast<std::size_t>(number) > array.dimensions.size()) return {};
  const auto& dimension = array.dimensions[static_cast<std::size_t>(number) - 1];
  for (I4 i = 0; i < dimension.length; ++i) out.push_back({Datum(dimension.lower + i)});
  return {};
}

std::vector<repr::ColumnType> of_first(Types types) { return {{types[0].without_typmod(), false}}; }
std::vector<repr::ColumnType> of_element(Types types) { return {{types[0].element(), true}}; }
std::vector<repr::ColumnType> of_int4(Types) { return {{SqlType(K::kInt4), false}}; }

TableFunctionSpec series(std::initializer_list<K> arguments, decltype(TableFunctionSpec::apply) apply) {
  TableFunctionSpec spec{};
  spec.name = "generate_series";
  for (const K kind : arguments) spec.arguments.push_back(Arg(kind).type);
  spec.can_fail = true;
  spec.apply = apply;
  spec.result_types = &of_first;
  spec.result_names = {"generate_series"};
  return spec;
}

}  // namespace

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
  rows.apply = &unnest;
  rows.result_types = &of_element;
  rows.result_names = {"unnest"};
  table.add_table_function(rows);
  TableFunctionSpec places{};
  places.name = "generate_subscripts";
  places.arguments = {Arg(A::kAnyArray).type, Arg(K::kInt4).type};
  places.apply = &subscripts;
  places.result_types = &of_int4;
  places.result_names = {"generate_subscripts"};
  table.add_table_function(places);
}

}  // namespace freshet::expr
