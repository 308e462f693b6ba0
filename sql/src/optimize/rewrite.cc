// SPDX-License-Identifier: Apache-2.0
#include "rewrite.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <freshet/expr/match_keys.h>

namespace freshet::sql::passes {

using expr::FunctionSpec;

std::vector<Span> input_spans(std::span<const Relation> inputs) {
  std::vector<Span> spans;
  std::size_t begin = 0;
  for (const Relation& input : inputs) {
    spans.push_back({begin, begin + input.arity()});
    begin = spans.back().end;
  }
  return spans;
}

Columns side_by_side(std::span<const Relation> inputs) {
  Columns columns;
  for (const Relation& input : inputs) {
    columns.insert(columns.end(), input.type().columns.begin(), input.type().columns.end());
  }
  return columns;
}

std::vector<std::size_t> iota(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> out(end - begin);
  std::iota(out.begin(), out.end(), begin);
  return out;
}

bool within(const Scalar& scalar, Span span) {
  const auto columns = scalar.columns();
  return std::all_of(columns.begin(), columns.end(), [&](std::size_t c) { return span.contains(c); });
}

Scalar shifted(const Scalar& scalar, std::ptrdiff_t by) {
  if (by == 0) return scalar;
  return scalar.transform([&](Scalar s) {
    const auto* column = s.as<Scalar::Column>();
    if (column == nullptr) return s;
    return Scalar::column(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(column->index) + by), s.type());
  });
}

Scalar retyped(const Scalar& scalar, const Columns& columns) {
  return scalar.transform([&](Scalar s) {
    const auto* column = s.as<Scalar::Column>();
    if (column == nullptr || columns[column->index] == s.type()) return s;
    return Scalar::column(column->index, columns[column->index]);
  });
}

std::vector<Scalar> distinct(std::vector<Scalar> scalars) {
  if (scalars.size() < 2) return scalars;
  ScalarSet seen;
  std::erase_if(scalars, [&](const Scalar& scalar) { return !seen.insert(scalar).second; });
  return scalars;
}

std::vector<Scalar> conjuncts(std::span<const Scalar> predicates) {
  std::vector<Scalar> out;
  for (const Scalar& predicate : predicates) {
    if (const auto* conjunction = predicate.as<Scalar::And>()) {
      for (Scalar& part : conjuncts(conjunction->arguments)) out.push_back(std::move(part));
    } else {
      out.push_back(predicate);
    }
  }
  return out;
}

namespace {

bool takes(const expr::ArgumentType& parameter, const repr::SqlType& type) {
  switch (parameter.kind) {
    case expr::ArgumentType::Kind::kConcrete:
      return parameter.type.kind() == type.kind() ||
             (parameter.type.kind() == repr::TypeKind::kText && type.kind() == repr::TypeKind::kVarchar);
    case expr::ArgumentType::Kind::kAnyArray:
      return type.kind() == repr::TypeKind::kArray;
    default:
      return false;
  }
}

}  // namespace

std::optional<Scalar> make_equality(const Scalar& a, const Scalar& b) {
  const repr::SqlType& left = a.type().type;
  const repr::SqlType& right = b.type().type;
  if (!expr::same_key_encoding(left, right)) return std::nullopt;
  for (const FunctionSpec* spec : expr::operators_named("=")) {
    if (spec->arguments.size() != 2 || spec->can_fail) continue;
    if (takes(spec->arguments[0], left) && takes(spec->arguments[1], right)) {
      return Scalar::call_typed(spec, {a, b}, repr::TypeKind::kBool);
    }
  }
  return std::nullopt;
}

