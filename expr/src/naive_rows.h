// SPDX-License-Identifier: Apache-2.0
/// What the naive interpreter computes with: decoded multisets, and the operators that are built from others.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <freshet/expr/eval.h>
#include <freshet/expr/naive.h>
#include <freshet/repr/row.h>

namespace freshet::expr::naive {

using repr::ColumnType;
using repr::Datum;
using repr::DatumRow;
using repr::Diff;
using Types = std::vector<ColumnType>;

struct CountedRow {
  DatumRow row;
  Diff diff = 0;
};

/// A multiset in canonical order, keyed by encoded rows; counts are never 0.
struct Rows {
  Types types;
  std::map<std::string, CountedRow> oks{};
  std::map<std::string, ErrorRow> errs{};
};
using RowsPtr = std::shared_ptr<const Rows>;

/// Collects rows into `Rows`, cancelling as they come.
class Collector {
 public:
  explicit Collector(Types types);
  void add(DatumRow row, Diff diff);
  void add_error(ErrorRow row);
  void add_all(const Rows& rows);
  [[nodiscard]] const Types& types() const { return rows_.types; }
  [[nodiscard]] std::size_t size() const { return rows_.oks.size(); }
  RowsPtr finish();

 private:
  repr::RowCodec codec_;
  Rows rows_;
};

repr::RowCodec codec_of(std::span<const ColumnType> types);

/// The oks of a multiset as a list, and as columns for vectorised evaluation.
class Batch {
 public:
  explicit Batch(const Rows& rows);
  Batch(std::vector<CountedRow> rows, std::span<const ColumnType> types);
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const CountedRow& operator[](std::size_t i) const { return rows_[i]; }
  [[nodiscard]] std::span<const CountedRow> rows() const { return rows_; }
  [[nodiscard]] std::vector<repr::ColumnPtr>& columns() { return columns_; }
  [[nodiscard]] Evaluated evaluate(const Scalar& scalar) const;

 private:
  std::vector<CountedRow> rows_;
  std::vector<repr::ColumnPtr> columns_;
};

/// A limit on sizes that all operators watch.
struct Budget {
  std::size_t max_rows;
  [[nodiscard]] Result<void> check(std::size_t rows) const;
};

Types concatenated(std::span<const Types> parts);
DatumRow concatenated(const DatumRow& a, const DatumRow& b);
std::vector<Scalar> all_columns(std::span<const ColumnType> types);

/// The predicates with every AND taken apart: each conjunct is judged for itself, by error rows above all.
std::vector<Scalar> conjuncts(std::span<const Scalar> predicates);
/// Filters by predicates without mz_now(), then by `temporal` ones in which it was substituted.
RowsPtr filter(const Rows& input, std::span<const Scalar> plain, std::span<const Scalar> temporal);
RowsPtr project(const Rows& input, std::span<const std::size_t> columns);
/// Appends NULLs of `types` behind the columns, or before them.
RowsPtr pad(const Rows& input, const Types& types, bool behind);
Result<RowsPtr> join(std::span<const RowsPtr> inputs, std::span<const std::vector<Scalar>> equivalences,
                     const Budget& budget);
Result<RowsPtr> match(MatchKind kind, const RowsPtr& left, const RowsPtr& right, std::span<const Scalar> on,
                      const Budget& budget);
/// What a distinct inside a recursion remembers of the iterations before, by the canonical bytes of keys.
struct FirstForms {
  std::uint64_t iteration = 0;
  std::map<std::string, Diff> counts{};           ///< In the iteration before.
  std::map<std::string, std::uint64_t> first{};   ///< When the count first rose.
};
/// With `forms`, groups show the form that came first.
RowsPtr reduce(const Rows& input, std::span<const Scalar> group_key, std::span<const Aggregate> aggregates,
               Types types, FirstForms* forms = nullptr);
RowsPtr top_k(const Rows& input, const Relation::TopK& node);

/// An aggregate over the rows of a group that count: (arguments ++ order columns), already filtered.
Result<Datum> aggregate_rows(const Aggregate& aggregate, std::span<const CountedRow> rows);

}  // namespace freshet::expr::naive
