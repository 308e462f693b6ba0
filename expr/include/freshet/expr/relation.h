// SPDX-License-Identifier: Apache-2.0
/// The relational IR: what the planner produces, the naive interpreter defines and the optimizer rewrites.
///
/// A `Relation` denotes a multiset of rows as a function of the multisets it reads, at each time. Nodes are
/// immutable and shared; every node knows its type. Columns of a join are those of its inputs, side by side.
/// Meaning of every node, multiplicities and error rules included, is `naive.h`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <freshet/expr/id.h>
#include <freshet/expr/scalar.h>
#include <freshet/repr/time.h>
#include <freshet/repr/types.h>

namespace freshet::expr {

/// One sort key. NULLs are placed as said, not by direction.
struct ColumnOrder {
  std::size_t column = 0;
  bool descending = false;
  bool nulls_last = true;
  friend auto operator<=>(const ColumnOrder&, const ColumnOrder&) = default;
};

struct Aggregate {
  const AggregateSpec* spec = nullptr;
  std::vector<Scalar> arguments;
  bool distinct = false;
  /// Rows for which this is not true do not count.
  std::optional<Scalar> filter{};
  /// Order of the inputs for string_agg and array_agg; ties and no order: canonical row order.
  struct OrderBy {
    Scalar expression;
    bool descending = false;
    bool nulls_last = true;
    friend bool operator==(const OrderBy&, const OrderBy&) = default;
  };
  std::vector<OrderBy> order_by{};
  [[nodiscard]] repr::ColumnType type() const;
  friend bool operator==(const Aggregate&, const Aggregate&) = default;
};

std::string to_string(const Aggregate& aggregate);

/// How a two-sided join treats rows without a match. Columns: left ++ right, except semi and anti: left.
enum class MatchKind : std::uint8_t {
  kSemi,   ///< Left rows that have a match, with their own multiplicity.
  kAnti,   ///< Left rows that have none.
  kLeft,   ///< Inner join, and unmatched left rows with NULLs on the right.
  kFull,   ///< … and unmatched right rows with NULLs on the left.
};

class Relation {
 public:
  struct Constant {
    std::vector<std::pair<repr::DatumRow, repr::Diff>> rows;
    /// If set, the relation is this error instead (its scope is the whole relation).
    std::optional<Error> error{};
  };
  struct Get {
    std::variant<GlobalId, LocalId> id;
  };
  struct Let {
    LocalId id;
    std::vector<Relation> parts;  ///< value, body
  };
  /// WITH MUTUALLY RECURSIVE: the values are iterated together from empty until nothing changes.
  struct LetRec {
    std::vector<LocalId> ids;
    std::vector<Relation> parts;  ///< the values, then the body
    /// At most this many iterations; then an error, or the value so far if `return_at_limit`.
    std::optional<std::uint64_t> limit{};
    bool return_at_limit = false;
  };
  struct Project {
    std::vector<Relation> input;
    std::vector<std::size_t> columns;
  };
  /// Appends columns; each expression may use the input's columns and those before it.
  struct Map {
    std::vector<Relation> input;
    std::vector<Scalar> expressions;
  };
  /// Keeps the rows for which every predicate is true.
  struct Filter {
    std::vector<Relation> input;
    std::vector<Scalar> predicates;
  };
  /// Appends the columns of a table function, once for each row it returns.
  struct FlatMap {
    std::vector<Relation> input;
    const TableFunctionSpec* function;
    std::vector<Scalar> arguments;
    bool with_ordinality = false;
  };
  /// Inner join. Each class lists expressions over the joined columns that must be equal and not NULL; their
  /// types share one key encoding (match_keys.h). An expression that may fail belongs into a Filter above: as
  /// a key it fails for rows that have no partner, too.
  struct Join {
    std::vector<Relation> inputs;
    std::vector<std::vector<Scalar>> equivalences;
  };
  /// Semi, anti and outer joins of two inputs; `on` ranges over left ++ right.
  struct Match {
    MatchKind kind;
    std::vector<Relation> inputs;  ///< left, right
    std::vector<Scalar> on;        ///< Conjuncts.
  };
  /// Group by; columns: the keys, then the aggregates. Without aggregates: distinct keys. Without keys: no
  /// row for an empty input (the planner adds the default row of a global aggregate itself).
  struct Reduce {
    std::vector<Relation> input;
    std::vector<Scalar> group_key;
    std::vector<Aggregate> aggregates;
  };
  /// The first `limit` rows after `offset` of each group, in `order` and then canonical row order.
  struct TopK {
    std::vector<Relation> input;
    std::vector<std::size_t> group_key;
    std::vector<ColumnOrder> order;
    /// int8 over the input's columns, of which it reads only those of the group key; NULL: no limit.
    std::optional<Scalar> limit{};
    std::uint64_t offset = 0;
  };
  struct Negate {
    std::vector<Relation> input;
  };
  /// Rows with a positive count keep it, others vanish.
  struct Threshold {
    std::vector<Relation> input;
  };
  struct Union {
    std::vector<Relation> inputs;
  };
  using Node = std::variant<Constant, Get, Let, LetRec, Project, Map, Filter, FlatMap, Join, Match,
                            Reduce, TopK, Negate, Threshold, Union>;

