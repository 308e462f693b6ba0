// SPDX-License-Identifier: Apache-2.0
/// Bodies of batcher.h.
#pragma once

#include <differential/batcher.h>

namespace differential {

namespace detail {

template <typename K, typename V, typename R>
inline constexpr bool kIntegerRows = std::integral<K> && std::is_same_v<V, Unit> && std::integral<R>;

/// Integer keys of one time whose range fits 32 bits: keys and row numbers sort as one word each. False,
/// with nothing done, if they do not fit.
template <typename K, typename T, typename R>
bool sort_integers(const Updates<K, Unit, T, R>& rows, RunBuilder<K, Unit, T, R>& builder,
                   SortScratch& scratch) {
  const std::size_t size = rows.size();
  if (size < 256 || !rows.times.uniform()) return false;
  const K* keys = rows.keys.view().data();
  K least = keys[0];
  K most = keys[0];
  for (std::size_t i = 1; i < size; ++i) {
    least = keys[i] < least ? keys[i] : least;
    most = keys[i] > most ? keys[i] : most;
  }
  const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
  if (range > UINT32_MAX) return false;
  bool same_diff = true;
  for (std::size_t i = 1; i < size; ++i) same_diff = same_diff && rows.diffs[i] == rows.diffs[0];
  scratch.packed.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t offset = static_cast<std::uint64_t>(keys[i]) - static_cast<std::uint64_t>(least);
    scratch.packed[i] = (offset << 32) | i;
  }
  radix_sort_packed(scratch, 32, static_cast<unsigned>(std::bit_width(range)));
  const std::uint64_t* sorted = scratch.packed.data();
  for (std::size_t i = 0; i < size;) {
    const std::size_t room = builder.room();
    builder.elements(room, builder.intern(rows.times[0]), [&](K* out_keys, R* out_diffs) {
      std::size_t n = 0;
      while (n < room && i < size) {
        const std::uint64_t offset = sorted[i] >> 32;
        R sum{};
        for (; i < size && sorted[i] >> 32 == offset; ++i) {
          add_to(sum, same_diff ? rows.diffs[0] : rows.diffs[static_cast<std::uint32_t>(sorted[i])]);
        }
        out_keys[n] = static_cast<K>(static_cast<std::uint64_t>(least) + offset);
        out_diffs[n] = sum;
        n += sum != 0;
      }
      return n;
    });
  }
  return true;
}

}  // namespace detail

template <typename K, typename V, typename T, typename R>
Run<K, V, T, R> sort_into_run(const Updates<K, V, T, R>& rows, RunBuilder<K, V, T, R>& builder,
                              detail::SortScratch& scratch) {
  if constexpr (detail::kIntegerRows<K, V, R>) {
    if (detail::sort_integers(rows, builder, scratch)) return builder.finish();
  }
  const auto order = sorted_order(rows, scratch);
  const auto keys = rows.keys.view();
  const auto vals = rows.vals.view();
  const std::size_t size = order.size();
  const bool uniform = rows.times.uniform();
  // How entry j relates to entry i before it: 0 another key, 1 the same key, 2 the same value, 3 the
  // same time too.
  const auto relation = [&](std::size_t i, std::size_t j) {
    const std::size_t a = order[i].row;
    const std::size_t b = order[j].row;
    if constexpr (detail::kPrefixTellsAll<K, V> && PrefixOf<RefOf<V>>::kBits == 0) {
      if (order[i].prefix != order[j].prefix) return 0;
    } else {
      // Another prefix means another key, unless it holds a part of the value too.
      if constexpr (!(PrefixOf<RefOf<K>>::kExact && PrefixOf<RefOf<K>>::kBits < 64)) {
        if (order[i].prefix != order[j].prefix) return 0;
      }
      if (compare(keys[a], keys[b]) != 0) return 0;
      if (compare(vals[a], vals[b]) != 0) return 1;
    }
    return uniform || rows.times[a] == rows.times[b] ? 3 : 2;
  };
  std::size_t room = 0;
  std::uint32_t time_id = 0;
  int before = 0;
  for (std::size_t i = 0; i < size;) {
    const std::size_t row = order[i].row;
    R sum = rows.diffs[row];
    std::size_t j = i + 1;
    int next = 0;
    for (; j < size && (next = relation(i, j)) == 3; ++j) add_to(sum, rows.diffs[order[j].row]);
    if (j == size) next = 0;
    if (before == 0 && next == 0) {  // a key with one update
      if (!is_zero(sum)) {
        if (room == 0) {
          room = builder.room();
          time_id = builder.intern(rows.times[row]);
        } else if (!uniform) {
          time_id = builder.intern(rows.times[row]);
        }
        builder.element(keys[row], vals[row], time_id, sum);
        --room;
      }
    } else {
      room = 0;
      if (before == 0) builder.key(keys[row]);
      if (before <= 1) builder.val(vals[row]);
      if (!is_zero(sum)) builder.update(rows.times[row], sum);
    }
    before = next;
    i = j;
  }
  scratch.entries.clear();
  return builder.finish();
}

template <typename K, typename V, typename T, typename R>
void Batcher<K, V, T, R>::flush() {
  verified_.clear();
  if (incoming_.times.uniform()) {
    if (!incoming_.empty()) {
      add_to_pile(piles_[incoming_.times[0]], sort_into_run(incoming_, builder_, scratch_),
                  block_bytes_);
    }
  } else {
    future_.add_all(incoming_);
  }
  incoming_.clear();
}

