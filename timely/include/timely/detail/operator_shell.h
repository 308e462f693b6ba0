// SPDX-License-Identifier: Apache-2.0
/// What surrounds the logic of an operator on one worker: its ports, and what happens around a
/// step.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <timely/detail/core.h>
#include <timely/operator.h>

namespace timely::detail {

template <Timestamp T>
class OperatorShell : public OperatorCore {
 public:
  OperatorShell(WorkerDataflow& home, std::uint32_t index, FrontierInterest interest)
      : OperatorCore(home, index), ports_(new CapabilityPorts<T>) {
    interest_ = interest;
    ports_->references = 1;
    ports_->core = this;
  }
  ~OperatorShell() override { release(); }

  [[nodiscard]] InputBase<T>& input(std::size_t i) const { return *inputs_[i]; }
  [[nodiscard]] OutputBase<T>& output(std::size_t i) const { return *outputs_[i]; }
  void add_input(std::unique_ptr<InputBase<T>> input) { inputs_.push_back(std::move(input)); }
  void add_output(std::unique_ptr<OutputBase<T>> output) { outputs_.push_back(std::move(output)); }
  /// Once the tracker exists.
  void connect(ProgressLog<T>& log, const std::vector<std::uint32_t>& input_nodes,
               std::vector<std::uint32_t> output_nodes,
               const std::vector<std::vector<std::optional<SummaryOf<T>>>>& paths,
               bool initial_capabilities) {
    ports_->log = &log;
    ports_->nodes = std::move(output_nodes);
    ports_->paths = paths;
    initial_capabilities_ = initial_capabilities;
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->connect(*ports_, input_nodes[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i]->connect(*ports_, static_cast<std::uint32_t>(i));
    }
  }

  void create() final {
    std::vector<Capability<T>> initial;
    if (initial_capabilities_) {
      for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
        initial.push_back(Capability<T>::adopt(ports_, i, minimum<T>()));
      }
    }
    Setup<T> setup(*this, initial);
    make(setup);
  }

  void run() final {
    for (auto& input : inputs_) input->refresh();
    const bool held_before = held() > 0;
    step();
    bool took = false;
    bool left = false;
    for (auto& input : inputs_) {
      took |= input->took();
      left |= !input->empty();
    }
    if (took && left) activate();
    if (interest_ == FrontierInterest::kIfCapability && !held_before && held() > 0) look_again();
  }

  void destroy() final {
    ports_->log = nullptr;
    unmake();
    for (auto& input : inputs_) input->clear();
    release();
  }

 protected:
  virtual void make(Setup<T>& setup) = 0;
  virtual void step() = 0;
  virtual void unmake() = 0;

 private:
  // We are not told of frontiers while we hold nothing. If one moved between our look and our first
  // capability, we must see it now or its mover must see that we hold: both shake hands in between.
  void look_again() {
    shake_hands();
    for (auto& input : inputs_) {
      if (input->stale()) activate();
    }
  }
  void release() {
    if (ports_ == nullptr) return;
    CapabilityPorts<T>* ports = std::exchange(ports_, nullptr);
    if (--ports->references == 0) delete ports;
  }

  CapabilityPorts<T>* ports_;
  bool initial_capabilities_ = false;
  std::vector<std::unique_ptr<InputBase<T>>> inputs_;
  std::vector<std::unique_ptr<OutputBase<T>>> outputs_;
};

}  // namespace timely::detail
