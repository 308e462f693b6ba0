// SPDX-License-Identifier: Apache-2.0
/// `Oracle`: the timestamps of one timeline, strictly serialisable.
///
/// A read gets the wall clock, but never less than a write that was acknowledged or a read that was given before;
/// a write gets more than every time given before. Times are promised only below a durable reservation, which
/// is extended ahead of need while the oracle is used, and costs nothing while it is not; a restart
/// begins above it, so that no promise is broken by a crash or a clock set back. A reservation reaches two seconds
/// beyond the clock, and hardly beyond what was given where that is ahead of the clock: however often a server dies, its
/// times run ahead by about that at most, until the clock has caught up. A server that ends takes the rest back.
///
/// Thread safety: all methods.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/repr/time.h>

namespace freshet::adapter {

using repr::SqlTime;

class Oracle {
 public:
  /// Makes the reservation `until` durable.
  using Reserve = std::function<base::Future<base::Unit>(SqlTime until)>;

  /// `floor`: every time promised in earlier lives is below it.
  Oracle(base::Scheduler& scheduler, SqlTime floor, Reserve reserve);

  /// For a read that must see everything acknowledged before now. Waits only while the reservation is extended; where it
  /// cannot be, time stands still below the one that is.
  base::Future<SqlTime> read_timestamp();
  /// The same if it need not wait; nothing otherwise.
  std::optional<SqlTime> read_now();
  /// Gives no more times to read at (57P01), and makes the reservation end where they did.
  base::Future<base::Unit> release();
  /// Greater than every time given so far. Needs no reservation: the commit itself makes it durable.
  SqlTime write_timestamp();
  /// The write at `time` is acknowledged: later reads see it.
  void apply_write(SqlTime time);

 private:
  struct Waiting {
    SqlTime time;
    base::Promise<SqlTime> promise;
  };
  SqlTime next_read(std::unique_lock<std::mutex>& lock);
  void extend(std::unique_lock<std::mutex>& lock, SqlTime needed);
  void extended(SqlTime needed, SqlTime until, Result<base::Unit> result);

  base::Scheduler& scheduler_;
  Reserve reserve_;
  std::mutex mutex_;
  SqlTime last_read_;
  SqlTime last_write_;
  SqlTime applied_;
  SqlTime given_;  ///< The greatest time that a read was answered with.
  SqlTime reserved_ = 0;
  SqlTime renew_at_ = 0;  ///< A read at this time or later asks for the next reservation.
  bool extending_ = false;
  bool released_ = false;
  std::vector<Waiting> waiting_;
};

}  // namespace freshet::adapter
