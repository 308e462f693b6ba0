// SPDX-License-Identifier: Apache-2.0
// Grouping with aggregates.
#include <algorithm>

#include <differential/join.h>
#include <differential/reduce.h>

#include "dataflow/accumulate_operator.h"
#include "dataflow/aggregate_program.h"
#include "dataflow/render.h"

namespace freshet::compute {
namespace {

/// Which aggregates are summed, and which read their group.
struct Parts {
  std::vector<std::size_t> summed{};
  std::vector<std::size_t> read{};
};

Parts parts_of(const expr::Lir::Reduce& node, bool in_loop) {
  Parts parts;
  for (std::size_t i = 0; i < node.aggregates.size(); ++i) {
    const expr::Aggregate& aggregate = node.aggregates[i];
    const bool sums = aggregate.spec->aggregate_class == expr::AggregateClass::kAccumulable &&
                      !aggregate.distinct && !in_loop;
    (sums ? parts.summed : parts.read).push_back(i);
  }
  return parts;
}

std::vector<expr::Aggregate> select(const std::vector<expr::Aggregate>& all, const std::vector<std::size_t>& which) {
  std::vector<expr::Aggregate> result;
  for (const std::size_t i : which) result.push_back(all[i]);
  return result;
}

/// From the columns of (summed part ++ read part), both with keys first, to the Reduce's order.
expr::Mfp put_together(std::size_t keys, const Parts& parts) {
  std::vector<std::size_t> columns(keys + parts.summed.size() + parts.read.size());
  const std::size_t second = keys + parts.summed.size();
  for (std::size_t k = 0; k < keys; ++k) columns[k] = k;
  for (std::size_t i = 0; i < parts.summed.size(); ++i) columns[keys + parts.summed[i]] = keys + i;
  for (std::size_t i = 0; i < parts.read.size(); ++i) columns[keys + parts.read[i]] = second + keys + i;
  return expr::Mfp::identity(second + keys + parts.read.size()).project(std::move(columns));
}

}  // namespace

template <typename T>
std::pair<RowStream<T>, ErrorStream<T>> Renderer<T>::summed_part(const Lir::Reduce& node, const RowStream<T>& rows,
                                                                 const ColumnTypes& input, const ColumnTypes& output,
                                                                 const std::vector<std::size_t>& which) {
  if constexpr (kIsLoop<T>) {
    FRESHET_UNREACHABLE();
  } else {
    const auto plan = std::make_shared<const AccumulatePlan>(
        AccumulatePlan{.key_arity = node.key_arity,
                       .output_arity = output.size(),
                       .input_types = input,
                       .error_types = output,
                       .aggregates = select(node.aggregates, which)});
    const RouteRows route{std::make_shared<const KeyEncoder>(plan->key_types()), node.key_arity};
    return split<Rows<T>, ErrorUpdates<T>>(rows, "Accumulate", timely::Exchange{route},
                                           [plan] { return AccumulateOperator(plan); },
                                           timely::FrontierInterest::kIfCapability);
  }
}

template <typename T>
std::pair<RowStream<T>, ErrorStream<T>> Renderer<T>::read_part(const Lir::Reduce& node, const RowStream<T>& rows,
                                                               const ColumnTypes& input, const ColumnTypes& output,
                                                               const std::vector<std::size_t>& which,
                                                               bool may_be_negative) {
  const auto program = std::make_shared<const AggregateProgram>(
      AggregateProgram::Options{.key_arity = node.key_arity,
                                .output_arity = output.size(),
                                .input_types = input,
                                .error_types = output,
                                .aggregates = select(node.aggregates, which),
                                .may_be_negative = may_be_negative});
  const auto updates = rows.unary("GroupRows", timely::Pipeline{}, [program] { return SectionRows<T>(program); },
                                  timely::FrontierInterest::kNever);
  const auto logic = [program](std::string_view key, auto& group, auto& out) { (*program)(key, group, out); };
  const ArrangedRows<T> reduced = differential::reduce_core<differential::RowTrace<T>>(
      arrange_updates(updates, "groups"), "aggregates", logic, options_.block_bytes);
  return untag(reduced, program->output_types(), false);
}

template <typename T>
Bundle<T> Renderer<T>::reduce(const Lir::Reduce& node, const ColumnTypes&) {
  Bundle<T> input = render(node.input);
  const ColumnTypes kv_types = node.key_and_values.output_types(input.types);
  const auto kv = through(stream(input), node.key_and_values, input.types);
  ColumnTypes types(kv_types.begin(), kv_types.begin() + static_cast<std::ptrdiff_t>(node.key_arity));
  for (const expr::Aggregate& aggregate : node.aggregates) types.push_back(aggregate.type());
  // Errors of rows are errors of their groups.
  auto rule = [keys = node.key_arity, arity = types.size()](const expr::ErrorRow& row) {
    const expr::PartialRow known(row.known.begin(), row.known.begin() + static_cast<std::ptrdiff_t>(keys));
    return std::optional(expr::group_error(known, arity, row.error));
  };
  const ErrorStream<T> failed = input.may_be_negative ? present(kv.second) : kv.second;
  std::vector<ErrorStream<T>> errs{
      errors_through(concat({errors_through(input.errs, node.key_and_values, input.types), failed}), rule, kv_types, types)};
  std::optional<RowStream<T>> rows;
  const Parts parts = parts_of(node, kIsLoop<T>);
  if (node.aggregates.empty()) {
    Bundle<T> keys{.types = types, .oks = kv.first, .errs = no_errors()};
    Bundle<T> result = distinct(keys);
    rows = result.oks;
    errs.push_back(result.errs);
  } else if (parts.read.empty()) {
    const auto summed = summed_part(node, kv.first, kv_types, types, parts.summed);
    rows = summed.first;
    errs.push_back(summed.second);
  } else {
    const auto read = read_part(node, kv.first, kv_types, types, parts.read, input.may_be_negative);
    rows = read.first;
    errs.push_back(read.second);
    if (!parts.summed.empty()) {
      const auto summed = summed_part(node, kv.first, kv_types, types, parts.summed);
      errs.push_back(summed.second);
      rows = join_parts(node, summed.first, read.first, kv_types, parts.summed, parts.read);
    } else {
      rows = read.first;
    }
  }
  const auto after = through(*rows, node.after, types);
  errs = {errors_through(concat(errs), node.after, types), after.second};
  return {.types = node.after.output_types(types), .oks = after.first, .errs = concat(errs)};
}

// Both parts have one row for each group, at the same times.
template <typename T>
RowStream<T> Renderer<T>::join_parts(const Lir::Reduce& node, const RowStream<T>& summed, const RowStream<T>& read_rows,
                                     const ColumnTypes& input, const std::vector<std::size_t>& which_summed,
                                     const std::vector<std::size_t>& which_read) {
  const auto bundle = [&](const RowStream<T>& rows, const std::vector<std::size_t>& which) {
    ColumnTypes types(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(node.key_arity));
    for (const std::size_t i : which) types.push_back(node.aggregates[i].type());
    return Bundle<T>{.types = std::move(types), .oks = rows, .errs = no_errors()};
  };
  Bundle<T> first = bundle(summed, which_summed);
  Bundle<T> second = bundle(read_rows, which_read);
  expr::ArrangementKey key;
  for (std::size_t k = 0; k < node.key_arity; ++k) key.push_back(expr::Scalar::column(k, input[k]));
  ColumnTypes joined = first.types;
  joined.insert(joined.end(), second.types.begin(), second.types.end());
  // A group's key may be NULL, and here NULL meets NULL.
  return join_stage(arrange(first, key), arrange(second, key),
                    put_together(node.key_arity, {which_summed, which_read}), joined, /*nulls_match=*/true)
      .rows;
}

#define FRESHET_INSTANTIATE(T) template Bundle<T> Renderer<T>::reduce(const Lir::Reduce&, const ColumnTypes&);

FRESHET_INSTANTIATE(SqlTime)
FRESHET_INSTANTIATE(LoopTime)

}  // namespace freshet::compute
