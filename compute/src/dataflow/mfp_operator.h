// SPDX-License-Identifier: Apache-2.0
/// Map, filter and project on an edge; also the last step inside other operators.
#pragma once

#include <memory>

#include <freshet/expr/eval.h>
#include <timely/operator.h>

#include "dataflow/error_flow.h"
#include "dataflow/future_times.h"
#include "dataflow/rows.h"

namespace freshet::compute {

/// An `Mfp` ready to be applied to messages, shared by all workers.
class MfpStep {
 public:
  /// A temporal step tells `futures` (unless null) when its rows will appear and vanish.
  MfpStep(expr::Mfp mfp, ColumnTypes types, SqlTime until, std::shared_ptr<FutureTimes> futures = nullptr);

  [[nodiscard]] const expr::Mfp& mfp() const { return evaluator_.mfp(); }
  [[nodiscard]] const ColumnTypes& input_types() const { return types_; }
  [[nodiscard]] bool is_identity() const { return identity_; }
  [[nodiscard]] const std::vector<std::size_t>& demand() const { return demand_; }

  /// The rows that come out; the errors of those that failed are appended. Columns outside `demand` may
  /// be null.
  template <typename T>
  Rows<T> apply(const Rows<T>& rows, ErrorUpdates<T>& errors) const;

 private:
  template <typename T>
  Rows<T> apply_temporal(const Rows<T>& rows, ErrorUpdates<T>& errors) const;
  template <typename T>
  void add_errors(const expr::MfpOutput& output, const Rows<T>& rows, ErrorUpdates<T>& errors) const;

  ColumnTypes types_;
  ColumnTypes output_types_;
  expr::MfpEvaluator evaluator_;
  std::vector<std::size_t> demand_;
  SqlTime until_;
  std::shared_ptr<FutureTimes> futures_;
  bool identity_;
};
using MfpStepPtr = std::shared_ptr<const MfpStep>;

template <typename T>
class MfpOperator {
 public:
  explicit MfpOperator(MfpStepPtr step) : mfp_(std::move(step)) {}
  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, Rows<T>>& oks,
            timely::Output<T, ErrorUpdates<T>>& errs) {
    input.for_each([&](const timely::Capability<T>& at, Rows<T> rows) {
      ErrorUpdates<T> errors;
      Rows<T> result = mfp_->apply(rows, errors);
      if (result.size() > 0) oks.give(at, std::move(result));
      if (!errors.empty()) errs.give(at, std::move(errors));
    });
  }

 private:
  MfpStepPtr mfp_;
};

/// Error rows through any linear rule.
using ErrorRule = std::function<std::optional<expr::ErrorRow>(expr::ErrorRow)>;

template <typename T>
class ErrorMap {
 public:
  ErrorMap(ErrorRule rule, ColumnTypes from, ColumnTypes to)
      : rule_(std::move(rule)), from_(std::move(from)), to_(std::move(to)) {}
  void step(timely::Input<T, ErrorUpdates<T>>& input, timely::Output<T, ErrorUpdates<T>>& output) {
    input.for_each([&](const timely::Capability<T>& at, ErrorUpdates<T> errors) {
      ErrorUpdates<T> result;
      for (auto& update : errors) {
        std::optional<expr::ErrorRow> row = rule_(expr::decode_error_row(update.data, from_).value());
        if (!row) continue;
        result.push_back({expr::encode_error_row(*row, to_), update.time, update.diff});
      }
      if (!result.empty()) output.give(at, std::move(result));
    });
  }

 private:
  ErrorRule rule_;
  ColumnTypes from_;
  ColumnTypes to_;
};

template <typename T>
class NegateOperator {
 public:
  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, Rows<T>>& output) {
    input.for_each([&](const timely::Capability<T>& at, Rows<T> rows) {
      rows.chunk = rows.chunk.negated();
      output.give(at, std::move(rows));
    });
  }
};

}  // namespace freshet::compute
