// SPDX-License-Identifier: Apache-2.0
/// `Binder`: PostgreSQL's syntax tree to HIR: names, types, subqueries.
///
/// One binder serves one statement. Scopes form a chain: level 0 is the row at hand, each further link one
/// level out, as HIR counts them. Positions in errors are bytes plus one until `Planner` turns them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <freshet/sql/catalog_view.h>
#include <freshet/sql/plan.h>

#include "ast.h"
#include "typing.h"

namespace freshet::sql {

/// More columns than this in a table or result are refused (54011).
inline constexpr std::size_t kMaxColumns = 1600;
/// Aliases for result columns are target list entries: 1664, as in PostgreSQL.
inline constexpr std::size_t kMaxTargets = 1664;

struct ScopeColumn {
  std::string table;
  std::string name;
  repr::ColumnType type;
  std::size_t index = 0;      ///< In the relation.
  bool unqualified = true;    ///< False for the sides of a merged USING column: only `t.c` finds them.
  bool in_star = true;
  bool system = false;  ///< tableoid: no * shows it.
};
struct ScopeTable {
  std::string alias;
  std::optional<ItemName> item{};
};
struct Scope {
  std::vector<ScopeColumn> columns{};
  std::vector<ScopeTable> tables{};
};
struct Chain {
  const Scope* scope = nullptr;
  const Chain* outer = nullptr;
  bool visible = true;  ///< False: counts as a level, but its columns may not be named here.
  bool outer_join = false;  ///< Why: the join is RIGHT or FULL.
  /// Around a subquery of an expression: where the expression stands, and the aggregates of its query (null: none there).
  std::string_view clause = "FROM clause of their own query level";
  std::vector<HirAggregate>* aggregates = nullptr;
};

struct SetReturningCall {
  const expr::TableFunctionSpec* spec = nullptr;
  std::vector<HirScalarPtr> arguments{};
  repr::ColumnType type{};
};

/// Where an expression stands.
struct ExprContext {
  const Chain* chain = nullptr;
  std::string_view clause = "expression";                 ///< "WHERE", "GROUP BY": for messages.
  std::vector<HirAggregate>* aggregates = nullptr;        ///< Null: no aggregates here.
  std::vector<SetReturningCall>* set_returning = nullptr; ///< Null: no set-returning functions here.
};

/// A query, bound: `relation` has the visible columns first, then those that only ORDER BY needs.
struct BoundQuery {
  HirRelationPtr relation;
  std::vector<std::string> names{};
  std::vector<expr::ColumnOrder> order{};
  HirScalarPtr limit{};   ///< May be null; int8.
  HirScalarPtr offset{};  ///< May be null; int8.
  /// With QueryOptions::keep_unknown: `relation` is `outputs` over `input`.
  HirRelationPtr input{};
  std::vector<HirScalarPtr> outputs{};
  [[nodiscard]] std::size_t visible() const { return names.size(); }
};

struct QueryOptions {
  /// The outermost select list keeps literals and parameters of unknown type, for who knows better.
  bool keep_unknown = false;
  /// Rows of VALUES are stored into columns of these types, DEFAULT being `defaults` (INSERT).
  const std::vector<repr::SqlType>* assign_to = nullptr;
  const std::vector<std::string>* assign_names = nullptr;
  const std::vector<HirScalarPtr>* defaults = nullptr;
};

/// FROM, bound: the relation and what can be named in it.
struct BoundFrom {
  HirRelationPtr relation;
  Scope scope;
};

class Binder final : private RegNames {
 public:
  Binder(const StatementBody& body, const CatalogView& catalog, const SessionSettings& settings,
         std::vector<repr::SqlType> parameter_types);
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  Typing& typing() { return typing_; }
  [[nodiscard]] const CatalogView& catalog() const { return catalog_; }
  [[nodiscard]] const SessionSettings& settings() const { return settings_; }

  /// Asks the session's interrupt, every thousandth time.
  Result<void> go_on();

  // -- catalog_names.cc
  Result<HirScalarPtr> reg_text(const HirScalarPtr& scalar) override;