namespace {

/// An expression over `span` that equals the column; `tried` are the columns on the way.
std::optional<Scalar> column_over(const Scalar& column, Span span, std::span<const std::vector<Scalar>> classes,
                                  std::set<std::size_t>& tried) {
  const std::size_t index = column.as<Scalar::Column>()->index;
  if (span.contains(index)) return column;
  const repr::SqlType& type = column.type().type;
  if (has_forms(type) || !tried.insert(index).second) return std::nullopt;
  for (const auto& members : classes) {
    const auto is_column = [&](const Scalar& m) {
      const auto* c = m.as<Scalar::Column>();
      return c != nullptr && c->index == index;
    };
    if (std::none_of(members.begin(), members.end(), is_column)) continue;
    for (const Scalar& member : members) {
      if (is_column(member) || member.columns().empty() || member.can_fail()) continue;
      if (member.type().type.physical() != type.physical() || has_forms(member.type().type)) continue;
      std::map<std::size_t, Scalar> places;
      bool all = true;
      for (const std::size_t c : member.columns()) {
        std::optional<Scalar> found;
        member.visit([&](const Scalar& s) {
          const auto* part = s.as<Scalar::Column>();
          if (part != nullptr && part->index == c && !found) found = s;
        });
        auto place = column_over(*found, span, classes, tried);
        all = all && place;
        if (place) places.emplace(c, *std::move(place));
      }
      if (!all) continue;
      return member.transform([&](Scalar s) {
        const auto* part = s.as<Scalar::Column>();
        return part == nullptr ? s : places.at(part->index);
      });
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Scalar> expressed_over(const Scalar& scalar, Span span,
                                     std::span<const std::vector<Scalar>> classes) {
  std::map<std::size_t, Scalar> places;
  bool all = true;
  scalar.visit([&](const Scalar& s) {
    const auto* column = s.as<Scalar::Column>();
    if (column == nullptr || !all || places.contains(column->index)) return;
    std::set<std::size_t> tried;
    auto place = column_over(s, span, classes, tried);
    all = place.has_value();
    if (place) places.emplace(column->index, *std::move(place));
  });
  if (!all) return std::nullopt;
  return scalar.transform([&](Scalar s) {
    const auto* column = s.as<Scalar::Column>();
    return column == nullptr ? s : places.at(column->index);
  });
}

Scalar is_not_null(const Scalar& scalar) { return Scalar::negation(Scalar::is_null(scalar)); }

namespace {

/// NULL for certain when the columns are.
bool is_null_with(const Scalar& scalar, Span columns) {
  if (const auto* column = scalar.as<Scalar::Column>()) return columns.contains(column->index);
  const auto* call = scalar.as<Scalar::Call>();
  if (call == nullptr || !call->function->strict) return false;
  return std::any_of(call->arguments.begin(), call->arguments.end(),
                     [&](const Scalar& argument) { return is_null_with(argument, columns); });
}

bool is_comparison(const FunctionSpec& function) {
  if (!function.is_operator || function.arguments.size() != 2) return false;
  const std::string_view name = function.name;
  return name == "=" || name == "<>" || name == "<" || name == "<=" || name == ">" || name == ">=";
}

}  // namespace

bool rejects_nulls(const Scalar& predicate, Span columns) {
  if (const auto* conjunction = predicate.as<Scalar::And>()) {
    return std::any_of(conjunction->arguments.begin(), conjunction->arguments.end(),
                       [&](const Scalar& part) { return rejects_nulls(part, columns); });
  }
  if (const auto* disjunction = predicate.as<Scalar::Or>()) {
    return std::all_of(disjunction->arguments.begin(), disjunction->arguments.end(),
                       [&](const Scalar& part) { return rejects_nulls(part, columns); });
  }
  if (const auto* call = predicate.as<Scalar::Call>(); call != nullptr && call->function->name == "not") {
    if (const auto* null = call->arguments[0].as<Scalar::IsNull>()) {
      return is_null_with(null->arguments[0], columns);
    }
  }
  return is_null_with(predicate, columns);
}

bool sees_form(const Scalar& scalar, Span span) {
  if (const auto* column = scalar.as<Scalar::Column>()) {
    return span.contains(column->index) && has_forms(scalar.type().type);
  }
  const auto* call = scalar.as<Scalar::Call>();
  const bool compares = (call != nullptr && is_comparison(*call->function)) || scalar.as<Scalar::IsNull>();
  const auto children = scalar.children();
  return std::any_of(children.begin(), children.end(), [&](const Scalar& child) {
    if (compares && child.as<Scalar::Column>() != nullptr) return false;
    return sees_form(child, span);
  });
}

namespace {

/// The literal that one of the predicates equates with the scalar.
std::optional<Scalar> equated(std::span<const Scalar> predicates, const Scalar& scalar) {
  for (const Scalar& predicate : predicates) {
    const auto equality = expr::as_equality(predicate);
    if (!equality) continue;
    if (equality->first == scalar && equality->second.is_literal()) return equality->second;
    if (equality->second == scalar && equality->first.is_literal()) return equality->first;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Scalar> literal_of(const Relation& relation, const Scalar& scalar) {
  if (const auto* n = relation.as<Relation::Project>()) {
    return literal_of(n->input[0], scalar.with_columns(n->columns));
  }
  if (const auto* n = relation.as<Relation::Filter>()) {
    auto found = equated(n->predicates, scalar);
    return found ? found : literal_of(n->input[0], scalar);
  }
  if (const auto* n = relation.as<Relation::Map>()) {
    return within(scalar, {0, n->input[0].arity()}) ? literal_of(n->input[0], scalar) : std::nullopt;
  }
  if (const auto* n = relation.as<Relation::FlatMap>()) {
    return within(scalar, {0, n->input[0].arity()}) ? literal_of(n->input[0], scalar) : std::nullopt;
  }
  if (const auto* n = relation.as<Relation::Match>()) {
    const bool keeps_left = n->kind != expr::MatchKind::kFull && within(scalar, {0, n->inputs[0].arity()});
    return keeps_left ? literal_of(n->inputs[0], scalar) : std::nullopt;
  }
  if (const auto* n = relation.as<Relation::Join>()) {
    const std::vector<Span> spans = input_spans(n->inputs);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (scalar.columns().empty() || !within(scalar, spans[i])) continue;
      return literal_of(n->inputs[i], shifted(scalar, -static_cast<std::ptrdiff_t>(spans[i].begin)));
    }
    return std::nullopt;
  }
  if (const auto* n = relation.as<Relation::Reduce>()) {
    const auto* column = scalar.as<Scalar::Column>();
    if (column == nullptr || column->index >= n->group_key.size()) return std::nullopt;
    return literal_of(n->input[0], n->group_key[column->index]);
  }
  if (relation.as<Relation::TopK>() || relation.as<Relation::Threshold>() || relation.as<Relation::Negate>()) {
    return literal_of(relation.children()[0], scalar);
  }
  if (relation.as<Relation::Let>()) return literal_of(relation.children()[1], scalar);
  return std::nullopt;
}

std::size_t size_of(const Scalar& scalar) {
  std::size_t size = 0;
  scalar.visit([&](const Scalar&) { ++size; });
  return size;
}

bool non_negative(const Relation& relation, const Context& context) {
  const auto all = [&](std::span<const Relation> inputs) {
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](const Relation& input) { return non_negative(input, context); });
  };
  if (const auto* constant = relation.as<Relation::Constant>()) {
    return std::all_of(constant->rows.begin(), constant->rows.end(),
                       [](const auto& row) { return row.second >= 0; });
  }
  if (const auto* get = relation.as<Relation::Get>()) {
    const auto* local = std::get_if<LocalId>(&get->id);
    return local == nullptr || context.non_negative.contains(*local);
  }
  if (relation.as<Relation::Reduce>() || relation.as<Relation::TopK>() || relation.as<Relation::Threshold>()) {
    return true;
  }
  if (relation.as<Relation::Negate>() || relation.as<Relation::LetRec>()) return false;
  if (relation.as<Relation::Let>()) return non_negative(relation.children().back(), context);
  if (const auto* match = relation.as<Relation::Match>()) {
    const bool one_sided = match->kind == expr::MatchKind::kSemi || match->kind == expr::MatchKind::kAnti;
    if (one_sided) return non_negative(match->inputs[0], context);
  }
  return all(relation.children());
}

const Relation::Constant* as_rows(const Relation& relation) {
  const auto* constant = relation.as<Relation::Constant>();
  return constant != nullptr && !constant->error ? constant : nullptr;
}

bool is_empty(const Relation& relation) {
  const auto* constant = as_rows(relation);
  return constant != nullptr && constant->rows.empty();
}

Relation empty_like(const Relation& relation) {
  return Relation::empty(repr::RelationType{relation.type().columns, {}});
}

}  // namespace freshet::sql::passes
