// SPDX-License-Identifier: Apache-2.0
/// Builds operators with any number of inputs and outputs; `Stream::unary` and `binary` are short
/// forms.
///
///     timely::OperatorBuilder<Time> builder(scope, "Split");
///     auto in = builder.input(numbers, timely::Pipeline{}, timely::FrontierInterest::kNever);
///     auto [small_out, small] = builder.output<Numbers>();
///     auto [large_out, large] = builder.output<Numbers>();
///     builder.build([=](timely::Setup<Time>&) {              // once per worker
///       return [=](timely::Ports<Time>& ports) {             // at each step
///         ports.input(in).for_each([&](const auto& at, Numbers n) {
///           ports.output(small_out).give(at, n);
///         });
///       };
///     });
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <timely/detail/describe.h>
#include <timely/detail/operator_shell.h>
#include <timely/operator.h>
#include <timely/stream.h>

namespace timely {

template <Timestamp T, Message M>
struct InputRef {
  std::uint32_t index;
};
template <Timestamp T, Message M>
struct OutputRef {
  std::uint32_t index;
};

/// The ports of an operator during a step.
template <Timestamp T>
class Ports : public Context {
 public:
  explicit Ports(detail::OperatorShell<T>& shell) : Context(shell), shell_(shell) {}
  template <Message M>
  [[nodiscard]] Input<T, M>& input(InputRef<T, M> ref) const {
    return static_cast<Input<T, M>&>(shell_.input(ref.index));
  }
  template <Message M>
  [[nodiscard]] Output<T, M>& output(OutputRef<T, M> ref) const {
    return static_cast<Output<T, M>&>(shell_.output(ref.index));
  }
  [[nodiscard]] Context& context() { return *this; }

 private:
  detail::OperatorShell<T>& shell_;
};

namespace detail {

template <Timestamp T>
class InputPlanBase {
 public:
  InputPlanBase(std::uint32_t p, FrontierInterest i) : port(p), interest(i) {}
  virtual ~InputPlanBase() = default;
  virtual std::unique_ptr<InputBase<T>> make(std::size_t width) = 0;
  std::uint32_t port;
  FrontierInterest interest;
};

template <Timestamp T, Message M>
class InputPlan final : public InputPlanBase<T> {
 public:
  using InputPlanBase<T>::InputPlanBase;
  std::unique_ptr<InputBase<T>> make(std::size_t) override {
    auto input = std::make_unique<Input<T, M>>();
    instances.push_back(input.get());  // workers are instantiated in order
    return input;
  }
  std::vector<Input<T, M>*> instances;
};

template <Timestamp T>
class OutputPlanBase {
 public:
  explicit OutputPlanBase(std::uint32_t p) : port(p) {}
  virtual ~OutputPlanBase() = default;
  virtual std::unique_ptr<OutputBase<T>> make() = 0;
  virtual void connect(OutputBase<T>& output, SenderContext& context) = 0;
  std::uint32_t port;
};

template <Timestamp T, Message M>
class OutputPlan final : public OutputPlanBase<T> {
 public:
  OutputPlan(std::uint32_t p, StreamSpec<T, M>& s) : OutputPlanBase<T>(p), stream_(s) {}
  std::unique_ptr<OutputBase<T>> make() override { return std::make_unique<Output<T, M>>(); }
  void connect(OutputBase<T>& output, SenderContext& context) override {
    static_cast<Output<T, M>&>(output).send_to(stream_.pusher(context));
  }

 private:
  StreamSpec<T, M>& stream_;
};

/// An edge into an operator.
template <Timestamp T, Message M, typename Pact>
class EdgeSpecTo final : public ConsumerSpec<T, M> {
 public:
  EdgeSpecTo(ScopeSpec<T>& scope, InputPlan<T, M>& input, Pact pact)
      : scope_(scope), input_(input), pact_(std::move(pact)) {}
  std::shared_ptr<Pusher<T, M>> make(SenderContext& context) override {
    Targets<T, M> targets(context.sender, scope_.log(context.sender),
                          scope_.tracker->node(input_.port), input_.instances);
    return make_pusher(std::move(targets), pact_);
  }

