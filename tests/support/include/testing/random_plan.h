// SPDX-License-Identifier: Apache-2.0
/// Random schemas, plans and histories: the input of the property that a maintained result equals recomputation.
///
/// Domains are small and full of NULLs, so that joins meet, groups have several rows, and rows repeat; zeros make
/// divisions fail. Everything is a function of the generator's seed.
///
///     Random random = seeded_random(round);
///     RandomSchema schema = random_schema(random, {});
///     Relation plan = random_relation(random, schema, {});
///     History history = random_history(random, schema, {});
///     auto inputs = history.content_at(schema, history.times.back());
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <freshet/expr/error_row.h>
#include <freshet/expr/naive.h>
#include <freshet/expr/relation.h>
#include <freshet/repr/time.h>
#include <testing/random.h>

namespace testing {

using freshet::expr::GlobalId;
using freshet::expr::Multiset;
using freshet::expr::Relation;
using freshet::repr::SqlTime;

struct PlanOptions {
  bool failing_scalars = true;   ///< Division, overflow.
  bool input_errors = true;      ///< Collections may hold error rows.
  bool recursion = true;
  bool negative_counts = true;   ///< Negations that reach a reduce, top-k or threshold.
  std::size_t max_depth = 5;
  std::size_t max_collections = 3;
  std::size_t max_times = 6;     ///< How many times a history has.
};

struct RandomSchema {
  std::map<GlobalId, freshet::repr::RelationDesc> collections{};
};
RandomSchema random_schema(Random& random, const PlanOptions& options);

/// Unoptimised; reads only collections of the schema. No temporal filters, parameters or session values.
Relation random_relation(Random& random, const RandomSchema& schema, const PlanOptions& options);

struct Change {
  GlobalId collection;
  SqlTime time = 0;
  std::int64_t diff = 0;
  freshet::repr::DatumRow row{};                     ///< Unless it is an error.
  std::optional<freshet::expr::ErrorRow> error{};
};

/// Changes in order of time. Accumulated up to any of `times`, no count is negative and declared keys are
/// unique; within a time, opposite changes may stand in either order.
struct History {
  std::vector<SqlTime> times{};  ///< Ascending.
  std::vector<Change> changes{};
  [[nodiscard]] std::map<GlobalId, Multiset> content_at(const RandomSchema& schema, SqlTime time) const;
};
History random_history(Random& random, const RandomSchema& schema, const PlanOptions& options);

/// How often each kind of node, join, aggregate and error path occurred.
struct PlanCoverage {
  std::map<std::string, std::uint64_t> counts{};
  void add(const Relation& relation);
  void add_outcome(const Multiset& result);  ///< "non-empty", "empty", "with errors"
};

/// Rule (a) of error handling: nothing if `optimized` is right where `naive` is the unoptimised result; else
/// what is wrong. Rows in the scope of an error of `naive` may differ, errors may be missing or have a smaller
/// scope, and nothing else.
std::optional<std::string> compare_by_error_rule(const Multiset& naive, const Multiset& optimized,
                                                 const std::vector<freshet::repr::ColumnType>& types);
/// Rows and error rows as text, for messages.
std::string describe(const Multiset& multiset, const std::vector<freshet::repr::ColumnType>& types);

}  // namespace testing