  // -- bind_query.cc
  Result<BoundQuery> query(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options = {});
  Result<BoundQuery> query_node(const PgQuery__Node* node, const Chain* outer, QueryOptions options = {});
  /// The visible columns as `types`; outputs of unknown type take theirs.
  Result<BoundQuery> cast_outputs(BoundQuery query, const std::vector<repr::SqlType>& types, CastContext context,
                                  const std::vector<std::string>* names = nullptr);
  /// `scalar` stored in a column: 42804 naming it where there is no assignment cast.
  Result<HirScalarPtr> assign(const HirScalarPtr& scalar, const repr::SqlType& type, std::string_view column);
  /// With order, limit and offset applied, and only the visible columns.
  Result<HirRelationPtr> finished(const BoundQuery& query);
  // -- bind_expr.cc
  Result<HirScalarPtr> expression(const PgQuery__Node* node, const ExprContext& context);
  /// Settled and free of columns: defaults, EXECUTE's arguments, AS OF.
  Result<HirScalarPtr> constant_expression(const PgQuery__Node* node, std::string_view clause);
  // -- bind_types.cc
  Result<repr::SqlType> type(const PgQuery__TypeName& name);
  /// Of a `SELECT NULL::t, …` tree.
  Result<std::vector<repr::SqlType>> types_of_tree(const PgTree& tree);
  // -- bind_from.cc
  Result<BoundFrom> from_clause(std::span<PgQuery__Node* const> items, const Chain* outer);
  BoundFrom table_from(const CatalogItem& item, std::string_view alias);
  Result<BoundFrom> join_pair(BoundFrom left, BoundFrom right, HirJoinKind kind, bool lateral);
  Result<void> check_aliases(const Scope& left, const Scope& right);
  // -- resolve.cc
  Result<const CatalogItem*> relation_item(const PgQuery__RangeVar& name);
  Result<const CatalogItem*> relation_item(const NameParts& name);
  /// Null if there is none; indexes too.
  const CatalogItem* find_item(const NameParts& name) const;
  /// Where CREATE puts a new item. 3F000, 3D000.
  Result<ItemName> new_item_name(const NameParts& name) const;
  Error no_such_relation(const NameParts& name) const;
  /// The items that the statement names, by the place of the name; of a `'name'::regclass`, the place of the string.
  struct NamedItem {
    ItemName name;
    bool in_string = false;
  };
  [[nodiscard]] const std::map<int, NamedItem>& named_items() const { return named_items_; }

  /// Binds `name` as a query of its own while in scope.
  struct Cte {
    std::string name;
    std::uint64_t id = 0;
    std::vector<std::string> columns{};
    std::vector<repr::ColumnType> types{};
    bool forbidden = false;     ///< WITH RECURSIVE, where the query may not name itself.
    std::size_t references = 0;
  };

  /// A select list: what it gives and what each column is called.
  struct Targets {
    std::vector<HirScalarPtr> scalars{};
    std::vector<std::string> names{};
  };
  Result<Targets> target_list(std::span<PgQuery__Node* const> list, const Scope& scope, const ExprContext& context);

 private:
  friend class FunctionBinder;
  // -- bind_query.cc, bind_select.cc, bind_with.cc, bind_setop.cc
  Result<BoundQuery> query_body(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options);
  Result<BoundQuery> select_block(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options);
  Result<BoundQuery> values(const PgQuery__SelectStmt& select, const Chain* outer, QueryOptions options);
  Result<BoundQuery> set_operation(const PgQuery__SelectStmt& select, const Chain* outer);
  Result<void> set_operands(const PgQuery__SelectStmt& select, const Chain* outer, std::vector<BoundQuery>& operands);
  Result<HirScalarPtr> value_in_row(const PgQuery__Node* node, std::size_t column, const ExprContext& context,
                                    const QueryOptions& options);
  Result<BoundQuery> combine(const PgQuery__SelectStmt& select, std::vector<BoundQuery> operands);
  Result<void> order_by_output(const PgQuery__SelectStmt& select, BoundQuery& query);
  Result<void> limit_clause(const PgQuery__SelectStmt& select, const Chain* outer, BoundQuery& query);
  Result<HirScalarPtr> row_count(const PgQuery__Node* node, const Chain& link, std::string_view clause);
  /// A call over literals becomes its value.
  Result<HirScalarPtr> fold(const HirScalarPtr& scalar);
  struct WithBindings;
  Result<WithBindings> with_clause(const PgQuery__WithClause& with, const Chain* outer);
  Result<void> plain_cte(const PgQuery__CommonTableExpr& cte, const Chain* outer, WithBindings& bindings);
  Result<void> recursive_cte(const PgQuery__CommonTableExpr& cte, const Chain* outer, WithBindings& bindings);
  Result<void> mutually_recursive(const PgQuery__WithClause& with, const Chain* outer, WithBindings& bindings);
  Result<std::vector<std::string>> cte_columns(const PgQuery__CommonTableExpr& cte, const std::vector<std::string>& own);
  static HirRelationPtr wrap(const WithBindings& bindings, HirRelationPtr body);

