// SPDX-License-Identifier: Apache-2.0
/// The syntax of a statement: PostgreSQL's tree, and beside it what the front took out of the text.
///
/// Places are bytes from the start of `StatementBody::original`, in the tree as well: what the front takes out it
/// replaces by blanks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <freshet/sql/parse.h>

#include "pg_tree.h"

namespace freshet::sql {

using PgTreePtr = std::shared_ptr<const PgTree>;

/// `NAME WORDS [=] value`.
struct OptionItem {
  std::string name;                    ///< "RETAIN HISTORY", upper case, without a trailing FOR.
  std::optional<std::string> value{};  ///< A string's content, or the word or number as it stands.
  int location = -1;
};

/// AS OF [AT LEAST] e; UP TO e. `tree` is `SELECT e`.
struct TimeClause {
  PgTreePtr tree;
  bool at_least = false;
};

/// One, two or three parts.
struct NameParts {
  std::vector<std::string> parts{};
  int location = -1;
};

struct SubscribeSyntax {
  std::optional<NameParts> object{};  ///< Else the tree is a query.
  std::vector<OptionItem> options{};
  std::optional<TimeClause> up_to{};
};

struct CreateSourceSyntax {
  NameParts name;
  bool if_not_exists = false;
  std::string generator;
  int generator_location = -1;
  std::vector<OptionItem> options{};
  bool all_tables = false;
  std::vector<std::pair<NameParts, std::optional<NameParts>>> tables{};
};

/// CREATE DATABASE, CREATE SCHEMA.
struct CreateNamespaceSyntax {
  NameParts name;
  bool if_not_exists = false;
};

/// CREATE [DEFAULT] INDEX without a list of key columns.
struct CreateDefaultIndexSyntax {
  std::optional<NameParts> name{};
  bool if_not_exists = false;
  NameParts on;
  bool empty_key = false;  ///< ON t (): one group for all.
};

struct DropSyntax {
  enum class What : std::uint8_t { kTable, kSource, kView, kMaterializedView, kIndex, kSchema, kDatabase };
  What what = What::kTable;
  std::vector<NameParts> names{};
  bool if_exists = false;
  bool cascade = false;
  bool restrict = false;
};

/// SHOW TABLES [FROM s] [LIKE 'p' | WHERE e], SHOW CREATE …, SHOW COLUMNS FROM ….
struct ShowObjectsSyntax {
  enum class What : std::uint8_t {
    kDatabases, kSchemas, kTables, kSources, kViews, kMaterializedViews, kIndexes, kObjects, kColumns, kCreate
  };
  What what = What::kTables;
  std::string create_kind{};         ///< SHOW CREATE x: "view", "materialized view", …
  std::optional<NameParts> from{};
  std::optional<NameParts> on{};     ///< SHOW INDEXES ON t
  std::optional<std::string> like{};
  PgTreePtr where{};                 ///< `SELECT e`
};

struct ExplainSyntax {
  std::string stage;  ///< "raw", "optimized", "physical", "timestamp"
  bool json = false;
  bool analyze = false;
  std::optional<NameParts> object{};
  std::string object_kind{};
  std::optional<Statement> inner{};
};

struct PrepareSyntax {
  std::string name;
  PgTreePtr types{};  ///< `SELECT NULL::t, …`
  Statement inner;
};

struct DeclareSyntax {
  std::string name;
  bool hold = false;
  Statement inner;
};

/// COPY (query) TO STDOUT …: the tree's own query is a stand-in.
struct CopySyntax {
  std::optional<Statement> inner{};
};

struct FetchSyntax {
  std::vector<OptionItem> options{};
};

/// What the front found at a WITH MUTUALLY RECURSIVE.
struct MutuallyRecursive {
  std::optional<std::uint64_t> limit{};
  bool return_at_limit = false;
};

struct StatementBody {
  StatementKind kind = StatementKind::kOther;
  std::string text{};
  std::string tag{};
  std::int32_t offset = 0;  ///< Characters of the parsed text before `original`.
  /// The outermost statement's text, which places refer to.
  std::shared_ptr<const std::string> original{};
  PgTreePtr tree{};
  std::variant<std::monostate, SubscribeSyntax, CreateSourceSyntax, CreateNamespaceSyntax,
               CreateDefaultIndexSyntax, DropSyntax, ShowObjectsSyntax, ExplainSyntax, PrepareSyntax,
               DeclareSyntax, CopySyntax, FetchSyntax>
      syntax{};
  /// WITH (…) of CREATE MATERIALIZED VIEW, CREATE TABLE, CREATE INDEX.
  std::vector<OptionItem> options{};
  bool or_replace = false;      ///< CREATE OR REPLACE MATERIALIZED VIEW
  bool if_not_exists = false;   ///< CREATE VIEW IF NOT EXISTS
  bool strict_serializable = false;
  std::optional<TimeClause> as_of{};
  /// By the place of the WITH.
  std::map<int, MutuallyRecursive> mutually_recursive{};
  /// Types of the columns of a recursive binding (`SELECT NULL::t, …`), by the place of its name.
  std::map<int, PgTreePtr> binding_types{};

  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&syntax);
  }
};

/// The position (1-based, characters) in the parsed text of byte `location` of a statement; 0 if negative.
std::int32_t position_of(const StatementBody& body, int location);

}  // namespace freshet::sql
