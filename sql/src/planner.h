// SPDX-License-Identifier: Apache-2.0
/// `Planner`: one statement to a plan. Each kind of statement has a method; errors get their positions in
/// characters at the very end, in `plan`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <freshet/sql/plan.h>

#include "ast.h"
#include "binder.h"

namespace freshet::sql {

class Planner {
 public:
  Planner(const Statement& statement, const CatalogView& catalog, const SessionSettings& settings,
          std::vector<repr::SqlType> parameter_types);
  Result<Plan> run();

 private:
  Result<Plan::Node> dispatch();
  // plan_select.cc
  Result<Plan::Node> select();
  Result<SelectPlan> select_plan(const BoundQuery& query);
  Result<BoundQuery> names_for_numbers(BoundQuery query);
  Result<Plan::Node> subscribe();
  Result<std::optional<AsOf>> as_of(const std::optional<TimeClause>& clause);
  Result<expr::Scalar> time_scalar(const TimeClause& clause, std::string_view what);
  Result<Plan::Node> explain();
  Result<Plan::Node> declare();
  Result<Plan::Node> copy();
  Result<Plan::Node> copy_to(const PgQuery__CopyStmt& copy, const CopySyntax& syntax);
  Result<Plan::Node> copy_from(const PgQuery__CopyStmt& copy);
  Result<CopyOptions> copy_options(const PgQuery__CopyStmt& copy, const repr::RelationDesc& desc);
  Result<Plan> nested(const Statement& statement);

  // plan_dml.cc
  Result<Plan::Node> insert();
  Result<Plan::Node> update();
  Result<Plan::Node> remove();
  Result<const CatalogItem*> writable_table(const PgQuery__RangeVar& range, std::string_view verb);
  Result<std::vector<std::size_t>> insert_columns(const CatalogItem& table, std::span<PgQuery__Node* const> list);
  Result<std::optional<Returning>> returning(const CatalogItem& table, const Scope& scope,
                                             std::span<PgQuery__Node* const> list);
  Result<std::vector<HirScalarPtr>> set_clauses(const PgQuery__UpdateStmt& stmt, const CatalogItem& table,
                                                const ExprContext& context);
  /// Columns of `relation` stand for those of the table: NOT NULL columns fail with 23502.
  HirRelationPtr check_not_null(const CatalogItem& table, HirRelationPtr relation, std::size_t first);
  HirScalarPtr not_null(const CatalogItem& table, std::size_t column, HirScalarPtr value);

  // plan_ddl.cc
  Result<Plan::Node> create_namespace();
  Result<Plan::Node> create_table();
  Result<void> table_column(const PgQuery__ColumnDef& column, CreateTablePlan& plan);
  Result<Plan::Node> create_view(bool materialized);
  Result<Plan::Node> create_index();
  Result<Plan::Node> create_default_index(const CreateDefaultIndexSyntax& syntax);
  Result<Plan::Node> finish_index(const CatalogItem& on, std::optional<std::string> name, bool if_not_exists,
                                  std::vector<HirScalarPtr> key, std::vector<std::string> key_texts,
                                  const std::string& suffix);
  std::string full_query_text(const std::string& database);
  std::string index_key_text(const std::vector<std::string>& key_texts);
  Result<Plan::Node> create_source();
  Result<std::optional<std::uint64_t>> retain_history(const std::vector<OptionItem>& options);
  Result<std::uint64_t> interval_micros(const std::string& text, std::string_view what, int location);
  /// 42P07, or a notice if it is there already and that is fine.
  Result<void> exists_already(const ItemName& name, bool if_not_exists);
  NameParts name_of(const PgQuery__RangeVar& range);

  // plan_drop.cc
  Result<Plan::Node> drop();
  Result<Plan::Node> drop_schema(const DropSyntax& syntax);
  Result<Plan::Node> drop_database(const DropSyntax& syntax);
  struct DropWork {
    std::vector<expr::GlobalId> named{};     ///< What the statement names.
    std::vector<expr::GlobalId> ids{};       ///< What goes, dependents first.
    std::vector<expr::GlobalId> visiting{};
    std::vector<std::string> blockers{};     ///< "view b depends on view a"
    std::vector<std::string> cascaded{};
  };
  Result<void> collect_dependents(expr::GlobalId id, DropWork& work);
  Result<void> settle_drop(DropWork& work, bool cascade, const std::string& what);

  // plan_show.cc
  Result<Plan::Node> show_objects();
  Result<Plan::Node> constant_rows(std::vector<std::string> names, std::vector<repr::DatumRow> rows,
                                   const ShowObjectsSyntax& syntax);
  Result<Plan::Node> show_create(const ShowObjectsSyntax& syntax);

  // plan_session.cc
  Result<Plan::Node> set_variable();
  Result<Plan::Node> show_variable();
  Result<Plan::Node> transaction();
  Result<Plan::Node> prepare();
  Result<Plan::Node> execute();
  Result<Plan::Node> deallocate();
  Result<Plan::Node> fetch();
  Result<Plan::Node> close();
  Result<Plan::Node> discard();
  Result<TransactionModes> modes(std::span<PgQuery__Node* const> options);

  const Statement& statement_;
  const StatementBody& body_;
  const CatalogView& catalog_;
  const SessionSettings& settings_;
  Binder binder_;
  std::vector<std::string> notices_{};
};

/// The text of a constant of the syntax tree: a string, number or word.
std::string constant_text(const PgQuery__Node& node);
repr::RelationDesc text_desc(std::vector<std::string> names);

}  // namespace freshet::sql
