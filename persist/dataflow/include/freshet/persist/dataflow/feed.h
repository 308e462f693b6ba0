// SPDX-License-Identifier: Apache-2.0
/// Carries what a reader delivers to the workers of a dataflow; shared by the instances of one
/// source.
///
/// One reader per source and process. It reads ahead while fewer than `chunks_max` chunks wait,
/// deals them to the workers in turn and tells all of them of progress. It stops when the last
/// instance is gone. Thread safety: all of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <freshet/base/guarded.h>
#include <freshet/base/scheduler.h>
#include <freshet/persist/group.h>
#include <timely/activator.h>

namespace freshet::persist {

struct SourceOptions {
  std::shared_ptr<Group> group;
  ReadOptions read;
  /// Runs the reading loop; outlives the dataflow.
  base::Scheduler& scheduler;
  /// Called once if reading fails, on a task. The source then keeps its frontier for ever: whoever
  /// owns the dataflow drops it.
  std::function<void(Error)> on_error;
  std::size_t chunks_max = 8;
};

class Feed : public std::enable_shared_from_this<Feed> {
 public:
  /// What one worker finds: updates at `time` or later, or news that nothing before `time` will
  /// come.
  struct Item {
    std::shared_ptr<const Updates> updates{};  ///< Null for progress alone.
    Time time = 0;
    bool done = false;
  };

  Feed(SourceOptions options, std::size_t workers);

  [[nodiscard]] Time as_of() const { return options_.read.as_of; }
  /// Each worker calls it once; the last starts the reading.
  void join(std::size_t worker, timely::Activator activator);
  /// The next item of a worker, in order.
  bool next(std::size_t worker, Item& item);

 private:
  struct Queue {
    timely::Activator activator{};
    std::deque<Item> items{};
  };
  struct State {
    std::vector<Queue> queues{};
    std::size_t joined = 0;
    std::size_t chunks = 0;  ///< Dealt and not yet taken.
    std::size_t turn = 0;
    Time upper = 0;
    bool reading = false;
    bool done = false;
  };
  void open();
  void read_on();
  void deliver(ReadChunk chunk);
  void fail_with(Error error);

  SourceOptions options_;
  base::Guarded<State> state_;
  std::unique_ptr<Reader> reader_;  ///< One `next` at a time uses it.
};

}  // namespace freshet::persist
