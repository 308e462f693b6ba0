// SPDX-License-Identifier: Apache-2.0
/// `x op ANY (array)` and `x op ALL (array)`.
#include <freshet/repr/row.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

enum class Truth : std::uint8_t { kFalse, kNull, kTrue };

// The operator between `left` and `right`, each of `rows` values or one; as truths, with errors.
std::vector<Truth> apply(const KernelCall& call, const repr::ColumnPtr& left,
                         const repr::ColumnPtr& right, std::size_t rows, RowErrors& errors) {
  const FunctionSpec& op = *call.kernel->inner;
  const repr::ColumnPtr arguments[] = {left, right};
  const repr::SqlType types[] = {call.types[0], call.types[1].element()};
  KernelCall inner{.arguments = arguments,
                   .types = types,
                   .result_type = repr::SqlType(K::kBool),
                   .rows = rows,
                   .errors = errors,
                   .kernel = op.kernel};
  const repr::ColumnPtr column = op.kernel->evaluate(inner);
  const auto& values = column->values<std::vector<std::uint8_t>>();
  std::vector<Truth> out(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    out[row] = column->is_null(row) ? Truth::kNull : values[row] != 0 ? Truth::kTrue : Truth::kFalse;
  }
  return out;
}

Truth join(Truth a, Truth b, bool any) { return any ? std::max(a, b) : std::min(a, b); }

struct Answer {
  std::vector<std::uint8_t> values;
  std::vector<std::uint8_t> validity{};
  void set(std::size_t row, Truth truth) {
    values[row] = truth == Truth::kTrue ? 1 : 0;
    if (truth == Truth::kNull) set_null(validity, values.size(), row);
  }
};

// One array for all rows (an IN list): one pass over the column for each element.
void constant_array(KernelCall& call, const repr::ArrayValue& array, bool any, Answer& answer) {
  const repr::SqlType& element = call.types[1].element();
  std::vector<Truth> truths(call.rows, any ? Truth::kFalse : Truth::kTrue);
  for (const repr::Datum& datum : array.elements) {
    const auto constant = repr::constant_column(datum, element, 1);
    const auto next = apply(call, call.arguments[0], constant, call.rows, call.errors);
    for (std::size_t row = 0; row < call.rows; ++row) truths[row] = join(truths[row], next[row], any);
  }
  for (std::size_t row = 0; row < call.rows; ++row) answer.set(row, truths[row]);
}

void array_column(KernelCall& call, bool any, Answer& answer) {
  const repr::Column& arrays = *call.arguments[1];
  const repr::Column& lefts = *call.arguments[0];
  const repr::SqlType& element = call.types[1].element();
  const auto& bytes = arrays.values<repr::BytesVector>();
  RowErrors found;
  for (std::size_t row = 0; row < call.rows; ++row) {
    const std::size_t at = arrays.size() == 1 ? 0 : row;
    if (arrays.is_null(at)) {
      answer.set(row, Truth::kNull);
      continue;
    }
    const auto array = repr::decode_array(bytes[at], call.types[1]).value();
    Truth truth = any ? Truth::kFalse : Truth::kTrue;
    if (!array.elements.empty()) {
      repr::ColumnBuilder builder(element.physical());
      for (const repr::Datum& datum : array.elements) builder.append(datum, element);
      const std::uint32_t one[] = {static_cast<std::uint32_t>(lefts.size() == 1 ? 0 : row)};
      RowErrors errors;
      const auto truths =
          apply(call, repr::gather(lefts, one), builder.finish(), array.elements.size(), errors);
      for (const Truth next : truths) truth = join(truth, next, any);
      if (!errors.empty() && call.errors.find(static_cast<std::uint32_t>(row)) == nullptr) {
        found.add(static_cast<std::uint32_t>(row), errors.entries.front().error);
      }
    }
    answer.set(row, truth);
  }
  finish_errors(call, found);
}

repr::ColumnPtr evaluate_quantified(KernelCall& call, bool any) {
  Answer answer{.values = std::vector<std::uint8_t>(call.rows)};
  const repr::Column& arrays = *call.arguments[1];
  if (arrays.size() == 1 && call.rows > 1 && !arrays.is_null(0)) {
    const auto array =
        repr::decode_array(arrays.values<repr::BytesVector>()[0], call.types[1]).value();
    constant_array(call, array, any, answer);
  } else {
    array_column(call, any, answer);
  }
  return make_column(std::move(answer.values), std::move(answer.validity));
}

}  // namespace

repr::ColumnPtr evaluate_any(KernelCall& call) { return evaluate_quantified(call, true); }
repr::ColumnPtr evaluate_all(KernelCall& call) { return evaluate_quantified(call, false); }

}  // namespace freshet::expr
