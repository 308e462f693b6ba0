// SPDX-License-Identifier: Apache-2.0
/// The list of batches of one worker's trace, kept short by merging neighbours whose sizes are close.
///
/// Sizes fall geometrically from old to new, so there are O(log n) batches. Large merges advance by
/// fuel that each insertion brings, and further when the owner is idle; tiny ones happen at once. Merges
/// move times to the compaction frontier of the moment, and a batch that has aged is rewritten alone.
///
/// Physical compaction: `set_physical(f)` promises not to ask for a cut before `f`; only batches whose
/// upper is at or before `f` are merged.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <differential/batch.h>
#include <differential/run_merger.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
class Spine {
 public:
  using BatchType = Batch<K, V, T, R>;
  using BatchRef = BatchPtr<K, V, T, R>;
  using Frontier = timely::Antichain<T>;

  explicit Spine(std::size_t block_bytes = kBlockBytes) : block_bytes_(block_bytes) {}

  /// Appends a batch, whose lower must be the present upper, and merges in proportion to its size.
  void insert(BatchRef batch, const Frontier& since);
  /// Merges with up to `fuel` updates looked at. True if merges remain.
  bool work(std::int64_t fuel, const Frontier& since);
  void set_physical(const Frontier& physical) { physical_ = physical; }

  [[nodiscard]] const Frontier& upper() const { return upper_; }
  /// In order of time.
  [[nodiscard]] std::vector<BatchRef> batches() const;
  /// The batches with uppers at or before `through`, which must not part the updates of a batch: no cut
  /// before the physical frontier may be asked for.
  [[nodiscard]] std::vector<BatchRef> batches_through(const Frontier& through) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t updates() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool merging() const;
  /// Counts changes of the list, so that an owner knows when to publish it again.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// Forgets all updates: nobody can read any more.
  void drop_contents();

 private:
  using Merger = RunMerger<K, V, T, R>;
  struct Entry {
    BatchRef batch;
    std::unique_ptr<Merger> with_next;  // merging with the next entry
    std::unique_ptr<Merger> rewrite;    // merging with nothing, to compact times
    bool taken = false;                 // being merged with the entry before
    [[nodiscard]] bool idle() const { return !with_next && !rewrite && !taken; }
  };

  [[nodiscard]] bool may_merge(const Entry& right) const {
    return timely::less_equal(right.batch->upper(), physical_);
  }
  void schedule(const Frontier& since);
  void start_rewrites(const Frontier& since);
  BatchRef joined(const BatchType& a, const BatchType& b, Run<K, V, T, R> run, const Frontier& since);
  void absorb_empty_neighbours();
  void merge_now(std::size_t left, const Frontier& since);

  std::vector<Entry> entries_;
  Frontier upper_ = Frontier::minimum();
  Frontier physical_;  // empty: nobody needs a cut
  std::size_t block_bytes_;
  std::uint64_t version_ = 0;
};

}  // namespace differential