 private:
  static std::shared_ptr<Pusher<T, M>> make_pusher(Targets<T, M> targets, const Pipeline&) {
    return std::make_shared<PipelinePusher<T, M>>(std::move(targets));
  }
  static std::shared_ptr<Pusher<T, M>> make_pusher(Targets<T, M> targets, const Broadcast&) {
    return std::make_shared<BroadcastPusher<T, M>>(std::move(targets));
  }
  template <typename Route>
  static std::shared_ptr<Pusher<T, M>> make_pusher(Targets<T, M> targets,
                                                   const Exchange<Route>& exchange) {
    return std::make_shared<ExchangePusher<T, M, Route>>(std::move(targets), exchange.route);
  }

  ScopeSpec<T>& scope_;
  InputPlan<T, M>& input_;
  Pact pact_;
};

/// Everything about an operator but its logic.
template <Timestamp T>
struct OperatorPlan {
  ScopeSpec<T>& scope;
  std::uint32_t index;
  std::vector<std::unique_ptr<InputPlanBase<T>>> inputs{};
  std::vector<std::unique_ptr<OutputPlanBase<T>>> outputs{};
  std::vector<std::vector<std::optional<SummaryOf<T>>>> paths{};
  bool initial_capabilities = false;
  std::vector<OperatorShell<T>*> shells{};

  [[nodiscard]] FrontierInterest interest() const {
    FrontierInterest result = FrontierInterest::kNever;
    for (const auto& input : inputs) result = std::max(result, input->interest);
    return result;
  }
  void furnish(OperatorShell<T>& shell) {
    shells.push_back(&shell);
    for (auto& input : inputs) {
      auto made = input->make(shells.size());
      const bool watches = input->interest != FrontierInterest::kNever;
      auto& port = scope.graph.ports[input->port];
      made->attach(shell, static_cast<std::uint32_t>(&input - inputs.data()),
                   watches ? port.cell : nullptr);
      if (watches) port.listeners.push_back(&shell);
      shell.add_input(std::move(made));
    }
    for (auto& output : outputs) shell.add_output(output->make());
  }
  void connect(SenderContext& context, std::size_t worker) {
    OperatorShell<T>& shell = *shells[worker];
    std::vector<std::uint32_t> input_nodes;
    for (auto& input : inputs) input_nodes.push_back(scope.tracker->node(input->port));
    std::vector<std::uint32_t> output_nodes;
    for (auto& output : outputs) output_nodes.push_back(scope.tracker->node(output->port));
    shell.connect(scope.log(context.sender), input_nodes, std::move(output_nodes), paths,
                  initial_capabilities);
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i]->connect(shell.output(i), context);
  }
};

template <typename Factory, typename Argument>
decltype(auto) call_factory(Factory& factory, Argument& argument) {
  if constexpr (std::is_invocable_v<Factory&, Argument&>) {
    return factory(argument);
  } else {
    return factory();
  }
}

template <Timestamp T, typename Factory>
class OperatorInstance final : public OperatorShell<T> {
 public:
  OperatorInstance(WorkerDataflow& home, std::uint32_t index, FrontierInterest interest,
                   Factory factory)
      : OperatorShell<T>(home, index, interest), factory_(std::move(factory)) {}

 private:
  using Logic = std::remove_cvref_t<decltype(call_factory(std::declval<Factory&>(),
                                                          std::declval<Setup<T>&>()))>;
  void make(Setup<T>& setup) override { logic_.reset(new Logic(call_factory(*factory_, setup))); }
  void step() override {
    Ports<T> ports(*this);
    (*logic_)(ports);
  }
  // The factory goes too: it may share what holds an activator, and so this dataflow.
  void unmake() override {
    logic_.reset();
    factory_.reset();
  }

  std::optional<Factory> factory_;
  std::unique_ptr<Logic> logic_;
};

template <Timestamp T, typename Factory>
class OperatorSpec final : public OperatorSpecBase {
 public:
  OperatorSpec(std::unique_ptr<OperatorPlan<T>> plan, Factory factory)
      : plan_(std::move(plan)), factory_(std::move(factory)) {}
  std::unique_ptr<OperatorCore> instantiate(WorkerDataflow& home) override {
    auto shell = std::make_unique<OperatorInstance<T, Factory>>(home, plan_->index,
                                                                plan_->interest(), factory_);
    plan_->furnish(*shell);
    return shell;
  }
  void connect(SenderContext& context, std::size_t worker) override {
    plan_->connect(context, worker);
  }

