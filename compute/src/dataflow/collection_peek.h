// SPDX-License-Identifier: Apache-2.0
/// A read of one durable collection at one time, straight from storage.
///
/// Rows go through the peek's mfp as they come in, and only what comes out is kept: an mfp is linear, so what cancels
/// before it cancels after it. What is left at the time becomes the source of a `PeekTask`, which counts, orders
/// and answers. It works in tasks of its own: a large collection keeps nobody else waiting.
///
/// Lifetime: dropping it ends the read. Thread safety: `read` is called once; the rest happens in its tasks.
#pragma once

#include <functional>
#include <memory>

#include <freshet/storage_api/storage.h>

#include "dataflow/peek_task.h"
#include "dataflow/source_operator.h"

namespace freshet::compute {

class CollectionPeek : public std::enable_shared_from_this<CollectionPeek> {
 public:
  /// Told once, unless the read was dropped: all rows that the mfp let pass, of the mfp's output types.
  using Done = std::function<void(Result<PeekTask::Source>)>;

  /// `peek` reads a collection.
  CollectionPeek(base::Scheduler& scheduler, const compute_api::Peek& peek, Done done);
  void read(std::unique_ptr<storage_api::CollectionReader> reader);

 private:
  using Batcher = differential::Batcher<std::string, std::string, SqlTime, Diff>;

  void read_next();
  Result<void> take(storage_api::CollectionUpdates updates);
  void take_rows(const Rows<SqlTime>& rows);
  void add_error(std::string bytes, Diff diff);
  [[nodiscard]] PeekTask::Source finish();

  base::Strand strand_;
  SqlTime time_;
  ColumnTypes types_;
  MfpStep mfp_;
  ColumnTypes output_types_;
  repr::RowCodec output_codec_;
  SliceDecoder decoder_;
  Done done_;
  std::unique_ptr<storage_api::CollectionReader> reader_{};
  Batcher oks_ = Batcher();
  Batcher errs_ = Batcher();
};

}  // namespace freshet::compute
