// SPDX-License-Identifier: Apache-2.0
/// Storage as the other layers see it: durable collections that are written, read and asked to advance.
///
/// Every collection has a since (readable from here on), a durable upper `d` (updates below it are safe on
/// disk) and a logical upper `l >= d`: its writer has proved that nothing changed in [d, l), so a read at
/// T < l is a read at min(T, d - 1). Nothing moves by itself: an upper moves because data came, or because
/// someone called `advance`.
///
/// Two implementations: `durable` (over persist) and `memory` (keeps nothing; tables and generators for tests).
///
/// Thread safety: all methods, from any thread. Callbacks and futures arrive on scheduler tasks.
/// Errors: kNotFound unknown collection; kConflict time already passed; kCorrupt with XX001 naming the part;
/// kExhausted with 53100 on a full disk; kUnavailable with 58030.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/expr/id.h>
#include <freshet/repr/chunk.h>
#include <freshet/repr/time.h>
#include <freshet/repr/types.h>

namespace freshet::storage_api {

using expr::GlobalId;
using repr::Diff;
using repr::SqlTime;

/// Encoded rows with times and diffs. `times` has one entry (all rows) or one a row; `diffs` is empty while all
/// are +1.
struct EncodedUpdates {
  repr::BytesVector rows{};
  std::vector<SqlTime> times{};
  std::vector<Diff> diffs{};
  [[nodiscard]] std::size_t size() const { return rows.size(); }
  [[nodiscard]] SqlTime time(std::size_t i) const { return times.size() == 1 ? times[0] : times[i]; }
  [[nodiscard]] Diff diff(std::size_t i) const { return diffs.empty() ? 1 : diffs[i]; }
  void push_back(std::string_view row, SqlTime time, Diff diff);
};

/// Changes of a collection: rows (RowCodec of its types) and error rows (encode_error_row).
struct CollectionUpdates {
  EncodedUpdates oks{};
  EncodedUpdates errs{};
  [[nodiscard]] bool empty() const { return oks.size() == 0 && errs.size() == 0; }
};

struct Frontiers {
  SqlTime since = 0;
  SqlTime durable_upper = 0;
  SqlTime upper = 0;  ///< The logical one; kClosed when nothing will ever change.
};

/// One step of reading. Updates of a time are complete once an event with a greater `upper` was seen.
struct ReadEvent {
  CollectionUpdates updates{};
  SqlTime upper = 0;
};

/// Reads the content as of a time, then every change after it, each once. Snapshot updates carry the
/// time as_of. Bounded memory: an event holds at most about 64k rows.
class CollectionReader {
 public:
  virtual ~CollectionReader() = default;
  /// The next event: resolves when there is data or the logical upper moved. One at a time. After
  /// `upper == kClosed` there is no other. An error ends the reader.
  virtual base::Future<ReadEvent> next() = 0;
};

/// Writes a collection that a dataflow maintains (a materialized view). One writer at a time: opening a new one
/// fences the old, whose calls then fail with kConflict.
class CollectionWriter {
 public:
  virtual ~CollectionWriter() = default;
  [[nodiscard]] virtual SqlTime durable_upper() const = 0;
  /// Makes `updates` (times in [lower, upper)) durable and moves the upper. kConflict if lower is not the
  /// durable upper. An empty first append is allowed and needed before `claim`.
  virtual base::Future<base::Unit> append(SqlTime lower, SqlTime upper, CollectionUpdates updates) = 0;
  /// Nothing changed up to `upper`: moves the logical upper without writing.
  virtual void claim(SqlTime upper) = 0;
};

/// Rows of a table that are stored already, to become part of it with a commit.
class StagedRows {
 public:
  virtual ~StagedRows() = default;
};
using StagedRowsPtr = std::shared_ptr<const StagedRows>;

/// Stores many rows before the commit that makes them part of a table, while they come. What is not committed is removed,
/// at a later start if not earlier. One call at a time, from any thread.
class RowStage {
 public:
  virtual ~RowStage() = default;
  /// Takes rows and diffs; their `times` are ignored. Resolves when there is room for more. An error comes again in `finish`.
  virtual base::Future<base::Unit> add(CollectionUpdates updates) = 0;
  /// The last call.
  virtual base::Future<StagedRowsPtr> finish() = 0;
};

/// One change to several tables, atomic and at one time.
struct TableCommit {
  SqlTime time = 0;
  /// Rows and diffs for each table; their `times` are ignored.
  std::map<GlobalId, CollectionUpdates> appends{};
  /// Besides; only for tables in `appends`.
  std::map<GlobalId, std::vector<StagedRowsPtr>> staged{};
  /// Tables that exist from this time on; `appends` may fill them.
  std::vector<std::pair<GlobalId, repr::RelationDesc>> create{};
  std::vector<GlobalId> drop{};
};

/// A load generator; each subsource becomes a collection.
struct LoadGenerator {
  enum class Kind : std::uint8_t { kCounter, kTpch };
  Kind kind = Kind::kCounter;
  double scale_factor = 0.01;            ///< TPCH
  std::uint64_t tick_micros = 1'000'000; ///< 0: no ticks after the first load (TPCH).
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> max_cardinality{};  ///< COUNTER: retract the oldest beyond this.
  friend bool operator==(const LoadGenerator&, const LoadGenerator&) = default;
};
/// What the ingestion's own collection holds: one row, how many ticks its outputs contain.
repr::RelationDesc progress_desc();
/// The collections a generator makes, in a fixed order: names and columns.
std::vector<std::pair<std::string, repr::RelationDesc>> generator_outputs(const LoadGenerator& generator);

struct TableCollection {};
/// Written through `open_writer`.
struct ViewCollection {};
/// The source itself; its outputs are `outputs`, one for each of generator_outputs, in that order. A
/// COUNTER has one output. All outputs advance together.
struct IngestionCollection {
  LoadGenerator generator;
  std::vector<GlobalId> outputs;
};
/// A collection written by the ingestion that lists it.
struct IngestionOutput {
  GlobalId ingestion;
};
using CollectionKind = std::variant<TableCollection, ViewCollection, IngestionCollection, IngestionOutput>;

// -- commands ------------------------------------------------------------------------------------

/// Makes a collection, or takes up one that is durable already. Readable from `as_of` on (new ones).
struct CreateCollection {
  GlobalId id;
  CollectionKind kind;
  repr::RelationDesc desc;
  SqlTime since = 0;
};
/// Forgets the collection and, in time, its data.
struct DropCollection {
  GlobalId id;
};
/// Reads before `since` will not come any more.
struct AllowCompaction {
  GlobalId id;
  SqlTime since = 0;
};
/// Starts the ingestions that exist now and those created later. Sent once, after start-up: collections that
/// nobody created by then are forgotten, and what they stored is removed.
struct InitializationComplete {
  /// No new time below this is chosen by an ingestion: reads up to it may have been answered before the restart.
  SqlTime floor = 0;
};
/// Somebody waits until the logical upper exceeds `time`.
struct Advance {
  GlobalId id;
  SqlTime time = 0;
};
using StorageCommand = std::variant<CreateCollection, DropCollection, AllowCompaction, InitializationComplete, Advance>;

// -- responses -----------------------------------------------------------------------------------

struct FrontierUpdate {
  GlobalId id;
  Frontiers frontiers;
};
/// An ingestion failed. `transient` ones are tried again; after any other the source and its outputs have no new time.
struct CollectionFailure {
  GlobalId id;
  Error error;
  bool transient = true;
};
using StorageResponse = std::variant<FrontierUpdate, CollectionFailure>;

class Storage {
 public:
  virtual ~Storage() = default;

