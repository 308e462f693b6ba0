// SPDX-License-Identifier: Apache-2.0
/// A list of (row bytes, time, diff), the unit in which data enters and leaves persist.
///
/// Rows are opaque: only `memcmp` order and equality count. All rows share one buffer, so a list
/// costs four allocations whatever its size. Invariant: `is_consolidated()` means ordered by (row,
/// time), each pair once, no diff zero. Errors: the rows of one list hold less than 4 GiB; more is
/// a bug of the caller.
///
///     Updates updates;
///     updates.push(row, 7, +1);
///     updates.consolidate();
#pragma once

#include <span>
#include <string>
#include <vector>

#include <freshet/persist/types.h>

namespace freshet::persist {

/// The hash that all sums and checksums of persist are made of.
[[nodiscard]] std::uint64_t hash_bytes(base::BytesView bytes);

class Updates {
 public:
  Updates() = default;

  void reserve(std::size_t updates, std::size_t row_bytes);
  void push(base::BytesView row, Time time, Diff diff);
  /// For input in (row, time) order: adds to the last update if it has the same row and time. An
  /// update that has come to zero goes with the next call, or with `drop_cancelled`.
  void accumulate(base::BytesView row, Time time, Diff diff);
  void drop_cancelled();
  /// Adds update `i` of another list.
  void push_from(const Updates& other, std::size_t i) {
    push(other.row(i), other.time(i), other.diff(i));
  }
  /// Adds all updates of another list.
  void append(const Updates& other);
  void clear();

  [[nodiscard]] bool empty() const { return times_.empty(); }
  [[nodiscard]] std::size_t size() const { return times_.size(); }
  [[nodiscard]] base::BytesView row(std::size_t i) const {
    return base::BytesView(rows_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }
  [[nodiscard]] Time time(std::size_t i) const { return times_[i]; }
  [[nodiscard]] Diff diff(std::size_t i) const { return diffs_[i]; }
  /// Row `i` is `rows().substr(offsets()[i], offsets()[i + 1] - offsets()[i])`.
  [[nodiscard]] base::BytesView rows() const { return rows_; }
  [[nodiscard]] std::span<const std::uint32_t> offsets() const { return ends_; }
  [[nodiscard]] std::span<const Time> times() const { return times_; }
  [[nodiscard]] std::span<const Diff> diffs() const { return diffs_; }
  /// Rows, times and diffs together: what the list holds in memory.
  [[nodiscard]] std::size_t byte_size() const { return rows_.size() + times_.size() * 20; }

  /// Sorts by (row, time), adds up equal pairs and drops those that cancel.
  /// Cost: linear if the list is in order already, else a sort on 8-byte prefixes.
  void consolidate();
  [[nodiscard]] bool is_consolidated() const;

  /// Every time becomes `time`.
  void set_times(Time time);
  /// Every time before `since` becomes `since`. Call `consolidate` afterwards where it matters.
  void advance_to(Time since);

  /// The sum of hash(row) * diff over all updates, modulo 2^64. It ignores times and order, and
  /// neither consolidation nor `advance_to` changes it: loss and duplication show.
  [[nodiscard]] std::uint64_t row_hash_sum() const;

  /// kClosed and 0 for an empty list.
  [[nodiscard]] Time least_time() const;
  [[nodiscard]] Time greatest_time() const;

  /// Takes over what a decoder has filled in. `offsets` has one more element than `times`.
  static Updates adopt(base::Bytes rows, std::vector<std::uint32_t> offsets,
                       std::vector<Time> times, std::vector<Diff> diffs);

  friend bool operator==(const Updates&, const Updates&) = default;

 private:
  base::Bytes rows_;
  std::vector<std::uint32_t> ends_{0};
  std::vector<Time> times_;
  std::vector<Diff> diffs_;
};

}  // namespace freshet::persist
