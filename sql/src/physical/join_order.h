// SPDX-License-Identifier: Apache-2.0
/// In which order the inputs of a join are joined, and by which keys they are looked up.
#pragma once

#include <functional>
#include <vector>

#include <freshet/expr/lir.h>

#include "optimize/rewrite.h"

namespace freshet::sql::physical {

using expr::ArrangementKey;
using expr::Relation;
using expr::Scalar;
using passes::Span;

/// What is known of one input.
struct JoinInput {
  Span span;                                         ///< Of the joined columns.
  std::vector<std::vector<std::size_t>> unique_keys; ///< Over its own columns.
  bool has_literal_filter = false;
  bool has_filter = false;
  /// True if it is arranged by this key (over its own columns) already.
  std::function<bool(const ArrangementKey&)> is_arranged;
};

struct JoinStep {
  std::size_t input = 0;
  ArrangementKey lookup_key{};  ///< Over the input's own columns.
  ArrangementKey stream_key{};  ///< Over all joined columns; pairwise equal to `lookup_key`.
};
struct JoinOrder {
  std::size_t source = 0;
  std::vector<JoinStep> steps{};
};

using Classes = std::vector<std::vector<Scalar>>;

/// The greedy order that begins with `source`: next comes the input that is looked up best.
JoinOrder order_from(std::size_t source, const std::vector<JoinInput>& inputs, const Classes& classes);
/// The order as written.
JoinOrder written_order(const std::vector<JoinInput>& inputs, const Classes& classes);
/// The order whose worst step is best.
JoinOrder best_order(const std::vector<JoinInput>& inputs, const Classes& classes);
/// One order from every input, if each arrangement that they need exists already (or if `eager`, and there is
/// no cross join); empty otherwise.
std::vector<JoinOrder> delta_orders(const std::vector<JoinInput>& inputs, const Classes& classes, bool eager);

}  // namespace freshet::sql::physical
