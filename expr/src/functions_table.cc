// SPDX-License-Identifier: Apache-2.0
#include "function_table.h"

#include <array>
#include <utility>

namespace freshet::expr {
namespace {

std::string type_name(const ArgumentType& argument) {
  switch (argument.kind) {
    case ArgumentType::Kind::kConcrete: break;
    case ArgumentType::Kind::kAny: return "any";
    case ArgumentType::Kind::kAnyElement: return "anyelement";
    case ArgumentType::Kind::kAnyArray: return "anyarray";
    case ArgumentType::Kind::kAnyNonArray: return "anynonarray";
  }
  if (argument.type.kind() == K::kArray) {
    return std::string(repr::type_info(argument.type.element().kind()).pg_name) + "[]";
  }
  return std::string(repr::type_info(argument.type.kind()).pg_name);
}

std::string signature_of(std::string_view name, std::span<const ArgumentType> arguments) {
  std::string out(name);
  out += '(';
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) out += ',';
    out += type_name(arguments[i]);
  }
  out += ')';
  return out;
}

template <typename Spec>
void put(FunctionTable::Index<Spec>& index, const Spec* spec) {
  const bool fresh = index.by_signature.emplace(spec->signature, spec).second;
  FRESHET_ASSERT(fresh, spec->signature);
  index.all.push_back(spec);
  index.by_name[spec->name].push_back(spec);
}

struct OperatorPair {
  std::string_view name;
  std::string_view negated;
  std::string_view commuted;
};
constexpr std::array<OperatorPair, 22> kOperatorPairs{{
    {"=", "<>", "="},     {"<>", "=", "<>"},   {"<", ">=", ">"},    {">=", "<", "<="},
    {">", "<=", "<"},     {"<=", ">", ">="},   {"~~", "!~~", ""},   {"!~~", "~~", ""},
    {"~~*", "!~~*", ""},  {"!~~*", "~~*", ""}, {"~", "!~", ""},     {"!~", "~", ""},
    {"~*", "!~*", ""},    {"!~*", "~*", ""},   {"+", "", "+"},      {"*", "", "*"},
    {"&", "", "&"},       {"|", "", "|"},      {"#", "", "#"},      {"@>", "", "<@"},
    {"<@", "", "@>"},     {"&&", "", "&&"},
}};

}  // namespace

FunctionTable::FunctionTable() {
  add_integers(*this);
  add_integer_math(*this);
  add_floats(*this);
  add_float_math(*this);
  add_numerics(*this);
  add_comparisons(*this);
  add_byte_comparisons(*this);
  add_generic(*this);
  add_text(*this);
  add_json(*this);
  add_text_formats(*this);
  add_encodings(*this);
  add_patterns(*this);
  add_regular_expressions(*this);
  add_dates(*this);
  add_date_fields(*this);
  add_date_formats(*this);
  add_arrays(*this);
  add_number_casts(*this);
  add_text_casts(*this);
  add_date_casts(*this);
  add_typmods(*this);
  add_aggregates(*this);
  add_table_functions(*this);
  add_regex_table_functions(*this);
  link_operators();
}

std::string_view FunctionTable::intern(std::string text) {
  return strings_.emplace_back(std::move(text));
}

FunctionSpec& FunctionTable::make(std::string_view name, std::initializer_list<Arg> arguments,
                                  Arg result, Lifted lifted) {
  FunctionSpec& spec = specs_.emplace_back();
  spec.name = intern(std::string(name));
  for (const Arg& argument : arguments) spec.arguments.push_back(argument.type);
  spec.signature = intern(signature_of(name, spec.arguments));
  spec.result = std::move(result.type);
  spec.can_fail = lifted.can_fail;
  spec.preserves_not_null = !lifted.may_be_null;
  spec.kernel = lifted.kernel;
  return spec;
}

FunctionSpec& FunctionTable::add(std::string_view name, std::initializer_list<Arg> arguments,
                                 Arg result, Lifted lifted) {
  FunctionSpec& spec = make(name, arguments, std::move(result), lifted);
  put<FunctionSpec>(functions_, &spec);
  all_.push_back(&spec);
  return spec;
}

FunctionSpec& FunctionTable::add_operator(std::string_view name, std::initializer_list<Arg> arguments,
                                          Arg result, Lifted lifted) {
  FunctionSpec& spec = make(name, arguments, std::move(result), lifted);
  spec.is_operator = true;
  put<FunctionSpec>(operators_, &spec);
  all_.push_back(&spec);
  return spec;
}

void FunctionTable::add_both(std::string_view op, std::string_view name,
                             std::initializer_list<Arg> arguments, Arg result, Lifted lifted) {
  add_operator(op, arguments, result, lifted);
  add(name, arguments, std::move(result), lifted);
}

void FunctionTable::add_cast(Arg from, Arg to, CastContext context, Lifted lifted) {
  FunctionSpec& spec = make("cast", {from}, to, lifted);
  std::string signature = "cast(" + type_name(from.type) + "," + type_name(to.type) + ")";
  spec.signature = intern(std::move(signature));
  put<FunctionSpec>(hidden_, &spec);
  if (from.type.kind != A::kConcrete && to.type.kind != A::kConcrete) array_cast_ = &spec;
  if (from.type.kind != A::kConcrete || to.type.kind != A::kConcrete) return;
  const CastSpec cast{context, &spec};
  casts_.push_back({from.type.type, to.type.type, cast});
  cast_index_.emplace(std::pair{from.type.type.kind(), to.type.type.kind()}, cast);
}