  // -- bind_select.cc
  struct SelectWork;
  Result<void> group_keys(const PgQuery__SelectStmt& select, SelectWork& work);
  Result<HirScalarPtr> group_key(const PgQuery__Node* node, SelectWork& work);
  Result<std::size_t> sort_key(const PgQuery__Node* node, std::string_view clause, SelectWork& work);
  Result<void> order_keys(const PgQuery__SelectStmt& select, SelectWork& work);
  Result<void> grouping(SelectWork& work);
  Result<void> expand_set_returning(SelectWork& work);
  Result<void> distinct_clause(const PgQuery__SelectStmt& select, SelectWork& work, BoundQuery& query);
  Result<expr::ColumnOrder> order_of(const PgQuery__SortBy& sort, std::size_t column);

  // -- bind_from.cc
  Result<BoundFrom> from_item(const PgQuery__Node* item, const Chain* chain, const Chain* base);
  void add_tableoid(BoundFrom& from, std::uint32_t oid);
  Result<BoundFrom> range_var(const PgQuery__RangeVar& range);
  Result<BoundFrom> range_subselect(const PgQuery__RangeSubselect& range, const Chain* chain, const Chain* base);
  Result<BoundFrom> range_function(const PgQuery__RangeFunction& range, const Chain* chain);
  Result<BoundFrom> function_in_from(const PgQuery__FuncCall& call, const PgQuery__RangeFunction& range,
                                     const Chain* chain);
  Result<BoundFrom> join_expr(const PgQuery__JoinExpr& join, const Chain* chain, const Chain* base);
  Result<void> merge_columns(BoundFrom& joined, const std::vector<std::pair<ScopeColumn, ScopeColumn>>& merged,
                             bool from_right, bool full);
  Result<void> apply_alias(BoundFrom& from, const PgQuery__Alias* alias, std::string_view default_alias);

