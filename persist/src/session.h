// SPDX-License-Identifier: Apache-2.0
// The one lease of a process, and the holds that it publishes for those who compact and collect.
//
// A process that is alone (`exclusive`) publishes nothing: whoever compacts is itself.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <freshet/base/guarded.h>
#include <freshet/persist/client.h>

#include "flow.h"

namespace freshet::persist {

/// What one process still reads of one group.
struct GroupHolds {
  /// No state before this version is in use.
  std::uint64_t seqno = 0;
  std::map<ShardId, Time> holds{};
};
using HoldTable = std::map<std::string, GroupHolds>;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Environment environment, const ClientOptions& options);
  base::TaskQueue& queue() { return strand_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] bool exclusive() const { return exclusive_; }
  /// Never the same twice in a session.
  std::uint64_t next_number() { return next_number_.fetch_add(1); }

  /// `current` tells what this process reads of the group, whenever the session writes; the first
  /// time is before this resolves.
  static base::Future<base::Unit> join(std::shared_ptr<Session> self, std::string group,
                                       std::function<GroupHolds()> current,
                                       std::function<void()> on_lost);

  /// Resolves when what the groups tell now, or later, is durable. kCancelled if the session is
  /// lost.
  static base::Future<base::Unit> publish(std::shared_ptr<Session> self);
  /// Something was released: publish some time soon.
  void publish_later();

  /// What the other sessions hold; removes those whose lease has run out.
  static base::Future<HoldTable> others(std::shared_ptr<Session> self);
  /// Removes every other session: only for an exclusive process, at its start.
  static base::Future<base::Unit> sweep(std::shared_ptr<Session> self);
  void close();

 private:
  struct Member {
    std::function<GroupHolds()> current;
    std::function<void()> on_lost;
  };
  class Write;
  class HoldsOfOthers;
  void write_next();
  static base::Future<base::Unit> remove_session(std::shared_ptr<Session> self, std::string key);
  void arm(std::chrono::nanoseconds delay);
  void lost();
  base::Bytes record();

  Environment environment_;
  std::chrono::microseconds lease_;
  bool exclusive_;
  std::string id_;
  std::string key_;
  base::Strand strand_;
  std::atomic<std::uint64_t> next_number_{1};
  /// Who waits for the next write. Under a lock for `close`: they hold the session.
  struct Inbox {
    std::vector<base::Promise<base::Unit>> waiting{};
    bool closed = false;
  };
  std::vector<base::Promise<base::Unit>> take_waiting();
  [[nodiscard]] bool is_closed() const;
  base::Guarded<Inbox> inbox_;
  // On the strand from here.
  std::map<std::string, Member> members_;
  std::uint64_t seqno_ = 0;
  std::uint64_t writes_ = 0;
  bool writing_ = false;
  bool lost_ = false;
  base::TimerId timer_ = 0;
  base::Instant timer_due_{};
};

}  // namespace freshet::persist
