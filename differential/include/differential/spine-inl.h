// SPDX-License-Identifier: Apache-2.0
/// Bodies of spine.h.
#pragma once

#include <algorithm>

#include <differential/spine.h>

namespace differential {

namespace detail {
inline constexpr std::size_t kTinyUpdates = 256;    // merged at once
inline constexpr std::int64_t kFuelPerUpdate = 8;
inline constexpr std::int64_t kLeastFuel = 512;

/// True if no update of the batch is before `frontier`: a cut inside its interval parts nothing.
template <typename B>
bool all_covered(const B& batch, const typename B::Frontier& frontier) {
  for (const auto& block : batch.blocks()) {
    for (const auto& time : block->times()) {
      if (!frontier.covers(time)) return false;
    }
  }
  return true;
}
}  // namespace detail

template <typename K, typename V, typename T, typename R>
void Spine<K, V, T, R>::insert(BatchRef batch, const Frontier& since) {
  FRESHET_ASSERT(batch->lower() == upper_, batch->lower(), upper_);
  upper_ = batch->upper();
  const auto updates = static_cast<std::int64_t>(batch->updates());
  entries_.push_back({std::move(batch), nullptr, nullptr});
  ++version_;
  absorb_empty_neighbours();
  schedule(since);
  if (merging()) work(updates * detail::kFuelPerUpdate + detail::kLeastFuel, since);
}

template <typename K, typename V, typename T, typename R>
bool Spine<K, V, T, R>::work(std::int64_t fuel, const Frontier& since) {
  if (!merging()) schedule(since);
  // Every merge gets the fuel, so that each is done before its result is needed.
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    auto& merger = entries_[i].with_next ? entries_[i].with_next : entries_[i].rewrite;
    if (!merger) continue;
    std::int64_t left = fuel;
    if (!merger->work(&since, left)) continue;
    Run<K, V, T, R> run = merger->finish();
    ++version_;
    if (entries_[i].rewrite) {
      const BatchType& old = *entries_[i].batch;
      entries_[i].batch = joined(old, old, std::move(run), since);
      entries_[i].rewrite.reset();
    } else {
      entries_[i].batch = joined(*entries_[i].batch, *entries_[i + 1].batch, std::move(run), since);
      entries_[i].with_next.reset();
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
  absorb_empty_neighbours();
  schedule(since);
  return merging();
}

template <typename K, typename V, typename T, typename R>
BatchPtr<K, V, T, R> Spine<K, V, T, R>::joined(const BatchType& a, const BatchType& b,
                                              Run<K, V, T, R> run, const Frontier& since) {
  Frontier joined_since = timely::join(a.since(), b.since());
  if (!since.empty()) joined_since = timely::join(joined_since, since);
  return std::make_shared<BatchType>(a.lower(), b.upper(), std::move(joined_since), std::move(run));
}

// Starts merges of neighbours that are close in size, from the newest on; tiny ones end at once.
template <typename K, typename V, typename T, typename R>
void Spine<K, V, T, R>::schedule(const Frontier& since) {
  for (std::size_t right = entries_.size(); right-- > 1;) {
    if (right >= entries_.size()) continue;  // a merge shortened the list
    Entry& a = entries_[right - 1];
    Entry& b = entries_[right];
    if (!a.idle() || !b.idle() || !may_merge(b)) continue;
    const std::size_t small = b.batch->updates();
    const std::size_t large = a.batch->updates();
    if (large > 2 * small && large > detail::kTinyUpdates) continue;
    if (large + small <= 2 * detail::kTinyUpdates) {
      merge_now(right - 1, since);
      right = std::min(right + 1, entries_.size());
    } else {
      a.with_next = std::make_unique<Merger>(a.batch->run(), b.batch->run(), block_bytes_);
      b.taken = true;
    }
  }
  start_rewrites(since);
}

template <typename K, typename V, typename T, typename R>
void Spine<K, V, T, R>::merge_now(std::size_t left, const Frontier& since) {
  Entry& a = entries_[left];
  Entry& b = entries_[left + 1];
  Run<K, V, T, R> run = merge_runs<K, V, T, R>(a.batch->run(), b.batch->run(), &since, block_bytes_);
  a.batch = joined(*a.batch, *b.batch, std::move(run), since);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
  ++version_;
  absorb_empty_neighbours();
}

// A batch in which many values have several updates, all of which may now move to one time, shrinks.
template <typename K, typename V, typename T, typename R>
void Spine<K, V, T, R>::start_rewrites(const Frontier& since) {
  for (Entry& entry : entries_) {
    const BatchType& batch = *entry.batch;
    if (!entry.idle() || batch.updates() < detail::kTinyUpdates) continue;
    if (!timely::less_equal(batch.upper(), since) || timely::less_equal(batch.upper(), batch.since())) {
      continue;
    }
    if ((batch.updates() - batch.vals()) * 4 < batch.updates()) continue;
    entry.rewrite = std::make_unique<Merger>(batch.run(), Run<K, V, T, R>{}, block_bytes_);
  }
}

// An empty batch costs no merge: it becomes a part of a neighbour's interval.
template <typename K, typename V, typename T, typename R>
void Spine<K, V, T, R>::absorb_empty_neighbours() {
  for (std::size_t right = entries_.size(); right-- > 1;) {
    Entry& a = entries_[right - 1];
    Entry& b = entries_[right];
    if (!a.idle() || !b.idle() || !may_merge(b)) continue;
    if (!a.batch->empty() && !b.batch->empty()) continue;
    const BatchType& full = a.batch->empty() ? *b.batch : *a.batch;
    // Copying a long list of blocks for each empty batch would cost; those wait for a merge.
    if (full.blocks().size() > 16 && !a.batch->empty()) continue;
    a.batch = std::make_shared<BatchType>(a.batch->lower(), b.batch->upper(),
                                          timely::join(a.batch->since(), b.batch->since()), full.run());
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(right));
    ++version_;
  }
}

template <typename K, typename V, typename T, typename R>
std::vector<BatchPtr<K, V, T, R>> Spine<K, V, T, R>::batches() const {
  std::vector<BatchRef> result;
  result.reserve(entries_.size());
  for (const Entry& entry : entries_) result.push_back(entry.batch);
  return result;
}

template <typename K, typename V, typename T, typename R>
std::vector<BatchPtr<K, V, T, R>> Spine<K, V, T, R>::batches_through(const Frontier& through) const {
  std::vector<BatchRef> result;
  result.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    if (!timely::less_equal(entry.batch->upper(), through)) {
      FRESHET_DASSERT(detail::all_covered(*entry.batch, through), through);
      break;
    }
    if (!entry.batch->empty()) result.push_back(entry.batch);
  }
  return result;
}

template <typename K, typename V, typename T, typename R>
std::size_t Spine<K, V, T, R>::updates() const {
  std::size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.batch->updates();
  return sum;
}

template <typename K, typename V, typename T, typename R>
std::size_t Spine<K, V, T, R>::bytes() const {
  std::size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.batch->bytes();
  return sum;
}

template <typename K, typename V, typename T, typename R>
bool Spine<K, V, T, R>::merging() const {
  for (const Entry& entry : entries_) {
    if (entry.with_next || entry.rewrite) return true;
  }
  return false;
}

template <typename K, typename V, typename T, typename R>
void Spine<K, V, T, R>::drop_contents() {
  if (entries_.empty()) return;
  Frontier lower = entries_.front().batch->lower();
  Frontier since = entries_.front().batch->since();
  entries_.clear();
  entries_.push_back({std::make_shared<BatchType>(std::move(lower), upper_, std::move(since),
                                                  Run<K, V, T, R>{}),
                      nullptr, nullptr});
  ++version_;
}

}  // namespace differential
