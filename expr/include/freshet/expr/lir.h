// SPDX-License-Identifier: Apache-2.0
/// LIR: the physical plan of one collection; each node says which operators to build.
///
/// An *arrangement* of a collection by a key is laid out by `ArrangementLayout`: the arranged key bytes hold
/// the key expressions' key bytes, the value bytes a row of the columns that the key cannot give back. A
/// node's result is a stream, or arrangements, or both; `Get` and `ArrangeBy` say which arrangements exist.
/// Joins and matches name the arrangement of each input by its key, which must be there: that input is an
/// `ArrangeBy` with the key, or a `Get` with the key, no seek and an identity mfp, which passes it on.
/// Arrangements of an outer scope may enter the values of a LetRec; none leaves them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <freshet/expr/mfp.h>
#include <freshet/expr/relation.h>

namespace freshet::expr {

using ArrangementKey = std::vector<Scalar>;

/// Where the columns of an arranged collection lie. Derived from (types, key) alone, so that every user of an
/// arrangement agrees: a column that is itself a key expression and whose type has no forms is read
/// from the key; all others stand in the value in column order.
struct ArrangementLayout {
  ArrangementKey key;
  std::vector<repr::ColumnType> key_types;
  std::vector<std::size_t> value_columns;  ///< Columns of the collection stored in the value, ascending.
  std::vector<repr::ColumnType> value_types;
  struct Source {
    bool in_key;
    std::size_t position;
  };
  std::vector<Source> columns;  ///< For each column of the collection.
};
ArrangementLayout arrangement_layout(const std::vector<repr::ColumnType>& types, const ArrangementKey& key);

class Lir;
using LirPtr = std::shared_ptr<const Lir>;

/// Reads one input of a join through its arrangement.
struct JoinStage {
  std::size_t input;             ///< Which input is joined in.
  ArrangementKey lookup_key;     ///< Key of that input's arrangement, over its own columns.
  ArrangementKey stream_key;     ///< The equal expressions over the columns joined so far.
  Mfp after;                     ///< From (joined so far ++ input's columns) to the next "joined so far".
};
/// Joins the inputs one after another, arranging each intermediate result.
struct LinearJoin {
  std::size_t source;                   ///< The input it starts from.
  std::optional<ArrangementKey> source_key{};  ///< Its arrangement to stream from, if it is arranged.
  Mfp initial;                          ///< Over the source's columns.
  std::vector<JoinStage> stages;
};
/// One path per input; each looks its updates up in the others' arrangements. No intermediate arrangement.
struct DeltaJoin {
  struct Path {
    std::size_t source;
    ArrangementKey source_key;
    Mfp initial;
    std::vector<JoinStage> stages;
  };
  std::vector<Path> paths;  ///< paths[i].source == i
};

/// How the aggregates of a Reduce are computed. All parts are keyed alike; output columns are put together in
/// the order of the Reduce's aggregates.
struct ReducePlan {
  /// Sums and counts kept in the diff: `accumulable[i]` indexes the aggregates. Distinct ones pass a distinct first.
  std::vector<std::size_t> accumulable{};
  /// Min and max: first or last of an arrangement ordered by value.
  std::vector<std::size_t> extrema{};
  /// Whole group in order.
  std::vector<std::size_t> ordered{};
  [[nodiscard]] bool is_distinct() const { return accumulable.empty() && extrema.empty() && ordered.empty(); }
};

class Lir {
 public:
  struct Constant {
    std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
    std::optional<Error> error{};
  };
  /// Reads an import or a local. With a key: through that arrangement (and `seek`: only these key values).
  struct Get {
    std::variant<GlobalId, LocalId> id;
    std::optional<ArrangementKey> key{};
    std::optional<std::vector<repr::DatumRow>> seek{};  ///< Absent: all keys. Of the key's types, no NULLs.
    Mfp mfp;
  };
  struct Let {
    LocalId id;
    LirPtr value, body;
  };
  struct LetRec {
    std::vector<LocalId> ids;
    std::vector<LirPtr> values;
    LirPtr body;
    std::optional<std::uint64_t> limit{};
    bool return_at_limit = false;
  };
  struct MapFilterProject {
    LirPtr input;
    Mfp mfp;
  };
  struct FlatMap {
    LirPtr input;
    const TableFunctionSpec* function;
    std::vector<Scalar> arguments;
    bool with_ordinality;
    Mfp after;
  };
  struct Join {
    std::vector<LirPtr> inputs;
    std::variant<LinearJoin, DeltaJoin> plan;
    /// For error rows, which skip the plan: an error row of an input goes through `join_error` over the inputs'
    /// columns side by side, then through `closure`, which makes the output's columns of them.
    std::vector<std::vector<Scalar>> equivalences;
    Mfp closure;
  };
  /// Semi, anti, left and full joins on equal keys (no residual predicate: lowering removes it). Both inputs
  /// are arranged by their key; NULL keys match nothing. Error rows: `match_left_error`, `match_right_error`.
  struct Match {
    MatchKind kind;
    LirPtr left, right;
    ArrangementKey left_key, right_key;
    Mfp after;
  };
  /// A row that fails in `key_and_values` does not count in its group, which gets the error.
  struct Reduce {
    LirPtr input;
    Mfp key_and_values;  ///< Input row to (group key columns ++ aggregate argument columns …).
    std::size_t key_arity;
    /// Over the output columns of key_and_values: arguments, filters and order are bare columns. `order_by`
    /// columns hold NULL, as do arguments, where the filter is not true.
    std::vector<Aggregate> aggregates;
    ReducePlan plan;
    Mfp after;
  };
  struct TopK {
    LirPtr input;
    std::vector<std::size_t> group_key;
    std::vector<ColumnOrder> order;
    std::optional<Scalar> limit;  ///< Over the input's columns, of which it reads only the group key's.
    std::uint64_t offset;
  };
  struct Negate {
    LirPtr input;
  };
  struct Threshold {
    LirPtr input;
  };
  struct Union {
    std::vector<LirPtr> inputs;
    bool consolidate = false;  ///< Cancel opposite updates (inputs with a Negate).
  };
  /// Adds arrangements to the input's result.
  struct ArrangeBy {
    LirPtr input;
    std::vector<ArrangementKey> keys;
  };
  using Node = std::variant<Constant, Get, Let, LetRec, MapFilterProject, FlatMap, Join, Match, Reduce, TopK,
                            Negate, Threshold, Union, ArrangeBy>;

  Lir(Node n, std::vector<repr::ColumnType> t) : node(std::move(n)), types(std::move(t)) {}
  Node node;
  std::vector<repr::ColumnType> types;  ///< Of the result's rows.
};

template <typename T>
LirPtr make_lir(T node, std::vector<repr::ColumnType> types) {
  return std::make_shared<const Lir>(Lir::Node(std::move(node)), std::move(types));
}

std::string to_string(const Lir& lir);

}  // namespace freshet::expr
