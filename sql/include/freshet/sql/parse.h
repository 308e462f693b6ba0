// SPDX-License-Identifier: Apache-2.0
/// SQL text to statements: PostgreSQL 15's grammar and Freshet's streaming constructs.
///
/// libpg_query parses; what PostgreSQL does not know (SUBSCRIBE, CREATE SOURCE, AS OF, WITH MUTUALLY
/// RECURSIVE, …) is blanked out of the text by a token-level front, keeping every byte's place, and its meaning
/// is carried beside the tree. Long texts are parsed on a thread of their own with a big stack.
///
/// Errors: 42601 syntax, 54000 text too long, 54001 nested too deep, 22021 invalid UTF-8; positions count
/// characters from the start of the text given to `parse`.
///
///     std::vector<Statement> batch = FRESHET_TRY(parse("SELECT 1; SUBSCRIBE TO v"));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>

namespace freshet::sql {

/// Texts longer than this are refused.
inline constexpr std::size_t kMaxStatementBytes = 16'000'000;

/// What a statement is, as far as a session must know before planning it.
enum class StatementKind : std::uint8_t {
  kSelect,  ///< SELECT, VALUES, TABLE, SHOW of objects
  kSubscribe,
  kInsert,
  kUpdate,
  kDelete,
  kCopy,
  kCreateDatabase,
  kCreateSchema,
  kCreateTable,
  kCreateTableAs,
  kCreateView,
  kCreateMaterializedView,
  kCreateIndex,
  kCreateSource,
  kDrop,
  kAlter,
  kComment,
  kExplain,
  kSetVariable,  ///< SET, RESET
  kShowVariable,
  kBegin,
  kCommit,
  kRollback,
  kSavepoint,
  kRelease,
  kRollbackTo,
  kPrepare,
  kExecute,
  kDeallocate,
  kDeclare,
  kFetch,
  kClose,
  kDiscard,
  kUnlisten,
  kOther,  ///< Parsed, but nothing we can do: planning gives 0A000.
};

struct StatementBody;  // ast.h: the syntax tree

/// A parsed statement. Immutable, cheap to copy, to be shared between threads.
class Statement {
 public:
  explicit Statement(std::shared_ptr<const StatementBody> body) : body_(std::move(body)) {}
  [[nodiscard]] StatementKind kind() const;
  /// The statement's own text, without the semicolon and the blanks around it.
  [[nodiscard]] std::string_view text() const;
  /// The command word(s) of CommandComplete without counts: "SELECT", "CREATE TABLE", "BEGIN".
  [[nodiscard]] std::string_view tag() const;
  /// Characters of the parsed text before `text()`.
  [[nodiscard]] std::int32_t offset() const;
  [[nodiscard]] const StatementBody& body() const { return *body_; }

 private:
  std::shared_ptr<const StatementBody> body_;
};

/// The statements of `sql` in order; empty statements are left out.
Result<std::vector<Statement>> parse(std::string_view sql);

}  // namespace freshet::sql
