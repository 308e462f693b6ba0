// SPDX-License-Identifier: Apache-2.0
/// Out of arrangements: batches to rows, and the tagged values of a reduce to rows and errors.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <differential/arranged.h>
#include <timely/operator.h>

#include "dataflow/arrange_rows.h"
#include "dataflow/group_logic.h"

namespace freshet::compute {

template <typename T>
using RowBatches = differential::BatchList<differential::RowTrace<T>>;

/// Decodes the updates of new batches; only those under some keys if asked so. Stops when its time is used up.
/// `map` shows stored times.
template <typename T>
class ReadOperator {
 public:
  using Map = differential::StoredTimes<T>;

  /// `seek`: sorted key bytes.
  ReadOperator(const expr::ArrangementLayout& layout, MfpStepPtr mfp, Map map,
               std::shared_ptr<const std::vector<std::string>> seek)
      : builder_(layout, std::move(mfp)), map_(std::move(map)), seek_(std::move(seek)) {}

  void step(timely::Input<T, RowBatches<T>>& input, timely::Output<T, Rows<T>>& oks,
            timely::Output<T, ErrorUpdates<T>>& errs, timely::Context& context) {
    input.for_each([&](const timely::Capability<T>& at, RowBatches<T> list) {
      for (auto& batch : list.batches) {
        if (!batch->empty()) waiting_.push_back(Work(std::move(batch), at));
      }
    });
    while (!waiting_.empty()) {
      Work& work = waiting_.front();
      const bool done = read(work, oks, errs, context);
      builder_.flush(work.oks_at, oks, Together{errs, work.errs_at});
      if (!done) return context.activate();
      waiting_.pop_front();
    }
  }

 private:
  using Cursor = differential::BatchCursor<std::string, std::string, T, Diff>;
  struct Work {
    Work(typename differential::RowTrace<T>::BatchRef b, const timely::Capability<T>& at)
        : batch(std::move(b)), cursor(*batch), oks_at(at.retain(0)), errs_at(at.retain(1)) {}
    typename differential::RowTrace<T>::BatchRef batch;
    Cursor cursor;
    timely::Capability<T> oks_at;
    timely::Capability<T> errs_at;
    std::size_t next_seek = 0;
  };
  /// Errors go out with their own output's capability.
  struct Together {
    timely::Output<T, ErrorUpdates<T>>& errs;
    const timely::Capability<T>& at;
    void give(const timely::Capability<T>&, ErrorUpdates<T> errors) const { errs.give(at, std::move(errors)); }
  };

  // True when the batch is done.
  bool read(Work& work, timely::Output<T, Rows<T>>& oks, timely::Output<T, ErrorUpdates<T>>& errs,
            timely::Context& context) {
    Cursor& cursor = work.cursor;
    while (cursor.key_valid()) {
      if (seek_ != nullptr && !at_wanted(work)) return true;
      for (; cursor.val_valid(); cursor.step_val()) {
        cursor.map_times([&](const T& time, const Diff& diff) {
          builder_.push(cursor.key(), cursor.val(), map_(time), diff);
        });
      }
      cursor.step_key();
      if (!builder_.full()) continue;
      builder_.flush(work.oks_at, oks, Together{errs, work.errs_at});
      if (context.should_yield()) return false;
    }
    return true;
  }
  // Moves to the next wanted key; false if there is none.
  bool at_wanted(Work& work) {
    Cursor& cursor = work.cursor;
    while (cursor.key_valid() && work.next_seek < seek_->size()) {
      const std::string& wanted = (*seek_)[work.next_seek];
      if (cursor.key() < wanted) cursor.seek_key(wanted);
      if (!cursor.key_valid()) return false;
      if (cursor.key() == wanted) return true;
      ++work.next_seek;
    }
    return false;
  }

  RowsBuilder<T> builder_;
  Map map_;
  std::shared_ptr<const std::vector<std::string>> seek_;
  std::deque<Work> waiting_;
};

/// Splits what a reduce puts out. The row is the value, or key ++ value.
template <typename T>
class UntagOperator {
 public:
  UntagOperator(const ColumnTypes& types, bool row_begins_with_key)
      : codec_(sql_types(types)), columns_(all(types.size())), decoder_(codec_, columns_), with_key_(row_begins_with_key) {}

  void step(timely::Input<T, RowBatches<T>>& input, timely::Output<T, Rows<T>>& oks,
            timely::Output<T, ErrorUpdates<T>>& errs) {
    input.for_each([&](const timely::Capability<T>& at, RowBatches<T> list) {
      for (const auto& batch : list.batches) {
        if (!batch->empty()) read(*batch, at, oks, errs);
      }
    });
  }

 private:
  static std::vector<std::size_t> all(std::size_t count) {
    std::vector<std::size_t> columns(count);
    for (std::size_t i = 0; i < count; ++i) columns[i] = i;
    return columns;
  }
  void read(const differential::RowBatch<T>& batch, const timely::Capability<T>& at,
            timely::Output<T, Rows<T>>& oks, timely::Output<T, ErrorUpdates<T>>& errs) {
    ErrorUpdates<T> errors;
    differential::BatchCursor<std::string, std::string, T, Diff> cursor(batch);
    for (; cursor.key_valid(); cursor.step_key()) {
      for (; cursor.val_valid(); cursor.step_val()) {
        const std::string_view value = cursor.val();
        const std::string_view rest = value.substr(1);
        cursor.map_times([&](const T& time, const Diff& diff) {
          if (value.front() == kErrorTag) {
            errors.push_back({std::string(rest), time, diff});
            return;
          }
          append(cursor.key(), rest);
          times_.push(time, diff);
        });
      }
      if (times_.size() >= kChunkRows) oks.give(at, times_.finish(decoder_.finish()));
    }
    if (times_.size() > 0) oks.give(at, times_.finish(decoder_.finish()));
    if (!errors.empty()) errs.give(at, std::move(errors));
  }
  void append(std::string_view key, std::string_view value) {
    std::string_view row = value;
    if (with_key_) {
      row_.assign(key);
      row_.append(value);
      row = row_;
    }
    const Result<void> done = decoder_.append(row);
    FRESHET_ASSERT(done.has_value());
  }

  repr::RowCodec codec_;
  std::vector<std::size_t> columns_;
  repr::RowDecoder decoder_;
  bool with_key_;
  std::string row_;
  TimesBuilder<T> times_;
};

}  // namespace freshet::compute
