// SPDX-License-Identifier: Apache-2.0
/// Bodies of trace.h.
#pragma once

#include <differential/spine-inl.h>
#include <differential/trace.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
void Trace<K, V, T, R>::insert(BatchRef batch) {
  const Frontier since = holds_.since();
  const BatchRef arrived = batch;  // an import may want its updates though nobody reads the trace
  if (since.empty()) {  // nobody can read: keep the interval, not the updates
    batch = std::make_shared<Batch<K, V, T, R>>(batch->lower(), batch->upper(), batch->since(),
                                                Run<K, V, T, R>{});
    spine_.drop_contents();
  }
  spine_.insert(batch, since);
  publish();
  std::erase_if(listeners_, [&](Listener& listener) {
    return !listener(arrived->empty() ? BatchRef{} : arrived, spine_.upper());
  });
}

template <typename K, typename V, typename T, typename R>
bool Trace<K, V, T, R>::work(std::int64_t fuel) {
  const bool more = spine_.work(fuel, holds_.since());
  if (spine_.version() != published_version_) publish();
  return more;
}

template <typename K, typename V, typename T, typename R>
void Trace<K, V, T, R>::publish() {
  published_version_ = spine_.version();
  std::vector<BatchRef> batches = spine_.batches();
  // What was published dies outside the lock.
  published_.with([&](Published& p) {
    p.upper = spine_.upper();
    p.batches.swap(batches);
  });
}

template <typename K, typename V, typename T, typename R>
TraceSnapshot<K, V, T, R> Trace<K, V, T, R>::snapshot() const {
  Published copy = published_.with([](const Published& p) { return p; });
  // Read after the list: a merge uses only a since that was published before it.
  return Snapshot(holds_.since(), std::move(copy.upper), std::move(copy.batches));
}

template <typename K, typename V, typename T, typename R>
void Trace<K, V, T, R>::move_reader(const Frontier* from, const Frontier* to) {
  if (to != nullptr) {
    for (const T& time : to->elements()) readers_.update(time, +1);
  }
  if (from != nullptr) {
    for (const T& time : from->elements()) readers_.update(time, -1);
  }
  if (from == nullptr) ++reader_count_;
  if (to == nullptr) --reader_count_;
  // Without readers nothing needs a cut: the empty frontier.
  spine_.set_physical(readers_.frontier());
}

}  // namespace differential
