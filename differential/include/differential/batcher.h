// SPDX-License-Identifier: Apache-2.0
/// Turns a stream of updates in any order into sealed batches.
///
/// Updates of one time that arrive in bulk become sorted runs at once, merged geometrically; what a
/// seal leaves behind waits in a `FutureStore` and is not merged again before its time.
///
/// Invariant: `held()` is exact: it has a time only if updates at that time are held whose sum is not
/// zero. (A frontier computed before consolidation stalls recursion for ever.)
///
///     batcher.push(std::move(rows));
///     Run run = batcher.seal({5});           // all updates at times before 5, sorted and summed
///     batcher.held();                        // e.g. {5}, or {} when nothing is left
#pragma once

#include <map>
#include <utility>
#include <vector>

#include <differential/future_store.h>
#include <differential/run_merger.h>
#include <differential/sort.h>

namespace differential {

/// Sorts, sums and freezes `rows`; `builder` and `scratch` are only there to reuse their memory.
template <typename K, typename V, typename T, typename R>
Run<K, V, T, R> sort_into_run(const Updates<K, V, T, R>& rows, RunBuilder<K, V, T, R>& builder,
                              detail::SortScratch& scratch);

template <typename K, typename V, typename T, typename R>
class Batcher {
 public:
  using Rows = Updates<K, V, T, R>;
  using Frontier = timely::Antichain<T>;
  using RunType = Run<K, V, T, R>;

  /// Rows sorted at a time in a bulk load.
  static constexpr std::size_t kRunRows = std::size_t{1} << 18;

  explicit Batcher(std::size_t block_bytes = kBlockBytes, std::size_t run_rows = kRunRows)
      : builder_(block_bytes), block_bytes_(block_bytes), run_rows_(run_rows) {}

  void push(const Rows& rows) {
    incoming_.append(rows);
    if (incoming_.size() >= run_rows_) flush();
  }
  void push(Rows&& rows) {
    if (incoming_.empty() && rows.size() > 64) {
      std::swap(incoming_, rows);
      if (incoming_.size() >= run_rows_) flush();
    } else {
      push(std::as_const(rows));
    }
  }
  /// Where to write updates directly; call `written` afterwards.
  [[nodiscard]] Rows& incoming() { return incoming_; }
  void written() {
    if (incoming_.size() >= run_rows_) flush();
  }

  /// All updates at times not covered by `upper`; they are held no longer.
  RunType seal(const Frontier& upper);
  /// The frontier of what is held, after consolidation.
  Frontier held();
  [[nodiscard]] bool empty() const {
    return incoming_.empty() && future_.empty() && piles_.empty();
  }
  /// Updates held, before consolidation.
  [[nodiscard]] std::size_t size() const;

 private:
  using Runs = std::vector<RunType>;

  void flush();
  static void add_to_pile(Runs& pile, RunType run, std::size_t block_bytes);
  static RunType merge_pile(Runs pile, std::size_t block_bytes);
  void check_verified();
  bool settle_time(const T& time);
  bool cannot_cancel(const Runs& pile) const;

  Rows incoming_;                   // since the last seal, in any order
  FutureStore<K, V, T, R> future_;  // survived a seal
  std::map<T, Runs> piles_;         // bulk of one time, sorted; sizes fall geometrically
  Frontier verified_;               // what `held` returned, while that cannot have changed
  RunBuilder<K, V, T, R> builder_;
  detail::SortScratch scratch_;
  std::size_t block_bytes_;
  std::size_t run_rows_;
};

}  // namespace differential
