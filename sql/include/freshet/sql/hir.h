// SPDX-License-Identifier: Apache-2.0
/// HIR: a query with names and types resolved, subqueries still in place; what the catalog stores of a view.
///
/// Columns are (level, index): level 0 is the row at hand, level 1 the row of the query around, and so on.
/// The relation of a subquery, and the right side of a lateral join, stand one level deeper than what holds them.
/// `lower` turns HIR into the relational IR, subqueries becoming semi, anti and outer joins.
///
/// Nodes are immutable and shared. The encoding is versioned and skips fields it does not know, so that an
/// older reader of the same major version can still load what it understands.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/relation.h>
#include <freshet/expr/scalar.h>

namespace freshet::sql {

struct HirScalar;
struct HirRelation;
using HirScalarPtr = std::shared_ptr<const HirScalar>;
using HirRelationPtr = std::shared_ptr<const HirRelation>;

/// Kinds have stable numbers: they are stored.
struct HirScalar {
  enum class Kind : std::uint8_t {
    kColumn = 1,
    kLiteral = 2,
    kFailure = 3,
    kCall = 4,
    kAnd = 5,
    kOr = 6,
    kIf = 7,
    kCoalesce = 8,
    kIsNull = 9,
    kParameter = 10,
    kMzNow = 11,
    kSessionValue = 12,
    kExists = 13,          ///< `query` has a row.
    kScalarSubquery = 14,  ///< The one column of `query`'s one row, NULL if none, 21000 if more.
    /// `arguments[0]`, a boolean over a row of `query` (level 0) and the row at hand (level 1), for any
    /// row: true if one is true, else NULL if one is NULL, else false.
    kAny = 15,
  };
  Kind kind = Kind::kLiteral;
  repr::ColumnType type{};
  std::size_t level = 0;                        ///< kColumn
  std::size_t index = 0;                        ///< kColumn, kParameter
  repr::Datum value{};                          ///< kLiteral
  Error error{};                                ///< kFailure
  const expr::FunctionSpec* function = nullptr; ///< kCall
  std::string name{};                           ///< kSessionValue; kColumn: for messages, not stored
  std::vector<HirScalarPtr> arguments{};
  HirRelationPtr query{};
  int location = -1;  ///< Byte of the statement's text, while planning; not stored.
};

struct HirAggregate {
  const expr::AggregateSpec* spec = nullptr;
  std::vector<HirScalarPtr> arguments{};
  bool distinct = false;
  HirScalarPtr filter{};  ///< May be null.
  struct OrderBy {
    HirScalarPtr expression;
    bool descending = false;
    bool nulls_last = true;
  };
  std::vector<OrderBy> order_by{};
  repr::ColumnType type{};
};

enum class HirJoinKind : std::uint8_t { kInner = 1, kLeft = 2, kFull = 3 };

struct HirRelation {
  enum class Kind : std::uint8_t {
    kConstant = 1,
    kGet = 2,
    kGetLocal = 3,
    kLet = 4,     ///< inputs: value, body
    kLetRec = 5,  ///< inputs: the values, then the body
    kProject = 6,
    kMap = 7,     ///< appends `scalars`, all over the input's columns alone
    kFilter = 8,
    kFlatMap = 9, ///< appends the columns of a table function over the input's columns
    kJoin = 10,   ///< `scalars` is ON, over left ++ right
    kReduce = 11, ///< keys, then aggregates; with no keys always one row
    kDistinct = 12,
    kTopK = 13,
    kNegate = 14,
    kThreshold = 15,
    kUnion = 16,
  };
  Kind kind = Kind::kConstant;
  std::vector<repr::ColumnType> columns{};  ///< The types of its columns.
  std::vector<HirRelationPtr> inputs{};
  std::vector<HirScalarPtr> scalars{};      ///< expressions, predicates, arguments, group keys
  std::vector<repr::DatumRow> rows{};       ///< kConstant
  expr::GlobalId id{};                      ///< kGet
  std::vector<std::uint64_t> locals{};      ///< kGetLocal, kLet, kLetRec
  std::vector<std::size_t> projection{};    ///< kProject; group columns of kTopK
  std::vector<expr::ColumnOrder> order{};   ///< kTopK
  HirScalarPtr limit{};                     ///< kTopK: may be null; int8
  HirScalarPtr offset{};                    ///< kTopK: may be null; int8, a literal or parameter
  const expr::TableFunctionSpec* table_function = nullptr;
  bool with_ordinality = false;
  HirJoinKind join_kind = HirJoinKind::kInner;
  bool lateral = false;
  std::vector<HirAggregate> aggregates{};
  std::optional<std::uint64_t> recursion_limit{};
  bool return_at_limit = false;
  [[nodiscard]] std::size_t arity() const { return columns.size(); }
};

/// A query with its column names.
struct HirQuery {
  HirRelationPtr relation;
  std::vector<std::string> names;
  [[nodiscard]] repr::RelationDesc desc() const;
  /// The catalog items it reads.
  [[nodiscard]] std::set<expr::GlobalId> depends_on() const;
};

/// Every form of HIR a catalog item may hold.
std::string encode_hir(const HirQuery& query);
Result<HirQuery> decode_hir(std::string_view bytes);
/// Scalars without subqueries: column defaults and index keys.
std::string encode_hir_scalars(const std::vector<HirScalarPtr>& scalars);
Result<std::vector<HirScalarPtr>> decode_hir_scalars(std::string_view bytes);

/// The relational IR of a query. Errors: 0A000 for what cannot be decorrelated, 54001.
Result<expr::Relation> lower(const HirRelationPtr& relation);
/// A scalar without subqueries over one row.
Result<expr::Scalar> lower_scalar(const HirScalarPtr& scalar);

/// The indented tree of EXPLAIN RAW PLAN's input, for tests.
std::string to_string(const HirRelation& relation);
std::string to_string(const HirScalar& scalar);

}  // namespace freshet::sql