  // -- bind_expr.cc and its parts
  Result<HirScalarPtr> column_ref(const PgQuery__ColumnRef& ref, const ExprContext& context);
  Result<HirScalarPtr> find_column(const std::vector<std::string>& parts, const ExprContext& context, int location);
  Error no_such_column(const std::vector<std::string>& parts, const ExprContext& context, int location);
  Result<HirScalarPtr> constant(const PgQuery__AConst& constant);
  Result<HirScalarPtr> operator_expr(const PgQuery__AExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> simple_operator(const PgQuery__AExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> in_list(const PgQuery__AExpr& expr, const ExprContext& context);
  Result<std::optional<repr::SqlType>> unify_items(const HirScalarPtr& left, std::vector<HirScalarPtr>& items);
  Result<HirScalarPtr> between(const PgQuery__AExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> pattern(const PgQuery__AExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> distinct_from(const PgQuery__AExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> null_if(const PgQuery__AExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> row_comparison(std::string_view op, const std::vector<HirScalarPtr>& left,
                                      const std::vector<HirScalarPtr>& right, int location);
  Result<std::vector<HirScalarPtr>> row(const PgQuery__Node* node, const ExprContext& context);
  Result<HirScalarPtr> bool_expr(const PgQuery__BoolExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> case_expr(const PgQuery__CaseExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> min_max(const PgQuery__MinMaxExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> coalesce(const PgQuery__CoalesceExpr& expr, const ExprContext& context);
  Result<HirScalarPtr> boolean_test(const PgQuery__BooleanTest& test, const ExprContext& context);
  Result<HirScalarPtr> null_test(const PgQuery__NullTest& test, const ExprContext& context);
  Result<HirScalarPtr> type_cast(const PgQuery__TypeCast& cast, const ExprContext& context);
  Result<HirScalarPtr> reg_cast(const HirScalarPtr& argument, const repr::SqlType& target, int location) override;
  Result<HirScalarPtr> array_expr(const PgQuery__AArrayExpr& array, const ExprContext& context,
                                  std::optional<repr::SqlType> type);
  Result<HirScalarPtr> indirection(const PgQuery__AIndirection& node, const ExprContext& context);
  Result<HirScalarPtr> sub_link(const PgQuery__SubLink& link, const ExprContext& context);
  /// The query of `link`, whose outer row is that of `context`.
  Result<BoundQuery> inner_query(const PgQuery__SubLink& link, const ExprContext& context);
  Result<HirScalarPtr> quantified_subquery(const PgQuery__SubLink& link, const ExprContext& context);
  Result<HirScalarPtr> value_function(const PgQuery__SQLValueFunction& function);
  Result<std::vector<HirScalarPtr>> expressions(std::span<PgQuery__Node* const> list, const ExprContext& context);

  // -- bind_function.cc, bind_aggregate.cc, catalog_functions.cc
  Result<HirScalarPtr> func_call(const PgQuery__FuncCall& call, const ExprContext& context);
  Result<HirScalarPtr> aggregate(const PgQuery__FuncCall& call, const std::string& name, const ExprContext& context);
  Result<HirAggregate> aggregate_call(const PgQuery__FuncCall& call, const std::string& name, const ExprContext& inside);
  Result<HirScalarPtr> place_aggregate(HirAggregate aggregate, const ExprContext& context, int location);
  Result<void> choose_aggregate(std::span<const expr::AggregateSpec* const> specs, const std::string& name,
                                std::vector<HirScalarPtr>& arguments, int location, HirAggregate& aggregate);
  Result<HirScalarPtr> set_returning(const PgQuery__FuncCall& call, const std::string& name,
                                     std::vector<HirScalarPtr> arguments, const ExprContext& context);
  Result<std::pair<const expr::TableFunctionSpec*, std::vector<HirScalarPtr>>> table_function(
      std::string_view name, std::vector<HirScalarPtr> arguments, int location);
  Result<HirScalarPtr> similar_pattern(const std::vector<HirScalarPtr>& arguments, int location);
  HirScalarPtr session_function(std::string_view name, const std::vector<HirScalarPtr>& arguments);
  HirScalarPtr type_text(const HirScalarPtr& oid, const HirScalarPtr& modifier);
  Result<HirScalarPtr> current_setting(const std::vector<HirScalarPtr>& arguments, int location);
  // -- catalog_names.cc
  /// The `column` of the row of `table` whose first column is `key`.
  static HirScalarPtr look_up(HirRelationPtr table, const HirScalarPtr& key, std::size_t column);
  /// What a text names, NULL if nothing; looked up when the statement runs.
  Result<HirScalarPtr> reg_of_name(const HirScalarPtr& text, const repr::SqlType& type, int location);
  /// to_regclass and its like.
  Result<HirScalarPtr> to_reg(const HirScalarPtr& text, const repr::SqlType& type, int location);
  static std::optional<repr::TypeKind> reg_function(std::string_view name);
  static HirScalarPtr function_text(const HirScalarPtr& oid, bool result);
  HirScalarPtr index_column(const HirScalarPtr& index, const HirScalarPtr& number);
  /// Null if `name` is none of them.
  Result<HirScalarPtr> catalog_function(std::string_view name, const std::vector<HirScalarPtr>& arguments, int location);

  const StatementBody& body_;
  const CatalogView& catalog_;
  const SessionSettings& settings_;
  Typing typing_;
  std::vector<Cte> ctes_{};
  std::uint64_t next_local_ = 1;
  std::map<int, NamedItem> named_items_{};
  std::uint64_t steps_ = 0;
};

/// The last part of a possibly qualified name list, and whether the schema (if any) is a system one.
std::vector<std::string> name_list(std::span<PgQuery__Node* const> list);
/// The column name PostgreSQL would choose for an expression.
std::string column_name_for(const PgQuery__Node* node);
Error unsupported(std::string what, int location);
/// Damerau-Levenshtein-less: plain edit distance, for hints.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// `t.c` or `c`, quoted where it must be.
std::string quote_identifier(std::string_view name);

}  // namespace freshet::sql
