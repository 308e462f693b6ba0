// SPDX-License-Identifier: Apache-2.0
/// `PgTree`: libpg_query's syntax tree of one statement. Only the implementation of parser and planner reads it.
///
/// The tree is at most kMaxTreeDepth nodes deep, so that recursion over it is safe on an ordinary stack.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <freshet/base/result.h>

#include <pg_query/pg_query.pb-c.h>

namespace freshet::sql {

/// Expressions and queries nested deeper than this are refused with 54001.
inline constexpr int kMaxTreeDepth = 600;

class PgTree {
 public:
  /// The one statement of `sql`. Positions in errors are 1-based bytes of `sql`.
  static Result<std::shared_ptr<const PgTree>> parse(const std::string& sql);
  explicit PgTree(PgQuery__ParseResult* result) : result_(result) {}
  ~PgTree();
  PgTree(const PgTree&) = delete;
  PgTree& operator=(const PgTree&) = delete;
  /// The statement node.
  [[nodiscard]] const PgQuery__Node& root() const { return *result_->stmts[0]->stmt; }

 private:
  PgQuery__ParseResult* result_;
};

/// A repeated field as a span: `nodes(select.n_target_list, select.target_list)`.
inline std::span<PgQuery__Node* const> nodes(std::size_t count, PgQuery__Node* const* list) {
  return {list, count};
}

/// Runs `work` on a thread of its own with a stack of 256 MB and waits for it.
void run_on_big_stack(void (*work)(void*), void* argument);

}  // namespace freshet::sql
