// SPDX-License-Identifier: Apache-2.0
// What the accumulating operator keeps.
#include <memory>

#include <catch2/catch.hpp>

#include <freshet/expr/functions.h>
#include <freshet/repr/text.h>
#include <timely/runtime.h>
#include <timely/sim_executor.h>

#include "dataflow/accumulate_operator.h"
#include "dataflow/render.h"

namespace freshet::compute {
namespace {

/// The operator alone on one worker, counting rows by one column.
class CountByKey {
 public:
  explicit CountByKey(repr::TypeKind key) : key_(key), executor_(1), runtime_(executor_, {.workers = 1, .scheduler = &executor_.scheduler()}) {
    const auto plan = std::make_shared<AccumulatePlan>();
    plan->key_arity = 1;
    plan->output_arity = 2;
    plan->input_types = {{key, true}};
    plan->error_types = {{key, true}, {repr::TypeKind::kInt8, false}};
    plan->aggregates.push_back({.spec = expr::aggregate_by_signature("count(*)")});
    operator_ = std::make_shared<AccumulateOperator>(plan);
    runtime_.dataflow<SqlTime>("count", [&](timely::Scope<SqlTime>& scope) {
      auto rows = scope.source<Rows<SqlTime>>("Script", [this](timely::Setup<SqlTime>& setup) {
        activator_ = setup.activator();
        at_ = setup.capability();
        return [this](timely::Output<SqlTime, Rows<SqlTime>>& output) {
          if (script_.size() > 0) output.give(at_, std::exchange(script_, {}));
          at_.downgrade(next_);
        };
      });
      auto results = split<Rows<SqlTime>, ErrorUpdates<SqlTime>>(
          rows, "Accumulate", timely::Pipeline{},
          [this] {
            return [op = operator_](timely::Input<SqlTime, Rows<SqlTime>>& input, timely::Output<SqlTime, Rows<SqlTime>>& oks,
                                    timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs, timely::Context& context) {
              op->step(input, oks, errs, context);
            };
          },
          timely::FrontierInterest::kAlways);
      results.first.sink(
          "Receive", timely::Pipeline{},
          [this] {
            return [this](timely::Input<SqlTime, Rows<SqlTime>>& input) {
              input.for_each([this](const timely::Capability<SqlTime>&, Rows<SqlTime> message) {
                for (std::size_t i = 0; i < message.size(); ++i) shown_ += message.chunk.diff(i);
              });
            };
          },
          timely::FrontierInterest::kNever);
    });
    runtime_.run_until_idle();
  }
  ~CountByKey() { at_ = timely::Capability<SqlTime>(); }

  /// `diff` more of each key in [begin, end), at the next time.
  void change(int begin, int end, Diff diff) {
    repr::ColumnBuilder column(repr::SqlType(key_).physical());
    TimesBuilder<SqlTime> times;
    for (int i = begin; i < end; ++i) {
      column.append(repr::from_text(std::to_string(i), key_).value(), key_);
      times.push(next_, diff);
    }
    std::vector<repr::ColumnPtr> columns;
    columns.push_back(column.finish());
    script_ = times.finish(std::move(columns));
    ++next_;
    activator_.activate();
    runtime_.run_until_idle();
  }
  [[nodiscard]] std::size_t groups() const { return operator_->groups(); }
  /// How many rows it shows now.
  [[nodiscard]] Diff shown() const { return shown_; }

 private:
  repr::TypeKind key_;
  std::shared_ptr<AccumulateOperator> operator_{};
  timely::Capability<SqlTime> at_{};
  timely::Activator activator_{};
  Rows<SqlTime> script_{};
  SqlTime next_ = 0;
  Diff shown_ = 0;
  timely::SimExecutor executor_;
  timely::Runtime runtime_;
};

TEST_CASE("accumulate: groups that are gone are forgotten", "[compute]") {
  // Keys of numbers with a scale have forms, integers have none.
  CountByKey count(GENERATE(repr::TypeKind::kInt8, repr::TypeKind::kNumeric));
  count.change(0, 100, 1);
  for (int round = 1; round <= 20; ++round) {
    count.change(round * 1000, (round + 1) * 1000, 1);
    CHECK(count.shown() == 1100);
    count.change(round * 1000, (round + 1) * 1000, -1);
    CHECK(count.shown() == 100);
  }
  CHECK(count.groups() < 5000);
}

}  // namespace
}  // namespace freshet::compute
