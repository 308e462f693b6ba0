// SPDX-License-Identifier: Apache-2.0
/// Scalar expressions: immutable trees over the columns of one row.
///
/// `Scalar` is a cheap handle to a shared node, so rewriting shares what it does not touch. Every node
/// knows its type. AND, OR, CASE and COALESCE are nodes of their own because they decide which arguments
/// count; everything else is a `Call` of a `FunctionSpec`.
///
/// Evaluation: AND is false when any argument is false, even if another fails; else it fails when one fails;
/// else NULL when one is NULL. OR is its mirror. `If` and `Coalesce` evaluate only what they need. A strict
/// call with a failing argument fails, also when another argument is NULL (PostgreSQL's f(NULL, 1/0)). Of
/// several errors of one row the least (by SQLSTATE, then message) counts.
///
///     Scalar sum = Scalar::call(plus_int8, {Scalar::column(0, int8), Scalar::literal(Datum(int64_t{1}), int8)});
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/functions.h>
#include <freshet/repr/datum.h>
#include <freshet/repr/types.h>

namespace freshet::expr {

class Scalar {
 public:
  struct Column {
    std::size_t index;
  };
  struct Literal {
    repr::Datum value;
  };
  /// Raises an error whenever it is evaluated (a folded 1/0).
  struct Failure {
    Error error;
  };
  struct Call {
    const FunctionSpec* function;
    std::vector<Scalar> arguments;
  };
  struct And {
    std::vector<Scalar> arguments;
  };
  struct Or {
    std::vector<Scalar> arguments;
  };
  struct If {
    std::vector<Scalar> arguments;  ///< Exactly three: condition, then, otherwise.
  };
  struct Coalesce {
    std::vector<Scalar> arguments;
  };
  /// `x IS NULL`: never fails for a NULL, fails if x fails.
  struct IsNull {
    std::vector<Scalar> arguments;  ///< Exactly one.
  };
  /// $1 is 0. Substituted before a plan is optimised.
  struct Parameter {
    std::size_t index;
  };
  /// The logical time of the collection, as numeric milliseconds: mz_now(). Only in filters that are
  /// turned into temporal bounds, and in one-off reads, where it is substituted.
  struct MzNow {};
  /// now(), current_user, …: fixed for a statement; substituted by the session before optimising.
  struct SessionValue {
    std::string name;
  };
  using Node = std::variant<Column, Literal, Failure, Call, And, Or, If, Coalesce, IsNull, Parameter,
                            MzNow, SessionValue>;

  static Scalar column(std::size_t index, repr::ColumnType type);
  static Scalar literal(repr::Datum value, repr::SqlType type);
  static Scalar null(repr::SqlType type);
  static Scalar boolean(bool value);
  static Scalar failure(Error error, repr::SqlType type);
  /// The result type is worked out from the spec and the argument types.
  static Scalar call(const FunctionSpec* function, std::vector<Scalar> arguments);
  static Scalar call_typed(const FunctionSpec* function, std::vector<Scalar> arguments, repr::SqlType type);
  static Scalar conjunction(std::vector<Scalar> arguments);  ///< Flattens; TRUE if empty.
  static Scalar disjunction(std::vector<Scalar> arguments);  ///< Flattens; FALSE if empty.
  static Scalar if_then(Scalar condition, Scalar then, Scalar otherwise);
  static Scalar coalesce(std::vector<Scalar> arguments);
  static Scalar is_null(Scalar argument);
  static Scalar negation(Scalar argument);  ///< NOT
  static Scalar parameter(std::size_t index, repr::SqlType type);
  static Scalar mz_now();
  static Scalar session_value(std::string name, repr::ColumnType type);

  [[nodiscard]] const Node& node() const;
  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&node());
  }
  [[nodiscard]] const repr::ColumnType& type() const;

  [[nodiscard]] std::span<const Scalar> children() const;
  [[nodiscard]] Scalar with_children(std::vector<Scalar> children) const;
  /// Bottom-up rewrite: `f` sees each node after its children were rewritten.
  [[nodiscard]] Scalar transform(const std::function<Scalar(Scalar)>& f) const;
  void visit(const std::function<void(const Scalar&)>& f) const;
  /// Columns replaced by `map[index]`.
  [[nodiscard]] Scalar with_columns(std::span<const std::size_t> map) const;
  /// Columns replaced by expressions.
  [[nodiscard]] Scalar substitute(std::span<const Scalar> columns) const;
  [[nodiscard]] std::set<std::size_t> columns() const;
  [[nodiscard]] bool can_fail() const;   ///< Some node may raise an error.
  [[nodiscard]] bool is_literal() const;
  [[nodiscard]] bool contains_mz_now() const;
  [[nodiscard]] std::size_t depth() const;
  [[nodiscard]] std::size_t hash() const;  ///< Equal scalars have equal hashes.

  /// Structural equality (identical literals, same nodes; nullability does not count); a total order for maps.
  friend bool operator==(const Scalar& a, const Scalar& b);
  friend std::strong_ordering operator<=>(const Scalar& a, const Scalar& b);

 private:
  struct Body;
  explicit Scalar(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  static Scalar make(Node node, repr::ColumnType type);
  std::shared_ptr<const Body> body_;
};

/// As EXPLAIN shows it: `(#0 + 1)`; `names` may name the columns.
std::string to_string(const Scalar& scalar, std::span<const std::string> names = {});

}  // namespace freshet::expr