void FunctionTable::add_relabel(K from, K to, CastContext context) {
  const CastSpec cast{context, nullptr};
  casts_.push_back({repr::SqlType(from), repr::SqlType(to), cast});
  cast_index_.emplace(std::pair{from, to}, cast);
}

void FunctionTable::add_typmod(K kind, Lifted lifted) {
  FunctionSpec& spec = make("cast_typmod", {kind, K::kInt4, K::kBool}, kind, lifted);
  spec.signature = intern("cast_typmod(" + std::string(repr::type_info(kind).pg_name) + ")");
  put<FunctionSpec>(hidden_, &spec);
  typmods_.emplace(kind, &spec);
}

TableFunctionSpec& FunctionTable::add_table_function(TableFunctionSpec spec) {
  TableFunctionSpec& kept = table_specs_.emplace_back(std::move(spec));
  kept.signature = intern(signature_of(kept.name, kept.arguments));
  put<TableFunctionSpec>(table_functions_, &kept);
  return kept;
}

void FunctionTable::add_aggregate(std::string_view name, std::initializer_list<Arg> arguments,
                                  Arg result, AggregateClass how, AggregateKind kind) {
  AggregateSpec& spec = aggregate_specs_.emplace_back();
  spec.name = intern(std::string(name));
  for (const Arg& argument : arguments) spec.arguments.push_back(argument.type);
  spec.signature = intern(
      kind == AggregateKind::kCountStar ? "count(*)" : signature_of(name, spec.arguments));
  spec.result = std::move(result.type);
  spec.aggregate_class = how;
  spec.kind = kind;
  spec.empty_is_null = kind != AggregateKind::kCount && kind != AggregateKind::kCountStar;
  put<AggregateSpec>(aggregates_, &spec);
}

void FunctionTable::add_quantified(const FunctionSpec& op, bool any) {
  const ScalarKernel& kernel =
      kernels_.emplace_back(ScalarKernel{any ? &evaluate_any : &evaluate_all, &op});
  FunctionSpec& spec = specs_.emplace_back();
  const std::string prefix = any ? "any(" : "all(";
  spec.name = intern(prefix + std::string(op.name) + ")");
  spec.signature = intern(prefix + std::string(op.signature) + ")");
  spec.arguments.push_back(op.arguments[0]);
  if (op.arguments[1].kind == ArgumentType::Kind::kConcrete &&
      op.arguments[1].type.kind() != K::kArray) {
    spec.arguments.push_back(
        {ArgumentType::Kind::kConcrete, repr::SqlType::array_of(op.arguments[1].type)});
  } else {
    spec.arguments.push_back({ArgumentType::Kind::kAnyArray, {}});
  }
  spec.result = op.result;
  spec.strict = false;  // an empty array decides even for NULL
  spec.can_fail = op.can_fail;
  spec.preserves_not_null = false;
  spec.kernel = &kernel;
  put<FunctionSpec>(hidden_, &spec);
}

// Fills in negations and commutations, and makes the quantified forms of boolean operators.
void FunctionTable::link_operators() {
  const std::size_t count = specs_.size();
  for (std::size_t i = 0; i < count; ++i) {
    FunctionSpec& spec = specs_[i];
    if (!spec.is_operator || spec.arguments.size() != 2) continue;
    for (const OperatorPair& pair : kOperatorPairs) {
      if (pair.name != spec.name) continue;
      const ArgumentType swapped[] = {spec.arguments[1], spec.arguments[0]};
      if (!pair.negated.empty()) {
        const auto* other = operators_.find(signature_of(pair.negated, spec.arguments));
        if (other != nullptr && other->result.type == spec.result.type) {
          spec.negated = other->signature;
        }
      }
      if (!pair.commuted.empty()) {
        const auto* other = operators_.find(signature_of(pair.commuted, swapped));
        if (other != nullptr && other->result.type == spec.result.type) {
          spec.commuted = other->signature;
        }
      }
    }
    if (spec.result.kind == ArgumentType::Kind::kConcrete &&
        spec.result.type.kind() == K::kBool) {
      add_quantified(spec, true);
      add_quantified(spec, false);
    }
  }
}

const FunctionSpec* FunctionTable::by_signature(std::string_view signature) const {
  if (const auto* spec = functions_.find(signature)) return spec;
  if (const auto* spec = operators_.find(signature)) return spec;
  return hidden_.find(signature);
}

const CastSpec* FunctionTable::cast(K from, K to) const {
  const auto entry = cast_index_.find({from, to});
  return entry == cast_index_.end() ? nullptr : &entry->second;
}

const FunctionSpec* FunctionTable::typmod(K kind) const {
  const auto entry = typmods_.find(kind);
  return entry == typmods_.end() ? nullptr : entry->second;
}

}  // namespace freshet::expr
