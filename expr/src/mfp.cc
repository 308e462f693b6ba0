// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/mfp.h>

#include <algorithm>
#include <map>
#include <numeric>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/text.h>

namespace freshet::expr {
namespace {

std::vector<std::size_t> first_columns(std::size_t count) {
  std::vector<std::size_t> columns(count);
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return columns;
}

Result<const FunctionSpec*> numeric_function(std::string_view signature) {
  const FunctionSpec* function = function_by_signature(signature);
  if (function == nullptr) {
    return fail(sqlstate::kFeatureNotSupported, "temporal filter needs " + std::string(signature));
  }
  return function;
}

/// The first time after every time at or before `bound`: times are thousandths of a millisecond.
Result<Scalar> next_time(const Scalar& bound) {
  using repr::Datum;
  using repr::Numeric;
  const FunctionSpec* times = FRESHET_TRY(numeric_function("*(numeric,numeric)"));
  const FunctionSpec* plus = FRESHET_TRY(numeric_function("+(numeric,numeric)"));
  const FunctionSpec* floor = FRESHET_TRY(numeric_function("floor(numeric)"));
  const auto number = [](Numeric n) { return Scalar::literal(Datum(std::move(n)), repr::TypeKind::kNumeric); };
  Scalar micros = Scalar::call(times, {bound, number(Numeric(1000))});
  Scalar next = Scalar::call(floor, {Scalar::call(plus, {std::move(micros), number(Numeric(1))})});
  return Scalar::call(times, {std::move(next), number(Numeric::from_parts(1, 3))});
}

/// `mz_now() OP bound` read from a predicate, with the operator as if mz_now() stood on the left.
struct Temporal {
  std::string_view op;
  Scalar bound;
};

std::string_view mirrored(std::string_view op) {
  if (op == "<") return ">";
  if (op == "<=") return ">=";
  if (op == ">") return "<";
  if (op == ">=") return "<=";
  return op;
}

std::optional<Temporal> as_temporal(const Scalar& predicate) {
  const auto* call = predicate.as<Scalar::Call>();
  if (call == nullptr || !call->function->is_operator || call->arguments.size() != 2) return std::nullopt;
  const Scalar& left = call->arguments[0];
  const Scalar& right = call->arguments[1];
  const bool comparison = call->function->name == "=" || call->function->name == "<" ||
                          call->function->name == "<=" || call->function->name == ">" ||
                          call->function->name == ">=";
  if (!comparison) return std::nullopt;
  if (left.as<Scalar::MzNow>() != nullptr && !right.contains_mz_now()) {
    return Temporal{call->function->name, right};
  }
  if (right.as<Scalar::MzNow>() != nullptr && !left.contains_mz_now()) {
    return Temporal{mirrored(call->function->name), left};
  }
  return std::nullopt;
}

Result<void> add_bounds(Mfp& mfp, const Scalar& predicate) {
  const auto temporal = as_temporal(predicate);
  if (!temporal) {
    return fail(sqlstate::kFeatureNotSupported,
                "mz_now() can only be compared by =, <, <=, > or >= with an expression without it: " +
                    to_string(predicate));
  }
  const auto& [op, bound] = *temporal;
  if (op == ">=" || op == "=") mfp.lower_bounds.push_back(bound);
  if (op == ">") mfp.lower_bounds.push_back(FRESHET_TRY(next_time(bound)));
  if (op == "<") mfp.upper_bounds.push_back(bound);
  if (op == "<=" || op == "=") mfp.upper_bounds.push_back(FRESHET_TRY(next_time(bound)));
  return {};
}

void flatten(const Scalar& predicate, std::vector<Scalar>& out) {
  const auto* conjunction = predicate.as<Scalar::And>();
  if (conjunction == nullptr) {
    out.push_back(predicate);
    return;
  }
  for (const Scalar& argument : conjunction->arguments) flatten(argument, out);
}

void mark(const Scalar& scalar, std::vector<bool>& used) {
  scalar.visit([&](const Scalar& s) {
    if (const auto* column = s.as<Scalar::Column>()) used[column->index] = true;
  });
}

/// Which columns (inputs, then expressions) the outcome depends on.
std::vector<bool> used_columns(const Mfp& mfp) {
  std::vector<bool> used(mfp.input_arity + mfp.expressions.size());
  for (const std::size_t column : mfp.projection) used[column] = true;
  for (const auto* scalars : {&mfp.predicates, &mfp.lower_bounds, &mfp.upper_bounds}) {
    for (const Scalar& scalar : *scalars) mark(scalar, used);
  }
  for (std::size_t i = mfp.expressions.size(); i-- > 0;) {
    if (used[mfp.input_arity + i]) mark(mfp.expressions[i], used);
  }
  return used;
}

std::vector<Scalar> moved(const std::vector<Scalar>& scalars, std::span<const std::size_t> map) {
  std::vector<Scalar> out;
  out.reserve(scalars.size());
  for (const Scalar& scalar : scalars) out.push_back(scalar.with_columns(map));
  return out;
}

void append(std::vector<Scalar>& to, std::vector<Scalar> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Mfp Mfp::identity(std::size_t arity) {
  Mfp mfp;
  mfp.input_arity = arity;
  mfp.projection = first_columns(arity);
  return mfp;
}

bool Mfp::is_projection() const { return expressions.empty() && predicates.empty() && !is_temporal(); }

bool Mfp::is_identity() const { return is_projection() && projection == first_columns(input_arity); }

std::vector<std::size_t> Mfp::demand() const {
  const std::vector<bool> used = used_columns(*this);
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < input_arity; ++c) {
    if (used[c]) columns.push_back(c);
  }
  return columns;
}

Mfp Mfp::then(const Mfp& next) const {
  FRESHET_ASSERT(next.input_arity == output_arity(), next.input_arity, output_arity());
  Mfp out = *this;
  std::vector<std::size_t> map = projection;
  for (std::size_t i = 0; i < next.expressions.size(); ++i) {
    map.push_back(input_arity + expressions.size() + i);
  }
  append(out.expressions, moved(next.expressions, map));
  append(out.predicates, moved(next.predicates, map));
  append(out.lower_bounds, moved(next.lower_bounds, map));
  append(out.upper_bounds, moved(next.upper_bounds, map));
  out.projection.clear();
  for (const std::size_t column : next.projection) out.projection.push_back(map[column]);
  return out;
}

Mfp Mfp::map(std::vector<Scalar> more) const {
  Mfp next = identity(output_arity());
  next.expressions = std::move(more);
  next.projection = first_columns(output_arity() + next.expressions.size());
  return then(next);
}

Result<Mfp> Mfp::filter(std::vector<Scalar> more) const {
  Mfp next = identity(output_arity());
  std::vector<Scalar> conjuncts;
  for (const Scalar& predicate : more) flatten(predicate, conjuncts);
  for (Scalar& predicate : conjuncts) {
    if (predicate.contains_mz_now()) {
      if (auto added = add_bounds(next, predicate); !added) return fail(added.error());
    } else {
      next.predicates.push_back(std::move(predicate));
    }
  }
  return then(next);
}

Mfp Mfp::project(std::vector<std::size_t> columns) const {
  Mfp next = identity(output_arity());
  next.projection = std::move(columns);
  return then(next);
}

Mfp Mfp::with_input(std::span<const std::size_t> map, std::size_t new_arity) const {
  FRESHET_ASSERT(map.size() == input_arity, map.size(), input_arity);
  std::vector<std::size_t> all(map.begin(), map.end());
  for (std::size_t i = 0; i < expressions.size(); ++i) all.push_back(new_arity + i);
  Mfp out;
  out.input_arity = new_arity;
  out.expressions = moved(expressions, all);
  out.predicates = moved(predicates, all);
  out.lower_bounds = moved(lower_bounds, all);
  out.upper_bounds = moved(upper_bounds, all);
  for (const std::size_t column : projection) out.projection.push_back(all[column]);
  return out;
}

Mfp Mfp::simplified() const {
  const std::vector<bool> used = used_columns(*this);
  Mfp out;
  out.input_arity = input_arity;
  std::vector<std::size_t> map = first_columns(input_arity);
  std::map<Scalar, std::size_t> places;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    if (!used[input_arity + i]) {
      map.push_back(SIZE_MAX);
      continue;
    }
    Scalar expression = expressions[i].with_columns(map);
    if (const auto* column = expression.as<Scalar::Column>()) {
      map.push_back(column->index);
      continue;
    }
    const auto [place, is_new] = places.try_emplace(expression, input_arity + out.expressions.size());
    if (is_new) out.expressions.push_back(std::move(expression));
    map.push_back(place->second);
  }
  std::set<Scalar> seen;
  for (const Scalar& predicate : predicates) {
    Scalar p = predicate.with_columns(map);
    if (seen.insert(p).second) out.predicates.push_back(std::move(p));
  }
  out.lower_bounds = moved(lower_bounds, map);
  out.upper_bounds = moved(upper_bounds, map);
  for (const std::size_t column : projection) out.projection.push_back(map[column]);
  return out;
}

std::vector<Scalar> Mfp::written_out() const {
  std::vector<Scalar> out;
  for (const Scalar& expression : expressions) {
    out.push_back(expression.transform([&](Scalar s) {
      const auto* column = s.as<Scalar::Column>();
      return column == nullptr || column->index < input_arity ? s : out[column->index - input_arity];
    }));
  }
  return out;
}

std::vector<repr::ColumnType> Mfp::output_types(std::span<const repr::ColumnType> input) const {
  FRESHET_ASSERT(input.size() == input_arity, input.size(), input_arity);
  std::vector<repr::ColumnType> out;
  for (const std::size_t column : projection) {
    out.push_back(column < input_arity ? input[column] : expressions[column - input_arity].type());
  }
  return out;
}

std::string to_string(const Mfp& mfp) {
  std::string out;
  const auto part = [&](std::string_view name, const std::string& text) {
    out += (out.empty() ? "" : " ") + std::string(name) + "=" + text;
  };
  if (!mfp.predicates.empty()) part("filter", scalars_text(mfp.predicates, " AND "));
  if (!mfp.lower_bounds.empty()) part("from", scalars_text(mfp.lower_bounds));
  if (!mfp.upper_bounds.empty()) part("until", scalars_text(mfp.upper_bounds));
  if (!mfp.expressions.empty()) part("map", scalars_text(mfp.expressions));
  const bool all = mfp.projection == first_columns(mfp.input_arity + mfp.expressions.size());
  if (!all) part("project", columns_text(mfp.projection));
  return out.empty() ? "identity" : out;
}

}  // namespace freshet::expr
