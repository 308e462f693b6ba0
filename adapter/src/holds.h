// SPDX-License-Identifier: Apache-2.0
/// `Holds`: from which time on each collection may be read, and who needs that it stays so.
///
/// A collection keeps `retain` of history behind its upper, and whatever holds ask for. Compaction is allowed
/// in steps, when the upper moved or a hold was released; nothing happens while nothing does.
///
/// Invariant: the since told to storage or compute is never above a hold.
/// Thread safety: all methods.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/id.h>
#include <freshet/repr/time.h>

namespace freshet::adapter {

using expr::GlobalId;
using repr::SqlTime;

class Holds;

/// Keeps some collections readable from a time on while it lives. Move only.
/// Lifetime: it may outlive its `Holds` (what waits for storage is dropped with storage, after us), and then does nothing.
class Hold {
 public:
  Hold() = default;
  Hold(Hold&& other) noexcept { *this = std::move(other); }
  Hold& operator=(Hold&& other) noexcept;
  ~Hold() { release(); }
  [[nodiscard]] SqlTime time() const { return time_; }
  /// Gives up the times before `time`.
  void downgrade(SqlTime time);
  void release();

 private:
  friend class Holds;
  Holds* holds_ = nullptr;
  std::weak_ptr<const bool> alive_{};  ///< As long as `holds_`.
  std::vector<GlobalId> ids_;
  bool everywhere_ = false;  ///< Instead of `ids_`.
  SqlTime time_ = 0;
};

class Holds {
 public:
  /// Tells the owner of a collection that reads before `since` will not come.
  using Compact = std::function<void(GlobalId, SqlTime since)>;
  explicit Holds(Compact compact) : compact_(std::move(compact)) {}

  void add(GlobalId id, SqlTime since, SqlTime upper, std::uint64_t retain_micros);
  void remove(GlobalId id);
  void on_upper(GlobalId id, SqlTime upper);

  [[nodiscard]] bool knows(GlobalId id) const;
  [[nodiscard]] SqlTime upper(GlobalId id) const;
  /// The least time at which all of `ids` are readable.
  [[nodiscard]] SqlTime readable_from(const std::vector<GlobalId>& ids) const;
  /// 22023 naming the collection if one is not readable at `time` any more.
  Result<Hold> acquire(std::vector<GlobalId> ids, SqlTime time);
  /// Holds everything that is readable at `time`: what a transaction may still come to read. Costs nothing for what
  /// does not move meanwhile.
  Hold acquire_all(SqlTime time);

 private:
  friend class Hold;
  struct Entry {
    SqlTime since = 0;
    SqlTime upper = 0;
    std::uint64_t retain = 0;
    std::multiset<SqlTime> holds;
  };
  Hold made(std::vector<GlobalId> ids, SqlTime time);
  /// `hold` goes from its time to `to`, or away.
  void change(const Hold& hold, const SqlTime* to);
  void change_everywhere(SqlTime from, const SqlTime* to);
  void advance(GlobalId id, Entry& entry);

  Compact compact_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  mutable std::mutex mutex_;
  std::map<GlobalId, Entry> entries_;
  std::multiset<SqlTime> everywhere_;  ///< What is held of every entry.
  std::set<GlobalId> held_back_;       ///< Entries that would have moved but for `everywhere_`.
};

}  // namespace freshet::adapter
