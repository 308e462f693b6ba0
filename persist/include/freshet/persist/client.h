// SPDX-License-Identifier: Apache-2.0
/// The way into persist: one client per process, which opens groups and keeps their state.
///
///     PersistClient client({*scheduler, *blob, *consensus, *log, *metrics}, {.seed = seed});
///     client.open("tables").on_ready(strand, [](Result<std::shared_ptr<Group>> group) { … });
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/base/log.h>
#include <freshet/base/metrics.h>
#include <freshet/persist/blob.h>
#include <freshet/persist/consensus.h>
#include <freshet/persist/group.h>

namespace freshet::persist {

/// What persist runs on. All of it outlives the client, and `scheduler` its last task.
struct Environment {
  base::Scheduler& scheduler;
  Blob& blob;
  Consensus& consensus;
  base::Logger& log;
  base::Metrics& metrics;
};

struct ClientOptions {
  /// Makes session and part names; must differ between starts.
  std::uint64_t seed = 0;
  /// No other process uses this Blob and Consensus (the data directory is locked): what earlier
  /// sessions held or left behind is swept away as groups open.
  bool exclusive = true;

  /// Batches up to this size travel in the group's state.
  std::size_t inline_bytes = 32 << 10;
  /// Of rows, in one part.
  std::size_t part_bytes = 32 << 20;
  Compression compression = Compression::kLz4;
  /// Maintenance that no commit carried goes out alone after this long.
  std::chrono::nanoseconds maintenance_delay = std::chrono::seconds(1);
  /// A shard's batches are merged when this many of about one size have come together.
  std::size_t merge_fan_in = 8;
  /// The state is written out whole, and its old versions dropped, after so many versions or bytes.
  std::uint64_t rollup_versions = 512;
  std::uint64_t rollup_bytes = 4 << 20;
  /// A session not heard of for this long is dead, and with it its holds.
  std::chrono::microseconds session_lease = std::chrono::minutes(15);
};

/// Thread safety: all of it.
/// Lifetime: destroying it cancels what is pending and does no I/O; groups and readers that others
/// still hold answer kCancelled from then on.
class PersistClient {
 public:
  PersistClient(Environment environment, ClientOptions options);
  ~PersistClient();
  PersistClient(const PersistClient&) = delete;
  PersistClient& operator=(const PersistClient&) = delete;

  /// Opens a group, making it at the first time ever. The same object for the same name.
  base::Future<std::shared_ptr<Group>> open(std::string name);

  /// Removes a group and all it stored, for ever. Nobody may use it any more, except that readers
  /// finish the step they are in: their parts go after it. kConflict if another process goes on
  /// committing. No error if there is none.
  base::Future<base::Unit> erase(std::string name);

  /// The names of all groups that were ever committed to, open or not.
  base::Future<std::vector<std::string>> groups();

  /// Resolves when maintenance has nothing left to do in any open group. For tests and a clean
  /// stop.
  base::Future<base::Unit> settle();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace freshet::persist
