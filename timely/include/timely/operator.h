// SPDX-License-Identifier: Apache-2.0
/// What an operator sees: inputs to read, outputs to send on, and a context.
///
/// An operator is any object with `step(Input&…, Output&…)`, with a `Context&` at the end if it
/// wants one, or a lambda with those parameters. A factory makes one per worker; everything in it
/// is single-threaded. It is stepped when a message came, when a frontier moved that it watches, or
/// when it was activated. A step may leave messages in the input: it is stepped again soon if it
/// took some, else with the next cause.
///
///     struct Sum {
///       void step(timely::Input<Time, Numbers>& input, timely::Output<Time, Numbers>& output) {
///         input.for_each([&](const timely::Capability<Time>& at, Numbers numbers) {
///           output.give(at, {std::accumulate(numbers.begin(), numbers.end(), 0)});
///         });
///       }
///     };
///     auto sums = numbers.unary("Sum", timely::Pipeline{}, [] { return Sum{}; });
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <timely/activator.h>
#include <timely/capability.h>
#include <timely/detail/pusher.h>
#include <timely/message.h>

namespace timely {

namespace detail {

template <Timestamp T>
class InputBase {
 public:
  InputBase() = default;
  InputBase(const InputBase&) = delete;
  InputBase& operator=(const InputBase&) = delete;
  virtual ~InputBase() = default;

  void attach(OperatorCore& core, std::uint32_t index, std::shared_ptr<FrontierCell<T>> cell) {
    core_ = &core;
    index_ = index;
    cell_ = std::move(cell);
  }
  /// Once the tracker exists.
  void connect(CapabilityPorts<T>& ports, std::uint32_t node) {
    borrowed_ = Capability<T>::borrow(&ports, index_);
    ports_ = &ports;
    node_ = node;
  }
  /// True if the frontier moved since.
  bool refresh() { return cell_ && cell_->refresh(frontier_, version_); }
  [[nodiscard]] bool stale() const { return cell_ && cell_->stale(version_); }
  [[nodiscard]] virtual bool empty() const = 0;
  virtual void clear() = 0;
  /// True if messages were taken since the last call.
  bool took() { return std::exchange(took_, false); }

 protected:
  const Capability<T>& taken(Antichain<T>&& times, std::size_t records) {
    ports_->log->update(node_, times, -1);
    core_->home().worker().worked(records);
    WorkerDataflow& home = core_->home();
    if (home.logging()) home.event(EventKind::kMessageReceived, core_->index(), index_, records);
    took_ = true;
    borrowed_.times_ = std::move(times);
    return borrowed_;
  }
  [[nodiscard]] Worker& worker() const { return core_->home().worker(); }
  void arrived() { core_->activate(); }
  [[nodiscard]] bool gone() const { return core_->home().destroyed(); }
  [[nodiscard]] const Antichain<T>& current() const {
    FRESHET_ASSERT(cell_ != nullptr, "operator reads a frontier it has no interest in");
    return frontier_;
  }
  void disconnect() { borrowed_ = Capability<T>(); }

 private:
  OperatorCore* core_ = nullptr;
  std::uint32_t index_ = 0;
  std::shared_ptr<FrontierCell<T>> cell_;
  Antichain<T> frontier_ = Antichain<T>::minimum();
  std::uint64_t version_ = 0;
  CapabilityPorts<T>* ports_ = nullptr;
  std::uint32_t node_ = 0;
  Capability<T> borrowed_;
  bool took_ = false;
};

template <Timestamp T>
class OutputBase {
 public:
  OutputBase() = default;
  OutputBase(const OutputBase&) = delete;
  OutputBase& operator=(const OutputBase&) = delete;
  virtual ~OutputBase() = default;

  void connect(CapabilityPorts<T>& ports, std::uint32_t index) {
    ports_ = &ports;
    index_ = index;
  }

 protected:
  void check(const Capability<T>& capability) const {
    FRESHET_ASSERT(capability.allows(ports_, index_),
                   "message sent with a capability of another output");
    FRESHET_ASSERT(!capability.times().empty());
  }
  void sent(std::size_t records) const {
    WorkerDataflow& home = ports_->core->home();
    if (home.logging()) home.event(EventKind::kMessageSent, ports_->core->index(), index_, records);
  }

 private:
  CapabilityPorts<T>* ports_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace detail

/// The waiting messages of one input, in the order of arrival per sender, and its frontier.
template <Timestamp T, Message M>
class Input final : public detail::InputBase<T> {
 public:
  using Time = T;
  using MessageType = M;

