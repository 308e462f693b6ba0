// SPDX-License-Identifier: Apache-2.0
/// The work of a join: batches of one side against batches of the other, to be done in pieces.
///
/// Stops anywhere, also between two matches of one key, when the output is large enough or the fuel is
/// used up; fuel counts matches tried and keys looked at, not output, since an emit closure may drop
/// nearly everything. Histories are first advanced to the frontier at which output can be seen and
/// summed, so a long past costs as much as one time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <differential/cursor.h>
#include <differential/time_map.h>

namespace differential {

namespace detail {

/// The updates of one key on one side, with values as references.
template <typename Cursor, typename Map>
class KeyEdits {
 public:
  using T = typename Map::Time;
  using R = typename Cursor::Diff;
  struct Edit {
    typename Cursor::ValRef val;
    T time;
    R diff;
  };

  void load(Cursor& cursor, const Map& map, const timely::Antichain<T>& bound, std::int64_t& fuel) {
    edits_.clear();
    for (; cursor.val_valid(); cursor.step_val()) {
      history_.clear();
      cursor.map_times([&](const auto& time, const R& diff) {
        history_.emplace_back(bound.empty() ? map(time) : timely::advance_by(map(time), bound), diff);
      });
      fuel -= static_cast<std::int64_t>(history_.size());
      consolidate_times(history_);
      for (const auto& [time, diff] : history_) edits_.push_back({cursor.val(), time, diff});
    }
  }
  [[nodiscard]] std::size_t size() const { return edits_.size(); }
  const Edit& operator[](std::size_t i) const { return edits_[i]; }
  void clear() { edits_.clear(); }

 private:
  std::vector<Edit> edits_;
  std::vector<std::pair<T, R>> history_;
};

}  // namespace detail

/// `Map1` and `Map2` show the stored times of each side in the join's time.
template <typename Cursor1, typename Cursor2, typename Map1, typename Map2>
class JoinUnit {
 public:
  using T = typename Map1::Time;
  using Frontier = timely::Antichain<T>;

  /// `bound`: no output is needed to tell apart times before it (the capability of the fresh side).
  JoinUnit(Cursor1 first, Cursor2 second, Map1 map1, Map2 map2, Frontier bound)
      : first_(std::move(first)),
        second_(std::move(second)),
        map1_(std::move(map1)),
        map2_(std::move(map2)),
        bound_(std::move(bound)) {}

  /// Calls `emit(key, val1, val2, time, diff1, diff2, out)` for each match. Returns true when all is
  /// done, false when fuel is used up or `full(out)`.
  template <typename Emit, typename Out, typename Full>
  bool work(Emit& emit, Out& out, const Full& full, std::int64_t& fuel) {
    while (first_.key_valid() && second_.key_valid()) {
      if (!loaded_) {
        if (fuel <= 0) return false;
        --fuel;
        const int order = compare(first_.key(), second_.key());
        if (order < 0) {
          first_.seek_key(second_.key());
          continue;
        }
        if (order > 0) {
          second_.seek_key(first_.key());
          continue;
        }
        edits1_.load(first_, map1_, bound_, fuel);
        edits2_.load(second_, map2_, bound_, fuel);
        loaded_ = true;
        at1_ = at2_ = 0;
      }
      const auto key = first_.key();
      for (; at1_ < edits1_.size(); ++at1_, at2_ = 0) {
        const auto& a = edits1_[at1_];
        for (; at2_ < edits2_.size(); ++at2_) {
          if (fuel <= 0 || full(out)) return false;
          --fuel;
          const auto& b = edits2_[at2_];
          emit(key, a.val, b.val, timely::join(a.time, b.time), a.diff, b.diff, out);
        }
      }
      loaded_ = false;
      first_.step_key();
      second_.step_key();
    }
    return true;
  }

 private:
  Cursor1 first_;
  Cursor2 second_;
  Map1 map1_;
  Map2 map2_;
  Frontier bound_;
  detail::KeyEdits<Cursor1, Map1> edits1_;
  detail::KeyEdits<Cursor2, Map2> edits2_;
  bool loaded_ = false;
  std::size_t at1_ = 0;
  std::size_t at2_ = 0;
};

}  // namespace differential
