// SPDX-License-Identifier: Apache-2.0
/// Short forms for operators with one input, two inputs, or none. See stream.h and operator.h.
///
///     stream.unary("Name", Pipeline{}, [](Setup<T>& setup) { return MyOperator(setup.worker()); });
///     stream.unary<Numbers>("Name", Pipeline{}, [] {
///       return [](auto& input, auto& output) { … };
///     });
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <timely/builder.h>
#include <timely/scope.h>

namespace timely {

namespace detail {

template <typename Step>
struct StepSignature;
template <typename C, typename... Args>
struct StepSignature<void (C::*)(Args...)> {
  using Arguments = std::tuple<std::remove_reference_t<Args>...>;
};
template <typename C, typename... Args>
struct StepSignature<void (C::*)(Args...) const> : StepSignature<void (C::*)(Args...)> {};

template <typename Tuple>
struct FindOutput;
template <Timestamp T, Message M, typename... Rest>
struct FindOutput<std::tuple<Output<T, M>, Rest...>> {
  using type = M;
};
template <typename First, typename... Rest>
struct FindOutput<std::tuple<First, Rest...>> : FindOutput<std::tuple<Rest...>> {};

/// The message type of the output of an operator whose step is no template.
template <typename Logic>
auto find_output() {
  if constexpr (requires { &Logic::step; }) {
    return std::type_identity<
        typename FindOutput<typename StepSignature<decltype(&Logic::step)>::Arguments>::type>{};
  } else {
    return std::type_identity<typename FindOutput<
        typename StepSignature<decltype(&Logic::operator())>::Arguments>::type>{};
  }
}

template <Timestamp T, typename Factory>
using LogicOf = std::remove_cvref_t<decltype(call_factory(std::declval<Factory&>(),
                                                          std::declval<Setup<T>&>()))>;

template <Timestamp T, typename M, typename Factory>
struct OutputMessage {
  using type = M;
};
template <Timestamp T, typename Factory>
struct OutputMessage<T, Deduced, Factory> {
  using type = typename decltype(find_output<LogicOf<T, Factory>>())::type;
};

template <typename Logic, typename... Ports>
void call_step(Logic& logic, Context& context, Ports&... ports) {
  if constexpr (requires { logic.step(ports..., context); }) {
    logic.step(ports..., context);
  } else if constexpr (requires { logic.step(ports...); }) {
    logic.step(ports...);
  } else if constexpr (std::is_invocable_v<Logic&, Ports&..., Context&>) {
    logic(ports..., context);
  } else {
    logic(ports...);
  }
}

/// The logic of a short form: the user's operator, called with its ports.
template <typename Logic, typename... Refs>
struct Stepper {
  Logic logic;
  std::tuple<Refs...> refs;
  template <typename AnyPorts>
  void operator()(AnyPorts& ports) {
    std::apply([&](auto... ref) { call_step(logic, ports.context(), port(ports, ref)...); }, refs);
  }

 private:
  template <typename AnyPorts, Timestamp T, Message M>
  static Input<T, M>& port(AnyPorts& ports, InputRef<T, M> ref) {
    return ports.input(ref);
  }
  template <typename AnyPorts, Timestamp T, Message M>
  static Output<T, M>& port(AnyPorts& ports, OutputRef<T, M> ref) {
    return ports.output(ref);
  }
};

/// Makes steppers; copied per worker.
template <Timestamp T, typename Factory, typename... Refs>
struct StepperFactory {
  Factory factory;
  std::tuple<Refs...> refs;
  auto operator()(Setup<T>& setup) {
    return Stepper<LogicOf<T, Factory>, Refs...>{call_factory(factory, setup), refs};
  }
};

template <Timestamp T, typename Factory, typename... Refs>
void build_stepper(OperatorBuilder<T>& builder, Factory factory, Refs... refs) {
  builder.build(StepperFactory<T, Factory, Refs...>{std::move(factory), {refs...}});
}

}  // namespace detail

template <Timestamp T, Message M>
template <typename M2, typename Pact, typename Factory>
auto Stream<T, M>::unary(std::string name, Pact pact, Factory factory,
                         FrontierInterest interest) const {
  using Out = typename detail::OutputMessage<T, M2, Factory>::type;
  OperatorBuilder<T> builder(scope(), std::move(name));
  const auto in = builder.input(*this, std::move(pact), interest);
  const auto [out, stream] = builder.template output<Out>();
  detail::build_stepper(builder, std::move(factory), in, out);
  return stream;
}

template <Timestamp T, Message M>
template <typename M3, Message M2, typename Pact1, typename Pact2, typename Factory>
auto Stream<T, M>::binary(const Stream<T, M2>& other, std::string name, Pact1 pact1, Pact2 pact2,
                          Factory factory, FrontierInterest interest) const {
  using Out = typename detail::OutputMessage<T, M3, Factory>::type;
  OperatorBuilder<T> builder(scope(), std::move(name));
  const auto in1 = builder.input(*this, std::move(pact1), interest);
  const auto in2 = builder.input(other, std::move(pact2), interest);
  const auto [out, stream] = builder.template output<Out>();
  detail::build_stepper(builder, std::move(factory), in1, in2, out);
  return stream;
}

template <Timestamp T, Message M>
template <typename Pact, typename Factory>
void Stream<T, M>::sink(std::string name, Pact pact, Factory factory,
                        FrontierInterest interest) const {
  OperatorBuilder<T> builder(scope(), std::move(name));
  const auto in = builder.input(*this, std::move(pact), interest);
  detail::build_stepper(builder, std::move(factory), in);
}

template <Timestamp T>
template <typename M, typename Factory>
auto Scope<T>::source(std::string name, Factory factory) const {
  using Out = typename detail::OutputMessage<T, M, Factory>::type;
  OperatorBuilder<T> builder(*this, std::move(name));
  const auto [out, stream] = builder.template output<Out>();
  builder.initial_capabilities();
  detail::build_stepper(builder, std::move(factory), out);
  return stream;
}

}  // namespace timely