  /// Takes the messages that wait now and passes each to `f(const Capability<T>&, M)`. Stops early,
  /// leaving the rest for the next step, when the operator's time budget is spent.
  template <typename F>
  void for_each(F f) {
    for (std::size_t count = size(); count > 0; --count) {
      take(f);
      if (count > 1 && this->worker().budget_spent()) return;
    }
  }
  /// Takes one message, if there is one.
  template <typename F>
  bool next(F f) {
    if (empty()) return false;
    take(f);
    return true;
  }
  [[nodiscard]] bool empty() const override { return size() == 0; }
  /// How many messages wait.
  [[nodiscard]] std::size_t size() const { return queue_.size() - head_; }
  /// Times that may still arrive. Covers the times of the messages that wait or were taken in this
  /// step.
  [[nodiscard]] const Antichain<T>& frontier() const { return this->current(); }

  // For timely.

  void receive(Antichain<T>&& times, M&& message) {
    if (this->gone()) return;
    queue_.push_back({std::move(times), std::move(message)});
    this->arrived();
  }
  void clear() override {
    queue_.clear();
    head_ = 0;
    this->disconnect();
  }

 private:
  struct Entry {
    Antichain<T> times;
    M message;
  };
  template <typename F>
  void take(F& f) {
    Entry entry = std::move(queue_[head_]);
    if (++head_ == queue_.size()) {
      queue_.clear();
      head_ = 0;
    } else if (head_ >= 64 && head_ * 2 >= queue_.size()) {
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    const std::size_t records = MessageTraits<M>::size(entry.message);
    f(this->taken(std::move(entry.times), records), std::move(entry.message));
  }

  std::vector<Entry> queue_;
  std::size_t head_ = 0;
};

/// Where an operator sends messages.
template <Timestamp T, Message M>
class Output final : public detail::OutputBase<T> {
 public:
  using Time = T;
  using MessageType = M;

  /// Sends `message` at the times of `capability`.
  void give(const Capability<T>& capability, M message) {
    this->check(capability);
    this->sent(MessageTraits<M>::size(message));
    pusher_->push(capability.times(), std::move(message));
  }

  /// Collects records into messages of up to `capacity` and sends them at the times of
  /// `capability`; the last when it is destroyed.
  class Session {
   public:
    Session(Output& output, const Capability<T>& capability, std::size_t capacity)
        : output_(output), capability_(capability), capacity_(capacity) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() { flush(); }
    template <typename Record>
    void give(Record&& record) {
      buffer_.push_back(std::forward<Record>(record));
      if (MessageTraits<M>::size(buffer_) >= capacity_) flush();
    }
    void flush() {
      if (MessageTraits<M>::size(buffer_) == 0) return;
      output_.give(capability_, std::exchange(buffer_, M{}));
    }

   private:
    Output& output_;
    const Capability<T>& capability_;
    std::size_t capacity_;
    M buffer_{};
  };
  static constexpr std::size_t kSessionRecords = 1024;
  [[nodiscard]] Session session(const Capability<T>& capability,
                                std::size_t capacity = kSessionRecords) {
    return Session(*this, capability, capacity);
  }

  // For timely.
  void send_to(detail::Pusher<T, M>& pusher) { pusher_ = &pusher; }

 private:
  detail::Pusher<T, M>* pusher_ = nullptr;
};

/// What an operator may ask of its worker during a step.
class Context {
 public:
  explicit Context(detail::OperatorCore& core) : core_(core) {}

  [[nodiscard]] std::size_t worker() const { return core_.home().worker_index(); }
  /// On how many workers the dataflow runs.
  [[nodiscard]] std::size_t width() const { return core_.home().dataflow().width(); }
  /// Steps this operator again, after others had their turn.
  void activate() { core_.activate(); }
  /// Steps it again after a delay, by a timer.
  void activate_after(std::chrono::nanoseconds delay) { activator().activate_after(delay); }
  /// For other threads.
  [[nodiscard]] Activator activator() { return Activator(core_); }
  /// True if the step has used its time budget and should leave the rest, after `activate()`.
  [[nodiscard]] bool should_yield() { return core_.home().worker().budget_spent(); }
  /// Forks kernels and posts low-priority tasks.
  [[nodiscard]] Executor& executor() { return core_.home().worker().runtime().executor; }
  /// The runtime's timers; null if it has none.
  [[nodiscard]] base::Scheduler* scheduler() { return core_.home().worker().runtime().scheduler; }

 private:
  detail::OperatorCore& core_;
};

/// What a factory may ask for when it makes the operator of one worker.
template <Timestamp T>
class Setup : public Context {
 public:
  Setup(detail::OperatorCore& core, std::vector<Capability<T>>& initial)
      : Context(core), initial_(initial) {}
  /// The capability at the minimum time that each instance of a source has for each output. Those
  /// not taken are dropped after the factory returns.
  [[nodiscard]] Capability<T> capability(std::size_t output = 0) {
    FRESHET_ASSERT(output < initial_.size() && initial_[output].valid(), output);
    return std::move(initial_[output]);
  }

 private:
  std::vector<Capability<T>>& initial_;
};

}  // namespace timely