  static Relation constant(std::vector<std::pair<repr::DatumRow, repr::Diff>> rows, repr::RelationType type);
  static Relation failed(Error error, repr::RelationType type);
  static Relation get(GlobalId id, repr::RelationType type);
  static Relation get(LocalId id, repr::RelationType type);
  static Relation let(LocalId id, Relation value, Relation body);
  static Relation let_rec(std::vector<LocalId> ids, std::vector<Relation> values, Relation body,
                          std::optional<std::uint64_t> limit, bool return_at_limit);
  static Relation join(std::vector<Relation> inputs, std::vector<std::vector<Scalar>> equivalences);
  static Relation match(MatchKind kind, Relation left, Relation right, std::vector<Scalar> on);
  static Relation union_all(std::vector<Relation> inputs);
  static Relation empty(repr::RelationType type) { return constant({}, std::move(type)); }
  /// Builders in reading order: `input.filter(…).project(…)`.
  [[nodiscard]] Relation project(std::vector<std::size_t> columns) const;
  [[nodiscard]] Relation map(std::vector<Scalar> expressions) const;
  [[nodiscard]] Relation filter(std::vector<Scalar> predicates) const;
  [[nodiscard]] Relation flat_map(const TableFunctionSpec* function, std::vector<Scalar> arguments,
                                  bool with_ordinality = false) const;
  [[nodiscard]] Relation reduce(std::vector<Scalar> group_key, std::vector<Aggregate> aggregates) const;
  [[nodiscard]] Relation distinct() const;
  [[nodiscard]] Relation top_k(std::vector<std::size_t> group_key, std::vector<ColumnOrder> order,
                               std::optional<Scalar> limit, std::uint64_t offset) const;
  [[nodiscard]] Relation negate() const;
  [[nodiscard]] Relation threshold() const;

  [[nodiscard]] const Node& node() const;
  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&node());
  }
  /// Columns and known unique keys, from the node and its children's types.
  [[nodiscard]] const repr::RelationType& type() const;
  [[nodiscard]] std::size_t arity() const { return type().arity(); }

  [[nodiscard]] std::span<const Relation> children() const;
  [[nodiscard]] Relation with_children(std::vector<Relation> children) const;
  [[nodiscard]] Relation transform(const std::function<Relation(Relation)>& bottom_up) const;
  void visit(const std::function<void(const Relation&)>& f) const;
  [[nodiscard]] std::set<GlobalId> global_ids() const;  ///< What it reads.
  [[nodiscard]] std::size_t depth() const;
  [[nodiscard]] std::size_t hash() const;
  [[nodiscard]] const void* identity() const;  ///< Equal for handles to one shared node.

  /// Structural equality, column types included.
  friend bool operator==(const Relation& a, const Relation& b);

 private:
  struct Body;
  explicit Relation(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  static Relation make(Node node, repr::RelationType type);
  std::shared_ptr<const Body> body_;
};

/// The indented tree that EXPLAIN shows.
std::string to_string(const Relation& relation);

}  // namespace freshet::expr
