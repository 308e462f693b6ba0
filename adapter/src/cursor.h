// SPDX-License-Identifier: Apache-2.0
/// A stream that can be read in pieces, with a deadline: what FETCH needs.
#pragma once

#include <freshet/adapter/session.h>

namespace freshet::adapter {

/// Wraps a stream so that giving up waiting loses nothing: the pending rows come with the next call.
///
/// Thread safety: one call at a time, on `queue`.
class CursorStream final : public RowStream {
 public:
  CursorStream(base::Scheduler& scheduler, base::TaskQueue& queue, std::unique_ptr<RowStream> stream);
  ~CursorStream() override;
  base::Future<RowBatch> next(std::size_t most) override;
  /// As `next`, but an empty batch after `wait` without rows; `ended()` tells the two apart.
  base::Future<RowBatch> next_within(std::size_t most, std::chrono::microseconds wait);
  [[nodiscard]] bool ended() const;
  /// The session ends: who waits for rows is not answered, and keeps nothing alive any more.
  void abandon();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace freshet::adapter
