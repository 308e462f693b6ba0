// SPDX-License-Identifier: Apache-2.0
// With sqlite_log.cc the only file that knows SQLite.
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <variant>

#include <freshet/base/assert.h>
#include <freshet/persist/consensus.h>

#include "sqlite_log.h"

namespace freshet::persist {
namespace {

using base::Bytes;
using base::BytesView;
using base::Future;
using base::Promise;
using base::Unit;

/// Pages in the log after which they are moved into the database.
constexpr int kCheckpointPages = 2000;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

Error error_of(sqlite3* db, int code, const std::string& action) {
  ErrorCode kind = ErrorCode::kUnavailable;
  switch (code & 0xff) {
    case SQLITE_FULL:
      kind = ErrorCode::kExhausted;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      kind = ErrorCode::kConflict;
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      kind = ErrorCode::kCorrupt;
      break;
    default:
      break;
  }
  return {.code = kind, .message = action + " consensus database: " + sqlite3_errmsg(db)};
}

/// A prepared statement; binds, steps and resets itself.
class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Result<void> prepare(sqlite3* db, const char* sql) {
    const int code =
        sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
    if (code != SQLITE_OK) return fail(error_of(db, code, "prepare"));
    return {};
  }
  Statement& bind(int at, BytesView text) {
    sqlite3_bind_blob64(statement_, at, text.data(), text.size(), SQLITE_STATIC);
    return *this;
  }
  Statement& bind(int at, std::uint64_t value) {
    sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(value));
    return *this;
  }
  /// Runs to the end; calls `row` for each row.
  template <typename F>
  Result<void> run(F row) {
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement_)) == SQLITE_ROW) row(*this);
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    if (code != SQLITE_DONE) return fail(error_of(sqlite3_db_handle(statement_), code, "use"));
    return {};
  }
  Result<void> run() {
    return run([](Statement&) {});
  }
  [[nodiscard]] std::uint64_t integer(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  [[nodiscard]] Bytes bytes(int column) const {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? Bytes()
                           : Bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

// What can be asked. A write takes part in the transaction of its round.
struct Head {
  std::string key;
  Promise<std::optional<Version>> promise;
};
struct Set {
  std::string key;
  Version next;
  Promise<CasOutcome> promise;
  CasOutcome outcome = CasOutcome::kMismatch;
};
struct Scan {
  std::string key;
  std::uint64_t from = 0;
  std::size_t limit = 0;
  Promise<std::vector<Version>> promise;
};
struct Truncate {
  std::string key;
  std::uint64_t seqno = 0;
  Promise<Unit> promise;
};
struct Remove {
  std::string key;
  std::uint64_t seqno = 0;
  Promise<CasOutcome> promise;
  CasOutcome outcome = CasOutcome::kMismatch;
};
struct List {
  std::string prefix;
  Promise<std::vector<std::string>> promise;
};
using Request = std::variant<Set, Truncate, Remove, Head, Scan, List>;

bool is_write(const Request& request) { return request.index() <= 2; }

/// The database and its queue. Lives as long as its tasks.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(base::Scheduler& scheduler) : scheduler_(scheduler) {}

  Result<void> open(const SqliteOptions& options) {
    const SqliteLog log = FRESHET_TRY(check_sqlite_log(options.path, options.vfs));
    sqlite3* db = nullptr;
    const int code = sqlite3_open_v2(
        options.path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
        options.vfs.empty() ? nullptr : options.vfs.c_str());
    db_.reset(db);
    if (code != SQLITE_OK) return fail(error_of(db, code, "open"));
    sqlite3_extended_result_codes(db, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    // Exclusive first: then the log needs no shared memory, and a second opener gets an error.
    for (const char* sql :
         {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
          "PRAGMA wal_autocheckpoint=0"}) {
      FRESHET_TRY(execute(sql));
    }
    // The table is made in the log, and the log stays for ever (NO_CKPT_ON_CLOSE).
    if (log == SqliteLog::kMissing && FRESHET_TRY(has_table())) {
      return fail(ErrorCode::kCorrupt, "the log of the consensus database \"" + options.path + "-wal\" is missing");
    }
    FRESHET_TRY(
        execute("CREATE TABLE IF NOT EXISTS chain (key BLOB NOT NULL, seqno INTEGER NOT NULL, data BLOB NOT NULL, "
                "PRIMARY KEY (key, seqno)) WITHOUT ROWID"));
    FRESHET_TRY(begin_.prepare(db, "BEGIN IMMEDIATE"));
    FRESHET_TRY(commit_.prepare(db, "COMMIT"));
    FRESHET_TRY(rollback_.prepare(db, "ROLLBACK"));
    FRESHET_TRY(insert_.prepare(db, "INSERT INTO chain (key, seqno, data) VALUES (?1, ?2, ?3)"));
    FRESHET_TRY(truncate_.prepare(db, "DELETE FROM chain WHERE key = ?1 AND seqno < ?2"));
    FRESHET_TRY(remove_.prepare(db, "DELETE FROM chain WHERE key = ?1"));
    FRESHET_TRY(scan_.prepare(db,
                              "SELECT seqno, data FROM chain WHERE key = ?1 AND seqno >= ?2 "
                              "ORDER BY seqno LIMIT ?3"));
    sqlite3_wal_hook(
        db,
        [](void* self, sqlite3*, const char*, int pages) {
          static_cast<Engine*>(self)->log_pages_ = pages;
          return SQLITE_OK;
        },
        this);
    return load_heads();
  }

  void post(Request request) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(request));
    if (running_) return;
    running_ = true;
    scheduler_.post_blocking([self = shared_from_this()] { self->run(); });
  }

 private:
  // Rounds until nobody waits: all that came meanwhile shares the next transaction.
  void run() {
    while (true) {
      std::vector<Request> round;
      {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
          running_ = false;
          return;
        }
        round.swap(waiting_);
      }
      serve(round);
      if (log_pages_ >= kCheckpointPages) checkpoint();
    }
  }

  void serve(std::vector<Request>& round) {
    Result<void> written = broken_ ? Result<void>(fail(*broken_)) : Result<void>();
    if (written && std::ranges::any_of(round, is_write)) written = write(round);
    for (Request& request : round) {
      std::visit([&](auto& r) { answer(r, written); }, request);
    }
  }

  Result<void> write(std::vector<Request>& round) {
    Result<void> done = begin_.run();
    for (Request& request : round) {
      if (done) done = std::visit([this](auto& r) { return perform(r); }, request);
    }
    if (!done) {
      return recover(std::move(done));
    }
    done = commit_.run();
    if (done) return done;
    // Disk full undoes the commit. After anything else, a failed sync above all, nobody knows what
    // the file holds: this object must not go on.
    if (done.error().code != ErrorCode::kExhausted) {
      Error error = done.error();
      error.code = ErrorCode::kIndeterminate;
      broken_ = Error{.code = ErrorCode::kFenced,
                      .message = "the consensus database failed before: " + error.message};
      return fail(std::move(error));
    }
    return recover(std::move(done));
  }

  // Nothing of the round has happened; what was assumed about heads is read again.
  Result<void> recover(Result<void> failure) {
    // Some failures have rolled back already.
    const bool over = sqlite3_get_autocommit(db_.get()) != 0;
    const Result<void> undone = over ? Result<void>() : rollback_.run();
    Result<void> loaded = undone ? load_heads() : undone;
    if (!loaded) broken_ = loaded.error();
    return failure;
  }

  Result<void> perform(Set& set) {
    std::uint64_t& head = heads_[set.key];
    set.outcome = CasOutcome::kMismatch;
    if (head + 1 != set.next.seqno) {
      if (head == 0) heads_.erase(set.key);
      return {};
    }
    FRESHET_TRY(insert_.bind(1, set.key).bind(2, set.next.seqno).bind(3, set.next.data).run());
    head = set.next.seqno;
    set.outcome = CasOutcome::kApplied;
    return {};
  }
  Result<void> perform(Truncate& t) {
    if (t.seqno > head_of(t.key)) return {};  // answered as an error
    return truncate_.bind(1, t.key).bind(2, t.seqno).run();
  }
  Result<void> perform(Remove& r) {
    r.outcome = CasOutcome::kMismatch;
    if (head_of(r.key) != r.seqno || r.seqno == 0) return {};
    FRESHET_TRY(remove_.bind(1, r.key).run());
    heads_.erase(r.key);
    r.outcome = CasOutcome::kApplied;
    return {};
  }
  template <typename R>
  Result<void> perform(R&) {
    return {};
  }

  void answer(Set& set, const Result<void>& written) {
    set.promise.resolve(written ? Result<CasOutcome>(set.outcome) : fail(written.error()));
  }
  void answer(Remove& r, const Result<void>& written) {
    r.promise.resolve(written ? Result<CasOutcome>(r.outcome) : fail(written.error()));
  }
  void answer(Truncate& t, const Result<void>& written) {
    if (!written) {
      t.promise.resolve(fail(written.error()));
    } else if (t.seqno > head_of(t.key)) {
      t.promise.resolve(fail(ErrorCode::kInvalid, "truncate \"" + t.key + "\" past its head, to " +
                                                      std::to_string(t.seqno)));
    } else {
      t.promise.resolve(Unit{});
    }
  }
  void answer(Head& h, const Result<void>&) {
    Result<std::vector<Version>> found = scan(h.key, std::max<std::uint64_t>(head_of(h.key), 1), 1);
    if (!found) {
      h.promise.resolve(fail(found.error()));
    } else if (found->empty()) {
      h.promise.resolve(std::optional<Version>());
    } else {
      h.promise.resolve(std::optional<Version>(std::move(found->front())));
    }
  }
  void answer(Scan& s, const Result<void>&) { s.promise.resolve(scan(s.key, s.from, s.limit)); }
  void answer(List& l, const Result<void>&) {
    if (broken_) return l.promise.resolve(fail(*broken_));
    std::vector<std::string> keys;
    for (auto it = heads_.lower_bound(l.prefix);
         it != heads_.end() && it->first.starts_with(l.prefix); ++it) {
      keys.push_back(it->first);
    }
    l.promise.resolve(std::move(keys));
  }

  Result<std::vector<Version>> scan(const std::string& key, std::uint64_t from, std::size_t limit) {
    if (broken_) return fail(*broken_);
    std::vector<Version> found;
    scan_.bind(1, key).bind(2, from).bind(3, static_cast<std::uint64_t>(limit));
    FRESHET_TRY(scan_.run([&](Statement& row) {
      found.push_back({row.integer(0), row.bytes(1)});
    }));
    return found;
  }

  // A checkpoint that fails to sync must not be repeated: the log would be dropped all the same.
  void checkpoint() {
    const int code =
        sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    log_pages_ = 0;
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_FULL && (code & 0xff) != SQLITE_BUSY) {
      broken_ = error_of(db_.get(), code, "checkpoint");
      broken_->code = ErrorCode::kFenced;
    }
  }

  Result<void> execute(const char* sql) {
    const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return fail(error_of(db_.get(), code, "set up"));
    return {};
  }

  Result<bool> has_table() {
    Statement ask;
    bool found = false;
    FRESHET_TRY(ask.prepare(db_.get(), "SELECT 1 FROM sqlite_master WHERE name = 'chain'"));
    FRESHET_TRY(ask.run([&](Statement&) { found = true; }));
    return found;
  }

  Result<void> load_heads() {
    heads_.clear();
    Statement all;
    FRESHET_TRY(all.prepare(db_.get(), "SELECT key, max(seqno) FROM chain GROUP BY key"));
    return all.run([this](Statement& row) { heads_[row.bytes(0)] = row.integer(1); });
  }

  [[nodiscard]] std::uint64_t head_of(const std::string& key) const {
    const auto it = heads_.find(key);
    return it == heads_.end() ? 0 : it->second;
  }

  base::Scheduler& scheduler_;
  std::mutex mutex_;
  std::vector<Request> waiting_;
  bool running_ = false;
  // Used by one round at a time.
  Database db_;
  Statement begin_, commit_, rollback_, insert_, truncate_, remove_, scan_;
  std::map<std::string, std::uint64_t> heads_;
  std::optional<Error> broken_;
  int log_pages_ = 0;
};

