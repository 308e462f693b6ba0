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

Future<Updates> Merger::next(IoRef io, std::shared_ptr<Merger> self, std::size_t bytes) {
  const auto later = [&](std::size_t a, std::size_t b) { return self->after(a, b); };
  Updates out;
  while (true) {
    while (!self->dry_.empty()) {
      const std::size_t index = self->dry_.back();
      self->dry_.pop_back();
      Future<std::shared_ptr<const Updates>> loading =
          RunReader::next(io, self->cursors_[index].run);
      Result<std::shared_ptr<const Updates>> block = co_await std::move(loading);
      FRESHET_CO_CHECK(block);
      Cursor& cursor = self->cursors_[index];
      cursor.block = std::move(block).value();
      cursor.position = 0;
      if (cursor.block == nullptr) continue;
      cursor.load_prefix();
      self->heap_.push_back(index);
      std::ranges::push_heap(self->heap_, later);
    }
    if (self->merge_until_dry(out, bytes)) break;
    if (self->heap_.empty() && self->dry_.empty()) break;
  }
  out.drop_cancelled();
  // A chunk in which all cancelled is not the end.
  if (!out.empty() || (self->heap_.empty() && self->dry_.empty())) co_return std::move(out);
  Future<Updates> rest = next(io, self, bytes);
  Result<Updates> more = co_await std::move(rest);
  co_return std::move(more);
}

}  // namespace freshet::persist
