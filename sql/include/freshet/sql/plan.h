// SPDX-License-Identifier: Apache-2.0
/// Planning: a statement against a catalog snapshot gives a `Plan`, which an adapter carries out.
///
/// The relations of a plan are unoptimised IR. They may hold parameters, session values (now(), …) and
/// mz_now(); `bind_plan` substitutes what is fixed before execution. Names in a plan are fully qualified;
/// ids are those of the snapshot, so a plan must be made anew when an object it uses changed.
///
/// Errors: PostgreSQL's SQLSTATE and sense of message, with position where PostgreSQL gives one. 0A000 names
/// what is not supported.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <freshet/expr/relation.h>
#include <freshet/repr/types.h>
#include <freshet/sql/catalog_view.h>
#include <freshet/sql/hir.h>
#include <freshet/sql/parse.h>

namespace freshet::sql {

/// What is done to the rows of a relation before they are shown: order, then offset and limit, then project.
/// Ties are broken by canonical row order over all columns of the relation.
struct Finishing {
  std::vector<expr::ColumnOrder> order_by{};
  /// Constants over parameters, int8; NULL is no limit. Resolved by `resolve_limits`.
  std::optional<expr::Scalar> limit{};
  std::optional<expr::Scalar> offset{};
  std::vector<std::size_t> project{};  ///< The columns shown.
  [[nodiscard]] bool is_trivial(std::size_t arity) const;
};
struct Limits {
  std::optional<std::uint64_t> limit{};
  std::uint64_t offset = 0;
};
/// After `bind_plan`. 2201W, 2201X if negative.
Result<Limits> resolve_limits(const Finishing& finishing);

/// AS OF t, AS OF AT LEAST t: a constant; mz_timestamp milliseconds as numeric, or a timestamptz.
struct AsOf {
  expr::Scalar time;
  bool at_least = false;
};

struct SelectPlan {
  expr::Relation relation;
  Finishing finishing{};
  repr::RelationDesc desc{};  ///< After the finishing.
  std::optional<AsOf> as_of{};
};

struct SubscribePlan {
  /// An object by itself (so that its arrangement serves), or a query.
  std::variant<expr::GlobalId, expr::Relation> from;
  repr::RelationDesc desc{};         ///< Of the rows themselves.
  repr::RelationDesc output_desc{};  ///< mz_timestamp, [mz_progressed,] mz_diff, then the row's columns.
  bool snapshot = true;
  bool progress = false;
  std::optional<AsOf> as_of{};
  std::optional<expr::Scalar> up_to{};
};

/// RETURNING: scalars over the table's columns.
struct Returning {
  std::vector<expr::Scalar> expressions{};
  repr::RelationDesc desc{};
};

/// `rows` has the table's columns, cast, defaults and NOT NULL checks (23502) included.
struct InsertPlan {
  expr::GlobalId table;
  expr::Relation rows;
  std::optional<Returning> returning{};
};
/// `changes` has the table's columns before, then after: each row (old, new) with count d is d times
/// old taken out and new put in.
struct UpdatePlan {
  expr::GlobalId table;
  expr::Relation changes;
  std::optional<Returning> returning{};  ///< Over the new rows.
};
/// `rows` are the rows to take out.
struct DeletePlan {
  expr::GlobalId table;
  expr::Relation rows;
  std::optional<Returning> returning{};
};

struct CopyOptions {
  enum class Format : std::uint8_t { kText, kCsv, kBinary };
  Format format = Format::kText;
  char delimiter = '\t';
  std::string null_text = "\\N";
  char quote = '"';
  char escape = '"';
  bool header = false;
  bool header_match = false;             ///< HEADER MATCH: the names must agree.
  std::vector<std::size_t> force_quote{};///< Columns always quoted (TO, csv).
  bool force_quote_all = false;
  std::vector<std::size_t> force_null{};     ///< FROM, csv.
  std::vector<std::size_t> force_not_null{}; ///< FROM, csv.
};
/// COPY t (c, …) FROM STDIN. A row read has `columns`' types; `row` makes a row of the table of it.
struct CopyFromPlan {
  expr::GlobalId table;
  std::vector<std::size_t> columns{};        ///< Positions in the table, in the order of the data.
  repr::RelationDesc desc{};                 ///< Of the data.
  std::vector<expr::Scalar> row{};           ///< Over the data: every column of the table; 23502 on NULL.
  bool row_is_identity = false;              ///< `row` is #0, #1, … with nothing to check.
  CopyOptions options{};
};
struct CopyToPlan {
  std::variant<SelectPlan, SubscribePlan> source;
  CopyOptions options{};
};

struct CreateDatabasePlan {
  std::string name;
  bool if_not_exists = false;
};
struct CreateSchemaPlan {
  std::string database;
  std::string name;
  bool if_not_exists = false;
};
struct CreateTablePlan {
  ItemName name;
  bool if_not_exists = false;
  repr::RelationDesc desc{};
  std::vector<HirScalarPtr> defaults{};  ///< One per column, null where there is none.
  std::vector<std::string> default_texts{};  ///< The same as SQL text, for pg_attrdef.
  std::optional<std::uint64_t> retain_history_micros{};
  std::string create_sql{};
};
struct CreateViewPlan {
  ItemName name;
  bool materialized = false;
  bool if_not_exists = false;
  bool or_replace = false;
  HirQuery query;
  expr::Relation relation;            ///< `lower(query.relation)`
  repr::RelationDesc desc{};
  std::set<expr::GlobalId> depends_on{};
  std::optional<std::uint64_t> retain_history_micros{};
  std::string query_sql{};            ///< The query's text, as pg_get_viewdef shows it.
  std::string create_sql{};
};
struct CreateIndexPlan {
  ItemName name;                      ///< Of the object's database and schema; a free name if none was given.
  bool if_not_exists = false;
  expr::GlobalId on;
  std::vector<HirScalarPtr> key_hir{};
  std::vector<expr::Scalar> key{};
  std::optional<std::uint64_t> retain_history_micros{};
  std::string create_sql{};           ///< As SHOW CREATE and pg_get_indexdef show it.
};
/// CREATE SOURCE … FROM LOAD GENERATOR. Which outputs the generator has, the storage layer knows.
struct CreateSourcePlan {
  ItemName name;
  bool if_not_exists = false;
  enum class Generator : std::uint8_t { kCounter, kTpch };
  Generator generator = Generator::kCounter;
  double scale_factor = 0.01;
  std::optional<std::uint64_t> tick_micros{};  ///< TICK INTERVAL; 0 is no ticks.
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> max_cardinality{};
  /// FOR ALL TABLES: empty and `all_tables`. FOR TABLES (a [AS b], …): outputs and the names they get.
  bool all_tables = false;
  std::vector<std::pair<std::string, ItemName>> tables{};
  std::optional<std::uint64_t> retain_history_micros{};
  std::string create_sql{};
};

/// In the order in which they may be dropped: dependents first.
struct DropItemsPlan {
  ItemKind kind = ItemKind::kTable;
  std::vector<expr::GlobalId> ids{};
};
struct DropSchemaPlan {
  std::string database;
  std::vector<std::string> schemas{};
  std::vector<expr::GlobalId> ids{};   ///< What was in them, dependents first.
};
struct DropDatabasePlan {
  std::optional<std::string> database{};  ///< None: did not exist, IF EXISTS.
  std::vector<expr::GlobalId> ids{};
};

struct Plan;

struct ExplainPlan {
  enum class Stage : std::uint8_t { kRaw, kOptimized, kPhysical, kTimestamp };
  Stage stage = Stage::kPhysical;
  /// What is explained: a SelectPlan, SubscribePlan or CreateViewPlan; or the item, or an index, itself.
  std::shared_ptr<const Plan> inner{};
  std::optional<expr::GlobalId> item{};
  bool analyze = false;
  bool json = false;
  repr::RelationDesc desc{};
};

struct SetVariablePlan {
  std::string name;  ///< Lower case: "search_path", "timezone", "transaction_isolation".
  std::optional<std::vector<std::string>> values{};  ///< None: SET … TO DEFAULT, RESET.
  bool local = false;
};
struct ResetAllPlan {};
struct ShowVariablePlan {
  std::string name;  ///< "all" for SHOW ALL
  repr::RelationDesc desc{};
};

enum class IsolationLevel : std::uint8_t {
  kReadUncommitted, kReadCommitted, kRepeatableRead, kSerializable, kStrictSerializable
};
struct TransactionModes {
  std::optional<IsolationLevel> isolation{};
  std::optional<bool> read_only{};
};
struct BeginPlan {
  TransactionModes modes{};
};
/// SET TRANSACTION, SET SESSION CHARACTERISTICS AS TRANSACTION.
struct SetTransactionPlan {
  TransactionModes modes{};
  bool session = false;
};
struct CommitPlan {
  bool chain = false;
};
struct RollbackPlan {
  bool chain = false;
};
/// SAVEPOINT, RELEASE, ROLLBACK TO.
struct SavepointPlan {
  enum class What : std::uint8_t { kSet, kRelease, kRollbackTo };
  What what = What::kSet;
  std::string name;
};
/// UNLISTEN: there is no LISTEN, so nothing to do.
struct UnlistenPlan {};

struct PreparePlan {
  std::string name;
  Statement statement;
  /// Declared types; kUnknown where left to inference.
  std::vector<repr::SqlType> parameter_types{};
};
/// The arguments are constants; the adapter casts them (`assignment_cast`) to the statement's types.
struct ExecutePlan {
  std::string name;
  std::vector<expr::Scalar> arguments{};
};
struct DeallocatePlan {
  std::optional<std::string> name{};  ///< None: ALL.
};
struct DeclarePlan {
  std::string name;
  std::shared_ptr<const Plan> query{};  ///< SelectPlan or SubscribePlan.
  bool hold = false;
};
struct FetchPlan {
  std::string name;
  std::optional<std::uint64_t> count = 1;  ///< None: ALL.
  std::optional<std::uint64_t> timeout_micros{};
  bool move = false;
};
struct ClosePlan {
  std::optional<std::string> name{};  ///< None: ALL.
};
struct DiscardPlan {
  enum class What : std::uint8_t { kAll, kPlans, kSequences, kTemp };
  What what = What::kAll;
};

struct Plan {
  using Node =
      std::variant<SelectPlan, SubscribePlan, InsertPlan, UpdatePlan, DeletePlan, CopyFromPlan, CopyToPlan,
                   CreateDatabasePlan, CreateSchemaPlan, CreateTablePlan, CreateViewPlan, CreateIndexPlan,
                   CreateSourcePlan, DropItemsPlan, DropSchemaPlan, DropDatabasePlan, ExplainPlan,
                   SetVariablePlan, ResetAllPlan, ShowVariablePlan, BeginPlan, SetTransactionPlan, CommitPlan,
                   RollbackPlan, SavepointPlan, UnlistenPlan, PreparePlan, ExecutePlan, DeallocatePlan, DeclarePlan, FetchPlan,
                   ClosePlan, DiscardPlan>;
  Node node;
  /// The type of $1, $2, …
  std::vector<repr::SqlType> parameter_types{};
  /// NOTICEs that planning gave rise to: `view "x" does not exist, skipping`, `drop cascades to view y`.
  std::vector<std::string> notices{};

  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&node);
  }
  /// The columns of its rows, known before execution; null if it returns none. (EXECUTE and FETCH
  /// have those of the statement or cursor they name.)
  [[nodiscard]] const repr::RelationDesc* result_desc() const;
};