 private:
  std::unique_ptr<OperatorPlan<T>> plan_;
  Factory factory_;
};

}  // namespace detail

template <Timestamp T>
class OperatorBuilder {
 public:
  OperatorBuilder(detail::ScopeSpec<T>& scope, std::string name)
      : plan_(std::make_unique<detail::OperatorPlan<T>>(scope, scope.builder.name_operator(name))),
        name_(std::move(name)) {}
  OperatorBuilder(const Scope<T>& scope, std::string name)
      : OperatorBuilder(scope.spec(), std::move(name)) {}

  /// Adds an input. With kNever the operator may not look at its frontier.
  template <Message M, typename Pact>
  InputRef<T, M> input(const Stream<T, M>& stream, Pact pact,
                       FrontierInterest interest = FrontierInterest::kAlways) {
    FRESHET_ASSERT(&stream.spec().scope == &plan_->scope, "stream of another scope", name_);
    const auto index = static_cast<std::uint32_t>(plan_->inputs.size());
    const std::uint32_t port = plan_->scope.graph.add_port(name_ + ".in" + std::to_string(index));
    if (interest != FrontierInterest::kNever) plan_->scope.graph.watch(port);
    auto plan = std::make_unique<detail::InputPlan<T, M>>(port, interest);
    stream.spec().connect_to(port);
    stream.spec().consumers.push_back(
        std::make_unique<detail::EdgeSpecTo<T, M, Pact>>(plan_->scope, *plan, std::move(pact)));
    plan_->inputs.push_back(std::move(plan));
    plan_->paths.emplace_back(plan_->outputs.size(), SummaryOf<T>{});
    return {index};
  }

  /// Adds an output; messages of every input may cause messages of it at their own times.
  template <Message M>
  std::pair<OutputRef<T, M>, Stream<T, M>> output() {
    const auto index = static_cast<std::uint32_t>(plan_->outputs.size());
    const std::uint32_t port = plan_->scope.graph.add_port(name_ + ".out" + std::to_string(index));
    auto& stream = plan_->scope.builder.template add_stream<T, M>(plan_->scope, port);
    plan_->outputs.push_back(std::make_unique<detail::OutputPlan<T, M>>(port, stream));
    for (auto& row : plan_->paths) row.emplace_back(SummaryOf<T>{});
    return {OutputRef<T, M>{index}, Stream<T, M>(stream)};
  }

  /// Messages of `from` cause messages of `to` only at times led through `summary`; or never.
  template <Message M1, Message M2>
  void path(InputRef<T, M1> from, OutputRef<T, M2> to, std::optional<SummaryOf<T>> summary) {
    plan_->paths[from.index][to.index] = summary;
  }

  /// Every instance starts with a capability at the minimum for each output: for sources.
  void initial_capabilities() { plan_->initial_capabilities = true; }

  /// `factory(Setup&)` makes the logic for one worker; `logic(Ports&)` is one step.
  template <typename Factory>
  void build(Factory factory) {
    auto& scope = plan_->scope;
    for (std::size_t i = 0; i < plan_->inputs.size(); ++i) {
      for (std::size_t o = 0; o < plan_->outputs.size(); ++o) {
        if (!plan_->paths[i][o]) continue;
        scope.graph.edges.push_back(
            {plan_->inputs[i]->port, plan_->outputs[o]->port, *plan_->paths[i][o]});
      }
    }
    if (plan_->initial_capabilities) {
      const auto width = static_cast<std::int64_t>(scope.builder.state().width());
      for (auto& output : plan_->outputs) scope.graph.ports[output->port].initial += width;
    }
    const std::uint32_t index = plan_->index;
    scope.builder.add_operator(index, std::make_unique<detail::OperatorSpec<T, Factory>>(
                                          std::move(plan_), std::move(factory)));
  }

 private:
  std::unique_ptr<detail::OperatorPlan<T>> plan_;
  std::string name_;
};

}  // namespace timely
