// SPDX-License-Identifier: Apache-2.0
#include "function_table.h"

namespace freshet::expr {

void add_aggregates(FunctionTable& table) {
  using Kind = AggregateKind;
  constexpr auto kSums = AggregateClass::kAccumulable;
  table.add_aggregate("count", {A::kAny}, K::kInt8, kSums, Kind::kCount);
  table.add_aggregate("count", {}, K::kInt8, kSums, Kind::kCountStar);
  table.add_aggregate("sum", {K::kInt8}, K::kNumeric, kSums, Kind::kSumInt8);
  table.add_aggregate("sum", {K::kInt4}, K::kInt8, kSums, Kind::kSumInt4);
  table.add_aggregate("sum", {K::kInt2}, K::kInt8, kSums, Kind::kSumInt2);
  table.add_aggregate("sum", {K::kFloat4}, K::kFloat4, kSums, Kind::kSumFloat4);
  table.add_aggregate("sum", {K::kFloat8}, K::kFloat8, kSums, Kind::kSumFloat8);
  table.add_aggregate("sum", {K::kInterval}, K::kInterval, kSums, Kind::kSumInterval);
  table.add_aggregate("sum", {K::kNumeric}, K::kNumeric, kSums, Kind::kSumNumeric);
  table.add_aggregate("avg", {K::kInt8}, K::kNumeric, kSums, Kind::kAvgInt8);
  table.add_aggregate("avg", {K::kInt4}, K::kNumeric, kSums, Kind::kAvgInt4);
  table.add_aggregate("avg", {K::kInt2}, K::kNumeric, kSums, Kind::kAvgInt2);
  table.add_aggregate("avg", {K::kNumeric}, K::kNumeric, kSums, Kind::kAvgNumeric);
  table.add_aggregate("avg", {K::kFloat4}, K::kFloat8, kSums, Kind::kAvgFloat4);
  table.add_aggregate("avg", {K::kFloat8}, K::kFloat8, kSums, Kind::kAvgFloat8);
  table.add_aggregate("avg", {K::kInterval}, K::kInterval, kSums, Kind::kAvgInterval);
  table.add_aggregate("bool_and", {K::kBool}, K::kBool, kSums, Kind::kBoolAnd);
  table.add_aggregate("every", {K::kBool}, K::kBool, kSums, Kind::kBoolAnd);
  table.add_aggregate("bool_or", {K::kBool}, K::kBool, kSums, Kind::kBoolOr);
  for (const auto& [name, kind] :
       {std::pair{"max", Kind::kMax}, std::pair{"min", Kind::kMin}}) {
    for (const K type : {K::kInt8, K::kInt4, K::kInt2, K::kOid, K::kFloat4, K::kFloat8, K::kDate, K::kTime,
                         K::kTimestamp, K::kTimestampTz, K::kInterval, K::kText, K::kNumeric, K::kBpchar}) {
      table.add_aggregate(name, {type}, type, AggregateClass::kExtremum, kind);
    }
    table.add_aggregate(name, {A::kAnyArray}, A::kAnyArray, AggregateClass::kExtremum, kind);
  }
  constexpr auto kOrdered = AggregateClass::kOrdered;
  table.add_aggregate("string_agg", {K::kText, K::kText}, K::kText, kOrdered, Kind::kStringAgg);
  table.add_aggregate("string_agg", {K::kBytea, K::kBytea}, K::kBytea, kOrdered, Kind::kByteaAgg);
  // The result of array_agg(anyarray) is an array of the same element type with one dimension more.
  table.add_aggregate("array_agg", {A::kAnyNonArray}, A::kAnyArray, kOrdered, Kind::kArrayAgg);
  table.add_aggregate("array_agg", {A::kAnyArray}, A::kAnyArray, kOrdered, Kind::kArrayAgg);
}

}  // namespace freshet::expr