/// `parameter_types`: those that the client declared, kUnknown where it left them open.
Result<Plan> plan(const Statement& statement, const CatalogView& catalog, const SessionSettings& settings,
                  std::vector<repr::SqlType> parameter_types = {});

/// What is known only when a plan is executed.
struct Bindings {
  std::span<const repr::Datum> parameters{};
  /// The value of a session value by name (see docs/sql.md), or nullopt to leave it in place.
  std::function<std::optional<repr::Datum>(const std::string& name)> session_value{};
  /// The value of mz_now() (numeric milliseconds), or nullopt to leave it in place.
  std::optional<repr::Datum> mz_now{};
};
expr::Scalar bind_scalar(const expr::Scalar& scalar, const Bindings& bindings);
expr::Relation bind_relation(const expr::Relation& relation, const Bindings& bindings);
/// Substitutes in every relation and scalar of the plan.
Plan bind_plan(const Plan& plan, const Bindings& bindings);

/// Converts a constant for storage into `type`, as INSERT does. 42804 if there is no assignment cast.
Result<expr::Scalar> assignment_cast(const expr::Scalar& scalar, const repr::SqlType& type,
                                     std::string_view column);

/// True if the relation contains session values or mz_now(), which views that are kept may not hold
/// (mz_now() in temporal filters excepted).
bool has_session_values(const expr::Relation& relation);

}  // namespace freshet::sql
