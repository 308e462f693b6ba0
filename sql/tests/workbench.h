// SPDX-License-Identifier: Apache-2.0
/// A database in a test: plans statements and runs them with the naive interpreter, rows kept in memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/expr/naive.h>
#include <freshet/sql/plan.h>

namespace freshet::sql::testing {

class Workbench {
 public:
  /// What a statement answers: its rows as text, columns joined by `|`, NULL as `\N`; or its tag.
  struct Answer {
    std::vector<std::string> rows{};
    bool ordered = false;  ///< ORDER BY decides their order.
  };
  /// Runs every statement of `sql`; the answer is the last one's.
  Result<Answer> run(std::string_view sql);
  Result<Plan> plan_one(std::string_view sql) const;
  /// Small stand-ins for pg_class, pg_namespace and pg_am; pg_class is filled anew before each statement.
  void add_pg_catalog();

  MemoryCatalog catalog{};
  SessionSettings settings{};
  std::map<expr::GlobalId, expr::Multiset> contents{};

 private:
  void fill_pg_class();
  std::optional<expr::GlobalId> pg_class_{};
  Result<Answer> execute(const Statement& statement);
  Result<expr::Multiset> evaluate(const expr::Relation& relation) const;
  Result<Answer> select(const SelectPlan& plan) const;
  Result<void> apply(expr::GlobalId table, const expr::Multiset& changes, std::size_t arity, bool update, int sign);
};

}  // namespace freshet::sql::testing
