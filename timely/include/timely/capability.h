// SPDX-License-Identifier: Apache-2.0
/// The right to send at a time: while one exists, no frontier downstream passes its times.
///
/// A capability belongs to one output of one operator on one worker and holds an antichain of times
/// (nearly always one), so that a batch over a partial order is one message. It moves and is never
/// copied; `delayed` makes a further one at later times. Dropping it is what lets time advance: a
/// capability kept too long stalls everything downstream.
///
/// The one that comes with a message is valid during the callback only and for every output that
/// the message's input leads to; to keep the right, ask it for `retain()` or `delayed(time)`.
///
/// Every use is checked, in every build: by the right operator, for the right output, at times it
/// covers. Thread safety: used and destroyed on the worker that owns the operator.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <freshet/base/assert.h>
#include <timely/antichain.h>
#include <timely/detail/tracker.h>

namespace timely {

namespace detail {

/// What the capabilities of one operator instance share. Plainly counted: one worker's.
template <Timestamp T>
struct CapabilityPorts {
  std::uint64_t references = 0;
  ProgressLog<T>* log = nullptr;  // null once the instance is destroyed
  OperatorCore* core = nullptr;
  std::vector<std::uint32_t> nodes{};  // by output
  /// By input, then output; nothing if messages of the input never cause messages of the output.
  std::vector<std::vector<std::optional<SummaryOf<T>>>> paths{};

  void count(std::uint32_t output, const Antichain<T>& times, std::int64_t diff) {
    if (log == nullptr) return;
    log->update(nodes[output], times, diff);
    core->hold(diff);
  }
};

template <Timestamp T>
class InputBase;
template <Timestamp T>
class OutputBase;
template <Timestamp T>
class OperatorShell;

}  // namespace detail

template <Timestamp T>
class Capability {
 public:
  /// Owns nothing; only to be assigned to.
  Capability() = default;
  Capability(Capability&& other) noexcept
      : ports_(std::exchange(other.ports_, nullptr)),
        port_(other.port_),
        input_(other.input_),
        times_(std::move(other.times_)) {}
  Capability& operator=(Capability&& other) noexcept {
    if (this == &other) return *this;
    release();
    ports_ = std::exchange(other.ports_, nullptr);
    port_ = other.port_;
    input_ = other.input_;
    times_ = std::move(other.times_);
    return *this;
  }
  ~Capability() { release(); }

  [[nodiscard]] const Antichain<T>& times() const { return times_; }
  /// The time of a capability known to have one.
  [[nodiscard]] const T& time() const { return times_.only(); }
  [[nodiscard]] bool valid() const { return ports_ != nullptr; }
  /// The output it is for. Of one that came with a message: kAnyOutput.
  [[nodiscard]] std::uint32_t output() const { return borrowed() ? kAnyOutput : port_; }
  static constexpr std::uint32_t kAnyOutput = ~std::uint32_t{0};

  /// A capability of its own for the same times. For one that came with a message, `output` chooses
  /// the output, and the times go through the path from the input.
  [[nodiscard]] Capability retain(std::uint32_t output = 0) const {
    const std::uint32_t port = target(output);
    return Capability(ports_, port, at_output(port));
  }
  /// A capability at later times, all of which this one must cover.
  [[nodiscard]] Capability delayed(const T& time, std::uint32_t output = 0) const {
    return delayed(Antichain<T>{time}, output);
  }
  [[nodiscard]] Capability delayed(Antichain<T> times, std::uint32_t output = 0) const {
    const std::uint32_t port = target(output);
    FRESHET_ASSERT(!times.empty());
    FRESHET_ASSERT(at_output(port).covers_all(times), times_, times);
    return Capability(ports_, port, std::move(times));
  }
  /// Takes in another one for the same output: covers the times of both from now on.
  void absorb(Capability other) {
    FRESHET_ASSERT(ports_ != nullptr && !borrowed() && !other.borrowed());
    FRESHET_ASSERT(ports_ == other.ports_ && port_ == other.port_,
                   "capabilities of different outputs");
    Antichain<T> both = times_;
    if (!both.extend(other.times_)) return;
    ports_->count(port_, both, +1);
    ports_->count(port_, times_, -1);
    times_ = std::move(both);
  }
  /// Gives up the right for all times that `later` does not cover.
  void downgrade(const T& later) { downgrade(Antichain<T>{later}); }
  /// An empty antichain gives up everything.
  void downgrade(Antichain<T> later) {
    FRESHET_ASSERT(ports_ != nullptr && !borrowed());
    FRESHET_ASSERT(times_.covers_all(later), times_, later);
    if (later == times_) return;
    ports_->count(port_, later, +1);
    ports_->count(port_, times_, -1);
    times_ = std::move(later);
  }

 private:
  template <Timestamp U>
  friend class detail::InputBase;
  template <Timestamp U>
  friend class detail::OutputBase;
  template <Timestamp U>
  friend class detail::OperatorShell;

  static constexpr std::uint32_t kOwned = ~std::uint32_t{0};

  Capability(detail::CapabilityPorts<T>* ports, std::uint32_t port, Antichain<T> times)
      : ports_(ports), port_(port), times_(std::move(times)) {
    ++ports_->references;
    ports_->count(port_, times_, +1);
  }
  /// Not counted: stands for a message that is being read.
  static Capability borrow(detail::CapabilityPorts<T>* ports, std::uint32_t input) {
    Capability result;
    ports->references += 1;
    result.ports_ = ports;
    result.input_ = input;
    return result;
  }
  /// Counted already, by the tracker's initial state.
  static Capability adopt(detail::CapabilityPorts<T>* ports, std::uint32_t port, const T& time) {
    Capability result;
    ++ports->references;
    ports->core->hold(+1);
    result.ports_ = ports;
    result.port_ = port;
    result.times_ = Antichain<T>{time};
    return result;
  }

  [[nodiscard]] bool borrowed() const { return input_ != kOwned; }
  [[nodiscard]] std::uint32_t target(std::uint32_t output) const {
    FRESHET_ASSERT(ports_ != nullptr);
    if (!borrowed()) return port_;
    FRESHET_ASSERT(output < ports_->nodes.size(), output);
    FRESHET_ASSERT(ports_->paths[input_][output].has_value(), input_, output);
    return output;
  }
  /// Its times as seen at an output.
  [[nodiscard]] Antichain<T> at_output(std::uint32_t output) const {
    if (!borrowed() || *ports_->paths[input_][output] == SummaryOf<T>{}) return times_;
    Antichain<T> result;
    for (const T& time : times_.elements()) {
      if (auto later = ports_->paths[input_][output]->results_in(time)) result.insert(*later);
    }
    return result;
  }
  /// True if a message may be sent at its times on `output` of the operator with `ports`.
  [[nodiscard]] bool allows(const detail::CapabilityPorts<T>* ports, std::uint32_t output) const {
    if (ports_ != ports || ports == nullptr) return false;
    if (!borrowed()) return port_ == output;
    const auto& path = ports_->paths[input_][output];
    return path.has_value() && *path == SummaryOf<T>{};
  }
  void release() {
    if (ports_ == nullptr) return;
    if (!borrowed()) ports_->count(port_, times_, -1);
    if (--ports_->references == 0) delete ports_;
    ports_ = nullptr;
  }

  detail::CapabilityPorts<T>* ports_ = nullptr;
  std::uint32_t port_ = 0;
  std::uint32_t input_ = kOwned;  // of a borrowed one: the input
  Antichain<T> times_;
};

}  // namespace timely
