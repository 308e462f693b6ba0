// SPDX-License-Identifier: Apache-2.0
/// PostgreSQL's rules of types: which function is meant, what converts to what, what type a set of
/// expressions has in common.
///
/// Positions in errors are bytes of the statement's text plus one; the planner turns them into characters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/expr/functions.h>
#include <freshet/repr/datum.h>
#include <freshet/sql/hir.h>

namespace freshet::sql {

using expr::CastContext;

Error error_at(SqlState state, std::string message, int location);

/// "integer", "text", "unknown": a type as messages name it.
std::string type_name(const repr::SqlType& type);
bool is_unknown(const HirScalar& scalar);

/// What resolution chooses among: the parameters of an overload, spread out if it is variadic.
struct Candidate {
  std::vector<expr::ArgumentType> arguments;
  std::size_t index;  ///< Which overload.
};
/// An overload for `count` arguments, if it takes that many.
std::optional<Candidate> candidate_for(std::span<const expr::ArgumentType> arguments, bool variadic,
                                       std::size_t index, std::size_t count);

/// func_select_candidate and what goes before it. nullopt: none fits. 42725 if several do.
/// `what` names the call for the message: "function f(integer)".
struct Choice {
  enum class Outcome : std::uint8_t { kFound, kNone, kAmbiguous };
  Outcome outcome = Outcome::kNone;
  Candidate candidate{};
};
Choice choose(std::vector<Candidate> candidates, std::span<const repr::SqlType> types);

/// The names behind regclass, regtype and regproc: values are numbers, and only the catalog knows what they stand for.
class RegNames {
 public:
  virtual ~RegNames() = default;
  /// regclass, regtype, regproc as text: a name where there is one, else the number.
  virtual Result<HirScalarPtr> reg_text(const HirScalarPtr& scalar) = 0;
  /// A value or a text as one of them.
  virtual Result<HirScalarPtr> reg_cast(const HirScalarPtr& argument, const repr::SqlType& target, int location) = 0;
};
bool is_reg_type(repr::TypeKind kind);

class Typing {
 public:
  Typing(std::vector<repr::SqlType> declared, std::string time_zone, RegNames* names = nullptr);

  /// $number; grows the list. 42P02 beyond 65535.
  Result<HirScalarPtr> parameter(int number, int location);
  /// The type decided for each parameter. 42P18 if one is still open.
  Result<std::vector<repr::SqlType>> parameter_types() const;
  void set_open_parameters_to_text();

  /// True if `coerce` has a way.
  [[nodiscard]] bool can_coerce(const repr::SqlType& from, const repr::SqlType& to, CastContext context) const;
  /// `scalar` as `type`. 42846 cannot cast, 42804 where `context` does not allow it; errors of literals.
  Result<HirScalarPtr> coerce(const HirScalarPtr& scalar, const repr::SqlType& type, CastContext context,
                              int location = -1);
  /// Unknown literals and parameters become text.
  Result<HirScalarPtr> settle(Result<HirScalarPtr> scalar);
  /// Must be boolean: `clause` is "WHERE", "AND", … 42804 otherwise.
  Result<HirScalarPtr> coerce_to_boolean(Result<HirScalarPtr> scalar, std::string_view clause);
  Result<HirScalarPtr> coerce_to_int8(Result<HirScalarPtr> scalar, std::string_view clause);

  /// select_common_type, "CASE types integer and text cannot be matched".
  Result<repr::SqlType> common_type(std::span<const HirScalarPtr> scalars, std::string_view construct);
  Result<void> make_common(std::vector<HirScalarPtr>& scalars, std::string_view construct);

  Result<HirScalarPtr> unary(std::string_view op, HirScalarPtr argument, int location);
  Result<HirScalarPtr> binary(std::string_view op, HirScalarPtr left, HirScalarPtr right, int location);
  /// `left op ANY/ALL (array)`.
  Result<HirScalarPtr> quantified(std::string_view op, bool any, HirScalarPtr left, HirScalarPtr array, int location);
  /// A scalar function by name; null if no function has that name.
  Result<HirScalarPtr> function(std::string_view name, std::vector<HirScalarPtr> arguments, int location);
  /// The arguments made what `candidate` takes; polymorphic positions agree.
  Result<void> coerce_arguments(const Candidate& candidate, std::vector<HirScalarPtr>& arguments);
  [[nodiscard]] const repr::TextOptions& text_options() const { return text_options_; }

 private:
  Result<HirScalarPtr> coerce_literal(const HirScalarPtr& scalar, const repr::SqlType& type, CastContext context,
                                      int location);
  Result<HirScalarPtr> apply_typmod(const HirScalarPtr& scalar, const repr::SqlType& type, CastContext context);
  /// From a number that stands for a name to the name.
  [[nodiscard]] bool writes_name(const repr::SqlType& from, const repr::SqlType& to, CastContext context) const;
  Result<HirScalarPtr> written_out(const HirScalarPtr& scalar);
  Result<bool> make_compatible(std::string_view name, std::vector<HirScalarPtr>& arguments);
  Result<const expr::FunctionSpec*> resolve_operator(std::string_view op, std::vector<HirScalarPtr>& arguments,
                                                     int location);

  std::vector<repr::SqlType> parameters_;
  repr::TextOptions text_options_;
  RegNames* names_;  ///< Null where no catalog is at hand: then they are numbers.
};

/// True if `from` converts to `to` without being asked.
bool can_coerce_implicitly(const repr::SqlType& from, const repr::SqlType& to);

}  // namespace freshet::sql
