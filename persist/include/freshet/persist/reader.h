// SPDX-License-Identifier: Apache-2.0
/// Reads a shard: its content as of one time, then every change after it.
///
///     ReadOptions options{.shard = id, .as_of = t};         // until = t + 1 for the content alone
///     group->read(options).on_ready(queue, [](Result<std::unique_ptr<Reader>> reader) { … });
///     reader->next().on_ready(queue, [](Result<ReadChunk> chunk) {
///       for (i < chunk->updates->size()) use(chunk->updates->row(i), …);
///       // everything at times before chunk->upper has been delivered
///     });
#pragma once

#include <functional>
#include <memory>

#include <freshet/base/future.h>
#include <freshet/persist/part_codec.h>
#include <freshet/persist/updates.h>

namespace freshet::persist {

enum class ReadOrder : std::uint8_t {
  kAsStored,      ///< Fastest: block after block; equal rows of different batches are not added up.
  kConsolidated,  ///< The content in row order, added up. Changes after it are consolidated per
                  ///< step.
};

/// Decides from statistics whether a block must be read. Called on any thread.
using BlockFilter = std::function<bool(const BlockInfo&)>;

struct ReadOptions {
  ShardId shard{};
  /// The content is given as of this time, all its updates at this very time.
  Time as_of = 0;
  /// False leaves the content out: only changes after `as_of`.
  bool snapshot = true;
  /// The reader is done when everything before `until` has been given. It never gives updates at or
  /// after it.
  Time until = kClosed;
  ReadOrder order = ReadOrder::kAsStored;
  /// Null keeps all. Filtered blocks are left out of content and changes alike.
  std::shared_ptr<const BlockFilter> filter{};
  /// About how much one chunk holds.
  std::size_t chunk_bytes = 1 << 20;
};

struct ReadChunk {
  /// Never null, may be empty. Shared with other readers.
  std::shared_ptr<const Updates> updates;
  /// All updates at times before this have been given (never past `until`). It stays while a large
  /// batch is given in several chunks, and below as_of + 1 until the content is complete.
  Time upper = 0;
  /// Nothing more will come: `until` is reached or the shard is closed. `next` must not be called.
  bool done = false;
};

/// Holds the shard's since for itself: at `as_of`, later one below what it has delivered.
///
/// Space: one chunk, and in kConsolidated order one block for each run of the shard.
/// Errors: kCorrupt names part and shard; kNotFound when the shard was dropped; kCancelled when the
/// client was closed or its session expired. After an error the reader is useless.
/// Thread safety: one `next` at a time, from any thread. Dropping it while `next` is pending is
/// fine.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Waits until there is something new to say.
  virtual base::Future<ReadChunk> next() = 0;
};

}  // namespace freshet::persist
