// SPDX-License-Identifier: Apache-2.0
/// The one table of scalar functions, operators, casts, aggregates and table functions.
///
/// Binder, kernels, pg_proc and the documentation all read this table. A spec is immutable, lives as long as
/// the process, and is named across versions by its `signature` ("substr(text,int4,int4)", "+(int4,int4)",
/// "cast(int4,text)"), which is what durable plans store.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/repr/chunk.h>
#include <freshet/repr/types.h>

namespace freshet::expr {

/// What an argument position accepts. Polymorphic positions agree on one element type.
struct ArgumentType {
  enum class Kind : std::uint8_t { kConcrete, kAny, kAnyElement, kAnyArray, kAnyNonArray };
  Kind kind = Kind::kConcrete;
  repr::SqlType type{};  ///< Only for kConcrete.
};

enum class Volatility : std::uint8_t { kImmutable, kStable };

struct ScalarKernel;  // eval.h: the vectorised implementation

struct FunctionSpec {
  std::string_view name;       ///< Lower case, or the operator's characters.
  std::string_view signature;  ///< Unique over all specs.
  std::vector<ArgumentType> arguments;
  bool variadic = false;  ///< The last argument repeats (zero or more times).
  ArgumentType result;
  Volatility volatility = Volatility::kImmutable;
  bool strict = true;     ///< NULL in, NULL out, without calling the kernel.
  bool can_fail = false;  ///< May raise an error for some non-NULL arguments.
  /// For strict functions: is the result non-NULL when every argument is?
  bool preserves_not_null = true;
  bool is_operator = false;
  std::string_view negated{};     ///< Signature of the negation (for `=`: `<>`), or empty.
  std::string_view commuted{};    ///< Signature with the arguments swapped, or empty.
  const ScalarKernel* kernel = nullptr;
};

/// All overloads of a function or operator, in a fixed order; empty if the name is unknown.
std::span<const FunctionSpec* const> functions_named(std::string_view name);
std::span<const FunctionSpec* const> operators_named(std::string_view name);
const FunctionSpec* function_by_signature(std::string_view signature);
/// Functions and operators, without casts and quantified operators; in a fixed order.
std::span<const FunctionSpec* const> all_functions();

/// `x op ANY (array)` and `x op ALL (array)` as functions of (x, array), for an operator with two arguments
/// and a boolean result; null for any other. Signature: "any(=(int4,int4))". They have SQL's logic: NULL if
/// the answer depends on a NULL element.
const FunctionSpec* any_of(const FunctionSpec& binary_operator);
const FunctionSpec* all_of(const FunctionSpec& binary_operator);

/// PostgreSQL's contexts: an implicit cast may be used anywhere, an assignment cast when storing into a
/// column, an explicit one only when written.
enum class CastContext : std::uint8_t { kImplicit, kAssignment, kExplicit };

/// The conversion from one type to another. A cast to the same kind with another typmod is a cast too
/// (`cast_typmod(numeric)`), taking the typmod as a second int4 argument.
struct CastSpec {
  CastContext context;
  const FunctionSpec* function;  ///< Null: binary-compatible, nothing to do.
};
/// Includes casts through text (I/O conversion), arrays of castable elements, and typmod coercion. Looks at
/// kinds only: the cast to a type with a typmod gives any value of that kind, and the caller applies
/// `typmod_coercion` behind it. Between equal kinds: nothing to do, or the coercion if only `to` limits it.
std::optional<CastSpec> find_cast(const repr::SqlType& from, const repr::SqlType& to);
/// The function that applies `typmod` to a value of that kind (value, int4 typmod, bool explicit); null
/// if the kind has no typmod.
const FunctionSpec* typmod_coercion(repr::TypeKind kind);
struct CastEntry {
  repr::SqlType from;
  repr::SqlType to;
  CastSpec cast;
};
/// The casts between scalar types, in a fixed order; for pg_cast and the documentation.
std::span<const CastEntry> all_casts();

/// How an aggregate is maintained; decides its physical plan.
enum class AggregateClass : std::uint8_t {
  kAccumulable,   ///< Invertible: count, sum, avg, bool_and/or by counts.
  kExtremum,      ///< min, max: the first or last of an ordered arrangement.
  kOrdered,       ///< Needs the whole group in order: string_agg, array_agg.
};

/// The functions an accumulable aggregate reduces to are chosen by `kind`; see aggregate.h.
enum class AggregateKind : std::uint8_t {
  kCount, kCountStar, kSumInt2, kSumInt4, kSumInt8, kSumFloat4, kSumFloat8, kSumNumeric, kSumInterval,
  kAvgInt2, kAvgInt4, kAvgInt8, kAvgFloat4, kAvgFloat8, kAvgNumeric, kAvgInterval,
  kMin, kMax, kBoolAnd, kBoolOr, kStringAgg, kByteaAgg, kArrayAgg,
};

struct AggregateSpec {
  std::string_view name;
  std::string_view signature;
  std::vector<ArgumentType> arguments;
  ArgumentType result;
  AggregateClass aggregate_class;
  AggregateKind kind;
  bool empty_is_null = true;  ///< False for count.
};
std::span<const AggregateSpec* const> aggregates_named(std::string_view name);
const AggregateSpec* aggregate_by_signature(std::string_view signature);
std::span<const AggregateSpec* const> all_aggregates();

struct TableRowsCursor;

/// A set-returning function: generate_series, unnest.
struct TableFunctionSpec {
  std::string_view name;
  std::string_view signature;
  std::vector<ArgumentType> arguments;
  bool strict = true;  ///< A NULL argument gives no rows.
  bool can_fail = false;
  /// Appends the next rows for one row of arguments, at most `most`, and says in the cursor where it goes on and
  /// whether it is done; the columns are `result_types` of the arguments' types. Called through `next_rows`.
  Result<void> (*next)(const repr::DatumRow& arguments, std::span<const repr::SqlType> types, TableRowsCursor& at,
                       std::size_t most, std::vector<repr::DatumRow>& out);
  std::vector<repr::ColumnType> (*result_types)(std::span<const repr::SqlType> types);
  std::vector<std::string_view> result_names;
};
std::span<const TableFunctionSpec* const> table_functions_named(std::string_view name);
const TableFunctionSpec* table_function_by_signature(std::string_view signature);
std::span<const TableFunctionSpec* const> all_table_functions();

}  // namespace freshet::expr
