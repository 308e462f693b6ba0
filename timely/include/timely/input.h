// SPDX-License-Identifier: Apache-2.0
/// Sends messages into a dataflow from outside.
///
/// The handle belongs to one thread at a time (usually the one that described the dataflow). It is
/// a progress sender of its own: it holds the right to send from its current time on, and posts
/// each message together with the moves of its time. Messages go to the workers in turn, or by the
/// hash of the operator that reads them.
///
/// What was sent is on its way after `flush`, `advance_to` or `close`; the destructor closes.
///
///     input.send({1, 2, 3});        // a message at time 0
///     input.push(4);                // a record, collected into messages
///     input.advance_to(1);
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <timely/detail/describe.h>
#include <timely/message.h>
#include <timely/scope.h>

namespace timely {

template <Timestamp T, Message M>
class InputHandle {
 public:
  /// Not connected; only to be assigned to.
  InputHandle() = default;
  InputHandle(InputHandle&& other) noexcept : state_(std::move(other.state_)) {}
  InputHandle& operator=(InputHandle&& other) noexcept {
    if (this == &other) return *this;
    close();
    state_ = std::move(other.state_);
    return *this;
  }
  ~InputHandle() { close(); }

  [[nodiscard]] bool open() const { return state_ != nullptr && state_->sender != nullptr; }
  /// The time of what is sent now.
  [[nodiscard]] const T& time() const { return checked().now; }

  void send(M message) {
    State& state = checked();
    flush_buffer();
    state.pusher->push(Antichain<T>{state.now}, std::move(message));
    if (++state.staged >= kMostStaged) flush();
  }
  template <typename Record>
  void push(Record&& record) {
    State& state = checked();
    state.buffer.push_back(std::forward<Record>(record));
    if (MessageTraits<M>::size(state.buffer) >= kRecords) flush_buffer();
  }
  void flush() {
    State& state = checked();
    flush_buffer();
    state.staged = 0;
    state.sender->post();
  }
  /// Gives up the right to send before `time`, which must not be before the current one.
  void advance_to(const T& time) {
    State& state = checked();
    FRESHET_ASSERT(less_equal(state.now, time), state.now, time);
    if (!(state.now == time)) {
      flush_buffer();
      state.log->update(state.node, state.now, -1);
      state.log->update(state.node, time, +1);
      state.now = time;
    }
    flush();
  }
  /// Gives up the right to send.
  void close() {
    if (!open()) {
      state_ = nullptr;
      return;
    }
    flush_buffer();
    state_->log->update(state_->node, state_->now, -1);
    state_->sender->post();
    state_->sender = nullptr;
    state_ = nullptr;
  }

 private:
  friend class Scope<T>;
  static constexpr std::size_t kRecords = 1024;
  static constexpr std::size_t kMostStaged = 64;

  struct State {
    detail::DataflowRef dataflow;
    std::unique_ptr<detail::Sender> sender;
    detail::ProgressLog<T>* log = nullptr;
    std::uint32_t node = 0;
    detail::Pusher<T, M>* pusher = nullptr;
    T now = minimum<T>();
    M buffer{};
    std::size_t staged = 0;
  };

  explicit InputHandle(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& checked() const {
    FRESHET_ASSERT(open(), "input handle is closed");
    return *state_;
  }
  void flush_buffer() {
    State& state = *state_;
    if constexpr (requires(M& m) { m.push_back(*m.begin()); }) {
      if (MessageTraits<M>::size(state.buffer) == 0) return;
      state.pusher->push(Antichain<T>{state.now}, std::exchange(state.buffer, M{}));
    }
  }

  std::shared_ptr<State> state_;
};

template <Timestamp T>
template <Message M>
std::pair<InputHandle<T, M>, Stream<T, M>> Scope<T>::input(std::string name) const {
  using State = typename InputHandle<T, M>::State;
  auto& stream = place<M>(std::move(name));
  spec_->graph.ports[stream.port].initial += 1;
  auto state = std::make_shared<State>();
  auto& builder = spec_->builder;
  builder.at_end([state, &builder, &stream] {
    state->dataflow = detail::DataflowRef(&builder.state());
    state->sender = std::make_unique<detail::Sender>(builder.state(), detail::Sender::kOutside);
    builder.add_logs(*state->sender);
    state->log = &stream.scope.log(*state->sender);
    state->node = stream.scope.tracker->node(stream.port);
    detail::SenderContext context{*state->sender};
    state->pusher = &stream.pusher(context);
  });
  return {InputHandle<T, M>(std::move(state)), Stream<T, M>(stream)};
}

}  // namespace timely
