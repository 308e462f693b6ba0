// SPDX-License-Identifier: Apache-2.0
// Conversations with Blob: patient retries, parts written, parts read block by block.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <freshet/persist/blob.h>
#include <freshet/persist/client.h>
#include <freshet/persist/reader.h>

#include "flow.h"
#include "state.h"

namespace freshet::persist {

/// Waits between attempts: 2 ms, 4 ms, … 1 s.
class Backoff {
 public:
  explicit Backoff(base::Scheduler& scheduler) : scheduler_(scheduler) {}
  base::Future<base::Unit> wait();
  [[nodiscard]] int attempts() const { return attempts_; }

 private:
  base::Scheduler& scheduler_;
  int attempts_ = 0;
};

inline constexpr int kAttemptsMax = 10;

[[nodiscard]] inline bool may_help_to_retry(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kIndeterminate;
}

/// A strand of its own and what is needed to read and write parts. One per reader, builder, merge.
class Io {
 public:
  Io(Environment environment, std::shared_ptr<const PartCodec> codec)
      : environment_(environment), codec_(std::move(codec)), strand_(environment.scheduler) {}
  base::TaskQueue& queue() { return strand_; }
  base::Scheduler& scheduler() { return environment_.scheduler; }
  Blob& blob() { return environment_.blob; }
  const PartCodec& codec() { return *codec_; }
  [[nodiscard]] const std::shared_ptr<const PartCodec>& codec_ref() const { return codec_; }
  const Environment& environment() { return environment_; }

 private:
  Environment environment_;
  std::shared_ptr<const PartCodec> codec_;
  base::Strand strand_;
};
using IoRef = std::shared_ptr<Io>;

/// Asks again while it may help, kAttemptsMax times. For what is idempotent.
template <typename T>
class Patience final : public Flow<Patience<T>, T> {
 public:
  template <HasQueue X>
  Patience(std::shared_ptr<X> owner, base::Scheduler& scheduler,
           std::function<base::Future<T>()> ask)
      : queue_(owner->queue()),
        owner_(std::move(owner)),
        ask_(std::move(ask)),
        backoff_(scheduler) {}
  base::TaskQueue& queue() { return queue_; }
  void begin() { this->await(ask_(), &Patience::answered); }

 private:
  void answered(Result<T> result) {
    if (result || !may_help_to_retry(result.error()) || backoff_.attempts() >= kAttemptsMax) {
      return this->finish(std::move(result));
    }
    latest_ = result.error();
    this->await(backoff_.wait(), &Patience::waited);
  }
  void waited(Result<base::Unit> waited) {
    if (!waited) return this->finish(Unexpected(std::move(latest_)));
    begin();
  }

  base::TaskQueue& queue_;
  std::shared_ptr<void> owner_;
  std::function<base::Future<T>()> ask_;
  Backoff backoff_;
  Error latest_{};
};

template <typename T, HasQueue X>
base::Future<T> patiently(std::shared_ptr<X> owner, base::Scheduler& scheduler,
                          std::function<base::Future<T>()> ask) {
  return Patience<T>::start(std::move(owner), scheduler, std::move(ask));
}

// Every operation of Blob is idempotent here, so both kinds of failure are retried, kAttemptsMax
// times.
base::Future<base::Bytes> get_patiently(IoRef io, std::string key);
base::Future<base::Bytes> get_range_patiently(IoRef io, std::string key, std::uint64_t offset,
                                              std::uint64_t size);
base::Future<base::Unit> set_patiently(IoRef io, std::string key, SharedBytes bytes);
base::Future<base::Unit> remove_patiently(IoRef io, std::string key);

/// Consolidates, encodes (as a blocking task: it takes a while) and uploads. Null if all cancelled.
base::Future<PartRef> upload_part(IoRef io, std::string key, Updates updates);

/// What of the stored updates is wanted, and how.
struct ReadWindow {
  Time from = 0;        ///< Updates before are left out.
  Time to = kClosed;    ///< Updates at or after are left out.
  Time advance_to = 0;  ///< Times are moved up to it.
  std::shared_ptr<const BlockFilter> filter{};
};

/// Removes and advances times as the window says.
Updates through_window(Updates updates, const ReadWindow& window);

/// One run, block by block: of parts, or of a batch kept in the state.
class RunReader {
 public:
  RunReader(ShardId shard, Run run, ReadWindow window);
  RunReader(std::shared_ptr<const Updates> inlined, ReadWindow window);

  /// The next updates that the window wants, never empty; null at the end. One call at a time; the
  /// reader is kept alive by the caller.
  static base::Future<std::shared_ptr<const Updates>> next(IoRef io,
                                                           std::shared_ptr<RunReader> self);
  /// Only null would come.
  [[nodiscard]] bool exhausted() const {
    return inlined_ == nullptr && next_fetched_ == fetched_.size() &&
           next_block_ == blocks_.size() && next_part_ == run_.size();
  }

 private:
  struct Fetched {
    BlockInfo block;
    std::size_t position = 0;  ///< In `buffer_`.
  };
  class NextBlock;
  /// What is to be read of an object.
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  bool next_wanted_part();
  [[nodiscard]] Range index_range() const;
  Result<void> take_index(const PartCodec& codec, base::Bytes bytes);
  Range next_blocks();
  std::shared_ptr<const Updates> take_inlined();
  [[nodiscard]] bool wanted(const BlockInfo& block) const;
  Result<std::shared_ptr<const Updates>> decode_next(const PartCodec& codec);

  ShardId shard_{};
  Run run_;
  std::shared_ptr<const Updates> inlined_;
  ReadWindow window_;
  std::size_t next_part_ = 0;
  // The open part.
  PartRef part_;
  std::vector<BlockInfo> blocks_;
  std::size_t next_block_ = 0;  ///< To fetch.
  base::Bytes buffer_;
  std::vector<Fetched> fetched_;  ///< Decoded from the front.
  std::size_t next_fetched_ = 0;
  std::uint64_t row_hash_sum_ = 0;
  bool all_blocks_ = true;
};

/// Merges runs into one consolidated stream.
///
/// Space: one decoded block per run and one fetch buffer per run.
class Merger {
 public:
  explicit Merger(std::vector<std::shared_ptr<RunReader>> runs);
  /// The next updates in (row, time) order, about `bytes` of them, all of one row and time
  /// together; empty at the end.
  static base::Future<Updates> next(IoRef io, std::shared_ptr<Merger> self, std::size_t bytes);
  /// Only an empty list would come.
  [[nodiscard]] bool exhausted() const { return heap_.empty() && dry_.empty(); }

 private:
  struct Cursor {
    std::shared_ptr<RunReader> run;
    std::shared_ptr<const Updates> block;
    std::size_t position = 0;
    std::uint64_t prefix = 0;
    void load_prefix();
  };
  class NextChunk;
  [[nodiscard]] bool after(std::size_t a, std::size_t b) const;
  void load(std::size_t index, std::shared_ptr<const Updates> block);
  bool merge_until_dry(Updates& out, std::size_t bytes);
  bool drain_single(Updates& out, std::size_t bytes);

  std::vector<Cursor> cursors_;
  std::vector<std::size_t> heap_;  ///< Cursors with something to give.
  std::vector<std::size_t> dry_;   ///< Cursors to be loaded before merging goes on.
};

/// All runs of some batches, those kept in the state included.
std::vector<std::shared_ptr<RunReader>> open_runs(ShardId shard,
                                                  const std::vector<BatchEntry>& batches,
                                                  const ReadWindow& window);

}  // namespace freshet::persist
