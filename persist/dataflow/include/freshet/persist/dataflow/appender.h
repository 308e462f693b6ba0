// SPDX-License-Identifier: Apache-2.0
/// Appends to one shard as time completes; the state behind `persist_sink`.
///
/// Thread safety: `advance` on one worker; answers come from the scheduler.
#pragma once

#include <functional>
#include <memory>

#include <freshet/base/guarded.h>
#include <freshet/base/scheduler.h>
#include <freshet/persist/group.h>
#include <timely/activator.h>

namespace freshet::persist {

struct SinkOptions {
  std::shared_ptr<Group> group;
  ShardId shard{};
  Epoch epoch = 0;
  /// The shard's upper now; updates before it are dropped: they are there already.
  Time upper = 0;
  base::Scheduler& scheduler;
  /// Called once if appending fails, is fenced or finds another upper; the sink then stands still.
  std::function<void(Error)> on_error;
};

class Appender : public std::enable_shared_from_this<Appender> {
 public:
  explicit Appender(SinkOptions options);
  /// What to wake when an append is done.
  void activate_with(timely::Activator activator);
  /// Takes the updates before `frontier` out of `pending` and appends them, unless an append is
  /// under way.
  void advance(Updates& pending, Time frontier);

 private:
  struct State {
    timely::Activator activator{};
    Time upper = 0;
    bool busy = false;
    bool failed = false;
  };
  void finish(Time upper, Result<CommitOutcome> outcome);

  SinkOptions options_;
  base::Guarded<State> state_;
};

}  // namespace freshet::persist