  /// Commands take effect in order. CreateCollection answers when the collection is there; others at once.
  virtual base::Future<base::Unit> send(StorageCommand command) = 0;
  /// Called for each response, on scheduler tasks, in order per collection. Set before the first command.
  virtual void on_response(std::function<void(StorageResponse)> handler) = 0;

  [[nodiscard]] virtual Result<Frontiers> frontiers(GlobalId id) const = 0;
  /// Resolves once the logical upper exceeds `time`, without asking for it.
  virtual base::Future<base::Unit> wait_for(GlobalId id, SqlTime time) = 0;

  /// Tables: all-or-nothing and durable when it resolves. kConflict if `time` is below the logical upper that
  /// was granted to readers, or a table is unknown. The tables' logical upper becomes time + 1. Commits resolve in order.
  virtual base::Future<base::Unit> commit(TableCommit commit) = 0;

  /// For rows of one table, to go out with a later commit. Null if there is no such table.
  virtual std::unique_ptr<RowStage> stage(GlobalId table) = 0;

  /// `as_of` must be at or after the since; the caller keeps it there (AllowCompaction) until it was opened.
  virtual base::Future<std::unique_ptr<CollectionReader>> open_reader(GlobalId id, SqlTime as_of) = 0;
  /// For view collections. `on_demand(t)` is called when someone wants the upper to exceed t.
  virtual base::Future<std::unique_ptr<CollectionWriter>> open_writer(
      GlobalId id, std::function<void(SqlTime)> on_demand) = 0;
};

}  // namespace freshet::storage_api
