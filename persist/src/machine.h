// SPDX-License-Identifier: Apache-2.0
// One group in one process: the cached state, the queue of commits, and the upkeep.
//
// Everything that changes happens on the machine's strand; `view_` is what other threads may look
// at under its lock, and is written on the strand only. One compare-and-set is under way at a time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <freshet/base/guarded.h>
#include <freshet/base/random.h>
#include <freshet/persist/client.h>

#include "flow.h"
#include "io.h"
#include "session.h"
#include "state.h"

namespace freshet::persist {

class UploadedBatch {
 public:
  std::string group;
  ShardId shard{};
  std::vector<Run> runs;
  std::shared_ptr<const Updates> inlined;  ///< Null or not empty; consolidated.
  bool timeless = false;                   ///< The append that takes it says when.
};

/// What a reader takes from the state: batches that stay in Blob while `pin` lives.
struct ShardPlan {
  std::vector<BatchEntry> batches;
  Time since = 0;
  Time upper = 0;
  std::shared_ptr<void> pin;
};

class Machine : public std::enable_shared_from_this<Machine> {
 public:
  Machine(Environment environment, const ClientOptions& options, std::shared_ptr<Session> session,
          std::string name);
  base::TaskQueue& queue() { return strand_; }

  // ---- Called from any thread.

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }
  [[nodiscard]] IoRef new_io() const { return std::make_shared<Io>(environment_, codec_); }
  [[nodiscard]] std::optional<ShardInfo> shard(ShardId id) const;
  [[nodiscard]] std::vector<ShardInfo> shards() const;
  [[nodiscard]] Epoch epoch() const;
  [[nodiscard]] bool is_closed() const;
  base::Future<Time> upper_past(ShardId shard, Time time);
  [[nodiscard]] Result<ShardPlan> plan(ShardId shard);
  /// A name for a new object of this group, never used before.
  std::string new_key(const char* kind);
  void downgrade_since(ShardId shard, Time since);
  void change_hold(ShardId shard, std::optional<Time> from, std::optional<Time> to);
  void close();

  // ---- Conversations on the strand, begun from any thread.

  /// `found`: the objects of this group that earlier processes left; those that the state does not
  /// name go.
  static base::Future<base::Unit> load(std::shared_ptr<Machine> self,
                                       std::vector<std::string> found);
  static base::Future<base::Unit> refresh(std::shared_ptr<Machine> self);
  static base::Future<CommitOutcome> commit(std::shared_ptr<Machine> self, Commit commit);
  static base::Future<Epoch> acquire(std::shared_ptr<Machine> self);
  static base::Future<base::Unit> join(std::shared_ptr<Machine> self, Epoch epoch);
  /// Registers a hold; undo with `change_hold`.
  static base::Future<base::Unit> hold(std::shared_ptr<Machine> self, ShardId shard, Time at);
  static base::Future<base::Unit> settle(std::shared_ptr<Machine> self);
  /// Removes everything the group ever stored. Nobody may use it any more.
  static base::Future<base::Unit> erase(std::shared_ptr<Machine> self);

 private:
  struct Waiter {
    Time time = 0;
    base::Promise<Time> promise;
  };
  /// A commit whose large updates are still on their way to Blob is not ready; those that came
  /// later and touch one of its shards wait behind it.
  struct Work {
    Commit commit{};
    bool ready = false;
    std::optional<Error> failure{};
  };
  struct Request {
    std::shared_ptr<Work> work;
    std::uint64_t order = 0;  ///< Of arrival.
    bool acquire = false;
    bool verified = false;  ///< The state is known to be newer than the request.
    base::Promise<CommitOutcome> promise;
    CommitOutcome outcome{};
  };
  /// Who waits for an answer. Under a lock, so that a client that goes away can send all of them
  /// home even when its scheduler runs nothing any more: they hold the machine.
  struct Inbox {
    std::deque<Request> requests{};  ///< By order.
    std::uint64_t last_order = 0;
    std::vector<base::Promise<base::Unit>> settled{};
    bool closed = false;
  };
  struct View {
    GroupState state;
    std::multimap<ShardId, Waiter> waiters;
    std::map<ShardId, std::multiset<Time>> holds;
    std::multiset<std::uint64_t> pins;
    std::vector<base::Promise<base::Unit>> unpinned;  ///< Who waits for the last pin to go.
    bool closed = false;
  };
  struct Pending {
    std::vector<step::Replace> replaces{};
    std::vector<std::string> forgotten{};
    std::map<ShardId, Time> sinces{};
    std::optional<RollupRef> rollup{};
    [[nodiscard]] bool empty() const {
      return replaces.empty() && forgotten.empty() && sinces.empty() && !rollup;
    }
  };
  struct Attempt {
    explicit Attempt(const GroupState& state) : draft(state) {}
    Draft draft;
    std::vector<Step> steps{};
    std::vector<Request> accepted{};
    std::vector<Request> waiting{};  ///< Not ready, or refused by a state that may be old.
    Pending upkeep{};                ///< What of the pending upkeep rides along.
    bool stale = false;              ///< A request was refused by a state that may be old.
  };
  enum class Written : std::uint8_t { kApplied, kMismatch };

