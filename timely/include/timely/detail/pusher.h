// SPDX-License-Identifier: Apache-2.0
/// The sending side of edges: what an output hands its messages to.
///
/// Pushers are made per sender when a dataflow is instantiated. A message for the own worker goes
/// into the queue of the receiving operator; for another worker it is staged until the posting. The
/// count of the message is added here, so that no path can forget it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <timely/antichain.h>
#include <timely/detail/tracker.h>
#include <timely/message.h>
#include <timely/pact.h>

namespace timely {
template <Timestamp T, Message M>
class Input;
}

namespace timely::detail {

template <Timestamp T, typename M>
class Pusher {
 public:
  virtual ~Pusher() = default;
  virtual void push(const Antichain<T>& times, M&& message) = 0;
};

/// What making pushers for one sender needs; shared subtrees are made once.
struct SenderContext {
  Sender& sender;
  std::map<const void*, std::shared_ptr<void>> made{};
};

template <typename M>
M copy_message(const M& message) {
  if constexpr (requires { MessageTraits<M>::copy(message); }) {
    return MessageTraits<M>::copy(message);
  } else {
    FRESHET_UNREACHABLE("a message that cannot be copied has several consumers");
  }
}

/// A message on its way to another worker.
template <Timestamp T, typename M>
class MessageMail final : public MailNode {
 public:
  MessageMail(Input<T, M>& target, const Antichain<T>& times, M&& message, DataflowRef keep)
      : target_(target), times_(times), message_(std::move(message)), keep_(std::move(keep)) {}
  void deliver() override {
    target_.receive(std::move(times_), std::move(message_));
    delete this;
  }
  void discard() override { delete this; }

 private:
  Input<T, M>& target_;
  Antichain<T> times_;
  M message_;
  DataflowRef keep_;
};

/// The instances of one operator input on all workers, as one sender sees them.
template <Timestamp T, typename M>
class Targets {
 public:
  Targets(Sender& sender, ProgressLog<T>& log, std::uint32_t node, std::vector<Input<T, M>*> inputs)
      : sender_(sender), log_(log), node_(node), inputs_(std::move(inputs)) {}

  [[nodiscard]] std::size_t width() const { return inputs_.size(); }
  [[nodiscard]] std::size_t own() const { return sender_.worker_index(); }

  void send(std::size_t worker, const Antichain<T>& times, M&& message) {
    log_.update(node_, times, +1);
    if (worker == sender_.worker_index()) {
      inputs_[worker]->receive(Antichain<T>(times), std::move(message));
      return;
    }
    const std::size_t records = MessageTraits<M>::size(message);
    sender_.stage(worker,
                  new MessageMail<T, M>(*inputs_[worker], times, std::move(message),
                                        DataflowRef(&sender_.dataflow())),
                  records);
  }

 private:
  Sender& sender_;
  ProgressLog<T>& log_;
  std::uint32_t node_;
  std::vector<Input<T, M>*> inputs_;
};

template <Timestamp T, typename M>
class PipelinePusher final : public Pusher<T, M> {
 public:
  explicit PipelinePusher(Targets<T, M> targets) : targets_(std::move(targets)) {}
  void push(const Antichain<T>& times, M&& message) override {
    std::size_t worker = targets_.own();
    if (worker == Sender::kOutside) {
      worker = turn_;
      turn_ = (turn_ + 1) % targets_.width();
    }
    targets_.send(worker, times, std::move(message));
  }

 private:
  Targets<T, M> targets_;
  std::size_t turn_ = 0;
};

template <Timestamp T, typename M, typename Route>
class ExchangePusher final : public Pusher<T, M> {
 public:
  ExchangePusher(Targets<T, M> targets, Route route)
      : targets_(std::move(targets)), route_(std::move(route)), parts_(targets_.width()) {}
  void push(const Antichain<T>& times, M&& message) override {
    if (targets_.width() == 1) {
      targets_.send(0, times, std::move(message));
      return;
    }
    MessageTraits<M>::partition(std::move(message), route_, std::span<M>(parts_));
    for (std::size_t worker = 0; worker < parts_.size(); ++worker) {
      if (MessageTraits<M>::size(parts_[worker]) == 0) continue;
      targets_.send(worker, times, std::exchange(parts_[worker], M{}));
    }
  }

 private:
  Targets<T, M> targets_;
  Route route_;
  std::vector<M> parts_;
};

template <Timestamp T, typename M>
class BroadcastPusher final : public Pusher<T, M> {
 public:
  explicit BroadcastPusher(Targets<T, M> targets) : targets_(std::move(targets)) {}
  void push(const Antichain<T>& times, M&& message) override {
    for (std::size_t worker = 0; worker + 1 < targets_.width(); ++worker) {
      targets_.send(worker, times, copy_message(message));
    }
    targets_.send(targets_.width() - 1, times, std::move(message));
  }

 private:
  Targets<T, M> targets_;
};

/// For streams with no consumer or several.
template <Timestamp T, typename M>
class TeePusher final : public Pusher<T, M> {
 public:
  explicit TeePusher(std::vector<Pusher<T, M>*> targets) : targets_(std::move(targets)) {}
  void push(const Antichain<T>& times, M&& message) override {
    if (targets_.empty()) return;
    for (std::size_t i = 0; i + 1 < targets_.size(); ++i)
      targets_[i]->push(times, copy_message(message));
    targets_.back()->push(times, std::move(message));
  }

 private:
  std::vector<Pusher<T, M>*> targets_;
};

/// Changes the times on the way into or out of a scope or round a loop. Times that do not exist
/// (past the end of an integer) are left out, and a message without times is dropped.
template <Timestamp From, Timestamp To, typename M, typename Convert>
class ConvertPusher final : public Pusher<From, M> {
 public:
  ConvertPusher(Pusher<To, M>& target, Convert convert)
      : target_(target), convert_(std::move(convert)) {}
  void push(const Antichain<From>& times, M&& message) override {
    Antichain<To> converted;
    for (const From& time : times.elements()) {
      if (std::optional<To> to = convert_(time)) converted.insert(std::move(*to));
    }
    if (!converted.empty()) target_.push(converted, std::move(message));
  }

 private:
  Pusher<To, M>& target_;
  Convert convert_;
};

}  // namespace timely::detail
