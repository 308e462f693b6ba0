// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/expr/aggregate.h>

#include "naive_rows.h"

namespace freshet::expr::naive {
namespace {

using Values = std::span<const CountedRow>;

std::vector<repr::SqlType> argument_types(const Aggregate& aggregate) {
  std::vector<repr::SqlType> out;
  for (const Scalar& argument : aggregate.arguments) out.push_back(argument.type().type);
  return out;
}

/// (arguments ++ order columns)
repr::RowCodec value_codec(const Aggregate& aggregate) {
  std::vector<repr::SqlType> types = argument_types(aggregate);
  for (const auto& by : aggregate.order_by) types.push_back(by.expression.type().type);
  return repr::RowCodec(std::move(types));
}

bool ignores_null(const Aggregate& aggregate) {
  return !aggregate.arguments.empty() && aggregate.spec->kind != AggregateKind::kArrayAgg;
}

/// Equal rows together, in canonical order; an error if one has a negative count.
Result<std::vector<CountedRow>> consolidated(const Aggregate& aggregate, Values rows) {
  const repr::RowCodec codec = value_codec(aggregate);
  std::map<std::string, CountedRow> sums;
  for (const CountedRow& counted : rows) {
    if (ignores_null(aggregate) && counted.row[0].is_null()) continue;
    CountedRow& sum = sums[codec.encode(counted.row)];
    sum.row = counted.row;
    sum.diff += counted.diff;
  }
  std::vector<CountedRow> out;
  for (auto& [bytes, sum] : sums) {
    if (sum.diff < 0) return fail(negative_multiplicity());
    if (sum.diff > 0) out.push_back(std::move(sum));
  }
  return out;
}

std::string argument_key(const Aggregate& aggregate, const DatumRow& row) {
  std::string key;
  for (std::size_t i = 0; i < aggregate.arguments.size(); ++i) {
    key += repr::encode_key(row[i], aggregate.arguments[i].type().type);
  }
  return key;
}

/// The first of each value of the arguments, once.
std::vector<CountedRow> distinct(const Aggregate& aggregate, std::vector<CountedRow> rows) {
  std::map<std::string, CountedRow> first;
  for (CountedRow& counted : rows) {
    counted.diff = 1;
    first.try_emplace(argument_key(aggregate, counted.row), std::move(counted));
  }
  std::vector<CountedRow> out;
  for (auto& [key, counted] : first) out.push_back(std::move(counted));
  return out;
}

Result<Datum> accumulate(const Aggregate& aggregate, Values rows) {
  Accumulators::Call call{aggregate.spec, {}};
  Accumulators::Input input;
  std::vector<Diff> diffs;
  for (const CountedRow& counted : rows) diffs.push_back(counted.diff);
  if (!aggregate.arguments.empty()) {
    call.argument = {aggregate.arguments[0].type().type, true};
    repr::ColumnBuilder builder(call.argument.type.physical());
    for (const CountedRow& counted : rows) builder.append(counted.row[0], call.argument.type);
    input.argument = builder.finish();
  }
  AccumulatorSet set;
  const Accumulators accumulators({call});
  const std::vector<std::uint32_t> groups(rows.size(), 0);
  accumulators.accumulate({&input, 1}, groups, diffs, {&set, 1});
  return accumulators.finish(set, 0);
}

/// `rows` in canonical order: the first of the least, or of the greatest, value.
Datum extremum(const Aggregate& aggregate, Values rows) {
  if (rows.empty()) return {};
  if (aggregate.spec->kind == AggregateKind::kMin) return rows.front().row[0];
  const std::string last = argument_key(aggregate, rows.back().row);
  for (const CountedRow& counted : rows) {
    if (argument_key(aggregate, counted.row) == last) return counted.row[0];
  }
  FRESHET_UNREACHABLE();
}

Result<Datum> in_order(const Aggregate& aggregate, std::vector<CountedRow> rows) {
  const std::size_t arguments = aggregate.arguments.size();
  // A stable sort: ties stay in the canonical order of (arguments, order), in which `arguments` decide first.
  std::stable_sort(rows.begin(), rows.end(), [&](const CountedRow& a, const CountedRow& b) {
    for (std::size_t i = 0; i < aggregate.order_by.size(); ++i) {
      const auto& by = aggregate.order_by[i];
      const Datum& x = a.row[arguments + i];
      const Datum& y = b.row[arguments + i];
      if (x.is_null() && y.is_null()) continue;
      if (x.is_null() || y.is_null()) return y.is_null() == by.nulls_last;
      const auto order = compare(x, y, by.expression.type().type);
      if (order != 0) return by.descending ? order > 0 : order < 0;
    }
    return false;
  });
  OrderedAggregate out(*aggregate.spec, argument_types(aggregate));
  for (const CountedRow& counted : rows) {
    const DatumRow row(counted.row.begin(), counted.row.begin() + static_cast<std::ptrdiff_t>(arguments));
    if (out.add(row, counted.diff)) break;
  }
  return out.finish();
}

}  // namespace

Result<Datum> aggregate_rows(const Aggregate& aggregate, Values rows) {
  const bool accumulable = aggregate.spec->aggregate_class == AggregateClass::kAccumulable;
  if (accumulable && !aggregate.distinct) return accumulate(aggregate, rows);
  std::vector<CountedRow> values = FRESHET_TRY(consolidated(aggregate, rows));
  if (aggregate.distinct) values = distinct(aggregate, std::move(values));
  switch (aggregate.spec->aggregate_class) {
    case AggregateClass::kAccumulable:
      return accumulate(aggregate, values);
    case AggregateClass::kExtremum:
      return extremum(aggregate, values);
    case AggregateClass::kOrdered:
      return in_order(aggregate, std::move(values));
  }
  FRESHET_UNREACHABLE();
}

}  // namespace freshet::expr::naive