template <typename K, typename V, typename T, typename R>
void Batcher<K, V, T, R>::add_to_pile(Runs& pile, RunType run, std::size_t block_bytes) {
  if (run.empty()) return;
  pile.push_back(std::move(run));
  while (pile.size() > 1 && pile[pile.size() - 1].updates * 2 >= pile[pile.size() - 2].updates) {
    RunType last = std::move(pile.back());
    pile.pop_back();
    pile.back() = merge_runs<K, V, T, R>(std::move(pile.back()), std::move(last), nullptr, block_bytes);
    if (pile.back().empty()) pile.pop_back();
  }
}

template <typename K, typename V, typename T, typename R>
Run<K, V, T, R> Batcher<K, V, T, R>::merge_pile(Runs pile, std::size_t block_bytes) {
  // Small ones first.
  while (pile.size() > 1) {
    std::sort(pile.begin(), pile.end(),
              [](const RunType& a, const RunType& b) { return a.updates > b.updates; });
    RunType last = std::move(pile.back());
    pile.pop_back();
    pile.back() = merge_runs<K, V, T, R>(std::move(pile.back()), std::move(last), nullptr, block_bytes);
  }
  return pile.empty() ? RunType{} : std::move(pile[0]);
}

template <typename K, typename V, typename T, typename R>
Run<K, V, T, R> Batcher<K, V, T, R>::seal(const Frontier& upper) {
  check_verified();
  for (const T& time : verified_.elements()) {
    if (!upper.covers(time)) {
      verified_.clear();
      break;
    }
  }
  Runs pile;
  for (auto place = piles_.begin(); place != piles_.end();) {
    if (upper.covers(place->first)) {
      ++place;
      continue;
    }
    for (RunType& run : place->second) pile.push_back(std::move(run));
    place = piles_.erase(place);
  }
  Rows ready;
  future_.extract(upper, ready);
  if (ready.empty() && !incoming_.empty() && incoming_.times.uniform() &&
      !upper.covers(incoming_.times[0])) {
    std::swap(ready, incoming_);
  } else {
    for (std::size_t i = 0; i < incoming_.size(); ++i) {
      if (upper.covers(incoming_.times[i])) {
        future_.add(incoming_, i);
      } else {
        ready.push_row(incoming_, i);
      }
    }
    incoming_.clear();
  }
  if (!ready.empty()) {
    RunType run = sort_into_run(ready, builder_, scratch_);
    if (!run.empty()) pile.push_back(std::move(run));
    if (incoming_.empty() && ready.size() <= 4096) {  // keep the memory of a small batch
      ready.clear();
      std::swap(ready, incoming_);
    }
  }
  if (scratch_.entries.capacity() + scratch_.packed.capacity() > run_rows_) scratch_ = {};
  return merge_pile(std::move(pile), block_bytes_);
}

template <typename K, typename V, typename T, typename R>
std::size_t Batcher<K, V, T, R>::size() const {
  std::size_t result = incoming_.size() + future_.size();
  for (const auto& [time, pile] : piles_) {
    for (const RunType& run : pile) result += run.updates;
  }
  return result;
}

// Consolidates what is held at `time`; false, with nothing left, if it cancels.
template <typename K, typename V, typename T, typename R>
bool Batcher<K, V, T, R>::settle_time(const T& time) {
  if (auto found = piles_.find(time); found != piles_.end() && cannot_cancel(found->second)) return true;
  Rows rows;
  future_.take(time, rows);
  if (!rows.empty() && rows.size() < run_rows_ / 4 && !piles_.contains(time)) {
    // Few: sum them in place and put the rest back.
    const RunType run = sort_into_run(rows, builder_, scratch_);
    if (run.empty()) return false;
    rows.clear();
    for (const auto& block : run.blocks) {
      for (std::uint32_t k = 0; k < block->keys(); ++k) {
        const Range vals = block->vals_of(k);
        for (std::uint32_t v = vals.low; v < vals.high; ++v) {
          const Range updates = block->updates_of(v);
          for (std::uint32_t u = updates.low; u < updates.high; ++u) {
            rows.push(block->key(k), block->val(v), block->time(u), block->diff(u));
          }
        }
      }
    }
    future_.add_all(rows);
    return true;
  }
  Runs& pile = piles_[time];
  if (!rows.empty()) pile.push_back(sort_into_run(rows, builder_, scratch_));
  RunType run = merge_pile(std::move(pile), block_bytes_);
  if (run.empty()) {
    piles_.erase(time);
    return false;
  }
  pile.clear();
  pile.push_back(std::move(run));
  return true;
}

// Consolidated updates are about distinct (key, value): the rest is too small to cancel the largest run.
template <typename K, typename V, typename T, typename R>
bool Batcher<K, V, T, R>::cannot_cancel(const Runs& pile) const {
  std::size_t largest = 0;
  std::size_t rest = future_.size();
  for (const RunType& run : pile) {
    rest += std::min(largest, run.updates);
    largest = std::max(largest, run.updates);
  }
  return largest > rest;
}

// New updates strictly after what was verified change nothing.
template <typename K, typename V, typename T, typename R>
void Batcher<K, V, T, R>::check_verified() {
  if (verified_.empty()) return;
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    if (!verified_.covers_strictly(incoming_.times[i])) return verified_.clear();
    if (incoming_.times.uniform()) return;
  }
}

template <typename K, typename V, typename T, typename R>
timely::Antichain<T> Batcher<K, V, T, R>::held() {
  check_verified();
  if (!incoming_.empty()) {
    if (incoming_.times.uniform() && incoming_.size() >= run_rows_ / 4) {
      flush();
    } else {
      future_.add_all(incoming_);
      incoming_.clear();
    }
  }
  if (!verified_.empty()) return verified_;
  while (true) {
    Frontier frontier = future_.minimal_times();
    for (const auto& [time, pile] : piles_) frontier.insert(time);
    bool exact = true;
    for (const T& time : frontier.elements()) exact = settle_time(time) && exact;
    if (exact) return verified_ = frontier;
  }
}

}  // namespace differential
