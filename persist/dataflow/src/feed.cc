// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/dataflow/feed.h>

#include <freshet/base/assert.h>

namespace freshet::persist {

Feed::Feed(SourceOptions options, std::size_t workers) : options_(std::move(options)) {
  state_.with([&](State& state) {
    state.queues.resize(workers);
    state.upper = options_.read.as_of;
  });
}

void Feed::join(std::size_t worker, timely::Activator activator) {
  const bool complete = state_.with([&](State& state) {
    state.queues[worker].activator = std::move(activator);
    return ++state.joined == state.queues.size();
  });
  if (complete) open();
}

// The loop holds the feed only weakly, so that it ends with the last instance.
void Feed::open() {
  options_.group->read(options_.read)
      .on_ready(options_.scheduler,
                [weak = weak_from_this()](Result<std::unique_ptr<Reader>> reader) {
                  const auto self = weak.lock();
                  if (self == nullptr) return;
                  if (!reader) return self->fail_with(std::move(reader).error());
                  self->reader_ = std::move(reader).value();
                  self->read_on();
                });
}

void Feed::read_on() {
  const bool go = state_.with([&](State& state) {
    if (state.reading || state.done || reader_ == nullptr) return false;
    if (state.chunks >= options_.chunks_max) return false;
    return state.reading = true;
  });
  if (!go) return;
  reader_->next().on_ready(options_.scheduler, [weak = weak_from_this()](Result<ReadChunk> chunk) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (!chunk) return self->fail_with(std::move(chunk).error());
    self->deliver(std::move(chunk).value());
    self->read_on();
  });
}

void Feed::deliver(ReadChunk chunk) {
  std::vector<timely::Activator> woken;
  state_.with([&](State& state) {
    state.reading = false;
    state.done = chunk.done;
    if (!chunk.updates->empty()) {
      Queue& queue = state.queues[state.turn];
      queue.items.push_back({.updates = std::move(chunk.updates), .time = state.upper});
      woken.push_back(queue.activator);
      ++state.chunks;
      state.turn = (state.turn + 1) % state.queues.size();
    }
    if (chunk.upper == state.upper && !chunk.done) return;
    state.upper = chunk.upper;
    woken.clear();
    for (Queue& queue : state.queues) {
      queue.items.push_back({.time = chunk.upper, .done = chunk.done});
      woken.push_back(queue.activator);
    }
  });
  for (const timely::Activator& activator : woken) activator.activate();
}

bool Feed::next(std::size_t worker, Item& item) {
  bool was_full = false;
  const bool found = state_.with([&](State& state) {
    std::deque<Item>& items = state.queues[worker].items;
    if (items.empty()) return false;
    item = std::move(items.front());
    items.pop_front();
    if (item.updates != nullptr) was_full = state.chunks-- == options_.chunks_max;
    return true;
  });
  if (was_full) {
    options_.scheduler.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->read_on();
    });
  }
  return found;
}

void Feed::fail_with(Error error) {
  state_.with([](State& state) { state.done = true; });
  if (options_.on_error) options_.on_error(std::move(error));
}

}  // namespace freshet::persist
