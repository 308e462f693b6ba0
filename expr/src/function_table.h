// SPDX-License-Identifier: Apache-2.0
/// Collects the specs of all functions while the one table is built; after that it is immutable.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <freshet/expr/functions.h>

#include "lift.h"

namespace freshet::expr {

using K = repr::TypeKind;
using A = ArgumentType::Kind;

/// An argument or result type as the lists of functions write it.
struct Arg {
  Arg(K kind) : type{ArgumentType::Kind::kConcrete, repr::SqlType(kind)} {}  // NOLINT: converts
  Arg(ArgumentType::Kind kind) : type{kind, {}} {}                           // NOLINT: converts
  Arg(repr::SqlType sql) : type{ArgumentType::Kind::kConcrete, std::move(sql)} {}  // NOLINT
  ArgumentType type;
};
/// An array type.
inline Arg array(K element) { return repr::SqlType::array_of(repr::SqlType(element)); }

class FunctionTable {
 public:
  FunctionTable();
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  // --- Building -------------------------------------------------------------------------------------
  FunctionSpec& add(std::string_view name, std::initializer_list<Arg> arguments, Arg result,
                    Lifted lifted);
  FunctionSpec& add_operator(std::string_view name, std::initializer_list<Arg> arguments, Arg result,
                             Lifted lifted);
  /// The function and its operator spelling at once.
  void add_both(std::string_view op, std::string_view name, std::initializer_list<Arg> arguments,
                Arg result, Lifted lifted);
  void add_cast(Arg from, Arg to, CastContext context, Lifted lifted);
  /// Binary-compatible: the same column under another type.
  void add_relabel(K from, K to, CastContext context);
  /// (value, int4 typmod, bool explicit)
  void add_typmod(K kind, Lifted lifted);
  TableFunctionSpec& add_table_function(TableFunctionSpec spec);
  void add_aggregate(std::string_view name, std::initializer_list<Arg> arguments, Arg result,
                     AggregateClass how, AggregateKind kind);

  // --- Looking up -----------------------------------------------------------------------------------
  template <typename Spec>
  struct Index {
    std::vector<const Spec*> all;
    std::unordered_map<std::string_view, std::vector<const Spec*>> by_name;
    std::unordered_map<std::string_view, const Spec*> by_signature;
    [[nodiscard]] std::span<const Spec* const> named(std::string_view name) const {
      const auto entry = by_name.find(name);
      if (entry == by_name.end()) return {};
      return entry->second;
    }
    [[nodiscard]] const Spec* find(std::string_view signature) const {
      const auto entry = by_signature.find(signature);
      return entry == by_signature.end() ? nullptr : entry->second;
    }
  };
  [[nodiscard]] const Index<FunctionSpec>& functions() const { return functions_; }
  [[nodiscard]] const Index<FunctionSpec>& operators() const { return operators_; }
  [[nodiscard]] const Index<AggregateSpec>& aggregates() const { return aggregates_; }
  [[nodiscard]] const Index<TableFunctionSpec>& table_functions() const { return table_functions_; }
  [[nodiscard]] const FunctionSpec* by_signature(std::string_view signature) const;
  [[nodiscard]] std::span<const FunctionSpec* const> all() const { return all_; }
  [[nodiscard]] const CastSpec* cast(K from, K to) const;
  [[nodiscard]] std::span<const CastEntry> casts() const { return casts_; }
  [[nodiscard]] const FunctionSpec* typmod(K kind) const;
  [[nodiscard]] const FunctionSpec* array_cast() const { return array_cast_; }

 private:
  FunctionSpec& make(std::string_view name, std::initializer_list<Arg> arguments, Arg result,
                     Lifted lifted);
  std::string_view intern(std::string text);
  void add_quantified(const FunctionSpec& op, bool any);
  void link_operators();

  std::deque<std::string> strings_;
  std::deque<FunctionSpec> specs_;
  std::deque<ScalarKernel> kernels_;
  std::deque<AggregateSpec> aggregate_specs_;
  std::deque<TableFunctionSpec> table_specs_;
  Index<FunctionSpec> functions_;
  Index<FunctionSpec> operators_;
  Index<FunctionSpec> hidden_;  // casts, coercions, quantified operators
  Index<AggregateSpec> aggregates_;
  Index<TableFunctionSpec> table_functions_;
  std::vector<const FunctionSpec*> all_;
  std::vector<CastEntry> casts_;
  std::map<std::pair<K, K>, CastSpec> cast_index_;
  std::map<K, const FunctionSpec*> typmods_;
  const FunctionSpec* array_cast_ = nullptr;
};

/// Kernel of `any_of` and `all_of`; its `ScalarKernel::inner` is the operator.
repr::ColumnPtr evaluate_any(KernelCall& call);
repr::ColumnPtr evaluate_all(KernelCall& call);

// The families, each in a file of its own. Order is the order of `all_functions`.
void add_integers(FunctionTable& table);
void add_integer_math(FunctionTable& table);
void add_floats(FunctionTable& table);
void add_float_math(FunctionTable& table);
void add_numerics(FunctionTable& table);
void add_comparisons(FunctionTable& table);
void add_byte_comparisons(FunctionTable& table);
void add_generic(FunctionTable& table);
void add_text(FunctionTable& table);
void add_json(FunctionTable& table);
void add_text_formats(FunctionTable& table);
void add_encodings(FunctionTable& table);
void add_patterns(FunctionTable& table);
void add_regular_expressions(FunctionTable& table);
void add_dates(FunctionTable& table);
void add_date_fields(FunctionTable& table);
void add_date_formats(FunctionTable& table);
void add_arrays(FunctionTable& table);
void add_number_casts(FunctionTable& table);
void add_text_casts(FunctionTable& table);
void add_date_casts(FunctionTable& table);
void add_typmods(FunctionTable& table);
void add_aggregates(FunctionTable& table);
void add_table_functions(FunctionTable& table);
void add_regex_table_functions(FunctionTable& table);

}  // namespace freshet::expr
