// SPDX-License-Identifier: Apache-2.0
/// Workers, and the dataflows that run on them.
///
/// A dataflow is described once, on the calling thread; its operators' factories are then called
/// once per worker. Nothing runs unless there is work; threads come from the executor, and a caller
/// of `step_while` is one of them.
///
/// Lifetime: the executor outlives the runtime; the runtime's destructor drops all dataflows.
/// Thread safety: all methods, from any thread but a worker's own operators (which may use
/// activators).
///
///     auto executor = timely::make_tbb_executor({.threads = 2});
///     timely::Runtime runtime(*executor, {.workers = 2});
///     timely::InputHandle<uint64_t, Numbers> input;
///     timely::ProbeHandle<uint64_t> probe;
///     runtime.dataflow<uint64_t>("evens", [&](timely::Scope<uint64_t>& scope) {
///       auto [handle, numbers] = scope.input<Numbers>();
///       input = std::move(handle);
///       probe = numbers.filter([](uint64_t n) { return n % 2 == 0; }).probe();
///     });
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <freshet/base/result.h>
#include <timely/detail/describe.h>
#include <timely/executor.h>
#include <timely/instances.h>
#include <timely/scope.h>

namespace timely {

struct DataflowOptions {
  std::string name;
  /// On how many workers it runs, from worker 0 on; 0 means all.
  std::size_t width = 0;
  Lane lane = Lane::kLatency;
};

/// Names an installed dataflow. A copy names the same; letting go of it changes nothing.
class Dataflow {
 public:
  Dataflow() = default;
  explicit Dataflow(detail::DataflowRef state) : state_(std::move(state)) {}

  [[nodiscard]] bool valid() const { return static_cast<bool>(state_); }
  [[nodiscard]] std::uint64_t id() const { return state_->id(); }
  [[nodiscard]] const std::string& name() const { return state_->name(); }
  [[nodiscard]] std::size_t width() const { return state_->width(); }
  /// By the index that events carry.
  [[nodiscard]] const std::vector<std::string>& operator_names() const {
    return state_->operator_names;
  }
  /// The graph of each scope in Graphviz's language; `*` marks places whose frontier somebody
  /// watches.
  [[nodiscard]] const std::string& graphviz() const { return state_->graphviz; }
  /// True once no message and no capability is left: nothing will ever happen again.
  [[nodiscard]] bool complete() const { return state_->complete(); }
  /// Stops it on all workers, soon, whatever is in flight. Other dataflows do not notice. Probes
  /// stay where they are; what input handles still send is thrown away.
  void drop() { state_->drop(); }
  [[nodiscard]] bool dropped() const { return state_->dropped(); }

 private:
  detail::DataflowRef state_;
};

class Runtime {
 public:
  struct Options {
    std::size_t workers = 1;
    /// For timers; without it `activate_after` is not allowed.
    base::Scheduler* scheduler = nullptr;
    EventLog* events = nullptr;
  };

  Runtime(Executor& executor, Options options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] std::size_t workers() const { return core_->workers.size(); }
  [[nodiscard]] Executor& executor() const { return core_->executor; }

  /// Describes and installs a dataflow: calls `describe(Scope<T>&)`. A bug in the description (a
  /// cycle that does not advance time) aborts; `try_dataflow` returns it as an error instead.
  template <Timestamp T, typename F>
  Dataflow dataflow(DataflowOptions options, F describe) {
    return try_dataflow<T>(std::move(options), std::move(describe)).value();
  }
  template <Timestamp T, std::convertible_to<std::string> Name, typename F>
  Dataflow dataflow(Name&& name, F describe) {
    return dataflow<T>(DataflowOptions{.name = std::forward<Name>(name)}, std::move(describe));
  }
  template <Timestamp T, typename F>
  freshet::Result<Dataflow> try_dataflow(DataflowOptions options, F describe) {
    detail::DataflowRef state = begin(options);
    detail::DataflowBuilder builder(*state);
    Scope<T> scope(builder.add_scope<T>(options.name, nullptr));
    describe(scope);
    FRESHET_TRY(builder.finish());
    return install(std::move(state));
  }

  /// Works on the calling thread while `pending()` holds.
  void step_while(FunctionRef<bool()> pending) { core_->executor.run_while(pending); }
  /// Works until no worker is ready. What comes from other threads afterwards is not waited for.
  void run_until_idle() { core_->executor.run_until_idle(); }
  /// Runs `task` on a worker, between operators, soon.
  void post(std::size_t worker, base::Task task);
  /// Those neither dropped nor complete.
  [[nodiscard]] std::size_t live_dataflows() const;

 private:
  detail::DataflowRef begin(const DataflowOptions& options);
  Dataflow install(detail::DataflowRef state);

  std::shared_ptr<detail::RuntimeCore> core_;
};

}  // namespace timely
