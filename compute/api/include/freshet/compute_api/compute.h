// SPDX-License-Identifier: Apache-2.0
/// Compute as the adapter sees it: a replica that takes commands and sends responses.
///
/// Two implementations: `dataflow` (timely and differential) and `naive` (recomputes; tests). Commands and
/// responses are plain structs; codec.h turns them into bytes and back.
///
/// Time only moves on demand: a frontier moves because an input changed, or because of `Advance`.
/// Thread safety: `send` from any thread; commands take effect in the order of sending. Responses arrive on
/// scheduler tasks, in order per id.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <freshet/expr/dataflow.h>
#include <freshet/repr/chunk.h>
#include <freshet/repr/time.h>

namespace freshet::compute_api {

using expr::GlobalId;
using repr::Diff;
using repr::SqlTime;

/// 128 random bits chosen by the controller.
using PeekId = std::array<std::uint64_t, 2>;

// -- commands ------------------------------------------------------------------------------------

/// First command of a connection; a new nonce means a new controller, which will send its whole history.
struct Hello {
  PeekId nonce{};
};
struct InstanceConfig {
  std::uint32_t workers = 1;
  std::uint64_t max_result_bytes = 1ULL << 30;
};
struct CreateInstance {
  InstanceConfig config;
};
/// Everything from before was sent again; what was not mentioned may go.
struct InitializationComplete {};
struct UpdateConfiguration {
  InstanceConfig config;
};
/// Builds the dataflow; it starts with `Schedule` of its exports. Imports must be readable at `as_of`.
struct CreateDataflow {
  expr::DataflowDescription dataflow;
};
struct Schedule {
  GlobalId id;
};
/// Sinks may write from now on (they start read-only).
struct AllowWrites {
  GlobalId id;
};
/// Reads of the export before `since` will not come any more; kClosed drops it.
struct AllowCompaction {
  GlobalId id;
  SqlTime since = 0;
};

/// A one-off read of one collection at one time: rows of the index (or collection), through `mfp`.
struct Peek {
  PeekId id{};
  struct Index {
    GlobalId id;
    /// Only rows with one of these key values; absent: all. The key columns have the index's key types.
    std::optional<std::vector<repr::DatumRow>> seek{};
  };
  /// Straight from storage, without a dataflow.
  struct Collection {
    GlobalId id;
    repr::RelationDesc desc;
  };
  std::variant<Index, Collection> target;
  SqlTime time = 0;
  expr::Mfp mfp;
  /// With a limit, the first `limit` rows in this order suffice (equal ones by their bytes); the controller finishes
  /// the result itself.
  std::vector<expr::ColumnOrder> order{};
  std::optional<std::uint64_t> limit{};
};
struct CancelPeek {
  PeekId id{};
};
/// Someone waits until the export's frontier exceeds `time`; forwarded to what it reads.
struct Advance {
  GlobalId id;
  SqlTime time = 0;
};
using ComputeCommand = std::variant<Hello, CreateInstance, InitializationComplete, UpdateConfiguration,
                                    CreateDataflow, Schedule, AllowWrites, AllowCompaction, Peek, CancelPeek, Advance>;

// -- responses -----------------------------------------------------------------------------------

/// The export is complete up to `upper`. For sinks that write: durably (logically, for quiet inputs).
struct FrontierUpdate {
  GlobalId id;
  SqlTime upper = 0;
};
/// Exactly one sequence a peek: zero or more with `last` false, then one with `last` true. An error ends it.
struct PeekResponse {
  PeekId id{};
  repr::BytesVector rows{};      ///< RowCodec of the mfp's output types.
  std::vector<Diff> diffs{};     ///< Empty: all 1.
  std::optional<Error> error{};  ///< kCancelled after CancelPeek.
  bool last = true;
};
/// What a subscription saw in [lower, upper): consolidated, ordered by time, then row.
struct SubscribeResponse {
  GlobalId id;
  SqlTime lower = 0;
  SqlTime upper = 0;
  repr::BytesVector rows{};
  std::vector<SqlTime> times{};  ///< One a row.
  std::vector<Diff> diffs{};     ///< One a row.
  std::optional<Error> error{};  ///< Ends the subscription.
};
/// The export stopped because of an error that is not a row's (a corrupt part, a lost source).
struct ExportFailure {
  GlobalId id;
  Error error;
};
struct Dropped {
  GlobalId id;
};
using ComputeResponse = std::variant<FrontierUpdate, PeekResponse, SubscribeResponse, ExportFailure, Dropped>;

/// Looks up one key of an index again and again, prepared once, on the thread of the caller.
/// Thread safety: one thread at a time. May outlive the index, not the `Compute`.
class Lookup {
 public:
  virtual ~Lookup() = default;
  /// The rows with that key, at one time from `least` to `most` that the index is complete at and chooses itself.
  /// Nothing if they are not to be had at once (the index is behind, or gone; an error in scope; many rows): a
  /// Peek is the way then.
  virtual std::optional<PeekResponse> find(const repr::DatumRow& key, SqlTime least, SqlTime most) = 0;
};

class Compute {
 public:
  virtual ~Compute() = default;
  /// Null if there is no way but the commands.
  virtual std::unique_ptr<Lookup> make_lookup(GlobalId index, const expr::Mfp& mfp) {
    (void)index, (void)mfp;
    return nullptr;
  }
  virtual void on_response(std::function<void(ComputeResponse)> handler) = 0;
  virtual void send(ComputeCommand command) = 0;
};

}  // namespace freshet::compute_api
