// SPDX-License-Identifier: Apache-2.0
// Nodes that look at whole groups, but for aggregates: distinct, top-k, threshold.
#include <differential/reduce.h>

#include "dataflow/group_operators.h"
#include "dataflow/render.h"

namespace freshet::compute {

template <typename T>
Bundle<T> Renderer<T>::distinct(Bundle<T>& input) {
  const ColumnTypes types = input.types;
  const bool by_iteration = kIsLoop<T> && repr::RowCodec(sql_types(types)).has_forms();
  const auto updates = stream(input).unary(
      "Distinct", timely::Pipeline{}, [types, by_iteration] { return KeyRows<T>(types, true, by_iteration); },
      timely::FrontierInterest::kNever);
  const ArrangedRows<T> reduced = differential::reduce_core<differential::RowTrace<T>>(
      arrange_updates(updates, "distinct"), "distinct", DistinctLogic{types, by_iteration}, options_.block_bytes);
  const auto rows = untag(reduced, types, true);
  return {.types = types, .oks = rows.first, .errs = concat({input.errs, rows.second})};
}

template <typename T>
Bundle<T> Renderer<T>::top_k(const Lir::TopK& node, const ColumnTypes& types) {
  Bundle<T> input = render(node.input);
  const auto updates = stream(input).unary(
      "OrderRows", timely::Pipeline{}, [node, types] { return OrderRows<T>(types, node.group_key, node.order); },
      timely::FrontierInterest::kNever);
  const auto program = std::make_shared<const TopKProgram>(node, types, input.may_be_negative);
  const auto logic = [program](std::string_view key, auto& group, auto& output) {
    (*program)(key, group, output);
  };
  const ArrangedRows<T> reduced = differential::reduce_core<differential::RowTrace<T>>(
      arrange_updates(updates, "top k"), "top k", logic, options_.block_bytes);
  const auto rows = untag(reduced, types, false);
  auto rule = [group_key = node.group_key](const expr::ErrorRow& row) {
    return std::optional(expr::top_k_error(group_key, row));
  };
  return {.types = types,
          .oks = rows.first,
          .errs = concat({errors_through(input.errs, std::move(rule), types, types), rows.second})};
}

template <typename T>
Bundle<T> Renderer<T>::threshold(const Lir::Threshold& node) {
  Bundle<T> input = render(node.input);
  const ColumnTypes types = input.types;
  const auto updates =
      stream(input).unary("Threshold", timely::Pipeline{}, [types] { return KeyRows<T>(types, true); },
                          timely::FrontierInterest::kNever);
  const ArrangedRows<T> reduced = differential::reduce_core<differential::RowTrace<T>>(
      arrange_updates(updates, "threshold"), "threshold", ThresholdLogic{}, options_.block_bytes);
  const auto rows = untag(reduced, types, true);
  return {.types = types, .oks = rows.first, .errs = input.errs};
}

template Bundle<SqlTime> Renderer<SqlTime>::distinct(Bundle<SqlTime>&);
template Bundle<SqlTime> Renderer<SqlTime>::top_k(const Lir::TopK&, const ColumnTypes&);
template Bundle<SqlTime> Renderer<SqlTime>::threshold(const Lir::Threshold&);
template Bundle<LoopTime> Renderer<LoopTime>::distinct(Bundle<LoopTime>&);
template Bundle<LoopTime> Renderer<LoopTime>::top_k(const Lir::TopK&, const ColumnTypes&);
template Bundle<LoopTime> Renderer<LoopTime>::threshold(const Lir::Threshold&);

}  // namespace freshet::compute
