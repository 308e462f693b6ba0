// SPDX-License-Identifier: Apache-2.0
/// A collection that is written in the plan.
#pragma once

#include <memory>
#include <optional>

#include <freshet/expr/lir.h>
#include <timely/operator.h>

#include "dataflow/error_flow.h"
#include "dataflow/rows.h"

namespace freshet::compute {

struct ConstantParts {
  Rows<SqlTime> rows{};
  ErrorUpdates<SqlTime> errors{};
};

ConstantParts constant_parts(const expr::Lir::Constant& node, const ColumnTypes& types, SqlTime time);

/// Sends a constant once, from the first worker.
class ConstantOperator {
 public:
  ConstantOperator(timely::Setup<SqlTime>& setup, std::shared_ptr<const ConstantParts> parts, SqlTime as_of)
      : parts_(std::move(parts)) {
    if (setup.worker() != 0) return;
    oks_at_ = setup.capability(0);
    errs_at_ = setup.capability(1);
    oks_at_->downgrade(as_of);
    errs_at_->downgrade(as_of);
    setup.activate();
  }
  void step(timely::Output<SqlTime, Rows<SqlTime>>& oks, timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs) {
    if (!oks_at_) return;
    if (parts_->rows.size() > 0) oks.give(*oks_at_, parts_->rows);
    if (!parts_->errors.empty()) errs.give(*errs_at_, parts_->errors);
    oks_at_.reset();
    errs_at_.reset();
  }

 private:
  std::shared_ptr<const ConstantParts> parts_;
  std::optional<timely::Capability<SqlTime>> oks_at_;
  std::optional<timely::Capability<SqlTime>> errs_at_;
};

}  // namespace freshet::compute
