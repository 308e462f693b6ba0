// SPDX-License-Identifier: Apache-2.0
/// The work of a reduce over one interval of times: which (key, time) must be evaluated again, and how
/// the output changes there. Independent of any dataflow.
///
/// For total orders these times are the times of the new updates themselves. For partial orders they
/// are the joins of a new or postponed time with any times of the key's input and output (closed under
/// join); those that are not due are postponed, and hold a capability.
///
/// The logic is `logic(key, group, output)`:
///     for (; group.valid(); group.step()) use(group.val(), group.diff());    // ascending values
///     output.push(val, diff);                                                // the desired content
/// It is not called for an empty group. The group is lazy: reading only the first value of a large
/// group (MIN, top-k) does not read the rest.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <differential/cursor.h>
#include <differential/run_builder.h>
#include <differential/time_map.h>
#include <differential/updates.h>

namespace differential {

/// A group at one time, read from a cursor that stands at its key.
template <typename Cursor, typename Map>
class LazyGroup {
 public:
  using T = typename Map::Time;
  using R = typename Cursor::Diff;

  LazyGroup(Cursor& cursor, const Map& map, const T& time)
      : cursor_(cursor), map_(map), time_(time) {
    cursor_.rewind_vals();
    settle();
  }
  [[nodiscard]] bool valid() const { return cursor_.val_valid(); }
  [[nodiscard]] auto val() const { return cursor_.val(); }
  [[nodiscard]] const R& diff() const { return diff_; }
  void step() {
    cursor_.step_val();
    settle();
  }
  /// Moves forward to the first value not less than `val`.
  void seek(const typename Cursor::ValRef& val) {
    cursor_.seek_val(val);
    settle();
  }

 private:
  void settle() {
    for (; cursor_.val_valid(); cursor_.step_val()) {
      diff_ = R{};
      cursor_.map_times([this](const auto& time, const R& diff) {
        if (timely::less_equal(map_(time), time_)) add_to(diff_, diff);
      });
      if (!is_zero(diff_)) return;
    }
  }

  Cursor& cursor_;
  const Map& map_;
  const T& time_;
  R diff_{};
};

/// Values and diffs that the logic wants to be there. Kept between calls to reuse memory.
template <typename V, typename R>
class ReduceOutput {
 public:
  void push(const RefOf<V>& val, const R& diff) {
    vals_.push(val);
    diffs_.push_back(diff);
  }
  /// To write a value in place (bytes): append to `vals().open()`, then `vals().close()`, then `diff`.
  [[nodiscard]] Column<V>& vals() { return vals_; }
  void diff(const R& diff) { diffs_.push_back(diff); }
  [[nodiscard]] std::size_t size() const { return diffs_.size(); }
  [[nodiscard]] const std::vector<R>& diffs() const { return diffs_; }
  void clear() {
    vals_.clear();
    diffs_.clear();
  }

 private:
  Column<V> vals_;
  std::vector<R> diffs_;
};

/// K is the key, V2 and R2 the output's value and diff; `Cursor` reads the input, `Map` shows its times.
template <typename Cursor, typename Map, typename V2, typename R2>
class ReduceUnit {
 public:
  using K = typename Cursor::Key;
  using T = typename Map::Time;
  using R1 = typename Cursor::Diff;
  using KeyRef = RefOf<K>;
  using Frontier = timely::Antichain<T>;
  using OutCursor = CursorList<K, V2, T, R2>;

  explicit ReduceUnit(Map map = {}, std::size_t block_bytes = kBlockBytes)
      : map_(std::move(map)), builder_(block_bytes) {}

  /// Starts an interval that ends at `upper`: `fresh` over the new batches, `input` over all batches
  /// including these, `output` over the output trace.
  void begin(Cursor fresh, Cursor input, OutCursor output, Frontier upper) {
    fresh_.emplace(std::move(fresh));
    input_.emplace(std::move(input));
    output_.emplace(std::move(output));
    upper_ = std::move(upper);
    due_ = take_due();
    due_at_ = 0;
  }
  [[nodiscard]] bool active() const { return fresh_.has_value(); }
  /// True if a postponed time is due before `upper`.
  [[nodiscard]] bool due_before(const Frontier& upper) const {
    return std::any_of(postponed_.begin(), postponed_.end(),
                       [&](const auto& entry) { return !upper.covers(entry.first); });
  }
  /// Evaluates keys until all are done (true) or `fuel` is used up (false).
  template <typename Logic>
  bool work(Logic& logic, std::int64_t& fuel);
  /// The output's changes in the interval, once `work` returned true.
  Run<K, V2, T, R2> finish() {
    fresh_.reset();
    input_.reset();
    output_.reset();
    due_.clear();
    return builder_.finish();
  }
  /// The times postponed beyond `upper`, which must be held.
  [[nodiscard]] Frontier held() const {
    Frontier result;
    for (const auto& [time, keys] : postponed_) result.insert(time);
    return result;
  }

 private:
  using DueKeys = std::vector<std::pair<typename Column<K>::Owned, T>>;

  DueKeys take_due();
  template <typename Logic>
  void evaluate_total(const KeyRef& key, Logic& logic, std::int64_t& fuel);
  template <typename Logic>
  void evaluate_partial(const KeyRef& key, Logic& logic, std::int64_t& fuel);
  template <typename Logic>
  void evaluate_at(const KeyRef& key, const T& time, Logic& logic);
  void collect_times(std::vector<T>& times, const T& meet, std::int64_t& fuel);
  void write_key(const KeyRef& key);

  Map map_;
  RunBuilder<K, V2, T, R2> builder_;
  std::optional<Cursor> fresh_;
  std::optional<Cursor> input_;
  std::optional<OutCursor> output_;
  Frontier upper_;
  std::map<T, std::vector<typename Column<K>::Owned>> postponed_;
  DueKeys due_;  // sorted by key
  std::size_t due_at_ = 0;

  // Of the key being evaluated.
  std::vector<T> novel_;
  std::vector<T> todo_;
  std::vector<T> known_;
  Updates<K, V2, T, R2> produced_;  // keys unused: one key at a time
  ReduceOutput<V2, R2> desired_;
  std::vector<std::uint32_t> order_;
  bool at_input_ = false;  // the cursors stand at the key
  bool at_output_ = false;
};

}  // namespace differential
