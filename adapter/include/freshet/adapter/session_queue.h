// SPDX-License-Identifier: Apache-2.0
/// A strand whose tasks may also run on a thread from outside the scheduler, such as one that waits for the network.
///
/// So a short request is read, answered and written by one thread that was awake anyway; waking another costs
/// more than most requests.
///
/// Thread safety: all methods. Destroying it drops the tasks that have not started.
#pragma once

#include <memory>

#include <freshet/base/scheduler.h>

namespace freshet::adapter {

class SessionQueue final : public base::TaskQueue {
 public:
  explicit SessionQueue(base::Scheduler& scheduler);
  ~SessionQueue() override;
  SessionQueue(const SessionQueue&) = delete;
  SessionQueue& operator=(const SessionQueue&) = delete;

  void post(base::Task task) override;
  /// As `post`, but if the queue is idle the task, and a few that it posts here, run before this returns. Not from
  /// inside a task, nor under a lock.
  void run_or_post(base::Task task);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace freshet::adapter
