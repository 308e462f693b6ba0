// SPDX-License-Identifier: Apache-2.0
/// The description of a dataflow while it is built: scopes, streams, operators. It is made once per
/// process by the describing thread and instantiated for every worker by `DataflowBuilder::finish`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <freshet/base/result.h>
#include <timely/detail/core.h>
#include <timely/detail/pusher.h>
#include <timely/detail/tracker.h>

namespace timely::detail {

class DataflowBuilder;

/// A scope of any time.
class ScopeSpecBase {
 public:
  virtual ~ScopeSpecBase() = default;
  [[nodiscard]] virtual freshet::Result<void> check() const = 0;
  /// Adds the paths through this scope to the one around.
  virtual void summarize() = 0;
  virtual std::unique_ptr<ScopeTracker> build(std::int64_t& outstanding) = 0;
  virtual std::unique_ptr<ProgressLogBase> make_log(Sender& sender) = 0;
  [[nodiscard]] virtual std::string draw() const = 0;
};

template <Timestamp T>
class ScopeSpec final : public ScopeSpecBase {
 public:
  ScopeSpec(DataflowBuilder& b, std::string n, std::size_t i, const ScopeSpecBase* p)
      : builder(b), name(std::move(n)), index(i), parent(p) {}

  DataflowBuilder& builder;
  std::string name;
  std::size_t index;
  const ScopeSpecBase* parent;
  GraphSpec<T> graph{};
  Tracker<T>* tracker = nullptr;  // once built
  /// The same for functions that outlive the description.
  std::shared_ptr<Tracker<T>*> tracker_later = std::make_shared<Tracker<T>*>(nullptr);
  /// Given the path from an entry port to an exit port of this scope, by the scope around.
  struct Through {
    std::uint32_t entry;
    std::function<void(const std::vector<Antichain<SummaryOf<T>>>&)> add;
  };
  std::vector<Through> through{};
  /// Exit ports, each with the port of the scope around that it leads to.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> exits{};

  [[nodiscard]] freshet::Result<void> check() const override { return graph.check(); }
  void summarize() override {
    for (const Through& path : through) path.add(graph.paths_from(path.entry));
  }
  std::unique_ptr<ScopeTracker> build(std::int64_t& outstanding) override {
    auto result = std::make_unique<Tracker<T>>(graph, outstanding);
    tracker = *tracker_later = result.get();
    return result;
  }
  std::unique_ptr<ProgressLogBase> make_log(Sender& sender) override {
    return std::make_unique<ProgressLog<T>>(sender, *tracker);
  }
  [[nodiscard]] std::string draw() const override { return graph.draw(name); }

  [[nodiscard]] ProgressLog<T>& log(Sender& sender) const {
    return static_cast<ProgressLog<T>&>(sender.log(index));
  }
};

/// A use of a stream.
template <Timestamp T, typename M>
class ConsumerSpec {
 public:
  virtual ~ConsumerSpec() = default;
  virtual std::shared_ptr<Pusher<T, M>> make(SenderContext& context) = 0;
};

/// A place that messages leave: an operator's output, or a join of streams.
template <Timestamp T, typename M>
struct StreamSpec {
  StreamSpec(ScopeSpec<T>& s, std::uint32_t p) : scope(s), port(p) {}
  ScopeSpec<T>& scope;
  std::uint32_t port;
  std::vector<std::unique_ptr<ConsumerSpec<T, M>>> consumers{};

  /// What this sender hands messages to here.
  Pusher<T, M>& pusher(SenderContext& context) {
    auto& made = context.made[this];
    if (!made) {
      std::vector<Pusher<T, M>*> targets;
      std::shared_ptr<Pusher<T, M>> target;
      for (auto& consumer : consumers) {
        target = consumer->make(context);
        targets.push_back(target.get());
        context.sender.keep(target);
      }
      if (consumers.size() != 1) {
        target = std::make_shared<TeePusher<T, M>>(std::move(targets));
        context.sender.keep(target);
      }
      made = std::move(target);
    }
    return *static_cast<Pusher<T, M>*>(made.get());
  }
  void connect_to(std::uint32_t to, SummaryOf<T> summary = {}) {
    scope.graph.edges.push_back({port, to, summary});
  }
};

/// An operator of any kind.
class OperatorSpecBase {
 public:
  virtual ~OperatorSpecBase() = default;
  virtual std::unique_ptr<OperatorCore> instantiate(WorkerDataflow& home) = 0;
  /// Once all instances and the trackers exist.
  virtual void connect(SenderContext& context, std::size_t worker) = 0;
};

class DataflowBuilder {
 public:
  explicit DataflowBuilder(DataflowState& state) : state_(state) {}

  [[nodiscard]] DataflowState& state() const { return state_; }
  template <Timestamp T>
  ScopeSpec<T>& add_scope(std::string name, const ScopeSpecBase* parent) {
    auto scope = std::make_unique<ScopeSpec<T>>(*this, std::move(name), scopes_.size(), parent);
    ScopeSpec<T>& result = *scope;
    scopes_.push_back(std::move(scope));
    return result;
  }
  template <Timestamp T, typename M>
  StreamSpec<T, M>& add_stream(ScopeSpec<T>& scope, std::uint32_t port) {
    auto stream = std::make_shared<StreamSpec<T, M>>(scope, port);
    streams_.push_back(stream);
    return *stream;
  }
  /// Reserves the index of the next operator.
  std::uint32_t name_operator(std::string name) {
    state_.operator_names.push_back(std::move(name));
    operators_.emplace_back();
    return static_cast<std::uint32_t>(operators_.size() - 1);
  }
  void add_operator(std::uint32_t index, std::unique_ptr<OperatorSpecBase> spec) {
    operators_[index] = std::move(spec);
  }
  /// `action` runs when all is instantiated, before any worker hears of it.
  void at_end(std::function<void()> action) { at_end_.push_back(std::move(action)); }
  void add_logs(Sender& sender);

  /// Checks, instantiates and connects; the dataflow may then be installed.
  freshet::Result<void> finish();

 private:
  DataflowState& state_;
  std::vector<std::unique_ptr<ScopeSpecBase>> scopes_;
  std::vector<std::shared_ptr<void>> streams_;
  std::vector<std::unique_ptr<OperatorSpecBase>> operators_;
  std::vector<std::function<void()>> at_end_;
};

}  // namespace timely::detail
