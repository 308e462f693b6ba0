// SPDX-License-Identifier: Apache-2.0
/// Drives one operator with one input and one output, and shows what it sent and its output frontier.
///
/// It runs the operator on one simulated worker, to rest after each call, so tests read as scripts. Look at
/// `output_frontier` too: an operator that keeps a capability too long is invisible otherwise.
///
///     testing::OperatorHarness<Time, Batch, Settle> settle([] { return Settle(); });
///     settle.send(2, {{7, 3, +1}});
///     settle.advance_to({3});
///     CHECK(settle.received().empty());
///     CHECK(settle.output_frontier() == timely::Antichain<Time>{3});
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <timely/input.h>
#include <timely/probe.h>
#include <timely/runtime.h>
#include <timely/sim_executor.h>
#include <timely/unary.h>

namespace testing {

/// `Op` has `step(Input<T, In>&, Output<T, Out>&)`; it is default-constructed unless a factory is given.
template <typename T, typename In, typename Op, typename Out = In>
class OperatorHarness {
 public:
  OperatorHarness() : OperatorHarness([] { return Op(); }) {}

  template <typename Factory>
  explicit OperatorHarness(Factory factory,
                           timely::FrontierInterest interest = timely::FrontierInterest::kAlways)
      : executor_(1), runtime_(executor_, {.workers = 1, .scheduler = &executor_.scheduler()}) {
    runtime_.template dataflow<T>("harness", [&](timely::Scope<T>& scope) {
      // The source gives up its right only as the test says, so it holds an antichain of times.
      auto source = scope.template source<In>("Script", [this](timely::Setup<T>& setup) {
        activator_ = setup.activator();
        capability_ = setup.capability();
        return [this](timely::Output<T, In>& output) { play(output); };
      });
      auto result = source.template unary<Out>("Operator", timely::Pipeline{}, std::move(factory), interest);
      probe_ = result.probe();
      result.sink(
          "Receive", timely::Pipeline{},
          [this] {
            return [this](timely::Input<T, Out>& input) {
              input.for_each([this](const timely::Capability<T>& at, Out message) {
                messages_.emplace_back(at.times(), std::move(message));
              });
            };
          },
          timely::FrontierInterest::kNever);
    });
    runtime_.run_until_idle();
  }
  // Logic and capability live in the runtime, which is destroyed first, while `this` still stands.
  ~OperatorHarness() { capability_ = timely::Capability<T>(); }
  OperatorHarness(const OperatorHarness&) = delete;
  OperatorHarness& operator=(const OperatorHarness&) = delete;

  /// Delivers a message at `time`, which the input frontier must cover.
  void send(const T& time, In message) {
    script_.push_back({timely::Antichain<T>{time}, std::move(message)});
    run();
  }
  void send_at(timely::Antichain<T> times, In message) {
    script_.push_back({std::move(times), std::move(message)});
    run();
  }
  /// Moves the input frontier.
  void advance_to(timely::Antichain<T> frontier) {
    next_ = std::move(frontier);
    advance_ = true;
    run();
  }
  /// No more input.
  void close() { advance_to({}); }
  /// Runs the operator again without a cause, as an activator would; lets timers pass.
  void run() {
    activator_.activate();
    do {
      runtime_.run_until_idle();
    } while (executor_.advance_to_next_timer());
  }

  /// All that was sent so far, in order, as one container.
  [[nodiscard]] Out received() const {
    Out all;
    for (const auto& [times, message] : messages_) all.insert(all.end(), message.begin(), message.end());
    return all;
  }
  /// Each message with its times.
  [[nodiscard]] const std::vector<std::pair<timely::Antichain<T>, Out>>& messages() const { return messages_; }
  [[nodiscard]] std::size_t batches() const { return messages_.size(); }
  /// Forgets what was sent so far.
  void forget() { messages_.clear(); }
  [[nodiscard]] timely::Antichain<T> output_frontier() const { return probe_.frontier(); }

 private:
  void play(timely::Output<T, In>& output) {
    for (auto& [times, message] : std::exchange(script_, {})) {
      output.give(capability_.delayed(times), std::move(message));
    }
    if (!std::exchange(advance_, false)) return;
    if (next_.empty()) {
      capability_ = timely::Capability<T>();
    } else {
      capability_.downgrade(next_);
    }
  }

  timely::Capability<T> capability_;
  timely::Activator activator_;
  std::vector<std::pair<timely::Antichain<T>, In>> script_;
  timely::Antichain<T> next_;
  bool advance_ = false;
  std::vector<std::pair<timely::Antichain<T>, Out>> messages_;
  timely::SimExecutor executor_;
  timely::Runtime runtime_;
  timely::ProbeHandle<T> probe_;
};

}  // namespace testing