class SqliteConsensus final : public Consensus {
 public:
  explicit SqliteConsensus(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  Future<std::optional<Version>> head(std::string key) override {
    return ask<std::optional<Version>>(Head{.key = std::move(key)});
  }
  Future<CasOutcome> compare_and_set(std::string key, Version next) override {
    return ask<CasOutcome>(Set{.key = std::move(key), .next = std::move(next)});
  }
  Future<std::vector<Version>> scan(std::string key, std::uint64_t from,
                                    std::size_t limit) override {
    return ask<std::vector<Version>>(Scan{.key = std::move(key), .from = from, .limit = limit});
  }
  Future<Unit> truncate(std::string key, std::uint64_t seqno) override {
    return ask<Unit>(Truncate{.key = std::move(key), .seqno = seqno});
  }
  Future<CasOutcome> remove(std::string key, std::uint64_t seqno) override {
    return ask<CasOutcome>(Remove{.key = std::move(key), .seqno = seqno});
  }
  Future<std::vector<std::string>> list_keys(std::string prefix) override {
    return ask<std::vector<std::string>>(List{.prefix = std::move(prefix)});
  }

 private:
  template <typename T, typename R>
  Future<T> ask(R request) {
    Future<T> future = request.promise.future();
    engine_->post(std::move(request));
    return future;
  }
  std::shared_ptr<Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<Consensus>> make_sqlite_consensus(base::Scheduler& scheduler,
                                                         SqliteOptions options) {
  auto engine = std::make_shared<Engine>(scheduler);
  FRESHET_TRY(engine->open(options));
  return std::unique_ptr<Consensus>(std::make_unique<SqliteConsensus>(std::move(engine)));
}

}  // namespace freshet::persist
