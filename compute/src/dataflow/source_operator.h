// SPDX-License-Identifier: Apache-2.0
/// Operators that bring a durable collection into a dataflow: one worker takes events from the queue and deals
/// slices to all, which decode them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <freshet/repr/row.h>
#include <timely/operator.h>

#include "dataflow/rows.h"
#include "dataflow/source_queue.h"

namespace freshet::compute {

/// Rows [begin, end) of an event.
struct SourceSlice {
  std::shared_ptr<const storage_api::EncodedUpdates> updates{};
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Gives slices to the workers in turn.
struct DealSlices {
  std::uint64_t next = 0;
};

struct SourceSpan {
  SqlTime as_of;
  SqlTime until;
};

using OnFailure = std::function<void(Error)>;

/// Invariant: holds a capability at the reader's upper (not before as_of) while the collection can change. It
/// stays at the first error row that cannot be decoded.
class SourceOperator {
 public:
  /// Without a queue it does nothing: another worker reads.
  SourceOperator(timely::Setup<SqlTime>& setup, std::shared_ptr<SourceQueue> queue, SourceSpan span,
                 std::vector<repr::ColumnType> types, OnFailure on_failure);
  void step(timely::Output<SqlTime, SourceSlice>& oks, timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs,
            timely::Context& context);

 private:
  bool take(storage_api::ReadEvent event, timely::Output<SqlTime, SourceSlice>& oks,
            timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs);
  void move_to(SqlTime upper);

  std::shared_ptr<SourceQueue> queue_;
  SourceSpan span_;
  std::vector<repr::ColumnType> types_;
  OnFailure on_failure_;
  bool failed_ = false;
  std::optional<timely::Capability<SqlTime>> oks_at_;
  std::optional<timely::Capability<SqlTime>> errs_at_;
};

/// Decodes the columns that anybody wants; the others are null.
class SliceDecoder {
 public:
  SliceDecoder(std::vector<repr::SqlType> types, std::vector<std::size_t> wanted, SourceSpan span);
  /// The rows before `until`, none of them before `as_of`.
  Result<Rows<SqlTime>> decode(const SourceSlice& slice);

 private:
  repr::RowCodec codec_;
  std::vector<std::size_t> wanted_;
  std::size_t arity_;
  SourceSpan span_;
  repr::RowDecoder decoder_;
};

/// It stays for ever at the time of the first row that cannot be decoded.
class DecodeSlices {
 public:
  DecodeSlices(std::vector<repr::SqlType> types, std::vector<std::size_t> wanted, SourceSpan span, OnFailure on_failure);
  void step(timely::Input<SqlTime, SourceSlice>& input, timely::Output<SqlTime, Rows<SqlTime>>& output);

 private:
  SliceDecoder decoder_;
  OnFailure on_failure_;
  std::optional<timely::Capability<SqlTime>> failed_at_{};
};

}  // namespace freshet::compute

template <>
struct timely::MessageTraits<freshet::compute::SourceSlice> {
  using Slice = freshet::compute::SourceSlice;
  static std::size_t size(const Slice& slice) { return slice.end - slice.begin; }
  static Slice copy(const Slice& slice) { return slice; }
  static void partition(Slice&& slice, freshet::compute::DealSlices& deal, std::span<Slice> parts) {
    parts[deal.next++ % parts.size()] = std::move(slice);
  }
};
