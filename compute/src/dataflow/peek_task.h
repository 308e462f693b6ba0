// SPDX-License-Identifier: Apache-2.0
/// A read of one collection at one time, from snapshots, in slices, on any thread.
///
/// The errors in scope come first: the least of them is the answer if there is one. Rows then go through the
/// peek's mfp a chunk at a time. With a limit and no order it stops early; with an order it keeps no more
/// than the rows that can still be among the first.
///
/// Thread safety: one thread at a time, but for `cancel`.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <differential/bytes_instances.h>
#include <freshet/base/scheduler.h>
#include <freshet/compute_api/compute.h>
#include <freshet/expr/order_encoder.h>

#include "dataflow/mfp_operator.h"
#include "dataflow/row_layout.h"

namespace freshet::compute {

class PeekTask {
 public:
  using Snapshot = differential::RowSnapshot<SqlTime>;
  using Respond = std::function<void(compute_api::PeekResponse)>;
  struct Source {
    expr::ArrangementLayout layout;
    ColumnTypes types;
    Snapshot oks;
    Snapshot errs;
    /// Key bytes, sorted; absent: everything.
    std::optional<std::vector<std::string>> seek{};
    /// Keeps the snapshots readable.
    std::shared_ptr<void> holds{};
  };

  PeekTask(compute_api::Peek peek, Source source, std::uint64_t max_bytes, Respond respond);

  /// Works for about `slice`; true when the last response was sent.
  bool run(const base::Clock& clock, std::chrono::nanoseconds slice);
  /// The next slice answers kCancelled.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  using Cursor = differential::AsOfCursor<std::string, std::string, SqlTime, Diff>;
  struct Candidate {
    std::string order;
    std::string row;
    Diff count;
  };

  std::optional<Error> find_error() const;
  void read_errors(Cursor& cursor, std::string_view key, std::optional<Error>& least) const;
  /// Moves to the next wanted entry; false at the end.
  bool at_wanted();
  Result<void> flush();
  void take(const repr::Chunk& chunk);
  void take_candidates(const repr::Chunk& chunk);
  void prune();
  void send_part();
  bool answer(std::optional<Error> error);
  void finish_ordered();

  compute_api::Peek peek_;
  Source source_;
  std::uint64_t max_bytes_;
  Respond respond_;
  MfpStep mfp_;
  ColumnTypes output_types_;
  repr::RowCodec output_codec_;
  expr::OrderEncoder order_;
  ArrangedDecoder decoder_;
  TimesBuilder<SqlTime> times_;
  std::optional<Cursor> cursor_{};
  std::size_t next_seek_ = 0;
  bool started_ = false;
  std::vector<Candidate> candidates_{};
  compute_api::PeekResponse part_;
  std::uint64_t bytes_ = 0;
  std::atomic<bool> cancelled_{false};
};

}  // namespace freshet::compute
