// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "io.h"

namespace freshet::persist {

using base::Future;

Merger::Merger(std::vector<std::shared_ptr<RunReader>> runs) {
  for (auto& run : runs) {
    dry_.push_back(cursors_.size());
    cursors_.push_back({.run = std::move(run)});
  }
}

void Merger::Cursor::load_prefix() {
  const base::BytesView row = block->row(position);
  std::uint64_t word = 0;
  std::memcpy(&word, row.data(), std::min<std::size_t>(row.size(), 8));
  prefix = __builtin_bswap64(word);
}

bool Merger::after(std::size_t a, std::size_t b) const {
  const Cursor& x = cursors_[a];
  const Cursor& y = cursors_[b];
  if (x.prefix != y.prefix) return x.prefix > y.prefix;
  const int order = x.block->row(x.position).compare(y.block->row(y.position));
  if (order != 0) return order > 0;
  return x.block->time(x.position) > y.block->time(y.position);
}

// One run left: its blocks are in order, but advanced times may have made equals of neighbours.
bool Merger::drain_single(Updates& out, std::size_t bytes) {
  Cursor& cursor = cursors_[heap_.front()];
  const Updates& block = *cursor.block;
  for (; cursor.position < block.size(); ++cursor.position) {
    const std::size_t i = cursor.position;
    if (out.byte_size() >= bytes &&
        (out.time(out.size() - 1) != block.time(i) || out.row(out.size() - 1) != block.row(i))) {
      cursor.load_prefix();
      return true;
    }
    out.accumulate(block.row(i), block.time(i), block.diff(i));
  }
  dry_.push_back(heap_.front());
  heap_.clear();
  return false;
}

/// True if `out` is full; false if a cursor must be loaded first, or nothing is left.
bool Merger::merge_until_dry(Updates& out, std::size_t bytes) {
  const auto later = [this](std::size_t a, std::size_t b) { return after(a, b); };
  while (!heap_.empty() && dry_.empty()) {
    if (heap_.size() == 1) return drain_single(out, bytes);
    Cursor& least = cursors_[heap_.front()];
    const base::BytesView row = least.block->row(least.position);
    const Time time = least.block->time(least.position);
    if (out.byte_size() >= bytes &&
        (out.time(out.size() - 1) != time || out.row(out.size() - 1) != row)) {
      return true;
    }
    out.accumulate(row, time, least.block->diff(least.position));
    std::ranges::pop_heap(heap_, later);
    if (++least.position == least.block->size()) {
      dry_.push_back(heap_.back());
      heap_.pop_back();
    } else {
      least.load_prefix();
      std::ranges::push_heap(heap_, later);
    }
  }
  return false;
}

/// A cursor's next block; null when its run is at its end.
void Merger::load(std::size_t index, std::shared_ptr<const Updates> block) {
  Cursor& cursor = cursors_[index];
  cursor.block = std::move(block);
  cursor.position = 0;
  if (cursor.block == nullptr) return;
  cursor.load_prefix();
  heap_.push_back(index);
  std::ranges::push_heap(heap_, [this](std::size_t a, std::size_t b) { return after(a, b); });
}

/// Loads the cursors that have run dry, merges until one does again, and so on.
class Merger::NextChunk final : public Flow<NextChunk, Updates> {
 public:
  NextChunk(IoRef io, std::shared_ptr<Merger> merger, std::size_t bytes)
      : io_(std::move(io)), merger_(std::move(merger)), bytes_(bytes) {}
  base::TaskQueue& queue() { return io_->queue(); }

  void begin() {
    while (merger_->dry_.empty()) {
      const bool full = merger_->merge_until_dry(out_, bytes_);
      if (!full && !merger_->exhausted()) continue;
      out_.drop_cancelled();
      // A chunk in which all cancelled is not the end.
      if (!out_.empty() || merger_->exhausted()) return finish(std::move(out_));
    }
    loading_ = merger_->dry_.back();
    merger_->dry_.pop_back();
    await(RunReader::next(io_, merger_->cursors_[loading_].run), &NextChunk::loaded);
  }

 private:
  void loaded(std::shared_ptr<const Updates> block) {
    merger_->load(loading_, std::move(block));
    begin();
  }

  IoRef io_;
  std::shared_ptr<Merger> merger_;
  std::size_t bytes_;
  std::size_t loading_ = 0;
  Updates out_;
};

Future<Updates> Merger::next(IoRef io, std::shared_ptr<Merger> self, std::size_t bytes) {
  return NextChunk::start(std::move(io), std::move(self), bytes);
}

}  // namespace freshet::persist