  // commit.cc, pump.cc
  bool enqueue(Request request);
  [[nodiscard]] bool has_requests() const;
  [[nodiscard]] bool settling() const;
  void start_pump();
  class Commitment;
  class Pump;
  class VersionWrite;
  [[nodiscard]] Result<void> check(const Commit& commit) const;
  std::shared_ptr<Attempt> build_attempt();
  void take_request(Attempt& attempt, Request request);
  void add_upkeep(Attempt& attempt);
  static base::Future<base::Unit> look_again(std::shared_ptr<Machine> self);
  void accept(Attempt& attempt, const StateVersion& version, std::size_t bytes);
  void refuse(Attempt& attempt, const Error& error);
  void put_back(std::vector<Request>& requests);
  void give_back(Attempt& attempt);
  void give_back_upkeep(Pending upkeep);
  const GroupState& state() {
    return *view_.with([](View& view) { return &view.state; });
  }

  // load.cc
  class Refresh;
  static base::Future<base::Unit> reload(std::shared_ptr<Machine> self);
  static base::Future<std::optional<Version>> head(std::shared_ptr<Machine> self);
  base::Future<base::Unit> fetch_rollup(const std::optional<Version>& head);
  Result<void> install_rollup(const std::string& key, base::BytesView bytes);
  Result<void> apply_version(const Version& version);
  void changed(const std::vector<ShardId>& shards, std::size_t bytes);
  static base::Future<std::vector<std::string>> list_objects(std::shared_ptr<Machine> self);
  static base::Future<base::Unit> remove_objects(std::shared_ptr<Machine> self,
                                                 std::vector<std::string> keys);

  // view.cc
  [[nodiscard]] Result<void> readable_at(ShardId shard, Time at);
  /// While it lives, no object goes that the state names now.
  std::shared_ptr<void> pin();
  std::shared_ptr<void> pin(View& view);
  void unpin(std::uint64_t seqno);
  /// Resolves when nobody reads.
  base::Future<base::Unit> unpinned();

  // erase.cc
  class Erasure;

  // upkeep.cc
  void consider_upkeep(const std::vector<ShardId>& shards);
  void arm_upkeep();
  void start_upkeep();
  static base::Future<base::Unit> roll_up_if_due(std::shared_ptr<Machine> self);
  void truncate(std::uint64_t seqno);
  static base::Future<base::Unit> collect(std::shared_ptr<Machine> self);
  std::vector<std::string> garbage(const HoldTable& others);
  void warn_if_failed(std::string_view consequence, const Result<base::Unit>& result);
  [[nodiscard]] bool idle() const;
  void check_settled();
  GroupHolds current_holds() const;

  // compaction.cc
  class Compaction;
  class BatchMerge;
  void start_merges();
  [[nodiscard]] Time own_hold(ShardId shard) const;

  Environment environment_;
  ClientOptions options_;
  std::shared_ptr<Session> session_;
  std::string name_;
  std::string key_;
  std::shared_ptr<const PartCodec> codec_;
  base::Strand strand_;
  base::Guarded<View> view_;
  base::Guarded<Inbox> inbox_;
  base::Guarded<base::Random> random_;

  // On the strand from here.
  bool pumping_ = false;
  Epoch epoch_ =
      0;  ///< Under which this process writes, and maintains the group; 0 if it does not.
  Pending pending_;  ///< Steps that wait for a commit to ride on.
  bool upkeep_due_ = false;
  base::TimerId upkeep_timer_ = 0;
  // Work under way.
  std::set<ShardId> to_merge_;
  std::set<ShardId> merging_;
  bool upkeeping_ = false;
  std::uint64_t bytes_since_rollup_ = 0;
  std::set<std::string> collected_;  ///< Removed from Blob; the state does not know yet.
};

}  // namespace freshet::persist
